/** What the benchmark of the service takes from the sources. */
export { openFileStorage } from '../../src/store/sql/node/file-storage.ts';
export { openSpaces } from '../../src/store/sql/node/open-spaces.ts';
export { openPostgresStorage } from '../../src/store/sql/node/postgres-storage.ts';
export { openHttpStorage } from '../../src/wire/http-store.ts';
export { addRun, pointsFrom, segmentOfBatch } from './points.ts';
