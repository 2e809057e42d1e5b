import { instant, text } from '../schema/column.ts';
import { defineRecord, type RecordDefinition, type RecordOf } from '../schema/record.ts';

const columns = {
  id: text('Identifier of the project.'),
  name: text('Name of the project, unique in its store.'),
  rootPath: text('Directory or URI of the store the project lives in.'),
  createdAt: instant('When the project was first used.'),
  updatedAt: instant('When the project was last changed.'),
};

/** Identity of a project. */
export const projectRecord: RecordDefinition<typeof columns> = defineRecord(
  'project',
  'Identity of a project.',
  columns,
);

/** Identity of a project. */
export type ProjectRecord = RecordOf<typeof columns>;
