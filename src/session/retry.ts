/** Work that is tried again, with growing pauses, until it succeeds. */
import type { Clock } from '../base/clock.ts';

const FIRST_PAUSE_MS = 1000;
const LAST_PAUSE_MS = 30_000;

/** See the top of this file. Never two attempts at once. */
export class Retry {
  readonly #clock: Clock;
  readonly #work: () => Promise<void>;
  #cancel: (() => void) | undefined;
  #pauseMs = FIRST_PAUSE_MS;
  #running: Promise<void> | undefined;

  /** @param work rejects as long as it has to be tried again */
  constructor(clock: Clock, work: () => Promise<void>) {
    this.#clock = clock;
    this.#work = work;
  }

  /** The next turn of the event loop makes an attempt, unless one is planned. */
  soon(): void {
    if (this.#cancel === undefined) this.#plan(0);
  }

  /** An attempt after the pause that is due, unless one is planned. */
  later(): void {
    if (this.#cancel !== undefined) return;
    this.#plan(this.#pauseMs);
    this.#pauseMs = Math.min(LAST_PAUSE_MS, this.#pauseMs * 2);
  }

  /** An attempt now, or the one that is under way. */
  now(): Promise<void> {
    this.#running ??= this.#attempt().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** No more attempts, until one is asked for again. */
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
      // The work has said what is wrong to those who should know.
      this.later();
    }
  }
}
