/** For how long what a request deletes can be brought back, at least. */
import { SessionStoreError } from '../../base/errors.ts';
import { DEFAULT_KEEP_DELETED_MS } from '../../store/deletion.ts';

const DAY_MS = 24 * 3_600_000;

/**
 * The time that a deleted run can be restored: as asked for, or the default, which is never less than the least.
 *
 * @throws {SessionStoreError} `unauthorised` (403) for less than that; its detail `minUndoMs` says how long that is
 */
export function undoTime(keepMs: number | undefined, minUndoMs = 0): { readonly keepMs?: number } {
  if (keepMs !== undefined && keepMs < minUndoMs)
    throw tooSoon(
      `With a key of scope "delete", what is deleted can be brought back for ${daysText(minUndoMs)} at least; ${daysText(keepMs)} needs one of scope "admin".`,
      minUndoMs,
    );
  if (keepMs === undefined && minUndoMs > DEFAULT_KEEP_DELETED_MS) return { keepMs: minUndoMs };
  return keepMs === undefined ? {} : { keepMs };
}

/** Rows of a run go at once and for good. @throws {SessionStoreError} `unauthorised` (403) where they may not */
export function checkRemovesRows(what: string, minUndoMs = 0): void {
  if (minUndoMs > 0)
    throw tooSoon(
      `${what} cannot be brought back once deleted, which needs a key of scope "admin". A deleted run can be.`,
      minUndoMs,
    );
}

function tooSoon(why: string, minUndoMs: number): SessionStoreError {
  return new SessionStoreError('unauthorised', `${why} Nothing was changed.`, {
    details: { needed: 'admin', minUndoMs, httpStatus: 403 },
  });
}

function daysText(ms: number): string {
  const days = Math.round((ms / DAY_MS) * 100) / 100;
  return days === 1 ? '1 day' : `${days} days`;
}
