/**
 * Checks the names in imported or uploaded rows against the grammars of their columns. Exports make paths of names, and terminals
 * and pages show them.
 */
import type { Column } from '../schema/column.ts';
import type { TableDefinition } from '../schema/table.ts';
import type { RowBatch, Vector } from '../codecs/arrow/vectors.ts';

/**
 * Checks every name in the rows of a table.
 *
 * @throws {QuarkError} `invalid_input` naming the column, the name and the rule
 */
export function checkNames(table: TableDefinition, { columns }: RowBatch): void {
  for (const name of table.segmentColumns) {
    const stored = table.storedNames.get(name) ?? name;
    const vector = columns.get(stored);
    const check = table.columns[name]?.checkName;
    if (vector !== undefined && check !== undefined) checkVector(stored, vector, check);
  }
}

/** Checks names that a manifest lists: the values of the key column of its table. @throws {QuarkError} `invalid_input` */
export function checkListedKeys(table: TableDefinition, keys: readonly string[] | null): void {
  const check = table.columns[table.keyColumn ?? '']?.checkName;
  if (check !== undefined) for (const key of keys ?? []) check('keys', key);
}

function checkVector(
  field: string,
  vector: Vector,
  check: NonNullable<Column<unknown>['checkName']>,
): void {
  if (vector.kind === 'key') for (const word of vector.dictionary) check(field, word);
  else if (vector.kind === 'text')
    for (const text of vector.values) if (text !== null) check(field, text);
  if (vector.kind === 'text_list')
    for (const list of vector.values) for (const text of list ?? []) check(field, text);
}
