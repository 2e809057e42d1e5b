/**
 * From columns to the bytes of a segment: one Arrow IPC stream of one record batch.
 *
 * Columns that are null in every row are left out. Counts are int32 where they fit and float64 else, dictionary indices
 * as narrow as the dictionary allows; no row object exists on the way.
 */
import type { TableDefinition } from '../schema/table.ts';
import { schemaVersionOf } from '../schema/version.ts';
import {
  batchMessage,
  dictionaryMessage,
  schemaMessage,
  type ArrowField,
  type ArrowType,
} from '../codecs/arrow/arrow-format.ts';
import type {
  BoolVector,
  F64ListVector,
  F64Vector,
  KeyVector,
  NumberVector,
  RowBatch,
  TextListVector,
  TextVector,
  Vector,
} from '../codecs/arrow/vectors.ts';

/** Stored name of the column that carries sequence numbers where they are not contiguous. */
export const SEQUENCE_COLUMN = 'sequence';

const schemaCache = new Map<string, Uint8Array<ArrayBuffer>>();
/** Every combination of present columns and widths has its schema message; far fewer occur than this. */
const MAX_CACHED_SCHEMAS = 256;

/** A field with its buffers. */
export type Plan = {
  readonly field: ArrowField;
  readonly nodes: [number, number][];
  readonly buffers: Uint8Array[];
  readonly dictionary?: readonly string[];
};

/** The Arrow IPC stream of `batch`; `facts` go into the metadata of its schema. */
export function encodeBatch(
  table: TableDefinition,
  batch: RowBatch,
  facts: readonly (readonly [string, string])[] = [],
): Uint8Array<ArrayBuffer> {
  const plans: Plan[] = [];
  let nextDictionary = 0;
  const add = (
    name: string,
    column: Vector | undefined,
    metadata: readonly (readonly [string, string])[],
  ): void => {
    const plan =
      column === undefined
        ? undefined
        : planColumn(column, {
            name,
            rowCount: batch.rowCount,
            dictionaryId: nextDictionary,
            metadata,
          });
    if (plan === undefined) return;
    if (plan.dictionary !== undefined) nextDictionary++;
    plans.push(plan);
  };
  for (const name of table.segmentColumns) {
    const column = table.columns[name];
    const stored = table.storedNames.get(name) ?? name;
    if (column === undefined) continue;
    const metadata: [string, string][] = [['quark:kind', column.kind]];
    if (column.unit !== undefined) metadata.push(['quark:unit', column.unit]);
    add(stored, batch.columns.get(stored), metadata);
  }
  add(SEQUENCE_COLUMN, batch.columns.get(SEQUENCE_COLUMN), [['quark:kind', 'count']]);

  const parts: Uint8Array[] = [schemaOf(table, plans, facts)];
  pushRows(parts, plans, batch.rowCount);
  parts.push(END_OF_STREAM);
  return concat(parts);
}

/** Adds the messages of a batch: its dictionaries and its columns. */
export function pushRows(parts: Uint8Array[], plans: readonly Plan[], rowCount: number): void {
  for (const plan of plans) {
    if (plan.dictionary === undefined) continue;
    const { length: count } = plan.dictionary;
    const id = plan.field.dictionary?.id ?? 0;
    pushMessage(parts, [EMPTY, ...textBuffers(plan.dictionary)], (list, length) =>
      dictionaryMessage(id, count, [[count, 0]], list, length),
    );
  }
  const nodes = plans.flatMap((plan) => plan.nodes);
  const buffers = plans.flatMap((plan) => plan.buffers);
  pushMessage(parts, buffers, (list, length) => batchMessage(rowCount, nodes, list, length));
}

/** Ends a stream of messages. */
export const END_OF_STREAM: Uint8Array<ArrayBuffer> = Uint8Array.of(255, 255, 255, 255, 0, 0, 0, 0);

function schemaOf(
  table: TableDefinition,
  plans: readonly Plan[],
  facts: readonly (readonly [string, string])[],
): Uint8Array<ArrayBuffer> {
  const build = (): Uint8Array<ArrayBuffer> =>
    schemaMessage(
      plans.map((plan) => plan.field),
      [
        ['quark:table', table.table],
        ['quark:schema_version', String(schemaVersionOf(table.table))],
        ...facts,
      ],
    );
  if (facts.length > 0) return build();
  const signature = `${table.table};${plans.map(({ field }) => `${field.name}:${JSON.stringify(field.type)}${field.dictionary?.indexBits ?? ''}`).join(';')}`;
  let bytes = schemaCache.get(signature);
  if (bytes === undefined) {
    bytes = build();
    if (schemaCache.size >= MAX_CACHED_SCHEMAS) schemaCache.clear();
    schemaCache.set(signature, bytes);
  }
  return bytes;
}

