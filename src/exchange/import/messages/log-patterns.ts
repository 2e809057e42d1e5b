/** How lines of text logs are understood: the known patterns, and those that users add. */
import type { LinearPattern } from '../../../codecs/pattern/linear-pattern.ts';
import { instantFromText, numberFromText } from '../../../codecs/number-text.ts';
import type { TextLogPattern } from '../sink/importer.ts';
import { TEXT_LOG_PATTERNS } from '../text/known-patterns.ts';
import { END, NUMBER, type ProgramPattern } from '../text/pattern-parts.ts';
import { plainLine, withoutTensors, type PlainLine } from '../text/plain-pairs.ts';
import { BoostingLines } from './boosting-lines.ts';
import { ColumnTables, KeyValueBoxes } from './log-tables.ts';

const EPOCH = new RegExp(
  String.raw`(?<![\w.])epochs?\s{0,8}[:=#]?\s{0,8}[[(]?\s{0,8}(?<epoch>\d{1,16})(?:\.\d{1,16})?(?![\w.])`,
  'i',
);
/** A counter and, where it is said, how far it counts. */
const COUNT = String.raw`(?<step>\d{1,16})(?:\s{0,4}(?:/|of)\s{0,4}(?<steps>\d{1,16}))?(?![\w.])`;
const STEP = new RegExp(
  String.raw`(?<![\w.])(?:global[_ ]?step|step|iteration|iters?|update)\s{0,8}[:=#]?\s{0,8}[[(]?\s{0,8}${COUNT}`,
  'i',
);
/** Episodes of an agent count where nothing else does. */
const EPISODE = new RegExp(
  String.raw`(?<![\w.])episode\s{0,8}[:=#]?\s{0,8}[[(]?\s{0,8}${COUNT}`,
  'i',
);
/** Batches are counted in their epoch. */
const BATCH = new RegExp(
  String.raw`(?<![\w.])(?:mini-?)?batch\s{0,8}[:=#]?\s{0,8}[[(]?\s{0,8}${COUNT}`,
  'i',
);
/** `Epoch [2][20/188]`, `Epoch 2/10 [20/188]`, `Epoch(train) [2][20/188]`: two counters one after the other. */
const EPOCH_STEP = new RegExp(
  String.raw`(?<![\w.])epochs?(?:\((?<phase>[a-z]{1,10})\))?\s{0,8}[:=#]?\s{0,8}[[(]?\s{0,8}(?<epoch>\d{1,16})(?:\s{0,4}/\s{0,4}\d{1,16})?\s{0,4}[\])]?[\s,:|-]{0,8}\[\s{0,8}(?<step>\d{1,16})\s{0,4}/\s{0,4}(?<steps>\d{1,16})(?![\w.])`,
  'i',
);
const PAIRS = new RegExp(
  String.raw`(?<![\w.@/-])(?<key>[A-Za-z][\w.@/-]{0,60}(?: [A-Za-z][\w.@-]{0,40}){0,2}?)\s{0,8}[:=]\s{0,8}(?<value>${NUMBER})${END}`,
  'g',
);
const PHASE =
  /^[^A-Za-z]{0,60}(train(?:ing)?|val(?:id(?:ation)?)?|test(?:ing)?|eval(?:uation)?|dev)(?![\w/])/i;
