/**
 * Deletion of runs in IndexedDB. A deleted run has a tombstone, and its row is there; its segments stay where they are until they
 * are purged, and every call about segments asks for the tombstone in its own transaction.
 */
import type { Clock } from '../../base/clock.ts';
import { RunNotFoundError } from '../../base/errors.ts';
import { deletedRunShape } from '../../records/shapes/deleted-run.ts';
import { copyShape } from '../../schema/shape.ts';
import {
  compareDeleted,
  isPurgeDue,
  notesOfRun,
  runDeleted,
  runPurged,
  tombstoneOf,
  type RunDeletion,
} from '../deletion.ts';
import { copyRun, withArchived } from '../run-rules.ts';
import type { DeletedRun, StoredRun } from '../store.ts';
import type { IdbConnection } from './idb-connection.ts';
import {
  AFTER_NAMES,
  keysUnder,
  type IdbStoreName,
  type IdbTombstone,
  type IdbTransaction,
} from './idb-layout.ts';
import { noteRunChange } from './idb-run-feed.ts';
import { removeIdbProject } from './idb-projects.ts';

type Transaction = IdbTransaction<'readonly'> | IdbTransaction<'readwrite'>;

/** What holds segments and their state, by keys that begin with the run. */
const RUN_STORES = ['counters', 'manifests', 'bytes', 'merged', 'replacements'] as const;
const CHANGED: IdbStoreName[] = ['runs', 'deletedRuns', 'leases', 'notes'];

/** The calls that delete, archive and restore runs of a database. */
export function idbDeletion(
  connection: IdbConnection,
  clock: Pick<Clock, 'now'>,
  where: string,
): RunDeletion {
  const setArchived = async (
    tx: IdbTransaction<'readwrite'>,
    run: StoredRun,
    archivedAtMs: number | undefined,
  ): Promise<StoredRun> => {
    const next = copyRun(withArchived(run, archivedAtMs), run.revision + 1);
    await Promise.all([tx.objectStore('runs').put(next), noteRunChange(tx, run, next)]);
    return next;
  };
  return {
    deleteRun: (runId, options) =>
      connection.writeToDisk(CHANGED, async (tx) => {
        const known = await tx.objectStore('deletedRuns').get(runId);
        if (known !== undefined) return copyShape(deletedRunShape, known);
        const run = await tx.objectStore('runs').get(runId);
        if (run === undefined) throw new RunNotFoundError(runId, where);
        const tombstone = tombstoneOf(run, clock.now(), options);
        await Promise.all([
          tx.objectStore('deletedRuns').put({ ...tombstone, run }),
          tx.objectStore('runs').delete(runId),
          noteRunChange(tx, run, undefined),
          tx.objectStore('leases').delete(keysUnder([runId])),
        ]);
        return tombstone;
      }),
    archiveRun: (runId) =>
      connection.writeToDisk(CHANGED, async (tx) => {
        const run = await requireRun(tx, runId, where);
        return run.archivedAtMs === undefined ? setArchived(tx, run, clock.now()) : run;
      }),
    restoreRun: (runId) =>
      connection.writeToDisk(CHANGED, async (tx) => {
        const deleted = await tx.objectStore('deletedRuns').get(runId);
        if (deleted === undefined) {
          const run = await requireRun(tx, runId, where);
          return run.archivedAtMs === undefined ? run : setArchived(tx, run, undefined);
        }
        if (deleted.run === undefined) throw runPurged(runId);
        await Promise.all([
          tx.objectStore('runs').put(deleted.run),
          noteRunChange(tx, undefined, deleted.run),
          tx.objectStore('deletedRuns').delete(runId),
        ]);
        return deleted.run;
      }),
    findDeletedRun: async (runId) => {
      const found = await connection.read(['deletedRuns'], (tx) =>
        tx.objectStore('deletedRuns').get(runId),
      );
      return found && copyShape(deletedRunShape, found);
    },
    listDeletedRuns: async () => {
      const found = await connection.read(['deletedRuns'], (tx) =>
        tx.objectStore('deletedRuns').getAll(),
      );
      return found.map((one) => copyShape(deletedRunShape, one)).sort(compareDeleted);
    },
    purgeDeletedRuns: async (nowMs = clock.now(), force = []) => {
      const known = await connection.read(['deletedRuns'], (tx) =>
        tx.objectStore('deletedRuns').getAll(),
      );
      const purged: DeletedRun[] = [];
      for (const { id } of known.filter((one) => isPurgeDue(one, nowMs, force))) {
        const done = await connection.writeToDisk(
          ['projects', 'runs', 'deletedRuns', 'notes', ...RUN_STORES],
          async (tx) => {
            const deleted = await tx.objectStore('deletedRuns').get(id);
            // It may have been restored meanwhile.
            if (deleted === undefined || !isPurgeDue(deleted, nowMs, force)) return undefined;
            const tombstone = await purge(tx, deleted, nowMs);
            if (deleted.run !== undefined) await removeIdbProject(tx, deleted.run.projectId);
            return tombstone;
          },
        );
        if (done !== undefined) purged.push(done);
      }
      return purged.sort(compareDeleted);
    },
  };
}

/** Which of these runs are deleted. The transaction has `deletedRuns` among its stores. */
export async function findDeleted(
  tx: Transaction,
  runIds: Iterable<string>,
): Promise<ReadonlySet<string>> {
  const distinct = [...new Set(runIds)];
  const keys = await Promise.all(
    distinct.map((runId) => tx.objectStore('deletedRuns').getKey(runId)),
  );
  return new Set(distinct.filter((_, i) => keys[i] !== undefined));
}

/** @throws {SessionStoreError} `deleted` */
export async function checkNotDeleted(tx: Transaction, runIds: Iterable<string>): Promise<void> {
  const [first] = await findDeleted(tx, runIds);
  if (first !== undefined) throw runDeleted(first);
}

async function requireRun(tx: Transaction, runId: string, where: string): Promise<StoredRun> {
  await checkNotDeleted(tx, [runId]);
  const run = await tx.objectStore('runs').get(runId);
  if (run === undefined) throw new RunNotFoundError(runId, where);
  return run;
}

async function purge(
  tx: IdbTransaction<'readwrite'>,
  deleted: IdbTombstone,
  nowMs: number,
): Promise<DeletedRun> {
  const tombstone = { ...copyShape(deletedRunShape, deleted), purgedAtMs: nowMs };
  const all = keysUnder([deleted.id]);
  const { names, prefixes } = notesOfRun(deleted.id);
  await Promise.all([
    tx.objectStore('deletedRuns').put(tombstone),
    ...RUN_STORES.map((name) => tx.objectStore(name).delete(all)),
    ...names.map((name) => tx.objectStore('notes').delete(name)),
    ...prefixes.map((prefix) =>
      tx.objectStore('notes').delete(IDBKeyRange.bound(prefix, prefix + AFTER_NAMES)),
    ),
  ]);
  return tombstone;
}
