/** From a series to a short robust curve: block medians without spikes, and the lines that fit them. */
import type { SeriesKernel } from '../../kernel/series/series-kernel.ts';
import { NORMAL_MAD_SCALE } from '../../kernel/series/order/order.ts';
import type { FinitePart } from './finite-part.ts';

/** Most points of an epoch-level series: up to here each point counts by itself, unless they are mostly noise. */
export const EPOCH_LEVEL_POINTS = 200;
/**
 * Share of values that are higher, or lower, than both neighbours, from which the noise of a series is larger than its trend from one value to
 * the next: it is 2/3 where there is nothing but noise (Bienaymé 1874), and next to 0 in a smooth curve.
 */
const NOISY_TURNS = 0.5;
/** Up to this many points nothing is smoothed but a lone spike. */
export const POINTWISE_POINTS = 20;
/** Blocks that a longer series is reduced to: one is a fifth of a percent of the run. */
const MAX_BLOCKS = 512;
/** Distance from the median of five blocks, in standard deviations of the noise, at which a block is a spike (Hampel 1974). */
const HAMPEL_LIMIT = 6;
/** Parts of a series whose noise is told apart, and the least number of values of one. */
const NOISE_PARTS = 4;
const LEAST_PART = 12;
/** Lines of a fit: more bends than a person would see in a curve. */
const MAX_BENDS = 40;

/** Medians of consecutive runs of values. */
export type BlockMedians = {
  /** Index of the first value of each block, and one more entry for the end. */
  readonly starts: Uint32Array;
  readonly medians: Float64Array;
};

/** A series as a curve of at most 512 points. All arrays but `lines` have one element a point. */
export type RobustCurve = {
  readonly key: string;
  /**
   * `point`: up to 20 values, `epoch`: up to 200, each a point of the curve; `step`: more, a point is a block of them; or fewer, each a point,
   * where noise is larger than the trend from one to the next.
   */
  readonly regime: 'point' | 'epoch' | 'step';
  /** Position of the first value of each block, ascending. */
  readonly positions: Float64Array;
  /** Finite values in each block. */
  readonly counts: Uint32Array;
  /** Medians of the blocks, spikes of a single block cut off. */
  readonly values: Float64Array;
  /**
   * What thresholds are held against: in the regime `step` the best piecewise linear function through `values`, in `epoch` a moving median of
   * 3 or 5 of them that leaves both ends as they are, in `point` the values.
   */
  readonly fitted: Float64Array;
  /** In the regime `step`, index of the first point of each line after the first; else empty. */
  readonly changes: readonly number[];
  /** Standard deviation of `values` around the fit, robustly; 0 for a curve without noise. */
  readonly noise: number;
};

/**
 * The standard deviation of noise between neighbours: 1.4826 MAD of the first differences, divided by the square root of 2. A trend that is
 * small from one value to the next, level shifts and spikes leave it as it is. NaN for fewer than two values.
 */
export function noiseScale(values: Float64Array, kernel: SeriesKernel): number {
  if (values.length < 2) return Number.NaN;
  const differences = new Float64Array(values.length - 1);
  for (let i = 1; i < values.length; i++)
    differences[i - 1] = (values[i] ?? 0) - (values[i - 1] ?? 0);
  const { mad } = kernel.medianAbsoluteDeviation(differences, { scale: NORMAL_MAD_SCALE });
  return mad / Math.SQRT2;
}

/** Medians of at most `maxBlocks` blocks of equal numbers of values (the last may be shorter). */
export function blockMedians(
  values: Float64Array,
  maxBlocks: number,
  kernel: SeriesKernel,
): BlockMedians {
  const size = Math.max(1, Math.ceil(values.length / maxBlocks));
  const count = Math.ceil(values.length / size);
  const starts = Uint32Array.from({ length: count + 1 }, (_, b) =>
    Math.min(b * size, values.length),
  );
  if (size === 1) return { starts, medians: values.slice() };
  const medians = new Float64Array(count);
  for (let b = 0; b < count; b++)
    medians[b] = kernel.median(values.subarray(b * size, Math.min((b + 1) * size, values.length)));
  return { starts, medians };
}

/** How {@link robustCurve} reads a series. */
export type RobustCurveOptions = {
  /** Whether up and down are alike, as in a difference: spikes are cut either way or not at all, and no logarithm is taken. Default false. */
  readonly isSigned?: boolean;
  /** Whether values may be those of single batches, so that a short series is judged as a step-level one where it is mostly noise. Default false. */
  readonly isOfBatches?: boolean;
};

