/** Retries work with growing pauses until it succeeds. */
import type { Clock } from '../../base/clock.ts';

const FIRST_PAUSE_MS = 1000;
const LAST_PAUSE_MS = 30_000;

/** Retries work until it succeeds. Attempts never overlap. */
export class Retry {
  readonly #clock: Clock;
  readonly #work: () => Promise<void>;
  #cancel: (() => void) | undefined;
  #pauseMs = FIRST_PAUSE_MS;
  #running: Promise<void> | undefined;

  /** @param work rejects while it has to be retried */
  constructor(clock: Clock, work: () => Promise<void>) {
    this.#clock = clock;
    this.#work = work;
  }

  /** Schedules an attempt for the next task of the event loop, unless one is scheduled. */
  soon(): void {
    if (this.#cancel === undefined) this.#plan(0);
  }

  /** Schedules an attempt after the current pause, unless one is scheduled. */
  later(): void {
    if (this.#cancel !== undefined) return;
    this.#plan(this.#pauseMs);
    this.#pauseMs = Math.min(LAST_PAUSE_MS, this.#pauseMs * 2);
  }

  /** Makes an attempt now, or returns the one under way. */
  now(): Promise<void> {
    this.#running ??= this.#attempt().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** Cancels scheduled attempts. */
  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #plan(delayMs: number): void {
    this.#cancel = this.#clock.after(delayMs, () => {
      this.#cancel = undefined;
      void this.now();
    });
  }

  async #attempt(): Promise<void> {
    try {
      await this.#work();
      this.#pauseMs = FIRST_PAUSE_MS;
    } catch {
      // The work has reported its failure itself.
      this.later();
    }
  }
}
