// A process that records a run of a configuration at the same moment as others, and changes a run that all of them share.
import { once } from 'node:events';
import { writeSync } from 'node:fs';
import { editRun, MetricsLogger, openStorage, startRun } from '../../dist/index.js';

const [folder = '', number = '', shared = ''] = process.argv.slice(2);
writeSync(1, 'loaded\n');
await once(process.stdin, 'data');
const store = await openStorage(`file:${folder}`);
const session = await startRun({
  project: 'counted',
  storage: store,
  tags: [`worker=${number}`],
  config: { lr: 0.1, layers: [8, 8] },
});
const metrics = new MetricsLogger(session);
for (let step = 0; step < 5; step++) metrics.log('loss', Number(number) - step, { step });
await metrics.close();
await editRun(store, shared, { addTags: [`worker_${number}=${number}`] });
await session.summary({ worker: Number(number) });
await session.endRun();
await store.close();
process.exit(0);
