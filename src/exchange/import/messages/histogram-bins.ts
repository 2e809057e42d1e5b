/** Histograms of other tools as what a histogram artifact holds: ascending edges, and a count between each two. */
import type { JsonObject } from '../../../base/json.ts';

/** Intervals `[left, right]` with their counts, in ascending order. */
export type Interval = readonly [left: number, right: number, count: number];

/**
 * Edges and counts of intervals. Gaps become empty bins; intervals without width are put into the bin beside them. Null when there is
 * nothing to count, or a number makes no sense.
 */
export function binsOf(intervals: readonly Interval[]): JsonObject | null {
  const bins: number[] = [];
  const counts: number[] = [];
  let waiting = 0;
  for (const [left, right, count] of intervals) {
    if (!Number.isFinite(left) || !Number.isFinite(right) || !Number.isFinite(count)) return null;
    if (count < 0 || right < left) return null;
    const last = bins.at(-1);
    if (last === undefined) {
      if (right > left) {
        bins.push(left, right);
        counts.push(count + waiting);
        waiting = 0;
      } else waiting += count;
      continue;
    }
    if (left > last && count > 0 && right > left) {
      bins.push(left);
      counts.push(0);
    }
    if (right > (bins.at(-1) ?? last)) {
      bins.push(right);
      counts.push(count);
    } else counts[counts.length - 1] = (counts.at(-1) ?? 0) + count;
  }
  if (bins.length > 0) return { bins, counts };
  const [only] = intervals;
  if (only === undefined) return null;
  // All values are the same: a bin of the width that TensorBoard gives such data.
  const width = Math.max(0.5, Math.abs(only[0]) * 2 ** -50);
  return { bins: [only[0] - width, only[0] + width], counts: [waiting] };
}

/**
 * HistogramProto of TensorFlow: `limits[i]` is the upper end of bucket `i`, and the first and last reach as far as `min` and `max`.
 */
export function binsOfLimits(
  limits: readonly number[],
  counts: readonly number[],
  min: number,
  max: number,
): JsonObject | null {
  if (limits.length !== counts.length) return null;
  const first = counts.findIndex((count) => count !== 0);
  const last = counts.findLastIndex((count) => count !== 0);
  if (first < 0) return null;
  const intervals: Interval[] = [];
  for (let i = first; i <= last; i++) {
    const before = limits[i - 1] ?? -Infinity;
    const limit = limits[i] ?? Infinity;
    const left = i === first ? Math.max(min, before) : before;
    const right = i === last ? Math.min(max, limit) : limit;
    intervals.push([left, Math.max(left, right), counts[i] ?? 0]);
  }
  return binsOf(intervals);
}
