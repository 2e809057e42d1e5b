/**
 * Rows put into columns as they come: nothing of a row is stored but its values, so that rows that wait cost the garbage
 * collector little, and making a segment of them is no work any more.
 */
import type { Column } from '../schema/column.ts';
import type { TableDefinition } from '../schema/table.ts';
import type { RowBatch, Vector } from '../codecs/arrow/vectors.ts';

type Row = { readonly [name: string]: unknown };

/** The values of one column. */
interface Cells {
  /** Sets the value of a row, the one after the last or an earlier one; returns how many characters of text it holds. */
  put(row: number, value: unknown): number;
  /** The rows from `from` to `to`, as views that the next row may overwrite. */
  view(from: number, to: number): Vector;
  clear(): void;
}

type NamedCells = { readonly name: string; readonly stored: string; readonly cells: Cells };

/** What a table says of its columns. */
type ColumnSource = Pick<TableDefinition, 'storedNames' | 'segmentColumns'> & {
  readonly columns: { readonly [name: string]: Pick<Column<unknown>, 'kind'> };
};

/** Rows of a table in memory. Values of the wrong type count as null. */
export class RowColumns {
  rowCount = 0;
  /** Characters of text in all rows, numbers left out; a number in a list counts as four. */
  textChars = 0;
  readonly #columns: readonly NamedCells[];

