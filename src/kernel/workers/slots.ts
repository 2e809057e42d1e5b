/**
 * The processors of a process, given to what runs in workers by priority. Workers differ by their program and belong to their pools; what
 * they share is the machine.
 */
import { processorCount } from './machine.ts';

/**
 * What a worker does. Watching a run and merging what is recorded never wait: a training waits for them sooner or later. An analysis
 * waits while all processors are in use.
 */
export const WORK_KINDS = ['watch', 'merge', 'analysis'] as const;
/** One of {@link WORK_KINDS}. */
export type WorkKind = (typeof WORK_KINDS)[number];

/** Who wants to begin work in a worker. */
export type SlotAsker = {
  readonly kind: WorkKind;
  /** Called when it may ask again, once for each time that it was refused. */
  readonly onFree: () => void;
};

/** Counts what runs in workers. */
export class WorkerSlots {
  readonly #count: number;
  readonly #running = new Map<WorkKind, number>();
  /** In the order in which they were refused. */
  readonly #waiting = new Set<SlotAsker>();

  /** @param count how much may run at a time before work that can wait does; at least 1 */
  constructor(count: number) {
    this.#count = Math.max(1, count);
  }

  /**
   * Begins work, and gives what ends it. Undefined: it has to wait until `onFree` is called. One analysis is always let through,
   * whatever else runs: a watch that never rests does not stop it.
   */
  take(asker: SlotAsker): (() => void) | undefined {
    const { kind } = asker;
    if (kind === 'analysis' && this.#isFull()) {
      this.#waiting.add(asker);
      return undefined;
    }
    this.#waiting.delete(asker);
    this.#running.set(kind, this.#of(kind) + 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#running.set(kind, this.#of(kind) - 1);
      this.#wake();
    };
  }

  /** Takes back a question that was refused. */
  forget(asker: SlotAsker): void {
    this.#waiting.delete(asker);
  }

  /** How much of each kind runs, and how many wait. */
  state(): { readonly running: Readonly<Record<WorkKind, number>>; readonly waiting: number } {
    const running = { watch: 0, merge: 0, analysis: 0 };
    for (const kind of WORK_KINDS) running[kind] = this.#of(kind);
    return { running, waiting: this.#waiting.size };
  }

  #of(kind: WorkKind): number {
    return this.#running.get(kind) ?? 0;
  }

  #isFull(): boolean {
    const all = WORK_KINDS.reduce((sum, kind) => sum + this.#of(kind), 0);
    return this.#of('analysis') > 0 && all >= this.#count;
  }

  /** Those who wait ask again in turn, until all slots are taken once more. */
  #wake(): void {
    for (const asker of this.#waiting) {
      if (this.#isFull()) return;
      if (this.#waiting.delete(asker)) asker.onFree();
    }
  }
}

let shared: WorkerSlots | undefined;

/** The slots of this process, as many as it has processors. */
export function processSlots(): WorkerSlots {
  shared ??= new WorkerSlots(processorCount());
  return shared;
}
