/** Metrics as one series a key. */
import { checkOptionNames } from '../../base/assert.ts';
import { invalidInput } from '../../base/errors.ts';
import { checkSeries, type SeriesValues } from '../../kernel/series/module/values.ts';
import type { RecordedSeries } from '../../read/growing-series.ts';
import type { MetricColumns } from '../../read/metric-columns.ts';
import { gather, placeColumns } from './place-rows.ts';
import type { MetricSeries } from './run-columns.ts';

/** Columns of {@link createMetricSeries}; all of one length, in the order the samples were recorded. Never changed. */
export type MetricSamples = {
  readonly values: SeriesValues;
  /** Steps, NaN for none. One of `steps` and `epochs` is needed. */
  readonly steps?: SeriesValues;
  /** Epochs, NaN for none. */
  readonly epochs?: SeriesValues;
  /** UTC epoch milliseconds. */
  readonly timesMs?: SeriesValues;
};

/**
 * A metric from numbers in memory, ordered by step (by epoch, where there are more of these), the last recorded of each
 * place. The arrays are copied where they have to be ordered, and else kept: do not change them afterwards.
 *
 * @throws {QuarkError} `invalid_input`
 */
export function createMetricSeries(key: string, samples: MetricSamples): MetricSeries {
  if (typeof key !== 'string' || key === '') throw invalidInput('key', key, 'the key of a metric');
  checkOptionNames('samples', samples, ['values', 'steps', 'epochs', 'timesMs']);
  const values = checkSeries('samples.values', samples.values);
  if (samples.steps === undefined && samples.epochs === undefined)
    throw invalidInput('samples.steps', samples.steps, 'given, unless epochs are');
  const column = (name: 'steps' | 'epochs' | 'timesMs'): Float64Array => {
    const given = samples[name];
    if (given === undefined) return new Float64Array(values.length).fill(Number.NaN);
    const list = checkSeries(`samples.${name}`, given);
    if (list.length !== values.length)
      throw invalidInput(
        `samples.${name}`,
        `${list.length} of them`,
        `as many as values (${values.length})`,
      );
    return list;
  };
  const { placed, order } = placeColumns(column('steps'), column('epochs'), column('timesMs'));
  return { key, ...placed, values: gather(values, order) };
}

/** The series that were read, each in the order of its axis. Columns that nothing was recorded in are one for all. */
export function placeSeries(recorded: readonly RecordedSeries[]): Map<string, MetricSeries> {
  const longest = recorded.reduce((most, { values }) => Math.max(most, values.length), 0);
  const isWhole = recorded.every(({ epochs, steps }) => epochs !== null && steps !== null);
  const none = new Float64Array(isWhole ? 0 : longest).fill(Number.NaN);
  return new Map(
    recorded.map(({ epochs, key, steps, timestampsMs, values }) => {
      const { placed, order } = placeColumns(
        steps ?? none.subarray(0, values.length),
        epochs ?? none.subarray(0, values.length),
        timestampsMs,
      );
      return [key, { key, ...placed, values: gather(values, order) }];
    }),
  );
}

/** One series a key of what was read, by key in alphabetical order. Time is linear in the rows where they are in order. */
export function seriesByKey(columns: MetricColumns): Map<string, MetricSeries> {
  const { keys, keyIndex, rowCount } = columns;
  const starts = new Int32Array(keys.length + 1);
  for (let row = 0; row < rowCount; row++) {
    const next = (keyIndex[row] ?? 0) + 1;
    starts[next] = (starts[next] ?? 0) + 1;
  }
  for (let i = 1; i <= keys.length; i++) starts[i] = (starts[i] ?? 0) + (starts[i - 1] ?? 0);
  const at = starts.slice();
  const scatter = (values: Float64Array): Float64Array => {
    at.set(starts);
    const out = new Float64Array(rowCount);
    for (let row = 0; row < rowCount; row++) {
      const key = keyIndex[row] ?? 0;
      const place = at[key] ?? 0;
      out[place] = values[row] ?? Number.NaN;
      at[key] = place + 1;
    }
    return out;
  };
  const steps = scatter(columns.steps);
  const epochs = scatter(columns.epochs);
  const timesMs = scatter(columns.timestampsMs);
  const values = scatter(columns.values);
  const named = keys.map((key, i) => {
    const start = starts[i] ?? 0;
    const end = starts[i + 1] ?? 0;
    const { placed, order } = placeColumns(
      steps.subarray(start, end),
      epochs.subarray(start, end),
      timesMs.subarray(start, end),
    );
    return { key, ...placed, values: gather(values.subarray(start, end), order) };
  });
  return new Map(
    named.toSorted((a, b) => (a.key < b.key ? -1 : 1)).map((series) => [series.key, series]),
  );
}
