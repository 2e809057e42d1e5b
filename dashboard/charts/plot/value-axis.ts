/** The linear value axis: its range and its ticks, for values of any size that a double can have. */

import type { CurveSpread } from './curve-paths.ts';

/** Differences below this share of the values are rounding, not a curve. */
const ROUNDING = 1e-12;
/** Ends of the axis stay below this, so that their difference is a number. */
const LARGEST_END = Number.MAX_VALUE / 4;
/** Ticks are this many digits long at most: what is beyond is rounding. */
const TICK_DIGITS = 12;

const MOST_TICKS = 1000;

/** The axis for values from `min` to `max`, with some room; 0 to 1 where there is nothing to show. */
export function linearRange(min: number | null, max: number | null): [number, number] {
  if (min === null || max === null || !Number.isFinite(min) || !Number.isFinite(max)) return [0, 1];
  const low = inside(min);
  const high = inside(max);
  if (high - low <= Math.max(Math.abs(low), Math.abs(high)) * ROUNDING) {
    const half = Math.abs(low) * 0.1 || 0.5;
    return [low - half, high + half];
  }
  const room = (high - low) * 0.07;
  // The axis of a quantity that is never negative begins at zero: no room below it.
  return [low >= 0 && low - room < 0 ? 0 : low - room, high + room];
}

/** The logarithmic axis for values from `min` to `max`, with some room. */
export function logRange(min: number, max: number): [number, number] {
  if (!(min > 0) || !(max > 0) || !Number.isFinite(max)) return [0.1, 10];
  const room = Math.max((Math.log10(max) - Math.log10(min)) * 0.06, 0.05);
  return [10 ** (Math.log10(min) - room), 10 ** (Math.log10(max) + room)];
}

/** Lowest and highest of all values; of none, `min` is above `max`. */
export function valueExtent(lines: readonly (readonly (number | null | undefined)[])[]): {
  readonly min: number;
  readonly max: number;
} {
  const range = { min: Number.POSITIVE_INFINITY, max: Number.NEGATIVE_INFINITY };
  for (const line of lines)
    for (const value of line) if (typeof value === 'number') widen(range, value);
  return range;
}

/**
 * The extent of lines with the bands around them in a part of the x axis. An interval of two runs may be a hundred times as wide as what they
 * do: a band widens the axis by the extent of the lines to each side at most, and goes on beyond it.
 */
export function withSpreads(
  lines: { readonly min: number; readonly max: number },
  spreads: readonly CurveSpread[],
  within: { readonly min: number; readonly max: number },
): { readonly min: number; readonly max: number } {
  const room = Math.max(lines.max - lines.min, Math.abs(lines.max) * 0.05);
  const range = { ...lines };
  for (const { high, low, positions } of spreads)
    for (const [at, position] of positions.entries()) {
      if (position < within.min || position > within.max) continue;
      widen(range, Math.max(low[at] ?? Number.NaN, lines.min - room));
      widen(range, Math.min(high[at] ?? Number.NaN, lines.max + room));
    }
  return range;
}

function inside(value: number): number {
  return Math.max(-LARGEST_END, Math.min(LARGEST_END, value));
}

/** Distances that ticks between `min` and `max` may have, ascending: 1, 2, 2.5 and 5 times a power of ten. */
export function tickIncrements(min: number, max: number): number[] {
  const power = Math.floor(Math.log10(max - min));
  if (!Number.isFinite(power)) return [1];
  const increments: number[] = [];
  for (let at = power - 3; at <= power + 1; at += 1)
    for (const digits of ['1', '2', '2.5', '5']) increments.push(Number(`${digits}e${at}`));
  return increments.filter((increment) => increment > 0 && Number.isFinite(increment));
}

/** The multiples of `increment` from `min` to `max`. */
export function ticksBetween(min: number, max: number, increment: number): number[] {
  const first = Math.ceil(min / increment);
  const count = Math.floor(max / increment) - first + 1;
  // An axis has room for some ten; more than these would be a mistake in the increment.
  if (!(increment > 0) || !(count > 0 && count <= MOST_TICKS)) return [];
  return Array.from({ length: count }, (_, at) =>
    first + at === 0 ? 0 : Number(((first + at) * increment).toPrecision(TICK_DIGITS)),
  );
}

/** How far beyond the middle half of the values a value is an outlier, in widths of that half: Tukey's "far out". */
const FAR_OUT = 3;
/** Values that are looked at of each curve, so that a long curve has no more weight than a short one. */
const VALUES_OF_A_CURVE = 200;

/** Lowest and highest value that is no outlier, and those of all values. */
export type InnerRange = {
  readonly min: number;
  readonly max: number;
  readonly lowest: number;
  readonly highest: number;
};

/**
 * The range without outliers: values that are further than {@link FAR_OUT} widths of the middle half of all values away from it. Each
 * curve counts alike. On a logarithmic axis distances are those of logarithms. Undefined where no value is an outlier.
 */
export function innerRange(
  curves: readonly (readonly (number | null | undefined)[])[],
  isLog: boolean,
): InnerRange | undefined {
  const scaled = (value: number): number => (isLog ? Math.log(value) : value);
  const drawn = curves.map((curve) => curve.filter((value) => typeof value === 'number'));
  const seen = drawn.flatMap((values) => {
    const every = Math.max(1, values.length / VALUES_OF_A_CURVE);
    const count = Math.min(values.length, VALUES_OF_A_CURVE);
    const repeats = Math.max(1, Math.floor(VALUES_OF_A_CURVE / Math.max(1, count)));
    const some = Array.from({ length: count }, (_, at) =>
      scaled(values[Math.floor(at * every)] ?? 0),
    );
    return Array.from({ length: repeats }, () => some).flat();
  });
  seen.sort((a, b) => a - b);
  const quarter = seen[Math.floor(seen.length / 4)];
  const threeQuarters = seen[Math.floor((seen.length * 3) / 4)];
  if (quarter === undefined || threeQuarters === undefined || threeQuarters <= quarter)
    return undefined;
  const room = FAR_OUT * (threeQuarters - quarter);
  const all = { min: Number.POSITIVE_INFINITY, max: Number.NEGATIVE_INFINITY };
  const inner = { min: Number.POSITIVE_INFINITY, max: Number.NEGATIVE_INFINITY };
  for (const value of drawn.flat()) {
    widen(all, value);
    const at = scaled(value);
    if (at >= quarter - room && at <= threeQuarters + room) widen(inner, value);
  }
  if (inner.min > inner.max || (inner.min === all.min && inner.max === all.max)) return undefined;
  return { ...inner, lowest: all.min, highest: all.max };
}

function widen(range: { min: number; max: number }, value: number): void {
  if (value < range.min) range.min = value;
  if (value > range.max) range.max = value;
}
