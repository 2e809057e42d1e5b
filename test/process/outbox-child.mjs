// Records with a service configured until it is killed, and says on stdout how many rows are flushed.
import { writeSync } from 'node:fs';
import { MetricsLogger, TrainingSession } from 'quark-sdk';

const [storageDir, persistenceUrl, runId, key] = process.argv.slice(2);
const session = await TrainingSession.attachRun({ runId, storageDir, persistenceUrl });
const metrics = new MetricsLogger(session);
writeSync(1, 'ready\n');
for (let rows = 0; ;) {
  for (let i = 0; i < 20; i++, rows++) metrics.log(key, Math.sin(rows), { step: rows });
  await metrics.flush();
  writeSync(1, `${rows}\n`);
}
