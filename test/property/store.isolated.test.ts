import 'fake-indexeddb/auto';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deleteDB } from 'idb';
import { openFileStorage } from '../../src/store/sql/node/file-storage.ts';
import { openIdbStorage } from '../../src/store/idb/idb-store.ts';
import { openMemoryStorage } from '../../src/store/memory/memory-store.ts';
import { testStoreAgainstModel } from './store-commands.ts';

testStoreAgainstModel(
  'memory',
  async (clock) => {
    const uri = `memory:${randomUUID()}`;
    return { open: () => openMemoryStorage(uri, { clock }), remove: async () => undefined };
  },
  200,
  60,
  60_000,
);

testStoreAgainstModel(
  'sqlite',
  async (clock) => {
    const directory = await mkdtemp(join(tmpdir(), 'quark-model-'));
    return {
      open: () => openFileStorage(directory, { clock }),
      remove: () => rm(directory, { recursive: true, force: true }),
    };
  },
  60,
  60,
  120_000,
);

testStoreAgainstModel(
  'idb (in memory)',
  async (clock) => {
    const name = randomUUID();
    return { open: () => openIdbStorage(`idb:${name}`, { clock }), remove: () => deleteDB(name) };
  },
  40,
  60,
  120_000,
);
