/**
 * Whether recording works. Every writer of a session reports its failures and successes here; recording is stopped while any of
 * them fails. The stop and the end of the stop are reported once each: to the session's callback and, without strict mode, on the
 * console.
 */
import type { Clock } from '../../base/clock.ts';
import { warn } from '../../base/console.ts';
import { errorOf, messageOf } from '../../base/errors.ts';

/** State of the recording of a session: the result of `session.recordingStatus()`. */
export type RecordingStatus = {
  /**
   * `recording`: logged rows reach the storage. `stopped`: writes to the storage fail; rows are buffered in memory, and writes
   * are retried at least every 30 seconds. `fenced`: another session has taken the run over; what was buffered is stored apart, as
   * superseded, and later rows are counted as dropped.
   */
  readonly state: 'recording' | 'stopped' | 'fenced';
  /** When recording stopped, in UTC epoch milliseconds; null while it works. */
  readonly sinceMs: number | null;
  /** Why recording stopped, usually a {@link SessionStoreError}. While recording works: the cause of the last stop, or null. */
  readonly error: Error | null;
  /** Buffered rows of all writers: logged and not yet stored. */
  readonly bufferedRows: number;
  /** Rows dropped since the session began, because the buffers were full. */
  readonly droppedRows: number;
  /** Stored rows of this session that were removed with the run while the session was open. */
  readonly lostRows: number;
};

/**
 * A change in recording, as the option `onRecordingProblem` receives it: recording stopped, recording works again, or the stored
 * run was removed.
 *
 * @example
 * ```js
 * import { startRun } from 'quark-sdk';
 *
 * const session = await startRun({
 *   project: 'digits',
 *   storageDir: 'quark-runs',
 *   onRecordingProblem: ({ kind, bufferedRows, error }) => {
 *     if (kind === 'stopped') console.warn(`${bufferedRows} rows wait: ${error?.message}`);
 *   },
 * });
 * await session.endRun();
 * ```
 */
export type RecordingProblem = {
  /**
   * `stopped`: writes to the storage fail. `resumed`: they succeed again, and buffered rows are being written. `storage_cleared`:
   * the stored run was removed (the browser's data was cleared, the database deleted); the session has created the run again with
   * its buffered rows, and `lostRows` are gone. `fenced`: another session has taken the run over, and `session.signal` is aborted.
   * `mirror_failed`: a mirror of the run does not take records, which wait in the store; `mirror_resumed`: it does again. Recording goes on.
   */
  readonly kind:
    | 'stopped'
    | 'resumed'
    | 'storage_cleared'
    | 'fenced'
    | 'mirror_failed'
    | 'mirror_resumed';
  readonly runId: string;
  /** When recording stopped, in UTC epoch milliseconds; for `storage_cleared` and `fenced`, when that was detected. */
  readonly sinceMs: number;
  /** Rows of all writers that are buffered in memory. */
  readonly bufferedRows: number;
  /** Rows dropped since the session began, because the buffers were full. */
  readonly droppedRows: number;
  /** Stored rows that were removed since the session began. */
  readonly lostRows: number;
  /** Why recording stopped, usually a {@link SessionStoreError} with a `reason`. */
  readonly error: Error;
};

/** Receives each {@link RecordingProblem}. Errors that it throws are ignored. */
export type RecordingCallback = (problem: RecordingProblem) => void;

/** A source of row counts, such as a writer. */
export type RowCounter = {
  readonly status: { readonly bufferedRows: number; readonly droppedRows: number };
};

/** Minimum interval between reports on the console, for storage that fails intermittently. */
const CONSOLE_PAUSE_MS = 60_000;

/** See the top of this file. */
export class RecordingHealth {
  readonly #runId: string;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #isQuiet: boolean;
  readonly #callback: RecordingCallback | undefined;
  readonly #onWorks: () => void;
  readonly #failures = new Map<string, Error>();
  readonly #counters = new Set<RowCounter>();
  #goneDrops = 0;
  #lostRows = 0;
  #sinceMs = 0;
  #lastError: Error | null = null;
  #saidAtMs = Number.NEGATIVE_INFINITY;
  #isSaid = false;
  #fencedAtMs: number | undefined;

