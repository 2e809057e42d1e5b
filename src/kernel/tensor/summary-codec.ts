/** What probes ask of tensors, and what comes back, as numbers on their way through a ring. */
import { TENSOR_TYPES, type Kernel, type TensorType } from '../kernel.ts';
import { openView } from './calls.ts';
import { isFloat, summaryOf } from './reductions.ts';
import { readStats, STATS_NUMBERS, statsNumbers } from './stats-numbers.ts';
import {
  cosineBetween,
  findChange,
  findNumbers,
  type ChangeSummary,
  type FoundNumbers,
  type ReductionRequest,
  type TensorHistogram,
} from './summaries.ts';
import { JOB_CALL } from '../workers/ring/ring-memory.ts';

/** What is asked: numbers of a tensor, of what changed between two, or the cosine between two. */
const SUMMARY_KINDS = ['summary', 'change', 'cosine'] as const;
/** The first number of an operation that is one of these. */
export const FIRST_SUMMARY = 16;

/** What a probe asks of one tensor, or of two of one type and length. */
export type SummaryJob = {
  readonly kind: (typeof SUMMARY_KINDS)[number];
  readonly type: TensorType;
  readonly shape: readonly number[];
  readonly request: ReductionRequest;
};

/** Where its tensors lie. */
export type SummaryView = {
  /** Elements of each tensor. */
  readonly length: number;
  readonly byteOffset: number;
  /** Bytes from the beginning of the first tensor to that of the second. */
  readonly secondAt: number;
};

/** Where the numbers of a job lie in its descriptor. */
const [KIND, TYPE, LENGTH, FIRST, SECOND, EPSILON, THRESHOLD] = [0, 1, 2, 3, 4, 5, 6] as const;
const [UNITS, INNER_SIZE, BINS, MOST_VALUES] = [7, 8, 9, 10] as const;

/** Where an answer has what is beside the statistics: a norm or a cosine, how many values were counted, and the histogram. */
const BESIDE = STATS_NUMBERS;
const COUNTED = STATS_NUMBERS + 1;
const HISTOGRAM = STATS_NUMBERS + 2;

/** Numbers of the answer to a job. */
export function summaryOutLength({
  request,
  shape,
}: Pick<SummaryJob, 'request' | 'shape'>): number {
  const { histogram, unitAxis } = request;
  const units = unitAxis === null ? 0 : (shape[unitAxis] ?? 0);
  return HISTOGRAM + (histogram === null ? 0 : 2 * histogram.bins + 1) + Math.ceil(units / 8);
}

/** Writes the descriptor of a job. */
export function describeSummary(
  job: SummaryJob,
  { length, byteOffset, secondAt }: SummaryView,
  descriptor: Float64Array,
): void {
  const { shape } = job;
  const { epsilon, threshold, unitAxis, histogram } = job.request;
  const numbers = descriptor.subarray(JOB_CALL);
  numbers[KIND] = FIRST_SUMMARY + SUMMARY_KINDS.indexOf(job.kind);
  numbers[TYPE] = TENSOR_TYPES.indexOf(job.type);
  numbers[LENGTH] = length;
  numbers[FIRST] = byteOffset;
  numbers[SECOND] = byteOffset + secondAt;
  numbers[EPSILON] = epsilon;
  numbers[THRESHOLD] = threshold ?? Number.NaN;
  numbers[UNITS] = unitAxis === null ? -1 : (shape[unitAxis] ?? 0);
  numbers[INNER_SIZE] =
    unitAxis === null ? 1 : shape.slice(unitAxis + 1).reduce((product, size) => product * size, 1);
  numbers[BINS] = histogram?.bins ?? 0;
  numbers[MOST_VALUES] = histogram?.maxValues ?? 0;
}

/** Does such a job. */
export function answerSummary(
  kernel: Kernel,
  descriptor: Float64Array,
  buffer: ArrayBufferLike,
  out: Float64Array,
): void {
  const numbers = descriptor.subarray(JOB_CALL);
  const at = (index: number): number => numbers[index] ?? 0;
  const type = TENSOR_TYPES[at(TYPE)] ?? 'float32';
  const length = at(LENGTH);
  const kind = SUMMARY_KINDS[at(KIND) - FIRST_SUMMARY];
  const first = openView({ type, buffer, byteOffset: at(FIRST), length });
  const request = requestOf(numbers);
  if (kind === 'summary') {
    // Axes before the one of the units, that one, and those after it.
    const tensor = { shape: [1, at(UNITS), at(INNER_SIZE)], dtype: type };
    writeFound(findNumbers(kernel, first, tensor, request), out);
    return;
  }
  const second = openView({ type, buffer, byteOffset: at(SECOND), length });
  if (!isFloat(first) || !isFloat(second)) throw new TypeError(`no differences of ${type}`);
  if (kind === 'change') {
    const found = findChange(kernel, first, second, request);
    writeFound(found, out);
    out[BESIDE] = found.beforeNorm;
  } else out[BESIDE] = cosineBetween(kernel, first, second) ?? Number.NaN;
}

function requestOf(numbers: Float64Array): ReductionRequest {
  const at = (index: number): number => numbers[index] ?? 0;
  return {
    epsilon: at(EPSILON),
    threshold: Number.isNaN(at(THRESHOLD)) ? null : at(THRESHOLD),
    unitAxis: at(UNITS) < 0 ? null : 1,
    histogram: at(BINS) === 0 ? null : { bins: at(BINS), maxValues: at(MOST_VALUES) },
  };
}

function writeFound({ stats, units, histogram }: FoundNumbers, out: Float64Array): void {
  out.set(statsNumbers(stats));
  let at = HISTOGRAM;
  if (histogram !== null) {
    out[COUNTED] = histogram.sampleCount;
    out.set(histogram.edges, at);
    at += histogram.edges.length;
    out.set(histogram.counts, at);
    at += histogram.counts.length;
  }
  if (units !== null) new Uint8Array(out.buffer, out.byteOffset + at * 8).set(units);
}

/** The answer to a job that asked for numbers of a tensor. */
export function readFound(
  { request, shape, type }: Pick<SummaryJob, 'request' | 'shape' | 'type'>,
  out: Float64Array,
): ChangeSummary {
  const { epsilon, threshold, unitAxis, histogram } = request;
  let at = HISTOGRAM;
  let bins: TensorHistogram | null = null;
  if (histogram !== null) {
    const middle = at + histogram.bins + 1;
    bins = {
      edges: new Float64Array(out.subarray(at, middle)),
      counts: new Float64Array(out.subarray(middle, middle + histogram.bins)),
      sampleCount: out[COUNTED] ?? 0,
    };
    at = middle + histogram.bins;
  }
  const hasUnits = unitAxis !== null && type !== 'float16' && type !== 'bfloat16';
  const units = hasUnits
    ? new Uint8Array(new Uint8Array(out.buffer, out.byteOffset + at * 8, shape[unitAxis] ?? 0))
    : null;
  return {
    update: summaryOf(readStats(out, epsilon, threshold), units, bins),
    beforeNorm: out[BESIDE] ?? 0,
  };
}

/** The answer to a job that asked for a cosine. */
export function readCosine(out: Float64Array): number | null {
  const cosine = out[BESIDE] ?? 0;
  return Number.isNaN(cosine) ? null : cosine;
}
