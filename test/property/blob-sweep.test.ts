import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { openMemoryStorage } from '../../src/store/memory/memory-store.ts';
import { wrapStore } from '../../src/store/front.ts';
import { createBlobFiles } from '../../src/store/sql/node/blob-files.ts';
import { openSqlite } from '../../src/store/sql/node/sqlite.ts';
import { createSqlStore } from '../../src/store/sql/sql-store.ts';
import { gatedDatabase, gatedFiles } from '../support/gated-parts.ts';
import { tryLateSweeps, trySweeps } from './blob-sweep-commands.ts';
import type { SweepLocation } from './blob-sweep-world.ts';

let opened = 0;

test('in memory: no sweep removes what a record names, and what nothing names goes', async () => {
  const tried = await trySweeps(async (clock) => {
    const uri = `memory:sweeps-${opened++}`;
    return {
      open: async (gate) =>
        wrapStore(await openMemoryStorage(uri, { clock }), async (name, _args, call) => {
          if (name !== 'close') await gate();
          return call();
        }),
      remove: async () => undefined,
    };
  }, 200);
  expect(tried).toBeGreaterThan(0);
}, 120_000);

const inFiles = async (clock: { now(): number }): Promise<SweepLocation> => {
  const directory = await mkdtemp(join(tmpdir(), 'quark-sweeps-'));
  const database = await openSqlite(join(directory, 'quark.db'), { synchronous: 'normal' });
  return {
    open: async (gate) =>
      createSqlStore({
        uri: 'test:',
        location: { storageDir: directory, storeRoot: directory, dbPath: directory },
        database: gatedDatabase(database, gate),
        isShared: true,
        blobFiles: gatedFiles(createBlobFiles(directory), gate),
        clock,
      }),
    listFiles: async () => {
      const names = await readdir(join(directory, 'blobs'), { recursive: true }).catch(() => []);
      return names.filter((name) => name.length > 64).map((name) => basename(name));
    },
    remove: async () => {
      await database.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
};

test('in SQLite and files: the same, between any two calls of the database and the files', async () => {
  expect(await trySweeps(inFiles, 60)).toBeGreaterThan(0);
}, 240_000);

test('in SQLite and files: a sweep that rests deletes nothing that was recorded meanwhile', async () => {
  expect(await tryLateSweeps(inFiles)).toBeGreaterThan(0);
}, 120_000);
