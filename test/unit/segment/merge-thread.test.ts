import { Worker } from 'node:worker_threads';
import { afterEach, beforeAll, expect, test } from 'vitest';
import mergeProgram from 'virtual:quark-inline-merge-worker';
import { openRun } from 'quark-sdk';
import { metricTable } from '../../../src/records/metric.ts';
import { compactTable, type MergeWindow } from '../../../src/segment/compact.ts';
import { MergeThreads, type MergeThreadsParts } from '../../../src/segment/node/merge-thread.ts';
import type { RowBatch } from '../../../src/codecs/arrow/vectors.ts';
import type { Store } from '../../../src/store/store.ts';
import { recordRun } from '../../support/recorded-run.ts';

const BATCH_ROWS = 1 << 14;
const BATCHES = 5;
const KEYS = 3;

const opened: MergeThreads[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((threads) => threads.close()));
});

function threadsOf(parts: MergeThreadsParts): MergeThreads {
  const threads = new MergeThreads({ processors: 2, ...parts });
  opened.push(threads);
  return threads;
}

/** A program of a thread, as it is or with what answers `message` from `port`. */
const program = (text: string) => async (): Promise<Worker> =>
  new Worker(new URL(`data:text/javascript,${encodeURIComponent(text)}`), { execArgv: [] });

/** Rows of some metrics in turn, with what packs well and what does not. */
function rowsFrom(first: number, rowCount = BATCH_ROWS): RowBatch {
  const numbers = Float64Array.from({ length: rowCount }, (_, i) => first + i);
  return {
    rowCount,
    columns: new Map([
      ['timestamp', { kind: 'number', values: numbers.map((at) => 1_700_000_000_000 + at) }],
      [
        'metric_key',
        {
          kind: 'key',
          dictionary: Array.from({ length: KEYS }, (_, key) => `m${key}`),
          indices: Int32Array.from(numbers, (at) => at % KEYS),
        },
      ],
      ['value', { kind: 'f64', values: numbers.map((at) => Math.sin(at)), isNull: null }],
      ['step', { kind: 'number', values: numbers.map((at) => Math.floor(at / KEYS)) }],
    ]),
  };
}

async function recorded(): Promise<{ readonly store: Store; readonly runId: string }> {
  const batches = Array.from({ length: BATCHES }, (_, i) => rowsFrom(i * BATCH_ROWS));
  const { run, store } = await recordRun([['metrics', batches]]);
  return { store, runId: run.id };
}

/** Manifests of the metrics of a run, with the checksums of their bytes. Each recording has a run and writers of its own. */
async function storedOf(store: Store, runId: string): Promise<readonly unknown[]> {
  const manifests = await store.listSegments({ runId, table: 'metrics' });
  return manifests.map(({ runId: _run, sources, ...manifest }) => [manifest, sources.length]);
}

/** Merges a run that is recorded anew; returns what is stored then. */
async function mergedBy(merge: MergeWindow | undefined): Promise<readonly unknown[]> {
  const { runId, store } = await recorded();
  const { added, isDone } = await compactTable(store, metricTable, runId, 'merge', { merge });
  expect(isDone).toBe(true);
  expect(added).toBeGreaterThan(0);
  const { values } = await (await openRun(store, runId)).readMetricColumns();
  expect(values.length).toBe(BATCHES * BATCH_ROWS);
  expect(values.every((value, at) => value === Math.sin(at))).toBe(true);
  return storedOf(store, runId);
}

let mergedHere: readonly unknown[];

beforeAll(async () => {
  mergedHere = await mergedBy(undefined);
});

test('another thread merges to the same bytes', async () => {
  const calls: number[] = [];
  const threads = threadsOf({});
  const start = threads.start.bind(threads);
  threads.start = (name, rows) => {
    calls.push(rows);
    return start(name, rows);
  };
  expect(await mergedBy(threads.mergeWindow)).toEqual(mergedHere);
  expect(calls).toEqual([BATCHES * BATCH_ROWS]);
  expect(threads.losses).toBe(0);
});

test('a thread that is terminated in the middle of a merge is followed by another one', async () => {
  const workers: Worker[] = [];
  const threads = threadsOf({
    async open() {
      const worker = await program(mergeProgram)();
      if (workers.push(worker) === 1) worker.once('message', () => void worker.terminate());
      return worker;
    },
  });
  expect(await mergedBy(threads.mergeWindow)).toEqual(mergedHere);
  expect(threads.losses).toBe(1);
  expect(await mergedBy(threads.mergeWindow)).toEqual(mergedHere);
  expect(workers.length).toBe(2);
  expect(threads.losses).toBe(1);
});

