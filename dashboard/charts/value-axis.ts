/** The linear value axis: its range and its ticks, for values of any size that a double can have. */

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
