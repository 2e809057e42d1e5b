/** What probes ask of tensors, and what comes back, as numbers on their way to a worker: a table of parts, and an answer for each. */
import { TENSOR_TYPES, type Kernel, type TensorType } from '../kernel.ts';
import { openView } from './calls.ts';
import { isFloat } from './reductions.ts';
import { STATS_NUMBERS, statsNumbers, summaryOfNumbers } from './stats-numbers.ts';
import {
  cosineBetween,
  findChange,
  findNumbers,
  type ChangeSummary,
  type FoundNumbers,
  type ReductionRequest,
  type TensorHistogram,
} from './summaries.ts';

/** What is asked: numbers of a tensor, of what changed between two, or the cosine between two. */
const SUMMARY_KINDS = ['summary', 'change', 'cosine'] as const;

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
  /** Bytes from the start of the memory to each. */
  readonly first: number;
  readonly second: number;
};

/** Numbers of a part in the table. */
export const PART_NUMBERS = 12;
/** Where they lie. */
const [KIND, TYPE, LENGTH, FIRST, SECOND, EPSILON, THRESHOLD] = [0, 1, 2, 3, 4, 5, 6] as const;
const [UNITS, INNER_SIZE, BINS, MOST_VALUES, OUT] = [7, 8, 9, 10, 11] as const;

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

/** Writes a part into a table that begins at number `at` of `numbers`. Its answer begins at number `outAt` of the answers. */
export function describeSummary(
  job: SummaryJob,
  { length, first, second }: SummaryView,
  outAt: number,
  numbers: Float64Array,
  at: number,
): void {
  const { shape } = job;
  const { epsilon, threshold, unitAxis, histogram } = job.request;
  numbers[at + KIND] = SUMMARY_KINDS.indexOf(job.kind);
  numbers[at + TYPE] = TENSOR_TYPES.indexOf(job.type);
  numbers[at + LENGTH] = length;
  numbers[at + FIRST] = first;
  numbers[at + SECOND] = second;
  numbers[at + EPSILON] = epsilon;
  numbers[at + THRESHOLD] = threshold ?? Number.NaN;
  numbers[at + UNITS] = unitAxis === null ? -1 : (shape[unitAxis] ?? 0);
  numbers[at + INNER_SIZE] = unitAxis === null ? 1 : sizeAfter(shape, unitAxis);
  numbers[at + BINS] = histogram?.bins ?? 0;
  numbers[at + MOST_VALUES] = histogram?.maxValues ?? 0;
  numbers[at + OUT] = outAt;
}

function sizeAfter(shape: readonly number[], axis: number): number {
  let size = 1;
  for (let i = axis + 1; i < shape.length; i++) size *= shape[i] ?? 0;
  return size;
}

/** Finds what the `count` parts of a table ask, and writes the answers to `out`. */
export function answerSummaries(
  kernel: Kernel,
  table: Float64Array,
  buffer: ArrayBufferLike,
  out: Float64Array,
): void {
  for (let at = 0; at < table.length; at += PART_NUMBERS) {
    const numbers = table.subarray(at, at + PART_NUMBERS);
    answerSummary(kernel, numbers, buffer, out.subarray(numbers[OUT]));
  }
}

function answerSummary(
  kernel: Kernel,
  numbers: Float64Array,
  buffer: ArrayBufferLike,
  out: Float64Array,
): void {
  const at = (index: number): number => numbers[index] ?? 0;
  const type = TENSOR_TYPES[at(TYPE)] ?? 'float32';
  const length = at(LENGTH);
  const kind = SUMMARY_KINDS[at(KIND)];
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

/**
 * What was found of a tensor or a change, from the answer that begins at number `at` of `out`. Histograms and units are views of
 * `out`, which is to change no more.
 */
export function readFound(
  { request, shape, type }: Pick<SummaryJob, 'request' | 'shape' | 'type'>,
  out: Float64Array,
  at: number,
): ChangeSummary {
  const { threshold, unitAxis, histogram } = request;
  const number = (index: number): number => out[at + index] ?? 0;
  let next = at + HISTOGRAM;
  let bins: TensorHistogram | null = null;
  if (histogram !== null) {
    const middle = next + histogram.bins + 1;
    bins = {
      edges: out.subarray(next, middle),
      counts: out.subarray(middle, middle + histogram.bins),
      sampleCount: number(COUNTED),
    };
    next = middle + histogram.bins;
  }
  const hasUnits = unitAxis !== null && type !== 'float16' && type !== 'bfloat16';
  const units = hasUnits
    ? new Uint8Array(out.buffer, out.byteOffset + next * 8, shape[unitAxis] ?? 0)
    : null;
  return {
    update: summaryOfNumbers(out, at, threshold !== null, units, bins),
    beforeNorm: number(BESIDE),
  };
}

/** The answer to a part that asked for a cosine. */
export function readCosine(out: Float64Array, at: number): number | null {
  const cosine = out[at + BESIDE] ?? 0;
  return Number.isNaN(cosine) ? null : cosine;
}
