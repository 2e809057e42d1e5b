/** `quark-sdk/analysis`: finds what went wrong in a run: rules, health scores, phases, comparison, reports and live watching. */

// Names that have moved to `quark-sdk/kernels`.
export {
  /** @deprecated Import it from `quark-sdk/kernels`. */ createSeriesKernels,
  /** @deprecated Import it from `quark-sdk/kernels`. */ type AsyncArguments,
  /** @deprecated Import it from `quark-sdk/kernels`. */ type AsyncMethods,
  /** @deprecated Import it from `quark-sdk/kernels`. */ type SeriesKernels,
  /** @deprecated Import it from `quark-sdk/kernels`. */ type SeriesKernelsConfig,
} from './kernel/series/series-kernels.ts';
export {
  /** @deprecated Import it from `quark-sdk/kernels`. */ loadSeriesKernel,
} from './kernel/series/load-kernel.ts';
export {
  /** @deprecated Import it from `quark-sdk/kernels`. */ jsSeriesKernel,
  /** @deprecated Import it from `quark-sdk/kernels`. */ type SeriesKernel,
} from './kernel/series/series-kernel.ts';
export {
  /** @deprecated Import it from `quark-sdk/kernels`. */ AUTOCORRELATION_CHOICES,
  /** @deprecated Import it from `quark-sdk/kernels`. */ CHANGE_LOSSES,
  /** @deprecated Import it from `quark-sdk/kernels`. */ CHANGE_MODELS,
  /** @deprecated Import it from `quark-sdk/kernels`. */ type AutocorrelationChoice,
  /** @deprecated Import it from `quark-sdk/kernels`. */ type ChangeKernel,
  /** @deprecated Import it from `quark-sdk/kernels`. */ type ChangeLoss,
  /** @deprecated Import it from `quark-sdk/kernels`. */ type ChangeModel,
  /** @deprecated Import it from `quark-sdk/kernels`. */ type ChangePointOptions,
  /** @deprecated Import it from `quark-sdk/kernels`. */ type ChangePoints,
} from './kernel/series/change/change.ts';
export {
  /** @deprecated Import it from `quark-sdk/kernels`. */ NORMAL_MAD_SCALE,
  /** @deprecated Import it from `quark-sdk/kernels`. */ QUANTILE_METHODS,
  /** @deprecated Import it from `quark-sdk/kernels`. */ type MedianAbsoluteDeviation,
  /** @deprecated Import it from `quark-sdk/kernels`. */ type MedianAbsoluteDeviationOptions,
  /** @deprecated Import it from `quark-sdk/kernels`. */ type OrderKernel,
  /** @deprecated Import it from `quark-sdk/kernels`. */ type QuantileMethod,
  /** @deprecated Import it from `quark-sdk/kernels`. */ type QuantileOptions,
} from './kernel/series/order/order.ts';
export {
  /** @deprecated Import it from `quark-sdk/kernels`. */ OUTLIER_METHODS,
  /** @deprecated Import it from `quark-sdk/kernels`. */ OUTLIER_SIDES,
  /** @deprecated Import it from `quark-sdk/kernels`. */ type OutlierBaseline,
  /** @deprecated Import it from `quark-sdk/kernels`. */ type OutlierKernel,
  /** @deprecated Import it from `quark-sdk/kernels`. */ type OutlierMethod,
  /** @deprecated Import it from `quark-sdk/kernels`. */ type OutlierOptions,
  /** @deprecated Import it from `quark-sdk/kernels`. */ type Outliers,
  /** @deprecated Import it from `quark-sdk/kernels`. */ type OutlierSide,
} from './kernel/series/outlier/outlier.ts';
export {
  /** @deprecated Import it from `quark-sdk/kernels`. */ QuantileSketch,
  /** @deprecated Import it from `quark-sdk/kernels`. */ type QuantileSketchOptions,
} from './kernel/series/sketch/quantile-sketch.ts';
export type {
  /** @deprecated Import it from `quark-sdk/kernels`. */ BucketOptions,
  /** @deprecated Import it from `quark-sdk/kernels`. */ BucketReduction,
  /** @deprecated Import it from `quark-sdk/kernels`. */ DrawKernel,
  /** @deprecated Import it from `quark-sdk/kernels`. */ LttbOptions,
  /** @deprecated Import it from `quark-sdk/kernels`. */ SeriesReduction,
} from './kernel/series/draw/draw.ts';
export {
  /** @deprecated Import it from `quark-sdk/kernels`. */ SeriesPyramid,
  /** @deprecated Import it from `quark-sdk/kernels`. */ type PyramidQuery,
} from './kernel/series/draw/draw-pyramid.ts';
export {
  /** @deprecated Import it from `quark-sdk/kernels`. */ ALIGN_FILLS,
  /** @deprecated Import it from `quark-sdk/kernels`. */ ALIGN_JOINS,
  /** @deprecated Import it from `quark-sdk/kernels`. */ SPIKE_DIRECTIONS,
  /** @deprecated Import it from `quark-sdk/kernels`. */ type AlignedSeries,
  /** @deprecated Import it from `quark-sdk/kernels`. */ type AlignFill,
  /** @deprecated Import it from `quark-sdk/kernels`. */ type AlignJoin,
  /** @deprecated Import it from `quark-sdk/kernels`. */ type AlignOptions,
  /** @deprecated Import it from `quark-sdk/kernels`. */ type AreaOptions,
  /** @deprecated Import it from `quark-sdk/kernels`. */ type CurveArea,
  /** @deprecated Import it from `quark-sdk/kernels`. */ type CurveKernel,
  /** @deprecated Import it from `quark-sdk/kernels`. */ type MannKendall,
  /** @deprecated Import it from `quark-sdk/kernels`. */ type SmoothExponentialOptions,
  /** @deprecated Import it from `quark-sdk/kernels`. */ type SmoothRobustOptions,
  /** @deprecated Import it from `quark-sdk/kernels`. */ type Spike,
  /** @deprecated Import it from `quark-sdk/kernels`. */ type SpikeDirection,
  /** @deprecated Import it from `quark-sdk/kernels`. */ type SpikeOptions,
  /** @deprecated Import it from `quark-sdk/kernels`. */ type SteppedSeries,
  /** @deprecated Import it from `quark-sdk/kernels`. */ type TheilSenOptions,
  /** @deprecated Import it from `quark-sdk/kernels`. */ type TheilSenResult,
} from './kernel/series/curve/curve.ts';
export type {
  /** @deprecated Import it from `quark-sdk/kernels`. */ SeriesValues,
} from './kernel/series/module/values.ts';
export type {
  /** @deprecated Import it from `quark-sdk/kernels`. */ KernelCallOptions,
  /** @deprecated Import it from `quark-sdk/kernels`. */ KernelsDiagnostics,
} from './kernel/workers/dispatch.ts';

