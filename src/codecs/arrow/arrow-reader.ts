/**
 * Reads an Arrow IPC stream into columns. Takes what other writers make too: other integer widths, plain text where a
 * dictionary was expected, several record batches. Everything is checked: the bytes may be anything.
 */
import {
  CONTINUATION,
  HEADER_BATCH,
  HEADER_DICTIONARY,
  HEADER_SCHEMA,
  TYPE_BOOL,
  TYPE_FLOAT,
  TYPE_INT,
  TYPE_LIST,
  TYPE_UTF8,
  type ArrowType,
} from './arrow-format.ts';
import {
  ALIGNMENT,
  BatchCursor,
  MAX_ROWS,
  type BatchBody,
  type BufferSpan,
} from './arrow-buffers.ts';
import { damaged, FlatTable } from './flatbuffer.ts';

/** Bounds of what is read at all: far beyond what Quark writes, far below what exhausts memory. */
const MAX_FIELDS = 1024;
/** Bytes of the description of a message: that of a schema may carry facts of its writer, the others follow from the fields. */
const MAX_SCHEMA_BYTES = 1 << 23;
const MAX_DESCRIPTION_BYTES = 1 << 17;

/** Bounds for bytes of somebody who may want to keep the reader busy. */
export type ReadLimits = {
  /** Schema, dictionaries and batches together. */
  readonly messages: number;
  /** Texts of all dictionaries together. */
  readonly names: number;
};

/** Numbers of any width. */
export type ArrowNumbers =
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | Float32Array
  | Float64Array;

/** The values of one field of one record batch, as they stand in the bytes. */
export type ArrowColumn = {
  readonly type: ArrowType;
  readonly length: number;
  /** Bit set where a value is present; null when all are. */
  readonly validity: Uint8Array | null;
  readonly data:
    | {
        readonly kind: 'number';
        readonly values: ArrowNumbers;
      }
    | { readonly kind: 'bits'; readonly bits: Uint8Array }
    | { readonly kind: 'text'; readonly offsets: Int32Array; readonly utf8: Uint8Array }
    | { readonly kind: 'list'; readonly offsets: Int32Array; readonly items: ArrowColumn };
  /** For a dictionary-encoded field: the dictionary; `data` then holds indices. */
  readonly dictionary: readonly (string | null)[] | null;
};

/** One record batch by field name. */
export type ArrowBatch = {
  readonly rowCount: number;
  readonly columns: ReadonlyMap<string, ArrowColumn>;
};

type Field = {
  readonly name: string;
  readonly type: ArrowType;
  readonly indexType: ArrowType | null;
  readonly dictionaryId: number;
};

/**
 * Reads all record batches of a stream. Its length has to follow from its columns and rows: padding beyond the alignment of
 * Arrow, buffers that overlap and bytes behind the end are damage. So the work that a stream makes is bounded by its rows
 * and its text.
 *
 * @param spans collects where the buffers of the batches lie, if given
 * @param limits more is damage; anything is read unless given
 * @throws {QuarkError} `segment_damaged`
 */
export function readArrow(
  bytes: Uint8Array,
  spans?: BufferSpan[],
  limits?: ReadLimits,
): ArrowBatch[] {
  const aligned = bytes.byteOffset % 8 === 0 ? bytes : bytes.slice();
  const words = new DataView(aligned.buffer, aligned.byteOffset, aligned.byteLength);
  let fields: Field[] | undefined;
  const dictionaries = new Map<number, (string | null)[]>();
  const batches: ArrowBatch[] = [];
  let at = 0;
  let messages = 0;
  let names = 0;
  while (at < aligned.byteLength) {
    if (at + 8 > aligned.byteLength || words.getUint32(at, true) !== CONTINUATION)
      throw damaged('a message does not start with its marker');
    const size = words.getInt32(at + 4, true);
    if (size === 0) {
      if (at + 8 !== aligned.byteLength) throw damaged('bytes follow the end of the stream');
      break;
    }
    if (limits !== undefined && ++messages > limits.messages)
      throw damaged(`more than ${limits.messages} messages`);
    const bodyStart = at + 8 + size;
    if (size < 0 || bodyStart > aligned.byteLength)
      throw damaged('a message is longer than the segment');
    const message = FlatTable.root(aligned.subarray(at + 8, bodyStart));
    const bodyLength = message.int64(3);
    const end = bodyStart + bodyLength;
    if (end > aligned.byteLength) throw damaged('a message body is longer than the segment');
    const header = message.table(2);
    if (header === undefined) throw damaged('a message has no header');
    const kind = message.int8(1);
    if (size > (kind === HEADER_SCHEMA ? MAX_SCHEMA_BYTES : MAX_DESCRIPTION_BYTES))
      throw damaged('the description of a message is too long');
    if (kind === HEADER_SCHEMA) {
      if (bodyLength > 0) throw damaged('a schema has a body');
      fields = readSchema(header);
    } else if (kind === HEADER_DICTIONARY || kind === HEADER_BATCH) {
      if (fields === undefined) throw damaged('data comes before the schema');
      const body: BatchBody = { bytes: aligned, start: bodyStart, end };
      if (kind === HEADER_BATCH) batches.push(readBatch(header, fields, dictionaries, body, spans));
      else {
        const column = dictionaryColumn(header, body, spans);
        // Counted before a text of it is made.
        names += column.length;
        if (limits !== undefined && names > limits.names)
          throw damaged(`more than ${limits.names} names in its dictionaries`);
        addDictionary(header, dictionaries, column);
      }
    } else throw damaged('a message is of no known kind');
    at = (end + 7) & ~7;
  }
  if (fields === undefined) throw damaged('there is no schema');
  return batches;
}

