/** The contract on IndexedDB, whichever there is. */
import { deleteDB, openDB } from 'idb';
import { createId } from '../../src/base/ids.ts';
import { openIdbStorage } from '../../src/store/idb/idb-store.ts';
import { keysUnder, segmentKey } from '../../src/store/idb/idb-layout.ts';
import { describeStore } from './store-contract.ts';

export function describeIdb(title: string): void {
  describeStore(
    title,
    async (clock) => {
      const name = createId('contract', Date.now());
      return {
        open: () => openIdbStorage(`idb:${name}`, { clock }),
        damage: async (segment) => {
          const database = await openDB(name);
          await database.put('bytes', new Uint8Array(5), segmentKey(segment));
          database.close();
        },
        countBytes: async (runId) => {
          const database = await openDB(name);
          const all: unknown[] = await database.getAll('bytes', keysUnder([runId]));
          database.close();
          return all.length;
        },
        remove: () => deleteDB(name),
      };
    },
    { hasNotes: true, serves: false },
  );
}
