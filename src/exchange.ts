/** `quark-sdk/exchange`: runs of other programs in, records in the formats of other programs out. */
export { exportEventsJsonLines } from './exchange/events-export.ts';
export {
  exportMetricsArrow,
  exportMetricsCsv,
  exportMetricsJsonLines,
} from './exchange/metrics-export.ts';
export {
  exportMlflow,
  type ExportedFile,
  type ExportMlflowOptions,
} from './exchange/mlflow-export.ts';
export { exportTableParquet } from './exchange/parquet-export.ts';
export { TABLE_NAMES, type ExportTableOptions, type TableName } from './exchange/table-names.ts';
export { exportTableArrow, exportTableCsv, exportTableJsonLines } from './exchange/table-export.ts';
export { exportQuark, type ExportQuarkOptions } from './exchange/quark-export.ts';
export { exportTensorBoard, tensorBoardFileName } from './exchange/tensorboard-export.ts';
export {
  importRuns,
  type ImportedRunReport,
  type ImportOptions,
  type ImportReport,
} from './import/import-runs.ts';
export type { ImportProgress } from './import/progress.ts';
export { blobInput, bytesInput, type InputFile } from './import/input.ts';
export { DEFAULT_IMPORT_LIMITS, type ImportLimits } from './import/limits.ts';
export { CONVENTIONAL_KEYS, type KeyRule } from './import/key-table.ts';
export type {
  ImportContext,
  ImportedEvent,
  ImportedRun,
  Importer,
  ImportFormatOptions,
  ImportProblem,
  InputHead,
  RowPosition,
  RunSink,
  TextLogPattern,
} from './import/importer.ts';
