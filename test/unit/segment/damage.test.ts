import { describe, expect, test } from 'vitest';
import {
  createMemoryStore,
  MetricsLogger,
  openRun,
  startRun,
  type SegmentManifest,
  type Store,
} from 'quark-sdk';
import { metricTable } from '../../../src/records/metric.ts';
import { openSegment } from '../../../src/segment/open-segment.ts';

async function recorded(
  isMerged: boolean,
): Promise<{ store: Store; runId: string; segments: readonly SegmentManifest[] }> {
  const store = createMemoryStore();
  const session = await startRun({ project: 'p', storage: store });
  const metrics = new MetricsLogger(session);
  for (let batch = 0; batch < 3; batch++) {
    for (let i = 0; i < 40; i++)
      metrics.log(i % 2 === 0 ? 'a' : 'b/c', Math.sin(i + batch), {
        step: batch * 40 + i,
        epoch: batch,
      });
    await session.flush();
  }
  if (isMerged) await session.endRun();
  return {
    store,
    runId: session.runId,
    segments: await store.listSegments({ runId: session.runId, table: 'metrics' }),
  };
}

async function bytesOf(store: Store, manifest: SegmentManifest): Promise<Uint8Array<ArrayBuffer>> {
  const [read] = await store.readSegments([manifest]);
  if (read?.kind !== 'bytes') throw new Error('the segment is there');
  return read.bytes;
}

describe.each([
  ['arrow', false],
  ['packed', true],
] as const)('a damaged segment in the %s form', (encoding, isMerged) => {
  test('is found for every flipped bit and every cut, with its identity', async () => {
    const { segments, store } = await recorded(isMerged);
    const manifest = segments[0];
    if (manifest === undefined) throw new Error('there is a segment');
    expect(manifest.encoding).toBe(encoding);
    const good = await bytesOf(store, manifest);
    expect((await openSegment(metricTable, manifest, { kind: 'bytes', bytes: good })).kind).toBe(
      'opened',
    );
    const identity = {
      runId: manifest.runId,
      table: 'metrics',
      writerId: manifest.writerId,
      batchNumber: manifest.batchNumber,
    };
    const check = async (bytes: Uint8Array<ArrayBuffer>, what: string): Promise<void> => {
      const result = await openSegment(metricTable, manifest, { kind: 'bytes', bytes });
      if (result.kind !== 'damaged') throw new Error(`${what} went unnoticed`);
      expect(result.report.identity).toEqual(identity);
    };
    for (let bit = 0; bit < good.length * 8; bit++) {
      const bytes = good.slice();
      bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      await check(bytes, `bit ${bit}`);
    }
    for (let length = 0; length < good.length; length++)
      await check(good.slice(0, length), `cut at ${length}`);
  });
});

test('the bytes of another segment are found', async () => {
  const { segments, store } = await recorded(false);
  const [first, second] = segments;
  if (first === undefined || second === undefined) throw new Error('there are segments');
  const result = await openSegment(
    metricTable,
    { ...first, sizeBytes: second.sizeBytes, checksum: second.checksum },
    { kind: 'bytes', bytes: await bytesOf(store, second) },
  );
  expect(result).toMatchObject({
    kind: 'damaged',
    report: { reason: 'its checksum does not match' },
  });
});

test('the rest of the run still reads, and the reader says what is missing', async () => {
  const { runId, segments, store } = await recorded(false);
  const second = segments[1];
  if (second === undefined) throw new Error('there are segments');
  const bytes = await bytesOf(store, second);
  bytes[300] = (bytes[300] ?? 0) ^ 4;
  await store.replaceSegments(runId, 'metrics', [second], [{ manifest: second, bytes }]);
  const reader = await openRun(store, runId);
  const columns = await reader.readMetricColumns();
  expect(Array.from(columns.sequences)).toEqual([
    ...Array(40).keys(),
    ...Array.from({ length: 40 }, (_, i) => 80 + i),
  ]);
  expect(columns.damage).toMatchObject([{ identity: { runId, batchNumber: 1 }, rowCount: 40 }]);
  expect(await reader.readMetrics({ metricKey: 'a' })).toHaveLength(40);
  expect(reader.damage).toHaveLength(1);
});
