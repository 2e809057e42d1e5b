import { checkLabel } from '../base/names.ts';
import { count, json, key, literal, named, nullable, text } from '../schema/column.ts';
import type { RecordOf } from '../schema/record.ts';
import { defineTable, TABLE_COLUMNS, type TableDefinition } from '../schema/table.ts';
import { ALERT_CATEGORIES, ALERT_SEVERITIES } from './literals.ts';

const columns = {
  ...TABLE_COLUMNS,
  id: text('Identifier of the alert.'),
  ruleId: named(key('The rule that fired.'), checkLabel),
  category: literal('What it is about.', ALERT_CATEGORIES),
  severity: literal('How serious it is.', ALERT_SEVERITIES),
  title: text('The finding in a few words.'),
  summary: text('The finding in a sentence or two.'),
  fact: text('What was observed.'),
  inference: text('What it probably means.'),
  stepStart: nullable(count('First step concerned.')),
  stepEnd: nullable(count('Last step concerned, inclusive.')),
  evidence: json('What the rule saw: a list of evidence records.'),
};

/** A finding of the analyzer, with its evidence. */
export const alertTable: TableDefinition<typeof columns> = defineTable(
  'alert',
  'alerts',
  'ruleId',
  'A finding of the analyzer.',
  columns,
);

/** A finding of the analyzer, with its evidence. */
export type AlertRecord = RecordOf<typeof columns>;
