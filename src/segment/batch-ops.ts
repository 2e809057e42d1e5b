/** Joining, picking and making batches of rows. */
import type { Breather } from '../base/breather.ts';
import type { Column } from '../schema/column.ts';
import type { TableDefinition } from '../schema/table.ts';
import { RowColumns } from './row-columns.ts';
import type { RowBatch, Vector } from '../codecs/arrow/vectors.ts';

/** The rows of all batches, one after the other. */
export function concatBatches(batches: readonly RowBatch[]): RowBatch {
  const [only] = batches;
  if (batches.length === 1 && only !== undefined) return only;
  const rowCount = batches.reduce((sum, batch) => sum + batch.rowCount, 0);
  const names = new Set(batches.flatMap((batch) => [...batch.columns.keys()]));
  const columns = new Map<string, Vector>();
  for (const name of names) columns.set(name, concatColumn(batches, name, rowCount));
  return { rowCount, columns };
}

/** The same for many rows: others have a turn between two columns. */
export async function concatBatchesInTurns(
  batches: readonly RowBatch[],
  breather: Breather,
): Promise<RowBatch> {
  const [only] = batches;
  if (batches.length === 1 && only !== undefined) return only;
  const rowCount = batches.reduce((sum, batch) => sum + batch.rowCount, 0);
  const columns = new Map<string, Vector>();
  for (const name of new Set(batches.flatMap((batch) => [...batch.columns.keys()]))) {
    columns.set(name, concatColumn(batches, name, rowCount));
    await breather.breathe();
  }
  return { rowCount, columns };
}

/** The rows at `rows`, in that order. */
export function gatherRows(batch: RowBatch, rows: Int32Array): RowBatch {
  const columns = new Map<string, Vector>();
  for (const [name, vector] of batch.columns) columns.set(name, gatherColumn(vector, rows));
  return { rowCount: rows.length, columns };
}

/** Rows given as objects with the names of code, turned into columns. */
export function batchOfRows(table: TableDefinition, rows: readonly object[]): RowBatch {
  const columns = new RowColumns(table);
  for (const row of rows) columns.push(row);
  return columns.take(rows.length)[0] ?? { rowCount: 0, columns: new Map() };
}

/** The value of one row of a column, as records have it. */
export function valueAt(column: Column<unknown>, vector: Vector | undefined, row: number): unknown {
  if (vector === undefined) return null;
  switch (vector.kind) {
    case 'number': {
      const value = vector.values[row] ?? Number.NaN;
      if (Number.isNaN(value)) return null;
      return column.kind === 'instant' ? new Date(value).toISOString() : value;
    }
    case 'f64':
      return vector.isNull?.[row] === 1 ? null : vector.values[row];
    case 'key': {
      const index = vector.indices[row] ?? -1;
      return index < 0 ? null : (vector.dictionary[index] ?? null);
    }
    case 'text': {
      const text = vector.values[row] ?? null;
      return text === null || column.kind !== 'json' ? text : JSON.parse(text);
    }
    case 'bool':
      return vector.values[row] === 2 ? null : vector.values[row] === 1;
    case 'f64_list': {
      const list = vector.values[row] ?? null;
      return list === null ? null : Array.from(list);
    }
    case 'text_list':
      return vector.values[row] ?? null;
  }
}

type VectorOf<K extends Vector['kind']> = Extract<Vector, { kind: K }>;

/** Visits the vectors of a column that are of its kind, each with the row that it begins at and its rows. */
type EachVector = <K extends Vector['kind']>(
  wanted: K,
  visit: (vector: VectorOf<K>, at: number, length: number) => void,
) => void;

function concatColumn(batches: readonly RowBatch[], name: string, rowCount: number): Vector {
  const kind = batches.find((batch) => batch.columns.has(name))?.columns.get(name)?.kind ?? 'text';
  const each: EachVector = (wanted, visit) => {
    let at = 0;
    for (const batch of batches) {
      const vector = batch.columns.get(name);
      if (vector?.kind === wanted) visit(vector as VectorOf<typeof wanted>, at, batch.rowCount);
      at += batch.rowCount;
    }
  };
  switch (kind) {
    case 'number': {
      const values = new Float64Array(rowCount).fill(Number.NaN);
      each(kind, (vector, at, length) => values.set(vector.values.subarray(0, length), at));
      return { kind, values };
    }
    case 'f64':
      return concatFloats(each, rowCount);
    case 'key':
      return concatKeys(each, rowCount);
    case 'bool': {
      const values = new Uint8Array(rowCount).fill(2);
      each(kind, (vector, at, length) => values.set(vector.values.subarray(0, length), at));
      return { kind, values };
    }
    case 'text': {
      const values = new Array<string | null>(rowCount).fill(null);
      each(kind, (vector, at, length) => copyCells(values, vector.values, at, length));
      return { kind, values };
    }
    case 'f64_list': {
      const values = new Array<Float64Array | null>(rowCount).fill(null);
      each(kind, (vector, at, length) => copyCells(values, vector.values, at, length));
      return { kind, values };
    }
    case 'text_list': {
      const values = new Array<readonly string[] | null>(rowCount).fill(null);
      each(kind, (vector, at, length) => copyCells(values, vector.values, at, length));
      return { kind, values };
    }
  }
}

