/**
 * Hands the tensors of a probed step to the workers, without a promise for each and without a turn of the event loop: each is copied once,
 * all are told of by one wake-up, and what was found is told when the training thread next passes by.
 */
import { medianTime } from '../../base/thread/median-time.ts';
import type { TensorData } from '../kernel.ts';
import type { Kernels } from './kernels.ts';
import { StepParts } from './step-parts.ts';
import type { SummaryJob } from './summary-codec.ts';
import type { ReductionRequest } from './summaries.ts';
import type { HandOverCosts } from '../workers/hand-over-costs.ts';
import { TransferCrew } from '../workers/transfer-crew.ts';
import type { StepBatch, StepCrew, StepJob } from '../workers/step-crew.ts';

/** What one element costs, as statistics of so many bytes of float32 do. */
const STATS_COST = 4;
const UNIT_COST = 2;
const HISTOGRAM_COST = 24;
const CHANGE_COST = 24;
const COSINE_COST = 16;
/** Milliseconds that a call of a kernel takes besides its elements: statistics, and a histogram. */
const CALL_MS = 0.001;
const HISTOGRAM_CALL_MS = 0.004;

/** Steps that are remembered: where all processors are busy, the worker takes that of its waker. */
const STEPS = 5;
/** After that, so many parts are done on the training thread until a wake-up is tried again. */
const PARTS_TO_WAIT = 2000;

const known = new WeakMap<Kernels, StepHandOver | null>();

/** Hands over what probes ask of these kernels; undefined where they have no workers. */
export function handOverOf(kernels: Kernels): StepHandOver | undefined {
  let steps = known.get(kernels);
  if (steps === undefined) {
    const way = kernels.steps((config, pool) => new TransferCrew(config, pool));
    steps = way === undefined ? null : new StepHandOver(way.crew, way.costs, way.fromCost);
    known.set(kernels, steps);
  }
  return steps ?? undefined;
}

export class StepHandOver {
  readonly #crew: StepCrew;
  readonly #costs: HandOverCosts | undefined;
  readonly #fromCost: number;
  /** Milliseconds by which a wake-up took longer than everything that was handed over with it would have taken here. */
  #lostMs: number[] = [];
  #waits = 0;

  /** @param fromCost from which cost on work is handed over, where that is not measured */
  constructor(crew: StepCrew, costs: HandOverCosts | undefined, fromCost: number) {
    this.#crew = crew;
    this.#costs = costs;
    this.#fromCost = fromCost;
  }

  /** Begins what one step asks. @param failed gets what a reduction threw */
  open(failed: (error: unknown) => void): StepParts {
    return new StepParts(this, failed);
  }

  /**
   * Milliseconds by which handing a part over blocks the thread for less time than computing it does; at most 0 where it is to be
   * computed here.
   *
   * @param copiedBytes what has to be copied
   */
  savedMs(
    kind: SummaryJob['kind'],
    { length }: TensorData,
    { histogram, unitAxis }: ReductionRequest,
    copiedBytes: number,
  ): number {
    const counted = histogram === null ? 0 : Math.min(length, histogram.maxValues);
    const cost = length * COST_OF[kind] + (unitAxis === null ? 0 : length * UNIT_COST);
    const whole = cost + counted * HISTOGRAM_COST;
    const callMs = CALL_MS + (histogram === null ? 0 : HISTOGRAM_CALL_MS);
    const savedMs =
      this.#costs === undefined
        ? whole - this.#fromCost
        : this.#costs.savedInStep(whole, copiedBytes, callMs);
    if (savedMs <= 0) return 0;
    if (this.#waits > 0) {
      this.#waits -= 1;
      return 0;
    }
    return savedMs;
  }

  /** Has a worker start, for steps to come. */
  prepare(): void {
    this.#crew.prepare();
  }

  /** Begins what a step hands over; undefined where the step is to be computed here. */
  openBatch(): StepBatch | undefined {
    return this.#crew.open();
  }

  /** Wakes a worker for what was handed over, which saves so many milliseconds. */
  publish(batch: StepBatch, savedMs: number): void {
    const began = performance.now();
    batch.publish();
    const ms = (performance.now() - began) * this.#crew.messages;
    this.#lostMs.push(ms - savedMs);
    if (this.#lostMs.length < STEPS) return;
    const lostMs = medianTime(this.#lostMs);
    if (this.#costs !== undefined && lostMs > 0) this.#waits = PARTS_TO_WAIT;
    this.#lostMs = [];
  }

  /** Tells what was found. */
  poll(): void {
    this.#crew.poll();
  }

  /** Resolves once all of these have been told. */
  settle(jobs: readonly StepJob[]): Promise<void> {
    return this.#crew.settle(jobs);
  }
}

const COST_OF: Readonly<Record<SummaryJob['kind'], number>> = {
  summary: STATS_COST,
  change: STATS_COST + CHANGE_COST,
  cosine: COSINE_COST,
};
