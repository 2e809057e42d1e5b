/**
 * Rows put into columns as they come: nothing of a row is kept but its values, so that rows that wait cost the garbage
 * collector little, and making a segment of them is no work any more.
 */
import type { Column } from '../schema/column.ts';
import type { TableDefinition } from '../schema/table.ts';
import type { RowBatch, Vector } from './vectors.ts';

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

/** Rows of a table in memory. Values of the wrong type count as null. */
export class RowColumns {
  rowCount = 0;
  /** Characters of text in all rows, numbers left out; a number in a list counts as four. */
  textChars = 0;
  readonly #columns: readonly NamedCells[];

  constructor(table: TableDefinition) {
    this.#columns = table.segmentColumns.flatMap((name) => {
      const column = table.columns[name];
      if (column === undefined) return [];
      return [{ name, stored: table.storedNames.get(name) ?? name, cells: cellsOf(column.kind) }];
    });
  }

  /** Adds a row given as an object with the names of code. Lists are kept by reference. */
  push(row: object): void {
    const at = this.rowCount;
    for (const { name, cells } of this.#columns)
      this.textChars += cells.put(at, (row as Row)[name]);
    this.rowCount = at + 1;
  }

  /** Empties it. The batches, of at most `maxRows` rows each, are views that the next row may overwrite. */
  take(maxRows: number): RowBatch[] {
    const batches: RowBatch[] = [];
    for (let from = 0; from < this.rowCount; from += maxRows) {
      const to = Math.min(this.rowCount, from + maxRows);
      const columns = new Map<string, Vector>();
      for (const { stored, cells } of this.#columns) columns.set(stored, cells.view(from, to));
      batches.push({ rowCount: to - from, columns });
    }
    for (const { cells } of this.#columns) cells.clear();
    this.rowCount = 0;
    this.textChars = 0;
    return batches;
  }
}

function cellsOf(kind: Column<unknown>['kind']): Cells {
  switch (kind) {
    case 'count':
      return new NumberCells((value) => (typeof value === 'number' ? value : Number.NaN));
    case 'instant':
      return new NumberCells(instantOf);
    case 'f64':
      return new F64Cells();
    case 'key':
      return new KeyCells();
    case 'text':
      return new TextCells((value) => (typeof value === 'string' ? value : null));
    case 'json':
      return new TextCells((value) =>
        value === null || value === undefined ? null : JSON.stringify(value),
      );
    case 'bool':
      return new BoolCells();
    case 'f64_list':
      return new F64ListCells();
    case 'text_list':
      return new TextListCells();
  }
}

/** Records have ISO text; writers that make many rows at one moment give the number. */
function instantOf(value: unknown): number {
  if (typeof value === 'number') return value;
  return typeof value === 'string' ? Date.parse(value) : Number.NaN;
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

class NumberCells implements Cells {
  readonly #numberOf: (value: unknown) => number;
  #values = float64(0);

  constructor(numberOf: (value: unknown) => number) {
    this.#numberOf = numberOf;
  }

  put(row: number, value: unknown): number {
    if (row >= this.#values.length) this.#values = grown(this.#values, float64);
    this.#values[row] = this.#numberOf(value);
    return 0;
  }

  view(from: number, to: number): Vector {
    return { kind: 'number', values: this.#values.subarray(from, to) };
  }

  clear(): void {
    if (this.#values.length > KEPT_CAPACITY) this.#values = float64(0);
  }
}

class F64Cells implements Cells {
  #values = float64(0);
  #isNull = uint8(0);
  #hasNulls = false;

  put(row: number, value: unknown): number {
    if (row >= this.#values.length) {
      this.#values = grown(this.#values, float64);
      this.#isNull = grown(this.#isNull, uint8);
    }
    const isNumber = typeof value === 'number';
    this.#values[row] = isNumber ? value : 0;
    this.#isNull[row] = isNumber ? 0 : 1;
    this.#hasNulls ||= !isNumber;
    return 0;
  }

  view(from: number, to: number): Vector {
    return {
      kind: 'f64',
      values: this.#values.subarray(from, to),
      isNull: this.#hasNulls ? this.#isNull.subarray(from, to) : null,
    };
  }

  clear(): void {
    this.#hasNulls = false;
    if (this.#values.length <= KEPT_CAPACITY) return;
    this.#values = float64(0);
    this.#isNull = uint8(0);
  }
}

class KeyCells implements Cells {
  readonly #positions = new Map<string, number>();
  #indices = int32(0);

  put(row: number, value: unknown): number {
    if (row >= this.#indices.length) this.#indices = grown(this.#indices, int32);
    if (typeof value !== 'string') {
      this.#indices[row] = -1;
      return 0;
    }
    const known = this.#positions.get(value);
    const position = known ?? this.#positions.size;
    this.#indices[row] = position;
    if (known !== undefined) return 0;
    this.#positions.set(value, position);
    return value.length;
  }

  view(from: number, to: number): Vector {
    return {
      kind: 'key',
      dictionary: [...this.#positions.keys()],
      indices: this.#indices.subarray(from, to),
    };
  }

  clear(): void {
    this.#positions.clear();
    if (this.#indices.length > KEPT_CAPACITY) this.#indices = int32(0);
  }
}

class BoolCells implements Cells {
  #values = uint8(0);

  put(row: number, value: unknown): number {
    if (row >= this.#values.length) this.#values = grown(this.#values, uint8);
    this.#values[row] = typeof value === 'boolean' ? Number(value) : 2;
    return 0;
  }

  view(from: number, to: number): Vector {
    return { kind: 'bool', values: this.#values.subarray(from, to) };
  }

  clear(): void {
    if (this.#values.length > KEPT_CAPACITY) this.#values = uint8(0);
  }
}

class TextCells implements Cells {
  readonly #textOf: (value: unknown) => string | null;
  #values: (string | null)[] = [];

  constructor(textOf: (value: unknown) => string | null) {
    this.#textOf = textOf;
  }

  put(row: number, value: unknown): number {
    const text = this.#textOf(value);
    this.#values[row] = text;
    return text?.length ?? 0;
  }

  view(from: number, to: number): Vector {
    return { kind: 'text', values: this.#values.slice(from, to) };
  }

  clear(): void {
    this.#values = [];
  }
}

/** Characters, of two bytes each, that stand for the eight bytes of a number or a reference. */
const ITEM_CHARS = 4;

class F64ListCells implements Cells {
  #values: (ArrayLike<number> | null)[] = [];

  put(row: number, value: unknown): number {
    const isList = value instanceof Float64Array || Array.isArray(value);
    this.#values[row] = isList ? (value as ArrayLike<number>) : null;
    return isList ? ITEM_CHARS * value.length : 0;
  }

  view(from: number, to: number): Vector {
    return { kind: 'f64_list', values: this.#values.slice(from, to) };
  }

  clear(): void {
    this.#values = [];
  }
}

class TextListCells implements Cells {
  #values: (readonly string[] | null)[] = [];

  put(row: number, value: unknown): number {
    if (!Array.isArray(value)) {
      this.#values[row] = null;
      return 0;
    }
    const list = value as readonly string[];
    this.#values[row] = list;
    return list.reduce((chars, item) => chars + ITEM_CHARS + item.length, 0);
  }

  view(from: number, to: number): Vector {
    return { kind: 'text_list', values: this.#values.slice(from, to) };
  }

  clear(): void {
    this.#values = [];
  }
}
