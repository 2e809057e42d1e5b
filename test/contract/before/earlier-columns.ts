/**
 * Tables as the build before declared them. What was declared since then makes rows wider; without it, today's code has to write and
 * export the same bytes.
 */
import { defineShape, type Fields, type Shape } from '../../../src/schema/shape.ts';
import type { RecordDefinition } from '../../../src/schema/record.ts';
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

/** Fields of the record of a run that are newer than the fixtures, by their stored names. */
export const ADDED_RUN_FIELDS: readonly string[] = [
  'name',
  'description',
  'notes',
  'groups',
  'job_type',
  'config_hash',
  'config_revision',
  'metadata',
  'summary',
  'metric_summaries',
  'status_reason',
  'findings',
];
const ADDED_SHAPE_FIELDS = new Set(['configHash', 'configRevision']);

/** The module of the record of a run, which writes down what it did before. */
export function withoutAddedRunFields<T extends { readonly runRecord: RecordDefinition }>(
  module: T,
): T {
  const stored = module.runRecord.storedNames as Map<string, string>;
  for (const [name, one] of stored) if (ADDED_RUN_FIELDS.includes(one)) stored.delete(name);
  // A client sends them as they are.
  const columns = module.runRecord.columns as Record<string, unknown>;
  for (const name of ADDED_SHAPE_FIELDS) delete columns[name];
  return module;
}

/** The module of the shapes of a run, without the fields that are newer than the fixtures. */
export function withoutAddedShapes(module: object): object {
  return Object.fromEntries(
    Object.entries(module).map(([name, one]: [string, unknown]) => [
      name,
      isShape(one) ? withoutFieldsOf(one) : one,
    ]),
  );
}

/** What `quark runs` and `quark show` print in JSON, without the fields of runs that are newer than the fixtures. */
export function withoutAddedFields(args: readonly string[], printed: unknown): unknown {
  if (typeof printed !== 'string' || !['runs', 'show'].includes(args[0] ?? '')) return printed;
  if (!/^[[{]/.test(printed)) return printed;
  const added = new Set(ADDED_RUN_FIELDS);
  const value: unknown = JSON.parse(printed, function (this: unknown, name, one: unknown) {
    const isRun = typeof this === 'object' && this !== null && 'lineage_root_run_id' in this;
    return isRun && added.has(name) ? undefined : one;
  });
  // How many artifacts of each type there are: `quark show` says that since media are artifacts.
  if (args[0] === 'show' && typeof value === 'object' && value !== null)
    Reflect.deleteProperty(value, 'artifacts');
  return `${JSON.stringify(value, null, 2)}\n`;
}

function withoutFieldsOf({ fields, name }: Shape): Shape {
  const known = Object.entries(fields).filter(([field]) => !ADDED_SHAPE_FIELDS.has(field));
  return defineShape<Fields>(name, Object.fromEntries(known));
}

function isShape(value: unknown): value is Shape {
  return typeof value === 'object' && value !== null && 'entries' in value && 'blank' in value;
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
