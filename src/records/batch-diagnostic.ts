import { count, countList, f64, jsonObject, nullable, textList } from '../schema/column.ts';
import type { RecordOf } from '../schema/record.ts';
import { defineTable, TABLE_COLUMNS, type TableDefinition } from '../schema/table.ts';

const columns = {
  ...TABLE_COLUMNS,
  step: nullable(count('Training step.')),
  epoch: nullable(count('Training epoch.')),
  loss: f64('Loss of the batch.'),
  batchSize: nullable(count('Number of samples.')),
  sampleIds: nullable(textList('Identifiers of the samples.')),
  classCounts: nullable(jsonObject('Number of samples a class.')),
  sequenceLengths: nullable(countList('Length of each sequence.')),
  metadata: nullable(jsonObject('Context of the batch.')),
};

/** Loss and make-up of one training batch. Raw samples are never kept. */
export const batchDiagnosticTable: TableDefinition<typeof columns> = defineTable(
  'batch_diagnostic',
  'batch_diagnostics',
  undefined,
  'Loss and make-up of one training batch.',
  columns,
);

/** Loss and make-up of one training batch. Raw samples are never kept. */
export type BatchDiagnosticRecord = RecordOf<typeof columns>;
