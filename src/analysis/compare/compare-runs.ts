/** Two runs side by side, and many, in memory. */
import { checkOptionNames } from '../../base/assert.ts';
import { systemClock } from '../../base/clock.ts';
import type { SeriesKernel } from '../../kernel/series/series-kernel.ts';
import type { Dict } from '../../schema/record.ts';
import { schemaVersionOf } from '../../schema/version.ts';
import type { RunColumns } from '../columns/run-columns.ts';
import { analysisKernel } from '../signals/analysis-kernel.ts';
import { comparabilityOf, type Comparability } from './comparability.ts';
import {
  checkComparisonConfig,
  type ComparisonEngineConfig,
  type ComparisonSettings,
} from './compare-config.ts';
import { diffConfigs } from './config-diff.ts';
import type {
  AlertDiff,
  ComparedRun,
  ConfigDiff,
  LayerSummaryDiff,
  MetricDiff,
  PhaseDiff,
} from './diff-records.ts';
import { diffAlerts, diffLayers, diffPhases } from './findings-diff.ts';
import { inOrderOfInterest } from './metric-order.ts';
import { diffMetric } from './metric-diff.ts';
import { groupsOf, type GroupComparison } from './seed-groups.ts';
import { runDataOf, type RunData } from './run-data.ts';

/** Two runs side by side. */
export type RunComparisonResult = {
  /** Version of the stored form of records. */
  readonly schemaVersion: number;
  /** ISO 8601. */
  readonly generatedAt: string;
  /** `baseline` where the second run is what the first is measured by, else `pairwise`; no figure depends on it. */
  readonly mode: 'pairwise' | 'baseline';
  readonly primary: ComparedRun;
  readonly reference: ComparedRun;
  readonly comparability: Comparability;
  /** One for each metric of either run: losses first, then validation, accuracies, other metrics, learning rates, and the machine last. */
  readonly metricDiffs: readonly MetricDiff[];
  readonly alertDiff: AlertDiff;
  /** One for each phase that either run has. */
  readonly phaseDiffs: readonly PhaseDiff[];
  /** One for each layer and kind of summary of either run. */
  readonly layerSummaryDiffs: readonly LayerSummaryDiff[];
  /** The settings that differ. */
  readonly configDiffs: readonly ConfigDiff[];
  /**
   * Earliest `partingStep` of a training or validation loss, else of any metric; an epoch where all of these were compared by
   * epoch. Null where none parts.
   */
  readonly firstPartingStep: number | null;
  /** The result as a plain dictionary with snake_case names. */
  readonly toDict: () => Dict;
};

/** Options of {@link ComparisonEngine.compare}. */
export type CompareOptions = {
  /** Whether the other run is the baseline. Default false. */
  readonly baseline?: boolean;
};

/**
 * Compares two runs in memory, such as imported ones; `ComparisonEngine` compares those of a store.
 *
 * @param reference what the first is measured by where `baseline` is true; else the two are equals
 *
 * @throws {QuarkError} `invalid_input` naming the setting
 * @example
 * ```js
 * import { compareColumns, createMetricSeries, createRunColumns } from 'quark-sdk/analysis';
 *
 * const steps = Float64Array.from({ length: 100 }, (_, step) => step);
 * const runOf = (lr) =>
 *   createRunColumns({
 *     run: { config: { lr } },
 *     metrics: [createMetricSeries('train/loss', { steps, values: steps.map((step) => Math.exp(-lr * step)) })],
 *   });
 * const { configDiffs, firstPartingStep, metricDiffs } = await compareColumns(runOf(0.05), runOf(0.01));
 * console.log(configDiffs[0].path, firstPartingStep, metricDiffs[0].metricKey); // lr 1 train/loss
 * ```
 */
export async function compareColumns(
  primary: RunColumns,
  reference: RunColumns,
  options: CompareOptions & { readonly config?: ComparisonEngineConfig } = {},
): Promise<RunComparisonResult> {
  checkOptionNames('options', options, ['baseline', 'config']);
  const settings = checkComparisonConfig(options.config ?? {});
  const kernel = await analysisKernel();
  const first = await runDataOf(primary, settings, kernel);
  const second = await runDataOf(reference, settings, kernel);
  return comparisonOf(first, second, settings, kernel, options.baseline ?? false);
}

