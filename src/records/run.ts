import {
  bool,
  count,
  instant,
  jsonObject,
  literal,
  nullable,
  text,
  textList,
} from '../schema/column.ts';
import { defineRecord, type RecordDefinition, type RecordOf } from '../schema/record.ts';
import { RUN_STATUSES } from './literals.ts';

const columns = {
  id: text('Identifier of the run.'),
  projectId: text('Identifier of its project.'),
  projectName: text('Name of its project.'),
  status: literal('Where the run is in its life.', RUN_STATUSES),
  parentRunId: nullable(text('The run this one was started from.')),
  lineageRootRunId: text('First ancestor of the run; the run itself when it has no parent.'),
  resumeCount: count('How many times the run was resumed.'),
  runPath: text('Directory of the run, or the URI that stands for it.'),
  gitCommit: nullable(text('Commit of the working directory, where Git could tell.')),
  strictMode: bool('Whether instrumentation failures throw.'),
  tags: textList('Labels of the run, each once, in the order they were added.'),
  config: jsonObject('The configuration the run was started with.'),
  environment: jsonObject('What was known of the machine and the software at the start.'),
  startedAt: instant('When the run was started.'),
  endedAt: nullable(instant('When the run ended; null while it runs.')),
  updatedAt: instant('When the run record was last changed.'),
  schemaVersion: count('Version of the stored form.'),
};

/** Lifecycle and lineage of a run. */
export const runRecord: RecordDefinition<typeof columns> = defineRecord(
  'run',
  'Lifecycle and lineage of a run.',
  columns,
);

/** Lifecycle and lineage of a run. */
export type RunRecord = RecordOf<typeof columns>;
