/**
 * A process that records as fast as it can, so that a thread merges beside it. It tells on stdout which rows are safe, and when a
 * merge reads its segments and exchanges them. With a number of rows it ends its run after them, and the threads that merge are
 * terminated in the middle of their work.
 */
import { writeSync } from 'node:fs';
import type { Worker } from 'node:worker_threads';
import { startRun } from '../../src/session/functions.ts';
import { MetricsLogger } from '../../src/session/metrics-logger.ts';
import { openFileStorage } from '../../src/store/sql/node/file-storage.ts';
import { keyAt, valueAt } from './merge-rows.ts';

/** Segments of all sizes: windows of a merge are full by their rows, and by their number of segments. */
const FLUSH_ROWS = [1000, 100, 3000, 64];
const LONGEST_LIFE_MS = 60;

const [directory = '', lastRow = 'Infinity'] = process.argv.slice(2);
const say = (line: string): void => void writeSync(1, `${line}\n`);

// What a build fills in.
Object.assign(globalThis, {
  __QUARK_IMPORT_NODE__: async () => (await import('../../src/node-platform.ts')).default,
});
if (lastRow !== 'Infinity')
  process.on('worker', (worker: Worker) => {
    worker.once('exit', () => say('thread lost'));
    setTimeout(() => void worker.terminate(), Math.random() * LONGEST_LIFE_MS);
  });

const store = await openFileStorage(directory);
const readSegments = store.readSegments.bind(store);
const replaceSegments = store.replaceSegments.bind(store);
store.readSegments = async (segments) => {
  say('merging');
  return readSegments(segments);
};
store.replaceSegments = async (...call) => {
  say('exchanging');
  const isReplaced = await replaceSegments(...call);
  say('exchanged');
  return isReplaced;
};
const session = await startRun({ project: 'merges', storage: store, handleSignals: false });
const metrics = new MetricsLogger(session, { batchSize: 10_000 });
say('ready');
say(`run ${session.runId}`);
for (let at = 0, flush = 0; at < Number(lastRow); flush++) {
  for (const end = at + (FLUSH_ROWS[flush % FLUSH_ROWS.length] ?? 1); at < end; at++)
    metrics.log(keyAt(at), valueAt(at), { step: at });
  await session.flush();
  say(`rows ${at}`);
  // A turn of the event loop, in which the thread is heard.
  await new Promise((resolve) => setImmediate(resolve));
}
await session.endRun();
await session.close();
await store.close();
say('ended');
