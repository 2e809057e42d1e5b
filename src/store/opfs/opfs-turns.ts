/**
 * Turns at a folder: what is to be read waits for a shared Web Lock, what is to be changed for an exclusive one. Those that wait together
 * have their turn under one lock, and changes that follow each other at once as well, for a while.
 */
import type { FileLocks, LockMode } from './opfs-files.ts';

/** What was not flushed is, after this time in milliseconds. */
const FLUSH_MS = 1000;
/** Changes that follow each other are made under one lock for at most so many milliseconds. */
const MAX_BURST_MS = 20;

type Waiting = {
  readonly work: () => unknown;
  readonly isDurable: boolean;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
};

type Outcome = { readonly one: Waiting; readonly error?: unknown; readonly value?: unknown };

/** What turns are about. */
export type TurnParts = {
  readonly locks: FileLocks;
  readonly lockName: string;
  /** The lock stays for so many milliseconds after a change, for one that follows. */
  readonly lingerMs: number;
  /** Reads what others have written; after a failure, all again. Inside the lock. */
  readonly catchUp: (mode: LockMode) => Promise<void>;
  /** Whether what is known may be wrong, after a failure. */
  readonly isStale: () => boolean;
  /** Sees to it that all survives a loss of power; returns what went wrong. */
  readonly flush: () => unknown;
  /** Nothing waits any more. */
  readonly rest: () => void;
};

/** See the top of this file. */
export class Turns {
  readonly #parts: TurnParts;
  readonly #queues: Record<LockMode, Waiting[]> = { shared: [], exclusive: [] };
  readonly #draining: Record<LockMode, Promise<void> | undefined> = {
    shared: undefined,
    exclusive: undefined,
  };
  /** Whether changes are being made. */
  isInside = false;
  #flushedAtMs = 0;
  #wake: (() => void) | undefined;

  constructor(parts: TurnParts) {
    this.#parts = parts;
  }

  /** Whether nothing waits, and nothing is under way. */
  get isIdle(): boolean {
    return this.#draining.exclusive === undefined && this.#draining.shared === undefined;
  }

  /** Waits for the changes that are under way. */
  async settled(): Promise<void> {
    await this.#draining.exclusive;
  }

  async close(): Promise<void> {
    await Promise.all([this.#draining.exclusive, this.#draining.shared]);
  }

  /** Does something in its turn. @param isDurable resolves once it survives a loss of power */
  take<T>(mode: LockMode, work: () => Promise<T> | T, isDurable: boolean): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      // The value that resolves is the one that this work has returned.
      const settled = resolve as (value: unknown) => void;
      this.#queues[mode].push({ work, isDurable, resolve: settled, reject });
      this.#wake?.();
      this.#draining[mode] ??= this.#drain(mode);
    });
  }

  async #drain(mode: LockMode): Promise<void> {
    const { lockName, locks } = this.#parts;
    const queue = this.#queues[mode];
    while (queue.length > 0) {
      try {
        await locks.request(lockName, { mode }, () =>
          mode === 'shared' ? this.#readQueue() : this.#changeQueue(),
        );
      } catch (error) {
        for (const one of queue.splice(0)) one.reject(error);
      }
    }
    this.#draining[mode] = undefined;
    this.#parts.rest();
  }

  async #readQueue(): Promise<void> {
    await this.#parts.catchUp('shared');
    const outcomes = this.#queues.shared.splice(0).map(async (one) => settle(await outcomeOf(one)));
    await Promise.all(outcomes);
  }

  async #changeQueue(): Promise<void> {
    this.isInside = true;
    try {
      await this.#parts.catchUp('exclusive');
      const untilMs = performance.now() + MAX_BURST_MS;
      do {
        const outcomes: Outcome[] = [];
        for (const one of this.#queues.exclusive.splice(0))
          outcomes.push(await outcomeOf(one, () => this.#readAgain()));
        const mustFlush = outcomes.some(({ error, one }) => error === undefined && one.isDurable);
        const failure = mustFlush ? this.#flush() : undefined;
        for (const outcome of outcomes) settle({ ...outcome, error: outcome.error ?? failure });
        if (performance.now() - this.#flushedAtMs > FLUSH_MS && this.#flush() !== undefined) break;
      } while (performance.now() < untilMs && (await this.#isFollowed()));
    } finally {
      this.isInside = false;
    }
  }

  async #readAgain(): Promise<void> {
    if (this.#parts.isStale()) await this.#parts.catchUp('exclusive');
  }

  /** Whether another change comes right after the last one: a loop that waits for each append. */
  async #isFollowed(): Promise<boolean> {
    if (this.#parts.lingerMs === 0) return false;
    if (this.#queues.exclusive.length === 0 && this.#queues.shared.length === 0)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        setTimeout(resolve, this.#parts.lingerMs);
      });
    this.#wake = undefined;
    return this.#queues.exclusive.length > 0 && this.#queues.shared.length === 0;
  }

  #flush(): unknown {
    this.#flushedAtMs = performance.now();
    return this.#parts.flush();
  }
}

/** @param before what has to succeed first: where it fails, this change alone fails, and those beside it are settled */
async function outcomeOf(one: Waiting, before?: () => Promise<void>): Promise<Outcome> {
  try {
    await before?.();
    return { one, value: await one.work() };
  } catch (error) {
    return { one, error: error ?? new Error('It failed.') };
  }
}

function settle({ error, one, value }: Outcome): void {
  if (error === undefined) one.resolve(value);
  else one.reject(error);
}