/** The curve of a series. Multiplying values by a constant multiplies `values`, `fitted` and `noise` and changes nothing else. */
export function robustCurve(
  part: FinitePart,
  kernel: SeriesKernel,
  { isOfBatches = false, isSigned = false }: RobustCurveOptions = {},
): RobustCurve {
  const { key, values, positions } = part;
  const regime =
    values.length <= POINTWISE_POINTS
      ? 'point'
      : values.length <= EPOCH_LEVEL_POINTS &&
          !(isOfBatches && turnsOf(values) >= NOISY_TURNS * (values.length - 2))
        ? 'epoch'
        : 'step';
  const { starts, medians } = blockMedians(values, MAX_BLOCKS, kernel);
  const counts = Uint32Array.from(medians, (_, b) => (starts[b + 1] ?? 0) - (starts[b] ?? 0));
  const at = Float64Array.from(medians, (_, b) => positions[starts[b] ?? 0] ?? Number.NaN);
  if (regime === 'point') {
    const calm = isSigned ? medians : withoutLoneSpikes(medians);
    return {
      key,
      regime,
      positions: at,
      counts,
      values: calm,
      fitted: calm,
      changes: [],
      noise: 0,
    };
  }
  const calm = withoutOutliers(medians, kernel);
  const { fitted, changes } =
    regime === 'epoch'
      ? { fitted: movingMedian(calm, kernel), changes: [] }
      : fitLines(calm, kernel, isSigned);
  const residuals = calm.map((value, i) => value - (fitted[i] ?? 0));
  const { mad } = kernel.medianAbsoluteDeviation(residuals, { scale: NORMAL_MAD_SCALE });
  return { key, regime, positions: at, counts, values: calm, fitted, changes, noise: mad };
}

/** How many values lie above both neighbours, or below both. */
export function turnsOf(values: Float64Array): number {
  let turns = 0;
  for (let i = 1; i + 1 < values.length; i++) {
    const here = values[i] ?? 0;
    const before = values[i - 1] ?? 0;
    const after = values[i + 1] ?? 0;
    if ((here > before && here > after) || (here < before && here < after)) turns++;
  }
  return turns;
}

function movingMedian(values: Float64Array, kernel: SeriesKernel): Float64Array {
  const window = values.length > 60 ? 5 : 3;
  const smooth = kernel.smoothRobust(values, { window });
  // A window that is cut off has its median ahead of the curve.
  for (const end of [0, 1, values.length - 2, values.length - 1])
    if (window === 5 || end === 0 || end === values.length - 1) smooth[end] = values[end] ?? 0;
  return smooth;
}

/**
 * Change points of slope and level, and the lines between them, without regard to how neighbours correlate: a smooth curve is no noise.
 * Of a series above 0 logarithms are fitted, as the noise of a loss shrinks with it. No line leads out of the values around it.
 */
function fitLines(
  values: Float64Array,
  kernel: SeriesKernel,
  isSigned: boolean,
): Pick<RobustCurve, 'fitted' | 'changes'> {
  const isPositive = !isSigned && values.every((value) => value > 0);
  // Of the quotients, so that the unit of the loss does not even show in roundings.
  const unit = isPositive ? kernel.median(values) : 1;
  const scaled = isPositive ? values.map((value) => Math.log(value / unit)) : values;
  const noise = loudestNoise(scaled, kernel);
  const fit = kernel.changePoints(scaled, {
    model: 'slope',
    autocorrelation: 'ignore',
    maxChanges: MAX_BENDS,
    ...(noise > 0 ? { noise } : {}),
  });
  const fitted = new Float64Array(values.length);
  const bounds = [0, ...fit.indices, values.length];
  for (let s = 0; s + 1 < bounds.length; s++) {
    const from = bounds[s] ?? 0;
    for (let i = from; i < (bounds[s + 1] ?? 0); i++) {
      const line = (fit.levels[s] ?? 0) + (fit.slopes[s] ?? 0) * (i - from);
      const around = values.subarray(Math.max(0, i - 2), i + 3);
      fitted[i] = Math.min(
        Math.max(...around),
        Math.max(Math.min(...around), isPositive ? unit * Math.exp(line) : line),
      );
    }
  }
  return { fitted, changes: [...fit.indices] };
}

/**
 * The noise of the loudest part: where some of a series is calm, as before a model begins to learn, the noise of the whole would make
 * bends of what is noise in the rest.
 */
function loudestNoise(values: Float64Array, kernel: SeriesKernel): number {
  const size = Math.max(LEAST_PART, Math.ceil(values.length / NOISE_PARTS));
  let loudest = 0;
  for (let from = 0; from < values.length; from += size) {
    // The last part is as long as the others.
    const start = Math.max(0, Math.min(from, values.length - size));
    const noise = noiseScale(values.subarray(start, start + size), kernel);
    if (noise > loudest) loudest = noise;
  }
  return loudest;
}

/** Points above both neighbours by more than three times what the neighbours differ by, cut down to the higher neighbour. The ends stay. */
function withoutLoneSpikes(values: Float64Array): Float64Array {
  return values.map((value, i) => {
    if (i === 0 || i === values.length - 1) return value;
    const before = values[i - 1] ?? value;
    const after = values[i + 1] ?? value;
    const high = Math.max(before, after);
    const rise = value - high;
    const isLone = rise > 3 * Math.abs(before - after) && rise > 0.1 * Math.abs(high);
    return isLone ? high : value;
  });
}

/** The filter of Hampel with windows of five: what is far from the median of its window becomes that median. */
function withoutOutliers(values: Float64Array, kernel: SeriesKernel): Float64Array {
  const local = kernel.smoothRobust(values, { window: 5 });
  const distances = values.map((value, i) => Math.abs(value - (local[i] ?? value)));
  // At the ends, windows are cut off: the first and last two values are no neighbours of their medians.
  distances.subarray(0, 2).fill(0);
  distances.subarray(-2).fill(0);
  const typical = kernel.median(distances.filter((distance) => distance > 0));
  const limit = HAMPEL_LIMIT * NORMAL_MAD_SCALE * typical;
  return values.map((value, i) => ((distances[i] ?? 0) > limit ? (local[i] ?? value) : value));
}
