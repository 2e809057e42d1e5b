// Two runs of 5 metrics in memory, compared.
import { recordRows, threadMs } from './recorded.mjs';

export const title = 'compareColumns of two runs of so many points each';
export const sizes = [1e5, 1e6, 3e6, 1e7];

export async function measure(rows, { entry }) {
  const sdk = await entry('index.js');
  const { compareColumns, loadRunColumns } = await entry('analysis.js');
  const store = sdk.createMemoryStore();
  const sides = [];
  for (let i = 0; i < 2; i++) {
    const session = await sdk.startRun({ project: 'growth', storage: store, handleSignals: false });
    await recordRows(session, sdk, { rows, keys: 5, flushRows: 50_000 });
    await session.endRun();
    sides.push(await loadRunColumns(await sdk.openRun(store, session.runId)));
    await session.close();
  }
  const before = { ms: performance.now(), thread: threadMs() };
  await compareColumns(sides[0], sides[1]);
  return {
    'compareColumns (ms)': performance.now() - before.ms,
    'compareColumns (ms of processor)': threadMs() - before.thread,
  };
}
