/** A process to be killed: works on the SQLite store of a directory and tells on stdout what is safe. */
import { writeSync } from 'node:fs';
import { openFileStorage } from '../../src/node/file-storage.ts';
import { prepareRun, workForever } from './workload.ts';

const [directory = '', writerId = ''] = process.argv.slice(2);
const store = await openFileStorage(directory);
await prepareRun(store).catch(() => undefined);
writeSync(1, 'ready\n');
await workForever(store, writerId, (line) => writeSync(1, `${line}\n`));
