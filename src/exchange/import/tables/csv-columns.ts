/** What the columns of a table are: found by their names, or told. */
import type { ImportFormatOptions } from '../sink/importer.ts';
import { amountIn } from './amounts.ts';
import { instantFromText, numberFromText } from '../../../codecs/number-text.ts';

/** The roles of columns; -1 for one that the table does not have. */
export type CsvColumns = {
  /** Names as they stand in the header, trimmed. */
  readonly names: readonly string[];
  readonly step: number;
  /** Whether the steps are, by their name, those of an epoch. */
  readonly isStepOfEpoch: boolean;
  readonly epoch: number;
  readonly time: number;
  /** Says of each row whether it is of training or validation. */
  readonly phase: number;
  /** In what `nvidia-smi` writes, the number of the device that a row is of. */
  readonly device: number;
  /** In a long table each row is one sample: its metric is named here, */
  readonly key: number;
  /** and its value is here. */
  readonly value: number;
  /** Positions of the columns that are metrics. */
  readonly metrics: readonly number[];
};

/** What the beginning of a file tells about the table in it. */
export type SniffedTable = {
  readonly delimiter: string;
  /** Undefined when the first line has numbers in it: the columns have no names. */
  readonly hasHeader: boolean;
  /** 0 to 1. */
  readonly confidence: number;
};

// In the order in which they are preferred.
const STEP_NAMES = [
  'step',
  'global_step',
  'global step',
  'trainer/global_step',
  'iteration',
  'iter',
  'iterations',
  'iters',
  '_step',
  'steps',
  'train_step',
  'n_iter',
  'update',
  'num_updates',
  'total_timesteps',
  'time/total_timesteps',
  'misc/total_timesteps',
  'timesteps_total',
  'num_env_steps_sampled_lifetime',
  'timestepssofar',
  'totalenvinteracts',
  'training_iteration',
  '',
  'index',
  'unnamed: 0',
];
/** Counters within an epoch, where there is no other and the epoch is there too. */
const BATCH_NAMES = ['batch', 'batch_idx', 'batch_index', 'batch_id'];
const EPOCH_NAMES = ['epoch', 'epochs', 'trainer/epoch', 'train/epoch', 'ep'];
const TIME_NAMES = [
  'timestamp',
  '_timestamp',
  'wall time',
  'wall_time',
  'walltime',
  'datetime',
  'date',
  'time',
  'created_at',
];
const PHASE_NAMES = ['phase', 'split', 'mode', 'stage'];
const KEY_NAMES = ['metric_key', 'metric', 'metric_name', 'key', 'tag'];
/** Columns of nvidia-smi: in their tables the index is that of a device, and no step. */
const OF_DEVICE = /^(?:utilization|memory|temperature|power|clocks|fan|pcie)\.\w/;
const BOOKKEEPING = new Set(['sequence', '__index_level_0__']);
const DELIMITERS = [',', '\t', ';', '|'];
const SNIFFED_LINES = 40;

