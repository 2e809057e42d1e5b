/** Named timers of a program, and their statistics in its run. */
import { ASYNC_DISPOSE } from '../../base/dispose.ts';
import { createId } from '../../base/ids.ts';
import { checkLabel } from '../../base/names.ts';
import { callable, count, optional, readOptions } from '../../base/options.ts';
import { TIMER_SUMMARY, timerPayload, type TimerStatistics } from '../../profile/timer-records.ts';
import { eventTable } from '../../records/event.ts';
import { createEvent } from '../../session/event-logger.ts';
import { RecordWriter } from '../../session/record-writer.ts';
import type { RunContext } from '../../session/run-context.ts';
import { handleOf, writeFor, type RunHandle } from '../../session/run-handle.ts';
import type { TrainingSession } from '../../session/training-session.ts';
import { Timer, type RunningTimer, type TimerOptions } from './timer.ts';

/** Options of {@link Timers}: of every timer that has none of its own. */
export type TimersOptions = TimerOptions & {
  /** Milliseconds that only go up; default `performance.now`. For tests. */
  readonly now?: (() => number) | undefined;
};

/** Timers beyond that are measured as one: a program that makes names up for every step must not fill the memory. */
const MAX_TIMERS = 1000;
/** What those are called. */
const OTHERS = 'others';
/** The statistics are stored after this time first, then after twice that and so on, at most this long after one another. */
const FIRST_SUMMARY_MS = 10_000;
const LONGEST_PAUSE_MS = 600_000;

const TIMER_RULES = { skip: count(0) };

/**
 * Measures how long things take. The statistics of each timer are stored in the run when it ends, and from time to time before, as
 * `timer_summary` events; {@link readTimers} and `quark show` read them. Memory is bounded: up to 1000 timers, of some kilobytes each.
 *
 * Timers are independent of each other and may be nested and run at once: the time of an outer one has that of the inner ones in it.
 *
 * @example
 * ```js
 * import { TrainingSession } from 'quark-sdk';
 * import { Timers } from 'quark-sdk/profiler';
 *
 * await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, async (session) => {
 *   const timers = new Timers(session, { skip: 1 }); // the first measurement is the warm-up
 *   for (let i = 0; i < 4; i++) await timers.time('batch', async () => Math.hypot(i, i));
 *   const { count, meanMs } = timers.statistics('batch');
 *   console.log(count, meanMs >= 0); // 3 true
 * });
 * ```
 */
export class Timers implements AsyncDisposable {
  readonly #options: ReturnType<typeof checkTimersOptions>;
  readonly #timers = new Map<string, Timer>();
  readonly #handle: RunHandle | undefined;
  readonly #writer: RecordWriter<typeof eventTable.columns> | undefined;
  readonly #id: string;
  readonly #detach: () => void = () => undefined;
  #cancel: () => void = () => undefined;
  #pauseMs = FIRST_SUMMARY_MS;

