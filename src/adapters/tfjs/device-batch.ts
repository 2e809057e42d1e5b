/**
 * Reductions on a WebGL or WebGPU device. Each tensor becomes a handful of numbers there, in the step in which it is
 * captured; at the end of the step all numbers become one tensor, which is read once and asynchronously.
 */
import type {
  DeviceBatch,
  DeviceResult,
  ReductionRequest,
  TensorRef,
  TensorSummary,
} from '../../instruments/probes/model-source.ts';
import { sizeOf } from '../../kernel/tensor/reductions.ts';
import { cosineFrom, histogramFrom, summaryOfChunks } from './device-numbers.ts';
import { TfTensorRef } from './tfjs-tensor.ts';
import { opsOf, type TfjsRuntime, type TfOps, type TfTensor } from './tfjs-types.ts';
import { WebglReductions } from './webgl-reductions.ts';

type Part = {
  readonly tensors: readonly TfTensor[];
  readonly parse: (numbers: Float32Array) => DeviceResult;
};

/** finite count, mean, variance, sum of squares, least, greatest, near zero, saturated */
const STATS_LENGTH = 8;
/** Larger than any finite element that matters, and finite in float32. */
const BIG = 3e38;
const MAX_INDEX_TENSOR_LENGTH = 1 << 22;

export class TfDeviceBatch implements DeviceBatch {
  readonly #tf: TfOps;
  readonly #programs: WebglReductions | undefined;
  #parts: Part[] = [];

  constructor(tf: TfjsRuntime) {
    this.#tf = opsOf(tf);
    this.#programs = WebglReductions.on(tf);
  }

