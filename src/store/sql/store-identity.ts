/**
 * The identity of a database, and the marks of the services that run on it.
 *
 * The id is made once, at random, when somebody first asks. The epoch changes when the database may have lost what it had
 * acknowledged: when it was restored, when a service ended without removing its mark (where that can lose something), and when
 * a PostgreSQL server goes on from another timeline. It is the instant of the change in milliseconds, and always greater than the one
 * before: two databases that were restored from one copy do not arrive at the same epoch, as they would by counting.
 *
 * A mark is a line for each process, renewed while it runs. So a second service that starts while the first one runs changes nothing.
 */
import type { StoreIdentity } from '../../records/shapes/store-identity.ts';
import {
  numberCell,
  sql,
  sqlOne,
  textCell,
  type DatabaseSafety,
  type SqlRow,
  type SqlWork,
} from './sql-database.ts';

/** The mark of a service that runs. */
export type ServiceMark = {
  /** Of this service alone. */
  readonly id: string;
  /** The process that it is in, so that others on the machine see that it has ended. */
  readonly tag: string;
};

/** How the marks of others are judged, and when. */
export type MarkRules = {
  readonly nowMs: number;
  /** A mark that was not renewed for so long is that of a service that has ended. */
  readonly ttlMs: number;
  /** Whether the service of a mark is known to have ended. */
  readonly isGone: (mark: ServiceMark) => boolean;
  readonly safety: DatabaseSafety;
};

type StoredIdentity = StoreIdentity & { readonly origin: string | null };

/** The identity, if it was made. */
export function* readIdentity(): SqlWork<StoreIdentity | undefined> {
  const found = yield* findIdentity('');
  return found && { id: found.id, epoch: found.epoch };
}

/** The identity, made unless it is there. To be run in a transaction. */
export function* ensureIdentity(nowMs: number): SqlWork<StoreIdentity> {
  const { epoch, id } = yield* lockIdentity(nowMs);
  return { id, epoch };
}

/**
 * Gives the database a new epoch, because it may have lost something: after a restore from a backup. The marks of services are removed,
 * as they are those of the database that the backup was made of. To be run in a transaction, while no service runs.
 *
 *     const database = await openSqlite(path);
 *     await database.transaction(() => changeEpoch(Date.now()));
 */
export function* changeEpoch(nowMs: number): SqlWork<StoreIdentity> {
  yield sql('DELETE FROM service_marks');
  return yield* nextEpoch(yield* lockIdentity(nowMs), nowMs);
}

/**
 * Writes the mark of a service, removes those of services that have ended, and changes the epoch where that means that something may be
 * lost. Called at the start of a service and again and again while it runs. To be run in a transaction.
 */
export function* renewMark(mark: ServiceMark, rules: MarkRules): SqlWork<StoreIdentity> {
  const { isGone, nowMs, safety, ttlMs } = rules;
  // One at a time: what one has found is not found by another one again.
  const stored = yield* lockIdentity(nowMs);
  const rows = yield sql('SELECT text(id), text(tag), renewed_at_ms FROM service_marks');
  let hasEnded = false;
  for (const row of rows) {
    const other = { id: textCell(row, 0), tag: textCell(row, 1) };
    if (other.id === mark.id) continue;
    // Further ahead than a moment: written under a clock that has been turned back since.
    const ageMs = Math.abs(nowMs - numberCell(row, 2));
    if (ageMs <= ttlMs && !isGone(other)) continue;
    yield sql('DELETE FROM service_marks WHERE id = ?', other.id);
    hasEnded = true;
  }
  yield sql(
    `INSERT INTO service_marks (id, tag, renewed_at_ms) VALUES (?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET renewed_at_ms = excluded.renewed_at_ms`,
    mark.id,
    mark.tag,
    nowMs,
  );
  const isOther =
    safety.origin !== null && stored.origin !== null && safety.origin !== stored.origin;
  if (safety.origin !== null && safety.origin !== stored.origin)
    yield sql('UPDATE store_identity SET origin = ?', safety.origin);
  if (isOther || (hasEnded && safety.losesWithService)) return yield* nextEpoch(stored, nowMs);
  return { id: stored.id, epoch: stored.epoch };
}

/** Removes the mark of a service that ends in order. */
export function* removeMark(id: string): SqlWork<void> {
  yield sql('DELETE FROM service_marks WHERE id = ?', id);
}

function* nextEpoch({ epoch, id }: StoreIdentity, nowMs: number): SqlWork<StoreIdentity> {
  const next = Math.max(epoch + 1, Math.floor(nowMs));
  yield sql('UPDATE store_identity SET epoch = ?', next);
  return { id, epoch: next };
}

function* lockIdentity(nowMs: number): SqlWork<StoredIdentity> {
  return (yield* findIdentity(' FOR UPDATE')) ?? (yield* makeIdentity(nowMs));
}

function* findIdentity(lock: string): SqlWork<StoredIdentity | undefined> {
  const [row] = yield sqlOne(
    `SELECT text(id), epoch, text(origin) FROM store_identity WHERE slot = 1${lock}`,
  );
  return row === undefined ? undefined : identityOf(row);
}

function* makeIdentity(nowMs: number): SqlWork<StoredIdentity> {
  yield sql(
    'INSERT INTO store_identity (slot, id, epoch, origin) VALUES (1, ?, ?, NULL) ON CONFLICT (slot) DO NOTHING',
    `db_${crypto.randomUUID().replaceAll('-', '')}`,
    Math.max(1, Math.floor(nowMs)),
  );
  const found = yield* findIdentity(' FOR UPDATE');
  if (found === undefined) throw new Error('The identity was written a moment ago.');
  return found;
}

function identityOf(row: SqlRow): StoredIdentity {
  const origin = row[2] === null ? null : textCell(row, 2);
  return { id: textCell(row, 0), epoch: numberCell(row, 1), origin };
}
