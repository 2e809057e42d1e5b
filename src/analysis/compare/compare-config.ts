/** What a comparison is set by. */
import { checkLiteral, checkOptionNames } from '../../base/assert.ts';
import { invalidInput } from '../../base/errors.ts';
import type { AnalyzerEngineConfig } from '../evaluate/analyzer-config.ts';
import { checkAnalyzerConfig } from '../evaluate/analyzer-config.ts';
import { checkPhaseConfig, type PhaseAnalyzerConfig } from '../evaluate/phase-config.ts';
import { checkGrouping, type RunGrouping } from './run-groups.ts';

/** Whether a target is reached from below (`at_least`) or from above (`at_most`). */
export const TARGET_DIRECTIONS = ['at_least', 'at_most'] as const;

/** One of {@link TARGET_DIRECTIONS}. */
export type TargetDirection = (typeof TARGET_DIRECTIONS)[number];

/** A value that a metric is to reach: turns on the `timeToTargetStep` of its diff. */
export type MetricTargetSpec = {
  readonly metricKey: string;
  readonly targetValue: number;
  readonly direction: TargetDirection;
};

/** Settings of {@link ComparisonEngine}. */
export type ComparisonEngineConfig = {
  /** Values that metrics are to reach, one a metric. Default none. */
  readonly metricTargets?: readonly MetricTargetSpec[];
  /** Level of confidence intervals, above 0 and below 1. Default 0.95. */
  readonly confidenceLevel?: number;
  /**
   * What makes runs a group where many are compared. Default `config`: the same configuration but for seeds. Runs in memory have no
   * tags, groups and types of jobs.
   */
  readonly groupBy?: RunGrouping;
  /**
   * How alerts are found, and by default what phases agree with. Stored alerts are compared where it says nothing, or what they were found
   * with; otherwise they are found anew. Roles count for the runs that have such a metric.
   */
  readonly analyzer?: AnalyzerEngineConfig;
  /** The same for phases. Their `analyzer` is the one above, unless one is given here. */
  readonly phases?: PhaseAnalyzerConfig;
};

/** A checked {@link ComparisonEngineConfig}. */
export type ComparisonSettings = {
  readonly targets: ReadonlyMap<string, MetricTargetSpec>;
  readonly confidenceLevel: number;
  readonly groupBy: RunGrouping;
  readonly analyzer: AnalyzerEngineConfig;
  readonly phases: PhaseAnalyzerConfig;
  /** Whether roles of metrics that a run does not have are left out for it, rather than refused. */
  readonly areRolesOptional: boolean;
};

/** @throws {QuarkError} `invalid_input` naming the setting */
export function checkComparisonConfig(config: ComparisonEngineConfig): ComparisonSettings {
  checkOptionNames('config', config, [
    'metricTargets',
    'confidenceLevel',
    'groupBy',
    'analyzer',
    'phases',
  ]);
  const { analyzer = {}, confidenceLevel = 0.95, metricTargets = [], phases = {} } = config;
  const groupBy = checkGrouping('config.groupBy', config.groupBy ?? 'config');
  checkConfidenceLevel('config.confidenceLevel', confidenceLevel);
  if (!Array.isArray(metricTargets))
    throw invalidInput('config.metricTargets', metricTargets, 'a list of targets');
  const targets = new Map<string, MetricTargetSpec>();
  metricTargets.forEach((target, i) => {
    const checked = checkTarget(`config.metricTargets[${i}]`, target);
    if (targets.has(checked.metricKey))
      throw invalidInput(
        `config.metricTargets[${i}].metricKey`,
        checked.metricKey,
        'a metric that has no other target',
      );
    targets.set(checked.metricKey, checked);
  });
  checkAnalyzerConfig(analyzer);
  const all = { analyzer, ...phases };
  checkPhaseConfig(all);
  return { targets, confidenceLevel, groupBy, analyzer, phases: all, areRolesOptional: true };
}

/** @throws {QuarkError} `invalid_input` */
export function checkConfidenceLevel(field: string, level: unknown): number {
  if (typeof level === 'number' && level > 0 && level < 1) return level;
  throw invalidInput(field, level, 'a number above 0 and below 1');
}

function checkTarget(field: string, target: MetricTargetSpec): MetricTargetSpec {
  checkOptionNames(field, target, ['metricKey', 'targetValue', 'direction']);
  const { direction, metricKey, targetValue } = target;
  if (typeof metricKey !== 'string' || metricKey === '')
    throw invalidInput(`${field}.metricKey`, metricKey, 'the key of a metric');
  if (typeof targetValue !== 'number' || !Number.isFinite(targetValue))
    throw invalidInput(`${field}.targetValue`, targetValue, 'a finite number');
  return {
    metricKey,
    targetValue,
    direction: checkLiteral(`${field}.direction`, direction, TARGET_DIRECTIONS),
  };
}
