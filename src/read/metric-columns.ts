/** Metrics as columns: the fast way to read a run. */
import { splitKey } from '../base/names.ts';
import { metricTable } from '../records/metric.ts';
import type { DamageReport } from '../segment/open-segment.ts';
import type { KeyVector, RowBatch } from '../codecs/arrow/vectors.ts';
import { readColumns } from './columns.ts';
import { checkFilter, checkText, type PositionFilter } from './filters.ts';
import type { RowFilter } from './match-rows.ts';
import type { RunSource } from './scan.ts';

/** Which metrics to read. All conditions are joined by "and". */
export type MetricFilter = PositionFilter & {
  /** The full key, such as `train/loss`. */
  readonly metricKey?: string | undefined;
  /** Any of these full keys; for none, nothing. */
  readonly metricKeys?: readonly string[] | undefined;
  /** All segments of the key but the last. */
  readonly namespace?: string | undefined;
  /** The last segment of the key. */
  readonly metricName?: string | undefined;
};

/** Metric samples as columns of one length, in the order they were persisted. The caller owns the arrays. */
export type MetricColumns = {
  readonly rowCount: number;
  /** The metric keys that occur; `keyIndex` points into it. */
  readonly keys: readonly string[];
  /** Index into `keys` of each sample. */
  readonly keyIndex: Int32Array;
  readonly values: Float64Array;
  /** Step of each sample; NaN where it has none. */
  readonly steps: Float64Array;
  /** Epoch of each sample; NaN where it has none. */
  readonly epochs: Float64Array;
  /** When each sample was made, in UTC epoch milliseconds. */
  readonly timesMs: Float64Array;
  /** @deprecated The same as `timesMs`. */
  readonly timestampsMs: Float64Array;
  /** Ascending. */
  readonly sequences: Float64Array;
  /**
   * Largest sequence number; without a sample, the one before `sequenceMin` (-1 where that was not given). Ask for
   * `sequenceMin: lastSequence + 1` next time.
   */
  readonly lastSequence: number;
  /** Segments that could not be read and are missing here. */
  readonly damage: readonly DamageReport[];
};

const FILTERS = {
  columns: ['metricKey'],
  lists: { metricKeys: 'metricKey' },
  others: { namespace: checkText, metricName: checkText },
};

/** @throws {QuarkError} `invalid_input` naming the filter */
export async function readMetricColumns(
  source: RunSource,
  filter: MetricFilter = {},
): Promise<MetricColumns> {
  const { damage, lastSequence, numbers, rowCount, sequences, texts } = await readColumns(
    source,
    metricTable,
    {
      rows: metricRowFilter(filter),
      texts: ['metricKey'],
      numbers: ['value', 'step', 'epoch', 'timestamp'],
    },
  );
  const { epoch: epochs, step: steps, timestamp: timesMs, value } = numbers;
  const { index: keyIndex, values } = texts.metricKey;
  // A segment of other software may lack keys: the key of such samples is empty.
  let at = keyIndex.indexOf(-1);
  const keys = at < 0 ? values : [...values, ''];
  for (; at >= 0; at = keyIndex.indexOf(-1, at + 1)) keyIndex[at] = values.length;
  const columns = { rowCount, keys, keyIndex, values: value, steps, epochs, timesMs, sequences };
  return { ...columns, timestampsMs: timesMs, lastSequence, damage };
}

/** Which rows a filter asks for. @throws {QuarkError} `invalid_input` naming the filter */
export function metricRowFilter(filter: MetricFilter): RowFilter {
  const { metricName, namespace } = filter;
  const isKey = (key: string): boolean => {
    const parts = splitKey(key);
    return (
      (namespace === undefined || parts.namespace === namespace) &&
      (metricName === undefined || parts.name === metricName)
    );
  };
  return {
    ...checkFilter(metricTable, filter, FILTERS),
    isKey: namespace === undefined && metricName === undefined ? undefined : isKey,
  };
}

/** The key column of a batch of metrics. */
export function keyColumn(batch: RowBatch): KeyVector {
  const column = batch.columns.get('metric_key');
  return column?.kind === 'key'
    ? column
    : { kind: 'key', dictionary: [''], indices: new Int32Array(batch.rowCount) };
}
