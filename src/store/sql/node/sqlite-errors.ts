/** From what SQLite and the file system throw to the errors of a store: what happened, where, what to do. */
import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import {
  isQuarkError,
  messageOf,
  SessionStoreError,
  type StoreFailureReason,
} from '../../../base/errors.ts';

/** Below this the disk counts as full when a write fails without saying why. */
const FULL_DISK_BYTES = 1024 * 1024;

/** Whether another connection holds the lock: worth trying again. */
export function isBusy(error: unknown): boolean {
  const code = codeOf(error);
  return (
    code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED') || code === 'SQLITE_PROTOCOL'
  );
}

/** The store's error for anything thrown while working on the database or a file of this path. */
export function sqliteFailure(error: unknown, path: string, waitedMs?: number): unknown {
  if (isQuarkError(error)) return error;
  if (codeOf(error) === 'SQLITE_NOTADB') return notADatabase(path, error);
  const reason = reasonOf(error, path);
  return new SessionStoreError(reason, `${sentence(reason, path, waitedMs)} (${causeOf(error)})`, {
    details: { path, code: codeOf(error) },
    cause: error,
  });
}

/** The error for a file that no SQLite has written. */
export function notADatabase(path: string, cause?: unknown): SessionStoreError {
  return new SessionStoreError(
    'corrupt',
    `${path} is not a database: it does not start as an SQLite file does. Nothing was changed. Restore it from a copy, or move it away to start a new store.`,
    { details: { path }, cause },
  );
}

function reasonOf(error: unknown, path: string): StoreFailureReason {
  const code = codeOf(error);
  switch (code) {
    case 'ENOSPC':
    case 'EDQUOT':
    case 'SQLITE_FULL':
      return 'full';
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
    case 'ENOTDIR':
    case 'EEXIST':
    case 'EISDIR':
    case 'ENOENT':
    case 'SQLITE_PERM':
    case 'SQLITE_AUTH':
      return 'unwritable';
    case 'SQLITE_TOOBIG':
      return 'too_large';
    default:
  }
  if (isBusy(error)) return 'busy';
  if (code.startsWith('SQLITE_CORRUPT')) return 'corrupt';
  if (code.startsWith('SQLITE_READONLY') || code.startsWith('SQLITE_CANTOPEN')) return 'unwritable';
  if (code.startsWith('SQLITE_IOERR') && isDiskFull(path)) return 'full';
  // libsql gives no code when it cannot open a file: SQLite's number for that is 14.
  if (/Unable to open connection to local database .*: 14\b/s.test(messageOf(error)))
    return 'unwritable';
  return 'failed';
}

function sentence(reason: StoreFailureReason, path: string, waitedMs = 0): string {
  switch (reason) {
    case 'full':
      return `The disk is full: nothing was written to ${path}${freeText(path)}. Free some space, or delete runs ("quark rm", "quark gc"); rows that a session buffers are written once there is room.`;
    case 'unwritable':
      return `${path} cannot be written. Choose another storage directory, or give this one write permission.`;
    case 'corrupt':
      return `The database ${path} is damaged. Nothing was changed. Copy it aside with its "-wal" file, then recover what is readable with the sqlite3 shell (".recover"), or move it away to start a new store.`;
    case 'busy':
      return `The database ${path} stayed locked by another process for ${Math.round(waitedMs)} ms; nothing was written. See which process holds it, and try again.`;
    case 'too_large':
      return `A value is too large for the database ${path}; nothing was written. Flush in smaller segments.`;
    default:
      return `The database ${path} could not do what was asked; nothing was written.`;
  }
}

function isDiskFull(path: string): boolean {
  const free = freeBytes(path);
  return free !== undefined && free < FULL_DISK_BYTES;
}

/** Bytes that this user may write to the disk of the folder. */
function freeBytes(path: string): number | undefined {
  try {
    const disk = statfsSync(dirname(path));
    return disk.bavail * disk.bsize;
  } catch {
    return undefined;
  }
}

function freeText(path: string): string {
  const free = freeBytes(path);
  return free === undefined ? '' : ` (${free} bytes are free in ${dirname(path)})`;
}

function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
}

function causeOf(error: unknown): string {
  const code = codeOf(error);
  const message = messageOf(error);
  return code === '' || message.includes(code) ? message : `${code}: ${message}`;
}
