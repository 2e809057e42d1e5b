/** Tensor calls and their results as numbers, on their way through a ring. */
import { checkHistogramOptions, type HistogramSettings } from './checks.ts';
import { binCount } from './histogram-bins.ts';
import { executeCall, type KernelCall, type KernelResult, type TensorJob } from './calls.ts';
import {
  TENSOR_TYPES,
  type Histogram,
  type Kernel,
  type TensorPairStats,
  type TensorType,
  type TensorUnitStats,
} from '../kernel.ts';
import { answerSummaries, PART_NUMBERS } from './summary-codec.ts';
import { readStats, STATS_NUMBERS, statsNumbers } from './stats-numbers.ts';
import { JOB_CALL } from '../workers/ring/ring-memory.ts';
import type { RingCodec } from '../workers/ring-crew.ts';
import type { RingAnswer } from '../workers/ring/serve-ring.ts';

/** The operations, by the number that stands for each. */
const OPERATIONS = ['tensorStats', 'histogram', 'tensorUnitStats', 'tensorPairStats'] as const;

/** Where the numbers of a call lie in the descriptor of its job. */
const OPERATION = JOB_CALL;
const TYPE = JOB_CALL + 1;
const LENGTH = JOB_CALL + 2;
const BYTE_OFFSET = JOB_CALL + 3;
const OPTIONS = JOB_CALL + 4;

/** The operation of a job that is about a table of parts: where the table begins, in bytes, and how many parts it has, follow. */
const SUMMARIES = 16;

/** Before the counts. */
const HISTOGRAM_NUMBERS = 10;
const UNIT_ARRAYS = 5;

/** The codec of the tensor calls; `kernel` is that of this thread. */
export function tensorRingCodec(kernel: Kernel): RingCodec<TensorJob, KernelResult> {
  return {
    outLength: ({ call }) => outLengthOf(call),
    describe,
    read,
    answer: tensorAnswer(kernel),
  };
}

/** Does the jobs of a ring with a kernel: calls, and what probes ask. */
export function tensorAnswer(kernel: Kernel): RingAnswer {
  return (numbers, buffer, out) => {
    if (numbers[OPERATION] === SUMMARIES) {
      const [tableAt = 0, parts = 0] = numbers.subarray(OPERATION + 1);
      const table = new Float64Array(buffer, tableAt, parts * PART_NUMBERS);
      answerSummaries(kernel, table, buffer, out);
      return;
    }
    const type = TENSOR_TYPES[numbers[TYPE] ?? 0] ?? 'float32';
    const length = numbers[LENGTH] ?? 0;
    const view = { type, buffer, byteOffset: numbers[BYTE_OFFSET] ?? 0, length };
    write(
      executeCall(kernel, callOf(numbers.subarray(OPTIONS), numbers[OPERATION], type), view),
      out,
    );
  };
}

/** Describes a job about a table of parts. */
export function describeTable(tableAt: number, parts: number, numbers: Float64Array): void {
  numbers[OPERATION] = SUMMARIES;
  numbers[OPERATION + 1] = tableAt;
  numbers[OPERATION + 2] = parts;
}

/** Numbers of the result of a call; those of statistics at least, which a histogram may need first. */
export function outLengthOf(call: KernelCall): number {
  switch (call.op) {
    case 'tensorStats':
    case 'tensorPairStats':
      return STATS_NUMBERS;
    case 'histogram':
      return STATS_NUMBERS + HISTOGRAM_NUMBERS + binCount(checkHistogramOptions(call.options));
    case 'tensorUnitStats':
      return STATS_NUMBERS + UNIT_ARRAYS * call.options.units;
  }
}

function describe({ call, view }: TensorJob, _byteOffset: number, numbers: Float64Array): void {
  numbers[OPERATION] = OPERATIONS.indexOf(call.op);
  numbers[TYPE] = TENSOR_TYPES.indexOf(view.type);
  numbers[LENGTH] = view.length;
  numbers[BYTE_OFFSET] = view.byteOffset;
  const options = numbers.subarray(OPTIONS);
  switch (call.op) {
    case 'tensorStats':
      options[0] = call.options.epsilon ?? 0;
      options[1] = call.options.threshold ?? Number.NaN;
      return;
    case 'histogram':
      describeHistogram(checkHistogramOptions(call.options), options);
      return;
    case 'tensorUnitStats':
      options[0] = call.options.units;
      options[1] = call.options.innerSize ?? 1;
      options[2] = call.options.epsilon ?? 0;
      return;
    case 'tensorPairStats':
      return;
  }
}

function describeHistogram(settings: HistogramSettings, options: Float64Array): void {
  const isUniform = settings.scale === 'uniform';
  const range = isUniform ? settings.range : settings.magnitudes;
  options[0] = isUniform ? 0 : 1;
  options[1] = isUniform ? settings.bins : settings.binsPerOctave;
  options[2] = range?.min ?? Number.NaN;
  options[3] = range?.max ?? Number.NaN;
}

