/**
 * Hands the tensors of a probed step to the workers, without a promise for each and without a turn of the event loop: each is copied once,
 * all are told of by one wake-up, and what was found is told when the training thread next passes by.
 */
import { checkTensor } from './checks.ts';
import type { PairData, TensorData, TensorType } from '../kernel.ts';
import { typeOption } from './reductions.ts';
import {
  describeSummary,
  readCosine,
  readFound,
  summaryOutLength,
  type SummaryJob,
} from './summary-codec.ts';
import type { ChangeSummary, ReductionRequest, TensorSummary } from './summaries.ts';
import type { HandOverCosts } from '../workers/hand-over-costs.ts';
import type { RingCrew } from '../workers/ring-crew.ts';
import type { RingJob } from '../workers/ring/ring.ts';

/** A tensor as a probe has it. */
export type StepTensor = {
  readonly data: TensorData;
  readonly shape: readonly number[];
  readonly dtype: string;
};

/** A part of a step that was handed over. */
export type StepJob = RingJob;

/** What a job gives, and what becomes of it when it fails. */
export type StepAnswer<T> = {
  readonly done: (result: T) => void;
  readonly failed: (error: unknown) => void;
};

/** What one element costs, as statistics of so many bytes of float32 do. */
const STATS_COST = 4;
const UNIT_COST = 2;
const HISTOGRAM_COST = 24;
const CHANGE_COST = 24;
const COSINE_COST = 16;
/** Milliseconds that a call of a kernel takes besides its elements: statistics, and a histogram. */
const CALL_MS = 0.001;
const HISTOGRAM_CALL_MS = 0.004;

/** The part of a crew that is needed. */
type StepCrew = Pick<
  RingCrew<never, unknown>,
  'isServed' | 'offer' | 'publish' | 'poll' | 'takeOver' | 'drop' | 'settle'
>;

/** Wake-ups that are remembered, and how long one may take: where all processors are busy, the worker takes that of its waker. */
const WAKES = 5;
const MOST_WAKE_MS = 0.3;
/** After that, so many parts are done on the training thread until a wake-up is tried again. */
const PARTS_TO_WAIT = 2000;

export class StepHandOver {
  readonly #crew: StepCrew;
  readonly #costs: HandOverCosts | undefined;
  readonly #fromCost: number;
  #wakesMs: number[] = [];
  #waits = 0;

  /** @param fromCost from which cost on work is handed over, where that is not measured */
  constructor(crew: StepCrew, costs: HandOverCosts | undefined, fromCost: number) {
    this.#crew = crew;
    this.#costs = costs;
    this.#fromCost = fromCost;
  }

  /** Numbers of a tensor. Undefined where it is to be computed on the training thread. */
  summarize(
    tensor: StepTensor,
    request: ReductionRequest,
    { done, failed }: StepAnswer<TensorSummary>,
  ): StepJob | undefined {
    const { data, dtype } = tensor;
    const cost = data.length * (STATS_COST + (request.unitAxis === null ? 0 : UNIT_COST));
    if (!this.#pays(cost, data.byteLength, data.length, request)) return undefined;
    const type = checkTensor(data, typeOption(data, dtype));
    const job = { kind: 'summary', type, shape: tensor.shape, request } as const;
    return this.#post(job, [data], {
      done: (out) => done(readFound(job, out).update),
      failed,
    });
  }

  /** Numbers of `after - before`. */
  change(
    after: StepTensor & { readonly data: PairData },
    before: PairData,
    request: ReductionRequest,
    { done, failed }: StepAnswer<ChangeSummary>,
  ): StepJob | undefined {
    const { data, shape } = after;
    const cost = data.length * (STATS_COST + CHANGE_COST);
    if (!this.#pays(cost, 2 * data.byteLength, data.length, request)) return undefined;
    const job = { kind: 'change', type: typeOf(data), shape, request } as const;
    return this.#post(job, [data, before], { done: (out) => done(readFound(job, out)), failed });
  }

  /** The cosine between two tensors; null when one is all zero. */
  cosine(
    first: PairData,
    second: PairData,
    { done, failed }: StepAnswer<number | null>,
  ): StepJob | undefined {
    if (!this.#pays(first.length * COSINE_COST, 2 * first.byteLength, first.length, NOTHING))
      return undefined;
    const job = { kind: 'cosine', type: typeOf(first), shape: [], request: NOTHING } as const;
    return this.#post(job, [first, second], { done: (out) => done(readCosine(out)), failed });
  }

  /** Wakes a worker for what was handed over. */
  publish(): void {
    const began = performance.now();
    this.#crew.publish();
    this.#wakesMs.push(performance.now() - began);
    if (this.#wakesMs.length < WAKES) return;
    const median = this.#wakesMs.toSorted((a, b) => a - b)[WAKES >> 1] ?? 0;
    if (this.#costs !== undefined && median > MOST_WAKE_MS) this.#waits = PARTS_TO_WAIT;
    this.#wakesMs = [];
  }

  /** Tells what was found. */
  poll(): void {
    this.#crew.poll();
  }

  /** Does here what no worker has finished. */
  finishHere(jobs: readonly StepJob[]): void {
    for (const job of jobs) this.#crew.takeOver(job);
  }

  /** Gives jobs up: nothing is told of them. */
  drop(jobs: readonly StepJob[]): void {
    for (const job of jobs) this.#crew.drop(job);
  }

  /** Resolves once all of these have been told. */
  settle(jobs: readonly StepJob[]): Promise<void> {
    return this.#crew.settle(jobs);
  }

  #pays(
    cost: number,
    sizeBytes: number,
    length: number,
    { histogram }: Pick<ReductionRequest, 'histogram'>,
  ): boolean {
    const counted = histogram === null ? 0 : Math.min(length, histogram.maxValues);
    const whole = cost + counted * HISTOGRAM_COST;
    const callMs = CALL_MS + (histogram === null ? 0 : HISTOGRAM_CALL_MS);
    const isWorth =
      this.#costs === undefined
        ? whole > this.#fromCost
        : this.#costs.paysInStep(whole, sizeBytes, callMs);
    if (!isWorth) return false;
    if (this.#waits > 0) {
      this.#waits -= 1;
      return false;
    }
    return this.#crew.isServed();
  }

  #post(
    job: SummaryJob,
    tensors: readonly TensorData[],
    answer: Pick<RingJob, 'done' | 'failed'>,
  ): StepJob | undefined {
    const [first] = tensors;
    if (first === undefined) return undefined;
    // Where the second begins, its elements are aligned.
    const secondAt = Math.ceil(first.byteLength / 8) * 8;
    return this.#crew.offer({
      ...answer,
      tensors,
      bytesEach: secondAt,
      outLength: summaryOutLength(job),
      describe: (byteOffset, numbers) =>
        describeSummary(job, { length: first.length, byteOffset, secondAt }, numbers),
    });
  }
}

const NOTHING: ReductionRequest = { epsilon: 0, threshold: null, unitAxis: null, histogram: null };

function typeOf(data: PairData): TensorType {
  return data instanceof Float32Array ? 'float32' : 'float64';
}
