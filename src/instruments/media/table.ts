/** Tables: named columns, and rows of texts, numbers, booleans and nulls. */
import { invalidInput } from '../../base/errors.ts';
import type { JsonValue } from '../../base/json.ts';
import type { MediaMetadata } from './media-shapes.ts';
import { corrupt, listIn, textsIn } from './reading.ts';

const MAX_COLUMNS = 1000;
const MAX_CELLS = 1_000_000;
const MAX_CELL_CHARS = 65_536;
const NAMED_COLUMNS = 100;

/** A cell of a table. */
export type TableCell = string | number | boolean | null;

/** A table. NaN and infinities have no form in JSON: give them as text or null. */
export type TableContent = {
  /** Names of the columns, each one once. */
  readonly columns: readonly string[];
  /** Rows, each with one cell a column. */
  readonly rows: readonly (readonly TableCell[])[];
};

/** What can be logged as a table: columns and rows, or objects whose keys are the columns. */
export type TableInput = TableContent | readonly Readonly<Record<string, TableCell>>[];

/** @throws {QuarkError} `invalid_input` */
export function checkTableInput(input: unknown): {
  readonly payload: JsonValue;
  readonly metadata: MediaMetadata['table'];
} {
  const { columns, rows } = Array.isArray(input) ? tableOfObjects(input) : contentOf(input);
  const checked = rows.map((row, i) => {
    if (!Array.isArray(row) || row.length !== columns.length)
      throw invalidInput(`table.rows[${i}]`, row, `a list of ${columns.length} cells`);
    return row.map((cell: unknown, j) => checkCell(`table.rows[${i}][${j}]`, cell));
  });
  return {
    payload: { columns, rows: checked },
    metadata: {
      columnCount: columns.length,
      rowCount: rows.length,
      columns: columns.slice(0, NAMED_COLUMNS),
    },
  };
}

function contentOf(input: unknown): { columns: readonly string[]; rows: readonly unknown[] } {
  if (typeof input !== 'object' || input === null)
    throw invalidInput('table', input, '{ columns, rows }, or a list of objects');
  const columns: unknown = Reflect.get(input, 'columns');
  const rows: unknown = Reflect.get(input, 'rows');
  if (!Array.isArray(columns)) throw invalidInput('table.columns', columns, 'a list of names');
  if (!Array.isArray(rows)) throw invalidInput('table.rows', rows, 'a list of rows');
  return { columns: checkColumns(columns, rows.length), rows };
}

function tableOfObjects(rows: readonly unknown[]): {
  columns: readonly string[];
  rows: readonly unknown[];
} {
  const names = new Set<string>();
  for (const [i, row] of rows.entries()) {
    if (typeof row !== 'object' || row === null || Array.isArray(row))
      throw invalidInput(`table[${i}]`, row, 'an object');
    for (const name of Object.keys(row)) names.add(name);
    if (names.size > MAX_COLUMNS)
      throw invalidInput('table', `${names.size} columns`, `at most ${MAX_COLUMNS} columns`);
  }
  const columns = checkColumns([...names], rows.length);
  const cellsOf = (row: unknown): unknown[] =>
    columns.map((name) =>
      Object.hasOwn(Object(row), name) ? Reflect.get(Object(row), name) : null,
    );
  return { columns, rows: rows.map(cellsOf) };
}

function checkColumns(columns: readonly unknown[], rowCount: number): readonly string[] {
  if (columns.length > MAX_COLUMNS)
    throw invalidInput('table.columns.length', columns.length, `at most ${MAX_COLUMNS}`);
  if (columns.length * rowCount > MAX_CELLS)
    throw invalidInput('table', columns.length * rowCount, `at most ${MAX_CELLS} cells`);
  const names = columns.map((name, i) => {
    if (typeof name !== 'string' || name.length > 512)
      throw invalidInput(`table.columns[${i}]`, name, 'a text of at most 512 characters');
    return name;
  });
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw invalidInput('table.columns', twice, 'names that differ');
  return names;
}

function checkCell(field: string, cell: unknown): TableCell {
  if (cell === null || typeof cell === 'boolean') return cell;
  if (typeof cell === 'number' && Number.isFinite(cell)) return cell;
  if (typeof cell === 'string' && cell.length <= MAX_CELL_CHARS) return cell;
  throw invalidInput(
    field,
    cell,
    `a text of at most ${MAX_CELL_CHARS} characters, a finite number, true, false or null`,
  );
}

/** @throws {SessionStoreError} `corrupt` */
export function tableFromJson(payload: unknown): TableContent {
  const columns = textsIn(payload, 'columns');
  const rows = listIn(payload, 'rows').map((row) => {
    if (!Array.isArray(row) || row.length !== columns.length)
      throw corrupt('a row has not all cells');
    return row.map((cell: unknown): TableCell => {
      if (
        cell === null ||
        typeof cell === 'string' ||
        typeof cell === 'number' ||
        typeof cell === 'boolean'
      )
        return cell;
      throw corrupt('a cell is no value');
    });
  });
  return { columns, rows };
}
