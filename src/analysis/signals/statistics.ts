/** Small statistics that rules share. */
import { NORMAL_MAD_SCALE } from '../../kernel/series/order/order.ts';
import { medianInPlace } from './quickselect.ts';

/** The median of the finite values; NaN without one. The values stay as they are. */
export function median(values: ArrayLike<number>): number {
  const kept = finiteCopy(values);
  return medianInPlace(kept);
}

/** A robust standard deviation of the finite values: 1.4826 times the median distance from the median. */
export function robustDeviation(values: ArrayLike<number>): number {
  const kept = finiteCopy(values);
  const center = medianInPlace(kept);
  for (let i = 0; i < kept.length; i++) kept[i] = Math.abs((kept[i] ?? 0) - center);
  return NORMAL_MAD_SCALE * medianInPlace(kept);
}

function finiteCopy(values: ArrayLike<number>): Float64Array {
  const kept = new Float64Array(values.length);
  let count = 0;
  for (let i = 0; i < values.length; i++) {
    const value = values[i] ?? Number.NaN;
    if (value - value === 0) kept[count++] = value;
  }
  return kept.subarray(0, count);
}

/** Of a long series every n-th row, so that at most `max` are left: enough for a median, whatever the length. */
export function sampleRows(length: number, max: number): Int32Array {
  const count = Math.min(length, max);
  const rows = new Int32Array(count);
  for (let i = 0; i < count; i++) rows[i] = Math.floor((i * length) / count);
  return rows;
}

/**
 * The Mann-Kendall statistic of a series in its order (Mann, 1945): positive where later values are larger, in standard
 * deviations of what chance makes. Quadratic: for at most a few hundred values.
 */
export function trendScore(values: ArrayLike<number>): number {
  const { length } = values;
  if (length < 4) return 0;
  let s = 0;
  for (let i = 1; i < length; i++)
    for (let j = 0; j < i; j++) s += Math.sign((values[i] ?? 0) - (values[j] ?? 0));
  const deviation = Math.sqrt((length * (length - 1) * (2 * length + 5)) / 18);
  return (s - Math.sign(s)) / deviation;
}

/** The longest run of rows for which `isTrue` holds; `length` 0 when there is none. Of equals the first. */
export function longestRun(
  length: number,
  isTrue: (row: number) => boolean,
): { readonly start: number; readonly length: number } {
  let best = { start: 0, length: 0 };
  let start = 0;
  for (let row = 0; row <= length; row++) {
    if (row < length && isTrue(row)) continue;
    if (row - start > best.length) best = { start, length: row - start };
    start = row + 1;
  }
  return best;
}

/** How many rows at the end `isTrue` holds for, without a gap. */
export function trailingRun(length: number, isTrue: (row: number) => boolean): number {
  let count = 0;
  while (count < length && isTrue(length - 1 - count)) count++;
  return count;
}
