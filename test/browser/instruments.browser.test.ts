/** Telemetry, artifacts and data diagnostics in a real browser, recorded into IndexedDB. */
import * as tf from '@tensorflow/tfjs';
import { afterEach, expect, test } from 'vitest';
import { longTest } from '../support/long.ts';
import { openStorage, startRun, type Store } from 'quark-sdk';
import {
  ArtifactStore,
  DataDiagnostics,
  MappingBatchMetadataAdapter,
  SystemTelemetry,
} from '../../src/probes.ts';

const open: Store[] = [];
let counter = 0;

afterEach(async () => {
  for (const store of open.splice(0)) await store.close();
});

async function openNamed(name: string): Promise<Store> {
  const store = await openStorage(`idb:${name}`);
  open.push(store);
  return store;
}

function freshName(): string {
  return `instruments-test-${Date.now()}-${counter++}`;
}

function block(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end;);
}

test('telemetry tells of long tasks and of the heap, and of nothing a page cannot know', async () => {
  const session = await startRun({ project: 'p', storage: await openNamed(freshName()) });
  const telemetry = new SystemTelemetry(session, { tf });
  await new Promise((resolve) => {
    setTimeout(() => {
      block(120);
      resolve(undefined);
    }, 0);
  });
  const seen: (number | null)[] = [];
  const tensor = tf.ones([10]);
  await expect
    .poll(
      () => {
        seen.push(telemetry.sample({ step: seen.length }).longTaskMs);
        return seen.reduce<number>((sum, ms) => sum + (ms ?? 0), 0);
      },
      { interval: 150 },
    )
    .toBeGreaterThan(100);
  const records = await telemetry.read();
  expect(records).toHaveLength(seen.length);
  const last = records.at(-1);
  expect(last).toMatchObject({
    boundary: 'step',
    cpuUsagePercent: null,
    ramUsedBytes: null,
    processRssBytes: null,
    diskReadBytes: null,
  });
  expect(last?.heapUsedBytes).toBeGreaterThan(1_000_000);
  expect(last?.tensorCount).toBeGreaterThan(0);
  tensor.dispose();
  await session.endRun();
  expect(() => telemetry.sample()).toThrow(/closed|ended/);
});

/** Bytes that differ everywhere, made piece by piece. */
function pieceOf(at: number, length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  for (let i = 0; i < length; i++) bytes[i] = ((at + i) * 2_654_435_761) >>> 24;
  return bytes;
}

longTest(
  'artifacts: a Blob, and a stream of several parts, are there when the database is opened again',
  async () => {
    const name = freshName();
    const session = await startRun({ project: 'p', storage: await openNamed(name) });
    const artifacts = new ArtifactStore(session);
    const blob = new Blob([pieceOf(5, 100_000)]);
    const kept = await artifacts.store('checkpoint', 'weights/blob', blob, { step: 1 });
    const sizeBytes = 40 * 1024 * 1024 + 17;
    const blockBytes = 3_000_001;
    let at = 0;
    const stream = new ReadableStream<Uint8Array>({
      pull(controller) {
        const length = Math.min(blockBytes, sizeBytes - at);
        if (length === 0) controller.close();
        else controller.enqueue(pieceOf(at, length));
        at += length;
      },
    });
    const large = await artifacts.store('checkpoint', 'weights/stream', stream, { step: 2 });
    expect(kept).toMatchObject({ payloadFormat: 'bytes', sizeBytes: 100_000, partSha256: null });
    expect(large.sizeBytes).toBe(sizeBytes);
    expect(large.partSha256).toHaveLength(3);
    await session.endRun();
    for (const store of open.splice(0)) await store.close();

    const reading = await startRun({ project: 'p', storage: await openNamed(name) });
    const others = new ArtifactStore(reading);
    expect(await others.load(kept)).toEqual(pieceOf(5, 100_000));
    let read = 0;
    for await (const piece of others.stream(large)) {
      const expected = pieceOf(read, piece.byteLength);
      expect(piece.every((byte, i) => byte === expected[i])).toBe(true);
      read += piece.byteLength;
    }
    expect(read).toBe(sizeBytes);
    await reading.endRun();
  },
);

test('a stream that a page breaks off leaves no artifact, and the run ends', async () => {
  const session = await startRun({ project: 'p', storage: await openNamed(freshName()) });
  const artifacts = new ArtifactStore(session);
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(pieceOf(0, 1000));
      controller.error(new Error('the network is gone'));
    },
  });
  await expect(artifacts.store('checkpoint', 'a', stream)).rejects.toThrow('the network is gone');
  expect(await artifacts.read()).toEqual([]);
  await session.endRun();
});

test('data diagnostics read the tensors of a batch, and keep none of them', async () => {
  const session = await startRun({ project: 'p', storage: await openNamed(freshName()) });
  const diagnostics = new DataDiagnostics(session, {
    adapter: new MappingBatchMetadataAdapter({
      labelKey: 'ys',
      sampleIdKey: 'ids',
      sequenceLengthKey: 'lengths',
    }),
  });
  const before = tf.memory().numTensors;
  for (let step = 0; step < 20; step++) {
    const batch = tf.tidy(() => ({
      xs: tf.keep(tf.ones([3, 4])),
      ys: tf.keep(tf.oneHot(tf.tensor1d([0, 2, 2], 'int32'), 3)),
      ids: tf.keep(tf.tensor1d([3 * step, 3 * step + 1, 0], 'int32')),
      lengths: tf.keep(tf.tensor1d([4, 5, step === 19 ? 500 : 6], 'int32')),
    }));
    diagnostics.logBatch(step === 10 ? 40 : 1 + step / 100, { step, batch });
    tf.dispose(batch);
  }
  expect(tf.memory().numTensors).toBe(before);
  const summary = await diagnostics.summarize();
  expect(summary.exposure).toMatchObject({
    sampleCount: 60,
    classCounts: { 0: 20, 2: 40 },
    majorityClass: '2',
    sequenceLengthMax: 500,
    maxSampleExposure: 21,
  });
  expect(summary.hardBatches.map(({ step }) => step)).toEqual(expect.arrayContaining([10, 19]));
  expect(summary.hardBatches[0]).toMatchObject({ step: 10 });
  await session.endRun();
});
