import { MetricsLogger, openRun, openStorage, startRun } from 'quark-sdk';

const storageDir = process.env.QUARK_DIR ?? 'quark-runs'; // SQLite

export async function POST() {
  const session = await startRun({ project: 'on-the-server', storageDir });
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < 250; step++) metrics.log('train/loss', 1 / (step + 1), { step });
  await session.endRun();
  await session.close();
  return Response.json({ runId: session.runId });
}

export async function GET(request) {
  const runId = new URL(request.url).searchParams.get('run');
  const store = await openStorage(storageDir, { create: false });
  try {
    const run = await openRun(store, runId);
    const { values } = await run.readMetricColumns({ metricKey: 'train/loss' });
    return Response.json({ rows: values.length, last: values.at(-1) });
  } finally {
    await store.close();
  }
}
