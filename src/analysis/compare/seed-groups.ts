/** Many runs at once: groups of the same configuration but for seeds, and how far they differ. */
import type { SeriesKernel } from '../../kernel/series/series-kernel.ts';
import type { RunColumns } from '../columns/run-columns.ts';
import type { Dict } from '../../schema/record.ts';
import type { ComparisonSettings } from './compare-config.ts';
import type { MetricDirection } from './diff-records.ts';
import { directionOf } from '../signals/roles/direction.ts';
import { arrival, brokenKeys, endsBroken } from './metric-diff.ts';
import { inOrderOfInterest, someOf } from './metric-order.ts';
import { groupRuns, type GroupableRun, type RunGroup } from './run-groups.ts';
import { holm, meanInterval, welchTest, type MeanInterval } from '../signals/student-t.ts';

/** One metric over all groups. */
export type MetricGroups = {
  readonly metricKey: string;
  readonly direction: MetricDirection | null;
  /**
   * Of each group, in order of {@link GroupComparison.groups}: where its runs arrive (the median of the last tenth of a run), as mean with the
   * interval of Student. NaN ends where there is one run only: what seeds do is then unknown.
   */
  readonly groups: readonly MeanInterval[];
  /** Position in `groups` of the best mean of those that no run broke in; null without a direction, and where one broke in each. */
  readonly best: number | null;
  /** Every two groups. */
  readonly differences: readonly GroupDifference[];
};

/** The difference of two groups by Welch's test. */
export type GroupDifference = {
  /** Positions in `groups`; the difference is first less second. */
  readonly first: number;
  readonly second: number;
  readonly difference: number;
  /** Confidence interval of the difference; NaN where `pValue` is. */
  readonly low: number;
  readonly high: number;
  /** Two-sided; NaN where a group has fewer than two runs, and where neither varies: the value follows from the settings. */
  readonly pValue: number;
  /** The same for so many pairs of groups (Holm 1979). */
  readonly adjustedPValue: number;
  /** Whether `adjustedPValue` is below 1 less the confidence level; null where nobody can tell. */
  readonly isSignificant: boolean | null;
};

/** Many runs side by side. */
export type GroupComparison = {
  readonly confidenceLevel: number;
  /** In the order of the runs. */
  readonly groups: readonly RunGroup[];
  /** Metrics that at least one run of each group has, in the order of {@link RunComparisonResult.metricDiffs}. */
  readonly metrics: readonly MetricGroups[];
  /** What cannot be said, in sentences. */
  readonly notes: readonly string[];
  /** The result as a plain dictionary with snake_case names; what is NaN here is null there. */
  readonly toDict: () => Dict;
};

/** What is known of runs besides their columns, by their ids. */
export type RunLabels = ReadonlyMap<string, Omit<GroupableRun, 'id' | 'config'>>;

/** Groups runs, and compares the groups. */
export function groupsOf(
  runs: readonly RunColumns[],
  settings: ComparisonSettings,
  kernel: SeriesKernel,
  labels: RunLabels = new Map(),
): GroupComparison {
  const groupable = runs.map(({ run: { config, runId } }) => ({
    ...labels.get(runId),
    id: runId,
    config,
  }));
  const groups = groupRuns(groupable, settings.groupBy);
  const byId = new Map(runs.map((run) => [run.run.runId, run]));
  const members = groups.map(({ runIds }) => runIds.flatMap((id) => byId.get(id) ?? []));
  const keys = inOrderOfInterest(new Set(runs.flatMap(({ metrics }) => [...metrics.keys()])));
  const metrics = keys.flatMap((key) => metricGroups(key, members, settings, kernel) ?? []);
  const notes = notesOn(groups, members, metrics);
  const { confidenceLevel } = settings;
  return groupComparison({ confidenceLevel, groups, metrics, notes });
}

/** Puts a result together. */
export function groupComparison(fields: Omit<GroupComparison, 'toDict'>): GroupComparison {
  const { confidenceLevel, groups, metrics, notes } = fields;
  const own = { confidenceLevel, groups, metrics, notes };
  return Object.freeze({ ...own, toDict: () => dictOf(own) });
}

