import { nested, text } from '../schema/column.ts';
import { defineRecord, type RecordDefinition } from '../schema/record.ts';
import { projectRecord } from './project.ts';
import { runRecord } from './run.ts';

const columns = {
  storageDir: text('Directory or URI the store was opened with.'),
  storeRoot: text('`<storageDir>/.quark`'),
  dbPath: text('`<storageDir>/.quark/quark.db`'),
  project: nested('The project of the run.', projectRecord),
  run: nested('The run.', runRecord),
};

/** What modules share of a run. Its class is `RunContext`. */
export const contextRecord: RecordDefinition<typeof columns> = defineRecord(
  'context',
  'What modules share of a run.',
  columns,
);
