import { afterEach, expect, test, vi } from 'vitest';
import { createMemoryStore, MetricsLogger, openRun, startRun } from 'quark-sdk';
import { metricTable } from '../../../src/records/metric.ts';
import { compactTable } from '../../../src/segment/compact.ts';
import { createSegment } from '../../../src/segment/manifest.ts';
import { MERGED_ROWS } from '../../../src/segment/merged-rows.ts';
import { unpackSegment } from '../../../src/codecs/packed/unpack.ts';
import type { RowBatch } from '../../../src/codecs/arrow/vectors.ts';
import { longTest } from '../../support/long.ts';
import type { Store } from '../../../src/store/store.ts';
import { recordRun } from '../../support/recorded-run.ts';

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

test('what an engine packs wrongly is kept in the plain form', async () => {
  const store = createMemoryStore();
  const session = await startRun({ project: 'p', storage: store });
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < 300; step++) {
    metrics.log('a', Math.sin(step), { step });
    if (step % 100 === 99) await metrics.flush();
  }
  const before = await metrics.readColumns();
  const { CompressionStream } = globalThis;
  class OtherFormat extends CompressionStream {
    constructor() {
      super('gzip');
    }
  }
  vi.stubGlobal('CompressionStream', OtherFormat);
  vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined);
  await session.endRun();
  const segments = await store.listSegments({ runId: session.runId, table: 'metrics' });
  expect(segments.map((segment) => [segment.encoding, segment.rowCount])).toEqual([['arrow', 300]]);
  expect(await (await openRun(store, session.runId)).readMetricColumns()).toEqual(before);
  await session.close();
});

longTest(
  'rows with long texts are merged into segments that can be stored and read, however often',
  async () => {
    const store = createMemoryStore();
    const session = await startRun({ project: 'p', storage: store });
    const metrics = new MetricsLogger(session);
    const text = 'x'.repeat(1_000_000);
    const logTo = async (last: number, from: number): Promise<void> => {
      for (let step = from; step < last; step++) {
        metrics.log('a', step, { step, metadata: { text } });
        if (step % 10 === 9) await metrics.flush();
      }
    };
    await logTo(50, 0);
    await compactTable(store, metricTable, session.runId, 'merge_1');
    await logTo(90, 50);
    await compactTable(store, metricTable, session.runId, 'merge_2');
    await compactTable(store, metricTable, session.runId, 'merge_3');
    const manifests = await store.listSegments({ runId: session.runId, table: 'metrics' });
    const sizes: number[] = [];
    for (const read of await store.readSegments(manifests)) {
      if (read.kind !== 'bytes') throw new Error('the segments are there');
      sizes.push((await unpackSegment(read.bytes)).byteLength);
    }
    expect(manifests.every((manifest) => manifest.encoding === 'packed')).toBe(true);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(32 << 20);
    const columns = await (await openRun(store, session.runId)).readMetricColumns();
    expect(columns.damage).toEqual([]);
    expect(Array.from(columns.values)).toEqual(Array.from({ length: 90 }, (_, i) => i));
    await session.close();
  },
);

const KEYS = 20;
const BATCH_ROWS = 1 << 14;

/** Rows of metrics in turn; the value is the number of the row. */
function rowsFrom(first: number, keys: number = KEYS): RowBatch {
  const numbers = Float64Array.from({ length: BATCH_ROWS }, (_, i) => first + i);
  return {
    rowCount: BATCH_ROWS,
    columns: new Map([
      ['timestamp', { kind: 'number', values: numbers.map((at) => 1_700_000_000_000 + at) }],
      [
        'metric_key',
        {
          kind: 'key',
          dictionary: Array.from({ length: keys }, (_, key) => `m${key}`),
          indices: Int32Array.from(numbers, (at) => at % keys),
        },
      ],
      ['value', { kind: 'f64', values: numbers, isNull: null }],
      ['step', { kind: 'number', values: numbers.map((at) => Math.floor(at / keys)) }],
    ]),
  };
}

