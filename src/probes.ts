/** `quark-sdk/probes`: what goes on inside a model and around it, whatever the framework; and what is no number. */
export { HookEngine } from './instruments/probes/hook-engine.ts';
export { type ProbeStatus, type ProbeStepOptions } from './instruments/probes/instrument.ts';
export {
  DEFAULT_HOOK_ENGINE_CONFIG,
  type HookEngineConfig,
  type ProbeConfig,
} from './instruments/probes/hook-config.ts';
export {
  DEFAULT_HOOK_SCHEDULE_CONFIG,
  type HookScheduleConfig,
} from './instruments/probes/schedule.ts';
export {
  DEFAULT_LAYER_FILTER_CONFIG,
  type LayerFilterConfig,
  type NamePattern,
  type ParameterFilterConfig,
} from './instruments/probes/layer-filter.ts';
export type {
  CapturePoint,
  DeviceBatch,
  DeviceResult,
  LayerInfo,
  LayerWatch,
  ModelSource,
  ParameterChange,
  ParameterInfo,
  ParameterWatch,
  ReductionRequest,
  RetainedTensor,
  SourceTrouble,
  TensorHistogram,
  TensorRef,
  TensorSummary,
} from './instruments/probes/model-source.ts';
export { type LayerSummaryFilter } from './read/tables.ts';
export { type LayerSummaryRecord } from './records/layer-summary.ts';
export {
  ParameterDiagnostics,
  type ParameterRecords,
} from './instruments/probes/parameter-diagnostics.ts';
export {
  DEFAULT_PARAMETER_DIAGNOSTICS_CONFIG,
  type ParameterDiagnosticsConfig,
} from './instruments/probes/parameter-config.ts';
export { type ParameterDistributionFilter, type ParameterSummaryFilter } from './read/tables.ts';
export { type ParameterDistributionRecord } from './records/parameter-distribution.ts';
export { type ParameterSummaryRecord } from './records/parameter-summary.ts';

export { SystemTelemetry } from './instruments/telemetry/system-telemetry.ts';
export type {
  RecordStepOptions,
  SampleOptions,
  StartStepOptions,
} from './instruments/telemetry/system-telemetry.ts';
export {
  DEFAULT_SYSTEM_TELEMETRY_CONFIG,
  type SystemTelemetryConfig,
  type TensorMemory,
} from './instruments/telemetry/config.ts';
export { StepTelemetryScope, type StepOutcome } from './instruments/telemetry/step-scope.ts';
export { TELEMETRY_METRIC_KEYS } from './instruments/telemetry/scalars.ts';
export { type TelemetryFilter } from './read/tables.ts';

export {
  ARTIFACT_STORAGE_LAYOUT,
  ArtifactStore,
  type ArtifactStoreOptions,
  type LogHistogramOptions,
  type LogSnapshotOptions,
  type RetentionHook,
  type StoreArtifactOptions,
} from './instruments/artifacts/artifact-store.ts';
export {
  loadArtifact,
  streamArtifact,
  type ArtifactSource,
} from './instruments/artifacts/load-artifact.ts';
export type {
  ArtifactPayload,
  ByteStream,
  LoadedPayload,
} from './instruments/artifacts/payload.ts';
export { readArtifacts, type ArtifactFilter } from './read/artifacts.ts';

export { DataDiagnostics } from './instruments/diagnostics/data-diagnostics.ts';
export type {
  BatchRangeFilter,
  LogBatchOptions,
} from './instruments/diagnostics/data-diagnostics.ts';
export {
  MappingBatchMetadataAdapter,
  type BatchMetadata,
  type BatchMetadataAdapter,
  type MappingBatchMetadataAdapterOptions,
} from './instruments/diagnostics/batch-metadata.ts';
export {
  DEFAULT_DATA_DIAGNOSTICS_CONFIG,
  type DataDiagnosticsConfig,
} from './instruments/diagnostics/config.ts';
export {
  HARD_BATCH_REASONS,
  type DataDiagnosticsSummary,
  type ExposureSummary,
  type HardBatchFinding,
  type HardBatchReason,
  type LossSummary,
} from './instruments/diagnostics/findings.ts';
export { MAX_CLASSES, type Labels, type LabelTensor } from './instruments/diagnostics/labels.ts';
export { type BatchDiagnosticFilter } from './read/tables.ts';
export {
  summarizeBatches,
  type SummarizeBatchesOptions,
} from './instruments/diagnostics/summarize-batches.ts';

export {
  readBatchDiagnostics,
  readLayerColumns,
  readLayerSummaries,
  readParameterColumns,
  readParameterDistributions,
  readParameterSummaries,
  readTelemetry,
  type ReadableRun,
} from './read/tables.ts';
export { type LayerColumns } from './read/tables.ts';
export { type RecordsRead } from './read/records.ts';
export { type ParameterColumnFilter, type ParameterColumns } from './read/tables.ts';
export { type NameColumn } from './read/columns/column-cells.ts';
export { type RecordColumns } from './read/columns.ts';
export { type BatchDiagnosticRecord } from './records/batch-diagnostic.ts';
export { type SystemTelemetryRecord } from './records/system-telemetry.ts';
export { type RunSource } from './read/scan.ts';
