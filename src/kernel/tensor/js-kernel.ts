/**
 * The kernels in plain JavaScript: for engines without SIMD WebAssembly and pages whose policy forbids it, and the oracle of the
 * tests. All sums are float64, in blocks: mean first, then squared deviations around it.
 */
import { widenBfloat16, widenFloat16 } from './half.ts';
import {
  checkHistogramOptions,
  checkPair,
  checkStatsOptions,
  checkTensor,
  checkUnitStatsOptions,
  uniformSettings,
  type StatsSettings,
} from './checks.ts';
import { countValues } from './js-histogram.ts';
import { addUpUnits } from './js-units.ts';
import type {
  Histogram,
  HistogramOptions,
  Kernel,
  PairData,
  TensorData,
  TensorPairStats,
  TensorStats,
  TensorStatsOptions,
  TensorType,
  TensorUnitStats,
  TensorUnitStatsOptions,
  ValueRange,
} from '../kernel.ts';
import {
  PAIR_DIFFERENCE,
  PAIR_DOT,
  PAIR_FINITE,
  PAIR_FIRST,
  PAIR_SECOND,
  PAIR_SLOTS,
  STATS_FINITE,
  STATS_L1,
  STATS_M2,
  STATS_MAX,
  STATS_MEAN,
  STATS_MIN,
  STATS_NAN,
  STATS_NEAR_ZERO,
  STATS_NEGATIVE_INFINITY,
  STATS_ORIGIN,
  STATS_POSITIVE_INFINITY,
  STATS_SATURATED,
  STATS_SLOTS,
  STATS_ZERO,
} from './layout.ts';
import { pairFromSlots, statsFromSlots } from './results.ts';
import { countSample } from './sampling.ts';
import { unitStatsFromTotals } from './unit-results.ts';

const BLOCK = 1024;

/** The plain-JavaScript kernel. */
export const jsKernel: Kernel = {
  kind: 'js',

  tensorStats(tensor: TensorData, options?: TensorStatsOptions): TensorStats {
    const type = checkTensor(tensor, options);
    return jsKernel.uncheckedStats(tensor, type, checkStatsOptions(options));
  },

  uncheckedStats(tensor: TensorData, type: TensorType, settings: StatsSettings): TensorStats {
    const data = widen(tensor, type);
    const slots = new Float64Array(STATS_SLOTS);
    slots[STATS_MIN] = Infinity;
    slots[STATS_MAX] = -Infinity;
    for (let start = 0; start < data.length; start += BLOCK) {
      addBlock(
        slots,
        data,
        start,
        Math.min(start + BLOCK, data.length),
        settings.epsilon,
        settings.threshold ?? Infinity,
      );
    }
    return statsFromSlots(data.length, slots, settings);
  },

  histogram(tensor: TensorData, options?: HistogramOptions): Histogram {
    const type = checkTensor(tensor, options);
    return countSample(tensor, checkHistogramOptions(options), (sample, settings) =>
      countValues(widen(sample, type), settings),
    );
  },

  uncheckedHistogram(
    tensor: TensorData,
    type: TensorType,
    bins: number,
    range: ValueRange,
  ): Histogram {
    return countValues(widen(tensor, type), uniformSettings(bins, range));
  },

  tensorPairStats(first: PairData, second: PairData): TensorPairStats {
    checkPair(first, second);
    const slots = new Float64Array(PAIR_SLOTS);
    for (let start = 0; start < first.length; start += BLOCK)
      addPairs(slots, first, second, start, Math.min(start + BLOCK, first.length));
    return pairFromSlots(first.length, slots);
  },

  tensorUnitStats(tensor: TensorData, options: TensorUnitStatsOptions): TensorUnitStats {
    const data = widen(tensor, checkTensor(tensor, options));
    const settings = checkUnitStatsOptions(tensor, options);
    return unitStatsFromTotals(data.length, addUpUnits(data, settings), settings);
  },
};

function widen(data: TensorData, type: TensorType): TensorData {
  if (type === 'float16') return widenFloat16(data);
  return type === 'bfloat16' ? widenBfloat16(data) : data;
}

function addBlock(
  slots: Float64Array,
  data: TensorData,
  start: number,
  end: number,
  epsilon: number,
  threshold: number,
): void {
  let sum = 0;
  let absolutes = 0;
  let count = 0;
  let low = Infinity;
  let high = -Infinity;
  let zeros = 0;
  let near = 0;
  let saturated = 0;
  for (let i = start; i < end; i++) {
    const x = data[i] ?? 0;
    const size = Math.abs(x);
    if (size < Infinity) {
      count++;
      sum += x;
      absolutes += size;
      if (x < low) low = x;
      if (x > high) high = x;
      if (x === 0) zeros++;
      if (size <= epsilon) near++;
      if (size >= threshold) saturated++;
    } else if (x === Infinity) bump(slots, STATS_POSITIVE_INFINITY, 1);
    else if (x === -Infinity) bump(slots, STATS_NEGATIVE_INFINITY, 1);
    else bump(slots, STATS_NAN, 1);
  }
  if (count === 0) return;
  bump(slots, STATS_L1, absolutes);
  bump(slots, STATS_ZERO, zeros);
  bump(slots, STATS_NEAR_ZERO, near);
  bump(slots, STATS_SATURATED, saturated);
  slots[STATS_MIN] = Math.min(slots[STATS_MIN] ?? Infinity, low);
  slots[STATS_MAX] = Math.max(slots[STATS_MAX] ?? -Infinity, high);
  joinBlock(slots, data, start, end, count, sum / count);
}

function joinBlock(
  slots: Float64Array,
  data: TensorData,
  start: number,
  end: number,
  count: number,
  center: number,
): void {
  let rest = 0;
  let squares = 0;
  for (let i = start; i < end; i++) {
    const deviation = (data[i] ?? 0) - center;
    if (Math.abs(deviation) < Infinity) {
      rest += deviation;
      squares += deviation * deviation;
    }
  }
  const error = rest / count;
  const finite = slots[STATS_FINITE] ?? 0;
  const mean = slots[STATS_MEAN] ?? 0;
  const weight = count / (finite + count);
  if (finite === 0) slots[STATS_ORIGIN] = center;
  const delta = center - (slots[STATS_ORIGIN] ?? 0) + error - mean;
  bump(
    slots,
    STATS_M2,
    Math.max(0, squares - count * error * error) + delta * delta * finite * weight,
  );
  bump(slots, STATS_MEAN, delta * weight);
  bump(slots, STATS_FINITE, count);
}

function addPairs(
  slots: Float64Array,
  first: PairData,
  second: PairData,
  start: number,
  end: number,
): void {
  let count = 0;
  let firsts = 0;
  let seconds = 0;
  let products = 0;
  let differences = 0;
  for (let i = start; i < end; i++) {
    const a = first[i] ?? 0;
    const b = second[i] ?? 0;
    if (!(Math.abs(a) < Infinity && Math.abs(b) < Infinity)) continue;
    count++;
    firsts += a * a;
    seconds += b * b;
    products += a * b;
    differences += (a - b) * (a - b);
  }
  bump(slots, PAIR_FINITE, count);
  bump(slots, PAIR_FIRST, firsts);
  bump(slots, PAIR_SECOND, seconds);
  bump(slots, PAIR_DOT, products);
  bump(slots, PAIR_DIFFERENCE, differences);
}

function bump(counts: Float64Array, index: number, by: number): void {
  counts[index] = (counts[index] ?? 0) + by;
}
