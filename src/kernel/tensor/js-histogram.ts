/** Histograms in plain JavaScript, count for count those of the WebAssembly kernel. */
import { rangeAround, type HistogramSettings, type LogSettings } from './checks.ts';
import { binCount, histogramFromCells, logShape } from './histogram-bins.ts';
import type { Histogram, TensorData, ValueRange } from '../kernel.ts';
import {
  HISTOGRAM_EXTRA_CELLS,
  HISTOGRAM_NAN,
  HISTOGRAM_NEGATIVE_INFINITY,
  HISTOGRAM_POSITIVE_INFINITY,
  HISTOGRAM_SLOTS,
  HISTOGRAM_ZERO,
} from './layout.ts';

/** The histogram of all of `data`. */
export function countValues(data: TensorData, settings: HistogramSettings): Histogram {
  const cells = new Float64Array(binCount(settings) + HISTOGRAM_EXTRA_CELLS);
  const beside = new Float64Array(HISTOGRAM_SLOTS);
  if (settings.scale === 'log_magnitude') {
    countMagnitudes(cells, beside, data, settings);
    return histogramFromCells(data.length, cells, beside, settings);
  }
  const range = settings.range ?? findRange(data);
  countUniform(cells, beside, data, range, settings.bins);
  return histogramFromCells(data.length, cells, beside, { ...settings, range });
}

function findRange(data: TensorData): ValueRange {
  let low = Infinity;
  let high = -Infinity;
  for (let i = 0; i < data.length; i++) {
    const x = data[i] ?? 0;
    if (x < low && x !== -Infinity) low = x;
    if (x > high && x !== Infinity) high = x;
  }
  return rangeAround(low, high);
}

function countUniform(
  cells: Float64Array,
  beside: Float64Array,
  data: TensorData,
  { min, max }: ValueRange,
  bins: number,
): void {
  const scale = bins / (max - min);
  const top = bins - 1;
  for (let i = 0; i < data.length; i++) {
    const x = data[i] ?? 0;
    if (x === 0) bump(beside, HISTOGRAM_ZERO);
    if (x >= min && x <= max) bump(cells, Math.trunc(Math.min(top, (x - min) * scale)) + 1);
    else if (!isFinite(x)) bump(beside, besideOf(x));
    else bump(cells, x < min ? 0 : bins + 1);
  }
}

const FRACTION_BITS = 20;
const BIAS = 1023;

/** The bits of |x| below the sign are exponent and fraction, so their upper part is the bin (see assembly/histogram-log.ts). */
function countMagnitudes(
  cells: Float64Array,
  beside: Float64Array,
  data: TensorData,
  settings: LogSettings,
): void {
  const { first, steps, side } = logShape(settings);
  const shift = FRACTION_BITS - steps;
  const below = ((first + BIAS) << steps) - 1;
  const middle = side + 1;
  const largest = settings.magnitudes.max;
  const size = new Float64Array(1);
  const words = new Int32Array(size.buffer);
  for (let i = 0; i < data.length; i++) {
    const x = data[i] ?? 0;
    if (!isFinite(x)) {
      bump(beside, besideOf(x));
      continue;
    }
    if (x === 0) bump(beside, HISTOGRAM_ZERO);
    size[0] = Math.abs(x);
    const upper = words[1] ?? 0;
    let distance = (upper >> shift) - below;
    const isPower = x < 0 && words[0] === 0 && (upper & ((1 << shift) - 1)) === 0;
    // An edge belongs to the bin above it, but for the largest.
    if (isPower || x === largest) distance -= 1;
    distance = Math.max(0, Math.min(side + 1, distance));
    bump(cells, x < 0 ? middle - distance : middle + distance);
  }
}

function isFinite(x: number): boolean {
  return Math.abs(x) < Infinity;
}

function besideOf(x: number): number {
  if (x === Infinity) return HISTOGRAM_POSITIVE_INFINITY;
  return x === -Infinity ? HISTOGRAM_NEGATIVE_INFINITY : HISTOGRAM_NAN;
}

function bump(counts: Float64Array, index: number): void {
  counts[index] = (counts[index] ?? 0) + 1;
}