function pushMessage(
  parts: Uint8Array[],
  buffers: readonly Uint8Array[],
  build: (
    list: readonly (readonly [number, number])[],
    bodyLength: number,
  ) => Uint8Array<ArrayBuffer>,
): void {
  const list: [number, number][] = [];
  let length = 0;
  for (const buffer of buffers) {
    list.push([length, buffer.byteLength]);
    length += (buffer.byteLength + 7) & ~7;
  }
  parts.push(build(list, length), ...buffers);
}

/** Joins parts, each padded with zeros to a multiple of 8 bytes. */
export function concat(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  let length = 0;
  for (const part of parts) length += (part.byteLength + 7) & ~7;
  const all = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += (part.byteLength + 7) & ~7;
  }
  return all;
}

/** Where a column goes: its name, its rows, and the id of its dictionary if it has one. */
export type ColumnPlan = {
  readonly name: string;
  readonly rowCount: number;
  readonly dictionaryId: number;
  readonly metadata: ArrowField['metadata'];
  /** The type follows from the kind of the column alone, and nothing is left out: for batches that share a schema. Default false. */
  readonly isFixed?: boolean;
};

/** How a column is written; undefined for one that is null in every row, which is left out. */
export function planColumn(
  column: Vector,
  { name, rowCount, dictionaryId, metadata, isFixed = false }: ColumnPlan,
): Plan | undefined {
  const { type, nullCount, hasValue, data, key } = encodeColumn(column, rowCount, isFixed);
  if (!isFixed && nullCount === rowCount) return undefined;
  const validity = nullCount === 0 ? EMPTY : bitmap(rowCount, hasValue);
  const { buffers, itemNodes = [] } = data();
  return {
    field: {
      name,
      isNullable: isFixed || nullCount > 0,
      type,
      ...(metadata === undefined ? {} : { metadata }),
      ...(key === undefined ? {} : { dictionary: { id: dictionaryId, indexBits: key.indexBits } }),
    },
    nodes: [[rowCount, nullCount], ...itemNodes],
    buffers: [validity, ...buffers],
    ...(key === undefined ? {} : { dictionary: key.dictionary }),
  };
}

/** A column as Arrow has it. */
type Encoded = {
  readonly type: ArrowType;
  readonly nullCount: number;
  readonly hasValue: (row: number) => boolean;
  /** What follows the validity bitmap; asked for where the column is written. */
  readonly data: () => {
    readonly buffers: readonly Uint8Array[];
    readonly itemNodes?: readonly [number, number][];
  };
  /** Of a column that is written as indices of a dictionary. */
  readonly key?: { readonly dictionary: readonly string[]; readonly indexBits: 8 | 16 | 32 };
};

const FLOAT64: ArrowType = { kind: 'float', bits: 64 };

function encodeColumn(column: Vector, rowCount: number, isFixed: boolean): Encoded {
  switch (column.kind) {
    case 'number':
      return encodeNumbers(column, rowCount, isFixed);
    case 'f64':
      return encodeFloats(column, rowCount);
    case 'key':
      return encodeKeys(column, rowCount, isFixed);
    case 'text':
      return encodeTexts(column);
    case 'bool':
      return encodeBooleans(column, rowCount);
    case 'f64_list':
      return encodeFloatLists(column);
    case 'text_list':
      return encodeTextLists(column);
  }
}

function encodeNumbers({ values }: NumberVector, rowCount: number, isFixed: boolean): Encoded {
  const { integers: narrowed, nullCount } = narrow(values, rowCount);
  const integers = isFixed ? null : narrowed;
  return {
    type: integers === null ? FLOAT64 : { kind: 'int', bits: 32, isSigned: true },
    nullCount,
    hasValue: (row) => !Number.isNaN(values[row]),
    data: () => ({ buffers: [bytesOf(integers ?? values.subarray(0, rowCount))] }),
  };
}

function encodeFloats({ values, isNull }: F64Vector, rowCount: number): Encoded {
  return {
    type: FLOAT64,
    nullCount: countOnes(isNull, rowCount),
    hasValue: (row) => isNull?.[row] !== 1,
    data: () => ({ buffers: [bytesOf(values.subarray(0, rowCount))] }),
  };
}

