/** Rows that are objects: what is a counter in them, what a metric, and what text. */
import { instantFromText, metricNumber } from '../../../codecs/number-text.ts';

/** A JSON object. */
export type RowObject = Readonly<Record<string, unknown>>;

/** A row taken apart. NaN for what it does not say. */
export type ObjectRow = {
  readonly step: number;
  readonly epoch: number;
  readonly timeMs: number;
  /** Metrics by name, namespaces joined by "/". */
  readonly values: readonly (readonly [name: string, value: number])[];
};

/** Names of counters in the order in which they are preferred. */
export type RowNames = {
  readonly step: readonly string[];
  readonly epoch: readonly string[];
  readonly time: readonly string[];
  /** Fields that are left out. */
  readonly ignored?: readonly string[] | undefined;
};

/** What programs call counters. */
export const ROW_NAMES: RowNames = Object.freeze({
  step: [
    'step',
    'global_step',
    'trainer/global_step',
    'iteration',
    'iter',
    '_step',
    'num_updates',
    'train_num_updates',
    'valid_num_updates',
    'current_steps',
    'total_timesteps',
    'time/total_timesteps',
    'misc/total_timesteps',
  ],
  epoch: ['epoch', 'trainer/epoch'],
  time: ['_timestamp', 'timestamp', 'wall_time', 'datetime', 'time', 'created_at'],
});

const PHASE_NAMES = ['mode', 'phase', 'split', 'stage'];
const KEY_NAMES = ['metric_key', 'metric', 'metric_name', 'tag', 'key', 'name'];
/** Longer lists are no settings of parameter groups but data. */
const MAX_LIST = 16;
const MAX_PHASE_CHARS = 32;

/** Whether a value is an object and no list. */
export function isRowObject(value: unknown): value is RowObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Takes a row apart. A row with a name and a value is one sample. */
export function readRow(row: RowObject, maxDepth: number, names: RowNames = ROW_NAMES): ObjectRow {
  const step = findNumber(row, names.step);
  const epoch = findNumber(row, names.epoch);
  const timeName = names.time.find((name) => !Number.isNaN(instantFromText(row[name])));
  const timeMs = timeName === undefined ? Number.NaN : instantFromText(row[timeName]);
  const taken = new Set([step.name, epoch.name, timeName, ...(names.ignored ?? [])]);
  const values: (readonly [string, number])[] = [];
  const key = KEY_NAMES.map((name) => row[name]).find((name) => typeof name === 'string');
  const single = typeof key === 'string' ? metricNumber(row['value']) : undefined;
  if (typeof key === 'string' && single !== undefined) values.push([key, single]);
  else {
    const phase = PHASE_NAMES.map((name) => row[name]).find((name) => typeof name === 'string');
    const namespace =
      typeof phase === 'string' && phase.length <= MAX_PHASE_CHARS ? `${phase}/` : '';
    for (const [name, value] of Object.entries(row))
      if (!taken.has(name)) addNumbers(values, `${namespace}${name}`, value, maxDepth);
  }
  return { step: step.value, epoch: epoch.value, timeMs, values };
}

/** Adds the numbers of a value, nested ones by their path. */
export function addNumbers(
  values: (readonly [name: string, value: number])[],
  name: string,
  value: unknown,
  maxDepth: number,
): void {
  const number = metricNumber(value);
  if (number !== undefined) values.push([name, number]);
  else if (maxDepth > 0 && Array.isArray(value)) {
    if (value.length <= MAX_LIST)
      for (const [i, item] of value.entries())
        addNumbers(values, `${name}/${i}`, item, maxDepth - 1);
  } else if (maxDepth > 0 && isRowObject(value) && !('_type' in value)) {
    // What has a type of its own is a picture, a table, a histogram of the other tool.
    for (const [key, item] of Object.entries(value))
      addNumbers(values, `${name}/${key}`, item, maxDepth - 1);
  }
}

function findNumber(
  row: RowObject,
  names: readonly string[],
): { readonly name: string | undefined; readonly value: number } {
  for (const name of names) {
    const value = metricNumber(row[name]);
    if (value !== undefined) return { name, value };
  }
  return { name: undefined, value: Number.NaN };
}
