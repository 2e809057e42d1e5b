/** The mean of several curves with a band around it: what seeds, or any other group of runs, do to a metric over its axis. */
import { checkLiteral, checkOptionNames, checkPositive } from '../../base/assert.ts';
import { invalidInput } from '../../base/errors.ts';
import { checkConfidenceLevel } from './compare-config.ts';
import { studentQuantile } from '../signals/student-t.ts';

/**
 * What a band is: the confidence interval of the mean (`interval`, of Student), one standard deviation to each side (`deviation`, with
 * n - 1), or from the lowest to the highest curve (`range`).
 */
export const BAND_KINDS = ['interval', 'deviation', 'range'] as const;

/** One of {@link BAND_KINDS}. */
export type BandKind = (typeof BAND_KINDS)[number];

/** A curve on an axis. */
export type CurvePoints = {
  /** Ascending. */
  readonly positions: Float64Array;
  /** As many; what is not finite is left out. */
  readonly values: Float64Array;
};

/** Curves as their mean and a band. All arrays have the same length. */
export type CurveBand = {
  readonly positions: Float64Array;
  readonly mean: Float64Array;
  /** Ends of the band; NaN where fewer than two curves are, unless it is a range. */
  readonly low: Float64Array;
  readonly high: Float64Array;
  /** How many curves there are at each position. */
  readonly counts: Uint32Array;
};

/** Options of {@link bandOfCurves}. */
export type CurveBandOptions = {
  /** What the band is. Default `interval`. */
  readonly kind?: BandKind;
  /** Level of the interval, above 0 and below 1. Default 0.95. */
  readonly confidenceLevel?: number;
  /** Most positions: where the curves have more, values are averaged over as many equal parts of the axis. Default 1000. */
  readonly maxPositions?: number;
};

/**
 * The mean of curves and a band around it. Between two of its points a curve is the straight line; before its first point and after its last
 * one it does not count, so that a run that ended early takes no part in what came later.
 *
 * @throws {QuarkError} `invalid_input` naming the option or the curve
 * @example
 * ```js
 * import { bandOfCurves } from 'quark-sdk/analysis';
 *
 * const positions = Float64Array.of(0, 1, 2);
 * const seeds = [[1, 0.6, 0.4], [1.2, 0.8, 0.6]].map((values) => ({ positions, values: Float64Array.from(values) }));
 * const { mean, low, high, counts } = bandOfCurves(seeds, { kind: 'range' });
 * console.log(low, high, counts); // Float64Array(3) [ 1, 0.6, 0.4 ] Float64Array(3) [ 1.2, 0.8, 0.6 ] Uint32Array(3) [ 2, 2, 2 ]
 * console.log(mean.length); // 3
 * ```
 */
export function bandOfCurves(
  curves: readonly CurvePoints[],
  options: CurveBandOptions = {},
): CurveBand {
  checkOptionNames('options', options, ['kind', 'confidenceLevel', 'maxPositions']);
  const kind = checkLiteral('kind', options.kind ?? 'interval', BAND_KINDS);
  const confidenceLevel = checkConfidenceLevel('confidenceLevel', options.confidenceLevel ?? 0.95);
  const maxPositions = checkPositive('maxPositions', options.maxPositions ?? 1000);
  for (const [i, { positions, values }] of curves.entries())
    if (positions.length !== values.length)
      throw invalidInput(`curves[${i}].values`, values.length, `${positions.length} values`);
  const finite = curves.map(finitePoints);
  const union = unionOf(finite, maxPositions);
  const shown = union ?? gridOf(finite, maxPositions);
  const samples = finite.map((curve) =>
    sampledAt(union === undefined ? averaged(curve, shown) : curve, shown),
  );
  return spread(shown, samples, kind, confidenceLevel);
}

function finitePoints({ positions, values }: CurvePoints): CurvePoints {
  const isFinite = values.every(
    (value, i) => Number.isFinite(value) && Number.isFinite(positions[i]),
  );
  if (isFinite) return { positions, values };
  const rows = [...values.keys()].filter(
    (i) => Number.isFinite(values[i]) && Number.isFinite(positions[i]),
  );
  return {
    positions: Float64Array.from(rows, (row) => positions[row] ?? 0),
    values: Float64Array.from(rows, (row) => values[row] ?? 0),
  };
}

