/**
 * The spill of a store: rows that were logged and not yet appended, saved for the next start. A tab or worker may end between two
 * tasks of its event loop, and an append takes several tasks. A save is complete within the call.
 */
import type { NewSegment, StoredRun } from './store.ts';

/** What the next start found of a session that ended unexpectedly. */
export type LossReport = {
  /** Identity of the tab or worker that ended; unique. */
  readonly owner: string;
  readonly runId: string;
  /** Number of rows that were recovered (appended at the next start), by table. */
  readonly recovered: Readonly<Record<string, number>>;
  /** Number of rows that are known to be lost, by table. */
  readonly missing: Readonly<Record<string, number>>;
  /** Time of the last save, in UTC epoch milliseconds; null when no row was saved. */
  readonly savedAtMs: number | null;
  /** For how many milliseconds after the last save rows may be missing, beside those in `missing`; 0 when none are. */
  readonly gapMs: number;
};

/**
 * Saves unappended rows of open sessions without waiting for the storage. The IndexedDB store has one; other stores need none.
 * Sessions use it by themselves.
 */
export interface RowSpill {
  /** Whether {@link save} has an effect: false before {@link begin}, and in browsers without Web Locks. */
  readonly isReady: boolean;
  /** Longest delay between a new row and its save, in milliseconds; 0: the end of the task that added the row. */
  readonly pauseMs: number;
  /** Whether the thread may end at any moment, so that a row is saved in the call that adds it whatever saving costs. */
  readonly isEnding?: boolean;
  /** Longest delay between a new row and its append, in milliseconds; null where rows are saved in the meantime. */
  readonly flushWithinMs: number | null;
  /** Begins to save the rows of a session, whose lease has this holder. Never rejects, and resolves within a second. */
  begin(runId: string, holder?: string): Promise<void>;
  /** Ends saving for a session that has stored its rows or abandoned the run: the next start reports nothing for it. */
  end(runId: string): Promise<void>;
  /**
   * Hands segments to the browser before it returns. A segment may grow: a later version replaces an earlier one. The next start
   * compares identities to see whether an append has stored the segment already.
   */
  save(segments: readonly NewSegment[]): void;
  /** Removes saved segments that an append has stored. */
  forget(segments: readonly NewSegment[]): void;
  /** Saves final segments in the last task of a page, in IndexedDB and in `localStorage`. */
  leave(segments: readonly NewSegment[]): void;
  /**
   * Notes that the page is about to end and that {@link leave} has all rows of its sessions. `end` is the run as the end of the page is
   * to leave it: the next start stores it, unless somebody has changed the run, and gives the leases of the page back.
   */
  left(end?: StoredRun): void;
  /** Reports on earlier sessions that are not recorded in their runs yet. */
  listReports(): Promise<readonly LossReport[]>;
  removeReport(report: LossReport): Promise<void>;
}
