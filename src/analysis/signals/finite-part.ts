/** The finite part of one series: what every rule reads first. */
import { axisOf, type MetricSeries } from '../columns/run-columns.ts';

/** The finite values of a series with their positions, and where the others are. */
export type FinitePart = {
  readonly key: string;
  /** Finite values; when every value is finite, the array of the series itself. */
  readonly values: Float64Array;
  /** Position of each finite value, ascending. */
  readonly positions: Float64Array;
  /** All rows, those without a finite value among them. */
  readonly rowCount: number;
  /** Rows that are NaN or infinite. */
  readonly nonFiniteCount: number;
  /** Position of the first row, whatever its value; NaN without rows. */
  readonly first: number;
  /** Position of the last row, whatever its value; NaN without rows. */
  readonly last: number;
  /** Position of the first row that is not finite; NaN when there is none. */
  readonly firstNonFinite: number;
  /** Position of the row from which on no value is finite; NaN when the last value is finite or there is no row. */
  readonly failedFrom: number;
};

/** Splits a series into what is finite and what is not, in one pass. */
export function finitePart(series: MetricSeries): FinitePart {
  const { key, values } = series;
  const positions = axisOf(series);
  const rowCount = values.length;
  let firstBad = -1;
  let lastGood = -1;
  let bad = 0;
  for (let i = 0; i < rowCount; i++) {
    const value = values[i] ?? Number.NaN;
    if (value - value === 0) lastGood = i;
    else {
      if (bad === 0) firstBad = i;
      bad++;
    }
  }
  const at = (row: number): number => (row < 0 ? Number.NaN : (positions[row] ?? Number.NaN));
  const common = {
    key,
    rowCount,
    nonFiniteCount: bad,
    first: at(0),
    last: at(rowCount - 1),
    firstNonFinite: at(firstBad),
    failedFrom: lastGood + 1 < rowCount ? at(lastGood + 1) : Number.NaN,
  };
  if (bad === 0) return { ...common, values, positions };
  const finiteValues = new Float64Array(rowCount - bad);
  const finitePositions = new Float64Array(rowCount - bad);
  let count = 0;
  for (let i = 0; i < rowCount; i++) {
    const value = values[i] ?? Number.NaN;
    if (value - value !== 0) continue;
    finiteValues[count] = value;
    finitePositions[count++] = positions[i] ?? Number.NaN;
  }
  return { ...common, values: finiteValues, positions: finitePositions };
}
