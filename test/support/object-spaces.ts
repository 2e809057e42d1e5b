/** An SQLite database with merged segments in memory objects, as maintenance gets it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBlobFiles } from '../../src/store/sql/node/blob-files.ts';
import { openSqlite } from '../../src/store/sql/node/sqlite.ts';
import { SegmentFiles } from '../../src/store/sql/object-files.ts';
import { createSqlStore } from '../../src/store/sql/sql-store.ts';
import type { SqlDatabase } from '../../src/store/sql/sql-database.ts';
import type { Store } from '../../src/store/store.ts';
import { MemoryObjects } from './memory-objects.ts';

/** How long loose objects are kept here. */
export const KEEP_LOOSE_MS = 3_600_000;
/** How old an unknown object has to be here. */
export const KEEP_UNKNOWN_MS = 86_400_000;

export type ObjectSpaces = {
  readonly database: SqlDatabase;
  readonly objects: MemoryObjects;
  readonly segmentFiles: SegmentFiles;
  store(space: string): Store;
  close(): Promise<void>;
};

/** `minBytes`: merged segments from that size on are objects. */
export async function openObjectSpaces(
  clock: { now(): number },
  minBytes = 1,
): Promise<ObjectSpaces> {
  const directory = await mkdtemp(join(tmpdir(), 'quark-spaces-'));
  const database = await openSqlite(join(directory, 'quark.db'), { synchronous: 'normal' });
  const objects = new MemoryObjects(clock);
  const rules = { minBytes, keepLooseMs: KEEP_LOOSE_MS, keepUnknownMs: KEEP_UNKNOWN_MS };
  const segmentFiles = new SegmentFiles(database, objects, clock, rules);
  return {
    database,
    objects,
    segmentFiles,
    store: (space) =>
      createSqlStore({
        uri: 'test:',
        location: { storageDir: directory, storeRoot: directory, dbPath: directory },
        database,
        isShared: true,
        space,
        blobFiles: createBlobFiles(directory),
        segmentFiles,
        clock,
      }),
    close: async () => {
      await database.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