/** The side of the pairs that follow, within a line: `train: loss=0.5 - val: loss=0.6`. */
const SIDE_BEFORE =
  /(?<![\w/])(train(?:ing)?|val(?:id(?:ation)?)?|test(?:ing)?|eval(?:uation)?|dev)\s{0,4}[:|([-]{0,2}\s{0,4}$/i;
/** Words that sentences have and names of metrics have not. */
const OF_SENTENCE =
  /^(?:of|in|on|to|at|by|as|and|or)\b|\b(?:the|a|an|is|was|were|are|this|that|we|it|they|with|for|from|see|which|note)\b/i;
/** A bar of Keras: batches done, of how many, and how long it took. */
const KERAS_BAR =
  /^\s{0,10}(\d{1,16})\/(\d{1,16})\s.{0,200}?(?:ETA:|\d(?:us|ms|s|m|h)\/(?:step|epoch|sample))/;
/** A bar of tqdm: what it is about, how far it is, and the pairs behind its clock. */
const TQDM = /^(.{0,200}?)\d{1,3}%\|[^|]{0,400}\|\s{0,8}([\d.]{1,16})[kMG]?\/[\d.]{1,16}[kMG]? \[/;
/** The head line of an epoch, with the time in front where loggers write one. */
const EPOCH_HEAD = /^(?:[[(]?\d{4}-\d\d-\d\d[^A-Za-z]{0,40})?\W{0,8}epoch\b/i;
const METRIC_WORD =
  /loss|acc|(?:^|[_ ])lr$|learning.?rate|norm|perplexity|ppl|f1|precision|recall|auc|map|iou|dice|psnr|ssim|bleu|rouge|reward|return|error|score|mse|mae|rmse|kl|entropy/i;
const COUNTERS: Readonly<Record<string, 'step' | 'epoch'>> = {
  step: 'step',
  global_step: 'step',
  'global step': 'step',
  iter: 'step',
  iters: 'step',
  iteration: 'step',
  update: 'step',
  num_updates: 'step',
  train_num_updates: 'step',
  valid_num_updates: 'step',
  epoch: 'epoch',
};
const TIME = /^[^\w]{0,2}(\d{4}-\d\d-\d\d[T _]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)/;

/** What a line says. NaN for what it does not. */
export type LogRow = {
  /** Name of the pattern that understood it. */
  readonly pattern: string;
  readonly step: number;
  readonly epoch: number;
  /** Steps of an epoch, when the step is one of them; 0 when the line does not say how many there are. */
  readonly epochSteps: number;
  readonly timeMs: number;
  readonly values: readonly (readonly [name: string, value: number])[];
  /** The bar that the line is a state of: of rows of one bar, one after another, the last counts. */
  readonly bar?: string | undefined;
  /** What the step counts where it is no step of the optimizer. */
  readonly stepUnit?: 'samples' | undefined;
};

type Groups = Readonly<Record<string, string | undefined>>;
/** What a pattern found in a line. */
type Found = Pick<LogRow, 'step' | 'epoch' | 'epochSteps'> & {
  readonly values: readonly (readonly [name: string, value: number])[];
  readonly time: string | undefined;
  readonly phase: string | undefined;
};

/** Of the lines that patterns of text are matched against, at most this much. */
const MAX_MATCHED_CHARS = 2000;
const MAX_MATCHES = 100;
const MAX_BARS = 1000;

/** Reads lines one after another: some tell of the epoch that those after them belong to. */
export class LogReader {
  readonly #linear: readonly LinearPattern[];
  readonly #patterns: readonly ProgramPattern[];
  #step = Number.NaN;
  #epoch = Number.NaN;
  /** The pattern of the program, once one has been seen: other lines with numbers are not of the training then. */
  #hasProgram = false;
  /** Counts the head lines of epochs and the bars that began again: a bar of another lap is another bar. */
  #lap = 0;
  /** Whether the last line is a part of a box, which is read as a whole. */
  isInside = false;
  readonly #boosting = new BoostingLines();
  readonly #boxes = new KeyValueBoxes();
  readonly #tables = new ColumnTables();
  /** The last bar of Keras that began an epoch. */
  #epochBar = { lap: -1, length: '' };
  /** Bars of tqdm by what they are about: how far each is, and how often it began again. */
  readonly #bars = new Map<string, { at: number; lap: number }>();

  /** @param linear patterns of the user that were given as text; they come first */
  constructor(patterns: readonly TextLogPattern[] = [], linear: readonly LinearPattern[] = []) {
    this.#linear = linear;
    this.#patterns = [...patterns, ...TEXT_LOG_PATTERNS];
  }

  /** Looks at text of the log before its lines are read, where one line does not say what its values are. */
  lookAhead(text: string): void {
    this.#boosting.lookAhead(text);
  }

  /** What a line says; undefined when it says nothing of the training. */
  read(line: string): LogRow | undefined {
    const text = lastState(line);
    this.isInside = false;
    if (text === '' || isRunning(text)) return undefined;
    for (const one of this.#linear) {
      const row = this.#row({ name: one.source }, linearGroups(one, text), text);
      if (row !== undefined) return row;
    }
    for (const known of this.#patterns) {
      const row = this.#row(known, groupsIn(known, text), text);
      if (row === undefined) continue;
      if (known.isCommon !== true) this.#hasProgram = true;
      return isKeras(row) ? this.#kerasRow(row, text) : row;
    }
    const box = this.#boxes.read(text);
    this.isInside = box.isInside;
    const row = box.row ?? this.#boosting.read(text) ?? this.#tables.read(text);
    if (row !== undefined) this.#hasProgram = true;
    return row ?? (box.isInside ? undefined : this.#general(text));
  }

  /** A bar of another length than that of the epoch, without an epoch that began before it, is of an evaluation. */
  #kerasRow(row: LogRow, text: string): LogRow {
    const length = /^\s{0,10}\d{1,16}\/(\d{1,16})\s/.exec(text)?.[1] ?? '';
    const { lap, length: epochLength } = this.#epochBar;
    const isEvaluation = lap === this.#lap && lap > 0 && length !== epochLength && length !== '';
    if (!isEvaluation) this.#epochBar = { lap: this.#lap, length };
    return isEvaluation
      ? { ...row, values: row.values.map(([name, value]) => [`test/${name}`, value]) }
      : row;
  }

  #row(
    known: Omit<ProgramPattern, 'pattern'>,
    groups: readonly Groups[] | undefined,
    text: string,
  ): LogRow | undefined {
    if (groups === undefined) return undefined;
    const { epoch, epochSteps, phase, step, time, values } = valuesOf(known, groups);
    if (values.length === 0) return undefined;
    const isSilent = step !== step && epoch !== epoch;
    const isAtEnd = known.isEndOfEpoch === true && epoch === this.#epoch;
    const before = this.#step;
    this.#keep({ step, epoch });
    if (isAtEnd) this.#step = before;
    return {
      pattern: known.name,
      step: isSilent || isAtEnd ? before : step,
      epoch: epoch === epoch ? epoch : this.#epoch,
      epochSteps,
      timeMs: instantFromText(time ?? TIME.exec(text)?.[1]),
      values:
        phase === undefined ? values : values.map(([key, value]) => [`${phase}/${key}`, value]),
      bar: known.bar === undefined ? undefined : this.#barOf(known.bar, text),
      stepUnit: known.stepUnit,
    };
  }

  /** A bar of Keras is told by its epoch and its length; without an epoch nobody knows where one ends. */
  #barOf(name: string, text: string): string | undefined {
    const length = KERAS_BAR.exec(text)?.[2] ?? '';
    return name === 'keras' && this.#epoch !== this.#epoch
      ? undefined
      : `${name} ${this.#lap} ${length}`;
  }

  /** A bar of tqdm, which begins again for every epoch. */
  #tqdm(text: string): string | undefined {
    const [, about, done] = TQDM.exec(text) ?? [];
    if (about === undefined) return undefined;
    const at = Number(done);
    const name = about.trim();
    const known = this.#bars.get(name) ?? { at, lap: 0 };
    if (at < known.at) known.lap++;
    known.at = at;
    if (this.#bars.size < MAX_BARS) this.#bars.set(name, known);
    return `tqdm ${this.#lap} ${known.lap} ${name}`;
  }

  /** Lines of no known program: pairs beside a step or an epoch, or below a line that names one. */
  #general(line: string): LogRow | undefined {
    const text = withoutTensors(line);
    const bar = this.#tqdm(text);
    const { step, epoch, epochSteps, loader } = countersIn(text, this.#epoch);
    const hasCounter = epoch === epoch || step === step;
    const isHead = EPOCH_HEAD.test(text) && epoch === epoch;
    if (isHead && bar === undefined) this.#lap++;
    if (hasCounter && !this.#hasProgram) this.#keep({ step, epoch });
    // A program has lines of its own for what it measures, and a head line for each epoch at most.
    if (this.#hasProgram) {
      if (isHead && epoch !== this.#epoch) this.#keep({ step: Number.NaN, epoch });
      return undefined;
    }
    const plain = bar === undefined ? plainLine(text) : undefined;
    const isSilent = this.#step !== this.#step && this.#epoch !== this.#epoch;
    if (!hasCounter && isSilent && plain === undefined) return undefined;
    const found = PHASE.exec(text)?.[1] ?? loader;
    const phase = found === undefined ? undefined : phaseOf(found);
    const named = (key: string, side = phase): string =>
      side === undefined || hasPhase(key) ? key : `${side}/${key}`;
    const values: [string, number][] = [];
    let side = phase;
    let end = 0;
    for (const { 0: pair, groups, index } of text.matchAll(PAIRS)) {
      const key = groups?.['key'] ?? '';
      const value = numberFromText(groups?.['value'] ?? '');
      const within = SIDE_BEFORE.exec(text.slice(end, index))?.[1];
      if (within !== undefined && end > 0) side = phaseOf(within);
      end = index + pair.length;
      if (typeof value !== 'number' || isCounter(key) || OF_SENTENCE.test(key)) continue;
      if (!hasCounter && phase === undefined && !METRIC_WORD.test(key)) continue;
      values.push([named(key, side), value]);
    }
    const isPlain = plain !== undefined && (plain.pairs.length > values.length || !hasCounter);
    if (isPlain) return this.#plainRow(text, plain, named);
    if (values.length === 0) return undefined;
    return {
      pattern: 'pairs',
      step: hasCounter ? step : this.#step,
      epoch: epoch === epoch ? epoch : this.#epoch,
      epochSteps,
      timeMs: instantFromText(TIME.exec(text)?.[1]),
      values,
      bar,
    };
  }

  /** A line in which names and numbers have no sign between them. */
  #plainRow(text: string, plain: PlainLine, named: (key: string) => string): LogRow | undefined {
    const { epoch, epochSteps, pairs: found, step } = plain;
    const values = found.flatMap(([key, value]): readonly [string, number][] => {
      const number = numberFromText(value);
      return typeof number === 'number' ? [[named(key), number]] : [];
    });
    if (values.length === 0) return undefined;
    this.#keep({ step, epoch });
    return {
      pattern: 'pairs',
      step,
      epoch: epoch === epoch ? epoch : this.#epoch,
      epochSteps,
      timeMs: instantFromText(TIME.exec(text)?.[1]),
      values,
    };
  }

  #keep({ step, epoch }: { readonly step: number; readonly epoch: number }): void {
    if (epoch === epoch) {
      this.#epoch = epoch;
      this.#step = step;
    } else if (step === step) this.#step = step;
  }
}

/** What the groups of a pattern say. */
function valuesOf(
  { items, namespace, bar, prefix = '' }: Omit<ProgramPattern, 'pattern'>,
  groups: readonly Groups[],
): Found {
  const position: Record<'step' | 'epoch', number> = { step: Number.NaN, epoch: Number.NaN };
  const values: [string, number][] = [];
  let time: string | undefined;
  let epochSteps = Number.NaN;
  let phase = namespace;
  const add = (key: string, found: string): void => {
    const number = numberFromText(found);
    if (typeof number !== 'number') return;
    const name = key.trim();
    const counter = COUNTERS[name.toLowerCase()];
    if (counter !== undefined) position[counter] = number;
    else values.push([prefix + (bar === undefined ? name : nameOfTop(name)), number]);
  };
  for (const { key, value, ...others } of groups) {
    if (value !== undefined && items !== undefined) add(`${items}/${values.length}`, value);
    else if (key !== undefined && value !== undefined) add(key, value);
    for (const [group, found] of Object.entries(others)) {
      if (found === undefined) continue;
      if (group === 'time') time = found;
      else if (group === 'epoch_steps') epochSteps = numberOf(found);
      else if (group === 'phase') phase = phaseOf(found);
      else add(group, found);
    }
  }
  return { ...position, epochSteps, values, time, phase };
}

/** The groups of a pattern and of its pairs; undefined where the line is none of its lines. */
function groupsIn(
  { pattern: head, pairs: tail }: ProgramPattern,
  text: string,
): Groups[] | undefined {
  if (head.global) {
    const all = [...text.matchAll(head)];
    if (tail === undefined) return all.map(({ groups }) => groups ?? {});
    return [...all, ...text.matchAll(globalOf(tail))].map(({ groups }) => groups ?? {});
  }
  head.lastIndex = 0;
  const match = head.exec(text);
  if (match === null) return undefined;
  const from = match.index + match[0].length;
  const found = tail === undefined ? [] : [...text.slice(from).matchAll(globalOf(tail))];
  return [match, ...found].map(({ groups }) => groups ?? {});
}

/** The same of a pattern that was given as text: with groups `key` and `value` it is found again and again. */
function linearGroups(one: LinearPattern, text: string): Groups[] | undefined {
  const cut = text.slice(0, MAX_MATCHED_CHARS);
  if (one.names.includes('key') && one.names.includes('value')) {
    const found: Groups[] = [];
    for (const { groups } of one.matchAll(cut)) if (found.push(groups) >= MAX_MATCHES) break;
    return found.length === 0 ? undefined : found;
  }
  const match = one.exec(cut);
  return match === undefined ? undefined : [match.groups];
}

/** Whether a line is a state of a progress bar. */
export function isBar(line: string): boolean {
  const text = lastState(line);
  return KERAS_BAR.test(text) || TQDM.test(text);
}

/** A state of a bar of Keras before its last: what it shows are means of a part of the epoch. */
function isRunning(text: string): boolean {
  const [, done, all] = KERAS_BAR.exec(text) ?? [];
  return (
    done !== all || (done !== undefined && /^\s{0,10}\d{1,16}\/\d{1,16}\s.{0,200}?ETA:/.test(text))
  );
}

/** `Acc@1`, `acc1` and `Prec@1` are one metric. */
function nameOfTop(name: string): string {
  return name.replace(/^(?:acc|prec)@?([15])$/i, 'acc$1');
}

/** Whether a row is a bar of Keras that says of no epoch. */
export function isSilentBar(row: LogRow): boolean {
  return isKeras(row) && row.epoch !== row.epoch && row.step !== row.step;
}

function isKeras({ pattern: name }: LogRow): boolean {
  return name === 'keras' || name === 'keras_short';
}

/** The counters of a line of no known program. The loader is what OpenMMLab writes behind the word epoch: train, val. */
function countersIn(
  text: string,
  epochBefore: number,
): Pick<LogRow, 'step' | 'epoch' | 'epochSteps'> & { readonly loader: string | undefined } {
  const both = EPOCH_STEP.exec(text)?.groups;
  const epoch = numberOf(both?.['epoch'] ?? EPOCH.exec(text)?.groups?.['epoch']);
  const hasEpoch = epoch === epoch || epochBefore === epochBefore;
  const step =
    both ?? STEP.exec(text)?.groups ?? (epoch === epoch ? undefined : EPISODE.exec(text)?.groups);
  const batch = step === undefined && hasEpoch ? BATCH.exec(text)?.groups : undefined;
  const { step: count, steps } = step ?? batch ?? {};
  const unknown = batch === undefined ? undefined : '0';
  return {
    step: numberOf(count),
    epoch,
    epochSteps: numberOf(steps ?? unknown),
    loader: both?.['phase'],
  };
}

/** A line as a terminal shows it at its end: without colours, and with what was written over left out. */
export function lastState(line: string): string {
  // oxlint-disable-next-line no-control-regex -- terminals are controlled by them
  const plain = line.includes('\u001b') ? line.replace(/\u001b\[[0-9;]{0,20}[A-Za-z]/g, '') : line;
  const cut = Math.max(plain.trimEnd().lastIndexOf('\r'), plain.trimEnd().lastIndexOf('\b'));
  return cut < 0 ? plain.trimEnd() : plain.slice(cut + 1).trimEnd();
}

function phaseOf(text: string): string {
  const word = text.toLowerCase();
  if (word.startsWith('train')) return 'train';
  return word.startsWith('test') ? 'test' : /^(?:val|eval|dev)/.test(word) ? 'val' : word;
}

function hasPhase(key: string): boolean {
  return /^(?:train|val|valid|test|eval|dev)/i.test(key);
}

function isCounter(key: string): boolean {
  return /^(?:.* )?(?:epochs?|(?:global[_ ]?)?steps?|iteration|iters?|update|batch|rank|pid|v_num)$/i.test(
    key,
  );
}

function numberOf(text: string | undefined): number {
  return text === undefined ? Number.NaN : Number(text);
}

function globalOf(expression: RegExp): RegExp {
  return expression.global ? expression : new RegExp(expression.source, `${expression.flags}g`);
}
