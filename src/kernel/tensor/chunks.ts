/** Parts of tensors on their way to a worker, what they cost, and what comes back. */
import type { Room } from '../workers/dispatch.ts';
import type { KernelCall, KernelResult, TensorJob } from './calls.ts';
import type {
  Histogram,
  TensorPairStats,
  TensorStats,
  TensorType,
  TensorUnitStats,
} from '../kernel.ts';

/** A part of a tensor on its way to a worker. */
export type Chunk = {
  readonly view: TensorJob['view'];
  readonly room: Room;
  /** Copies it into its room, before the first call about it: workers are at the first chunk while the second is being copied. */
  fill?: (() => void) | undefined;
};

/** Runs one call on every chunk. */
export type RunChunks = (call: KernelCall) => Promise<readonly KernelResult[]>;

/** Statistics of one element take as long as those of so many bytes of float32 (measured by bench/kernels.mjs). */
export const STATS_ELEMENT_BYTES: Readonly<Record<TensorType, number>> = {
  float32: 4,
  float64: 14,
  int32: 10,
  uint8: 3,
  float16: 6,
  bfloat16: 6,
};
/** The same of the histogram of one element, of any type. */
export const HISTOGRAM_ELEMENT_BYTES = 20;
/** The same of the statistics of units, of one element. */
export const UNIT_ELEMENT_BYTES = 10;

/** The same of the comparison of two elements. */
export const PAIR_ELEMENT_BYTES = 16;

export function isTensorStats(result: KernelResult): result is TensorStats {
  return 'variance' in result;
}

export function isHistogram(result: KernelResult): result is Histogram {
  return 'counts' in result;
}

export function isTensorUnitStats(result: KernelResult): result is TensorUnitStats {
  return 'deadUnitCount' in result;
}

export function isTensorPairStats(result: KernelResult): result is TensorPairStats {
  return 'cosine' in result;
}