function callOf(
  options: Float64Array,
  operation: number | undefined,
  type: TensorType,
): KernelCall {
  const [first = 0, second = 0, third = 0, fourth = 0] = options;
  const op = OPERATIONS[operation ?? 0] ?? 'tensorStats';
  switch (op) {
    case 'tensorStats':
      return { op, options: { epsilon: first, threshold: orNull(second), type } };
    case 'histogram':
      return { op, options: { type, ...histogramOptions(first !== 0, second, third, fourth) } };
    case 'tensorUnitStats':
      return { op, options: { units: first, innerSize: second, epsilon: third, type } };
    case 'tensorPairStats':
      return { op };
  }
}

function histogramOptions(
  isLog: boolean,
  bins: number,
  min: number,
  max: number,
): HistogramSettings {
  if (isLog) return { scale: 'log_magnitude', binsPerOctave: bins, magnitudes: { min, max } };
  return { scale: 'uniform', bins, ...(Number.isNaN(min) ? {} : { range: { min, max } }) };
}

function write(result: KernelResult, out: Float64Array): void {
  if ('counts' in result) writeHistogram(result, out);
  else if ('deadUnitCount' in result) writeUnits(result, out);
  else if ('cosine' in result) out.set(pairNumbers(result));
  else out.set(statsNumbers(result));
}

function read({ call, view }: TensorJob, out: Float64Array): KernelResult {
  switch (call.op) {
    case 'tensorStats':
      return readStats(out, call.options.epsilon ?? 0, call.options.threshold ?? null);
    case 'histogram':
      return readHistogram(checkHistogramOptions(call.options), out);
    case 'tensorUnitStats':
      return readUnits(call.options.units, call.options.epsilon ?? 0, out);
    case 'tensorPairStats':
      return readPair(view.length / 2, out);
  }
}

function pairNumbers(pair: TensorPairStats): readonly number[] {
  return [
    pair.finiteCount,
    pair.firstNorm,
    pair.secondNorm,
    pair.differenceNorm,
    pair.relativeDifference,
    pair.dot,
    pair.cosine,
  ];
}

function readPair(elementCount: number, out: Float64Array): TensorPairStats {
  const at = (index: number): number => out[index] ?? 0;
  return {
    elementCount,
    finiteCount: at(0),
    firstNorm: at(1),
    secondNorm: at(2),
    differenceNorm: at(3),
    relativeDifference: at(4),
    dot: at(5),
    cosine: at(6),
  };
}

function writeHistogram(found: Histogram, out: Float64Array): void {
  out.set([
    found.min,
    found.max,
    found.elementCount,
    found.sampledCount,
    found.underflowCount,
    found.overflowCount,
    found.nanCount,
    found.positiveInfinityCount,
    found.negativeInfinityCount,
    found.zeroCount,
  ]);
  out.set(found.counts, HISTOGRAM_NUMBERS);
}

function readHistogram(settings: HistogramSettings, out: Float64Array): Histogram {
  const at = (index: number): number => out[index] ?? 0;
  const isUniform = settings.scale === 'uniform';
  return {
    scale: settings.scale,
    min: at(0),
    max: at(1),
    magnitudes: isUniform ? null : settings.magnitudes,
    binsPerOctave: isUniform ? null : settings.binsPerOctave,
    counts: ownCopy(out, HISTOGRAM_NUMBERS, binCount(settings)),
    elementCount: at(2),
    sampledCount: at(3),
    underflowCount: at(4),
    overflowCount: at(5),
    nanCount: at(6),
    positiveInfinityCount: at(7),
    negativeInfinityCount: at(8),
    zeroCount: at(9),
  };
}

function writeUnits(found: TensorUnitStats, out: Float64Array): void {
  const { units } = found;
  out[0] = found.elementCount;
  out[1] = found.deadUnitCount;
  const arrays = [
    found.finiteCounts,
    found.means,
    found.maxMagnitudes,
    found.inactiveCounts,
    found.inactiveRatios,
  ];
  arrays.forEach((array, i) => out.set(array, STATS_NUMBERS + i * units));
}

function readUnits(units: number, epsilon: number, out: Float64Array): TensorUnitStats {
  const array = (i: number): Float64Array => ownCopy(out, STATS_NUMBERS + i * units, units);
  return {
    units,
    elementCount: out[0] ?? 0,
    epsilon,
    finiteCounts: array(0),
    means: array(1),
    maxMagnitudes: array(2),
    inactiveCounts: array(3),
    inactiveRatios: array(4),
    deadUnitCount: out[1] ?? 0,
  };
}

/** In memory that is not shared: the receiver may transfer it. */
function ownCopy(out: Float64Array, from: number, length: number): Float64Array {
  return new Float64Array(out.subarray(from, from + length));
}

function orNull(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}
