/** Proposes a pattern for a line that was not read: its counters and measures are named, the rest has to be as it is. */
import { LinearPattern } from '../../../codecs/pattern/linear-pattern.ts';
import { lossesIn, measuresIn } from './loss-words.ts';

/** A number of the line that gets a name. */
type Capture = {
  readonly name: string;
  /** Where the word before it begins. */
  readonly from: number;
  readonly start: number;
  readonly end: number;
};

const VALUE = String.raw`[-+.\deE]+|[nN]a[nN]|[-+]?[iI]nf`;
const EPOCH = /(?<![A-Za-z])(?:epochs?|ep)(?![A-Za-z])[^\w\n]{0,6}(?<epoch>\d{1,16})(?![\w.])/dgi;
const STEP =
  /(?<![A-Za-z])(?:global[ _]step|steps?|iterations?|iters?|it|updates?|batch(?:es)?|round|tick)(?![A-Za-z])[^\w\n]{0,6}(?<step>\d{1,16})(?:\s{0,4}\/\s{0,4}(?<steps>\d{1,16}))?(?![\w.])/dgi;
/** A count of many: `200/3452`, `[20/188]`. */
const FRACTION = /(?<![\w./-])(?<step>\d{1,16})\s{0,4}\/\s{0,4}(?<steps>\d{1,16})(?![\w./-])/dg;
/** Two counts one after the other are of epochs and of the steps of an epoch: `[0/25][50/782]`. */
const EPOCH_FRACTIONS =
  /\[\s{0,4}(?<epoch>\d{1,16})\s{0,4}\/\s{0,4}\d{1,16}\s{0,4}\]\s{0,4}\[\s{0,4}(?<step>\d{1,16})\s{0,4}\/\s{0,4}(?<epoch_steps>\d{1,16})\s{0,4}\]/dg;
/** Parts of what is between two captures. */
const GAP_PART = /\s+|[A-Za-z_]+|[-+]?\d[\w.:+-]*|[^\sA-Za-z_\d]/g;
const MAX_LINE_CHARS = 1000;
const MAX_CAPTURES = 12;

/** A pattern that reads the line; undefined where none can be made. */
export function proposePattern(line: string): string | undefined {
  const text = line.slice(0, MAX_LINE_CHARS);
  const captures = capturesIn(text);
  if (captures.length === 0) return undefined;
  const [first] = captures;
  let source = '';
  let at = first?.from ?? 0;
  for (const { end, name, start } of captures) {
    const isCounter = name === 'step' || name === 'epoch' || name === 'epoch_steps';
    source += gapPattern(text.slice(at, start), source !== '');
    source += `(?<${name}>${isCounter ? String.raw`\d+` : VALUE})`;
    at = end;
  }
  return reads(source, text, captures) ? source : undefined;
}

function reads(source: string, text: string, captures: readonly Capture[]): boolean {
  try {
    const groups = new LinearPattern(source).exec(text)?.groups;
    return captures.every(({ name, start, end }) => groups?.[name] === text.slice(start, end));
  } catch {
    return false;
  }
}

/** Counters, losses and other measures from left to right, each with a name of its own. */
function capturesIn(text: string): Capture[] {
  const losses = [...lossesIn(text), ...measuresIn(text)].map(
    ({ name, nameAt, value, valueAt }): Capture => ({
      name,
      from: nameAt,
      start: valueAt,
      end: valueAt + value.length,
    }),
  );
  const names = new Set<string>();
  return withoutOverlap([...countersIn(text), ...losses])
    .slice(0, MAX_CAPTURES)
    .map((capture) => ({ ...capture, name: nameFor(capture.name, names) }));
}

function countersIn(text: string): Capture[] {
  const epochs = countersOf(EPOCH, text).slice(0, 1);
  const steps = countersOf(STEP, text);
  const both = epochs.length + steps.length > 0 ? [] : countersOf(EPOCH_FRACTIONS, text);
  if (both.length > 0) return both.slice(0, 3);
  return withoutOverlap([
    ...epochs,
    ...(steps.length > 0 ? stepsOf(steps, epochs) : stepsOf(countersOf(FRACTION, text), epochs)),
  ]);
}

/** The step, and the steps of an epoch where the line tells of one. */
function stepsOf(found: readonly Capture[], epochs: readonly Capture[]): Capture[] {
  const step = found.find(({ name }) => name === 'step');
  const next = step === undefined ? undefined : found[found.indexOf(step) + 1];
  if (step === undefined) return [];
  return epochs.length > 0 && next?.name === 'steps'
    ? [step, { ...next, name: 'epoch_steps' }]
    : [step];
}

function countersOf(expression: RegExp, text: string): Capture[] {
  return [...text.matchAll(expression)].flatMap((match) =>
    Object.entries(match.indices?.groups ?? {}).flatMap(([name, span]) =>
      span === undefined ? [] : [{ name, from: match.index, start: span[0], end: span[1] }],
    ),
  );
}

/** Of two that share a character the first in the list counts. */
function withoutOverlap(captures: readonly Capture[]): Capture[] {
  const taken: Capture[] = [];
  for (const one of captures)
    if (taken.every(({ end, start }) => one.end <= start || one.start >= end)) taken.push(one);
  return taken.toSorted((a, b) => a.start - b.start);
}

function nameFor(word: string, names: Set<string>): string {
  const stem = word
    .toLowerCase()
    .replace(/[^a-z\d]+/g, '_')
    .replace(/^[_\d]+|_+$/g, '');
  let name = stem === '' ? 'value' : stem;
  for (let i = 2; names.has(name); i++) name = `${stem}_${i}`;
  names.add(name);
  return name;
}

/** What is between two numbers: words as they are, numbers as any, blanks as any where a sign is beside them. */
function gapPattern(gap: string, isAfterCapture: boolean): string {
  const parts = gap.match(GAP_PART) ?? [];
  const isSign = (part: string | undefined): boolean =>
    part !== undefined && /^[^\w\s]$/.test(part);
  const isBlank = (part: string | undefined): boolean => part !== undefined && part.trim() === '';
  let source = '';
  for (const [i, part] of parts.entries()) {
    const before = parts[i - 1];
    if (isBlank(part)) {
      // Programs pad numbers: a blank between a sign and a number comes and goes.
      const isLoose = isSign(before) || isSign(parts[i + 1]);
      source += isLoose ? String.raw`\s*` : String.raw`\s+`;
      continue;
    }
    if (isSign(part) && i === 0 && isAfterCapture) source += String.raw`\s*`;
    source += /\d/.test(part) ? String.raw`[-+.:\w]+` : escaped(part);
    if (isSign(part) && i === parts.length - 1) source += String.raw`\s*`;
  }
  return source;
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}