  /**
   * @param session where the statistics are stored; without one they are only in memory
   * @throws {QuarkError} `invalid_input` naming the option
   */
  constructor(session?: TrainingSession | RunContext, options: TimersOptions = {}) {
    this.#options = checkTimersOptions(options);
    this.#id = createId('tim', Date.now());
    if (session === undefined) return;
    this.#handle = handleOf(session);
    const writer = new RecordWriter(this.#handle, eventTable, {});
    this.#writer = writer;
    this.#detach = this.#handle.attach({
      drain: () => writer.drain(),
      drainNow: () => {
        this.#store();
        writer.drainNow();
      },
      close: () => this.#end(),
    });
    this.#storeLater(this.#handle);
  }

  /**
   * The timer of this name, for loops in which even the search for the name counts.
   *
   * @param options of this timer, where it is new; default: those of all
   * @throws {QuarkError} `invalid_input`
   */
  timer(name: string, options?: TimerOptions): Timer {
    const known = this.#timers.get(name);
    if (known !== undefined) return known;
    const { now, ...shared } = this.#options;
    const own =
      options === undefined
        ? shared
        : {
            ...shared,
            ...readOptions<TimerOptions, typeof TIMER_RULES>('options', options, TIMER_RULES),
          };
    if (this.#timers.size >= MAX_TIMERS) return this.#timerOf(OTHERS, now, shared);
    return this.#timerOf(checkLabel('name', name), now, own);
  }

  #timerOf(name: string, now: () => number, options: TimerOptions): Timer {
    const timer = this.#timers.get(name) ?? new Timer(name, now, options);
    this.#timers.set(name, timer);
    return timer;
  }

  /**
   * Times a call: see {@link Timer.time}.
   *
   * @throws {QuarkError} `invalid_input`; what `work` throws
   */
  time<T>(name: string, work: () => T): T {
    return this.timer(name).time(work);
  }

  /**
   * Times a call and the device that it keeps busy: see {@link Timer.timeDevice}.
   *
   * @throws {QuarkError} `invalid_input`; what `work` or `wait` throws
   */
  timeDevice<T>(
    name: string,
    work: () => T,
    wait: (result: Awaited<T>) => PromiseLike<unknown>,
  ): Promise<Awaited<T>> {
    return this.timer(name).timeDevice(work, wait);
  }

  /**
   * Starts a measurement.
   *
   * @example
   * ```js
   * import { Timers } from 'quark-sdk/profiler';
   *
   * const timers = new Timers();
   * const load = timers.start('load'); // `using load = ...` ends it by itself
   * load.stop();
   * console.log(timers.statistics('load').count); // 1
   * ```
   *
   * @throws {QuarkError} `invalid_input`
   */
  start(name: string): RunningTimer {
    return this.timer(name).start();
  }

  /** The statistics of one timer; of one that has measured nothing, counts of 0. */
  statistics(name: string): TimerStatistics {
    return this.#timers.get(name)?.statistics ?? new Timer(name, Number, {}).statistics;
  }

  /** The statistics of all timers, in the order in which they were first used. */
  get all(): readonly TimerStatistics[] {
    return [...this.#timers.values()].map(({ statistics }) => statistics);
  }

  /** Stores the statistics. The end of the run does so as well. */
  close(): Promise<void> {
    return this.#handle === undefined
      ? Promise.resolve()
      : writeFor(this.#handle, () => this.#end());
  }

  /** Same as {@link close}. */
  [ASYNC_DISPOSE](): Promise<void> {
    return this.close();
  }

  async #end(): Promise<void> {
    this.#cancel();
    this.#store();
    await this.#writer?.close();
    this.#detach();
  }

  #storeLater(handle: RunHandle): void {
    this.#cancel = handle.clock.after(this.#pauseMs, () => {
      this.#store();
      this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS);
      this.#storeLater(handle);
    });
  }

  /** A run that has ended takes nothing: what was measured is then in memory only. */
  #store(): void {
    if (this.#handle === undefined || this.#writer === undefined) return;
    for (const timer of this.#timers.values()) {
      if (!timer.hasNews) continue;
      const payload = timerPayload(this.#id, timer.name, timer.totals);
      try {
        const options = { severity: 'debug', payload } as const;
        this.#writer.add(createEvent(this.#handle, TIMER_SUMMARY, options));
        timer.hasNews = false;
      } catch {
        return; // Closed, or strict and failing: the session says so.
      }
    }
  }
}

/** Bound once: in Node, `performance` is a getter, which takes as long as the clock itself. */
function monotonic(): () => number {
  return performance.now.bind(performance);
}

function checkTimersOptions(options: TimersOptions) {
  const { now = monotonic(), ...shared } = readOptions('options', options, {
    ...TIMER_RULES,
    now: optional<() => number, () => number>(callable),
  });
  return { now, ...shared };
}
