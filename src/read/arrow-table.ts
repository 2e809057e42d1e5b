/** Metric columns as an Arrow table, for tools that take one. */
import type * as Arrow from 'apache-arrow';
import type { MetricColumns } from './metric-columns.ts';

/** Columns of the table that {@link toArrowTable} makes. */
export type MetricArrowColumns = {
  metric_key: Arrow.Dictionary<Arrow.Utf8, Arrow.Int32>;
  value: Arrow.Float64;
  step: Arrow.Float64;
  epoch: Arrow.Float64;
  timestamp: Arrow.Float64;
  sequence: Arrow.Float64;
};

/**
 * The columns as a table of apache-arrow, with the names of abiotic-quark. Numbers are shared, not copied: do not
 * change them. A missing step or epoch is null; `timestamp` is in UTC epoch milliseconds.
 *
 * @param arrow the module, of version 14 or later: `import * as arrow from 'apache-arrow'`. The table is one of its own
 * @example
 * ```js
 * import * as arrow from 'apache-arrow';
 * import { createMemoryStore, MetricsLogger, openRun, toArrowTable, TrainingSession } from 'quark-sdk';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, (session) => {
 *   new MetricsLogger(session).logColumns('train/loss', [0, 1], [0.9, 0.5]);
 *   return session.runId;
 * });
 * const reader = await openRun(store, runId);
 * const table = toArrowTable(await reader.readMetricColumns({ metricKey: 'train/loss' }), arrow);
 * console.log(table.numRows, table.get(1).value); // 2 0.5
 * ```
 */
export function toArrowTable(
  columns: MetricColumns,
  arrow: typeof Arrow,
): Arrow.Table<MetricArrowColumns> {
  const { keyIndex, keys, rowCount: length } = columns;
  const dictionary = arrow.vectorFromArray(keys, new arrow.Utf8());
  const type = new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32());
  const float = new arrow.Float64();
  const number = (data: Float64Array, hasNulls: boolean) =>
    arrow.makeVector(
      hasNulls
        ? arrow.makeData({ type: float, length, data, ...validity(data) })
        : arrow.makeData({ type: float, length, data, nullCount: 0 }),
    );
  return new arrow.Table({
    metric_key: arrow.makeVector(
      arrow.makeData({ type, length, nullCount: 0, data: keyIndex, dictionary }),
    ),
    value: number(columns.values, false),
    step: number(columns.steps, true),
    epoch: number(columns.epochs, true),
    timestamp: number(columns.timesMs, false),
    sequence: number(columns.sequences, false),
  });
}

/** NaN as null. */
function validity(values: Float64Array): {
  readonly nullCount: number;
  readonly nullBitmap?: Uint8Array;
} {
  let nullCount = 0;
  for (const value of values) if (value !== value) nullCount++;
  if (nullCount === 0) return { nullCount };
  const nullBitmap = new Uint8Array((values.length + 7) >>> 3);
  for (let i = 0; i < values.length; i++) {
    if (!Number.isNaN(values[i])) nullBitmap[i >>> 3] = (nullBitmap[i >>> 3] ?? 0) | (1 << (i & 7));
  }
  return { nullCount, nullBitmap };
}