  summarize(tensor: TensorRef, request: ReductionRequest): void {
    const { shape } = tensor;
    const programs = this.#programs;
    const x = tensorOf(tensor);
    if (programs !== undefined && x.size > 0) {
      this.#addChunks(x, (y) => programs.stats(y, request), x, request, false);
      return;
    }
    this.#add(
      sizeOf(shape),
      () => this.#reduce(tensorOf(tensor), request),
      (numbers) => ({
        summary: summaryFrom(numbers, shape, request),
        beforeNorm: null,
        cosine: null,
      }),
    );
  }

  summarizeChange(after: TensorRef, before: TensorRef, request: ReductionRequest): void {
    const tf = this.#tf;
    const { shape } = after;
    const programs = this.#programs;
    const [now, then] = [tensorOf(after), tensorOf(before)];
    if (programs !== undefined && now.size > 0) {
      const stats = (x: TfTensor): TfTensor => programs.change(x, flat(tf, then), request);
      if (request.histogram === null) {
        this.#addChunks(now, stats, now, request, true);
      } else {
        const update = tf.keep(tf.tidy(() => tf.sub(now, then)));
        this.#addChunks(now, stats, update, request, true);
        update.dispose();
      }
      return;
    }
    this.#add(
      sizeOf(shape),
      () => {
        const was = tensorOf(before);
        const x = flat(tf, was);
        const safe = tf.where(tf.isFinite(x), x, tf.scalar(0));
        const norm = tf.sqrt(tf.sum(tf.square(safe)));
        return tf.concat([
          tf.reshape(norm, [1]),
          this.#reduce(tf.sub(tensorOf(after), was), request),
        ]);
      },
      (numbers) => ({
        summary: summaryFrom(numbers.subarray(1), shape, request),
        beforeNorm: numbers[0] ?? 0,
        cosine: null,
      }),
    );
  }

  compare(first: TensorRef, second: TensorRef): void {
    const tf = this.#tf;
    const programs = this.#programs;
    const one = tensorOf(first);
    if (programs !== undefined && one.size > 0) {
      const work = (): TfTensor => programs.compare(flat(tf, one), flat(tf, tensorOf(second)));
      this.#parts.push({
        tensors: [tf.keep(tf.tidy(work))],
        parse: (numbers) => ({ summary: null, beforeNorm: null, cosine: cosineFrom(numbers) }),
      });
      return;
    }
    this.#add(
      sizeOf(first.shape),
      () => {
        const a = flat(tf, tensorOf(first));
        const b = flat(tf, tensorOf(second));
        return tf.stack([
          tf.sum(tf.mul(a, b)),
          tf.sqrt(tf.sum(tf.square(a))),
          tf.sqrt(tf.sum(tf.square(b))),
        ]);
      },
      ([dot = 0, a = 0, b = 0]) => ({
        summary: null,
        beforeNorm: null,
        cosine: a > 0 && b > 0 ? Math.max(-1, Math.min(1, dot / a / b)) : null,
      }),
    );
  }

  async read(): Promise<readonly DeviceResult[]> {
    const parts = this.#parts;
    this.#parts = [];
    const tf = this.#tf;
    const tensors = parts.flatMap((part) => part.tensors);
    if (tensors.length === 0) return parts.map(({ parse }) => parse(new Float32Array(0)));
    const packed = tf.keep(tf.tidy(() => tf.concat(tensors)));
    disposeAll(parts);
    try {
      const numbers = Float32Array.from((await packed.data()) as Float32Array);
      let at = 0;
      return parts.map(({ tensors: own, parse }) => {
        const length = own.reduce((sum, { size }) => sum + size, 0);
        at += length;
        return parse(numbers.subarray(at - length, at));
      });
    } finally {
      packed.dispose();
    }
  }

  discard(): void {
    disposeAll(this.#parts);
    this.#parts = [];
  }

  #add(size: number, reduce: () => TfTensor, parse: Part['parse']): void {
    // Devices reduce nothing of nothing: there is one result for it, which needs no reading.
    this.#parts.push({
      tensors: size === 0 ? [] : [this.#tf.keep(this.#tf.tidy(reduce))],
      parse,
    });
  }

  /** The numbers of a tensor by chunks, then what else is asked for; `values` are those that are counted in bins. */
  #addChunks(
    tensor: TfTensor,
    stats: (x: TfTensor) => TfTensor,
    values: TfTensor,
    request: ReductionRequest,
    isChange: boolean,
  ): void {
    const programs = this.#programs;
    if (programs === undefined) return;
    const tf = this.#tf;
    const { shape } = tensor;
    const run = (work: () => TfTensor): TfTensor => tf.keep(tf.tidy(work));
    const chunks = run(() => stats(flat(tf, tensor)));
    const tensors = [chunks];
    const { unitAxis, epsilon, histogram } = request;
    if (unitAxis !== null) {
      const [, units, inner] = aroundAxis(shape, unitAxis);
      tensors.push(
        run(
          () =>
            programs.deadUnits(flat(tf, tensor), units, inner, epsilon) ??
            this.#deadUnits(tensor, unitAxis, epsilon),
        ),
      );
    }
    if (histogram !== null) {
      const { bins } = histogram;
      const stride = Math.ceil(values.size / mostValues(histogram));
      const sample =
        stride === 1 ? chunks : run(() => programs.stats(flat(tf, values), request, stride));
      if (stride > 1) tensors.push(sample);
      if (bins > 1) tensors.push(run(() => programs.below(flat(tf, values), sample, stride, bins)));
    }
    this.#parts.push({
      tensors,
      parse(numbers) {
        const found = summaryOfChunks(numbers, shape, request);
        return { ...found, beforeNorm: isChange ? found.beforeNorm : null, cosine: null };
      },
    });
  }

  /** `[8]` statistics, then `[units]` flags, then the counts of the histogram below each inner edge. */
  #reduce(tensor: TfTensor, request: ReductionRequest): TfTensor {
    const tf = this.#tf;
    const parts = [this.#stats(flat(tf, tensor), request)];
    if (request.unitAxis !== null)
      parts.push(this.#deadUnits(tensor, request.unitAxis, request.epsilon));
    if (request.histogram !== null) parts.push(this.#histogram(tensor, request.histogram));
    return parts.length === 1 ? (parts[0] ?? tensor) : tf.concat(parts);
  }

  #stats(x: TfTensor, { epsilon, threshold }: ReductionRequest): TfTensor {
    const tf = this.#tf;
    const isFinite = tf.isFinite(x);
    const finite = tf.cast(isFinite, 'float32');
    const zero = tf.scalar(0);
    const safe = tf.where(isFinite, x, zero);
    const size = tf.abs(safe);
    const near = tf.mul(tf.cast(tf.lessEqual(size, tf.scalar(epsilon)), 'float32'), finite);
    const saturated =
      threshold === null
        ? []
        : [tf.mul(tf.cast(tf.greaterEqual(size, tf.scalar(threshold)), 'float32'), finite)];
    // Rows of one matrix, so that one reduction makes all the sums.
    const sums = tf.sum(tf.stack([finite, safe, near, ...saturated]), 1);
    const take = (from: number, length = 1): TfTensor => tf.slice(sums, [from], [length]);
    const mean = tf.div(take(1), take(0));
    const deviation = tf.mul(tf.sub(safe, mean), finite);
    const squares = tf.sum(tf.stack([tf.square(deviation), tf.square(safe)]), 1);
    return tf.concat([
      take(0),
      mean,
      tf.div(tf.slice(squares, [0], [1]), take(0)),
      tf.slice(squares, [1], [1]),
      tf.reshape(tf.min(tf.where(isFinite, x, tf.scalar(BIG))), [1]),
      tf.reshape(tf.max(tf.where(isFinite, x, tf.scalar(-BIG))), [1]),
      take(2),
      threshold === null ? tf.reshape(zero, [1]) : take(3),
    ]);
  }

  #deadUnits(tensor: TfTensor, axis: number, epsilon: number): TfTensor {
    const tf = this.#tf;
    const [before, units, after] = aroundAxis(tensor.shape, axis);
    const x = tf.cast(tf.reshape(tensor, [before, units, after]), 'float32');
    // NaN is not near zero: what is not, counts as one.
    const alive = tf.sub(
      tf.scalar(1),
      tf.cast(tf.lessEqual(tf.abs(x), tf.scalar(epsilon)), 'float32'),
    );
    return tf.cast(tf.lessEqual(tf.max(alive, [0, 2]), tf.scalar(0)), 'float32');
  }

  #histogram(tensor: TfTensor, histogram: NonNullable<ReductionRequest['histogram']>): TfTensor {
    const tf = this.#tf;
    const { bins } = histogram;
    const all = flat(tf, tensor);
    const stride = Math.ceil(all.size / mostValues(histogram));
    const x = stride > 1 ? tf.stridedSlice(all, [0], [all.size], [stride]) : all;
    const isFinite = tf.isFinite(x);
    const count = tf.reshape(tf.sum(tf.cast(isFinite, 'float32')), [1]);
    const least = tf.reshape(tf.min(tf.where(isFinite, x, tf.scalar(BIG))), [1]);
    const greatest = tf.reshape(tf.max(tf.where(isFinite, x, tf.scalar(-BIG))), [1]);
    if (bins === 1) return tf.concat([count, least, greatest]);
    const shares = tf.tensor1d(Array.from({ length: bins - 1 }, (_, i) => (i + 1) / bins));
    const edges = tf.add(least, tf.mul(tf.sub(greatest, least), shares));
    const values = tf.reshape(tf.where(isFinite, x, tf.scalar(BIG)), [1, x.size]);
    const below = tf.sum(tf.cast(tf.less(values, tf.reshape(edges, [bins - 1, 1])), 'float32'), 1);
    return tf.concat([count, least, greatest, below]);
  }
}