function encodeKeys(
  { indices, dictionary }: KeyVector,
  rowCount: number,
  isFixed: boolean,
): Encoded {
  let nullCount = 0;
  for (let i = 0; i < rowCount; i++) if ((indices[i] ?? -1) < 0) nullCount++;
  const indexBits = isFixed || dictionary.length > 0x7fff ? 32 : dictionary.length > 0x7f ? 16 : 8;
  const IntArray = { 8: Int8Array, 16: Int16Array, 32: Int32Array }[indexBits];
  return {
    type: { kind: 'utf8' },
    nullCount,
    hasValue: (row) => (indices[row] ?? -1) >= 0,
    data: () => {
      const source = indices.subarray(0, rowCount);
      return { buffers: [bytesOf(indexBits === 32 ? source : new IntArray(source))] };
    },
    key: { dictionary, indexBits },
  };
}

function encodeTexts({ values }: TextVector): Encoded {
  return {
    type: { kind: 'utf8' },
    nullCount: countNulls(values),
    hasValue: (row) => values[row] !== null,
    data: () => ({ buffers: textBuffers(values) }),
  };
}

function encodeBooleans({ values }: BoolVector, rowCount: number): Encoded {
  let nullCount = 0;
  for (let i = 0; i < rowCount; i++) if (values[i] === 2) nullCount++;
  return {
    type: { kind: 'bool' },
    nullCount,
    hasValue: (row) => values[row] !== 2,
    data: () => ({ buffers: [bitmap(rowCount, (row) => values[row] === 1)] }),
  };
}

function encodeFloatLists({ values }: F64ListVector): Encoded {
  return {
    type: { kind: 'list', item: FLOAT64 },
    nullCount: countNulls(values),
    hasValue: (row) => values[row] !== null,
    data: () => {
      const offsets = offsetsOf(values);
      const items = new Float64Array(offsets[values.length] ?? 0);
      values.forEach((list, i) => list !== null && items.set(list, offsets[i]));
      return { buffers: [bytesOf(offsets), EMPTY, bytesOf(items)], itemNodes: [[items.length, 0]] };
    },
  };
}

function encodeTextLists({ values }: TextListVector): Encoded {
  return {
    type: { kind: 'list', item: { kind: 'utf8' } },
    nullCount: countNulls(values),
    hasValue: (row) => values[row] !== null,
    data: () => {
      const items = values.flatMap((list) => list ?? []);
      return {
        buffers: [bytesOf(offsetsOf(values)), EMPTY, ...textBuffers(items)],
        itemNodes: [[items.length, 0]],
      };
    },
  };
}

/** Counts as int32 where they all fit, and how many are missing (NaN; 0 among the integers). */
function narrow(
  values: Float64Array,
  rowCount: number,
): { readonly integers: Int32Array | null; readonly nullCount: number } {
  let integers: Int32Array | null = null;
  let nullCount = 0;
  let row = 0;
  for (; row < rowCount; row++) {
    const value = values[row] ?? Number.NaN;
    if (value !== value) {
      nullCount++;
      continue;
    }
    const integer = value | 0;
    if (integer !== value || integer < 0) break;
    integers ??= new Int32Array(rowCount);
    integers[row] = integer;
  }
  if (row === rowCount) return { integers, nullCount };
  for (; row < rowCount; row++) {
    const value = values[row] ?? Number.NaN;
    if (value !== value) nullCount++;
  }
  return { integers: null, nullCount };
}

const EMPTY = new Uint8Array(0);

/** Offsets and bytes of texts in UTF-8; those of null are empty. */
function textBuffers(values: readonly (string | null)[]): Uint8Array[] {
  const offsets = new Int32Array(values.length + 1);
  const encoder = new TextEncoder();
  const parts: Uint8Array[] = [];
  let length = 0;
  values.forEach((value, i) => {
    if (value !== null && value !== '') {
      const utf8 = encoder.encode(value);
      parts.push(utf8);
      length += utf8.length;
    }
    offsets[i + 1] = length;
  });
  const data = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    data.set(part, at);
    at += part.length;
  }
  return [bytesOf(offsets), data];
}

function offsetsOf(values: readonly ({ readonly length: number } | null)[]): Int32Array {
  const offsets = new Int32Array(values.length + 1);
  values.forEach((list, i) => {
    offsets[i + 1] = (offsets[i] ?? 0) + (list?.length ?? 0);
  });
  return offsets;
}

function countNulls(values: readonly unknown[]): number {
  return values.reduce((count: number, value) => (value === null ? count + 1 : count), 0);
}

function bitmap(length: number, isSet: (i: number) => boolean): Uint8Array {
  const bits = new Uint8Array((length + 7) >>> 3);
  for (let i = 0; i < length; i++)
    if (isSet(i)) bits[i >>> 3] = (bits[i >>> 3] ?? 0) | (1 << (i & 7));
  return bits;
}

function countOnes(flags: Uint8Array | null, length: number): number {
  let ones = 0;
  if (flags !== null) for (let i = 0; i < length; i++) ones += flags[i] ?? 0;
  return ones;
}

function bytesOf(array: ArrayBufferView): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}
