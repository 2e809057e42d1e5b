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
  type ErrorDetailsByCode,
  type AnyQuarkError,
  type QuarkErrorOf,
  type QuarkErrorOptions,
  type ResumeRefusal,
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
} from './session/storing/recording-health.ts';
export { type TrainingTotal } from './records/training-total.ts';
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
  editRun,
  type RunEditOptions,
  type RunDescription,
  type TagValue,
} from './session/run-edits.ts';
export {
  DEFAULT_WRITER_OPTIONS,
  type WriterOptions,
  type WriterStatus,
} from './session/writer-options.ts';
export { type MetricContext } from './base/series-key.ts';
export { BoundMetrics } from './session/bound-metrics.ts';
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
  AGGREGATE_KINDS,
  type AggregateKind,
  type MetricAggregate,
} from './session/aggregates/metric-aggregates.ts';
export {
  DEFAULT_EVENT_SEVERITIES,
  defaultSeverity,
  EventLogger,
  type AddLogOptions,
  type UserAlertOptions,
  type LogEventOptions,
} from './session/event-logger.ts';

export { type PositionFilter } from './read/filters.ts';
export { type EventFilter } from './read/events.ts';
export { type MetricColumns, type MetricFilter } from './read/metric-columns.ts';
export { type FollowedRecords, type FollowedRows, type FollowedTable } from './read/follow-rows.ts';
export {
  type FollowedPosition,
  type FollowEnd,
  type FollowOptions,
} from './read/following/follow-options.ts';
export { type RunFollowing } from './read/following/run-following.ts';
export { type RecordedSeries } from './read/columns/growing-series.ts';
export { type SeriesQuery, type SeriesRead } from './read/metric-series.ts';
export { MetricRecord } from './read/metric-record.ts';
export { openRun, RunReader } from './read/run-reader.ts';
export {
  archiveRun,
  deleteRun,
  listDeletedRuns,
  restoreRun,
  runSize,
  type DeletedRunFilter,
  type RunSize,
} from './read/run-deletion.ts';
export type {
  DeletedProject,
  DeletedRun,
  DeleteProjectOptions,
  DeleteRunOptions,
} from './store/store.ts';
export { hasTimes } from './read/run-times.ts';
export { listRuns, type RunListFilter, type RunSummary } from './read/runs.ts';
export {
  findRuns,
  type FindRunsOptions,
  type RunComparisons,
  type RunMatch,
  type RunMatches,
  type FindRunsQuery,
} from './read/finding/find-runs.ts';
export {
  DEFAULT_KEEP_UNNAMED_MS,
  sweepBlobs,
  type BlobSweepReport,
  type SweepBlobsOptions,
} from './read/blob-sweep.ts';
export { deleteProject } from './read/project-deletion.ts';
export { deleteArtifact, deleteTable } from './read/row-deletion.ts';
export { type DeletedRows } from './store/store.ts';
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
export type { AskedRoles, RoleName } from './records/run-roles.ts';
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

export { openStorage } from './location/open-storage.ts';
export { registerStorage, type OpenStorageOptions, type StorageFactory } from './store/registry.ts';
export { createMemoryStore } from './store/memory/memory-store.ts';
export { openSync } from './sync/open-sync.ts';
export type { OpenSyncOptions, SyncTask } from './sync/sync-storage.ts';
export type { SyncTarget } from './sync/sync-notes.ts';
export type {
  LostRows,
  RefusedSegment,
  StoreSync,
  SyncedOptions,
  SyncProblem,
  SyncState,
  SyncStatus,
} from './store/sync-control.ts';

