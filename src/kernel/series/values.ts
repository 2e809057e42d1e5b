/** What the kernels over series read. */
import { invalidInput } from '../../base/errors.ts';

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
  const isSeries =
    values instanceof Float64Array || values instanceof Float32Array || Array.isArray(values);
  if (!isSeries)
    throw invalidInput(name, values, 'a Float64Array, a Float32Array or an array of numbers');
  if (values.length > MAX_SERIES_VALUES)
    throw invalidInput(name, `${values.length} values`, `at most ${MAX_SERIES_VALUES} values`);
  if (values instanceof Float64Array) return values;
  if (Array.isArray(values)) {
    const at = values.findIndex((value) => typeof value !== 'number');
    if (at >= 0) throw invalidInput(`${name}[${at}]`, values[at], 'a number');
  }
  return new Float64Array(values);
}
