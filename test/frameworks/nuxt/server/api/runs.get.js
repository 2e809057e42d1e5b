import { listRuns, openRun, openStorage } from 'quark-sdk';

export default defineEventHandler(async (event) => {
  const store = await openStorage(process.env.QUARK_DIR ?? 'quark-runs');
  try {
    const { run: runId } = getQuery(event);
    if (runId === undefined)
      return (await listRuns(store)).map(({ run, effectiveStatus }) => ({
        id: run.id,
        effectiveStatus,
      }));
    const run = await openRun(store, runId);
    const { values } = await run.readMetricColumns({ metricKey: 'train/loss' });
    return { rows: values.length, last: values.at(-1) };
  } finally {
    await store.close();
  }
});
