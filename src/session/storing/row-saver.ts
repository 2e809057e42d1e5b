/**
 * Decides when buffered rows are saved in the spill of the store. A worker gets no notice before it ends: it saves within the
 * call that adds a row while saving takes less than a tenth of the thread's time, otherwise once per task, then less often. A
 * visible page gets `pagehide`, and saves every 20 ms.
 */
import type { Clock } from '../../base/clock.ts';
import type { RowSpill } from '../../store/row-spill.ts';

/**
 * Longest delay of a save, in milliseconds, in a loop that never yields to the event loop: the call that adds a row then saves.
 */
const MAX_UNSAVED_MS = 20;
/** The pause after a save is this many times its duration. */
const PAUSE_FACTOR = 10;
/** How far a burst of saves may run ahead of that pause, in milliseconds. */
const BURST_MS = 500;
/** Rows are saved one by one while this much of the burst is left, in milliseconds. */
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
    if (this.#spill.isEnding === true) {
      this.saveNow();
      return;
    }
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
