/**
 * Distributions: counts of values in bins of magnitude that do not depend on the data, so that those of several steps, layers and
 * processes merge exactly (`mergeHistograms`). Only bins with values are stored.
 */
import { invalidInput } from '../../base/errors.ts';
import type { JsonValue } from '../../base/json.ts';
import type { Histogram, TensorData } from '../../kernel/kernel.ts';
import { histogramEdges } from '../../kernel/tensor/histogram-bins.ts';
import { jsKernel } from '../../kernel/tensor/js-kernel.ts';
import { corrupt, fieldIn, integerIn, listIn, numberIn } from './reading.ts';
import type { MediaMetadata } from './media-shapes.ts';

/** Bins an octave unless asked otherwise: a bin is at most a quarter wider than its lower edge. */
export const DEFAULT_BINS_PER_OCTAVE = 4;
/** More values than a call counts: several calls and `mergeHistograms` count more. */
const MAX_VALUES = 1 << 28;

/** Values of which the distribution is logged. */
export type DistributionValues = TensorData | readonly number[];

/** Counts the values. @throws {QuarkError} `invalid_input` */
export function countDistribution(
  values: unknown,
  binsPerOctave: number,
): {
  readonly payload: JsonValue;
  readonly metadata: MediaMetadata['distribution'];
} {
  const tensor = tensorOf(values);
  const histogram = jsKernel.histogram(tensor, { scale: 'log_magnitude', binsPerOctave });
  const stats = jsKernel.tensorStats(tensor);
  const known = (value: number): number | null => (Number.isFinite(value) ? value : null);
  const { elementCount, max, mean, min, std } = stats;
  return {
    payload: histogramToJson(histogram),
    metadata: {
      elementCount,
      mean: known(mean),
      std: known(std),
      min: known(min),
      max: known(max),
    },
  };
}

function tensorOf(values: unknown): TensorData {
  if (
    values instanceof Float32Array ||
    values instanceof Float64Array ||
    values instanceof Int32Array ||
    values instanceof Uint8Array
  )
    return checkLength(values);
  if (!Array.isArray(values))
    throw invalidInput(
      'values',
      values,
      'a list of numbers, a Float32Array, Float64Array, Int32Array or Uint8Array',
    );
  checkLength(values);
  return Float64Array.from(values, (value: unknown, i) => {
    if (typeof value !== 'number') throw invalidInput(`values[${i}]`, value, 'a number');
    return value;
  });
}

function checkLength<T extends { readonly length: number }>(values: T): T {
  if (values.length > MAX_VALUES)
    throw invalidInput('values.length', values.length, `at most ${MAX_VALUES} values`);
  return values;
}

/** A histogram as JSON: bins with values by their index. */
function histogramToJson(histogram: Histogram): JsonValue {
  const { binsPerOctave, counts, magnitudes } = histogram;
  const filled = [...counts.keys()].filter((bin) => (counts[bin] ?? 0) > 0);
  return {
    scale: histogram.scale,
    min_magnitude: magnitudes?.min ?? 0,
    max_magnitude: magnitudes?.max ?? 0,
    bins_per_octave: binsPerOctave ?? 1,
    bins: filled,
    counts: filled.map((bin) => counts[bin] ?? 0),
    element_count: histogram.elementCount,
    underflow_count: histogram.underflowCount,
    overflow_count: histogram.overflowCount,
    nan_count: histogram.nanCount,
    positive_infinity_count: histogram.positiveInfinityCount,
    negative_infinity_count: histogram.negativeInfinityCount,
    zero_count: histogram.zeroCount,
  };
}

/** @throws {SessionStoreError} `corrupt` */
export function histogramFromJson(payload: unknown): Histogram {
  const min = numberIn(payload, 'min_magnitude');
  const max = numberIn(payload, 'max_magnitude');
  const binsPerOctave = integerIn(payload, 'bins_per_octave', 64);
  const octaves = Math.log2(max) - Math.log2(min);
  if (fieldIn(payload, 'scale') !== 'log_magnitude') throw corrupt('scale');
  if (!Number.isInteger(octaves) || octaves < 1 || octaves > 256 || binsPerOctave < 1)
    throw corrupt('magnitudes');
  const counts = new Float64Array(2 * octaves * binsPerOctave + 1);
  const filled = listIn(payload, 'counts');
  for (const [i, bin] of listIn(payload, 'bins').entries()) {
    const count = filled[i];
    if (typeof bin !== 'number' || !Number.isInteger(bin) || bin < 0 || bin >= counts.length)
      throw corrupt('bins');
    if (typeof count !== 'number' || !Number.isSafeInteger(count) || count < 0)
      throw corrupt('counts');
    counts[bin] = count;
  }
  const count = (name: string): number => integerIn(payload, name, Number.MAX_SAFE_INTEGER);
  const elementCount = count('element_count');
  return {
    scale: 'log_magnitude',
    min: -max,
    max,
    magnitudes: { min, max },
    binsPerOctave,
    counts,
    elementCount,
    sampledCount: elementCount,
    underflowCount: count('underflow_count'),
    overflowCount: count('overflow_count'),
    nanCount: count('nan_count'),
    positiveInfinityCount: count('positive_infinity_count'),
    negativeInfinityCount: count('negative_infinity_count'),
    zeroCount: count('zero_count'),
  };
}

/** Bins with values as rows of left edge, right edge and count: what exporters write. */
export function bucketRows(payload: unknown): number[] {
  const histogram = histogramFromJson(payload);
  const edges = histogramEdges(histogram);
  const rows: number[] = [];
  for (const [bin, count] of histogram.counts.entries())
    if (count > 0) rows.push(edges[bin] ?? 0, edges[bin + 1] ?? 0, count);
  return rows;
}
