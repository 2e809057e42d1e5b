import { deleteDB } from 'idb';
import { createId } from '../../src/base/ids.ts';
import { openIdbStorage } from '../../src/store/idb/idb-store.ts';
import { testStoreAgainstModel } from './store-commands.ts';

testStoreAgainstModel(
  'idb',
  async (clock) => {
    const name = createId('model', Date.now());
    return { open: () => openIdbStorage(`idb:${name}`, { clock }), remove: () => deleteDB(name) };
  },
  15,
  40,
  120_000,
);