/**
 * Compares many runs in memory by groups: the runs of a group have the same configuration but for seeds.
 *
 * @throws {QuarkError} `invalid_input` naming the setting
 * @example
 * ```js
 * import { compareColumnGroups, createMetricSeries, createRunColumns } from 'quark-sdk/analysis';
 *
 * const steps = Float64Array.from({ length: 100 }, (_, step) => step);
 * const runOf = (runId, lr, seed) =>
 *   createRunColumns({
 *     run: { runId, config: { lr, seed } },
 *     metrics: [createMetricSeries('train/loss', { steps, values: steps.map((step) => Math.exp(-lr * step) + seed / 100) })],
 *   });
 * const { groups } = await compareColumnGroups([runOf('a', 0.1, 1), runOf('b', 0.1, 2), runOf('c', 0.01, 1), runOf('d', 0.01, 2)]);
 * for (const { name, runIds } of groups) console.log(name, runIds);
 * ```
 */
export async function compareColumnGroups(
  runs: readonly RunColumns[],
  config: ComparisonEngineConfig = {},
): Promise<GroupComparison> {
  const settings = checkComparisonConfig(config);
  return groupsOf(runs, settings, await analysisKernel());
}

const LOSS_KEY = /^(?:train|training|val|validation)\/(?:.*_)?loss$/iu;

/** Compares two runs that were read. */
export function comparisonOf(
  primary: RunData,
  reference: RunData,
  settings: ComparisonSettings,
  kernel: SeriesKernel,
  isBaseline: boolean,
): RunComparisonResult {
  const keys = new Set([...primary.columns.metrics.keys(), ...reference.columns.metrics.keys()]);
  const metricDiffs = inOrderOfInterest(keys).map((key) => {
    const one = primary.columns.metrics.get(key) ?? null;
    const two = reference.columns.metrics.get(key) ?? null;
    return diffMetric(key, one, two, settings, kernel);
  });
  const alertDiff = diffAlerts(primary.alerts, reference.alerts);
  const phaseDiffs = diffPhases(primary.phases, reference.phases);
  const layerSummaryDiffs = diffLayers(primary.columns.layers, reference.columns.layers);
  const configDiffs = diffConfigs(primary.columns.run.config, reference.columns.run.config);
  const comparability = comparabilityOf(primary, reference, metricDiffs, configDiffs);
  const mode = isBaseline ? 'baseline' : 'pairwise';
  const generatedAt = new Date(systemClock.now()).toISOString();
  const firstPartingStep = partingStepOf(metricDiffs);
  return comparisonResult({
    schemaVersion: schemaVersionOf('alerts'),
    generatedAt,
    mode,
    primary: primary.metadata,
    reference: reference.metadata,
    comparability,
    metricDiffs,
    alertDiff,
    phaseDiffs,
    layerSummaryDiffs,
    configDiffs,
    firstPartingStep,
  });
}

/** A result without its methods. */
export type ComparisonFields = Omit<RunComparisonResult, 'toDict'>;

/** Puts a result together. */
export function comparisonResult(fields: ComparisonFields): RunComparisonResult {
  const { comparability } = fields;
  return Object.freeze({
    ...fields,
    toDict: () => ({
      schema_version: fields.schemaVersion,
      generated_at: fields.generatedAt,
      mode: fields.mode,
      primary: fields.primary.toDict(),
      reference: fields.reference.toDict(),
      comparability: {
        is_comparable: comparability.isComparable,
        reasons: comparability.reasons,
        notes: comparability.notes,
      },
      metric_diffs: fields.metricDiffs.map((diff) => diff.toDict()),
      alert_diff: fields.alertDiff.toDict(),
      phase_diffs: fields.phaseDiffs.map((diff) => diff.toDict()),
      layer_summary_diffs: fields.layerSummaryDiffs.map((diff) => diff.toDict()),
      config_diffs: fields.configDiffs.map((diff) => diff.toDict()),
      first_parting_step: fields.firstPartingStep,
    }),
  });
}

function partingStepOf(diffs: readonly MetricDiff[]): number | null {
  const losses = diffs.filter(({ metricKey }) => LOSS_KEY.test(metricKey));
  const asked = losses.length > 0 ? losses : diffs;
  // Steps and epochs are not counted alike: the least of both would be neither.
  const byStep = asked.filter(({ axis }) => axis === 'step');
  const steps = (byStep.length > 0 ? byStep : asked).flatMap(
    ({ partingStep }) => partingStep ?? [],
  );
  return steps.length === 0 ? null : Math.min(...steps);
}
