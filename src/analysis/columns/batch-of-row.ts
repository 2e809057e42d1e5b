/** The batch that was trained on when a metric had a value. */
import type { BatchColumns, PlacedColumns } from './run-columns.ts';
import { firstAfter } from './sorted-search.ts';

/**
 * The batch behind a row of a series: of those with steps after the row before and up to this one, the one with the highest loss, as a metric
 * that is logged now and then stands for all batches in between; one whose loss is no number goes first. -1 where none is known.
 */
export function batchOfRow(batches: BatchColumns, series: PlacedColumns, row: number): number {
  const step = series.steps[row] ?? Number.NaN;
  if (Number.isNaN(step)) return -1;
  const before = row > 0 ? (series.steps[row - 1] ?? Number.NaN) : Number.NEGATIVE_INFINITY;
  const { losses, steps } = batches;
  let found = -1;
  // Without a row before nobody knows how far back the value reaches: its own step alone.
  const after = Number.isNaN(before) || before === Number.NEGATIVE_INFINITY ? step - 1 : before;
  for (let at = firstAfter(steps, after); at < batches.rowCount; at++) {
    if (!((steps[at] ?? Number.NaN) <= step)) break;
    if (found < 0 || heightOf(losses[at]) > heightOf(losses[found])) found = at;
  }
  return found;
}

function heightOf(loss: number | undefined): number {
  return loss === undefined || Number.isNaN(loss) ? Number.POSITIVE_INFINITY : loss;
}
