/**
 * The processors of a process, given to what runs in workers by priority. Workers differ by their program and belong to their pools; what
 * they share is the machine.
 */
import { processorCount } from './machine.ts';

/** Counts what runs in workers. */
export class WorkerSlots {
  readonly #count: number;
  #running = 0;
  #analyses = 0;
  /** Called when analyses may ask again, in the order in which they were refused. */
  readonly #waiting = new Set<() => void>();

  /** @param count how much may run at a time before an analysis waits; at least 1 */
  constructor(count: number) {
    this.#count = Math.max(1, count);
  }

  /**
   * Begins work that never waits, and gives what ends it: watching a run, or merging what is recorded, for which a training waits sooner
   * or later.
   */
  begin(): () => void {
    this.#running++;
    return this.#ends(() => undefined);
  }

  /**
   * Begins an analysis, and gives what ends it. Undefined: it has to wait until `onFree` is called, once for each time that it was
   * refused. One analysis is always let through, whatever else runs: a watch that never rests does not stop it.
   */
  beginAnalysis(onFree: () => void): (() => void) | undefined {
    if (this.#isFull) {
      this.#waiting.add(onFree);
      return undefined;
    }
    this.#waiting.delete(onFree);
    this.#running++;
    this.#analyses++;
    return this.#ends(() => this.#analyses--);
  }

  /** Takes back a question that was refused. */
  forget(onFree: () => void): void {
    this.#waiting.delete(onFree);
  }

  /** How much runs, how much of it are analyses, and how many of those wait. */
  state(): { readonly running: number; readonly analyses: number; readonly waiting: number } {
    return { running: this.#running, analyses: this.#analyses, waiting: this.#waiting.size };
  }

  get #isFull(): boolean {
    return this.#analyses > 0 && this.#running >= this.#count;
  }

  #ends(uncount: () => void): () => void {
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      uncount();
      this.#running--;
      for (const onFree of this.#waiting) {
        if (this.#isFull) return;
        if (this.#waiting.delete(onFree)) onFree();
      }
    };
  }
}

let shared: WorkerSlots | undefined;

/** The slots of this process, as many as it has processors. */
export function processSlots(): WorkerSlots {
  shared ??= new WorkerSlots(processorCount());
  return shared;
}
