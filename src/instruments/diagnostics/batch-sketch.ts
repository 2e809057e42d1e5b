/**
 * What a batch says of the data: how targets are spread, how closely single inputs follow the target, and which samples come again.
 * Samples are not stored. What is counted has a bound, so that a long training costs no more than its first two thousand samples.
 */
import { invalidInput } from '../../base/errors.ts';
import { elementsOf, type ClassCounts } from './labels.ts';

/** Numbers on the host, row-major, with the axis of the samples first. */
export type SketchTensor = { readonly shape: readonly number[]; readonly data: ArrayLike<number> };

/** What {@link BatchSketch.train} found in a batch. */
export type BatchFacts = {
  readonly batchSize: number;
  /** Samples of each class, where the targets are classes. */
  readonly classCounts: ClassCounts | null;
  /** Spread of the targets, where they are numbers of any size. */
  readonly targets: TargetSpread | null;
};

/** Extremes, mean and population standard deviation of the finite targets of a batch. */
export type TargetSpread = {
  readonly min: number;
  readonly max: number;
  readonly mean: number;
  readonly std: number;
};

/** The single input that follows the target most closely, of all samples so far. */
export type InputCorrelation = {
  /** Size of Pearson's correlation, 0 to 1. */
  readonly correlation: number;
  /** Position of the number among all numbers of a sample, from 0. */
  readonly input: number;
  /** Numbers of a sample. */
  readonly inputCount: number;
  readonly sampleCount: number;
};

/** How many samples came again. */
export type SampleOverlap = {
  /** Share of the samples of validation that were trained on before, 0 to 1. */
  readonly validation: number;
  /** Share of the samples of the first epoch that had come before in it, 0 to 1: how often samples are alike by themselves. */
  readonly repeated: number;
};

/** More distinct whole numbers than this are no classes. */
const MAX_WHOLE_CLASSES = 20;
/** Numbers of a sample beyond which no single one is compared with the target: pixels. */
const MAX_INPUTS = 512;
/** Samples that correlations are computed of. */
const MAX_CORRELATED = 2000;
/** Columns of targets: classes, or values of a sample. */
const MAX_TARGETS = 8;
/** Numbers of a sample that its hash is made of, evenly spread, and samples whose hashes are remembered. */
const HASHED = 64;
const MAX_HASHES = 200_000;

/** Accumulates what batches say; nothing here reads a tensor of a framework. */
export class BatchSketch {
  readonly #seen = new Set<number>();
  readonly #classes = new Set<number>();
  #areClasses = true;
  #sums: CorrelationSums | undefined;
  #firstEpoch: number | null | undefined;
  #inFirstEpoch = 0;
  #repeated = 0;
  #validated = 0;
  #overlapping = 0;

  /**
   * A batch that is trained on.
   *
   * @param inputs what the model gets: a tensor for each input
   * @param target what it is to give; that of the first output
   */
  train(
    inputs: readonly SketchTensor[],
    target: SketchTensor | undefined,
    epoch: number | null,
  ): BatchFacts {
    const batchSize = target?.shape[0] ?? inputs[0]?.shape[0] ?? 0;
    const usable = inputs.every(({ shape }) => shape[0] === batchSize) ? inputs : [];
    this.#remember(usable, batchSize, epoch);
    if (target === undefined) return { batchSize, classCounts: null, targets: null };
    const labels = this.#labelsOf(target);
    this.#correlate(usable, target, labels);
    return {
      batchSize,
      classCounts: labels === undefined ? null : countsOf(labels),
      targets: labels === undefined && target.shape.length <= 2 ? spreadOf(target.data) : null,
    };
  }