test('windows of a long table are regrouped, so that segments have one metric; the last window stays, and nothing is merged twice', async () => {
  const windows = 4;
  const rows = windows * MERGED_ROWS;
  const batches = Array.from({ length: rows / BATCH_ROWS }, (_, i) => rowsFrom(i * BATCH_ROWS));
  const { run, store } = await recordRun([['metrics', batches]]);
  const filter = { runId: run.id, table: 'metrics' };
  const merged = await compactTable(store, metricTable, run.id, 'merge_1');
  expect(merged.isDone).toBe(true);
  const segments = await store.listSegments(filter);
  const isLast = (last: number): boolean => last >= rows - MERGED_ROWS;
  const early = segments.filter(({ lastSequence }) => !isLast(lastSequence));
  expect(early.map(({ keys, rowCount }) => [keys?.length, rowCount])).toEqual(
    Array.from({ length: KEYS }, () => [1, expect.any(Number)]),
  );
  expect(segments.length - early.length).toBeLessThanOrEqual(8);
  const reader = await openRun(store, run.id);
  const { sequences, values } = await reader.readMetricColumns();
  expect(sequences.length).toBe(rows);
  expect(values.every((value, i) => value === i && sequences[i] === i)).toBe(true);
  expect(await compactTable(store, metricTable, run.id, 'merge_2')).toEqual({
    removed: 0,
    added: 0,
    isDone: true,
  });
});

test('while a table grows, whole windows are merged and the rest is left', async () => {
  const batches = Array.from({ length: 10 }, (_, i) => rowsFrom(i * BATCH_ROWS));
  const { run, store } = await recordRun([['metrics', batches]]);
  const filter = { runId: run.id, table: 'metrics' };
  await compactTable(store, metricTable, run.id, 'merge_1', { isGrowing: true });
  const encodings = (await store.listSegments(filter)).map(({ encoding }) => encoding);
  expect(encodings.filter((encoding) => encoding === 'arrow')).toHaveLength(2);
  await compactTable(store, metricTable, run.id, 'merge_2');
  const after = await store.listSegments(filter);
  expect(after.every(({ encoding }) => encoding === 'packed')).toBe(true);
});

type Grown = { readonly windows: number; readonly keys: number };

/** Merges a table after each window of rows, and at its end: how many manifests each merge listed, and what was made. */
async function grow({ windows, keys }: Grown, positions?: Map<string, number>) {
  const { run, store } = await recordRun([['metrics', []]]);
  const list = vi.spyOn(store, 'listSegments');
  const limits = positions === undefined ? {} : { positions };
  const listed: number[] = [];
  const perWindow = MERGED_ROWS / BATCH_ROWS;
  for (let at = 0; at < windows * perWindow; at++) {
    const identity = { runId: run.id, table: 'metrics', writerId: 'writer_1', batchNumber: at };
    const batch = rowsFrom(at * BATCH_ROWS, keys);
    await store.appendSegments([createSegment(metricTable, identity, batch)]);
    if (at % perWindow !== perWindow - 1) continue;
    list.mockClear();
    const growing = { ...limits, isGrowing: true };
    await compactTable(store, metricTable, run.id, `merge_${at}`, growing);
    expect(list).toHaveBeenCalledTimes(1);
    const answer: Awaited<ReturnType<Store['listSegments']>> = await list.mock.results[0]?.value;
    listed.push(answer.length);
  }
  await compactTable(store, metricTable, run.id, 'merge_end', limits);
  const segments = await store.listSegments({ runId: run.id, table: 'metrics' });
  const shapes = segments.map(({ encoding, firstSequence, keys: own, lastSequence, rowCount }) => ({
    encoding,
    firstSequence,
    lastSequence,
    rowCount,
    keys: own,
  }));
  return { most: Math.max(...listed), shapes };
}

async function expectContinued(grown: Grown, most: number): Promise<void> {
  const whole = await grow(grown);
  const positions = new Map<string, number>();
  const continued = await grow(grown, positions);
  expect(continued.shapes).toEqual(whole.shapes);
  expect(continued.most).toBeLessThanOrEqual(most);
  expect(whole.most).toBeGreaterThan(most);
  expect(positions.get('metrics')).toBeGreaterThan((grown.windows - 2) * MERGED_ROWS);
}

test('a growing table is listed from where its last merge ended, and merged as if it were listed whole', async () => {
  await expectContinued({ windows: 3, keys: 8 }, MERGED_ROWS / BATCH_ROWS + 8);
});

// A window is merged to 6 segments, which wait for those of 8 windows and the last one.
longTest('the same with segments that are regrouped', async () => {
  await expectContinued({ windows: 21, keys: KEYS }, 9 * 6 + MERGED_ROWS / BATCH_ROWS);
});
