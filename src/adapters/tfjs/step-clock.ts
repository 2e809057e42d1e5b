/** Times of the steps of a `fit`, from the moments at which its callbacks are called. */
import type { TfjsLogs } from './fit-logs.ts';

/** What a step took, in milliseconds. */
export type BatchTimes = {
  /** From the beginning of the batch to its end. */
  readonly timeMs: number;
  /** What was waited for the batch before that; undefined for a `fit` of tensors, which waits for nothing. */
  readonly waitMs: number | undefined;
};

/** `tf.nextFrame`, with which fit lets a page draw between batches, takes a frame of it: no time that a data set takes. */
const FRAME_MS = 1000 / 60;

export class StepClock {
  readonly #now: () => number;
  /** Milliseconds between batches that are not waited for data. */
  readonly #idleMs: number;
  #epochBeganMs = 0;
  #batchBeganMs = 0;
  #leftMs = 0;
  #waitMs: number | undefined;

  constructor(
    now: () => number = () => performance.now(),
    idleMs = 'requestAnimationFrame' in globalThis ? FRAME_MS : 0,
  ) {
    this.#now = now;
    this.#idleMs = idleMs;
  }

  beginEpoch(): void {
    this.#epochBeganMs = this.#now();
    this.#leftMs = this.#epochBeganMs;
  }

  /** Milliseconds since the epoch began. */
  get epochMs(): number {
    return this.#now() - this.#epochBeganMs;
  }

  /** Between two batches `fitDataset` asks for the next one, and knows its size when it begins; `fit` knows it when it ends. */
  waited(logs: TfjsLogs): void {
    const isOfDataset = typeof logs['size'] === 'number';
    this.#waitMs = isOfDataset ? Math.max(0, this.#now() - this.#leftMs - this.#idleMs) : undefined;
  }

  /** The last thing at the beginning of a batch. */
  beginBatch(): void {
    this.#batchBeganMs = this.#now();
  }

  get batch(): BatchTimes {
    return { timeMs: this.#now() - this.#batchBeganMs, waitMs: this.#waitMs };
  }

  /** The last thing at the end of a batch: what comes next is up to fit. */
  leave(): void {
    this.#leftMs = this.#now();
  }
}
