/** Curves as they travel: columns as JSON lists, with `null` for a step or epoch that is not there and text for values JSON has none for. */
import { SessionStoreError, show } from '../base/errors.ts';
import type { Curve, RunCurves } from '../store/curves.ts';
import { Fields } from './wire.ts';

/** A value that is no number in JSON. */
const NAMED: ReadonlyMap<unknown, number> = new Map([
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
]);

/** The answer as plain data. */
export function encodeCurves(found: RunCurves): object {
  return {
    ...found,
    curves: found.curves.map(({ timesMs, ...curve }) => ({
      ...curve,
      values: Array.from(curve.values, (value) => (Number.isFinite(value) ? value : String(value))),
      steps: nullable(curve.steps),
      epochs: nullable(curve.epochs),
      timestampsMs: nullable(timesMs),
    })),
  };
}

function nullable(column: Float64Array): (number | null)[] {
  return Array.from(column, (value) => (Number.isNaN(value) ? null : value));
}

/** @throws {SessionStoreError} `rejected` */
export function decodeCurves(answer: Fields): RunCurves {
  return {
    rowCount: answer.count('row_count'),
    lastSequence: answer.count('last_sequence'),
    leftOutCount: answer.count('left_out_count'),
    damagedCount: answer.count('damaged_count'),
    ...(answer.get('names') === undefined ? {} : { names: answer.texts('names') }),
    curves: answer.list('curves').map(decodeCurve),
  };
}

function decodeCurve(value: unknown): Curve {
  const fields = new Fields('curve', value);
  const values = columnOf(fields, 'values');
  const column = (name: string): Float64Array<ArrayBuffer> => {
    const found = columnOf(fields, name);
    if (found.length !== values.length)
      throw misfit(`curve.${name}`, found.length, `a list of ${values.length}`);
    return found;
  };
  const timesMs = column('timestamps_ms');
  return {
    metricKey: fields.text('metric_key'),
    sampleCount: fields.count('sample_count'),
    nonFiniteCount: fields.count('non_finite_count'),
    values,
    steps: column('steps'),
    epochs: column('epochs'),
    timesMs,
    timestampsMs: timesMs,
  };
}

function columnOf(fields: Fields, name: string): Float64Array<ArrayBuffer> {
  const items = fields.list(name);
  const column = new Float64Array(items.length);
  // A loop: `Float64Array.from` calls a function for each of 150,000 numbers of a page.
  for (let at = 0; at < items.length; at += 1) {
    const item = items[at];
    column[at] = typeof item === 'number' ? item : namedNumber(name, item);
  }
  return column;
}

function namedNumber(name: string, item: unknown): number {
  if (item === null) return Number.NaN;
  const named = NAMED.get(item);
  if (named === undefined) throw misfit(`curve.${name}`, item, 'a list of numbers');
  return named;
}

function misfit(field: string, value: unknown, rule: string): SessionStoreError {
  return new SessionStoreError('rejected', `${field} must be ${rule}; got ${show(value)}.`, {
    details: { field, value: show(value), rule },
  });
}
