/** What a store has of a table, by the batches of its writers. */
import { checkId, checkTable } from '../../base/names.ts';
import { count, defineShape, list, text, type Shape, type ValuesOf } from '../../schema/shape.ts';
import { batchRangeShape } from './manifest.ts';

const fields = {
  runId: text({ check: checkId }),
  table: text({ check: (_, value) => checkTable(value) }),
  /** Rows of all live segments. */
  rowCount: count({ doc: 'Rows of the table.' }),
  replaceCount: count({ doc: 'How often the table was emptied.' }),
  /** Every batch that the store has, by itself or merged into another one; ordered by writer and batch, in the fewest ranges. */
  batches: list(batchRangeShape, 'BatchRange'),
};

/** What a store has of a table. */
export const tableBatchesShape: Shape<typeof fields> = defineShape('table', fields);

/** What a store has of a table: some hundred bytes, however many rows there are. */
export type TableBatches = ValuesOf<typeof fields>;
