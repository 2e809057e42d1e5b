/** A clock on which time passes faster than in the world: what takes minutes of retries takes moments. */
import type { Clock } from '../../src/base/clock.ts';

export class FastClock implements Clock {
  readonly #factor: number;
  readonly #startMs = performance.now();
  #offsetMs = 0;

  constructor(factor = 100) {
    this.#factor = factor;
  }

  /** Somebody sets the clock: timers are not touched. */
  jump(ms: number): void {
    this.#offsetMs += ms;
  }

  now(): number {
    return (
      this.#offsetMs +
      1_700_000_000_000 +
      Math.floor((performance.now() - this.#startMs) * this.#factor)
    );
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = setTimeout(callback, Math.min(delayMs / this.#factor, 2 ** 31 - 1));
    return () => clearTimeout(timer);
  }
}
