/**
 * From columns to the bytes of a segment: one Arrow IPC stream of one record batch.
 *
 * Columns that are null in every row are left out. Counts are int32 where they fit and float64 else, dictionary indices
 * as narrow as the dictionary allows; no row object exists on the way.
 */
import type { TableDefinition } from '../schema/table.ts';
import { CURRENT_SCHEMA_VERSION } from '../schema/version.ts';
import {
  batchMessage,
  CONTINUATION,
  dictionaryMessage,
  schemaMessage,
  type ArrowField,
  type ArrowType,
} from '../codecs/arrow/arrow-format.ts';
import type { RowBatch, Vector } from '../codecs/arrow/vectors.ts';

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
        : planColumn(name, column, batch.rowCount, nextDictionary, metadata);
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
    const { nodes, buffers } = planText(plan.dictionary);
    pushMessage(parts, buffers, (list, length) =>
      dictionaryMessage(
        plan.field.dictionary?.id ?? 0,
        plan.dictionary?.length ?? 0,
        nodes,
        list,
        length,
      ),
    );
  }
  const nodes = plans.flatMap((plan) => plan.nodes);
  const buffers = plans.flatMap((plan) => plan.buffers);
  pushMessage(parts, buffers, (list, length) => batchMessage(rowCount, nodes, list, length));
}

/** Ends a stream of messages. */
export const END_OF_STREAM: Uint8Array<ArrayBuffer> = new Uint8Array(8);
new DataView(END_OF_STREAM.buffer).setUint32(0, CONTINUATION, true);

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
        ['quark:schema_version', String(CURRENT_SCHEMA_VERSION)],
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

/**
 * How a column is written; undefined for one that is null in every row, which is left out.
 *
 * @param isFixed the type follows from the kind of the column alone, and nothing is left out: for batches that share a schema
 */
export function planColumn(
  name: string,
  column: Vector,
  rowCount: number,
  dictionaryId: number,
  metadata: ArrowField['metadata'],
  isFixed = false,
): Plan | undefined {
  const field = (type: ArrowType, nullCount: number): ArrowField => ({
    name,
    isNullable: isFixed || nullCount > 0,
    type,
    ...(metadata === undefined ? {} : { metadata }),
  });
  const isEmpty = (nullCount: number): boolean => !isFixed && nullCount === rowCount;
  switch (column.kind) {
    case 'number': {
      const { values } = column;
      const found = narrow(values, rowCount);
      const { nullCount } = found;
      const integers = isFixed ? null : found.integers;
      if (isEmpty(nullCount)) return undefined;
      const validity = nullCount === 0 ? EMPTY : bitmap(rowCount, (i) => !Number.isNaN(values[i]));
      const data = integers ?? values.subarray(0, rowCount);
      const type: ArrowType =
        integers === null ? { kind: 'float', bits: 64 } : { kind: 'int', bits: 32, isSigned: true };
      return {
        field: field(type, nullCount),
        nodes: [[rowCount, nullCount]],
        buffers: [validity, bytesOf(data)],
      };
    }
    case 'f64': {
      const { values, isNull } = column;
      const nullCount = countOnes(isNull, rowCount);
      if (isEmpty(nullCount)) return undefined;
      const validity =
        nullCount === 0 || isNull === null ? EMPTY : bitmap(rowCount, (i) => isNull[i] !== 1);
      return {
        field: field({ kind: 'float', bits: 64 }, nullCount),
        nodes: [[rowCount, nullCount]],
        buffers: [validity, bytesOf(values.subarray(0, rowCount))],
      };
    }
    case 'key': {
      const { indices, dictionary } = column;
      let nullCount = 0;
      for (let i = 0; i < rowCount; i++) if ((indices[i] ?? -1) < 0) nullCount++;
      if (isEmpty(nullCount)) return undefined;
      const validity = nullCount === 0 ? EMPTY : bitmap(rowCount, (i) => (indices[i] ?? -1) >= 0);
      const indexBits =
        isFixed || dictionary.length > 0x7fff ? 32 : dictionary.length > 0x7f ? 16 : 8;
      const source = indices.subarray(0, rowCount);
      const data =
        indexBits === 8
          ? new Int8Array(source)
          : indexBits === 16
            ? new Int16Array(source)
            : source;
      return {
        field: {
          ...field({ kind: 'utf8' }, nullCount),
          dictionary: { id: dictionaryId, indexBits },
        },
        nodes: [[rowCount, nullCount]],
        buffers: [validity, bytesOf(data)],
        dictionary,
      };
    }
    case 'text': {
      const { nodes, buffers, nullCount } = planText(column.values);
      return isEmpty(nullCount)
        ? undefined
        : { field: field({ kind: 'utf8' }, nullCount), nodes, buffers };
    }
    case 'bool': {
      const { values } = column;
      let nullCount = 0;
      for (let i = 0; i < rowCount; i++) if (values[i] === 2) nullCount++;
      if (isEmpty(nullCount)) return undefined;
      const validity = nullCount === 0 ? EMPTY : bitmap(rowCount, (i) => values[i] !== 2);
      return {
        field: field({ kind: 'bool' }, nullCount),
        nodes: [[rowCount, nullCount]],
        buffers: [validity, bitmap(rowCount, (i) => values[i] === 1)],
      };
    }
    case 'f64_list': {
      const { validity, offsets, nullCount } = planList(column.values);
      if (isEmpty(nullCount)) return undefined;
      const items = new Float64Array(offsets[rowCount] ?? 0);
      column.values.forEach((list, i) => list !== null && items.set(list, offsets[i]));
      const type: ArrowType = { kind: 'list', item: { kind: 'float', bits: 64 } };
      return {
        field: field(type, nullCount),
        nodes: [
          [rowCount, nullCount],
          [items.length, 0],
        ],
        buffers: [validity, bytesOf(offsets), EMPTY, bytesOf(items)],
      };
    }
    case 'text_list': {
      const { validity, offsets, nullCount } = planList(column.values);
      if (isEmpty(nullCount)) return undefined;
      const items = planText(column.values.flatMap((list) => list ?? []));
      const type: ArrowType = { kind: 'list', item: { kind: 'utf8' } };
      return {
        field: field(type, nullCount),
        nodes: [[rowCount, nullCount], ...items.nodes],
        buffers: [validity, bytesOf(offsets), ...items.buffers],
      };
    }
  }
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

function planText(values: readonly (string | null)[]): {
  nodes: [number, number][];
  buffers: Uint8Array[];
  nullCount: number;
} {
  const offsets = new Int32Array(values.length + 1);
  const encoder = new TextEncoder();
  const parts: Uint8Array[] = [];
  let nullCount = 0;
  let length = 0;
  values.forEach((value, i) => {
    if (value === null) nullCount++;
    else if (value !== '') {
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
  const validity = nullCount === 0 ? EMPTY : bitmap(values.length, (i) => values[i] !== null);
  return {
    nodes: [[values.length, nullCount]],
    buffers: [validity, bytesOf(offsets), data],
    nullCount,
  };
}

function planList(values: readonly ({ readonly length: number } | null)[]): {
  validity: Uint8Array;
  offsets: Int32Array;
  nullCount: number;
} {
  const offsets = new Int32Array(values.length + 1);
  let nullCount = 0;
  values.forEach((list, i) => {
    if (list === null) nullCount++;
    offsets[i + 1] = (offsets[i] ?? 0) + (list?.length ?? 0);
  });
  return {
    validity: nullCount === 0 ? EMPTY : bitmap(values.length, (i) => values[i] !== null),
    offsets,
    nullCount,
  };
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