test('segments that are damaged stay as they are, on another thread too', async () => {
  const { runId, store } = await recorded();
  const [, second] = await store.listSegments({ runId, table: 'metrics' });
  const readSegments: Store['readSegments'] = async (segments) =>
    (await store.readSegments(segments)).map((read, i) =>
      segments[i]?.batchNumber === second?.batchNumber
        ? { kind: 'damaged', reason: 'it was gnawed at' }
        : read,
    );
  const damaged = new Proxy(store, {
    get: (target, name): unknown =>
      name === 'readSegments' ? readSegments : Reflect.get(target, name, target),
  });
  const { mergeWindow } = threadsOf({});
  const merged = await compactTable(damaged, metricTable, runId, 'merge', { merge: mergeWindow });
  expect(merged.removed).toBe(BATCHES - 1);
  const left = await store.listSegments({ runId, table: 'metrics' });
  expect(left.filter(({ writerId }) => writerId === second?.writerId)).toEqual([second]);
});

test.each([
  ['that ends before it answers', 'process.exit(3)'],
  ['with a program that does not start', 'throw new Error("no")'],
  [
    'that ends in the middle of a merge',
    `import { parentPort } from 'node:worker_threads';
     parentPort.on('message', ({ id, kind, manifests }) => {
       if (kind === 'add')
         parentPort.postMessage({ id, kind: 'taken', value: { seen: manifests.length, taken: manifests.map((_, i) => i) } });
       else process.exit(1);
     });`,
  ],
  [
    'that fails',
    `import { parentPort } from 'node:worker_threads';
     parentPort.on('message', ({ id, kind }) => kind === 'end' || parentPort.postMessage({ id, kind: 'failed', reason: 'no memory' }));`,
  ],
  [
    'that never answers',
    `import { parentPort } from 'node:worker_threads'; parentPort.on('message', () => undefined);`,
  ],
])('a thread %s costs nothing: its merges are made here', async (_, text) => {
  const threads = threadsOf({ open: program(text), answerMs: 300 });
  expect(await mergedBy(threads.mergeWindow)).toEqual(mergedHere);
});

test('a thread that cannot be made is asked for three times and no more', async () => {
  let asked = 0;
  const threads = threadsOf({
    open: async () => {
      asked++;
      throw new Error('threads are not allowed');
    },
  });
  const name = { table: metricTable, runId: 'run', mergeId: 'merge' };
  for (let attempt = 0; attempt < 5; attempt++) {
    const work = threads.start(name, 1 << 17);
    await work?.finish().then(
      () => expect.unreachable('nobody answers'),
      (error: unknown) => expect(error).toMatchObject({ code: 'kernel_failed' }),
    );
    work?.end?.();
  }
  expect(asked).toBe(3);
  expect(threads.losses).toBe(3);
});

test('few rows are merged here, and all where there is one processor', () => {
  const name = { table: metricTable, runId: 'run', mergeId: 'merge' };
  expect(threadsOf({}).start(name, 1 << 15)).toBeUndefined();
  expect(threadsOf({ processors: 1 }).start(name, 1 << 20)).toBeUndefined();
});

test('merges at the same time have a thread each, one less than there are processors', async () => {
  let begun = 0;
  const threads = threadsOf({
    processors: 4,
    open: () => {
      begun++;
      return program(mergeProgram)();
    },
  });
  const all = await Promise.all(Array.from({ length: 5 }, () => mergedBy(threads.mergeWindow)));
  for (const merged of all) expect(merged).toEqual(mergedHere);
  expect(begun).toBe(3);
  expect(threads.losses).toBe(0);
});

test('a thread without work ends', async () => {
  let worker: Worker | undefined;
  const threads = threadsOf({
    idleMs: 1,
    open: async () => {
      worker = await program(
        `import { parentPort } from 'node:worker_threads';
         parentPort.on('message', ({ id }) => parentPort.postMessage({ id, kind: 'merged', value: [] }));`,
      )();
      return worker;
    },
  });
  const work = threads.start({ table: metricTable, runId: 'run', mergeId: 'merge' }, 1 << 17);
  expect(await work?.finish()).toEqual([]);
  const ended = new Promise((resolve) => worker?.once('exit', resolve));
  work?.end?.();
  await ended;
  expect(threads.losses).toBe(0);
});