  constructor(table: ColumnSource) {
    this.#columns = table.segmentColumns.flatMap((name) => {
      const column = table.columns[name];
      if (column === undefined) return [];
      return [{ name, stored: table.storedNames.get(name) ?? name, cells: cellsOf(column.kind) }];
    });
  }

  /** Adds a row given as an object with the names of code. Typed arrays are stored by reference. */
  push(row: object): void {
    const at = this.rowCount;
    for (const { name, cells } of this.#columns)
      this.textChars += cells.put(at, (row as Row)[name]);
    this.rowCount = at + 1;
  }

  /** All rows, which stay, as views that the next row may overwrite. */
  view(): RowBatch {
    return this.#batch(0, this.rowCount);
  }

  /** Empties it. The batches, of at most `maxRows` rows each, are views that the next row may overwrite. */
  take(maxRows: number): RowBatch[] {
    const batches: RowBatch[] = [];
    for (let from = 0; from < this.rowCount; from += maxRows)
      batches.push(this.#batch(from, Math.min(this.rowCount, from + maxRows)));
    for (const { cells } of this.#columns) cells.clear();
    this.rowCount = 0;
    this.textChars = 0;
    return batches;
  }

  #batch(from: number, to: number): RowBatch {
    const columns = new Map<string, Vector>();
    for (const { cells, stored } of this.#columns) columns.set(stored, cells.view(from, to));
    return { rowCount: to - from, columns };
  }
}

function cellsOf(kind: Column<unknown>['kind']): Cells {
  switch (kind) {
    case 'count':
    case 'instant':
      return arrayCells(float64, numberOf, (values) => ({ kind: 'number', values }));
    case 'bool':
      return arrayCells(uint8, flagOf, (values) => ({ kind: 'bool', values }));
    case 'f64':
      return f64Cells();
    case 'key':
      return keyCells();
    case 'text':
      return listCells(textOf, (values) => ({ kind: 'text', values }));
    case 'json':
      return listCells(jsonOf, (values) => ({ kind: 'text', values }));
    case 'f64_list':
      return listCells(numbersOf, (values) => ({ kind: 'f64_list', values }));
    case 'text_list':
      return listCells(textsOf, (values) => ({ kind: 'text_list', values }));
  }
}

/** Records have ISO text; writers that make many rows at one moment give the number. */
function numberOf(value: unknown): number {
  if (typeof value === 'number') return value;
  return typeof value === 'string' ? Date.parse(value) : Number.NaN;
}

function flagOf(value: unknown): number {
  return typeof value === 'boolean' ? Number(value) : 2;
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function jsonOf(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value);
}

function numbersOf(value: unknown): Float64Array | null {
  if (value instanceof Float64Array) return value;
  return Array.isArray(value) ? new Float64Array(value as number[]) : null;
}

function textsOf(value: unknown): readonly string[] | null {
  return Array.isArray(value) ? value : null;
}

/** Characters, of two bytes each, that stand for the eight bytes of a number or a reference. */
const ITEM_CHARS = 4;

/** About how much memory a text or a list takes, in characters. */
function charsOf(value: string | ArrayLike<unknown>): number {
  if (typeof value === 'string') return value.length;
  let chars = ITEM_CHARS * value.length;
  if (value instanceof Float64Array) return chars;
  for (let i = 0; i < value.length; i++) {
    const item = value[i];
    if (typeof item === 'string') chars += item.length;
  }
  return chars;
}

const FIRST_CAPACITY = 64;
/** What has grown beyond this for a burst of rows is given back. */
const KEPT_CAPACITY = 1 << 13;

/** An array of twice the length, or more, with the same values at its start. */
function grown<T extends Float64Array | Int32Array | Uint8Array>(
  old: T,
  make: (length: number) => T,
): T {
  const array = make(Math.max(FIRST_CAPACITY, 2 * old.length));
  array.set(old);
  return array;
}

const float64 = (length: number): Float64Array => new Float64Array(length);
const int32 = (length: number): Int32Array => new Int32Array(length);
const uint8 = (length: number): Uint8Array => new Uint8Array(length);

function arrayCells<T extends Float64Array | Uint8Array>(
  make: (length: number) => T,
  valueOf: (value: unknown) => number,
  vectorOf: (values: T) => Vector,
): Cells {
  let values = make(0);
  return {
    put(row, value) {
      if (row >= values.length) values = grown(values, make);
      values[row] = valueOf(value);
      return 0;
    },
    view: (from, to) => vectorOf(values.subarray(from, to) as T),
    clear() {
      if (values.length > KEPT_CAPACITY) values = make(0);
    },
  };
}

function f64Cells(): Cells {
  let values = float64(0);
  let isNull = uint8(0);
  let hasNulls = false;
  return {
    put(row, value) {
      if (row >= values.length) {
        values = grown(values, float64);
        isNull = grown(isNull, uint8);
      }
      const isNumber = typeof value === 'number';
      values[row] = isNumber ? value : 0;
      isNull[row] = isNumber ? 0 : 1;
      hasNulls ||= !isNumber;
      return 0;
    },
    view: (from, to) => ({
      kind: 'f64',
      values: values.subarray(from, to),
      isNull: hasNulls ? isNull.subarray(from, to) : null,
    }),
    clear() {
      hasNulls = false;
      if (values.length <= KEPT_CAPACITY) return;
      values = float64(0);
      isNull = uint8(0);
    },
  };
}

function keyCells(): Cells {
  const positions = new Map<string, number>();
  let indices = int32(0);
  return {
    put(row, value) {
      if (row >= indices.length) indices = grown(indices, int32);
      const known = typeof value === 'string' ? positions.get(value) : -1;
      indices[row] = known ?? positions.size;
      if (known !== undefined || typeof value !== 'string') return 0;
      positions.set(value, positions.size);
      return value.length;
    },
    view: (from, to) => ({
      kind: 'key',
      dictionary: [...positions.keys()],
      indices: indices.subarray(from, to),
    }),
    clear() {
      positions.clear();
      if (indices.length > KEPT_CAPACITY) indices = int32(0);
    },
  };
}

/** Values that are objects, or texts. */
function listCells<T extends string | ArrayLike<unknown>>(
  valueOf: (value: unknown) => T | null,
  vectorOf: (values: (T | null)[]) => Vector,
): Cells {
  let values: (T | null)[] = [];
  return {
    put(row, value) {
      const own = valueOf(value);
      values[row] = own;
      return own === null ? 0 : charsOf(own);
    },
    view: (from, to) => vectorOf(values.slice(from, to)),
    clear() {
      values = [];
    },
  };
}
