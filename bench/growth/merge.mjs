// Recording in turns with merges: how long the recording thread is held at a time, what the end costs, and what is stored.
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { longestSlice, recordRows, threadMs } from './recorded.mjs';

export const title = 'recording 20 metrics into SQLite';
export const sizes = [1e5, 1e6, 1e7, 3e7];

export async function measure(rows, { entry, folder }) {
  const sdk = await entry('index.js');
  const storage = await sdk.openStorage(join(folder, 'runs'));
  // What is compiled once is not counted.
  const warm = await sdk.startRun({ project: 'warm', storage, handleSignals: false });
  await recordRows(warm, sdk, { rows: 50_000 });
  await warm.endRun();
  await warm.close();
  const session = await sdk.startRun({ project: 'growth', storage, handleSignals: false });
  const began = performance.now();
  const during = await longestSlice(() => recordRows(session, sdk, { rows, flushRows: 1000 }));
  const ended = performance.now();
  const atEnd = await longestSlice(() => session.endRun());
  const after = performance.now();
  await session.close();
  // Once more for its processor time alone: what finds the longest slice works between all others.
  const again = await sdk.startRun({ project: 'growth', storage, handleSignals: false });
  const listed = countListed(storage);
  const threadBefore = threadMs();
  await recordRows(again, sdk, { rows, flushRows: 1000 });
  await again.endRun();
  const thread = threadMs() - threadBefore;
  await again.close();
  await storage.close();
  const { size } = await stat(join(folder, 'runs', '.quark', 'quark.db'));
  return {
    'longest slice while recording (ms of processor)': during,
    'longest slice of endRun (ms of processor)': atEnd,
    'recording (ms)': ended - began,
    'endRun (ms)': after - ended,
    'recording thread (ms of processor)': thread,
    'manifests that merges listed': listed.count,
    'listing them (ms of processor)': listed.ms,
    'bytes a point in the database': size / (2 * rows),
  };
}

/** Counts what a store lists from now on. */
function countListed(storage) {
  const listed = { count: 0, ms: 0 };
  const list = storage.listSegments.bind(storage);
  storage.listSegments = async (filter) => {
    const before = threadMs();
    const segments = await list(filter);
    listed.ms += threadMs() - before;
    listed.count += segments.length;
    return segments;
  };
  return listed;
}
