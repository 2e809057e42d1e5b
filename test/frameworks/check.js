import { createKernels, MetricsLogger, openRun, openStorage, startRun } from 'quark-sdk';

/** Records enough rows for the thread that merges, and asks a worker. */
export async function checkServer(storageDir) {
  const session = await startRun({ project: 'check', storageDir });
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < 70_000; step++) metrics.log('train/noise', step, { step });
  await session.endRun();
  await session.close();
  const store = await openStorage(storageDir, { create: false });
  const run = await openRun(store, session.runId);
  const { rowCount } = await run.readMetricColumns({ metricKey: 'train/noise' });
  const segments = await store.listSegments({ runId: session.runId, table: 'metrics' });
  await store.close();
  const isMerged = segments.every(({ encoding }) => encoding === 'packed');
  return { rowCount, isMerged, ...(await checkKernels()) };
}

export async function checkKernels() {
  const pool = await createKernels({ inlineBytes: 0 });
  const { mean } = await pool.tensorStats(new Float32Array(5000).fill(2));
  const { kernel, workerMode } = pool.diagnostics();
  await pool.close();
  return { mean, kernel, workerMode };
}
