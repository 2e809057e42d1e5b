/** Tables that we exported as text. Those of metrics are read as any other; the others have no metrics, and are no runs. */
import { metricTable } from '../../../records/metric.ts';
import { TABLES } from '../../../records/tables.ts';
import type { TableDefinition } from '../../../schema/table.ts';

const COLUMNS: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  [...TABLES.values()]
    .filter((table) => table !== metricTable)
    .map((table) => [table.table, new Set(namesOf(table))]),
);

function namesOf(table: TableDefinition): string[] {
  return Object.keys(table.columns).map((name) => table.storedNames.get(name) ?? name);
}

/** Why a table is no run: it has the columns of one of ours, all of them, and no others. */
export function reasonNoRun(names: readonly string[]): string | undefined {
  for (const [table, columns] of COLUMNS) {
    if (columns.size !== names.length || !names.every((name) => columns.has(name))) continue;
    return `It is the table ${table} of a run that Quark exported, and no run of its own: left out. A .quark file, Parquet and Arrow bring every table back.`;
  }
  return undefined;
}
