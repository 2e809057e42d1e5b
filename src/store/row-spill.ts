/**
 * Rows that no append has stored yet, saved for the next start. A tab or worker may end between two turns of its event
 * loop; an append needs several turns. What is saved here needs none.
 */
import type { NewSegment } from './store.ts';

/** What the next start found of a session that ended without a word. */
export type LossReport = {
  /** Identity of the tab or worker that ended; unique. */
  readonly owner: string;
  readonly runId: string;
  /** Rows that were appended at the next start, by table. */
  readonly recovered: Readonly<Record<string, number>>;
  /** Rows that are known to be lost, by table. */
  readonly missing: Readonly<Record<string, number>>;
  /** When rows were saved last, in UTC epoch milliseconds; null where none had to be. */
  readonly savedAtMs: number | null;
  /** Rows of so many milliseconds after the last save may be lost beside those; 0 where none are. */
  readonly gapMs: number;
};

/** Saves rows of open sessions without waiting for an answer. Only stores of browsers have it. */
export interface RowSpill {
  /** Whether {@link save} saves: false before {@link begin}, and where the browser has no Web Locks. */
  readonly isReady: boolean;
  /** How long an added row may wait for a save, in milliseconds; 0: until the end of the task that added it. */
  readonly pauseMs: number;
  /** How long a row may wait for an append, in milliseconds; null where rows are saved until then. */
  readonly flushWithinMs: number | null;
  /** Begins to save rows of a session. Never fails, and waits at most a second. */
  begin(runId: string): Promise<void>;
  /** The session has stored its rows, or has given up the run: nothing of it is missing from here on. */
  end(runId: string): Promise<void>;
  /**
   * Saves segments before it returns, as far as this process is concerned. A segment may grow: the version that was saved
   * last counts. Its identity tells the next start whether an append has stored it after all.
   */
  save(segments: readonly NewSegment[]): void;
  /** Removes segments that an append has stored, as far as they were saved. */
  forget(segments: readonly NewSegment[]): void;
  /** Saves segments in the last turn of a page, in every way there is. They do not grow any more. */
  leave(segments: readonly NewSegment[]): void;
  /** The page is about to end, and {@link leave} was called with all that its sessions hold. */
  left(): void;
  /** What earlier sessions left behind and nobody has recorded yet. */
  listReports(): Promise<readonly LossReport[]>;
  removeReport(report: LossReport): Promise<void>;
}