/** Whether the value at `i` is null. */
export function isNullAt(column: ArrowColumn, i: number): boolean {
  return column.validity !== null && ((column.validity[i >>> 3] ?? 0) & (1 << (i & 7))) === 0;
}

/** The texts of a utf8 column. */
export function textsOf(column: ArrowColumn): (string | null)[] {
  const { data } = column;
  if (data.kind !== 'text') throw damaged('a text field has no text buffers');
  // What looks like a byte order mark belongs to the text.
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  return Array.from({ length: column.length }, (_, i) => {
    if (isNullAt(column, i)) return null;
    return decoder.decode(data.utf8.subarray(data.offsets[i], data.offsets[i + 1]));
  });
}

function readSchema(schema: FlatTable): Field[] {
  if (schema.int16(0) !== 0) throw damaged('big-endian data is not supported');
  const tables = schema.tables(1);
  if (tables.length > MAX_FIELDS) throw damaged(`more than ${MAX_FIELDS} fields`);
  return tables.map((field) => {
    const dictionary = field.table(4);
    const index = dictionary?.table(1);
    return {
      name: field.string(0),
      type: readType(field, 0),
      indexType:
        dictionary === undefined
          ? null
          : index === undefined
            ? { kind: 'int', bits: 32, isSigned: true }
            : readInt(index),
      dictionaryId: dictionary?.int64(0) ?? -1,
    };
  });
}

function readType(field: FlatTable, depth: number): ArrowType {
  const table = field.table(3);
  switch (field.int8(2)) {
    case TYPE_INT:
      if (table === undefined) break;
      return readInt(table);
    case TYPE_FLOAT:
      switch (table?.int16(0)) {
        case 1:
          return { kind: 'float', bits: 32 };
        case 2:
          return { kind: 'float', bits: 64 };
        default:
          throw damaged('half-precision fields are not supported');
      }
    case TYPE_UTF8:
      return { kind: 'utf8' };
    case TYPE_BOOL:
      return { kind: 'bool' };
    case TYPE_LIST: {
      const child = field.tables(5)[0];
      if (child === undefined || depth > 0) break;
      return { kind: 'list', item: readType(child, depth + 1) };
    }
  }
  throw damaged(`field "${field.string(0)}" has a type that segments do not use`);
}

function readInt(table: FlatTable): ArrowType {
  const bits = table.int32(0);
  if (bits !== 8 && bits !== 16 && bits !== 32 && bits !== 64)
    throw damaged('an integer field has an impossible width');
  return { kind: 'int', bits, isSigned: table.int8(1) === 1 };
}

function readBatch(
  batch: FlatTable,
  fields: readonly Field[],
  dictionaries: ReadonlyMap<number, readonly (string | null)[]>,
  body: BatchBody,
  spans: BufferSpan[] | undefined,
): ArrowBatch {
  const rowCount = batch.int64(0);
  if (rowCount > MAX_ROWS) throw damaged(`more than ${MAX_ROWS} rows in one batch`);
  const cursor = new BatchCursor(batch, body, spans);
  const columns = new Map<string, ArrowColumn>();
  for (const field of fields) {
    const dictionary =
      field.indexType === null ? null : (dictionaries.get(field.dictionaryId) ?? []);
    const column = readColumn(cursor, field.indexType ?? field.type, dictionary);
    if (column.length !== rowCount)
      throw damaged(`field "${field.name}" has another length than its batch`);
    columns.set(field.name, column);
  }
  cursor.close();
  return { rowCount, columns };
}

function dictionaryColumn(
  header: FlatTable,
  body: BatchBody,
  spans: BufferSpan[] | undefined,
): ArrowColumn {
  const batch = header.table(1);
  if (batch === undefined) throw damaged('a dictionary has no data');
  const cursor = new BatchCursor(batch, body, spans);
  const column = readColumn(cursor, { kind: 'utf8' }, null);
  cursor.close();
  return column;
}

