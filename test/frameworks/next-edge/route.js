import { MetricsLogger, startRun } from 'quark-sdk';

export const runtime = 'edge';

export async function POST() {
  const session = await startRun({ project: 'on-the-edge', storage: process.env.QUARK_URL });
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < 250; step++) metrics.log('train/loss', 1 / (step + 1), { step });
  await session.endRun();
  await session.close();
  return Response.json({ runId: session.runId });
}
