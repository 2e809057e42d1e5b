/**
 * Which runs of a database changed. Each change of a run leaves its id in a note, in its own transaction, so that other tabs and workers
 * see what to read again.
 */
import type { Clock } from '../../base/clock.ts';
import type { IndexFeed } from '../run-feed.ts';
import { liveRuns } from '../run-rules.ts';
import type { StoredRun } from '../store.ts';
import type { IdbConnection } from './idb-connection.ts';
import { AFTER_NAMES, type IdbTransaction } from './idb-layout.ts';

/** The note of the last changes: behind all names, so that no list has it. */
const CHANGES = `${AFTER_NAMES}run-changes`;
/** Ids in it: who has missed more reads all runs again. */
const MAX_IDS = 64;
type Changes = {
  readonly count: number;
  readonly ids: readonly string[];
  /** Runs that are archived; undefined where nobody has counted them. */
  readonly archived: number | undefined;
};

/** Notes that a run is added, changed or gone: as it was before, and as it is then. The transaction has the notes. */
export async function noteRunChange(
  tx: IdbTransaction<'readwrite'>,
  before: StoredRun | undefined,
  after: StoredRun | undefined,
): Promise<void> {
  const id = after?.id ?? before?.id;
  if (id === undefined) return;
  const notes = tx.objectStore('notes');
  const { archived, count, ids } = changesOf(await notes.get(CHANGES));
  const more = Number(isArchived(after)) - Number(isArchived(before));
  const changes: Changes = {
    count: count + 1,
    ids: [...ids, id].slice(-MAX_IDS),
    archived: archived === undefined ? undefined : archived + more,
  };
  await notes.put(JSON.stringify(changes), CHANGES);
}

function isArchived(run: StoredRun | undefined): boolean {
  return run?.archivedAtMs !== undefined;
}

function changesOf(text: string | undefined): Changes {
  const value: unknown = JSON.parse(text ?? '{}');
  const [count, ids, archived]: unknown[] =
    typeof value === 'object' && value !== null
      ? ['count', 'ids', 'archived'].map((name) => Reflect.get(value, name))
      : [];
  return {
    count: typeof count === 'number' ? count : 0,
    ids: Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : [],
    archived: typeof archived === 'number' ? archived : undefined,
  };
}

/** What an index of the runs reads. */
export function idbRunFeed(connection: IdbConnection, clock: Pick<Clock, 'now'>): IndexFeed {
  return {
    since: (known) =>
      connection.read(['notes', 'runs', 'leases'], async (tx) => {
        const { archived, count, ids } = changesOf(await tx.objectStore('notes').get(CHANGES));
        const missed = count - (known ?? count);
        const ofIds =
          missed < 0 || missed > ids.length ? undefined : ids.slice(ids.length - missed);
        const runs = tx.objectStore('runs');
        const [leases, total, ...found] = await Promise.all([
          tx.objectStore('leases').getAll(),
          runs.count(),
          ...[...new Set(ofIds)].map(async (id) => ({ id, run: await runs.get(id) })),
        ]);
        const live = liveRuns(leases, clock.now());
        return { count, total, archived, live, changed: ofIds && found };
      }),
    page: (after, limit) =>
      connection.read(['runs'], (tx) =>
        tx
          .objectStore('runs')
          .getAll(after === undefined ? undefined : IDBKeyRange.lowerBound(after, true), limit),
      ),
    newest: (limit, archived) =>
      connection.read(['runs'], async (tx) => {
        const found: StoredRun[] = [];
        let cursor = await tx.objectStore('runs').index('byStart').openCursor(null, 'prev');
        while (cursor !== null && found.length < limit) {
          if (archived === undefined || archived === isArchived(cursor.value))
            found.push(cursor.value);
          cursor = await cursor.continue();
        }
        return found;
      }),
    countedArchived: (count, archived) =>
      connection.write(['notes'], async (tx) => {
        const notes = tx.objectStore('notes');
        const now = changesOf(await notes.get(CHANGES));
        if (now.count === count && now.archived !== archived)
          await notes.put(JSON.stringify({ ...now, archived }), CHANGES);
      }),
  };
}
