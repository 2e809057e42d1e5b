/** Notes, the overview and forgetting in IndexedDB. */
import { findDeleted } from './idb-deletion.ts';
import type { IdbConnection } from './idb-connection.ts';
import { noteRunChange } from './idb-run-feed.ts';
import { AFTER_NAMES, keysUnder, type IdbStoreName, type IdbTransaction } from './idb-layout.ts';
import { isUnchanged } from '../run-rules.ts';
import type { StoreNotes, StoreSurvey, StreamState } from '../store.ts';

const OVERVIEW_STORES: IdbStoreName[] = ['runs', 'counters', 'replacements', 'deletedRuns'];

/** The notes of the database behind a connection. */
export function idbNotes(connection: IdbConnection): StoreNotes {
  return {
    async read(name) {
      return connection.read(['notes'], (tx) => tx.objectStore('notes').get(name));
    },
    async write(name, text, expected) {
      return connection.write(['notes'], async (tx) => {
        const notes = tx.objectStore('notes');
        if (expected !== undefined && ((await notes.get(name)) ?? null) !== expected) return false;
        await (text === null ? notes.delete(name) : notes.put(text, name));
        return true;
      });
    },
    async list(prefix) {
      const range = IDBKeyRange.bound(prefix, prefix + AFTER_NAMES);
      return connection.read(['notes'], async (tx) => {
        const notes = tx.objectStore('notes');
        const [names, texts] = await Promise.all([notes.getAllKeys(range), notes.getAll(range)]);
        return names.map((name, i) => ({ name, text: texts[i] ?? '' }));
      });
    },
    async survey(runId) {
      return connection.read(OVERVIEW_STORES, (tx) => snapshotIn(tx, runId));
    },
    async forgetRun(runId, expected) {
      const all = keysUnder([runId]);
      return connection.writeToDisk(
        [
          'runs',
          'leases',
          'counters',
          'manifests',
          'bytes',
          'merged',
          'replacements',
          'deletedRuns',
          'notes',
        ],
        async (tx) => {
          if (!isUnchanged(expected, await snapshotIn(tx, runId))) return false;
          const run = await tx.objectStore('runs').get(runId);
          // What a deleted run had is there until it is purged or restored.
          if ((await findDeleted(tx, [runId])).size > 0) return true;
          await Promise.all([
            tx.objectStore('runs').delete(runId),
            noteRunChange(tx, run, undefined),
            tx.objectStore('leases').delete(all),
            tx.objectStore('counters').delete(all),
            tx.objectStore('manifests').delete(all),
            tx.objectStore('bytes').delete(all),
            tx.objectStore('merged').delete(all),
            tx.objectStore('replacements').delete(all),
          ]);
          return true;
        },
      );
    },
  };
}

/** What there is, or what there is of one run, inside a transaction over `runs`, `counters` and `replacements`. */
export async function snapshotIn(
  tx: IdbTransaction<'readonly'> | IdbTransaction<'readwrite'>,
  runId: string | undefined,
): Promise<StoreSurvey> {
  const range = runId === undefined ? undefined : keysUnder([runId]);
  const counters = tx.objectStore('counters');
  const replacements = tx.objectStore('replacements');
  const [runs, keys, next, replacedKeys, counts, deletedIds] = await Promise.all([
    tx.objectStore('runs').getAll(runId),
    counters.getAllKeys(range),
    counters.getAll(range),
    replacements.getAllKeys(range),
    replacements.getAll(range),
    tx.objectStore('deletedRuns').getAllKeys(runId),
  ]);
  const deleted = new Set(deletedIds);
  const streams = new Map<string, StreamState>();
  keys.forEach(([id, table], i) =>
    streams.set(`${id}/${table}`, {
      runId: id,
      table,
      nextSequence: next[i] ?? 0,
      replaceCount: 0,
    }),
  );
  replacedKeys.forEach(([id, table], i) => {
    const known = streams.get(`${id}/${table}`);
    streams.set(`${id}/${table}`, {
      runId: id,
      table,
      nextSequence: known?.nextSequence ?? 0,
      replaceCount: counts[i] ?? 0,
    });
  });
  return {
    runs: runs.map(({ id, revision, status }) => ({ id, status, revision })),
    streams: [...streams.values()].filter((stream) => !deleted.has(stream.runId)),
  };
}
