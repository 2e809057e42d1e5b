/** `quark-sdk/node`: what only Node has, such as serving the dashboard. What a session needs of it the core loads by itself. */
export { openFileStorage } from './store/sql/node/file-storage.ts';
export { openPostgresStorage } from './store/sql/node/postgres-storage.ts';
export { startProfiler } from './instruments/profiler/start-profiler.ts';
export { nodePlatform } from './session/platforms/node/platform.ts';
export { serveStore, type ServedStore, type ServeOptions } from './service/node/serve.ts';
export {
  loadQuarkConfig,
  type LoadConfigOptions,
  type LoadedConfig,
} from './analysis/node/load-config.ts';
export { openInputFiles } from './exchange/import/node/input-files.ts';
export { queryRuns, type QueryOptions, type QueryResult } from './query/node/query-runs.ts';
export { type QueryColumn, type QueryValue } from './query/query-messages.ts';
export {
  openSync,
  verifySync,
  type OpenSyncOptions,
  type ServiceVerification,
  type SyncTask,
} from './sync/sync-storage.ts';
export { type SyncTarget } from './sync/sync-notes.ts';
export { type HolderTag } from './sync/leadership.ts';
export { type RunVerification, type TableComparison, type TableDigest } from './sync/verify.ts';
export {
  backupStore,
  backupTombstones,
  type BackupOptions,
  type BackupReport,
} from './backup/node/make-backup.ts';
export { listBackups, type BackupSummary } from './backup/node/list-backups.ts';
export { pruneBackup } from './backup/node/prune.ts';
export {
  restoreBackup,
  type RestoreOptions,
  type RestoreReport,
} from './backup/node/restore-backup.ts';
export {
  verifyBackup,
  type BackupProblem,
  type BackupVerification,
} from './backup/node/verify-backup.ts';
export {
  checkRetention,
  describeRule,
  parseRetention,
  RETENTION_ACTS,
  type BestRuns,
  type CheckedSettings,
  type RetentionAct,
  type RetentionRule,
  type RetentionSettings,
} from './retention/rules.ts';
export {
  planRetention,
  type PlanOptions,
  type RetentionPlan,
  type RetentionStep,
} from './retention/plan.ts';
export { type Exemption } from './retention/run-facts.ts';
export { readDownsampling, type RunDownsampling } from './read/downsampling.ts';
export { type RowsLeft } from './retention/thin.ts';
export {
  applyRetention,
  readRetention,
  saveRetention,
  type ApplyOptions,
  type RetentionReport,
  type SkippedStep,
} from './retention/apply.ts';
export {
  examineService,
  examineStore,
  type DoctorOptions,
  type DoctorReport,
} from './doctor/node/diagnose.ts';
export { type DoctorFinding, type FindingSeverity, type Repair } from './doctor/node/finding.ts';
export { type ServiceCheckOptions } from './doctor/node/check-service.ts';
export { type UnreadableBackup } from './backup/node/list-backups.ts';
