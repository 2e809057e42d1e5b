/** Spikes above and below the local level. The moving medians are the kernel's; the rest is one pass over its results. */
import type { SpikeSettings } from './curve-checks.ts';
import type { MovingMedian } from './curve-median.ts';
import type { Spike } from './curve.ts';

/** 1 / the 0.75 quantile of the normal distribution: its median distance, scaled to a standard deviation. */
const MEDIAN_SCALE = 1.482_602_218_505_602;
/** sqrt(pi / 2): the mean distance of a normal distribution, scaled to its standard deviation. */
const MEAN_SCALE = 1.253_314_137_315_5;

/** Sums of the widest window cannot overflow in this unit. */
const SUM_UNIT = 2 ** -20;

/** What came before each point. */
type Past = {
  readonly level: Float64Array;
  readonly spread: Float64Array;
  /** Finite values in the window. */
  readonly count: Int32Array;
};

export function findSpikes(
  values: Float64Array,
  settings: SpikeSettings,
  movingMedian: MovingMedian,
): readonly Spike[] {
  if (values.length === 0) return [];
  const past = lookBack(values, settings.window, movingMedian);
  const spikes: Spike[] = [];
  for (let i = 0; i < values.length; i++) {
    const sign = beginsAt(values, i, past, settings);
    if (sign === 0) continue;
    const spike = follow(values, i, sign, past, settings);
    spikes.push(spike);
    // The value it recovered with may begin a spike to the other side.
    i = spike.end - 1;
  }
  return spikes;
}

/** 1 where a spike upwards begins, -1 downwards, 0 where none does. */
function beginsAt(values: Float64Array, i: number, past: Past, settings: SpikeSettings): number {
  if ((past.count[i] ?? 0) < settings.minPeriods) return 0;
  const value = values[i] ?? Number.NaN;
  const level = past.level[i] ?? Number.NaN;
  const height = Math.abs(value - level);
  const isSpike =
    Number.isFinite(value) &&
    height > 0 &&
    height >= settings.threshold * (past.spread[i] ?? 0) &&
    height >= settings.minRelativeHeight * Math.abs(level) &&
    height >= settings.minHeight;
  if (!isSpike) return 0;
  const direction = value > level ? 'up' : 'down';
  if (settings.direction !== 'both' && settings.direction !== direction) return 0;
  return direction === 'up' ? 1 : -1;
}

function follow(
  values: Float64Array,
  start: number,
  sign: number,
  past: Past,
  settings: SpikeSettings,
): Spike {
  const level = past.level[start] ?? 0;
  const spread = past.spread[start] ?? 0;
  const heightOf = (i: number): number => sign * ((values[i] ?? 0) - level);
  const recovered = spread > 0 ? settings.recovery * spread : 0.5 * heightOf(start);
  let peak = start;
  let length = 1;
  let end = start + 1;
  let isRecovered = false;
  for (; end < values.length && length < settings.maxLength; end++) {
    if (!Number.isFinite(values[end])) continue;
    const height = heightOf(end);
    if (height <= recovered) {
      isRecovered = true;
      break;
    }
    length += 1;
    if (height > heightOf(peak)) peak = end;
  }
  return {
    direction: sign > 0 ? 'up' : 'down',
    start,
    end,
    peak,
    level,
    spread,
    heightInSpreads: heightOf(peak) / spread,
    isRecovered,
  };
}

/** Level, spread and number of finite values in the window that ends before each point. */
function lookBack(values: Float64Array, window: number, movingMedian: MovingMedian): Past {
  const { length } = values;
  const before = Math.min(window, length) - 1;
  const level = delayed(movingMedian(values, before, 0));
  const distances = values.map((x, i) => Math.abs(x - (level[i] ?? Number.NaN)));
  const spread = delayed(movingMedian(distances, before, 0)).map((x) => MEDIAN_SCALE * x);
  // Where most distances are 0, such as of a series that rarely changes.
  if (spread.includes(0)) {
    const means = meansBefore(distances, window);
    for (let i = 0; i < length; i++) if (spread[i] === 0) spread[i] = MEAN_SCALE * (means[i] ?? 0);
  }
  return { level, spread, count: countsBefore(values, window) };
}

/** Each result one index later: of the window that ends before a point, not with it. */
function delayed(results: Float64Array): Float64Array {
  const late = new Float64Array(results.length).fill(Number.NaN);
  late.set(results.subarray(0, -1), 1);
  return late;
}

function countsBefore(values: Float64Array, window: number): Int32Array {
  const counts = new Int32Array(values.length);
  let count = 0;
  for (let i = 1; i < values.length; i++) {
    if (Number.isFinite(values[i - 1])) count += 1;
    if (i > window && Number.isFinite(values[i - 1 - window])) count -= 1;
    counts[i] = count;
  }
  return counts;
}

/**
 * Means of the finite values in the window before each point, none of which is negative. A window is the end of one block of its length
 * and the beginning of the next, so sums are only ever added to: a huge value leaves nothing behind when it leaves the window.
 */
function meansBefore(values: Float64Array, window: number): Float64Array {
  const { length } = values;
  const counts = countsBefore(values, window);
  const ends = new Float64Array(length + 1);
  for (let i = length - 1; i >= 0; i--) {
    const x = values[i] ?? 0;
    ends[i] =
      (Number.isFinite(x) ? x * SUM_UNIT : 0) + ((i + 1) % window === 0 ? 0 : (ends[i + 1] ?? 0));
  }
  const means = new Float64Array(length).fill(Number.NaN);
  let begin = 0;
  for (let i = 1; i < length; i++) {
    const x = values[i - 1] ?? 0;
    if ((i - 1) % window === 0) begin = 0;
    begin += Number.isFinite(x) ? x * SUM_UNIT : 0;
    const end = i > window && i % window !== 0 ? (ends[i - window] ?? 0) : 0;
    means[i] = (begin + end) / Math.max(1, counts[i] ?? 0) / SUM_UNIT;
  }
  return means;
}
