/** Segments with rows in them, for services that look. */
import { metricTable } from '../../src/records/metric.ts';
import { createSegment } from '../../src/segment/manifest.ts';
import type { NewSegment } from '../../src/store/store.ts';
import { RUN_ID } from './segments.ts';

/** A segment of metrics of one key, with steps that follow those of the batch before. */
export function metricSegmentOf(
  batchNumber: number,
  {
    runId = RUN_ID,
    writerId = 'writer_a',
    rowCount = 10,
    key = 'train/loss',
  }: {
    readonly runId?: string;
    readonly writerId?: string;
    readonly rowCount?: number;
    readonly key?: string;
  } = {},
): NewSegment {
  const numbers = (value: (row: number) => number): Float64Array =>
    Float64Array.from({ length: rowCount }, (_, row) => value(row));
  return createSegment(
    metricTable,
    { runId, table: 'metrics', writerId, batchNumber },
    {
      rowCount,
      columns: new Map([
        [
          'timestamp',
          { kind: 'number', values: numbers((row) => 1_700_000_000_000 + batchNumber * 100 + row) },
        ],
        ['metric_key', { kind: 'key', dictionary: [key], indices: new Int32Array(rowCount) }],
        [
          'metric_name',
          {
            kind: 'key',
            dictionary: [key.split('/').at(-1) ?? key],
            indices: new Int32Array(rowCount),
          },
        ],
        [
          'value',
          { kind: 'f64', values: numbers((row) => 1 / (1 + row + batchNumber)), isNull: null },
        ],
        ['step', { kind: 'number', values: numbers((row) => batchNumber * rowCount + row) }],
      ]),
    },
  );
}
