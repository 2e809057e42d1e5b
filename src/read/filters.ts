/** Filters that every table shares, and their checks. */
import { checkCount, checkOptionNames, checkPositive } from '../base/assert.ts';
import { invalidInput } from '../base/errors.ts';
import type { TableDefinition } from '../schema/table.ts';
import type { SegmentFilter } from '../store/store.ts';

/** Filters by position. Ranges are inclusive on both ends; a row without a step matches no step filter. */
export type PositionFilter = {
  readonly step?: number | undefined;
  readonly stepMin?: number | undefined;
  readonly stepMax?: number | undefined;
  readonly epoch?: number | undefined;
  readonly epochMin?: number | undefined;
  readonly epochMax?: number | undefined;
  /** Only rows at or after this sequence number: what has come since `lastSequence`. */
  readonly sequenceMin?: number | undefined;
  /** The most recent rows only, at most this many, in order. */
  readonly limit?: number | undefined;
};

/** A range of numbers, inclusive; infinite where there is no bound. */
export type Range = { readonly min: number; readonly max: number };

/** A {@link PositionFilter} as ranges. */
export type Position = {
  readonly step: Range | null;
  readonly epoch: Range | null;
  readonly sequenceMin: number;
  readonly limit: number;
};

const POSITION_NAMES = [
  'step',
  'stepMin',
  'stepMax',
  'epoch',
  'epochMin',
  'epochMax',
  'sequenceMin',
  'limit',
] as const;

/** @throws {QuarkError} `invalid_input` naming the filter, also for a name that is no filter */
export function checkPosition(filter: PositionFilter, otherNames: readonly string[]): Position {
  checkOptionNames('filter', filter, [...otherNames, ...POSITION_NAMES]);
  return {
    step: rangeOf('step', filter.step, filter.stepMin, filter.stepMax),
    epoch: rangeOf('epoch', filter.epoch, filter.epochMin, filter.epochMax),
    sequenceMin:
      filter.sequenceMin === undefined ? 0 : checkCount('sequenceMin', filter.sequenceMin),
    limit:
      filter.limit === undefined ? Number.POSITIVE_INFINITY : checkPositive('limit', filter.limit),
  };
}

/** The filters of a table beside those by position. */
export type FilterNames = {
  /** Filters that bear the name of a key column and compare its values. */
  readonly columns?: readonly string[];
  /** Filters with a list of values, and the key column that has one of them. */
  readonly lists?: { readonly [filter: string]: string };
  /** Other filters, each with its check. */
  readonly others?:
    | { readonly [filter: string]: (name: string, value: unknown) => unknown }
    | undefined;
};

/**
 * A filter, checked against the declaration of its table.
 *
 * @throws {QuarkError} `invalid_input` naming the filter
 */
export function checkFilter(
  table: TableDefinition,
  filter: PositionFilter,
  { columns = [], lists = {}, others = {} }: FilterNames,
): { readonly position: Position; readonly conditions: { [column: string]: readonly string[] } } {
  const position = checkPosition(filter, [...columns, ...Object.keys({ ...lists, ...others })]);
  const conditions: { [column: string]: readonly string[] } = {};
  for (const name of columns) {
    const value: unknown = Reflect.get(filter, name);
    if (value === undefined) continue;
    table.columns[name]?.parse(name, value);
    conditions[name] = [checkText(name, value)];
  }
  for (const [name, column] of Object.entries(lists)) {
    const values: unknown = Reflect.get(filter, name);
    if (values === undefined) continue;
    if (!Array.isArray(values) || !values.every((value) => typeof value === 'string'))
      throw invalidInput(name, values, 'a list of texts');
    conditions[column] = conditions[column]?.filter((value) => values.includes(value)) ?? values;
  }
  for (const [name, check] of Object.entries(others)) {
    const value: unknown = Reflect.get(filter, name);
    if (value !== undefined) check(name, value);
  }
  return { position, conditions };
}

/** The part of a filter that a store can apply by manifests alone. */
export function segmentFilter(
  runId: string,
  table: string,
  position: Position,
  keys: readonly string[] | undefined,
): SegmentFilter {
  const { step, epoch, sequenceMin } = position;
  return {
    runId,
    table,
    ...(sequenceMin > 0 ? { sequenceMin } : {}),
    ...(step !== null && step.min > 0 ? { stepMin: step.min } : {}),
    ...(step !== null && step.max < Number.POSITIVE_INFINITY ? { stepMax: step.max } : {}),
    ...(epoch !== null && epoch.min > 0 ? { epochMin: epoch.min } : {}),
    ...(epoch !== null && epoch.max < Number.POSITIVE_INFINITY ? { epochMax: epoch.max } : {}),
    ...(keys === undefined ? {} : { keys }),
  };
}

/** @throws {QuarkError} `invalid_input` unless `value` is text */
export function checkText(name: string, value: unknown): string {
  if (typeof value !== 'string') throw invalidInput(name, value, 'text');
  return value;
}

function rangeOf(
  name: string,
  exact: number | undefined,
  min: number | undefined,
  max: number | undefined,
): Range | null {
  if (exact !== undefined) checkCount(name, exact);
  if (min !== undefined) checkCount(`${name}Min`, min);
  if (max !== undefined) checkCount(`${name}Max`, max);
  if (exact === undefined && min === undefined && max === undefined) return null;
  if (min !== undefined && max !== undefined && min > max)
    throw invalidInput(`${name}Min`, min, `at most ${name}Max (${max})`);
  return {
    min: Math.max(exact ?? 0, min ?? 0),
    max: Math.min(exact ?? Number.POSITIVE_INFINITY, max ?? Number.POSITIVE_INFINITY),
  };
}
