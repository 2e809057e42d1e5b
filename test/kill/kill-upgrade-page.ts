/** A page with a database of an earlier layout, which is opened, and so upgraded, until the browser is killed. */
import { openDB } from 'idb';
import { openIdbStorage } from '../../src/store/idb/idb-store.ts';
import { upgradeIdb, type IdbLayout } from '../../src/store/idb/idb-layout.ts';
import { prepareRun, RUN_ID } from './workload.ts';
import { segmentOf } from '../support/segments.ts';

const BATCHES = 20;

declare global {
  interface Window {
    quarkUpgrade: {
      /** Makes a database in an earlier layout, with rows. */
      make(name: string, version: number): Promise<void>;
      /** Opens it. Before making the object store of this number, from 1, it says so and waits for ever; 0: never. */
      open(name: string, stopAt: number): void;
      /** The layout that it has. */
      layout(name: string): Promise<number>;
      /** Batches that are there with their bytes, and that are to be there. */
      read(name: string): Promise<{ readonly found: number; readonly made: number }>;
    };
  }
}

const segments = Array.from({ length: BATCHES }, (_, i) => segmentOf(i, { runId: RUN_ID }, 5_000));

window.quarkUpgrade = {
  async make(name, version) {
    // The rows are written by the present code, into the object stores that layout 1 has already.
    const store = await openIdbStorage(`idb:${name}-rows`);
    await prepareRun(store);
    await store.appendSegments(segments);
    await store.close();
    const rows = await openDB<IdbLayout>(`${name}-rows`);
    const old = await openDB<IdbLayout>(name, version, {
      upgrade: (database) => upgradeIdb(database, 0, version),
    });
    for (const table of old.objectStoreNames) {
      const [keys, values] = [await rows.getAllKeys(table), await rows.getAll(table)];
      const transaction = old.transaction(table, 'readwrite');
      const isInline = transaction.store.keyPath !== null;
      for (const [i, value] of values.entries())
        await transaction.store.put(value, isInline ? undefined : keys[i]);
      await transaction.done;
    }
    rows.close();
    old.close();
  },
  open(name, stopAt) {
    const make: unknown = Reflect.get(IDBDatabase.prototype, 'createObjectStore');
    if (typeof make !== 'function') throw new Error('Databases make no object stores here.');
    let count = 0;
    Reflect.set(
      IDBDatabase.prototype,
      'createObjectStore',
      function create(this: IDBDatabase, ...args: unknown[]): unknown {
        if (++count === stopAt) {
          console.log('stopped');
          for (;;);
        }
        return Reflect.apply(make, this, args);
      },
    );
    console.log('opening');
    openIdbStorage(`idb:${name}`).then(
      () => console.log('opened'),
      (error: unknown) => console.log(`failed ${String(error)}`),
    );
  },
  async layout(name) {
    // The list of databases of Chromium has the version that a killed upgrade was to lead to: only an opening tells.
    const database = await openDB(name);
    database.close();
    return database.version;
  },
  async read(name) {
    const store = await openIdbStorage(`idb:${name}`);
    const manifests = await store.listSegments({ runId: RUN_ID, table: 'metrics' });
    const reads = await store.readSegments(manifests);
    const found = segments.filter((segment) => {
      const at = manifests.findIndex(
        ({ batchNumber }) => batchNumber === segment.manifest.batchNumber,
      );
      const read = reads[at];
      return read?.kind === 'bytes' && read.bytes.every((byte, i) => byte === segment.bytes[i]);
    }).length;
    await store.close();
    return { found, made: BATCHES };
  },
};
