/** One metric of several runs, or groups of runs, beside a baseline: differences, the best one, and what chance may do. */
import { checkOptionNames } from '../../base/assert.ts';
import { invalidInput } from '../../base/errors.ts';
import { directionOf } from '../signals/roles/direction.ts';
import { holm, meanInterval, welchTest, type MeanInterval } from '../signals/student-t.ts';
import { checkConfidenceLevel } from './compare-config.ts';
import type { MetricDirection } from './diff-records.ts';

/** What one run or group has of a metric, and how far it is from the baseline. */
export type ComparedValue = MeanInterval & {
  /** Mean less that of the baseline; null for the baseline itself and where either has no value. */
  readonly difference: number | null;
  /** The difference as a share of the size of the baseline's mean; null as well where that is 0. */
  readonly share: number | null;
  /** Welch's test against the baseline with Holm's correction over all columns; null where it cannot be made. */
  readonly adjustedPValue: number | null;
  /** Whether it is below 1 less the confidence level; null where it is null. */
  readonly isSignificant: boolean | null;
};

/** One metric over all columns. */
export type ValueRow = {
  readonly metricKey: string;
  readonly direction: MetricDirection | null;
  /** In the order of the samples. `count` is 0 and the mean NaN where there is no finite value. */
  readonly cells: readonly ComparedValue[];
  /** Positions of the best means: several where they are equal; none without a direction or with fewer than two columns. */
  readonly best: readonly number[];
};

/** Options of {@link compareValues}. */
export type CompareValuesOptions = {
  /** Position of the baseline in the samples; none unless given. */
  readonly baseline?: number | undefined;
  /** Which way the metric is better. By default what its name says; null: neither. */
  readonly direction?: MetricDirection | null | undefined;
  /** Level of intervals and tests, above 0 and below 1. Default 0.95. */
  readonly confidenceLevel?: number | undefined;
};

/**
 * Compares samples of one metric. What is not finite does not count.
 *
 * @param samples of each column one value a run
 * @throws {QuarkError} `invalid_input` naming the option
 * @example
 * ```js
 * import { compareValues } from 'quark-sdk/analysis';
 *
 * const seeds = [[0.31, 0.33, 0.32], [0.24, 0.26, 0.25]]; // two configurations of three seeds each
 * const { best, cells, direction } = compareValues('val/loss', seeds, { baseline: 0 });
 * console.log(direction, best); // lower [ 1 ]
 * console.log(cells[1].mean, cells[1].difference.toFixed(2), cells[1].isSignificant); // 0.25 -0.07 true
 * ```
 */
export function compareValues(
  metricKey: string,
  samples: readonly (readonly number[])[],
  options: CompareValuesOptions = {},
): ValueRow {
  checkOptionNames('options', options, ['baseline', 'direction', 'confidenceLevel']);
  const { baseline, direction = directionOf(metricKey) } = options;
  const level = checkConfidenceLevel('confidenceLevel', options.confidenceLevel ?? 0.95);
  if (baseline !== undefined && samples[baseline] === undefined)
    throw invalidInput('baseline', baseline, `a position below ${samples.length}`);
  const finite = samples.map((sample) => sample.filter((value) => Number.isFinite(value)));
  const means = finite.map((sample) =>
    sample.length === 0
      ? { count: 0, mean: Number.NaN, std: Number.NaN, low: Number.NaN, high: Number.NaN }
      : meanInterval(sample, level),
  );
  const reference = baseline === undefined ? undefined : finite[baseline];
  const tests = finite.map((sample, at) =>
    reference === undefined || at === baseline ? undefined : welchTest(sample, reference, level),
  );
  const adjusted = holm(tests.flatMap((test) => test?.pValue ?? []));
  let next = 0;
  const cells = means.map((mean, at): ComparedValue => {
    const adjustedPValue = tests[at] === undefined ? null : (adjusted[next++] ?? null);
    const base = at === baseline || baseline === undefined ? undefined : means[baseline]?.mean;
    const difference = base === undefined ? Number.NaN : mean.mean - base;
    const share = difference / Math.abs(base ?? 0);
    return {
      ...mean,
      difference: Number.isFinite(difference) ? difference : null,
      share: Number.isFinite(share) ? share : null,
      adjustedPValue,
      isSignificant: adjustedPValue === null ? null : adjustedPValue < 1 - level,
    };
  });
  return { metricKey, direction, cells, best: bestOf(cells, direction) };
}

function bestOf(
  cells: readonly MeanInterval[],
  direction: MetricDirection | null,
): readonly number[] {
  const known = cells.flatMap(({ count, mean }) => (count === 0 ? [] : [mean]));
  if (direction === null || known.length < 2) return [];
  const best = direction === 'lower' ? Math.min(...known) : Math.max(...known);
  const found = [...cells.keys()].filter((at) => cells[at]?.mean === best);
  return found.length === cells.length ? [] : found;
}
