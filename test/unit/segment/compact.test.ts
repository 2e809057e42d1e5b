import { afterEach, expect, test, vi } from 'vitest';
import { createMemoryStore, MetricsLogger, openRun, startRun } from 'quark-sdk';
import { metricTable } from '../../../src/records/metric.ts';
import { compactTable } from '../../../src/segment/compact.ts';
import { unpackSegment } from '../../../src/codecs/packed/unpack.ts';

afterEach(() => {
  vi.unstubAllGlobals();
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
  await session.endRun();
  const segments = await store.listSegments({ runId: session.runId, table: 'metrics' });
  expect(segments.map((segment) => [segment.encoding, segment.rowCount])).toEqual([['arrow', 300]]);
  expect(await (await openRun(store, session.runId)).readMetricColumns()).toEqual(before);
  await session.close();
});

test('rows with long texts are merged into segments that can be stored and read, however often', async () => {
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
});
