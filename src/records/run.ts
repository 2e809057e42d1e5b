import {
  absentAs,
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
import type { JsonObject } from '../base/json.ts';
import { RUN_STATUSES } from './literals.ts';

const NO_TEXTS: readonly string[] = Object.freeze([]);
const NO_JSON: JsonObject = Object.freeze({});

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
  config: jsonObject(
    'The configuration the run was started with, and what `updateConfig` put over it.',
  ),
  environment: jsonObject('What was known of the machine and the software at the start.'),
  startedAt: instant('When the run was started.'),
  endedAt: nullable(instant('When the run ended; null while it runs.')),
  updatedAt: instant('When the run record was last changed.'),
  schemaVersion: count('Version of the stored form.'),
  name: nullable(text('Name of the run, for people; several runs may have the same one.')),
  description: nullable(text('What the run is about, in a sentence.')),
  notes: nullable(text('Notes on the run, of any length, as Markdown.')),
  groups: absentAs(
    textList('Groups that the run is in, such as a sweep or an ablation.'),
    NO_TEXTS,
  ),
  jobType: nullable(text('What the run does, such as `train` or `eval`.')),
  configHash: nullable(text('SHA-256 of the configuration as canonical JSON (RFC 8785).')),
  configRevision: nullable(
    count(
      'How many runs of its project had this configuration, this one included: 1 for the first.',
    ),
  ),
  metadata: absentAs(jsonObject('What `setMetadata` said of the run.'), NO_JSON),
  summary: absentAs(jsonObject('The results that `summary` said.'), NO_JSON),
  metricSummaries: absentAs(
    jsonObject('Last, smallest, largest and best value of each metric, by the key of its series.'),
    NO_JSON,
  ),
  statusReason: nullable(
    text('Why the run failed or was interrupted: one line, at most 300 characters.'),
  ),
  findings: absentAs(
    jsonObject('What the last analysis found: overall health score, and alerts by severity.'),
    NO_JSON,
  ),
};

/** Lifecycle and lineage of a run. */
export const runRecord: RecordDefinition<typeof columns> = defineRecord(
  'run',
  'Lifecycle and lineage of a run.',
  columns,
);

/** Lifecycle and lineage of a run. */
export type RunRecord = RecordOf<typeof columns>;
