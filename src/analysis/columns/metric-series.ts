/** Metrics as one series a key. */
import { checkOptionNames } from '../../base/assert.ts';
import { invalidInput } from '../../base/errors.ts';
import { checkSeries, type SeriesValues } from '../../kernel/series/module/values.ts';
import type { RecordedSeries } from '../../read/columns/growing-series.ts';
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
 * position. The arrays are copied where they have to be ordered, and else used as they are: do not change them afterwards.
 *
 * @throws {QuarkError} `invalid_input`
 * @example
 * ```js
 * import { createMetricSeries } from 'quark-sdk/analysis';
 *
 * const { x, steps, values } = createMetricSeries('train/loss', { steps: [2, 0, 1, 1], values: [0.4, 0.9, 0.6, 0.5] });
 * console.log(x, steps, values); // step Float64Array(3) [ 0, 1, 2 ] Float64Array(3) [ 0.9, 0.5, 0.4 ]
 * ```
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

/** The series that were read, by key in alphabetical order, each in the order of its axis. Columns that nothing was recorded in are one for all. */
export function placeSeries(recorded: readonly RecordedSeries[]): Map<string, MetricSeries> {
  const byKey = recorded.toSorted((a, b) => (a.key < b.key ? -1 : 1));
  const longest = recorded.reduce((most, { values }) => Math.max(most, values.length), 0);
  const isWhole = recorded.every(({ epochs, steps }) => epochs !== null && steps !== null);
  const none = new Float64Array(isWhole ? 0 : longest).fill(Number.NaN);
  return new Map(
    byKey.map(({ epochs, key, steps, timesMs, values }) => {
      const { placed, order } = placeColumns(
        steps ?? none.subarray(0, values.length),
        epochs ?? none.subarray(0, values.length),
        timesMs,
      );
      return [key, { key, ...placed, values: gather(values, order) }];
    }),
  );
}
