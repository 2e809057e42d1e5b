/** Places in a run, as alerts name them. */
import { axisOf, type PlacedColumns } from '../columns/run-columns.ts';

/** A step, an epoch, or both; null where there is none. */
export type Place = { readonly step: number | null; readonly epoch: number | null };

/** The place of a row. */
export function placeAt(series: PlacedColumns, row: number): Place {
  return { step: orNull(series.steps[row]), epoch: orNull(series.epochs[row]) };
}

/** The place of a step alone. */
export function placeOfStep(step: number): Place {
  return { step: orNull(step), epoch: null };
}

/** A place as a sentence names it. */
export function sayPlace({ epoch, step }: Place): string {
  if (step !== null) return `step ${step}`;
  return epoch === null ? 'an unknown step' : `epoch ${epoch}`;
}

/** From where to where. */
export function sayRange(from: Place, to: Place): string {
  const start = sayPlace(from);
  const end = sayPlace(to);
  if (start === end) return `at ${start}`;
  const unit = from.step === null ? 'epoch' : 'step';
  return `from ${start} to ${end.replace(`${unit} `, '')}`;
}

/** The row at or before a position on the axis; -1 when all come later. */
export function rowBefore(series: PlacedColumns, position: number): number {
  const places = axisOf(series);
  let low = 0;
  let high = places.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((places[middle] ?? 0) <= position) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function orNull(value: number | undefined): number | null {
  return value === undefined || !Number.isFinite(value) ? null : Math.max(0, Math.round(value));
}
