/** From values to bins. */
import { invalidInput } from '../base/errors.ts';
import type { Distribution, TrackedBins } from './tracker.ts';

const BINS = 64;

/** Counts values, or checks bins that were counted. @throws {QuarkError} `invalid_input` */
export function countBins(given: Distribution): TrackedBins {
  if (typeof given !== 'object' || given === null) throw notDistribution(given);
  if ('bins' in given) return checkBins(given.bins, given.counts);
  if (!('length' in given) || typeof given.length !== 'number') throw notDistribution(given);
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < given.length; i++) {
    const value = given[i];
    if (typeof value !== 'number') throw invalidInput(`values[${i}]`, value, 'a number');
    if (!Number.isFinite(value)) continue;
    if (value < min) min = value;
    if (value > max) max = value;
  }
  if (min > max) return { bins: [0, 1], counts: [0] };
  if (min === max) return countOne(given, min);
  return countMany(given, min, max);
}

function countOne(values: ArrayLike<number>, value: number): TrackedBins {
  const count = Array.from(values).filter(Number.isFinite).length;
  const width = Math.max(Math.abs(value) * 2 ** -20, 2 ** -20);
  const { MAX_VALUE } = Number;
  const bins = [Math.max(-MAX_VALUE, value - width), Math.min(MAX_VALUE, value + width)];
  return { bins, counts: [count] };
}

function countMany(values: ArrayLike<number>, min: number, max: number): TrackedBins {
  // Halves: the difference of two finite numbers may be infinite.
  const half = max / 2 - min / 2;
  const edgeAt = (i: number): number => (i === BINS ? max : min + 2 * half * (i / BINS));
  const bins = Array.from({ length: BINS + 1 }, (_, i) => edgeAt(i));
  const isAscending = bins.every((edge, i) => i === 0 || edge > (bins[i - 1] ?? 0));
  if (!isAscending || !bins.every(Number.isFinite)) return countTwo(values, min, max);
  const counts: number[] = Array.from({ length: BINS }, () => 0);
  for (let i = 0; i < values.length; i++) {
    const value = values[i] ?? Number.NaN;
    if (!Number.isFinite(value)) continue;
    let bin = Math.min(BINS - 1, Math.floor(((value / 2 - min / 2) / half) * BINS));
    // Rounding may be off by one bin.
    if (value < (bins[bin] ?? 0)) bin--;
    else if (bin < BINS - 1 && value >= (bins[bin + 1] ?? 0)) bin++;
    counts[bin] = (counts[bin] ?? 0) + 1;
  }
  return { bins, counts };
}

/** Values that lie too close to each other, or too far apart, for 64 bins. */
function countTwo(values: ArrayLike<number>, min: number, max: number): TrackedBins {
  const middle = min / 2 + max / 2;
  const finite = Array.from(values).filter(Number.isFinite);
  if (!(middle > min && middle < max)) return { bins: [min, max], counts: [finite.length] };
  const below = finite.filter((value) => value < middle).length;
  return { bins: [min, middle, max], counts: [below, finite.length - below] };
}

function checkBins(bins: ArrayLike<number>, counts: ArrayLike<number>): TrackedBins {
  if (typeof counts !== 'object' || counts === null || typeof counts.length !== 'number')
    throw invalidInput('counts', counts, 'a list of numbers');
  if (typeof bins !== 'object' || bins === null || bins.length !== counts.length + 1)
    throw invalidInput('bins.length', bins?.length, `${counts.length + 1}, one more than counts`);
  const edges = Array.from(bins);
  edges.forEach((edge, i) => {
    if (!Number.isFinite(edge) || (i > 0 && edge <= (edges[i - 1] ?? 0)))
      throw invalidInput(`bins[${i}]`, edge, 'a finite number above the edge before it');
  });
  const numbers = Array.from(counts);
  numbers.forEach((count, i) => {
    if (!Number.isFinite(count) || count < 0)
      throw invalidInput(`counts[${i}]`, count, 'a finite number, 0 or more');
  });
  return { bins: edges, counts: numbers };
}

function notDistribution(value: unknown): Error {
  return invalidInput('values', value, 'a list of numbers, or { bins, counts }');
}
