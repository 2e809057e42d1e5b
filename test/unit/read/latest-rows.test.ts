/** Of a limit, the last rows: read from the end of the table, and the same as the end of all rows. */
import { expect, test } from 'vitest';
import {
  readMetricColumns,
  type MetricColumns,
  type MetricFilter,
} from '../../../src/read/metric-columns.ts';
import { readMetrics } from '../../../src/read/metric-records.ts';
import { metricTable } from '../../../src/records/metric.ts';
import { batchOfRows } from '../../../src/segment/batch-ops.ts';
import { compactTable } from '../../../src/segment/compact.ts';
import type { SegmentFilter, SegmentSource, Store } from '../../../src/store/store.ts';
import { recordRun } from '../../support/recorded-run.ts';

const SEGMENTS = 55;
const ROWS = 2000;

/** Rows of five metrics in turn, and one that only the first segment has. */
async function recorded() {
  const batches = Array.from({ length: SEGMENTS }, (_segment, part) =>
    batchOfRows(
      metricTable,
      Array.from({ length: ROWS }, (_, i) => ({
        timestamp: 1_700_000_000_000 + i,
        metricKey: part === 0 && i % 100 === 7 ? 'rare' : `m${i % 5}`,
        value: part * ROWS + i,
        step: Math.floor((part * ROWS + i) / 5),
        epoch: null,
      })),
    ),
  );
  return recordRun([['metrics', batches]]);
}

/** The same segments, counted as they are read. */
function counted(store: Store): SegmentSource & { rows: number } {
  const source = {
    rows: 0,
    listSegments: async (filter: SegmentFilter) => store.listSegments(filter),
    listStreams: (runId: string) => store.listStreams?.(runId) ?? Promise.resolve([]),
    readSegments: async (segments: Parameters<Store['readSegments']>[0]) => {
      for (const one of segments) source.rows += 'rowCount' in one ? Number(one.rowCount) : 0;
      return store.readSegments(segments);
    },
  };
  return source;
}

function keysOf({ keyIndex, keys }: MetricColumns): (string | undefined)[] {
  return Array.from(keyIndex, (key) => keys[key]);
}

const FILTERS: readonly MetricFilter[] = [
  {},
  { metricKey: 'm3' },
  { metricKeys: ['rare', 'm1'] },
  { metricKey: 'rare' },
  { metricName: 'm4' },
  { stepMax: 11_000 },
  { stepMin: 300, stepMax: 1000, metricKey: 'm2' },
  { sequenceMin: SEGMENTS * ROWS - 30 },
  { metricKey: 'none' },
];

test.each(['as written', 'merged'])('the last rows are the end of all rows, %s', async (form) => {
  const { run, store } = await recorded();
  if (form === 'merged') await compactTable(store, metricTable, run.id, 'merge');
  for (const filter of FILTERS)
    for (const limit of [1, 5000]) {
      const all = await readMetricColumns({ runId: run.id, store }, filter);
      const last = await readMetricColumns({ runId: run.id, store }, { ...filter, limit });
      const from = Math.max(0, all.rowCount - limit);
      const where = JSON.stringify({ filter, limit });
      // Texts: comparing thousands of numbers one by one takes the runner seconds.
      expect(last.sequences.join(), where).toBe(all.sequences.subarray(from).join());
      expect(last.values.join(), where).toBe(all.values.subarray(from).join());
      expect(keysOf(last).join(), where).toBe(keysOf(all).slice(from).join());
      const { records } = await readMetrics({ runId: run.id, store }, { ...filter, limit: 99 });
      expect(records.map(({ sequence }) => sequence).join()).toBe(all.sequences.slice(-99).join());
    }
});

test('no more is read than the end of the table', async () => {
  const { run, store } = await recorded();
  const source = counted(store);
  await readMetricColumns({ runId: run.id, store: source }, { limit: 100 });
  expect(source.rows).toBeLessThan(10 * ROWS);
  expect(source.rows).toBeGreaterThan(0);
});

test('a merge between two looks brings no row twice', async () => {
  const { run, store } = await recorded();
  let looks = 0;
  const source: SegmentSource = {
    ...counted(store),
    listSegments: async (filter) => {
      if (++looks === 2) await compactTable(store, metricTable, run.id, 'merge');
      return store.listSegments(filter);
    },
  };
  const { sequences } = await readMetricColumns(
    { runId: run.id, store: source },
    { metricKey: 'm3', limit: 20_000 },
  );
  expect(looks).toBeGreaterThan(2);
  expect(sequences.join()).toBe(
    Array.from({ length: 20_000 }, (_, i) => SEGMENTS * ROWS - 100_000 + 5 * i + 3).join(),
  );
});
