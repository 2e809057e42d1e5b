import { count, json, literal, text } from '../schema/column.ts';
import type { RecordOf } from '../schema/record.ts';
import { defineTable, TABLE_COLUMNS, type TableDefinition } from '../schema/table.ts';
import { PHASE_NAMES } from './literals.ts';

const columns = {
  ...TABLE_COLUMNS,
  id: text('Identifier of the phase.'),
  phaseName: literal('The training regime.', PHASE_NAMES),
  displayName: text('The regime, for people.'),
  summary: text('Why the stretch was given this name.'),
  stepStart: count('First step.'),
  stepEnd: count('Last step, inclusive.'),
  evidence: json('What was seen: a list of evidence records.'),
};

/** A span of training of one character. */
export const phaseTable: TableDefinition<typeof columns> = defineTable(
  'phase',
  'phases',
  'phaseName',
  'A stretch of training of one character.',
  columns,
);

/** A span of training of one character. */
export type PhaseRecord = RecordOf<typeof columns>;