function disposeAll(parts: readonly Part[]): void {
  for (const { tensors } of parts) for (const tensor of tensors) tensor.dispose();
}

/** Every bin compares every value: fewer values where there are many bins. */
function mostValues({ bins, maxValues }: NonNullable<ReductionRequest['histogram']>): number {
  return Math.min(maxValues, Math.floor(MAX_INDEX_TENSOR_LENGTH / bins));
}

/** Sizes of what comes before an axis, of the axis, and of what comes after it. */
function aroundAxis(shape: readonly number[], axis: number): [number, number, number] {
  return [sizeOf(shape.slice(0, axis)), shape[axis] ?? 1, sizeOf(shape.slice(axis + 1))];
}

function tensorOf(ref: TensorRef): TfTensor {
  if (ref instanceof TfTensorRef) return ref.tensor;
  throw new TypeError('a tensor of another source');
}

function flat(tf: TfOps, tensor: TfTensor): TfTensor {
  const x = tensor.dtype === 'float32' ? tensor : tf.cast(tensor, 'float32');
  return tf.reshape(x, [tensor.size]);
}

function summaryFrom(
  numbers: Float32Array,
  shape: readonly number[],
  { threshold, unitAxis, histogram }: ReductionRequest,
): TensorSummary {
  const [
    finite = 0,
    mean = 0,
    variance = 0,
    squares = 0,
    min = 0,
    max = 0,
    near = 0,
    saturated = 0,
  ] = numbers;
  const elementCount = sizeOf(shape);
  const units = unitAxis === null ? 0 : (shape[unitAxis] ?? 0);
  const orNull = (value: number): number | null => (finite > 0 ? value : null);
  return {
    elementCount,
    nonFiniteCount: elementCount - finite,
    mean: orNull(mean),
    variance: orNull(variance),
    std: orNull(Math.sqrt(variance)),
    l2Norm: Math.sqrt(squares),
    min: orNull(min),
    max: orNull(max),
    nearZeroRatio: orNull(near / finite),
    saturatedRatio: threshold === null ? null : orNull(saturated / finite),
    deadUnits:
      unitAxis === null
        ? null
        : Uint8Array.from({ length: units }, (_, unit) => numbers[STATS_LENGTH + unit] ?? 0),
    histogram:
      histogram === null
        ? null
        : histogramFrom(numbers.subarray(STATS_LENGTH + units), histogram.bins),
  };
}
