/** Statements about tombstones that every write needs in SQL. */
import { RunNotFoundError } from '../../base/errors.ts';
import { runDeleted } from '../deletion.ts';
import { sqlOne, type SqlCall, type SqlWork } from './sql-database.ts';

/** The statement that finds the tombstone of a run. */
export function tombstoneCall(space: string, runId: string): SqlCall {
  return sqlOne('SELECT 1 FROM deleted_runs WHERE space = ? AND id = ?', space, runId);
}

/** @throws {SessionStoreError} `deleted` */
export function* refuseDeleted(space: string, runId: string): SqlWork<void> {
  const tombstones = yield tombstoneCall(space, runId);
  if (tombstones.length > 0) throw runDeleted(runId);
}

/** For a run that is not there. @throws {SessionStoreError} `deleted` @throws {RunNotFoundError} */
export function* refuseMissing(space: string, runId: string, where: string): SqlWork<never> {
  yield* refuseDeleted(space, runId);
  throw new RunNotFoundError(runId, where);
}
