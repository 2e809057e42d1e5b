/** `quark-sdk`: records training runs and reads them back, in browsers, in workers and in Node. */
export { type Clock } from './base/clock.ts';
export {
  ERROR_CODES,
  InvalidRunStateError,
  isQuarkError,
  isStoreError,
  QuarkError,
  RunNotFoundError,
  SchemaMigrationError,
  SchemaValidationError,
  SessionStoreError,
  STORE_FAILURE_REASONS,
  type ErrorCode,
  type ErrorDetails,
  type QuarkErrorOptions,
  type StoreFailureReason,
} from './base/errors.ts';
export { type JsonObject, type JsonValue } from './base/json.ts';
export { VERSION } from './base/version.ts';

export { addLog, addTag, endRun, resumeRun, startRun } from './session/functions.ts';
export { TrainingSession } from './session/training-session.ts';
export {
  type RecordingCallback,
  type RecordingProblem,
  type RecordingStatus,
} from './session/recording-health.ts';
export { RunContext } from './session/run-context.ts';
export {
  configurePersistence,
  type KeepLocal,
  type PersistenceOptions,
} from './store/persistence.ts';
export {
  type ResumeRunOptions,
  type SessionOptions,
  type StartRunOptions,
} from './session/run-options.ts';
export {
  DEFAULT_WRITER_OPTIONS,
  type WriterOptions,
  type WriterStatus,
} from './session/buffered-writer.ts';
export {
  MetricsLogger,
  NON_FINITE_POLICIES,
  type LogColumnsOptions,
  type LogMetricOptions,
  type MetricPosition,
  type MetricsLoggerOptions,
  type NonFinitePolicy,
} from './session/metrics-logger.ts';
export {
  DEFAULT_EVENT_SEVERITIES,
  defaultSeverity,
  EventLogger,
  type AddLogOptions,
  type LogEventOptions,
} from './session/event-logger.ts';

export { type PositionFilter } from './read/filters.ts';
export { type EventFilter } from './read/events.ts';
export { type MetricColumns, type MetricFilter } from './read/metric-columns.ts';
export { MetricRecord } from './read/metric-record.ts';
export { openRun, RunReader } from './read/run-reader.ts';
export { listRuns, type RunListFilter, type RunSummary } from './read/runs.ts';
export { toArrowTable } from './read/arrow-table.ts';
export { describeDamage, type DamageReport } from './segment/open-segment.ts';
export { migrateStore, type MigrateStoreOptions } from './location/migrate-store.ts';

export {
  type Dict,
  type DictValue,
  dumpRecord,
  type RecordMethods,
  validateRecord,
} from './schema/record.ts';
export { CURRENT_SCHEMA_VERSION } from './schema/version.ts';
export { type AlertRecord } from './records/alert.ts';
export { type ArtifactRecord } from './records/artifact.ts';
export { type BatchDiagnosticRecord } from './records/batch-diagnostic.ts';
export { type EventRecord } from './records/event.ts';
export { type EvidenceRecord } from './records/evidence.ts';
export { type HealthScoreRecord } from './records/health-score.ts';
export { type LayerSummaryRecord } from './records/layer-summary.ts';
export { type ParameterDistributionRecord } from './records/parameter-distribution.ts';
export { type ParameterSummaryRecord } from './records/parameter-summary.ts';
export { type PhaseRecord } from './records/phase.ts';
export { type ProjectRecord } from './records/project.ts';
export { type RunRecord } from './records/run.ts';
export { type SystemTelemetryRecord } from './records/system-telemetry.ts';
export {
  ALERT_CATEGORIES,
  ALERT_SEVERITIES,
  type AlertCategory,
  type AlertSeverity,
  ARTIFACT_PAYLOAD_FORMATS,
  type ArtifactPayloadFormat,
  EVENT_SEVERITIES,
  type EventSeverity,
  HEALTH_SCORE_KEYS,
  HEALTH_STATUSES,
  type HealthScoreKey,
  type HealthStatus,
  HOOK_DIRECTIONS,
  type HookDirection,
  LAYER_SUMMARY_TYPES,
  type LayerSummaryType,
  LOG_IDENTIFIERS,
  type LogIdentifier,
  PARAMETER_DISTRIBUTION_TYPES,
  PARAMETER_ROLES,
  type ParameterDistributionType,
  type ParameterRole,
  PHASE_NAMES,
  type PhaseName,
  RUN_STATUSES,
  type RunStatus,
  TELEMETRY_BOUNDARIES,
  type TelemetryBoundary,
  TERMINAL_RUN_STATUSES,
  type TerminalRunStatus,
} from './records/literals.ts';

export { createKernels, type Kernels } from './kernel/tensor/kernels.ts';
export type { KernelCallOptions, KernelsDiagnostics } from './kernel/workers/dispatch.ts';
export { DEFAULT_KERNELS_CONFIG, type KernelsConfig } from './kernel/workers/config.ts';
export { DEFAULT_HISTOGRAM_BINS, MAX_HISTOGRAM_BINS, MAX_UNITS } from './kernel/tensor/checks.ts';
export { histogramEdges, mergeHistograms } from './kernel/tensor/histogram-bins.ts';
export { mergeTensorPairStats, mergeTensorStats } from './kernel/tensor/results.ts';
export { inactiveUnits, mergeTensorUnitStats } from './kernel/tensor/unit-results.ts';
export { HISTOGRAM_SCALES } from './kernel/kernel.ts';
export type {
  Histogram,
  HistogramOptions,
  HistogramScale,
  Kernel,
  PairData,
  PairType,
  TensorData,
  TensorPairStats,
  TensorStats,
  TensorStatsOptions,
  TensorType,
  TensorTypeOptions,
  TensorUnitStats,
  TensorUnitStatsOptions,
  ValueRange,
} from './kernel/kernel.ts';
export type { WorkerLike, WorkerMode, WorkerWayName } from './kernel/workers/spawn.ts';

export { openStorage } from './location/open-storage.ts';
export { registerStorage, type OpenStorageOptions, type StorageFactory } from './store/registry.ts';
export { createMemoryStore } from './store/memory/memory-store.ts';
export type { Curve, CurveQuery, RunCurves } from './store/curves.ts';
export type { LossReport, RowSpill } from './store/row-spill.ts';
export { openSync } from './sync/open-sync.ts';
export type { OpenSyncOptions, SyncTask } from './sync/sync-storage.ts';
export type { SyncTarget } from './sync/sync-notes.ts';
export type { HolderTag } from './sync/leadership.ts';
export type {
  RefusedSegment,
  StoreSync,
  SyncedOptions,
  SyncProblem,
  SyncState,
  SyncStatus,
} from './store/sync-control.ts';
export type {
  BatchRange,
  Lease,
  MergedSegment,
  NewSegment,
  RunFilter,
  SegmentEncoding,
  SegmentFilter,
  SegmentIdentity,
  SegmentManifest,
  SegmentRead,
  SegmentReference,
  Store,
  StoredProject,
  StoredRun,
  StoreLocation,
  StoreNote,
  StoreNotes,
  StoreSurvey,
  StreamState,
  UpdateResult,
} from './store/store.ts';