  /** A batch that is validated with. */
  validate(inputs: readonly SketchTensor[]): void {
    const batchSize = inputs[0]?.shape[0] ?? 0;
    if (inputs.some(({ shape }) => shape[0] !== batchSize)) return;
    for (let row = 0; row < batchSize; row++) {
      this.#validated++;
      if (this.#seen.has(hashOf(inputs, row))) this.#overlapping++;
    }
  }

  /** Of the validation since the last call; undefined without one, or where training was not seen. */
  takeOverlap(): SampleOverlap | undefined {
    const validated = this.#validated;
    const overlapping = this.#overlapping;
    this.#validated = 0;
    this.#overlapping = 0;
    if (validated === 0 || this.#inFirstEpoch === 0) return undefined;
    return {
      validation: overlapping / validated,
      repeated: this.#repeated / this.#inFirstEpoch,
    };
  }

  /** Undefined where inputs are too many, or only one, or nothing varies. */
  correlation(): InputCorrelation | undefined {
    return this.#sums?.largest();
  }

  #remember(inputs: readonly SketchTensor[], batchSize: number, epoch: number | null): void {
    if (inputs.length === 0 || this.#seen.size >= MAX_HASHES) return;
    this.#firstEpoch ??= epoch;
    const isFirst = epoch === this.#firstEpoch;
    // What the first epoch did not have, the second will hardly bring: samples that are made up as they go are no use to remember.
    if (!isFirst && this.#seen.size > 0 && epoch !== null) return;
    for (let row = 0; row < batchSize; row++) {
      const hash = hashOf(inputs, row);
      if (isFirst) {
        this.#inFirstEpoch++;
        if (this.#seen.has(hash)) this.#repeated++;
      }
      this.#seen.add(hash);
    }
  }

  /** The class of each sample; undefined where targets are something else. */
  #labelsOf({ data, shape }: SketchTensor): readonly number[] | undefined {
    const rows = shape[0] ?? 0;
    const width = data.length / Math.max(1, rows);
    if (shape.length > 2 || rows === 0) return undefined;
    if (width > 1) return oneHotLabels(data, rows, width);
    if (!this.#areClasses) return undefined;
    for (let row = 0; row < rows; row++) {
      const value = data[row] ?? Number.NaN;
      if (!Number.isInteger(value) || value < 0) this.#areClasses = false;
      this.#classes.add(value);
    }
    this.#areClasses &&= this.#classes.size <= MAX_WHOLE_CLASSES;
    return this.#areClasses ? Array.from({ length: rows }, (_, row) => data[row] ?? 0) : undefined;
  }

  #correlate(
    inputs: readonly SketchTensor[],
    target: SketchTensor,
    labels: readonly number[] | undefined,
  ): void {
    const rows = target.shape[0] ?? 0;
    const inputCount = inputs.reduce((sum, { data }) => sum + data.length / Math.max(1, rows), 0);
    if (inputCount < 2 || inputCount > MAX_INPUTS || target.shape.length > 2) return;
    // Of a series what comes next is close to what came last, and an autoencoder is to give what it gets: neither is a leak.
    const isSeries = inputs.some(({ shape }) => shape.length > 2);
    const width = target.data.length / Math.max(1, rows);
    if (isSeries || (labels === undefined && width > 1 && width >= inputCount)) return;
    this.#sums ??= new CorrelationSums(inputCount);
    if (this.#sums.inputCount !== inputCount || this.#sums.sampleCount >= MAX_CORRELATED) return;
    for (let row = 0; row < rows; row++) {
      const label = labels?.[row];
      this.#sums.add(
        inputs,
        row,
        label === undefined
          ? (column) => (column === 0 ? (target.data[row * width] ?? 0) : 0)
          : (column) => (column === 0 ? label : label === column - 1 ? 1 : 0),
      );
    }
  }
}

/** The class of each row where every row has a single 1 and zeros else. */
function oneHotLabels(
  data: ArrayLike<number>,
  rows: number,
  width: number,
): readonly number[] | undefined {
  const labels: number[] = [];
  for (let row = 0; row < rows; row++) {
    let label = -1;
    for (let i = 0; i < width; i++) {
      const value = data[row * width + i] ?? Number.NaN;
      if (value === 1 && label < 0) label = i;
      else if (value !== 0) return undefined;
    }
    if (label < 0) return undefined;
    labels.push(label);
  }
  return labels;
}

function countsOf(labels: readonly number[]): ClassCounts {
  const counts: Record<string, number> = {};
  for (const label of labels.toSorted((a, b) => a - b))
    counts[String(label)] = (counts[String(label)] ?? 0) + 1;
  return counts;
}

function spreadOf(values: ArrayLike<number>): TargetSpread | null {
  let [count, mean, squares] = [0, 0, 0];
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < values.length; i++) {
    const value = values[i] ?? Number.NaN;
    if (value - value !== 0) continue;
    count++;
    const before = value - mean;
    mean += before / count;
    squares += before * (value - mean);
    if (value < min) min = value;
    if (value > max) max = value;
  }
  return count === 0 ? null : { min, max, mean, std: Math.sqrt(squares / count) };
}

/** Sums from which the correlation of every input with every column of the targets follows, one pass over the samples. */
class CorrelationSums {
  readonly inputCount: number;
  sampleCount = 0;
  readonly #x: Float64Array;
  readonly #xx: Float64Array;
  readonly #t = new Float64Array(MAX_TARGETS + 1);
  readonly #tt = new Float64Array(MAX_TARGETS + 1);
  readonly #xt: Float64Array;

  constructor(inputCount: number) {
    this.inputCount = inputCount;
    this.#x = new Float64Array(inputCount);
    this.#xx = new Float64Array(inputCount);
    this.#xt = new Float64Array(inputCount * (MAX_TARGETS + 1));
  }

  add(inputs: readonly SketchTensor[], row: number, target: (column: number) => number): void {
    const targets = Array.from({ length: MAX_TARGETS + 1 }, (_, column) => target(column));
    if (targets.some((value) => !Number.isFinite(value))) return;
    const values: number[] = [];
    for (const { data, shape } of inputs) {
      const width = data.length / Math.max(1, shape[0] ?? 1);
      for (let i = 0; i < width; i++) values.push(data[row * width + i] ?? Number.NaN);
    }
    if (values.some((value) => !Number.isFinite(value))) return;
    this.sampleCount++;
    targets.forEach((value, column) => {
      this.#t[column] = (this.#t[column] ?? 0) + value;
      this.#tt[column] = (this.#tt[column] ?? 0) + value * value;
    });
    values.forEach((value, input) => {
      this.#x[input] = (this.#x[input] ?? 0) + value;
      this.#xx[input] = (this.#xx[input] ?? 0) + value * value;
      const from = input * (MAX_TARGETS + 1);
      for (let column = 0; column <= MAX_TARGETS; column++)
        this.#xt[from + column] = (this.#xt[from + column] ?? 0) + value * (targets[column] ?? 0);
    });
  }

  largest(): InputCorrelation | undefined {
    const n = this.sampleCount;
    let best = { correlation: -1, input: -1 };
    for (let input = 0; input < this.inputCount; input++)
      for (let column = 0; column <= MAX_TARGETS; column++) {
        const [sx, sxx] = [this.#x[input] ?? 0, this.#xx[input] ?? 0];
        const [st, stt] = [this.#t[column] ?? 0, this.#tt[column] ?? 0];
        const spread = (n * sxx - sx * sx) * (n * stt - st * st);
        if (!(spread > 1e-9 * n * n * Math.max(1e-12, sxx * stt))) continue;
        const along = n * (this.#xt[input * (MAX_TARGETS + 1) + column] ?? 0) - sx * st;
        const correlation = Math.min(1, Math.abs(along) / Math.sqrt(spread));
        if (correlation > best.correlation) best = { correlation, input };
      }
    if (best.input < 0) return undefined;
    return { ...best, inputCount: this.inputCount, sampleCount: n };
  }
}

const bits = new Float32Array(1);
const words = new Uint32Array(bits.buffer);

/** A number of 53 bits of one sample: two hashes (Fowler, Noll and Vo) of some of its numbers. */
function hashOf(inputs: readonly SketchTensor[], row: number): number {
  let [first, second] = [0x811c9dc5, 0x01000193];
  for (const { data, shape } of inputs) {
    const width = data.length / Math.max(1, shape[0] ?? 1);
    const stride = Math.max(1, width / HASHED);
    for (let at = 0; at < width; at += stride) {
      bits[0] = data[row * width + Math.floor(at)] ?? 0;
      const word = words[0] ?? 0;
      first = Math.imul(first ^ word, 0x01000193);
      first ^= first >>> 15;
      second = Math.imul(second ^ word, 0x85ebca6b);
      second ^= second >>> 13;
    }
  }
  return (first >>> 0) * 2 ** 21 + (second >>> 11);
}

/**
 * A tensor as the sketch reads it, without a copy.
 *
 * @throws {QuarkError} `invalid_input` naming the field; `probe_failed` for a tensor that cannot be read
 */
export function sketchTensor(field: string, tensor: unknown): SketchTensor {
  if (typeof tensor !== 'object' || tensor === null || !('shape' in tensor))
    throw invalidInput(field, tensor, 'a tensor on the host: `{ shape, data }`');
  const { shape } = tensor;
  if (!Array.isArray(shape) || shape.length === 0 || !shape.every((size) => Number.isInteger(size)))
    throw invalidInput(`${field}.shape`, shape, 'sizes of axes, that of the samples first');
  const sizes = shape.map(Number);
  const data = elementsOf(field, { ...tensor, shape: sizes });
  const size = sizes.reduce((product, length) => product * length, 1);
  if (data.length !== size || !isNumeric(data))
    throw invalidInput(`${field}.data`, data, `${size} numbers, as the shape says`);
  return { shape: sizes, data };
}

function isNumeric(data: ArrayLike<unknown>): data is ArrayLike<number> {
  return ArrayBuffer.isView(data) || Array.from(data).every((value) => typeof value === 'number');
}
