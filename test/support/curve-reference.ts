/** What the curve kernels are held against: the definitions, written down without regard to time. */
import type {
  AlignedSeries,
  AlignOptions,
  Spike,
  SpikeOptions,
  SteppedSeries,
} from '../../src/kernel/series/curve/curve.ts';
import { exactly } from './hard-series.ts';
import { exactSum } from './kernel-reference.ts';

/** Weighted means of the finite values up to each point. Values may be of any size. */
export function weightedMeans(
  values: Float64Array,
  weightOf: (from: number, to: number) => number,
  isCounted: (i: number) => boolean,
): Float64Array {
  const known = [...values.keys()].filter((i) => isCounted(i));
  const first = values[known[0] ?? 0] ?? 0;
  const most = known.reduce((size, i) => Math.max(size, Math.abs(values[i] ?? 0)), 0);
  // In small units where sums of differences would not be finite else.
  const unit = most > 1e290 ? 2 ** 40 : 1;
  return values.map((_, n) => {
    if (!isCounted(n)) return Number.NaN;
    const past = known.filter((i) => i <= n);
    const weights = past.map((i) => weightOf(i, n));
    const terms = past.map((i, k) => ((values[i] ?? 0) / unit - first / unit) * (weights[k] ?? 0));
    const result = (first / unit + exactSum(terms) / exactSum(weights)) * unit;
    return Math.max(-Number.MAX_VALUE, Math.min(result, Number.MAX_VALUE));
  });
}

/** Half the sum of the two middle values, rounded once; NaN for none. */
export function medianOfFinite(values: Iterable<number>): number {
  const sorted = [...values].filter((x) => Number.isFinite(x)).sort((a, b) => a - b);
  const high = sorted[sorted.length >> 1] ?? Number.NaN;
  if (sorted.length % 2 === 1) return high + 0;
  const low = sorted[(sorted.length >> 1) - 1] ?? Number.NaN;
  return (Number.isFinite(low + high) ? (low + high) / 2 : low / 2 + high / 2) + 0;
}

/** A fraction with a positive denominator. */
export type Fraction = readonly [over: bigint, under: bigint];

/** The slopes of all pairs at different positions, exactly, ascending. */
export function exactSlopes(x: Float64Array, y: Float64Array): Fraction[] {
  const slopes: Fraction[] = [];
  for (let i = 0; i < x.length; i++) {
    for (let j = 0; j < i; j++) {
      const run = exactly(x[i] ?? 0) - exactly(x[j] ?? 0);
      const rise = exactly(y[i] ?? 0) - exactly(y[j] ?? 0);
      if (run !== 0n) slopes.push(run > 0n ? [rise, run] : [-rise, -run]);
    }
  }
  return slopes.sort(([a, b], [c, d]) => {
    const difference = a * d - c * b;
    return difference < 0n ? -1 : difference > 0n ? 1 : 0;
  });
}

/** How far `found` is from a fraction, in units of 2^-1074 times the denominator. */
export function errorOf(found: number, [over, under]: Fraction): bigint {
  const error = exactly(found) * under - (over << 1074n);
  return error < 0n ? -error : error;
}

/** The distance to the next float64 away from 0, in units of 2^-1074. */
export function unitInLastPlace(value: number): bigint {
  const bits = new BigInt64Array(Float64Array.of(Math.abs(value)).buffer);
  const next = new Float64Array(BigInt64Array.of((bits[0] ?? 0n) + 1n).buffer)[0] ?? 0;
  return exactly(next) - exactly(Math.abs(value));
}

/** The median of the slopes as float64 division gives them. */
export function medianSlope(x: Float64Array, y: Float64Array): number {
  const slopes: number[] = [];
  for (let i = 0; i < x.length; i++)
    for (let j = 0; j < i; j++)
      if (x[i] !== x[j]) slopes.push(((y[i] ?? 0) - (y[j] ?? 0)) / ((x[i] ?? 0) - (x[j] ?? 0)));
  return medianOfFinite(slopes);
}

