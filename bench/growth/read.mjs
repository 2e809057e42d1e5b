// All rows of a run of 10 metrics in SQLite as series, and as columns in the order of recording.
import { join } from 'node:path';
import { recordRows, threadMs, timed } from './recorded.mjs';

export const title = 'reading a whole run of 10 metrics from SQLite';
export const sizes = [1e5, 1e6, 3e6, 1e7];

export async function measure(rows, { entry, folder }) {
  const sdk = await entry('index.js');
  const store = await sdk.openStorage(join(folder, 'runs'));
  const session = await sdk.startRun({ project: 'growth', storage: store, handleSignals: false });
  await recordRows(session, sdk, { rows, keys: 10 });
  await session.endRun();
  const run = await sdk.openRun(store, session.runId);
  const figures = {};
  for (const [what, work] of Object.entries({
    'one metric as a series': () => run.readSeries({ metricKeys: ['group3/metric_7'] }),
    'all as series': () => run.readSeries(),
    'all as columns': () => run.readMetricColumns(),
  })) {
    figures[`${what} (ms)`] = await timed(work);
    figures[`${what} (ms of processor)`] = await timed(work, 5, threadMs);
  }
  await session.close();
  await store.close();
  return figures;
}
