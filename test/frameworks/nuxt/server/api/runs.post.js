import { MetricsLogger, startRun } from 'quark-sdk';

export default defineEventHandler(async () => {
  const storageDir = process.env.QUARK_DIR ?? 'quark-runs'; // SQLite
  const session = await startRun({ project: 'on-the-server', storageDir });
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < 250; step++) metrics.log('train/loss', 1 / (step + 1), { step });
  await session.endRun();
  await session.close();
  return { runId: session.runId };
});
