/** Chooses how often to probe from what probing costs. */
import { medianTime } from '../../base/thread/median-time.ts';

/** A choice, for the event that records it. */
export type CadenceChoice = {
  /** How many times slower than the schedule. */
  readonly slowdown: number;
  /** Cost of a probe and time of a step without one, in milliseconds. */
  readonly probeMs: number;
  readonly stepMs: number;
  /** Share of the time of the steps that probes were allowed. */
  readonly budget: number;
};

/** Times that are remembered; a median of so many is not moved by a pause of the garbage collector. */
const MEMORY = 15;
/** The first probes run code that is not compiled yet. */
const WARM_UP_PROBES = 2;
const PROBES_BETWEEN_CHOICES = 4;
const MAX_SLOWDOWN = 1_000;
/** The cadence changes when the one that is wanted is so many times the one there is, or below that share of it. */
const RISE = 1.25;
const FALL = 0.5;
/** A probe that took more than so many times the median was interrupted. */
const CLIPPED = 3;
/** Steps differ by more than a probe takes: what the framework does for probes counts from so many standard errors on. */
const CERTAIN = 2;

/** Measures steps with and without a probe. All times are handed in, in milliseconds. */
export class OverheadBudget {
  readonly #share: () => number;
  readonly #plainMs: number[] = [];
  /** What probed steps took beyond the plain ones around them and the probe itself: how busy a machine is changes within a training. */
  #hiddenMs: number[] = [];
  #ownMs: number[] = [];
  #isHidden = false;
  #probes = 0;
  #hasChosen = false;
  /** Direction of the last comparison: steps differ by more than a probe takes, so one comparison alone changes nothing. */
  #trend: 'rise' | 'fall' | undefined;
  readonly #everyNSteps: number;
  #slowdown: number;

  /**
   * @param budget share of the time of the steps; a function is asked at every choice
   * @param everyNSteps the cadence of the schedule
   */
  constructor(budget: number | (() => number), everyNSteps: number) {
    this.#share = typeof budget === 'number' ? () => budget : budget;
    this.#everyNSteps = everyNSteps;
    // Where every step is to be probed there is nothing to compare with: half of them, until it is known.
    this.#slowdown = everyNSteps === 1 ? 2 : 1;
  }

  /** How many times slower than the schedule to probe. */
  get slowdown(): number {
    return this.#slowdown;
  }

  /** A step without a probe took so long. */
  plainStep(stepMs: number): void {
    remember(this.#plainMs, stepMs);
  }

  /**
   * A step with a probe took so long, of which the probe knows to have spent `ownMs`, then or later. Returns a choice when
   * there is a new one: the first in any case, and another one when two comparisons in a row agree.
   */
  probedStep(stepMs: number, ownMs: number): CadenceChoice | undefined {
    this.#probes += 1;
    if (this.#probes <= WARM_UP_PROBES) return undefined;
    // What a probe makes the framework do is not in its own time, so steps are compared too, where there are some of both.
    const plain =
      this.#plainMs.length >= 3 ? medianTime(this.#plainMs) : Math.max(0, stepMs - ownMs);
    remember(this.#hiddenMs, stepMs - ownMs - plain);
    remember(this.#ownMs, ownMs);
    if ((this.#probes - WARM_UP_PROBES) % PROBES_BETWEEN_CHOICES !== 0) return undefined;
    return this.#choose(clippedMean(this.#ownMs) + this.#certainlyHidden(), plain);
  }

  /** What probed steps take beyond what is known, where that is no matter of chance. */
  #certainlyHidden(): number {
    const hidden = medianTime(this.#hiddenMs);
    const spread = spreadOf(this.#hiddenMs) / Math.sqrt(this.#hiddenMs.length);
    const plainSpread = spreadOf(this.#plainMs) / Math.sqrt(Math.max(1, this.#plainMs.length));
    // What was certain once counts until there is none: else the cadence would go back and forth between the two.
    this.#isHidden = hidden > (this.#isHidden ? 0 : CERTAIN) * Math.hypot(spread, plainSpread);
    return this.#isHidden ? hidden : 0;
  }

  #choose(probeMs: number, stepMs: number): CadenceChoice | undefined {
    const budget = this.#share();
    const steps = probeMs / (budget * Math.max(stepMs, 1e-6));
    const wanted = Math.min(MAX_SLOWDOWN, Math.max(1, steps / this.#everyNSteps));
    const change = wanted / this.#slowdown;
    const before = this.#trend;
    this.#trend = change > RISE ? 'rise' : change <= FALL ? 'fall' : undefined;
    if (this.#hasChosen && (this.#trend === undefined || this.#trend !== before)) return undefined;
    this.#hasChosen = true;
    this.#trend = undefined;
    this.#slowdown = Math.ceil(wanted);
    // What led here has been heard: the next choice is made of what comes.
    this.#hiddenMs = [];
    this.#ownMs = [];
    return { slowdown: this.#slowdown, probeMs, stepMs, budget };
  }
}

function remember(times: number[], ms: number): void {
  times.push(ms);
  if (times.length > MEMORY) times.shift();
}

/** The mean of times, of which none counts more than some times the median: a pause of the machine is no cost of a probe. */
function clippedMean(times: readonly number[]): number {
  const most = CLIPPED * medianTime(times);
  return times.reduce((sum, ms) => sum + Math.min(ms, most), 0) / Math.max(1, times.length);
}

/** The standard deviation that the median of absolute deviations stands for. */
function spreadOf(times: readonly number[]): number {
  const middle = medianTime(times);
  return 1.4826 * medianTime(times.map((ms) => Math.abs(ms - middle)));
}
