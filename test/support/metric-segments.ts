/** Small segments of real metric rows, as a session would write them. */
import { metricTable } from '../../src/records/metric.ts';
import { batchOfRows } from '../../src/segment/batch-ops.ts';
import { createSegment } from '../../src/segment/manifest.ts';
import type { NewSegment } from '../../src/store/store.ts';

/** Rows of each of them. */
export const ROWS = 5;

/** The segment of a batch number: the values of its rows are numbered on from segment to segment. */
export function metricSegment(runId: string, batchNumber: number, writerId = 'writer'): NewSegment {
  const rows = Array.from({ length: ROWS }, (_, i) => ({
    timestamp: new Date(1_700_000_000_000 + i).toISOString(),
    runId,
    metricKey: `train/${writerId}`,
    namespace: 'train',
    metricName: writerId,
    value: valueAt(batchNumber * ROWS + i),
    step: batchNumber * ROWS + i,
    epoch: null,
    description: null,
    metadata: null,
  }));
  const identity = { runId, table: 'metrics', writerId, batchNumber };
  return createSegment(metricTable, identity, batchOfRows(metricTable, rows));
}

/** Segments from a batch number on. */
export function metricSegments(
  runId: string,
  from: number,
  count: number,
  writerId?: string,
): NewSegment[] {
  return Array.from({ length: count }, (_, i) => metricSegment(runId, from + i, writerId));
}

/** The value of a row. */
export function valueAt(row: number): number {
  return Math.sin(row);
}
