/** `quark-sdk/analysis`: numeric routines over series, at once or in workers. */

export {
  createSeriesKernels,
  loadSeriesKernel,
  type AsyncArguments,
  type AsyncMethods,
  type SeriesKernels,
  type SeriesKernelsConfig,
} from './kernel/series/series-kernels.ts';
export { jsSeriesKernel, type SeriesKernel } from './kernel/series/series-kernel.ts';
export {
  AUTOCORRELATION_CHOICES,
  CHANGE_LOSSES,
  CHANGE_MODELS,
  type AutocorrelationChoice,
  type ChangeKernel,
  type ChangeLoss,
  type ChangeModel,
  type ChangePointOptions,
  type ChangePoints,
} from './kernel/series/change/change.ts';
export {
  NORMAL_MAD_SCALE,
  QUANTILE_METHODS,
  type MedianAbsoluteDeviation,
  type MedianAbsoluteDeviationOptions,
  type OrderKernel,
  type QuantileMethod,
  type QuantileOptions,
} from './kernel/series/order/order.ts';
export {
  OUTLIER_METHODS,
  OUTLIER_SIDES,
  type OutlierBaseline,
  type OutlierKernel,
  type OutlierMethod,
  type OutlierOptions,
  type Outliers,
  type OutlierSide,
} from './kernel/series/outlier/outlier.ts';
export {
  QuantileSketch,
  type QuantileSketchOptions,
} from './kernel/series/sketch/quantile-sketch.ts';
export type {
  BucketOptions,
  BucketReduction,
  DrawKernel,
  LttbOptions,
  SeriesReduction,
} from './kernel/series/draw/draw.ts';
export { SeriesPyramid, type PyramidQuery } from './kernel/series/draw/draw-pyramid.ts';
export {
  ALIGN_FILLS,
  ALIGN_JOINS,
  SPIKE_DIRECTIONS,
  type AlignedSeries,
  type AlignFill,
  type AlignJoin,
  type AlignOptions,
  type AreaOptions,
  type CurveArea,
  type CurveKernel,
  type MannKendall,
  type SmoothExponentialOptions,
  type SmoothRobustOptions,
  type Spike,
  type SpikeDirection,
  type SpikeOptions,
  type SteppedSeries,
  type TheilSenOptions,
  type TheilSenResult,
} from './kernel/series/curve/curve.ts';
export type { SeriesValues } from './kernel/series/module/values.ts';
export type { KernelCallOptions, KernelsDiagnostics } from './kernel/workers/dispatch.ts';
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
export {
  COMPATIBILITIES,
  DEFAULT_ANALYZER_ENGINE_CONFIG,
  type AnalyzerEngineConfig,
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
export { SEVERITY_FACTORS, STATUS_LIMITS } from './analysis/evaluate/health-scores.ts';
export { findPhases } from './analysis/phases/find-phases.ts';
export { PHASE_DISPLAY_NAMES, type FoundPhase } from './analysis/phases/describe.ts';
export {
  analyzePhases,
  PhaseAnalyzer,
  type AnalyzePhasesOptions,
  type PhaseAnalysisResult,
  type PhaseFilter,
  type PhaseRecordOptions,
} from './analysis/phases/phase-analyzer.ts';
export {
  DEFAULT_PHASE_ANALYZER_THRESHOLDS,
  type PhaseAnalyzerConfig,
  type PhaseAnalyzerThresholds,
  type PhaseSettings,
} from './analysis/phases/thresholds.ts';
export {
  CONVENTIONAL_ROLE_KEYS,
  findRoleSeries,
  type RoleKeys,
  type RoleSeries,
} from './analysis/signals/loss-roles.ts';
export {
  compareColumnGroups,
  compareColumns,
  ComparisonEngine,
  type CompareOptions,
  type RunComparisonResult,
} from './analysis/compare/comparison-engine.ts';
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
  RunGroup,
} from './analysis/compare/seed-groups.ts';
export type { MeanInterval } from './analysis/signals/student-t.ts';
export { AlertWatch, type WatchStatus } from './analysis/watch/alert-watch.ts';
export {
  WATCH_ACTIONS,
  type ActionCondition,
  type WatchAction,
  type WatchOptions,
} from './analysis/watch/watch-options.ts';
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
