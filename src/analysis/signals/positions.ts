/** Positions in a training, as alerts name them. */
import { axisOf, type PlacedColumns } from '../columns/run-columns.ts';
import { indexAtOrBefore } from '../columns/sorted-search.ts';

/** A step, an epoch, or both; null where it is not known. */
export type RunPosition = { readonly step: number | null; readonly epoch: number | null };

/** From one position to another, both inclusive. */
export type RunSpan = { readonly from: RunPosition; readonly to: RunPosition };

/** The position of a row. */
export function positionAt(series: PlacedColumns, row: number): RunPosition {
  return { step: orNull(series.steps[row]), epoch: orNull(series.epochs[row]) };
}

/** The position of a step alone. */
export function positionOfStep(step: number): RunPosition {
  return { step: orNull(step), epoch: null };
}

/** The positions of the first and the last of some rows; all rows unless given. */
export function spanOfRows(
  series: PlacedColumns,
  first = 0,
  last = series.steps.length - 1,
): RunSpan {
  return { from: positionAt(series, first), to: positionAt(series, last) };
}

/** The span from the first to the last of some steps. */
export function spanOfSteps(first: number, last: number): RunSpan {
  return { from: positionOfStep(first), to: positionOfStep(last) };
}

/** A position as a sentence names it. */
export function sayPosition({ epoch, step }: RunPosition): string {
  if (step !== null) return `step ${step}`;
  return epoch === null ? 'an unknown step' : `epoch ${epoch}`;
}

/** A span as a sentence names it. */
export function saySpan({ from, to }: RunSpan): string {
  const start = sayPosition(from);
  const end = sayPosition(to);
  if (start === end) return `at ${start}`;
  const unit = from.step === null ? 'epoch' : 'step';
  return `from ${start} to ${end.replace(`${unit} `, '')}`;
}

/** The positions from one to another on an axis, both inclusive, for brackets: `epoch 3 to 5`, `epoch 1`. */
export function sayPositions(axis: 'step' | 'epoch', start: number, end: number): string {
  return start === end ? `${axis} ${start}` : `${axis} ${start} to ${end}`;
}

/** The row at or before a position on the axis of a series; -1 when all come later. */
export function rowBefore(series: PlacedColumns, position: number): number {
  return indexAtOrBefore(axisOf(series), position);
}

function orNull(value: number | undefined): number | null {
  return value === undefined || !Number.isFinite(value) ? null : Math.max(0, Math.round(value));
}
