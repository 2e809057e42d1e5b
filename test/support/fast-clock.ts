/** A clock on which time passes faster than in the world: what takes minutes of retries takes moments. */
import type { Clock } from '../../src/base/clock.ts';

export class FastClock implements Clock {
  readonly #factor: number;
  readonly #startMs = performance.now();

  constructor(factor = 100) {
    this.#factor = factor;
  }

  now(): number {
    return 1_700_000_000_000 + Math.floor((performance.now() - this.#startMs) * this.#factor);
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = setTimeout(callback, Math.min(delayMs / this.#factor, 2 ** 31 - 1));
    return () => clearTimeout(timer);
  }
}