  /** @param onWorks called when one of several failing writers works again: the others should retry now */
  constructor(
    runId: string,
    clock: Pick<Clock, 'now'>,
    options: {
      readonly strictMode: boolean;
      readonly callback: RecordingCallback | undefined;
      readonly onWorks: () => void;
    },
  ) {
    this.#runId = runId;
    this.#clock = clock;
    this.#isQuiet = options.strictMode;
    this.#callback = options.callback;
    this.#onWorks = options.onWorks;
  }

  get status(): RecordingStatus {
    if (this.#fencedAtMs !== undefined)
      return {
        state: 'fenced',
        sinceMs: this.#fencedAtMs,
        error: this.#lastError,
        ...this.#rows(),
      };
    const isStopped = this.#failures.size > 0;
    return {
      state: isStopped ? 'stopped' : 'recording',
      sinceMs: isStopped ? this.#sinceMs : null,
      error: this.#lastError,
      ...this.#rows(),
    };
  }

  /** Adds the rows of a writer to the counts. The returned function removes a writer that has stored all its rows. */
  count(counter: RowCounter): () => void {
    this.#counters.add(counter);
    return () => {
      if (this.#counters.delete(counter)) this.#goneDrops += counter.status.droppedRows;
    };
  }

  /** Reports that `source` could not write. */
  failed(source: string, error: unknown): void {
    const isFirst = this.#failures.size === 0;
    this.#lastError = errorOf(error);
    this.#failures.set(source, this.#lastError);
    if (!isFirst) return;
    this.#sinceMs = this.#clock.now();
    this.#tell('stopped', this.#sinceMs, this.#lastError);
    if (this.#isQuiet || this.#sinceMs - this.#saidAtMs < CONSOLE_PAUSE_MS) return;
    this.#saidAtMs = this.#sinceMs;
    this.#isSaid = true;
    warn(
      `Quark: recording of run ${this.#runId} has stopped. Training goes on; rows are buffered in memory, up to maxBufferedRows of each writer, and written again later. ${messageOf(error)}`,
    );
  }

  /** Reports that `source` has stored its rows, or has no more rows to store. */
  worked(source: string): void {
    const error = this.#failures.get(source);
    if (error === undefined) return;
    this.#failures.delete(source);
    if (this.#failures.size > 0) {
      this.#onWorks();
      return;
    }
    this.#tell('resumed', this.#sinceMs, error);
    if (!this.#isSaid) return;
    this.#isSaid = false;
    const seconds = Math.round((this.#clock.now() - this.#sinceMs) / 1000);
    const { droppedRows } = this.#rows();
    const drops =
      droppedRows === 0
        ? ''
        : ` Rows dropped because the buffers were full, in the whole run: ${droppedRows}.`;
    warn(`Quark: recording of run ${this.#runId} works again, after ${seconds} s.${drops}`);
  }

  /** Reports that stored rows were removed and that the run was created again. */
  cleared(rows: number, error: Error, message: string): void {
    this.#lostRows += rows;
    this.#lastError = error;
    this.#tell('storage_cleared', this.#clock.now(), error);
    if (!this.#isQuiet) warn(`Quark: ${message}`);
  }

  /** Reports that another session has taken the run over. */
  fenced(error: Error): void {
    this.#fencedAtMs = this.#clock.now();
    this.#lastError = error;
    this.#tell('fenced', this.#fencedAtMs, error);
    if (!this.#isQuiet) warn(`Quark: ${error.message}`);
  }

  /** Reports that a mirror fails, or works again. */
  mirrored(error: Error, isFailing: boolean): void {
    this.#tell(isFailing ? 'mirror_failed' : 'mirror_resumed', this.#clock.now(), error);
  }

  /** Records an error that does not stop recording. */
  note(error: unknown): void {
    this.#lastError = errorOf(error);
  }

  #rows() {
    let bufferedRows = 0;
    let droppedRows = this.#goneDrops;
    for (const { status } of this.#counters) {
      bufferedRows += status.bufferedRows;
      droppedRows += status.droppedRows;
    }
    return { bufferedRows, droppedRows, lostRows: this.#lostRows };
  }

  #tell(kind: RecordingProblem['kind'], sinceMs: number, error: Error): void {
    try {
      this.#callback?.({ kind, runId: this.#runId, sinceMs, ...this.#rows(), error });
    } catch {
      // An error of the callback must not reach the writer that reported the change.
    }
  }
}