function addDictionary(
  header: FlatTable,
  dictionaries: Map<number, (string | null)[]>,
  column: ArrowColumn,
): void {
  const values = textsOf(column);
  const id = header.int64(0);
  const isDelta = header.int8(2) === 1;
  const known = isDelta ? dictionaries.get(id) : undefined;
  if (known === undefined) dictionaries.set(id, values);
  // In place: a new array for each of many small deltas would take the square of their number. Batches before this one
  // may have the array, and do not point at what is added.
  else for (const value of values) known.push(value);
}

function readColumn(
  cursor: BatchCursor,
  type: ArrowType,
  dictionary: readonly (string | null)[] | null,
): ArrowColumn {
  const { length, nullCount } = cursor.node();
  const bits = cursor.buffer(0, false);
  cursor.fit(bits, bitmapBytes(length));
  const validity = nullCount === 0 || bits.length === 0 ? null : bits;
  if (validity !== null && validity.length * 8 < length)
    throw damaged('a validity bitmap is too short');
  const column = { type, length, validity, dictionary };
  switch (type.kind) {
    case 'bool': {
      const values = cursor.buffer(0, false);
      if (values.length * 8 < length) throw damaged('a bool buffer is too short');
      cursor.fit(values, bitmapBytes(length));
      return { ...column, data: { kind: 'bits', bits: values } };
    }
    case 'int':
    case 'float':
      return { ...column, data: { kind: 'number', values: readNumbers(cursor, type, length) } };
    case 'utf8': {
      const offsets = readOffsets(cursor, length);
      const utf8 = cursor.buffer(0, false);
      if ((offsets[length] ?? 0) > utf8.length) throw damaged('a text buffer is too short');
      cursor.fit(utf8, offsets[length] ?? 0);
      return { ...column, data: { kind: 'text', offsets, utf8 } };
    }
    case 'list': {
      const offsets = readOffsets(cursor, length);
      const items = readColumn(cursor, type.item, null);
      if ((offsets[length] ?? 0) !== items.length)
        throw damaged('a list has more or fewer items than its offsets say');
      return { ...column, data: { kind: 'list', offsets, items } };
    }
  }
}

function bitmapBytes(length: number): number {
  return Math.ceil(length / 8);
}

function readOffsets(cursor: BatchCursor, length: number): Int32Array {
  const buffer = cursor.buffer(4, true);
  cursor.fit(buffer, 4 * (length + 1));
  if (length === 0) return new Int32Array(1);
  const offsets = view(Int32Array, buffer, length + 1);
  // What stands before the first text is padding, too.
  if ((offsets[0] ?? 0) >= ALIGNMENT) throw damaged('offsets do not begin at 0');
  let last = 0;
  for (const offset of offsets) {
    if (offset < last) throw damaged('offsets run backwards');
    last = offset;
  }
  return offsets;
}

function readNumbers(
  cursor: BatchCursor,
  type: ArrowType & { kind: 'int' | 'float' },
  length: number,
): ArrowNumbers {
  const width = type.bits === 64 ? 8 : type.bits === 32 ? 4 : type.bits === 16 ? 2 : 1;
  const buffer = cursor.buffer(width, type.kind === 'int');
  cursor.fit(buffer, width * length);
  if (type.kind === 'float')
    return type.bits === 64
      ? view(Float64Array, buffer, length)
      : view(Float32Array, buffer, length);
  switch (type.bits) {
    case 8:
      return type.isSigned ? view(Int8Array, buffer, length) : view(Uint8Array, buffer, length);
    case 16:
      return type.isSigned ? view(Int16Array, buffer, length) : view(Uint16Array, buffer, length);
    case 32:
      return type.isSigned ? view(Int32Array, buffer, length) : view(Uint32Array, buffer, length);
    case 64: {
      const words = type.isSigned
        ? view(BigInt64Array, buffer, length)
        : view(BigUint64Array, buffer, length);
      return Float64Array.from(words, Number);
    }
  }
}

type ViewType<T> = {
  readonly BYTES_PER_ELEMENT: number;
  new (buffer: ArrayBufferLike, byteOffset: number, length: number): T;
};

function view<T>(type: ViewType<T>, buffer: Uint8Array, length: number): T {
  if (buffer.byteLength < length * type.BYTES_PER_ELEMENT)
    throw damaged('a number buffer is too short');
  if (buffer.byteOffset % type.BYTES_PER_ELEMENT !== 0) {
    const copy = buffer.slice();
    return new type(copy.buffer, 0, length);
  }
  return new type(buffer.buffer, buffer.byteOffset, length);
}
