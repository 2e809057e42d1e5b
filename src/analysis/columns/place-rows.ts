/** Rows put in the order of their places: by step where they have one, a later row in the place of an earlier. */
import { ascendingOrder, inOrder, isAscending } from '../../base/ascending-order.ts';
import type { PlacedColumns, SeriesAxis } from './run-columns.ts';

/** Where rows go: the axis, and the rows in order; null when all rows stay as they are. */
export type Placement = { readonly x: SeriesAxis; readonly order: Int32Array | null };

/**
 * Orders rows, given as they were recorded. The axis is the one that more rows have, the step where as many; rows that
 * lack it are left out.
 */
export function placeRows(steps: Float64Array, epochs: Float64Array): Placement {
  // As most runs are: looked at once.
  if (isRising(steps)) return { x: 'step', order: null };
  const x = countFinite(steps) >= countFinite(epochs) ? 'step' : 'epoch';
  const places = x === 'step' ? steps : epochs;
  return { x, order: isRising(places) ? null : orderOf(places) };
}

/** Whether all places are finite and each is beyond the one before. */
function isRising(places: Float64Array): boolean {
  return isFinite(places[0] ?? 0) && isFinite(places.at(-1) ?? 0) && isAscending(places);
}

/** The rows ascending by place, the last recorded of each place. */
function orderOf(places: Float64Array): Int32Array {
  const { length } = places;
  const rows = new Int32Array(length);
  let count = 0;
  for (let i = 0; i < length; i++) if (isFinite(places[i] ?? Number.NaN)) rows[count++] = i;
  // By row where places are equal: of these the last is kept.
  const kept = ascendingOrder(places, rows.subarray(0, count));
  let unique = 0;
  for (let i = 0; i < count; i++) {
    const row = kept[i] ?? 0;
    if (i + 1 < count && places[kept[i + 1] ?? 0] === places[row]) continue;
    kept[unique++] = row;
  }
  return kept.slice(0, unique);
}

/** The values of these rows; for null the values themselves, not copied. */
export function gather(values: Float64Array, order: Int32Array | null): Float64Array {
  return order === null ? values : inOrder(values, order);
}

/** The columns that every series has, of rows as they were recorded. */
export function placeColumns(
  steps: Float64Array,
  epochs: Float64Array,
  timesMs: Float64Array,
): { readonly placed: PlacedColumns; readonly order: Int32Array | null } {
  const { x, order } = placeRows(steps, epochs);
  return {
    placed: {
      x,
      steps: gather(steps, order),
      epochs: gather(epochs, order),
      timesMs: gather(timesMs, order),
    },
    order,
  };
}

function countFinite(values: Float64Array): number {
  let count = 0;
  for (let i = 0; i < values.length; i++) {
    const value = values[i] ?? Number.NaN;
    if (value - value === 0) count++;
  }
  return count;
}

function isFinite(value: number): boolean {
  return value - value === 0;
}
