/** A process to be killed: backs a folder up, again and again, and tells on stdout which snapshots are there. */
import { writeSync } from 'node:fs';
import { backupStore } from '../../src/backup/node/make-backup.ts';

const [source = '', destination = ''] = process.argv.slice(2);
writeSync(1, 'ready\n');
for (;;) {
  const { snapshotId } = await backupStore(source, destination, { keep: 2 });
  writeSync(1, `${snapshotId}\n`);
}
