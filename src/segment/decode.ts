/** From the bytes of a segment to its columns. */
import type { Column } from '../schema/column.ts';
import type { TableDefinition } from '../schema/table.ts';
import { CURRENT_SCHEMA_VERSION } from '../schema/version.ts';
import {
  isNullAt,
  readArrow,
  textsOf,
  type ArrowBatch,
  type ArrowColumn,
  type ArrowNumbers,
  type ReadLimits,
} from '../codecs/arrow/arrow-reader.ts';
import { SEQUENCE_COLUMN } from './encode.ts';
import { damaged } from '../codecs/arrow/flatbuffer.ts';
import { migrateBatch } from './migrations.ts';
import type { KeyVector, RowBatch, Vector } from '../codecs/arrow/vectors.ts';

/**
 * The columns of an Arrow IPC stream that `table` knows. Typed arrays may be views of `bytes`.
 *
 * @param limits more is damage; anything is read unless given
 * @throws {QuarkError} `segment_damaged`
 */
export function decodeBatches(
  table: TableDefinition,
  bytes: Uint8Array,
  version: number = CURRENT_SCHEMA_VERSION,
  limits?: ReadLimits,
  options: DecodeOptions = {},
): RowBatch[] {
  return readStored(table, bytes, version, limits).map((batch) =>
    decodeBatch(table, batch, options),
  );
}

/** What of a segment is decoded, and where. */
export type DecodeOptions = {
  /** Columns by their stored names; all unless given. */
  readonly names?: ReadonlySet<string>;
  /**
   * Memory for what is unpacked, and for numbers of another type than they are stored in; it may hold anything. New memory unless given.
   * What is decoded is valid as long as what is in it.
   */
  readonly room?: (byteLength: number) => Uint8Array;
};

/** The same as they stand in the bytes, under the names of today. @throws {QuarkError} `segment_damaged` */
export function readStored(
  table: TableDefinition,
  bytes: Uint8Array,
  version: number = CURRENT_SCHEMA_VERSION,
  limits?: ReadLimits,
): ArrowBatch[] {
  return readArrow(bytes, undefined, limits).map((batch) =>
    migrateBatch(table.table, version, batch),
  );
}

function decodeBatch(
  table: TableDefinition,
  batch: ArrowBatch,
  { names, room }: DecodeOptions,
): RowBatch {
  const columns = new Map<string, Vector>();
  for (const [name, column] of Object.entries(table.columns)) {
    const stored = table.storedNames.get(name) ?? name;
    const data = batch.columns.get(stored);
    if (data !== undefined && names?.has(stored) !== false)
      columns.set(stored, toVector(stored, column.kind, data, room));
  }
  const sequence = batch.columns.get(SEQUENCE_COLUMN);
  if (sequence !== undefined)
    columns.set(SEQUENCE_COLUMN, toVector(SEQUENCE_COLUMN, 'count', sequence, room));
  return { rowCount: batch.rowCount, columns };
}

