/** Numbers within sentences. */

/** A number with three digits. */
export function say(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (size >= 1e9 || (size > 0 && size < 1e-3)) return value.toExponential(1);
  return String(Number(value.toPrecision(3)));
}

/**
 * The lowest and the highest of the finite values from one row to another, with three digits: rounded outwards, so that what is said of
 * the span is so at every point of it.
 */
export function rangeWithin(
  values: Float64Array,
  [first, last]: readonly [first: number, last: number],
): { readonly low: number; readonly high: number } {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let row = first; row <= last; row++) {
    const value = values[row] ?? Number.NaN;
    if (value - value !== 0) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return { low: outwards(low, -1), high: outwards(high, 1) };
}

/** The nearest number that {@link say} says exactly, below or above the value. */
function outwards(value: number, towards: -1 | 1): number {
  if (value === 0 || !Number.isFinite(value) || Number(say(value)) === value) return value;
  const size = Math.abs(value);
  const digits = size >= 1e9 || size < 1e-3 ? 2 : 3;
  const unit = 10 ** (Math.floor(Math.log10(size)) + 1 - digits);
  let rounded = Number(say(value));
  while (towards < 0 ? rounded > value : rounded < value)
    rounded = Number(say(rounded + towards * unit));
  return rounded;
}

/** Two numbers as the ends of a range. */
export function sayRange({ low, high }: { readonly low: number; readonly high: number }): string {
  return `between ${say(low)} and ${say(high)}`;
}

/** A share as a percentage. */
export function sayShare(value: number): string {
  return `${say(value * 100)} %`;
}

/** Other layers that are affected, too. */
export function sayOthers(count: number): string {
  return count === 1 ? 'one other layer' : `${count} other layers`;
}

/** The first names of a list, and how many more there are. */
export function sayNames(names: readonly string[], most: number): string {
  const more = names.length - most;
  return `${names.slice(0, most).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** A part of a sentence that is there on a condition. */
export function when(isSo: boolean, part: string): string {
  return isSo ? part : '';
}

/** An option of the command line with its value, quoted where the shell needs that. */
export function sayOption(option: string, value: string): string {
  return `${option} ${/^[\w./:@%+-]+$/u.test(value) ? value : `'${value.replaceAll("'", String.raw`'\''`)}'`}`;
}
