/** What the database of the spill holds, and what a spill is made of. */
import type { DBSchema } from 'idb';
import type { LossReport } from '../row-spill.ts';
import type { SavedRows } from '../spill-recovery.ts';
import type { StoredRun } from '../store.ts';

/** Key of an open session. */
export type SessionKey = [kind: 'session', owner: string, runId: string];
/** Key of a saved batch. */
export type RowsKey = [
  kind: 'rows',
  owner: string,
  runId: string,
  table: string,
  writerId: string,
  batchNumber: number,
];
/** Key of a report on an ended session. */
export type ReportKey = [kind: 'report', owner: string, runId: string];
/** An open session, and whether its page has saved all its rows. */
export type SavedSession = {
  readonly hasLeft: boolean;
  readonly gapMs: number;
  /** Those of earlier versions have none. */
  readonly holders?: readonly string[];
  readonly end?: StoredRun | undefined;
};
/** The sessions of a thread on one run. */
export type OpenSessions = {
  count: number;
  readonly holders: Set<string>;
  end?: StoredRun | undefined;
};

/** The database of the spill. */
export interface SpillLayout extends DBSchema {
  saved: { key: SessionKey | RowsKey | ReportKey; value: SavedSession | SavedRows | LossReport };
}

/** The part of Web Locks that is used. */
export type SpillLocks = Pick<LockManager, 'request'>;

/** The environment of a spill. */
export type SpillParts = {
  /** Name of the database of the store. */
  readonly name: string;
  readonly locks: SpillLocks | undefined;
  /** `localStorage`; workers have none. */
  readonly storage: Storage | undefined;
  /** Whether this thread gets notice before it ends. */
  readonly isPage: boolean;
  readonly isHidden?: () => boolean;
  /** False: rows are not saved, only appended, and the spill only notices the end of sessions. */
  readonly savesRows?: boolean;
};
