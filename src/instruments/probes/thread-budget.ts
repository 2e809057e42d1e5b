/** Shares out what Quark may take of a training thread: probes get what the rest leaves, then telemetry is recorded less often. */
import { OVERHEAD_PARTS, threadTime, type OverheadPart } from '../../base/thread/thread-time.ts';
import type { OverheadReport } from '../../records/overhead.ts';

/** Time after which what was measured counts half. */
const HALF_MS = 3000;
/** Steps between two readings of the clock, and time between two choices. */
const STEPS = 8;
const REVIEW_MS = 100;
/** Of the budget, what probes have in any case, before telemetry is recorded less often, and what telemetry has. */
const LEAST_PROBES = 1 / 3;
const LEAST_TELEMETRY = 0.1;
/** Of the budget, what each writer may take for flushes of full batches. */
const FLUSH = 1 / 30;
/** Of the budget, what flushes after epochs may take. */
const EPOCH_FLUSH = 0.2;
const MAX_SLOWDOWN = 1000;
/** Telemetry is recorded less often when it takes so many times its room, and comes more often below that share of it. */
const RISE = 1.25;
const FALL = 0.5;

type Spent = Record<OverheadPart, number>;
const nothing = (): Spent => ({
  callback: 0,
  log: 0,
  flush: 0,
  batches: 0,
  telemetry: 0,
  probes: 0,
});

/** The budget of one training, over all its fits. */
export class ThreadBudget {
  readonly #budget: number;
  readonly #now: () => number;
  readonly #time: typeof threadTime;
  #isRunning = false;
  #steps = 0;
  /** Up to when the account was read, and when it led to a choice. */
  #countedMs = 0;
  #reviewedMs = 0;
  /** The account as it was then. */
  #seen: Partial<Spent> = {};
  readonly #total: Spent = nothing();
  #totalMs = 0;
  /** Of late: older time counts less. */
  readonly #recent: Spent = nothing();
  #recentMs = 0;
  #slowdown = 1;
  #flushedMs = Number.NEGATIVE_INFINITY;
  #flushMs = 0;
  #probeShare: number;

  /**
   * @param budget share of the training time
   * @param now milliseconds that only go up
   * @param time the account of the thread
   */
  constructor(
    budget: number,
    now: () => number = () => performance.now(),
    time: typeof threadTime = threadTime,
  ) {
    this.#budget = budget;
    this.#now = now;
    this.#time = time;
    this.#probeShare = budget;
  }

  /** Share of the training time that probes may take now, all together. */
  get probeShare(): number {
    return this.#probeShare;
  }

  /** How many times less often than asked for to record telemetry and batches. */
  get telemetrySlowdown(): number {
    return this.#slowdown;
  }

  /** A fit begins. */
  begin(): void {
    this.end();
    this.#isRunning = true;
    this.#time.readers++;
    this.#time.flushShare = this.#budget * FLUSH;
    this.#seen = { ...this.#time.spentMs };
    this.#countedMs = this.#now();
    this.#reviewedMs = this.#countedMs;
  }

  /** A fit has ended, or was left by an error. */
  end(): void {
    if (!this.#isRunning) return;
    this.#account(this.#now());
    this.#isRunning = false;
    this.#time.readers--;
    if (this.#time.readers === 0) this.#time.flushShare = undefined;
  }

  /** Whether what waits may be written at once, although nobody waits for it: such flushes keep to a share of the time. */
  isFlushDue(): boolean {
    return this.#now() - this.#flushedMs >= this.#flushMs / (this.#budget * EPOCH_FLUSH);
  }

  /** Such a flush has ended, and took so long. */
  flushed(ms: number): void {
    this.#flushedMs = this.#now();
    this.#flushMs = ms;
  }

  /** A step has ended. */
  step(): void {
    if (++this.#steps % STEPS !== 0 || !this.#isRunning) return;
    const now = this.#now();
    if (now - this.#reviewedMs < REVIEW_MS) return;
    this.#reviewedMs = now;
    this.#account(now);
    this.#choose();
  }

  get report(): OverheadReport {
    if (this.#isRunning) this.#account(this.#now());
    const sum = sumOf(this.#total);
    const spentMs = { ...this.#total };
    // Calls that are measured by sample may count more than the part that they were made in has taken so far.
    for (const part of OVERHEAD_PARTS) spentMs[part] = Math.max(0, spentMs[part]);
    const trainingMs = Math.max(0, this.#totalMs - sum);
    return {
      budget: this.#budget,
      trainingMs,
      spentMs,
      share: trainingMs > 0 ? sum / trainingMs : 0,
      telemetrySlowdown: this.#slowdown,
    };
  }

  #account(now: number): void {
    const elapsedMs = now - this.#countedMs;
    const rest = 0.5 ** (elapsedMs / HALF_MS);
    this.#countedMs = now;
    this.#totalMs += elapsedMs;
    this.#recentMs = this.#recentMs * rest + elapsedMs;
    for (const part of OVERHEAD_PARTS) {
      const spent = this.#time.spentMs[part] ?? 0;
      const ms = spent - (this.#seen[part] ?? 0);
      this.#seen[part] = spent;
      this.#total[part] += ms;
      this.#recent[part] = this.#recent[part] * rest + ms;
    }
  }

  #choose(): void {
    const { batches, callback, flush, log, telemetry } = this.#recent;
    const trainingMs = Math.max(this.#recentMs - sumOf(this.#recent), 1e-6);
    const least = this.#budget * LEAST_PROBES;
    // Neither values that are logged nor their way to the store are given up.
    const basic = (callback + flush + log) / trainingMs;
    const watched = (batches + telemetry) / trainingMs;
    this.#probeShare = Math.max(least, this.#budget - basic - watched);
    const room = Math.max(this.#budget * LEAST_TELEMETRY, this.#budget - basic - least);
    const wanted = Math.min(MAX_SLOWDOWN, Math.max(1, (watched * this.#slowdown) / room));
    if (wanted > RISE * this.#slowdown || wanted <= FALL * this.#slowdown) {
      const chosen = Math.ceil(wanted);
      // What was measured at the other rate is taken to be what it would have been at this one.
      this.#recent.batches *= this.#slowdown / chosen;
      this.#recent.telemetry *= this.#slowdown / chosen;
      this.#slowdown = chosen;
    }
  }
}

function sumOf(spent: Readonly<Spent>): number {
  return OVERHEAD_PARTS.reduce((sum, part) => sum + spent[part], 0);
}
