/** Positions of numbers in ascending order, found by merging the spans that ascend already, and columns in such an order. */

/**
 * `rows` (all, unless given) in the order in which their values ascend, equal ones as they are in `rows`. Takes one pass over the rows
 * for each doubling of the number of ascending spans: what is in order is read once, and a few ordered parts one after the other
 * take a few passes, where a sort that calls back takes some 20. `rows` is used as memory. NaN is not allowed.
 */
export function ascendingOrder(
  values: Float64Array,
  rows: Int32Array = everyRow(values.length),
): Int32Array {
  let ends = spanEnds(values, rows);
  if (ends.length <= 1) return rows;
  const dense = ends.length > FEW_SPANS ? denseOrder(values, rows) : undefined;
  if (dense !== undefined) return dense;
  let from = rows;
  let to: Int32Array = new Int32Array(rows.length);
  while (ends.length > 1) {
    const merged: number[] = [];
    let start = 0;
    for (let i = 0; i < ends.length; i += 2) {
      const middle = ends[i] ?? 0;
      const end = ends[i + 1] ?? middle;
      mergeSpans(values, from, to, [start, middle, end]);
      merged.push(end);
      start = end;
    }
    [from, to] = [to, from];
    ends = merged;
  }
  return from;
}

/** So few spans are merged in as little time as their rows are counted. */
const FEW_SPANS = 2;
/** How many numbers there may be for each row: sequence numbers of some metrics have gaps. */
const MAX_GAPS = 4;

/**
 * The same for different whole numbers with few gaps, such as sequence numbers of rows that are ordered by metric: each row is put
 * where its number says, in one pass. Undefined for others.
 */
function denseOrder(values: Float64Array, rows: Int32Array): Int32Array | undefined {
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < rows.length; i++) {
    const value = values[rows[i] ?? 0] ?? 0;
    if (value < min) min = value;
    if (value > max) max = value;
  }
  const range = max - min + 1;
  if (!(range <= MAX_GAPS * rows.length)) return undefined;
  const rowAt = new Int32Array(range).fill(-1);
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i] ?? 0;
    const at = (values[row] ?? 0) - min;
    // Not a whole number, or there twice.
    if (rowAt[at] !== -1) return undefined;
    rowAt[at] = row;
  }
  if (range === rows.length) return rowAt;
  let count = 0;
  for (let at = 0; at < rowAt.length; at++) {
    const row = rowAt[at] ?? -1;
    if (row >= 0) rows[count++] = row;
  }
  return rows;
}

function everyRow(count: number): Int32Array {
  const rows = new Int32Array(count);
  for (let row = 0; row < count; row++) rows[row] = row;
  return rows;
}

/** Where the spans of rows whose values do not fall end. */
function spanEnds(values: Float64Array, rows: Int32Array): number[] {
  const ends: number[] = [];
  let last = values[rows[0] ?? 0] ?? 0;
  for (let i = 1; i < rows.length; i++) {
    const value = values[rows[i] ?? 0] ?? 0;
    if (value < last) ends.push(i);
    last = value;
  }
  ends.push(rows.length);
  return ends;
}

function mergeSpans(
  values: Float64Array,
  from: Int32Array,
  to: Int32Array,
  [start, middle, end]: readonly [start: number, middle: number, end: number],
): void {
  let left = start;
  let right = middle;
  let at = start;
  if (left < middle && right < end) {
    let leftRow = from[left] ?? 0;
    let rightRow = from[right] ?? 0;
    let leftValue = values[leftRow] ?? 0;
    let rightValue = values[rightRow] ?? 0;
    for (;;) {
      if (rightValue < leftValue) {
        to[at++] = rightRow;
        if (++right >= end) break;
        rightRow = from[right] ?? 0;
        rightValue = values[rightRow] ?? 0;
      } else {
        to[at++] = leftRow;
        if (++left >= middle) break;
        leftRow = from[left] ?? 0;
        leftValue = values[leftRow] ?? 0;
      }
    }
  }
  to.set(from.subarray(left, middle), at);
  to.set(from.subarray(right, end), at + middle - left);
}

/** Whether each value is greater than the one before; false where one is NaN. */
export function isAscending(values: Float64Array): boolean {
  for (let i = 1; i < values.length; i++)
    if (!((values[i] ?? 0) > (values[i - 1] ?? 0))) return false;
  return true;
}

/** The values in an order of positions. */
export function inOrder(values: Float64Array, order: Int32Array): Float64Array<ArrayBuffer> {
  const out = new Float64Array(order.length);
  for (let i = 0; i < order.length; i++) out[i] = values[order[i] ?? 0] ?? Number.NaN;
  return out;
}