/** What is to be kept in mind, in sentences. */
function notesOn(
  groups: readonly RunGroup[],
  members: readonly (readonly RunColumns[])[],
  metrics: readonly MetricGroups[],
): readonly string[] {
  const notes: string[] = [];
  const single = groups.filter(({ runIds }) => runIds.length < 2);
  if (single.length > 0)
    notes.push(
      `${single.length} of ${groups.length} groups have one run: what seeds do to it is unknown, and no difference from it can be called significant.`,
    );
  const constant = metrics.filter(
    ({ differences, groups: means }) =>
      means.every(({ count }) => count > 1) &&
      differences.some(({ isSignificant }) => isSignificant === null),
  );
  if (constant.length > 0)
    notes.push(
      `Within groups ${someOf(constant.map(({ metricKey }) => metricKey))} does not vary: it follows from the settings, and there is nothing to test.`,
    );
  for (const [i, runs] of members.entries()) {
    const of = `of the ${runs.length} runs${members.length === 1 ? '' : ` of ${groups[i]?.name}`}`;
    const broken = runs.map(brokenKeys).filter((keys) => keys.length > 0);
    if (broken.length > 0)
      notes.push(
        `${broken.length} ${of} ended in NaN or infinity (${someOf(broken.flat())}): the last finite values stand for them.`,
      );
    const early = runs.filter(({ run }) => run.isLive || run.status !== 'completed').length;
    if (early > 0)
      notes.push(
        `${early} ${of} did not end as completed, or not yet: what they have reached stands for them.`,
      );
  }
  return notes;
}

function metricGroups(
  metricKey: string,
  members: readonly (readonly RunColumns[])[],
  { confidenceLevel, targets }: ComparisonSettings,
  kernel: SeriesKernel,
): MetricGroups | undefined {
  const samples = members.map((runs) =>
    runs.flatMap(({ metrics }) => {
      const series = metrics.get(metricKey);
      return series === undefined ? [] : (arrival(series, kernel) ?? []);
    }),
  );
  if (samples.some((sample) => sample.length === 0)) return undefined;
  const groups = samples.map((sample) => meanInterval(sample, confidenceLevel));
  const target = targets.get(metricKey);
  const direction =
    target === undefined
      ? directionOf(metricKey)
      : target.direction === 'at_least'
        ? 'higher'
        : 'lower';
  // What was reached before the numbers broke is no reason to choose a setting.
  const sound = members.flatMap((runs, i) =>
    runs.some(({ metrics }) => endsBroken(metrics.get(metricKey))) ? [] : [i],
  );
  const sign = direction === 'higher' ? -1 : 1;
  const heightOf = (i: number): number => sign * (groups[i]?.mean ?? 0);
  const [best = null] = sound.toSorted((a, b) => heightOf(a) - heightOf(b));
  return {
    metricKey,
    direction,
    groups,
    best: direction === null ? null : best,
    differences: differencesOf(samples, confidenceLevel),
  };
}

function differencesOf(
  samples: readonly (readonly number[])[],
  confidenceLevel: number,
): readonly GroupDifference[] {
  const pairs = samples.flatMap((_, first) =>
    samples.slice(first + 1).map((__, i) => [first, first + 1 + i] as const),
  );
  const tests = pairs.map(([first, second]) =>
    welchTest(samples[first] ?? [], samples[second] ?? [], confidenceLevel),
  );
  const known = tests.flatMap((test) => test ?? []);
  const adjusted = holm(known.map(({ pValue }) => pValue));
  let at = 0;
  return pairs.map(([first, second], i) => {
    const test = tests[i];
    const mean = (k: number): number => meanInterval(samples[k] ?? [], confidenceLevel).mean;
    if (test === undefined)
      return {
        first,
        second,
        difference: mean(first) - mean(second),
        low: Number.NaN,
        high: Number.NaN,
        pValue: Number.NaN,
        adjustedPValue: Number.NaN,
        isSignificant: null,
      };
    const adjustedPValue = adjusted[at++] ?? 1;
    const { difference, high, low, pValue } = test;
    const isSignificant = adjustedPValue < 1 - confidenceLevel;
    return { first, second, difference, low, high, pValue, adjustedPValue, isSignificant };
  });
}

function dictOf(result: Omit<GroupComparison, 'toDict'>): Dict {
  const number = (value: number): number | null => (Number.isFinite(value) ? value : null);
  return {
    confidence_level: result.confidenceLevel,
    groups: result.groups.map(({ name, runIds, settings }) => ({
      name,
      settings,
      run_ids: runIds,
    })),
    metrics: result.metrics.map(({ best, differences, direction, groups, metricKey }) => ({
      metric_key: metricKey,
      direction,
      best,
      groups: groups.map(({ count, high, low, mean, std }) => ({
        count,
        mean: number(mean),
        std: number(std),
        low: number(low),
        high: number(high),
      })),
      differences: differences.map((one) => ({
        first: one.first,
        second: one.second,
        difference: number(one.difference),
        low: number(one.low),
        high: number(one.high),
        p_value: number(one.pValue),
        adjusted_p_value: number(one.adjustedPValue),
        is_significant: one.isSignificant,
      })),
    })),
    notes: result.notes,
  };
}
