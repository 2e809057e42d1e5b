/** A process to be killed: works on the store of a directory or a PostgreSQL database and tells on stdout what is safe. */
import { writeSync } from 'node:fs';
import { openFileStorage } from '../../src/store/sql/node/file-storage.ts';
import { openPostgresStorage } from '../../src/store/sql/node/postgres-storage.ts';
import { prepareRun, workForever } from './workload.ts';

const [place = '', writerId = ''] = process.argv.slice(2);
const open = place.startsWith('postgresql:') ? openPostgresStorage : openFileStorage;
const store = await open(place);
await prepareRun(store).catch(() => undefined);
writeSync(1, 'ready\n');
await workForever(store, writerId, (line) => writeSync(1, `${line}\n`));
