// The last 100 rows of a run of 20 metrics, while it goes on and after its end.
import { join } from 'node:path';
import { recordRows, timed } from './recorded.mjs';

export const title = 'the last 100 rows of a run (ms)';
export const sizes = [1e5, 1e6, 3e6, 1e7];

export async function measure(rows, { entry, folder }) {
  const sdk = await entry('index.js');
  const figures = {};
  for (const [name, make] of Object.entries({
    memory: async () => sdk.createMemoryStore(),
    SQLite: async () => sdk.openStorage(join(folder, 'runs')),
  })) {
    const store = await make();
    const session = await sdk.startRun({ project: 'growth', storage: store, handleSignals: false });
    await recordRows(session, sdk, { rows });
    const look = async (filter) => {
      const run = await sdk.openRun(store, session.runId);
      const { rowCount } = await run.readMetricColumns({ limit: 100, ...filter });
      if (rowCount !== 100) throw new Error(`read ${rowCount} rows`);
    };
    figures[`${name}, while it goes on`] = await timed(() => look({}));
    await session.endRun();
    figures[`${name}, at its end`] = await timed(() => look({}));
    figures[`${name}, of one metric`] = await timed(() => look({ metricKey: 'group3/metric_7' }));
    await session.close();
    await store.close();
  }
  return figures;
}
