/** A process that opens stores one after the other at the same moment as others, and says how it went. */
import { once } from 'node:events';
import { writeSync } from 'node:fs';
import { openFileStorage } from '../../src/store/sql/node/file-storage.ts';
import { openPostgresStorage } from '../../src/store/sql/node/postgres-storage.ts';

writeSync(1, 'loaded\n');
await once(process.stdin, 'data');
for (const place of process.argv.slice(2)) {
  const open = place.startsWith('postgresql:') ? openPostgresStorage : openFileStorage;
  try {
    const store = await open(place);
    const runs = await store.listRuns();
    await store.close();
    writeSync(1, `runs ${runs.length}\n`);
  } catch (error) {
    writeSync(1, `${String(error).replaceAll('\n', ' ')}\n`);
  }
}
process.exit(0);
