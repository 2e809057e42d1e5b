/** Spans of a training as a configuration writes them: `5 epochs`, `200 steps`, `10 values`, `3 minutes`. */
import type { PlacedColumns } from '../columns/run-columns.ts';

/** What a span of a training counts. */
export type SpanUnit = 'value' | 'step' | 'epoch' | 'ms';

/** A span of a training. */
export type TrainingSpan = {
  readonly count: number;
  readonly unit: SpanUnit;
  /** As it was written. */
  readonly text: string;
};

/** How a span is written; the unit may have an "s". */
export const SPAN_PATTERN = '^[1-9][0-9]{0,8} (value|step|epoch|second|minute|hour|day)s?$';

/** {@link SPAN_PATTERN} in words. */
export const SPAN_RULE =
  'a number and a unit, such as "5 epochs", "200 steps", "10 values" or "3 minutes" (also seconds, hours, days)';

const UNITS: Readonly<Record<string, readonly [SpanUnit, number]>> = {
  value: ['value', 1],
  step: ['step', 1],
  epoch: ['epoch', 1],
  second: ['ms', 1000],
  minute: ['ms', 60_000],
  hour: ['ms', 3_600_000],
  day: ['ms', 86_400_000],
};

/** A span that was checked by {@link SPAN_PATTERN}. */
export function spanOf(text: string): TrainingSpan {
  const [count = '', unit = ''] = text.split(' ');
  const [of, size] = UNITS[unit.replace(/s$/, '')] ?? ['value', 1];
  return { count: Number(count) * size, unit: of, text };
}

/** Positions of the rows of a series in the unit of a span; undefined where the series does not have them all. */
export function positionsIn(
  { epochs, steps, timesMs }: PlacedColumns,
  unit: SpanUnit,
): Float64Array | undefined {
  if (unit === 'value') return Float64Array.from(steps, (_, row) => row);
  const column = { step: steps, epoch: epochs, ms: timesMs }[unit];
  return column.some((position) => Number.isNaN(position)) ? undefined : column;
}

/**
 * How long the rows from `first` to `last` are. Steps, epochs and values are counted with both ends: a metric that is logged once
 * an epoch covers five epochs with five values. Times are the distance.
 */
export function spanLength(
  positions: Float64Array,
  unit: SpanUnit,
  first: number,
  last: number,
): number {
  const distance = (positions[last] ?? Number.NaN) - (positions[first] ?? Number.NaN);
  return unit === 'ms' ? distance : distance + 1;
}
