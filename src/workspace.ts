/**
 * `quark-sdk/workspace`: what people set up beside their runs: saved views of charts, documents of a project, settings of charts, and
 * formulas of metrics; and runs as a table, with small curves and the query line that chooses them.
 */
export {
  deleteView,
  listViews,
  readView,
  saveView,
  setDefaultView,
  type SavedView,
  type SavedViewHeader,
  type SaveViewOptions,
} from './workspace/views.ts';
export {
  VIEW_LIMITS,
  viewFromJson,
  viewToJson,
  type ChartsView,
  type ViewPanel,
  type ViewSection,
} from './workspace/view-shape.ts';
export {
  deleteReport,
  listDeletedReports,
  listReports,
  readReport,
  REPORT_UNDO_MS,
  restoreReport,
  saveReport,
  type ReportUpdate,
  type StoredReport,
} from './workspace/reports.ts';
export {
  checkReport,
  REPORT_LIMITS,
  type ReportBlock,
  type ReportCurve,
  type ReportRows,
  type WrittenReport,
} from './workspace/report-shape.ts';
export { deleteDocument, findDocument, listDocuments, putDocument } from './workspace/documents.ts';
export { MAX_PROJECT_DOCUMENTS } from './workspace/document-notes.ts';
export {
  DOCUMENT_VISIBILITIES,
  MAX_DOCUMENT_BYTES,
  type DocumentHeader,
  type DocumentVisibility,
  type NewDocument,
  type StoredDocument,
} from './records/shapes/document.ts';
export type { DocumentUpdate } from './store/documents.ts';
export {
  CHART_MARK_KINDS,
  chartSettings,
  DEFAULT_CHART_CHOICES,
  DEFAULT_CHART_SETTINGS,
  isChartAxis,
  levelOfChoice,
  MAX_SMOOTHING,
  SMOOTHING_KINDS,
  type ChartAxis,
  type ChartChoice,
  type ChartChoices,
  type ChartMarkKind,
  type ChartSettings,
  type SmoothingKind,
} from './workspace/chart-settings.ts';
export {
  FORMULA_FUNCTIONS,
  formulaKey,
  MAX_FORMULA_CHARS,
  parseFormula,
  type Formula,
  type FormulaFunction,
  type FormulaNode,
} from './workspace/formula.ts';
export {
  addStepNote,
  removeStepNote,
  stepNotesOf,
  type NewStepNote,
  type StepNote,
} from './workspace/step-notes.ts';
export { runEnding, type RunEnding } from './records/run-ending.ts';
export { metricSearch } from './workspace/metric-search.ts';
export { evaluateFormula, type FormulaSeries } from './workspace/evaluate-formula.ts';
export {
  findRunColumns,
  findRunFacets,
  findRunGroups,
  findRunIds,
  findRunRows,
  type RunColumn,
  type RunOrder,
  type RunTablePage,
  type RunTableQuery,
  type RunTableScope,
} from './read/finding/run-table.ts';
export { readSparklines } from './read/finding/sparklines.ts';
export type { RunSparkline, SparklineQuery } from './store/curves.ts';
export { lossMetric } from './records/run-paths.ts';
export type {
  FoundColumn,
  FoundGroup,
  FoundRun,
  GroupValue,
  RunFacet,
  RunValue,
} from './records/run-question.ts';
export { parseRunQuery, type RunQueryReading } from './read/finding/query-condition.ts';
export {
  completeRunQuery,
  type QueryCompletion,
  type QuerySuggestion,
} from './read/finding/complete-query.ts';
export {
  freezeReport,
  readReportCurves,
  readReportRows,
  type ReportScope,
} from './workspace/report-content.ts';
export { parseMarkdown } from './workspace/markdown/blocks.ts';
export type { MarkdownBlock, MarkdownItem, MarkdownSpan } from './workspace/markdown/tree.ts';
