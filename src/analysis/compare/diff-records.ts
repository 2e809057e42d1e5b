/** What a comparison says, as records. All differences are primary less reference. They are computed, not stored. */
import {
  bool,
  count,
  f64,
  json,
  jsonObject,
  literal,
  nullable,
  text,
  textList,
} from '../../schema/column.ts';
import { defineRecord, type RecordDefinition, type RecordOf } from '../../schema/record.ts';
import { LAYER_SUMMARY_TYPES, PHASE_NAMES, RUN_STATUSES } from '../../records/literals.ts';

/** Where something was found: in both runs or in one. */
export const PRESENCES = ['both', 'primary', 'reference'] as const;

/** One of {@link PRESENCES}. */
export type Presence = (typeof PRESENCES)[number];

/** Which way a metric is better. */
export const METRIC_DIRECTIONS = ['lower', 'higher'] as const;

/** One of {@link METRIC_DIRECTIONS}. */
export type MetricDirection = (typeof METRIC_DIRECTIONS)[number];

const runColumns = {
  runId: text('Identifier of the run.'),
  status: literal(
    'Where the run is in its life; `interrupted` too when nobody holds it.',
    RUN_STATUSES,
  ),
  projectName: nullable(text('Name of its project; null for a run in memory.')),
  tags: textList('Labels of the run.'),
  gitCommit: nullable(text('Commit of the working directory.')),
  startedAt: nullable(text('When the run was started, ISO 8601.')),
  endedAt: nullable(text('When it ended; null while it runs.')),
  metricCount: count('Metrics it has.'),
  stepEnd: nullable(count('Last step of any metric; null where all have epochs only.')),
  alertsAreStored: bool(
    'Whether alerts are those an earlier analysis stored; else they were found for the comparison.',
  ),
  phasesAreStored: bool('The same of phases.'),
};

/** One side of a comparison. */
export const comparedRunRecord: RecordDefinition<typeof runColumns> = defineRecord(
  'compared_run',
  'One side of a comparison.',
  runColumns,
);

/** One side of a comparison. */
export type ComparedRun = RecordOf<typeof runColumns>;

const metricColumns = {
  metricKey: text('The full key of the metric.'),
  presence: literal('Which runs have a finite value of it.', PRESENCES),
  direction: nullable(
    literal(
      'Which way it is better, by its name or its target; null where nobody knows.',
      METRIC_DIRECTIONS,
    ),
  ),
  axis: nullable(
    literal('What the two series were aligned by; null where they have nothing in common.', [
      'step',
      'epoch',
    ]),
  ),
  commonCount: count('Places of the axis at which both have a finite value.'),
  primaryCount: count('Finite values of the primary.'),
  referenceCount: count('Finite values of the baseline.'),
  primaryFirst: nullable(f64('First finite value.')),
  referenceFirst: nullable(f64('First finite value.')),
  firstDelta: nullable(f64('Difference of the first values.')),
  primaryLast: nullable(f64('Last finite value.')),
  referenceLast: nullable(f64('Last finite value.')),
  lastDelta: nullable(f64('Difference of the last values.')),
  primaryBest: nullable(f64('Best value; null without a direction.')),
  referenceBest: nullable(f64('Best value; null without a direction.')),
  bestDelta: nullable(f64('Difference of the best values.')),
  primaryBestStep: nullable(count('Step, or epoch, of the best value, the first of equals.')),
  referenceBestStep: nullable(count('Step, or epoch, of the best value, the first of equals.')),
  primaryArea: nullable(f64('Area under the curve over the range that both cover, by trapezoids.')),
  referenceArea: nullable(
    f64('Area under the curve over the range that both cover, by trapezoids.'),
  ),
  areaDelta: nullable(f64('Difference of the areas.')),
  primaryMean: nullable(f64('Area divided by the length of the range: the mean height.')),
  referenceMean: nullable(f64('Area divided by the length of the range: the mean height.')),
  meanDelta: nullable(f64('Difference of the mean heights.')),
  lastPValue: nullable(
    f64(
      'Probability of such a difference of the last tenths by the noise within the runs alone; says nothing of other seeds.',
    ),
  ),
  firstDifferentStep: nullable(count('First common place at which the values differ at all.')),
  partingStep: nullable(
    count(
      'First common place from which on the difference stays out of the noise for a while; null where they do not part.',
    ),
  ),
  rejoiningStep: nullable(
    count(
      'Common place from which on a difference that had parted is within the noise again, to the end; null where it stays apart.',
    ),
  ),
  targetValue: nullable(f64('The target, where one was set.')),
  targetDirection: nullable(
    literal('Whether it is to be reached from below or from above.', ['at_least', 'at_most']),
  ),
  primaryTimeToTargetStep: nullable(
    count('First step, or epoch, at which the target is met; null when it never is.'),
  ),
  referenceTimeToTargetStep: nullable(
    count('First step, or epoch, at which the target is met; null when it never is.'),
  ),
  timeToTargetStepDelta: nullable(f64('Difference of the two; null unless both meet it.')),
};