export {
  axisOf,
  LAYER_NUMBERS,
  PARAMETER_NUMBERS,
  TELEMETRY_NUMBERS,
  type BatchColumns,
  type EventColumns,
  type LayerNumber,
  type LayerSeries,
  type MetricSeries,
  type ParameterNumber,
  type ParameterSeries,
  type PlacedColumns,
  type RunColumns,
  type RunInfo,
  type SeriesAxis,
  type TelemetryColumns,
  type TelemetryNumber,
} from './analysis/columns/run-columns.ts';
export { createRunColumns, type RunColumnsParts } from './analysis/columns/empty-columns.ts';
export { createBatchColumns, type BatchRow } from './analysis/columns/batch-columns.ts';
export { createMetricSeries, type MetricSamples } from './analysis/columns/metric-series.ts';
export {
  loadRunColumns,
  type AnalyzableRun,
  type WantedColumns,
} from './analysis/columns/load-run-columns.ts';
export {
  AnalyzerEngine,
  type AlertFilter,
  type AnalyzeRunOptions,
  type HealthScoreFilter,
} from './analysis/engine/analyzer-engine.ts';
export {
  analyzeColumns,
  evidenceOf,
  type AnalyzeOptions,
  type AnalyzerResult,
} from './analysis/evaluate/analyze-columns.ts';
export { groupAlerts, type AlertGroup } from './analysis/evaluate/alert-groups.ts';
export type {
  Coverage,
  CoverageQuestion,
  OpenQuestion,
  ScoreCoverage,
} from './analysis/evaluate/coverage.ts';
export { sayVerdict, type VerdictSource } from './analysis/evaluate/verdict.ts';
export {
  COMPATIBILITIES,
  DEFAULT_ANALYZER_ENGINE_CONFIG,
  type AnalyzerEngineConfig,
  type AnyRuleId,
  type Compatibility,
} from './analysis/evaluate/analyzer-config.ts';
export { DEFAULT_METRIC_KEYS, type MetricKeys } from './analysis/signals/metric-keys.ts';
export {
  DEFAULT_ANALYZER_THRESHOLDS,
  describeRules,
  RULE_IDS,
  type AnalyzerThresholds,
  type RuleDescription,
  type RuleId,
  type ThresholdName,
} from './analysis/rules/rules.ts';
export { defineRule, type FindingTemplate, type Levels } from './analysis/signals/rule.ts';
export {
  LIVE_CADENCES,
  type Finding,
  type LiveCadence,
  type Observation,
  type OwnFinding,
  type OwnRule,
  type Rule,
  type RuleContext,
  type Threshold,
  type ThresholdValues,
} from './analysis/signals/rule-types.ts';
export type { RunPosition, RunSpan } from './analysis/signals/positions.ts';
export type { LossCourse, Signals } from './analysis/signals/signals.ts';
export type { RuleFailure } from './analysis/signals/check-rule.ts';
export {
  alertIdentity,
  audibleAlerts,
  silenceOf,
  type AlertIdentity,
  type SilencedAlert,
} from './analysis/alerts/silences.ts';
export type { Silence } from './records/shapes/silence.ts';
export type { AlertSelection, SilenceOptions } from './analysis/engine/silence-run.ts';
export {
  analyzerConfigOf,
  checkQuarkConfig,
  configForRun,
  parseQuarkConfig,
  quarkConfigSchema,
  type QuarkConfig,
} from './analysis/config/quark-config.ts';
export type { RuleProblem } from './analysis/own/own-rules.ts';
export type { DeclaredRule } from './analysis/own/declared-rule.ts';
export { SEVERITY_FACTORS, STATUS_LIMITS } from './analysis/evaluate/health-scores.ts';
export { findPhases } from './analysis/phases/find-phases.ts';
export { PHASE_DISPLAY_NAMES, type FoundPhase } from './analysis/phases/describe.ts';
export {
  PhaseAnalyzer,
  type AnalyzePhasesOptions,
  type PhaseFilter,
} from './analysis/engine/phase-analyzer.ts';
export {
  analyzePhases,
  type PhaseAnalysisResult,
  type PhaseRecordOptions,
} from './analysis/evaluate/phases-of.ts';
export {
  DEFAULT_PHASE_ANALYZER_THRESHOLDS,
  type PhaseAnalyzerThresholds,
  type PhaseSettings,
} from './analysis/phases/thresholds.ts';
export type { PhaseAnalyzerConfig } from './analysis/evaluate/phase-config.ts';
export { sayJudgedWith, type JudgedWith } from './analysis/evaluate/judged-with.ts';
export { findRoleSeries, type RoleSeries } from './analysis/signals/roles/loss-roles.ts';
export { CONVENTIONAL_ROLE_KEYS, type RoleKeys } from './analysis/signals/roles/role-keys.ts';
export { findRoles } from './analysis/signals/roles/roles.ts';
export { ROLE_NOUNS, sayRoles } from './analysis/signals/roles/say-roles.ts';
export type {
  RoleCandidate,
  RoleChoice,
  Roles,
  RoleUnit,
  Sureness,
} from './analysis/signals/roles/role-types.ts';
export { ComparisonEngine, type CompareRunsOptions } from './analysis/engine/comparison-engine.ts';
export type { AnalysisProgress, RunAnalysisOptions } from './analysis/evaluate/run-options.ts';
export {
  compareColumnGroups,
  compareColumns,
  type CompareOptions,
  type RunComparisonResult,
} from './analysis/compare/compare-runs.ts';
export {
  TARGET_DIRECTIONS,
  type ComparisonEngineConfig,
  type MetricTargetSpec,
  type TargetDirection,
} from './analysis/compare/compare-config.ts';
export type { Comparability } from './analysis/compare/comparability.ts';
export type { ComparisonTarget } from './analysis/compare/run-data.ts';
export {
  METRIC_DIRECTIONS,
  PRESENCES,
  type AlertDiff,
  type ComparedRun,
  type ConfigDiff,
  type LayerSummaryDiff,
  type MetricDiff,
  type MetricDirection,
  type PhaseDiff,
  type Presence,
} from './analysis/compare/diff-records.ts';
export type {
  GroupComparison,
  GroupDifference,
  MetricGroups,
} from './analysis/compare/seed-groups.ts';
export {
  groupRuns,
  RUN_GROUPINGS,
  type GroupableRun,
  type RunGroup,
  type RunGrouping,
} from './analysis/compare/run-groups.ts';
export {
  BAND_KINDS,
  bandOfCurves,
  type BandKind,
  type CurveBand,
  type CurveBandOptions,
  type CurvePoints,
} from './analysis/compare/curve-band.ts';
export {
  compareValues,
  type ComparedValue,
  type CompareValuesOptions,
  type ValueRow,
} from './analysis/compare/value-row.ts';
export { compareSettings, type SettingRow } from './analysis/compare/compare-settings.ts';
export {
  METRIC_STATISTICS,
  metricQuantity,
  runQuantity,
  settingQuantity,
  summarizedMetrics,
  varyingSettings,
  type DescribedRun,
  type MetricStatistic,
  type RunQuantity,
} from './analysis/sweep/quantity.ts';
export {
  configImportance,
  IMPORTANCE_METHODS,
  MIN_IMPORTANCE_RUNS,
  type ConfigImportance,
  type ConfigImportanceOptions,
  type ImportanceMethod,
  type MeasuredRun,
  type SettingImportance,
} from './analysis/sweep/importance.ts';
export { paretoFront, type ValuePair } from './analysis/sweep/pareto.ts';
export type { MeanInterval } from './analysis/signals/student-t.ts';
export { AlertWatch, type WatchStatus } from './analysis/watch/alert-watch.ts';
export {
  WATCH_ACTIONS,
  type ActionCondition,
  type WatchAction,
  type WatchOptions,
} from './analysis/watch/watch-options.ts';
export { readDownsampling, type RunDownsampling } from './read/downsampling.ts';
export { report, type ReportOptions, type RunReport } from './analysis/report/report.ts';
export {
  findHardBatches,
  type HardBatch,
  type HardBatches,
  type HardBatchOptions,
  type TracedSpike,
} from './analysis/batches/hard-batches.ts';
export { tabulateHardBatches, type HardBatchTable } from './analysis/batches/tabulate.ts';
export type { HardClass } from './analysis/batches/hard-classes.ts';
export type { HardSample } from './analysis/batches/hard-samples.ts';
export { writtenReportHtml } from './analysis/report/written-html.ts';
export { writtenReportMarkdown } from './analysis/report/written-markdown.ts';
export { type Profile as SeriesProfile } from './analysis/signals/profile.ts';
export { type RoleSettings } from './analysis/signals/metric-keys.ts';
export { type SeriesPair } from './analysis/signals/roles/role-types.ts';
export { type RuleOfOneKind } from './analysis/signals/rule.ts';
export { type JsonSchema } from './schema/shape.ts';
