/** Which points of a long series are left where a page cannot hold all of them. */

/** Of so many points in a row the first, the lowest, the highest and the last are left, and one that is not finite. */
const GROUP = 16;

/** Points of one step: one to three milliseconds. */
export const POINTS_A_STEP = 32_768;

/**
 * Indices of the points that are left, ascending: about a quarter of those of a noisy series. A chart of fewer pixels than there are
 * groups draws the same lowest and highest values as of all points. Comes in steps that take a moment each.
 */
export function* downsampledRows(values: Float64Array): Generator<void, Int32Array> {
  const rows = new Int32Array(values.length);
  let count = 0;
  for (let from = 0; from < values.length; from += POINTS_A_STEP) {
    count = addRows(values, from, rows, count);
    yield;
  }
  return rows.slice(0, count);
}

/** Adds the rows that are left of one step; returns how many there are then. */
function addRows(values: Float64Array, from: number, rows: Int32Array, before: number): number {
  let count = before;
  const to = Math.min(values.length, from + POINTS_A_STEP);
  for (let start = from; start < to; start += GROUP) {
    const end = Math.min(to, start + GROUP);
    let low = -1;
    let high = -1;
    let bad = -1;
    for (let at = start; at < end; at += 1) {
      const value = values[at] ?? Number.NaN;
      if (!Number.isFinite(value)) {
        if (bad < 0) bad = at;
        continue;
      }
      if (low < 0 || value < (values[low] ?? 0)) low = at;
      if (high < 0 || value > (values[high] ?? 0)) high = at;
    }
    // Without an array for each group: this is done to millions of points at once.
    for (let at = start; at < end; at += 1)
      if (at === start || at === low || at === high || at === bad || at === end - 1)
        rows[count++] = at;
  }
  return count;
}