// Names that have moved: to `quark-sdk/kernels` and `quark-sdk/store`.
export {
  /** @deprecated Import it from `quark-sdk/kernels`. */ createKernels,
  /** @deprecated Import it from `quark-sdk/kernels`. */ type Kernels,
} from './kernel/tensor/kernels.ts';
export type {
  /** @deprecated Import it from `quark-sdk/kernels`. */ KernelCallOptions,
  /** @deprecated Import it from `quark-sdk/kernels`. */ KernelsDiagnostics,
} from './kernel/workers/dispatch.ts';
export {
  /** @deprecated Import it from `quark-sdk/kernels`. */ DEFAULT_KERNELS_CONFIG,
  /** @deprecated Import it from `quark-sdk/kernels`. */ type KernelsConfig,
} from './kernel/workers/config.ts';
export {
  /** @deprecated Import it from `quark-sdk/kernels`. */ DEFAULT_HISTOGRAM_BINS,
  /** @deprecated Import it from `quark-sdk/kernels`. */ MAX_HISTOGRAM_BINS,
  /** @deprecated Import it from `quark-sdk/kernels`. */ MAX_UNITS,
} from './kernel/tensor/checks.ts';
export {
  /** @deprecated Import it from `quark-sdk/kernels`. */ histogramEdges,
  /** @deprecated Import it from `quark-sdk/kernels`. */ mergeHistograms,
} from './kernel/tensor/histogram-bins.ts';
export {
  /** @deprecated Import it from `quark-sdk/kernels`. */ mergeTensorPairStats,
  /** @deprecated Import it from `quark-sdk/kernels`. */ mergeTensorStats,
} from './kernel/tensor/results.ts';
export {
  /** @deprecated Import it from `quark-sdk/kernels`. */ inactiveUnits,
  /** @deprecated Import it from `quark-sdk/kernels`. */ mergeTensorUnitStats,
} from './kernel/tensor/unit-results.ts';
export {
  /** @deprecated Import it from `quark-sdk/kernels`. */ HISTOGRAM_SCALES,
} from './kernel/kernel.ts';
export type {
  /** @deprecated Import it from `quark-sdk/kernels`. */ Histogram,
  /** @deprecated Import it from `quark-sdk/kernels`. */ HistogramOptions,
  /** @deprecated Import it from `quark-sdk/kernels`. */ HistogramScale,
  /** @deprecated Import it from `quark-sdk/kernels`. */ Kernel,
  /** @deprecated Import it from `quark-sdk/kernels`. */ PairData,
  /** @deprecated Import it from `quark-sdk/kernels`. */ PairType,
  /** @deprecated Import it from `quark-sdk/kernels`. */ TensorData,
  /** @deprecated Import it from `quark-sdk/kernels`. */ TensorPairStats,
  /** @deprecated Import it from `quark-sdk/kernels`. */ TensorStats,
  /** @deprecated Import it from `quark-sdk/kernels`. */ TensorStatsOptions,
  /** @deprecated Import it from `quark-sdk/kernels`. */ TensorType,
  /** @deprecated Import it from `quark-sdk/kernels`. */ TensorTypeOptions,
  /** @deprecated Import it from `quark-sdk/kernels`. */ TensorUnitStats,
  /** @deprecated Import it from `quark-sdk/kernels`. */ TensorUnitStatsOptions,
  /** @deprecated Import it from `quark-sdk/kernels`. */ ValueRange,
} from './kernel/kernel.ts';
export type {
  /** @deprecated Import it from `quark-sdk/kernels`. */ WorkerLike,
  /** @deprecated Import it from `quark-sdk/kernels`. */ WorkerMode,
  /** @deprecated Import it from `quark-sdk/kernels`. */ WorkerWayName,
} from './kernel/workers/spawn.ts';
export type {
  /** @deprecated Import it from `quark-sdk/store`. */ Curve,
  /** @deprecated Import it from `quark-sdk/store`. */ CurveQuery,
  /** @deprecated Import it from `quark-sdk/store`. */ RunCurves,
} from './store/curves.ts';
export type {
  /** @deprecated Import it from `quark-sdk/store`. */ LossReport,
  /** @deprecated Import it from `quark-sdk/store`. */ RowSpill,
} from './store/row-spill.ts';
export type {
  /** @deprecated Import it from `quark-sdk/store`. */ HolderTag,
} from './sync/leadership.ts';
export type { Store } from './store/store.ts';
export type {
  /** @deprecated Import it from `quark-sdk/store`. */ BatchRange,
  /** @deprecated Import it from `quark-sdk/store`. */ Lease,
  /** @deprecated Import it from `quark-sdk/store`. */ MergedSegment,
  /** @deprecated Import it from `quark-sdk/store`. */ NewSegment,
  /** @deprecated Import it from `quark-sdk/store`. */ RunFilter,
  /** @deprecated Import it from `quark-sdk/store`. */ SegmentEncoding,
  /** @deprecated Import it from `quark-sdk/store`. */ SegmentFilter,
  /** @deprecated Import it from `quark-sdk/store`. */ SegmentIdentity,
  /** @deprecated Import it from `quark-sdk/store`. */ SegmentManifest,
  /** @deprecated Import it from `quark-sdk/store`. */ SegmentRead,
  /** @deprecated Import it from `quark-sdk/store`. */ SegmentReference,
  /** @deprecated Import it from `quark-sdk/store`. */ StoredProject,
  /** @deprecated Import it from `quark-sdk/store`. */ StoredRun,
  /** @deprecated Import it from `quark-sdk/store`. */ StoreLocation,
  /** @deprecated Import it from `quark-sdk/store`. */ StoreNote,
  /** @deprecated Import it from `quark-sdk/store`. */ StoreNotes,
  /** @deprecated Import it from `quark-sdk/store`. */ StoreSurvey,
  /** @deprecated Import it from `quark-sdk/store`. */ StreamState,
  /** @deprecated Import it from `quark-sdk/store`. */ UpdateResult,
} from './store/store.ts';
export { type MetricArrowColumns } from './read/arrow-table.ts';
