/** Principal components: the directions in which rows of numbers differ most. */
import { checkCount, checkOptionNames } from '../../../base/assert.ts';
import { invalidInput } from '../../../base/errors.ts';
import { checkSeries, type SeriesValues } from '../module/values.ts';

/** Options of {@link ProjectKernel.principalComponents}. */
export type PrincipalComponentOptions = {
  /** Numbers of a row: 1 to 65,536. */
  readonly dimensions: number;
  /** How many directions to find: 1 to 16; fewer where rows have fewer numbers. Default 3. */
  readonly components?: number;
};

/** What was found. Vectors lie row by row. */
export type PrincipalComponents = {
  /** How many directions there are. */
  readonly componentCount: number;
  /** `[componentCount, dimensions]`: directions of length 1, at right angles, those with most variance first. Their largest number is positive. */
  readonly directions: Float64Array;
  /** Population variance along each direction. */
  readonly variances: Float64Array;
  /** Population variance of all numbers of a row together. */
  readonly totalVariance: number;
  /** `[dimensions]`: the mean row. */
  readonly means: Float64Array;
  /** `[rows, componentCount]`: where each row lies along the directions, from the mean. */
  readonly positions: Float64Array;
};

/** Projections of rows of numbers. */
export interface ProjectKernel {
  /**
   * The principal components of rows, by subspace iteration (Halko, Martinsson and Tropp, 2011) until the variances change by less
   * than a part in 10^10, 300 steps at most. The start is fixed: the same rows give the same components.
   *
   * @param values rows of `dimensions` numbers each, one after the other; finite
   * @throws {QuarkError} `invalid_input`
   * @example
   * ```js
   * import { loadSeriesKernel } from 'quark-sdk/kernels';
   *
   * const kernel = await loadSeriesKernel();
   * const vectors = Float32Array.of(1, 1, 2, 2, 3, 3); // three of two dimensions
   * const { positions } = kernel.principalComponents(vectors, { dimensions: 2, components: 1 });
   * console.log(positions.length); // 3
   * ```
   */
  principalComponents(
    values: SeriesValues,
    options: PrincipalComponentOptions,
  ): PrincipalComponents;
}

const MAX_DIMENSIONS = 65_536;
const MAX_COMPONENTS = 16;
const DEFAULT_COMPONENTS = 3;

/** Rows that are ready to be iterated over. */
export type CentredRows = {
  /** `[count, dimensions]`, the mean subtracted, divided by `unit`. */
  readonly rows: Float64Array;
  readonly count: number;
  readonly dimensions: number;
  readonly components: number;
  readonly means: Float64Array;
  /** Largest distance of a number from its mean: what keeps squares from overflowing. */
  readonly unit: number;
};

/** @throws {QuarkError} `invalid_input` */
export function centredRows(given: SeriesValues, options: PrincipalComponentOptions): CentredRows {
  const values = checkSeries('values', given);
  checkOptionNames('options', options, ['dimensions', 'components']);
  const dimensions = checkCount('options.dimensions', options.dimensions);
  const asked = checkCount('options.components', options.components ?? DEFAULT_COMPONENTS);
  if (dimensions < 1 || dimensions > MAX_DIMENSIONS)
    throw invalidInput('options.dimensions', dimensions, `1 to ${MAX_DIMENSIONS}`);
  if (asked < 1 || asked > MAX_COMPONENTS)
    throw invalidInput('options.components', asked, `1 to ${MAX_COMPONENTS}`);
  if (values.length === 0 || values.length % dimensions !== 0)
    throw invalidInput('values.length', values.length, `a multiple of dimensions (${dimensions})`);
  const count = values.length / dimensions;
  const means = meanRow(values, count, dimensions);
  const rows = new Float64Array(values.length);
  let unit = 0;
  for (let i = 0; i < values.length; i++) {
    const distance = (values[i] ?? 0) - (means[i % dimensions] ?? 0);
    rows[i] = distance;
    unit = Math.max(unit, Math.abs(distance));
  }
  if (unit > 0) for (let i = 0; i < rows.length; i++) rows[i] = (rows[i] ?? 0) / unit;
  return { rows, count, dimensions, components: Math.min(asked, dimensions), means, unit };
}

function meanRow(values: Float64Array, count: number, dimensions: number): Float64Array {
  const means = new Float64Array(dimensions);
  for (let i = 0; i < values.length; i++) {
    const value = values[i] ?? Number.NaN;
    if (!(Math.abs(value) <= Number.MAX_VALUE / 4))
      throw invalidInput(
        `values[${i}]`,
        value,
        'a finite number, at most a quarter of the largest',
      );
    means[i % dimensions] = (means[i % dimensions] ?? 0) + value / count;
  }
  return means;
}
