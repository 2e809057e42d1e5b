/** What the kernels over series read. */
import { checkAttached } from '../../../base/assert.ts';
import { invalidInput } from '../../../base/errors.ts';

/** A series of numbers, in the order of its steps. It is never changed, kept or transferred. */
export type SeriesValues = Float64Array | Float32Array | readonly number[];

/** Most values of one series: what fits into the memory of one instance with the room that the kernels need. */
export const MAX_SERIES_VALUES = 2 ** 26;

/**
 * The series as float64; itself where it is.
 *
 * @throws {QuarkError} `invalid_input`
 */
export function checkSeries(name: string, values: SeriesValues): Float64Array {
  const list = asList(values);
  if (list === undefined)
    throw invalidInput(name, values, 'a Float64Array, a Float32Array or an array of numbers');
  if (list.length > MAX_SERIES_VALUES)
    throw invalidInput(name, `${list.length} values`, `at most ${MAX_SERIES_VALUES} values`);
  if (ArrayBuffer.isView(list)) checkAttached(name, list);
  if (list instanceof Float64Array) return list;
  const at = firstForeign(list);
  if (at >= 0) throw invalidInput(`${name}[${at}]`, list[at], 'a number');
  return new Float64Array(values);
}

/** Whether {@link checkSeries} accepts it. */
export function isSeries(values: unknown): values is SeriesValues {
  const list = asList(values);
  return list !== undefined && list.length <= MAX_SERIES_VALUES && firstForeign(list) < 0;
}

/** The value as something with elements; typed arrays of another realm are such too. */
function asList(values: unknown): Float64Array | Float32Array | readonly unknown[] | undefined {
  if (Array.isArray(values)) return values;
  if (!ArrayBuffer.isView(values)) return undefined;
  const tag: unknown = Reflect.get(values, Symbol.toStringTag);
  return tag === 'Float64Array' || tag === 'Float32Array'
    ? (values as Float64Array | Float32Array) // bytes become types: the tag says so
    : undefined;
}

/** The first element that is no number, or -1. */
function firstForeign(list: Float64Array | Float32Array | readonly unknown[]): number {
  return Array.isArray(list) ? list.findIndex((value) => typeof value !== 'number') : -1;
}