/** Spikes by the text of CurveKernel.spikes, each window looked at anew. */
export function spikesOf(values: Float64Array, options: Required<SpikeOptions>): Spike[] {
  const windowOf = (series: Float64Array, i: number): Float64Array =>
    series.slice(Math.max(0, i - options.window), i).filter((x) => Number.isFinite(x));
  const levels = values.map((_, i) => medianOfFinite(windowOf(values, i)));
  const distances = values.map((x, i) => Math.abs(x - (levels[i] ?? Number.NaN)));
  const spreadAt = (i: number): number => {
    const window = windowOf(distances, i);
    const spread = 1.482_602_218_505_602 * medianOfFinite(window);
    if (spread !== 0) return spread;
    return (
      Math.sqrt(Math.PI / 2) * (exactSum(window.map((x) => x / 2 ** 20)) / window.length) * 2 ** 20
    );
  };
  const spikes: Spike[] = [];
  for (let i = 0; i < values.length; i++) {
    const [value, level, spread] = [values[i] ?? 0, levels[i] ?? 0, spreadAt(i)];
    const sign = value > level ? 1 : -1;
    const height = sign * (value - level);
    const isWanted =
      options.direction === 'both' || options.direction === (sign > 0 ? 'up' : 'down');
    const isHigh =
      height >= options.threshold * spread &&
      height >= options.minRelativeHeight * Math.abs(level) &&
      height >= options.minHeight &&
      height > 0;
    const isKnown = windowOf(values, i).length >= options.minPeriods;
    if (!isWanted || !isHigh || !isKnown || !Number.isFinite(value)) continue;
    const heightOf = (k: number): number => sign * ((values[k] ?? 0) - level);
    const back = spread > 0 ? options.recovery * spread : height / 2;
    const followers = [...values.keys()].slice(i + 1).filter((k) => Number.isFinite(values[k]));
    const recovery = followers.findIndex((k) => heightOf(k) <= back);
    const isRecovered = recovery >= 0 && recovery < options.maxLength - 1;
    const inside = [i, ...followers.slice(0, isRecovered ? recovery : options.maxLength - 1)];
    const highest = Math.max(...inside.map((k) => heightOf(k)));
    const last = inside.at(-1) ?? i;
    // What did not come back is followed to its last value, or over the gaps to the end of the series.
    const isCut = inside.length === options.maxLength;
    const end = isRecovered ? (followers[recovery] ?? 0) : isCut ? last + 1 : values.length;
    spikes.push({
      direction: sign > 0 ? 'up' : 'down',
      start: i,
      end,
      peak: inside.find((k) => heightOf(k) === highest) ?? i,
      level,
      spread,
      heightInSpreads: highest / spread,
      isRecovered,
    });
    i = end - 1;
  }
  return spikes;
}

/** Two series on one axis, by looking everything up. */
export function alignedOf(
  first: SteppedSeries,
  second: SteppedSeries,
  { join = 'inner', fill = 'none', tolerance = Infinity }: AlignOptions,
): AlignedSeries {
  const points = ({ steps, values }: SteppedSeries): Map<number, number> => {
    const found = new Map<number, number>();
    for (let i = 0; i < steps.length; i++)
      if (Number.isFinite(steps[i]) && Number.isFinite(values[i]))
        found.set((steps[i] ?? 0) + 0, i);
    return found;
  };
  const [one, two] = [points(first), points(second)];
  const axis = [...new Set([...one.keys(), ...two.keys()])]
    .filter((step) => join === 'outer' || one.has(step))
    .filter((step) => join !== 'inner' || two.has(step))
    .sort((a, b) => a - b);
  const lookUp = (of: Map<number, number>, step: number): number => {
    const exact = of.get(step);
    if (exact !== undefined || fill === 'none') return exact ?? -1;
    const near = [...of.keys()]
      .filter((other) => fill === 'nearest' || other < step)
      .filter((other) => Math.abs(other - step) <= tolerance)
      .sort((a, b) => Math.abs(a - step) - Math.abs(b - step) || a - b);
    return near[0] === undefined ? -1 : (of.get(near[0]) ?? -1);
  };
  const firstIndex = Int32Array.from(axis, (step) => lookUp(one, step));
  const secondIndex = Int32Array.from(axis, (step) => lookUp(two, step));
  return {
    steps: Float64Array.from(axis),
    first: Float64Array.from(firstIndex, (i) => first.values[i] ?? Number.NaN),
    second: Float64Array.from(secondIndex, (i) => second.values[i] ?? Number.NaN),
    firstIndex,
    secondIndex,
  };
}