/** Every position of any curve; undefined where there are more than `most`. */
function unionOf(curves: readonly CurvePoints[], most: number): Float64Array | undefined {
  const all = new Set<number>();
  for (const { positions } of curves) {
    if (positions.length > most) return undefined;
    for (const position of positions) all.add(position);
    if (all.size > most) return undefined;
  }
  return Float64Array.from(all).toSorted();
}

/** Middles of equal parts of the axis. */
function gridOf(curves: readonly CurvePoints[], count: number): Float64Array {
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  for (const { positions } of curves) {
    min = Math.min(min, positions[0] ?? min);
    max = Math.max(max, positions.at(-1) ?? max);
  }
  return Float64Array.from({ length: count }, (_, i) => min + ((i + 0.5) * (max - min)) / count);
}

/** A curve with one point, its mean, for each part of the axis that it has points in. */
function averaged({ positions, values }: CurvePoints, grid: Float64Array): CurvePoints {
  const width = (grid[1] ?? Number.POSITIVE_INFINITY) - (grid[0] ?? 0);
  const start = (grid[0] ?? 0) - width / 2;
  const sums = new Float64Array(grid.length);
  const counts = new Uint32Array(grid.length);
  for (const [i, position] of positions.entries()) {
    const part = Math.max(0, Math.min(grid.length - 1, Math.floor((position - start) / width)));
    sums[part] = (sums[part] ?? 0) + (values[i] ?? 0);
    counts[part] = (counts[part] ?? 0) + 1;
  }
  const parts = [...grid.keys()].filter((part) => (counts[part] ?? 0) > 0);
  return {
    positions: Float64Array.from(parts, (part) => grid[part] ?? 0),
    values: Float64Array.from(parts, (part) => (sums[part] ?? 0) / (counts[part] ?? 1)),
  };
}

/** Values of a curve at ascending positions; NaN before its first point and after its last. Of equal positions the last counts. */
function sampledAt({ positions, values }: CurvePoints, at: Float64Array): Float64Array {
  const found = new Float64Array(at.length).fill(Number.NaN);
  let next = 0;
  for (const [i, x] of at.entries()) {
    while (next < positions.length && (positions[next] ?? 0) <= x) next += 1;
    const before = positions[next - 1];
    if (before === undefined) continue;
    const value = values[next - 1] ?? Number.NaN;
    const after = positions[next];
    if (before === x) found[i] = value;
    else if (after !== undefined)
      found[i] = value + ((values[next] ?? 0) - value) * ((x - before) / (after - before));
  }
  return found;
}

function spread(
  positions: Float64Array,
  samples: readonly Float64Array[],
  kind: BandKind,
  confidenceLevel: number,
): CurveBand {
  const [mean, low, high] = [positions, positions, positions].map(({ length }) =>
    new Float64Array(length).fill(Number.NaN),
  );
  const counts = new Uint32Array(positions.length);
  const factors = samples.map((_, i) =>
    kind === 'interval' ? studentQuantile(confidenceLevel, i) / Math.sqrt(i + 1) : 1,
  );
  for (let at = 0; at < positions.length; at += 1) {
    let count = 0;
    let middle = 0;
    let squares = 0;
    let least = Number.POSITIVE_INFINITY;
    let most = Number.NEGATIVE_INFINITY;
    for (const sample of samples) {
      const value = sample[at] ?? Number.NaN;
      if (Number.isNaN(value)) continue;
      count += 1;
      // Welford 1962.
      const before = value - middle;
      middle += before / count;
      squares += before * (value - middle);
      least = Math.min(least, value);
      most = Math.max(most, value);
    }
    counts[at] = count;
    if (count === 0 || mean === undefined || low === undefined || high === undefined) continue;
    mean[at] = middle;
    const half =
      count < 2 ? Number.NaN : (factors[count - 1] ?? 1) * Math.sqrt(squares / (count - 1));
    low[at] = kind === 'range' ? least : middle - half;
    high[at] = kind === 'range' ? most : middle + half;
  }
  const none = new Float64Array(0);
  return { positions, mean: mean ?? none, low: low ?? none, high: high ?? none, counts };
}
