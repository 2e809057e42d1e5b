/** Chooses how often to probe from what probing costs. */

/** A choice, for the event that records it. */
export type CadenceChoice = {
  /** How many times slower than the schedule. */
  readonly stretch: number;
  /** Cost of a probe and time of a step without one, in milliseconds. */
  readonly probeMs: number;
  readonly stepMs: number;
};

/** Times that are remembered; a median of so many is not moved by a pause of the garbage collector. */
const MEMORY = 15;
/** The first probes run code that is not compiled yet. */
const WARM_UP_PROBES = 2;
const PROBES_BETWEEN_CHOICES = 4;
const MAX_STRETCH = 1_000;
/** Changes smaller than this would only make the record restless. */
const MIN_CHANGE = 1.25;

/** Measures steps with and without a probe. All times are handed in, in milliseconds. */
export class OverheadBudget {
  readonly #budget: number;
  readonly #plainMs: number[] = [];
  readonly #probedMs: number[] = [];
  readonly #ownMs: number[] = [];
  #probes = 0;
  readonly #everyNSteps: number;
  #stretch: number;

  /**
   * @param budget share of the time of the steps
   * @param everyNSteps the cadence of the schedule
   */
  constructor(budget: number, everyNSteps: number) {
    this.#budget = budget;
    this.#everyNSteps = everyNSteps;
    // Where every step is to be probed there is nothing to compare with: half of them, until it is known.
    this.#stretch = everyNSteps === 1 ? 2 : 1;
  }

  /** How many times slower than the schedule to probe. */
  get stretch(): number {
    return this.#stretch;
  }

  /** A step without a probe took so long. */
  plainStep(stepMs: number): void {
    remember(this.#plainMs, stepMs);
  }

  /**
   * A step with a probe took so long, of which the probe knows to have spent `ownMs`. Returns a choice when there is a new
   * one.
   */
  probedStep(stepMs: number, ownMs: number): CadenceChoice | undefined {
    this.#probes += 1;
    if (this.#probes <= WARM_UP_PROBES) return undefined;
    remember(this.#probedMs, stepMs);
    remember(this.#ownMs, ownMs);
    if ((this.#probes - WARM_UP_PROBES) % PROBES_BETWEEN_CHOICES !== 0) return undefined;
    const own = median(this.#ownMs);
    const probed = median(this.#probedMs);
    // What a probe makes the framework do is not in its own time, so steps are compared too, where there are some of both.
    const plain = this.#plainMs.length >= 3 ? median(this.#plainMs) : Math.max(0, probed - own);
    const probeMs = Math.max(own, probed - plain);
    const wanted = probeMs / (this.#budget * Math.max(plain, 1e-6)) / this.#everyNSteps;
    const stretch = Math.max(1, Math.min(MAX_STRETCH, Math.ceil(wanted)));
    const change = stretch / this.#stretch;
    if (change < MIN_CHANGE && change > 1 / MIN_CHANGE) return undefined;
    this.#stretch = stretch;
    return { stretch, probeMs, stepMs: plain };
  }
}

function remember(times: number[], ms: number): void {
  times.push(ms);
  if (times.length > MEMORY) times.shift();
}

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0;
}
