/** Work that is repeated in the background: one attempt at a time, soon after something is new, with growing pauses while it fails. */
import type { Clock } from '../base/clock.ts';
import { errorOf } from '../base/errors.ts';

const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 30_000;

/** What a {@link Delivery} works with. */
export type DeliveryParts = {
  readonly clock: Clock;
  /** How long after something is new the work begins, in milliseconds. */
  readonly intervalMs: number;
  /** Does some of the work; true when there is more. */
  readonly work: () => Promise<boolean>;
  /** Told of the first failure and of the first success after it. */
  readonly onChange: (error: Error, isFailing: boolean) => void;
};

/** See the top of this file. */
export class Delivery {
  readonly #parts: DeliveryParts;
  #cancelTimer: (() => void) | undefined;
  #running: Promise<void> | undefined;
  #retryMs = FIRST_RETRY_MS;
  #error: Error | null = null;
  #isFailing = false;
  #isStopped = false;
  /** Whether something is new that the attempt under way may not have seen. */
  #isNew = false;

  constructor(parts: DeliveryParts) {
    this.#parts = parts;
  }

  get isFailing(): boolean {
    return this.#isFailing;
  }

  /** Why it fails, or failed last. */
  get error(): Error | null {
    return this.#error;
  }

  /** Something is new. */
  poke(): void {
    this.#isNew = true;
    if (this.#running === undefined && this.#cancelTimer === undefined)
      this.#later(this.#parts.intervalMs);
  }

  /** Works until nothing is left. Never rejects: a failure is in {@link Delivery.error}. */
  async settle(): Promise<void> {
    if (this.#isStopped) return;
    if (this.#running !== undefined) await this.#running;
    // What came while it ran.
    if (!this.#isStopped) await this.#start();
  }

  /** Ends the work after the attempt that is under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    await this.#running;
  }

  #later(delayMs: number): void {
    if (this.#isStopped) return;
    this.#cancelTimer?.();
    this.#cancelTimer = this.#parts.clock.after(delayMs, () => void this.#start());
  }

  #start(): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#running ??= this.#work().finally(() => {
      this.#running = undefined;
      if (this.#isFailing) {
        this.#later(this.#retryMs);
        this.#retryMs = Math.min(LAST_RETRY_MS, this.#retryMs * 2);
      } else if (this.#isNew) this.#later(this.#parts.intervalMs);
    });
    return this.#running;
  }

  async #work(): Promise<void> {
    const { onChange, work } = this.#parts;
    try {
      for (let isMore = true; isMore && !this.#isStopped;) {
        this.#isNew = false;
        isMore = await work();
      }
      const { error } = { error: this.#error };
      if (!this.#isFailing || error === null) return;
      this.#isFailing = false;
      this.#retryMs = FIRST_RETRY_MS;
      onChange(error, false);
    } catch (error) {
      this.#error = errorOf(error);
      if (this.#isFailing) return;
      this.#isFailing = true;
      onChange(this.#error, true);
    }
  }
}

/** Waits for `work`, but not longer; what it throws later is dropped. */
export async function within(
  clock: Clock,
  limitMs: number,
  work: Promise<unknown>,
): Promise<boolean> {
  let cancel: (() => void) | undefined;
  const late = new Promise<false>((resolve) => {
    cancel = clock.after(limitMs, () => resolve(false));
  });
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    cancel?.();
  }
}