function concatFloats(each: EachVector, rowCount: number): Vector {
  const values = new Float64Array(rowCount);
  const isNull = new Uint8Array(rowCount).fill(1);
  each('f64', (vector, at, length) => {
    values.set(vector.values.subarray(0, length), at);
    if (vector.isNull === null) isNull.fill(0, at, at + length);
    else isNull.set(vector.isNull.subarray(0, length), at);
  });
  return { kind: 'f64', values, isNull: isNull.includes(1) ? isNull : null };
}

function concatKeys(each: EachVector, rowCount: number): Vector {
  const positions = new Map<string, number>();
  const indices = new Int32Array(rowCount).fill(-1);
  each('key', (vector, at, length) => {
    const map = Int32Array.from(vector.dictionary, (word) => {
      const position = positions.get(word) ?? positions.size;
      positions.set(word, position);
      return position;
    });
    for (let i = 0; i < length; i++) {
      const index = vector.indices[i] ?? -1;
      indices[at + i] = index < 0 ? -1 : (map[index] ?? -1);
    }
  });
  return { kind: 'key', dictionary: [...positions.keys()], indices };
}

function copyCells<T>(
  target: (T | null)[],
  source: readonly (T | null)[],
  at: number,
  length: number,
): void {
  for (let i = 0; i < length; i++) target[at + i] = source[i] ?? null;
}

function gatherColumn(vector: Vector, rows: Int32Array): Vector {
  const pick = <T>(values: readonly (T | null)[]): (T | null)[] =>
    Array.from(rows, (row) => values[row] ?? null);
  switch (vector.kind) {
    case 'number':
      return { kind: 'number', values: gatherF64(vector.values, rows) };
    case 'f64':
      return {
        kind: 'f64',
        values: gatherF64(vector.values, rows),
        isNull: vector.isNull === null ? null : gatherU8(vector.isNull, rows),
      };
    case 'bool':
      return { kind: 'bool', values: gatherU8(vector.values, rows) };
    case 'key': {
      const indices = new Int32Array(rows.length);
      const isUsed = new Int32Array(vector.dictionary.length).fill(-1);
      const dictionary: string[] = [];
      for (let i = 0; i < rows.length; i++) {
        const index = vector.indices[rows[i] ?? 0] ?? -1;
        if (index < 0) {
          indices[i] = -1;
          continue;
        }
        let position = isUsed[index] ?? -1;
        if (position < 0) {
          position = dictionary.push(vector.dictionary[index] ?? '') - 1;
          isUsed[index] = position;
        }
        indices[i] = position;
      }
      return { kind: 'key', dictionary, indices };
    }
    case 'text':
      return { kind: 'text', values: pick(vector.values) };
    case 'f64_list':
      return { kind: 'f64_list', values: pick(vector.values) };
    case 'text_list':
      return { kind: 'text_list', values: pick(vector.values) };
  }
}

function gatherF64(values: Float64Array, rows: Int32Array): Float64Array {
  const out = new Float64Array(rows.length);
  for (let i = 0; i < rows.length; i++) out[i] = values[rows[i] ?? 0] ?? Number.NaN;
  return out;
}

function gatherU8(values: Uint8Array, rows: Int32Array): Uint8Array {
  const out = new Uint8Array(rows.length);
  for (let i = 0; i < rows.length; i++) out[i] = values[rows[i] ?? 0] ?? 0;
  return out;
}

/** About how many bytes a batch takes in memory. */
export function batchBytes({ columns }: RowBatch): number {
  let bytes = 0;
  for (const vector of columns.values()) {
    if (vector.kind === 'key') bytes += vector.indices.byteLength + charsOf(vector.dictionary);
    else if (vector.kind === 'text') bytes += charsOf(vector.values);
    else if (vector.kind === 'text_list')
      for (const list of vector.values) bytes += charsOf(list ?? []);
    else if (vector.kind === 'f64_list')
      for (const list of vector.values) bytes += list?.byteLength ?? 0;
    else bytes += vector.values.byteLength;
  }
  return bytes;
}

function charsOf(texts: readonly (string | null)[]): number {
  return texts.reduce((sum, text) => sum + (text?.length ?? 0), 0);
}