/** How a metric differs between two runs. */
export const metricDiffRecord: RecordDefinition<typeof metricColumns> = defineRecord(
  'metric_diff',
  'How a metric differs between two runs.',
  metricColumns,
);

/** How a metric differs between two runs. */
export type MetricDiff = RecordOf<typeof metricColumns>;

const alertColumns = {
  primaryCount: count('Alerts of the primary.'),
  referenceCount: count('Alerts of the baseline.'),
  newRuleIds: textList('Rules that fired in the primary only.'),
  resolvedRuleIds: textList('Rules that fired in the baseline only.'),
  sharedRuleIds: textList('Rules that fired in both.'),
  worsenedRuleIds: textList('Rules that fired in both, more severely in the primary.'),
  improvedRuleIds: textList('Rules that fired in both, less severely in the primary.'),
  primarySeverityCounts: jsonObject('Alerts of the primary by severity.'),
  referenceSeverityCounts: jsonObject('Alerts of the baseline by severity.'),
  rules: json(
    'Each rule: `rule_id`, and of each run the count, the worst severity and the first step.',
  ),
};

/** How the alerts of two runs differ. */
export const alertDiffRecord: RecordDefinition<typeof alertColumns> = defineRecord(
  'alert_diff',
  'How the alerts of two runs differ.',
  alertColumns,
);

/** How the alerts of two runs differ. */
export type AlertDiff = RecordOf<typeof alertColumns>;

const phaseColumns = {
  phaseName: literal('The training regime.', PHASE_NAMES),
  presence: literal('Which runs have such a phase.', PRESENCES),
  primaryStepStart: nullable(count('First step of the first phase of that name.')),
  referenceStepStart: nullable(count('First step of the first phase of that name.')),
  stepStartDelta: nullable(f64('Difference of the first steps.')),
  primaryStepEnd: nullable(count('Last step of the last phase of that name.')),
  referenceStepEnd: nullable(count('Last step of the last phase of that name.')),
  stepEndDelta: nullable(f64('Difference of the last steps.')),
  primaryStepCount: count('Steps in phases of that name.'),
  referenceStepCount: count('Steps in phases of that name.'),
  primaryShare: nullable(f64('Share of the run in phases of that name, 0 to 1.')),
  referenceShare: nullable(f64('Share of the run in phases of that name, 0 to 1.')),
  shareDelta: nullable(f64('Difference of the shares.')),
};

/** How a phase differs between two runs. */
export const phaseDiffRecord: RecordDefinition<typeof phaseColumns> = defineRecord(
  'phase_diff',
  'How a phase differs between two runs.',
  phaseColumns,
);

/** How a phase differs between two runs. */
export type PhaseDiff = RecordOf<typeof phaseColumns>;

const layerColumns = {
  moduleName: text('Path of the layer in the model.'),
  moduleType: text('Type of the layer.'),
  summaryType: literal('Activation or gradient.', LAYER_SUMMARY_TYPES),
  presence: literal('Which runs have such summaries.', PRESENCES),
  primaryCount: count('Summaries of the primary.'),
  referenceCount: count('Summaries of the baseline.'),
  statistics: json(
    'Of mean, std, norm, dead_unit_ratio, saturation_ratio: the means over all probes of each run, and `delta`; null where unknown.',
  ),
};

/** How the summaries of a layer differ between two runs. */
export const layerSummaryDiffRecord: RecordDefinition<typeof layerColumns> = defineRecord(
  'layer_summary_diff',
  'How the summaries of a layer differ between two runs.',
  layerColumns,
);

/** How the summaries of a layer differ between two runs. */
export type LayerSummaryDiff = RecordOf<typeof layerColumns>;

const configColumns = {
  path: text('Where in the configuration, keys joined by ".".'),
  presence: literal('Which runs have it.', PRESENCES),
  primaryValue: nullable(json('Value in the primary.')),
  referenceValue: nullable(json('Value in the baseline.')),
};

/** One setting that differs. */
export const configDiffRecord: RecordDefinition<typeof configColumns> = defineRecord(
  'config_diff',
  'One setting that differs.',
  configColumns,
);

/** One setting that differs. */
export type ConfigDiff = RecordOf<typeof configColumns>;
