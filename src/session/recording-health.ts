/**
 * Whether recording is possible. Everything of a session that writes says here when it fails and when it works again;
 * recording has stopped while anything of it fails. A stop and its end are told once each: to the callback of the
 * session and, where errors are not thrown, on the console.
 */
import type { Clock } from '../base/clock.ts';
import { warn } from '../base/console.ts';
import { errorOf, messageOf } from '../base/errors.ts';

/** How the recording of a session is going. */
export type RecordingStatus = {
  /**
   * `recording`: what is logged reaches the storage. `stopped`: the storage takes nothing; rows wait in memory and are
   * tried again, at least every 30 seconds.
   */
  readonly state: 'recording' | 'stopped';
  /** When it stopped, in UTC epoch milliseconds; null while it works. */
  readonly sinceMs: number | null;
  /** Why it stopped, mostly a {@link SessionStoreError}; while it works, why the last one stopped, or null. */
  readonly error: Error | null;
  /** Rows of all writers that are not in the storage yet. */
  readonly bufferedRows: number;
  /** Rows that were given up because the buffers were full. */
  readonly droppedRows: number;
  /** Rows that had been stored, and were removed with the storage while the session went on. */
  readonly lostRows: number;
};

/** What {@link RecordingCallback} is told. */
export type RecordingProblem = {
  /**
   * `stopped`: recording is not possible any more. `resumed`: it is again, and what waited is being written.
   * `storage_cleared`: somebody removed the stored run (the browser's data was cleared, the database deleted); the
   * session has begun anew with what was in memory, and `lostRows` are gone.
   */
  readonly kind: 'stopped' | 'resumed' | 'storage_cleared';
  readonly runId: string;
  /** When recording stopped, in UTC epoch milliseconds; for `storage_cleared`, when that was found. */
  readonly sinceMs: number;
  /** Rows of all writers that wait in memory. */
  readonly bufferedRows: number;
  /** Rows given up since the session began, because the buffers were full. */
  readonly droppedRows: number;
  /** Rows that were stored and are gone, since the session began. */
  readonly lostRows: number;
  /** Why recording stopped, mostly a {@link SessionStoreError} with a `reason`. */
  readonly error: Error;
};

/** Told when recording stops being possible, and when it is over. What it throws is ignored. */
export type RecordingCallback = (problem: RecordingProblem) => void;

/** Something whose rows are counted. */
export type RowCounter = {
  readonly status: { readonly bufferedRows: number; readonly droppedRows: number };
};

/** Storage that fails and works by turns says so on the console once a minute at most. */
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

  /** @param onWorks called when one of several that fail works again: the others should try now */
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
    const isStopped = this.#failures.size > 0;
    return {
      state: isStopped ? 'stopped' : 'recording',
      sinceMs: isStopped ? this.#sinceMs : null,
      error: this.#lastError,
      ...this.#rows(),
    };
  }

  /** Counts the rows of a writer; the undo is for one that has written all it had. */
  count(counter: RowCounter): () => void {
    this.#counters.add(counter);
    return () => {
      if (this.#counters.delete(counter)) this.#goneDrops += counter.status.droppedRows;
    };
  }

  /** Says that `source` could not write. */
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
      `Quark: recording of run ${this.#runId} has stopped. Training goes on; rows wait in memory and are tried again. ${messageOf(error)}`,
    );
  }

  /** Says that `source` wrote what it had, or has nothing more to write. */
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

  /** Says that rows which were stored are gone, and that recording has begun anew. */
  cleared(rows: number, error: Error, message: string): void {
    this.#lostRows += rows;
    this.#lastError = error;
    this.#tell('storage_cleared', this.#clock.now(), error);
    if (!this.#isQuiet) warn(`Quark: ${message}`);
  }

  /** Remembers an error that stops nothing. */
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
      // The callback is the caller's, and the caller here may be anything that writes.
    }
  }
}
