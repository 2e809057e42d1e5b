/**
 * Reductions of large tensors in slices. A slice is reduced in the workers where the event loop turns, and on the training
 * thread where it does not: the same steps serve both.
 */
import { QuarkError } from '../../base/errors.ts';
import type { Kernel, TensorData, TensorPairStats, TensorStats } from '../../kernel/kernel.ts';
import type { Kernels } from '../../kernel/tensor/kernels.ts';
import {
  DeadUnitSearch,
  differenceOf,
  histogramOf,
  isFloat,
  sizeOf,
  summaryOf,
  typeOption,
} from '../../kernel/tensor/reductions.ts';
import { mergeTensorPairStats, mergeTensorStats } from '../../kernel/tensor/results.ts';
import {
  changeHistogram,
  ChangeSample,
  finiteOrNull,
  SLICE_LENGTH,
  spans,
  type ChangeSummary,
} from '../../kernel/tensor/summaries.ts';
import { copyOf } from './copies.ts';
import type { ReductionRequest, RetainedTensor, TensorRef, TensorSummary } from './model-source.ts';

/** How a reduction ends, once all its slices have been given to the kernels. */
export type Ending = {
  /** Where the kernels answer at once. */
  readonly now: () => void;
  /** Waits for their answers. */
  readonly later: () => Promise<void>;
};

/** A reduction that was put off. */
export interface LaterWork {
  /** Its references to tensors, to be released when it is over. */
  readonly tensors: readonly (TensorRef | RetainedTensor)[];
  /** Begins it anew; goes on by one slice each time it is asked. `inline` is for what is small. */
  slices(kernels: Kernel | Kernels, inline: Kernel): Generator<undefined, Ending, undefined>;
}

/** A summary of one tensor. */
export function summaryLater(
  tensor: TensorRef,
  request: ReductionRequest,
  done: (summary: TensorSummary) => void,
): LaterWork {
  const { epsilon, threshold, histogram } = request;
  return {
    tensors: [tensor],
    *slices(kernels, inline) {
      const parts: (TensorStats | Promise<TensorStats>)[] = [];
      for (const [from, to] of spans(sizeOf(tensor.shape), SLICE_LENGTH)) {
        yield;
        // Asked for anew each time: the memory of a WebAssembly backend may have moved.
        const data = dataOf(tensor);
        const options = { epsilon, threshold, ...typeOption(data, tensor.dtype) };
        parts.push(watched(kernels.tensorStats(data.subarray(from, to), options)));
      }
      const units = yield* unitSlices(tensor, request);
      yield;
      const bins =
        histogram === null ? null : histogramOf(inline, dataOf(tensor), tensor.dtype, histogram);
      return ending(parts, (all) => done(summaryOf(mergeTensorStats(all), units, bins)));
    },
  };
}

/** A summary of `after - before`. */
export function changeLater(
  after: TensorRef,
  before: TensorRef,
  { epsilon, threshold, histogram }: ReductionRequest,
  done: (change: ChangeSummary) => void,
): LaterWork {
  return {
    tensors: [after, before],
    *slices(kernels, inline) {
      const parts: (TensorStats | Promise<TensorStats>)[] = [];
      let squares = 0;
      const length = sizeOf(after.shape);
      const sample =
        histogram === null
          ? undefined
          : new ChangeSample(length, histogram.maxValues, dataOf(after));
      for (const [from, to] of spans(length, SLICE_LENGTH)) {
        yield;
        const { update, beforeSquares } = differenceOf(dataOf(after), dataOf(before), from, to);
        squares += beforeSquares;
        sample?.take(update, from);
        parts.push(watched(kernels.tensorStats(update, { epsilon, threshold })));
      }
      yield;
      const bins =
        histogram === null || sample === undefined
          ? null
          : changeHistogram(inline, sample, histogram.bins);
      return ending(parts, (all) =>
        done({
          update: summaryOf(mergeTensorStats(all), null, bins),
          beforeNorm: Math.sqrt(squares),
        }),
      );
    },
  };
}

/** The cosine of the angle between two tensors; null when one is all zero. */
export function cosineLater(
  first: TensorRef,
  second: TensorRef,
  done: (cosine: number | null) => void,
): LaterWork {
  return {
    tensors: [first, second],
    *slices(kernels) {
      const parts: (TensorPairStats | Promise<TensorPairStats>)[] = [];
      for (const [from, to] of spans(sizeOf(first.shape), SLICE_LENGTH)) {
        yield;
        const a = dataOf(first);
        const b = dataOf(second);
        if (!isFloat(a) || !isFloat(b))
          throw new QuarkError('probe_failed', 'A tensor changed its type before it was reduced.');
        parts.push(watched(kernels.tensorPairStats(a.subarray(from, to), b.subarray(from, to))));
      }
      return ending(parts, (all) => done(finiteOrNull(mergeTensorPairStats(all).cosine)));
    },
  };
}

/** Dead units, a slice of whole rows at a time. */
function* unitSlices(
  tensor: TensorRef,
  { unitAxis, epsilon }: ReductionRequest,
): Generator<undefined, Uint8Array | null, undefined> {
  // The bits of half floats are not their values.
  if (unitAxis === null || dataOf(tensor) instanceof Uint16Array) return null;
  const search = new DeadUnitSearch(tensor.shape, unitAxis, epsilon);
  const rows = Math.max(1, Math.floor(SLICE_LENGTH / search.stride));
  for (const [from, to] of spans(sizeOf(tensor.shape), rows * search.stride)) {
    if (!search.isOpen) break;
    yield;
    search.look(dataOf(tensor), from, to);
  }
  return search.found;
}

function ending<P>(
  parts: readonly (P | Promise<P>)[],
  finish: (parts: readonly P[]) => void,
): Ending {
  return {
    now: () =>
      finish(
        parts.map((part) => {
          if (part instanceof Promise) throw new TypeError('an answer that has not come');
          return part;
        }),
      ),
    later: async () => finish(await Promise.all(parts)),
  };
}

/** All answers are waited for in the end; one that fails before is not an unhandled one. */
function watched<P>(part: P | Promise<P>): P | Promise<P> {
  if (part instanceof Promise) part.catch(() => undefined);
  return part;
}

/** @throws {QuarkError} `probe_failed` when a tensor is no longer in host memory */
function dataOf(tensor: TensorRef): TensorData {
  const { data } = tensor;
  if (data === undefined)
    throw new QuarkError('probe_failed', 'A tensor left host memory before it was reduced.');
  return data;
}

/** A reference that lasts: the source's own, or a copy. */
export function retain(tensor: TensorRef, data: TensorData): TensorRef | RetainedTensor {
  return tensor.retain?.() ?? copyOf(tensor, data);
}

/** Gives a reference up. */
export function release(tensor: TensorRef | RetainedTensor): void {
  if ('release' in tensor) tensor.release();
}
