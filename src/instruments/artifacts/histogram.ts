/** Histograms as artifacts. */
import { invalidInput } from '../../base/errors.ts';

/** A histogram as JSON. */
export type HistogramPayload = {
  readonly bins: readonly number[];
  readonly counts: readonly number[];
};

/**
 * @param bins edges of the bins, ascending
 * @param counts one fewer than there are edges
 * @throws {QuarkError} `invalid_input`
 */
export function checkHistogram(
  bins: ArrayLike<number>,
  counts: ArrayLike<number>,
): HistogramPayload {
  const edges = listOf('bins', bins);
  const values = listOf('counts', counts);
  if (edges.length !== values.length + 1 || values.length === 0) {
    throw invalidInput(
      'bins.length',
      edges.length,
      `one more than there are counts (${values.length}), which is at least one`,
    );
  }
  edges.forEach((edge, i) => {
    if (!Number.isFinite(edge)) throw invalidInput(`bins[${i}]`, edge, 'a finite number');
    const before = edges[i - 1];
    if (before !== undefined && !(edge > before))
      throw invalidInput(`bins[${i}]`, edge, `greater than the edge before (${before})`);
  });
  values.forEach((value, i) => {
    if (!Number.isFinite(value) || value < 0)
      throw invalidInput(`counts[${i}]`, value, 'a finite number, 0 or more');
  });
  return { bins: edges, counts: values };
}

function listOf(field: string, values: unknown): number[] {
  if (typeof values !== 'object' || values === null || !('length' in values))
    throw invalidInput(field, values, 'an array of numbers');
  return Array.from(values as ArrayLike<number>, (value, i) => {
    if (typeof value !== 'number') throw invalidInput(`${field}[${i}]`, value, 'a number');
    return value;
  });
}
