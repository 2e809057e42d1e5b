'use client';

import { useState } from 'react';
import { MetricsLogger, openRun, openStorage, startRun } from 'quark-sdk';

async function train() {
  const session = await startRun({ project: 'in-the-page' }); // into IndexedDB
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < 250; step++) metrics.log('train/loss', 1 / (step + 1), { step });
  await session.endRun();
  await session.close();
  const run = await openRun(await openStorage(), session.runId);
  const { rowCount } = await run.readMetricColumns({ metricKey: 'train/loss' });
  return `${rowCount} rows of ${session.runId}`;
}

export default function Page() {
  const [said, setSaid] = useState('');
  const begin = () => train().then(setSaid, (error) => setSaid(error.message));
  return (
    <main>
      <button onClick={begin}>Train</button>
      <output>{said}</output>
    </main>
  );
}