function toVector(
  name: string,
  kind: Column<unknown>['kind'],
  column: ArrowColumn,
  room: DecodeOptions['room'],
): Vector {
  const { data, length } = column;
  switch (kind) {
    case 'count':
    case 'instant':
      return { kind: 'number', values: numbers(name, column, room) };
    case 'f64': {
      if (data.kind !== 'number') throw mismatch(name);
      const isNull = column.validity === null ? null : new Uint8Array(length);
      if (isNull !== null) for (let i = 0; i < length; i++) isNull[i] = isNullAt(column, i) ? 1 : 0;
      return {
        kind: 'f64',
        values: data.values instanceof Float64Array ? data.values : new Float64Array(data.values),
        isNull,
      };
    }
    case 'key':
      return toKeyVector(name, column);
    case 'text':
    case 'json':
      return { kind: 'text', values: textValues(name, column) };
    case 'bool': {
      if (data.kind !== 'bits') throw mismatch(name);
      const { bits } = data;
      return {
        kind: 'bool',
        values: Uint8Array.from({ length }, (_, i) =>
          isNullAt(column, i) ? 2 : ((bits[i >>> 3] ?? 0) >>> (i & 7)) & 1,
        ),
      };
    }
    case 'f64_list': {
      if (data.kind !== 'list' || data.items.data.kind !== 'number') throw mismatch(name);
      const items = new Float64Array(data.items.data.values);
      return {
        kind: 'f64_list',
        values: Array.from({ length }, (_, i) =>
          isNullAt(column, i) ? null : items.slice(data.offsets[i], data.offsets[i + 1]),
        ),
      };
    }
    case 'text_list': {
      if (data.kind !== 'list') throw mismatch(name);
      const items = textsOf(data.items).map((item) => item ?? '');
      return {
        kind: 'text_list',
        values: Array.from({ length }, (_, i) =>
          isNullAt(column, i) ? null : items.slice(data.offsets[i], data.offsets[i + 1]),
        ),
      };
    }
  }
}

function numbers(name: string, column: ArrowColumn, room: DecodeOptions['room']): Float64Array {
  const values = numbersOf(name, column);
  if (values instanceof Float64Array) return values;
  if (room === undefined) return new Float64Array(values);
  const { buffer, byteOffset } = room(8 * values.length);
  const own = new Float64Array(buffer, byteOffset, values.length);
  own.set(values);
  return own;
}

/** The numbers of a column as they stand in the bytes, where none is null; else with NaN for null. @throws {QuarkError} */
export function numbersOf(name: string, column: ArrowColumn): ArrowNumbers {
  const { data } = column;
  if (data.kind !== 'number') throw mismatch(name);
  if (column.validity === null) return data.values;
  const values = new Float64Array(data.values);
  for (let i = 0; i < values.length; i++) if (isNullAt(column, i)) values[i] = Number.NaN;
  return values;
}

/** A `key` column of what others may have written as text or as a dictionary. @throws {QuarkError} `segment_damaged` */
export function toKeyVector(name: string, column: ArrowColumn): KeyVector {
  const { dictionary, data, length } = column;
  if (dictionary === null) return keysOf(textValues(name, column));
  if (data.kind !== 'number') throw mismatch(name);
  const indices = new Int32Array(length);
  const texts = dictionary.map((item) => item ?? '');
  if (column.validity === null && !dictionary.includes(null)) {
    indices.set(data.values);
    for (let i = 0; i < length; i++)
      if ((indices[i] ?? 0) >>> 0 >= texts.length)
        throw damaged(`field "${name}" points outside its dictionary`);
    return { kind: 'key', dictionary: texts, indices };
  }
  for (let i = 0; i < length; i++) {
    const index = data.values[i] ?? -1;
    if (isNullAt(column, i) || (index >= 0 && dictionary[index] === null)) indices[i] = -1;
    else if (index < 0 || index >= texts.length)
      throw damaged(`field "${name}" points outside its dictionary`);
    else indices[i] = index;
  }
  return { kind: 'key', dictionary: texts, indices };
}

function keysOf(values: readonly (string | null)[]): KeyVector {
  const positions = new Map<string, number>();
  const indices = Int32Array.from(values, (value) => {
    if (value === null) return -1;
    const known = positions.get(value) ?? positions.size;
    positions.set(value, known);
    return known;
  });
  return { kind: 'key', dictionary: [...positions.keys()], indices };
}

function textValues(name: string, column: ArrowColumn): (string | null)[] {
  const { dictionary, data } = column;
  if (data.kind === 'text') return textsOf(column);
  if (dictionary === null || data.kind !== 'number') throw mismatch(name);
  const { values } = data;
  return Array.from({ length: column.length }, (_, i) =>
    isNullAt(column, i) ? null : (dictionary[values[i] ?? -1] ?? null),
  );
}

function mismatch(name: string): Error {
  return damaged(`field "${name}" has another type than its declaration`);
}
