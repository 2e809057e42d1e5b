/**
 * The most resident memory of this process between two moments. Linux counts it (`VmHWM`) and lets a process set the count back
 * (`5` to `/proc/self/clear_refs`). Elsewhere the highest mark of the process only rises: a rise says what the peak was, and where it
 * has not risen the peak is the most that was sampled.
 *
 * The count belongs to the process, so all profilers share one watch: the one that sets it back tells the others first.
 */
import type { PeakSource } from '../../profile/profile.ts';

/** What is read of the process. */
export type PeakProcess = {
  memoryUsage: { rss(): number };
  /** The highest mark of the process in bytes, from its beginning or the last reset. */
  readonly highest: () => number;
  /** Sets the mark back to what is resident now; false where that is not allowed. */
  readonly reset: () => boolean;
  /** Calls back some times a second; returns the undo. */
  readonly everyTick: (callback: () => void) => () => void;
};

/** A peak and how it is known. */
export type Peak = { readonly bytes: number; readonly source: PeakSource };

type Interval = { bytes: number; source: PeakSource };

/** From the best to the worst. */
const RANKS: readonly PeakSource[] = ['reset', 'risen', 'sampled'];

/** Gives each of its users the peak since that user asked last. */
export class PeakWatch {
  readonly #process: PeakProcess;
  readonly #intervals = new Set<Interval>();
  #mark = 0;
  #sampled = 0;
  #canReset = true;
  #stopSampling: (() => void) | undefined;

  constructor(process: PeakProcess) {
    this.#process = process;
  }

  /** A user of its own: call it for the peak since the last call. */
  open(): { take: () => Peak; close: () => void } {
    if (this.#intervals.size === 0) this.#begin();
    else this.#fold();
    const interval: Interval = { bytes: 0, source: 'reset' };
    this.#intervals.add(interval);
    return {
      take: () => {
        this.#fold();
        const { bytes, source } = interval;
        interval.bytes = 0;
        interval.source = 'reset';
        return { bytes, source };
      },
      close: () => {
        this.#intervals.delete(interval);
        if (this.#intervals.size > 0) return;
        this.#stopSampling?.();
        this.#stopSampling = undefined;
      },
    };
  }

  #begin(): void {
    this.#canReset = this.#process.reset();
    this.#mark = this.#process.highest();
    this.#sampled = this.#process.memoryUsage.rss();
    if (this.#canReset) return;
    this.#stopSampling = this.#process.everyTick(() => {
      this.#sampled = Math.max(this.#sampled, this.#process.memoryUsage.rss());
    });
  }

  /** Adds the peak of the time since the last call to all intervals. */
  #fold(): void {
    const { bytes, source } = this.#since();
    for (const interval of this.#intervals) {
      interval.bytes = Math.max(interval.bytes, bytes);
      if (RANKS.indexOf(source) > RANKS.indexOf(interval.source)) interval.source = source;
    }
  }

  #since(): Peak {
    const rss = this.#process.memoryUsage.rss();
    const highest = this.#process.highest();
    if (this.#canReset) {
      // Pages may come between the two readings.
      this.#process.reset();
      this.#mark = this.#process.highest();
      return { bytes: Math.max(highest, rss), source: 'reset' };
    }
    const sampled = Math.max(this.#sampled, rss);
    this.#sampled = rss;
    if (highest <= this.#mark) return { bytes: sampled, source: 'sampled' };
    this.#mark = highest;
    return { bytes: Math.max(highest, sampled), source: 'risen' };
  }
}
