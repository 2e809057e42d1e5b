/** `quark-sdk/exchange`: runs of other programs in, records in the formats of other programs out. */
export { exportEventsJsonLines } from './exchange/export/events-export.ts';
export {
  exportMetricsArrow,
  exportMetricsCsv,
  exportMetricsJsonLines,
} from './exchange/export/metrics-export.ts';
export {
  exportMlflow,
  type ExportedFile,
  type ExportMlflowOptions,
} from './exchange/export/mlflow-export.ts';
export { exportTableParquet } from './exchange/export/parquet-export.ts';
export {
  TABLE_NAMES,
  type ExportTableOptions,
  type TableName,
} from './exchange/export/table-names.ts';
export {
  exportTableArrow,
  exportTableCsv,
  exportTableJsonLines,
} from './exchange/export/table-export.ts';
export { exportQuark, type ExportQuarkOptions } from './exchange/export/quark-export.ts';
export { EXPORTED_DOCUMENTS, type ExportedDocuments } from './exchange/export/quark-documents.ts';
export { galleryRun, galleryText } from './exchange/export/gallery-entry.ts';
export {
  MAX_GALLERY_RUNS,
  readGallery,
  type Gallery,
  type GalleryCurve,
  type GalleryRun,
} from './exchange/export/gallery-index.ts';
export { exportTensorBoard, tensorBoardFileName } from './exchange/export/tensorboard-export.ts';
export {
  importRuns,
  type ImportedRunReport,
  type ImportOptions,
  type ImportReport,
} from './exchange/import/import-runs.ts';
export { FORMAT_NAMES } from './exchange/import/importers.ts';
export type { ImportProgress } from './exchange/import/progress.ts';
export { blobInput, bytesInput, type InputFile } from './codecs/input.ts';
export { DEFAULT_IMPORT_LIMITS, type ImportLimits } from './codecs/limits.ts';
export { CONVENTIONAL_KEYS, type KeyRule } from './exchange/import/sink/key-table.ts';
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
  UnknownFile,
  UnreadLosses,
} from './exchange/import/sink/importer.ts';
