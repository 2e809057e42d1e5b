import { checkLabel, checkType } from '../base/names.ts';
import { count, jsonObject, key, literal, named, nullable } from '../schema/column.ts';
import type { RecordOf } from '../schema/record.ts';
import { defineTable, TABLE_COLUMNS, type TableDefinition } from '../schema/table.ts';
import { EVENT_SEVERITIES } from './literals.ts';

const columns = {
  ...TABLE_COLUMNS,
  eventType: named(
    key('What happened: `run_started`, `user_log`, `checkpoint_saved`, ...'),
    checkType,
  ),
  severity: literal('How serious it is.', EVENT_SEVERITIES),
  step: nullable(count('Training step.')),
  epoch: nullable(count('Training epoch.')),
  status: named(nullable(key('Outcome or state the event reports.')), checkLabel),
  payload: jsonObject('Details of the event.'),
};

/** A structured event or log message. */
export const eventTable: TableDefinition<typeof columns> = defineTable(
  'event',
  'events',
  'eventType',
  'A structured event or log message.',
  columns,
);

/** A structured event or log message. */
export type EventRecord = RecordOf<typeof columns>;
