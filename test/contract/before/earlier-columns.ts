/**
 * Tables as the build before declared them. What was declared since then makes rows wider; without it, today's code has to write and
 * export the same bytes.
 */
import { defineTable, type TableColumns, type TableDefinition } from '../../../src/schema/table.ts';

/** The columns of each table that are newer than the fixtures. */
const ADDED: Readonly<Record<string, readonly string[]>> = {
  layer_summaries: ['zeroOutputRatio', 'deadUnitShare'],
  parameter_summaries: ['valueNormBefore'],
};

/** The module of a table, without the columns that are newer than the fixtures. */
export function withoutAddedColumns(module: object): object {
  return Object.fromEntries(
    Object.entries(module).map(([name, one]: [string, unknown]) => [
      name,
      isTable(one) ? earlier(one) : one,
    ]),
  );
}

function earlier({ columns, doc, keyColumn, name, table }: TableDefinition): TableDefinition {
  const added = ADDED[table] ?? [];
  const missing = added.filter((column) => !(column in columns));
  if (missing.length > 0) throw new Error(`${table} has no columns ${missing.join(', ')}.`);
  const known = Object.entries(columns).filter(([column]) => !added.includes(column));
  return defineTable(name, table, keyColumn, doc, Object.fromEntries(known) as TableColumns);
}

function isTable(value: unknown): value is TableDefinition {
  return typeof value === 'object' && value !== null && 'segmentColumns' in value;
}
