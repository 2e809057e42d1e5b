/**
 * When rows in memory are saved in the spill of the store. In a worker, which is told nothing before it ends: within the
 * call that adds them, while that takes less than a tenth of the thread's time; then once for all rows of a task; then less
 * often. In a page that is shown: every 20 ms, as it is told before it ends.
 */
import type { Clock } from '../base/clock.ts';
import type { RowSpill } from '../store/row-spill.ts';

/** A loop that gives the event loop no turn has its rows saved by the call that adds one, so late at most. */
const MAX_UNSAVED_MS = 20;
/** A save may be followed by the next after so many times of what it took. */
const PAUSE_FACTOR = 10;
/** Saves that come in a burst may take so much of the time that comes after them. */
const BURST_MS = 500;
/** Rows are saved one by one while this much of that is left. */
const SPARE_MS = 250;

/** See the top of this file. */
export class RowSaver {
  readonly #spill: RowSpill;
  readonly #clock: Clock;
  readonly #save: () => void;
  #unsavedSinceMs: number | undefined;
  #mayAtMs = Number.NEGATIVE_INFINITY;
  #cancelTimer: (() => void) | undefined;

  /** `save` gives the spill what is unsaved now. */
  constructor(spill: RowSpill, clock: Clock, save: () => void) {
    this.#spill = spill;
    this.#clock = clock;
    this.#save = save;
  }

  /** Tells that a row was added. */
  added(): void {
    const nowMs = performance.now();
    const since = this.#unsavedSinceMs;
    if (since === undefined) {
      if (!this.#spill.isReady) return;
      this.#unsavedSinceMs = nowMs;
      if (this.#spill.pauseMs === 0 && nowMs - this.#mayAtMs >= SPARE_MS) this.saveNow();
      else this.#schedule();
      return;
    }
    if (nowMs - since >= MAX_UNSAVED_MS && nowMs >= this.#mayAtMs) this.saveNow();
  }

  /** Saves what is unsaved. */
  saveNow(): void {
    this.stop();
    const before = performance.now();
    this.#save();
    const after = performance.now();
    const tookMs = after - before;
    const mayAtMs = Math.max(this.#mayAtMs, after - BURST_MS) + PAUSE_FACTOR * tookMs;
    // On a machine that is busy with other things a save takes long without costing much.
    this.#mayAtMs = Math.min(mayAtMs, after + MAX_UNSAVED_MS);
  }

  /** Nothing is unsaved any more. */
  stop(): void {
    this.#unsavedSinceMs = undefined;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  #schedule(): void {
    const delayMs = Math.max(this.#spill.pauseMs, this.#mayAtMs - performance.now());
    if (delayMs > 0) {
      this.#cancelTimer = this.#clock.after(delayMs, () => this.saveNow());
      return;
    }
    // All rows of one task, in one save, before the thread can be ended between two tasks.
    queueMicrotask(() => {
      if (this.#unsavedSinceMs !== undefined && this.#cancelTimer === undefined) this.saveNow();
    });
  }
}
