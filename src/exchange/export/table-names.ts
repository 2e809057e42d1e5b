/** The tables that exports write, and what every export of one can be told. */
import { checkOptionNames } from '../../base/assert.ts';
import { invalidInput } from '../../base/errors.ts';
import { TABLES } from '../../records/tables.ts';
import type { TableDefinition } from '../../schema/table.ts';
import type { DamageReport } from '../../segment/open-segment.ts';

/** Every {@link TableName}. */
export const TABLE_NAMES = [
  'metrics',
  'events',
  'telemetry',
  'layer_summaries',
  'parameter_summaries',
  'parameter_distributions',
  'batch_diagnostics',
  'artifacts',
  'alerts',
  'health_scores',
  'phases',
] as const;
/** A table of records of a run. */
export type TableName = (typeof TABLE_NAMES)[number];

/** Options of every export of a table. */
export type ExportTableOptions = {
  /** Ends the export: it rejects with code `aborted`. */
  readonly signal?: AbortSignal | undefined;
  /** Told of each segment that cannot be read: its rows are missing in the export. */
  readonly onDamage?: ((report: DamageReport) => void) | undefined;
  /** Told how many rows were written since the last call. */
  readonly onRows?: ((rowCount: number) => void) | undefined;
};

/** @throws {QuarkError} `invalid_input` naming the table or option */
export function exportedTable(table: TableName, options: ExportTableOptions): TableDefinition {
  checkOptionNames('options', options, ['signal', 'onDamage', 'onRows']);
  const definition = TABLES.get(table);
  if (definition === undefined)
    throw invalidInput(
      'table',
      table,
      `one of ${TABLE_NAMES.map((name) => `"${name}"`).join(', ')}`,
    );
  return definition;
}
