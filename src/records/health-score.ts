import { f64, json, literal, nullable, text, textList } from '../schema/column.ts';
import type { RecordOf } from '../schema/record.ts';
import { defineTable, TABLE_COLUMNS, type TableDefinition } from '../schema/table.ts';
import { HEALTH_SCORE_KEYS, HEALTH_STATUSES } from './literals.ts';

const columns = {
  ...TABLE_COLUMNS,
  id: text('Identifier of the score.'),
  scoreKey: literal('What is scored.', HEALTH_SCORE_KEYS),
  category: literal('The same, as a category.', HEALTH_SCORE_KEYS),
  score: nullable(
    f64('0 is worst, 100 is best; null where nothing was there to judge by.', { min: 0, max: 100 }),
  ),
  status: literal('What the score means.', HEALTH_STATUSES),
  summary: text('The score in a sentence.'),
  evidence: json(
    'What the score rests on, and what could not be judged: a list of evidence records.',
  ),
  contributingAlertIds: textList('Alerts that lowered the score.'),
};

/** Health of one side of a run, from 0 to 100. */
export const healthScoreTable: TableDefinition<typeof columns> = defineTable(
  'health_score',
  'health_scores',
  'scoreKey',
  'Health of one side of a run.',
  columns,
);

/** Health of one side of a run, from 0 to 100. */
export type HealthScoreRecord = RecordOf<typeof columns>;
