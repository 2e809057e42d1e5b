/** Runs that the service stumbles over, or that do not get through, while others do: each has pauses of its own. */
import type { Clock } from '../base/clock.ts';
import { retryAfterMs, type Backoff } from './failures.ts';

type Delay = { readonly backoff: Backoff; untilMs: number; delayMs: number };

/** See the top of this file. */
export class DelayedRuns {
  readonly #clock: Clock;
  readonly #newBackoff: () => Backoff;
  readonly #delays = new Map<string, Delay>();

  constructor(clock: Clock, newBackoff: () => Backoff) {
    this.#clock = clock;
    this.#newBackoff = newBackoff;
  }

  get size(): number {
    return this.#delays.size;
  }

  /** One more failure. */
  add(runId: string, error: unknown): void {
    const backoff = this.#delays.get(runId)?.backoff ?? this.#newBackoff();
    const nowMs = this.#clock.now();
    const delayMs = backoff.next(nowMs, retryAfterMs(error));
    this.#delays.set(runId, { backoff, untilMs: nowMs + delayMs, delayMs });
  }

  /** It got on: its pauses begin anew. */
  delete(runId: string): void {
    this.#delays.delete(runId);
  }

  clear(): void {
    this.#delays.clear();
  }

  isWaiting(runId: string): boolean {
    const delay = this.#delays.get(runId);
    return delay !== undefined && isAhead(this.#clock, delay.untilMs, delay.delayMs);
  }

  /** When the first of them is due; infinity when there are none. */
  get nextDueMs(): number {
    return Math.min(...[...this.#delays.values()].map(({ untilMs }) => untilMs), Infinity);
  }

  /** How long until one of them is due, by a clock that may have been turned back. */
  get untilDueMs(): number {
    const rests = [...this.#delays.values()].map(({ delayMs, untilMs }) =>
      isAhead(this.#clock, untilMs, delayMs) ? untilMs - this.#clock.now() : 0,
    );
    return Math.min(...rests, Infinity);
  }
}

/** Whether an instant is still to come. What is further ahead than it ever was has passed: the clock was turned back. */
export function isAhead(clock: Clock, instantMs: number, delayMs: number): boolean {
  const restMs = instantMs - clock.now();
  return restMs > 0 && restMs <= delayMs;
}
