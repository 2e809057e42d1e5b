/** Moving median in plain JavaScript: ranks of all values in a Fenwick tree (1994), which finds the k-th of those present. */
import type { RobustSettings } from './curve-checks.ts';
import { isSorted } from './curve-order.ts';

/** A moving median with the gaps as they come: at a skipped value, the median of its window. */
export type MovingMedian = (
  values: Float64Array,
  before: number,
  after: number,
) => Float64Array<ArrayBuffer>;

/** The medians, with NaN at the gaps of the series unless they are to be filled. */
export function smoothRobustly(
  values: Float64Array,
  { before, after, fillGaps }: RobustSettings,
  movingMedian: MovingMedian,
): Float64Array<ArrayBuffer> {
  const most = Math.max(0, values.length - 1);
  const medians = movingMedian(values, Math.min(before, most), Math.min(after, most));
  if (!fillGaps)
    for (let i = 0; i < values.length; i++)
      if (!Number.isFinite(values[i])) medians[i] = Number.NaN;
  return medians;
}

/** O(n log n). */
export const jsMovingMedian: MovingMedian = (values, before, after) => {
  const results = new Float64Array(values.length);
  const sorted = values.filter((x) => Number.isFinite(x)).sort();
  const ranks = ranksOf(values, sorted);
  const tree = new Int32Array(sorted.length + 1);
  const top = 2 ** Math.floor(Math.log2(Math.max(1, sorted.length)));
  const add = (i: number, by: number): number => {
    const rank = ranks[i] ?? 0;
    if (rank === 0) return 0;
    for (let at = rank; at < tree.length; at += at & -at) tree[at] = (tree[at] ?? 0) + by;
    return by;
  };
  const find = (k: number): number => {
    let at = 0;
    let left = k;
    for (let step = top; step > 0; step >>>= 1) {
      const count = tree[at + step];
      if (count !== undefined && count <= left) {
        at += step;
        left -= count;
      }
    }
    return sorted[at] ?? Number.NaN;
  };
  let present = 0;
  for (let i = 0; i < Math.min(after, values.length); i++) present += add(i, 1);
  for (let i = 0; i < values.length; i++) {
    if (i + after < values.length) present += add(i + after, 1);
    if (i - before > 0) present += add(i - before - 1, -1);
    results[i] = present === 0 ? Number.NaN : middleOf(find, present);
  }
  return results;
};

function middleOf(find: (k: number) => number, count: number): number {
  const high = find(count >>> 1);
  // Adding 0 turns -0 into 0: which of two equal zeros is found depends on the way.
  if (count % 2 === 1) return high + 0;
  const low = find((count >>> 1) - 1);
  const sum = low + high;
  return (Number.isFinite(sum) ? 0.5 * sum : 0.5 * low + 0.5 * high) + 0;
}

/** Median of finite values, which it puts in order; NaN for none. */
export function medianOf(values: Float64Array): number {
  if (!isSorted(values)) values.sort();
  return values.length === 0 ? Number.NaN : middleOf((k) => values[k] ?? Number.NaN, values.length);
}

/** For each value its rank in `sorted`, counted from 1, no two alike; 0 for what is not finite. */
function ranksOf(values: Float64Array, sorted: Float64Array): Int32Array {
  const taken = new Int32Array(sorted.length);
  return Int32Array.from(values, (x) => {
    if (!Number.isFinite(x)) return 0;
    let low = 0;
    let high = sorted.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((sorted[middle] ?? 0) < x) low = middle + 1;
      else high = middle;
    }
    const before = taken[low] ?? 0;
    taken[low] = before + 1;
    return low + before + 1;
  });
}
