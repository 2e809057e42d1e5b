/** A database and files, each call of which waits at a gate first. */
import type { BlobFiles } from '../../src/store/sql/sql-blob-store.ts';
import type { SqlDatabase } from '../../src/store/sql/sql-database.ts';

export function gatedDatabase(database: SqlDatabase, gate: () => Promise<void>): SqlDatabase {
  return {
    name: database.name,
    read: async (work) => {
      await gate();
      return database.read(work);
    },
    transaction: async (work, lane) => {
      await gate();
      return database.transaction(work, lane);
    },
    safety: () => database.safety(),
    reclaimSpace: () => database.reclaimSpace(),
    close: () => database.close(),
  };
}

export function gatedFiles(files: BlobFiles, gate: () => Promise<void>): BlobFiles {
  const gated =
    <A extends unknown[], T>(call: (...args: A) => Promise<T>) =>
    async (...args: A): Promise<T> => {
      await gate();
      return call(...args);
    };
  return {
    name: files.name,
    put: gated((key: string, bytes: Uint8Array<ArrayBuffer>) => files.put(key, bytes)),
    get: gated((key: string) => files.get(key)),
    getRange: gated((key: string, start: number, end: number) => files.getRange(key, start, end)),
    has: gated((key: string, sizeBytes: number) => files.has(key, sizeBytes)),
    delete: gated((key: string) => files.delete(key)),
    removeAbandoned: (nowMs) => files.removeAbandoned(nowMs),
  };
}
