/** What the benchmark of the service takes from the sources. */
export { openFileStorage } from '../../src/node/file-storage.ts';
export { openPostgresStorage } from '../../src/node/postgres-storage.ts';
export { openHttpStorage } from '../../src/service/http-store.ts';
export { addRun, pointsFrom, segmentOfBatch } from './points.ts';
