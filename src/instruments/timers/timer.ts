/** One timer: what it measures goes into a small array first, so that a measurement costs little more than reading the clock twice. */
import { DISPOSE } from '../../base/dispose.ts';
import { callable } from '../../base/options.ts';
import { TimerTotals, type TimerStatistics } from '../../profile/timer-records.ts';

/** Options of one timer. */
export type TimerOptions = {
  /** How many measurements at the start are left out of all statistics: compilation, caches. Default 0. */
  readonly skip?: number | undefined;
};

/** Measurements that are buffered before they are added to the statistics. */
const BUFFERED = 256;

/** A measurement under way. */
export class RunningTimer {
  readonly #timer: Timer;
  readonly #startMs: number;
  #isStopped = false;

  /** @internal Use `timers.start`. */
  constructor(timer: Timer, startMs: number) {
    this.#timer = timer;
    this.#startMs = startMs;
  }

  /** Ends the measurement and returns its milliseconds; NaN where it had ended. */
  stop(): number {
    if (this.#isStopped) return Number.NaN;
    this.#isStopped = true;
    const ms = this.#timer.now() - this.#startMs;
    this.#timer.record(ms);
    return ms;
  }

  /** Ends the measurement once `work` has settled, such as the reading of a tensor. @throws what `work` rejects with */
  async stopAfter(work: PromiseLike<unknown>): Promise<number> {
    try {
      await work;
    } catch (error) {
      this.stop();
      throw error;
    }
    return this.stop();
  }

  /** Ends the measurement: `using t = timers.start('load')`. */
  [DISPOSE](): void {
    this.stop();
  }
}

/** Measures how long one thing takes, again and again; made by `timers.timer(name)`. */
export class Timer {
  readonly name: string;
  /** Milliseconds that only go up. */
  readonly now: () => number;
  readonly #totals = new TimerTotals();
  readonly #buffer = new Float64Array(BUFFERED);
  #buffered = 0;
  #left: number;
  /** Whether something was measured since this was last set. */
  hasNews = false;

  /** @internal Use `timers.timer`. */
  constructor(name: string, now: () => number, { skip = 0 }: TimerOptions) {
    this.name = name;
    this.now = now;
    this.#left = skip;
  }

  /**
   * Times a call. What it returns is returned; a promise is timed until it settles. A call that throws is measured, and its error
   * thrown.
   *
   * @example
   * ```js
   * import { Timers } from 'quark-sdk/profiler';
   *
   * const timer = new Timers().timer('step');
   * const loss = timer.time(() => Math.hypot(3, 4));
   * console.log(loss, timer.statistics.count); // 5 1
   * ```
   */
  time<T>(work: () => T): T;
  time(work: () => unknown): unknown {
    callable('work', work);
    const startMs = this.now();
    let result: unknown;
    try {
      result = work();
    } catch (error) {
      this.record(this.now() - startMs);
      throw error;
    }
    if (isPromise(result)) return this.#untilSettled(result, startMs);
    this.record(this.now() - startMs);
    return result;
  }

  async #untilSettled(result: PromiseLike<unknown>, startMs: number): Promise<unknown> {
    try {
      return await result;
    } finally {
      this.record(this.now() - startMs);
    }
  }

  /**
   * Times a call and the device that it keeps busy: a timer around work on a GPU measures only how long it takes to ask for it.
   *
   * @param wait awaited with the result before the clock is read: `(loss) => loss.data()`, `() => queue.onSubmittedWorkDone()`
   * @returns what `work` returned, once the device is done
   *
   * @example
   * ```js
   * import * as tf from '@tensorflow/tfjs';
   * import { Timers } from 'quark-sdk/profiler';
   *
   * const timer = new Timers().timer('step');
   * const sum = await timer.timeDevice(() => tf.sum(tf.ones([100])), (tensor) => tensor.data());
   * console.log(sum.dataSync()[0], timer.statistics.count); // 100 1
   * ```
   */
  async timeDevice<T>(
    work: () => T,
    wait: (result: Awaited<T>) => PromiseLike<unknown>,
  ): Promise<Awaited<T>> {
    callable('work', work);
    callable('wait', wait);
    const startMs = this.now();
    try {
      const result = await work();
      await wait(result);
      return result;
    } finally {
      this.record(this.now() - startMs);
    }
  }

  /** Starts a measurement, which `stop()` or the end of a `using` block ends. Several may run at once. */
  start(): RunningTimer {
    return new RunningTimer(this, this.now());
  }

  /** Adds a measurement that was taken elsewhere, in milliseconds. One that is negative or not finite counts for nothing. */
  record(ms: number): void {
    if (!(ms >= 0) || ms === Infinity) return;
    this.hasNews = true;
    if (this.#left > 0) {
      this.#left--;
      this.#totals.skipped++;
      return;
    }
    this.#buffer[this.#buffered] = ms;
    if (++this.#buffered === BUFFERED) this.#fold();
  }

  /** The statistics of what was measured so far. */
  get statistics(): TimerStatistics {
    return this.totals.statistics(this.name);
  }

  /** @internal */
  get totals(): TimerTotals {
    this.#fold();
    return this.#totals;
  }

  #fold(): void {
    for (let i = 0; i < this.#buffered; i++) this.#totals.add(this.#buffer[i] ?? 0);
    this.#buffered = 0;
  }
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' && value !== null && typeof Reflect.get(value, 'then') === 'function'
  );
}
