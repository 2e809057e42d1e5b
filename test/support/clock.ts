/** A clock that tests turn. */
import type { Clock } from '../../src/base/clock.ts';

type Timer = { readonly atMs: number; readonly callback: () => void };

export class TestClock implements Clock {
  #nowMs: number;
  #timers: Timer[] = [];

  constructor(nowMs = 0) {
    this.#nowMs = nowMs;
  }

  now(): number {
    return this.#nowMs;
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { atMs: this.#nowMs + delayMs, callback };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** Time passes, and what is due happens in order. */
  advance(ms: number): void {
    const end = this.#nowMs + ms;
    for (;;) {
      const due = this.#timers
        .filter((timer) => timer.atMs <= end)
        .toSorted((a, b) => a.atMs - b.atMs)[0];
      if (due === undefined) break;
      this.#timers = this.#timers.filter((timer) => timer !== due);
      this.#nowMs = Math.max(this.#nowMs, due.atMs);
      due.callback();
    }
    this.#nowMs = end;
  }

  /** Time passes without a timer: the process was stopped, or the machine asleep. */
  jump(ms: number): void {
    this.#nowMs += ms;
  }
}