/** Looks at the first lines of a text. */
export function sniffTable(text: string, isWhole: boolean, path: string): SniffedTable | undefined {
  if (text.includes('\u0000')) return undefined;
  const all = text.replace(/^\ufeff/, '').split(/\r\n|\n|\r/);
  // The last line may be cut off.
  if (!isWhole && all.length > 1) all.pop();
  const lines = all
    .filter((line, i) => line.trim() !== '' && (!line.startsWith('#') || i === 0))
    .slice(0, SNIFFED_LINES);
  const [first, ...rest] = lines;
  if (first === undefined) return undefined;
  // Objects, markup and code are text with commas in it as well.
  if (/^\s*(?:[{[<]|%YAML|---|import |from |def |function )/.test(first)) return undefined;
  const isNamed = /\.(?:csv|tsv|tab)$/i.test(path);
  const delimiter = DELIMITERS.map((candidate) => ({
    candidate,
    count: cellsOf(first, candidate).length,
  })).reduce((best, next) => (next.count > best.count ? next : best));
  if (delimiter.count < 2 && !isNamed) return undefined;
  const header = cellsOf(first, delimiter.candidate);
  const isNumber = (cell: string): boolean => {
    const number = numberFromText(
      cell.replace(/^"(.*)"$/, '$1').replace(/^([+-]?\d+),(\d+)$/, '$1.$2'),
    );
    return typeof number === 'number' || amountIn(cell) !== undefined;
  };
  const hasHeader = !header.some((cell) => isNumber(cell));
  // Without names every cell has to be a number: what begins with both is a list of something else.
  if (!hasHeader && header.some((cell) => cell.trim() !== '' && !isNumber(cell))) return undefined;
  // `loss=0.5, acc=0.9` and `Epoch 1: loss 0.5` are lines of a log.
  if (hasHeader && header.some((cell) => /[=:]\s*[-+.\d]/.test(cell))) return undefined;
  const rows = hasHeader ? rest : lines;
  const fitting = rows.filter((row) => {
    const cells = cellsOf(row, delimiter.candidate);
    return cells.length === header.length && cells.some((cell) => isNumber(cell));
  });
  const isTable =
    // A header may be longer than what is looked at.
    rows.length === 0 ? hasHeader && isNamed : fitting.length >= rows.length / 2;
  // Quoted fields may hold line ends, which the look at single lines does not see.
  if (!isTable && !(isNamed && hasHeader && fitting.length > 0)) return undefined;
  if (!hasHeader)
    return { delimiter: delimiter.candidate, hasHeader, confidence: isNamed ? 0.2 : 0 };
  const lower = header.map((cell) => nameOf(cell).toLowerCase());
  const hasCounter = lower.some(
    (name) => name !== '' && (STEP_NAMES.includes(name) || EPOCH_NAMES.includes(name)),
  );
  const confidence = 0.3 + (isNamed ? 0.2 : 0) + (hasCounter ? 0.2 : 0);
  return {
    delimiter: delimiter.candidate,
    hasHeader,
    confidence: rows.length === 0 ? 0.2 : confidence,
  };
}

/** The roles of the columns of a header. */
export function columnsOf(
  header: readonly string[],
  options: ImportFormatOptions['columns'],
): CsvColumns {
  const names = header.map((name, i) => nameOf(i === 0 ? name.replace(/^#\s*/, '') : name));
  const lower = names.map((name) => name.toLowerCase());
  const find = (told: string | undefined, known: readonly string[]): number => {
    if (told !== undefined) return lower.indexOf(told.trim().toLowerCase());
    for (const name of known) {
      const found = lower.indexOf(name);
      if (found >= 0) return found;
    }
    return -1;
  };
  const epoch = find(options?.epoch, EPOCH_NAMES);
  const device =
    options?.step === undefined && lower.some((name) => OF_DEVICE.test(name))
      ? lower.indexOf('index')
      : -1;
  const counter = find(options?.step, STEP_NAMES);
  const known = counter === device ? -1 : counter;
  const isStepOfEpoch =
    options?.step === undefined &&
    known < 0 &&
    epoch >= 0 &&
    lower.some((name) => BATCH_NAMES.includes(name));
  const step = isStepOfEpoch ? find(undefined, BATCH_NAMES) : known;
  const time = find(options?.time, TIME_NAMES);
  const value = lower.indexOf('value');
  const found = value < 0 ? -1 : find(undefined, KEY_NAMES);
  const key = found === step ? -1 : found;
  const phase = key >= 0 ? -1 : find(undefined, PHASE_NAMES);
  const ignored = new Set((options?.ignore ?? []).map((name) => name.trim().toLowerCase()));
  const taken = new Set([step, epoch, time, phase, key, device]);
  const metrics = names.flatMap((_, i) => {
    const name = lower[i] ?? '';
    if (taken.has(i) || ignored.has(name)) return [];
    // The index that pandas writes in front says nothing where there is a step.
    if (i === 0 && step > 0 && (name === '' || name === 'unnamed: 0')) return [];
    if (key >= 0) return i === value ? [i] : [];
    return BOOKKEEPING.has(name) ? [] : [i];
  });
  return {
    names,
    step,
    isStepOfEpoch,
    epoch,
    time,
    phase,
    device,
    key,
    value: key >= 0 ? value : -1,
    metrics,
  };
}

/** Whether a row of texts is a header: it shares a name with the one before, or has a counter. */
export function isHeader(cells: readonly string[], before: CsvColumns): boolean {
  const known = new Set(before.names.map((name) => name.toLowerCase()));
  return cells.some((cell) => {
    const name = nameOf(cell).toLowerCase();
    return (
      name !== '' && (known.has(name) || STEP_NAMES.includes(name) || EPOCH_NAMES.includes(name))
    );
  });
}

/** The instant in a cell of a time column, NaN when it counts from a start. */
export function timeOf(number: number, text: string | undefined): number {
  return text === undefined ? instantFromText(number) : instantFromText(text);
}

function nameOf(cell: string): string {
  return cell.trim();
}

/** Cells of one line; quotes are kept together. */
function cellsOf(line: string, delimiter: string): string[] {
  if (!line.includes('"')) return line.split(delimiter);
  const cells: string[] = [];
  let cell = '';
  let isQuoted = false;
  for (const character of line) {
    if (character === '"') isQuoted = !isQuoted;
    if (character === delimiter && !isQuoted) {
      cells.push(cell);
      cell = '';
    } else cell += character;
  }
  return [...cells, cell];
}
