/**
 * Arrow IPC streaming format: messages and their numbers. https://arrow.apache.org/docs/format/Columnar.html
 * A message is 0xFFFFFFFF, the size of its metadata, the metadata (FlatBuffers), and a body of 8-byte aligned buffers.
 */
import { FlatBuilder } from './flatbuffer.ts';

export const HEADER_SCHEMA = 1;
export const HEADER_DICTIONARY = 2;
export const HEADER_BATCH = 3;
const METADATA_V5 = 4;

export const TYPE_INT = 2;
export const TYPE_FLOAT = 3;
export const TYPE_UTF8 = 5;
export const TYPE_BOOL = 6;
export const TYPE_LIST = 12;

export const CONTINUATION = 0xffffffff;

/** The type of an Arrow field, as far as segments use it. */
export type ArrowType =
  | { readonly kind: 'int'; readonly bits: 8 | 16 | 32 | 64; readonly isSigned: boolean }
  | { readonly kind: 'float'; readonly bits: 32 | 64 }
  | { readonly kind: 'utf8' }
  | { readonly kind: 'bool' }
  | { readonly kind: 'list'; readonly item: ArrowType };

/** A field of the schema of a segment. */
export type ArrowField = {
  readonly name: string;
  readonly isNullable: boolean;
  readonly type: ArrowType;
  /** Set for dictionary-encoded fields; `type` is then the type of the dictionary's values. */
  readonly dictionary?: { readonly id: number; readonly indexBits: 8 | 16 | 32 };
  readonly metadata?: readonly (readonly [string, string])[];
};

/** One message: metadata with its frame, ready to be followed by `bodyLength` bytes. */
export function frame(metadata: Uint8Array): Uint8Array<ArrayBuffer> {
  const padded = (metadata.length + 7) & ~7;
  const framed = new Uint8Array(8 + padded);
  const view = new DataView(framed.buffer);
  view.setUint32(0, CONTINUATION, true);
  view.setInt32(4, padded, true);
  framed.set(metadata, 8);
  return framed;
}

export function schemaMessage(
  fields: readonly ArrowField[],
  metadata: readonly (readonly [string, string])[],
): Uint8Array<ArrayBuffer> {
  const builder = new FlatBuilder();
  const fieldVector = builder.offsets(fields.map((field) => writeField(builder, field)));
  const pairs = writePairs(builder, metadata);
  const schema = builder.table((slots) => {
    slots.offset(1, fieldVector);
    slots.offset(2, pairs);
    slots.int16(0, 0);
  });
  return message(builder, HEADER_SCHEMA, schema, 0);
}

/** A record batch: `nodes` are [length, null count] a field, `buffers` are [offset, length] in the body. */
export function batchMessage(
  rowCount: number,
  nodes: readonly (readonly [number, number])[],
  buffers: readonly (readonly [number, number])[],
  bodyLength: number,
): Uint8Array<ArrayBuffer> {
  const builder = new FlatBuilder();
  return message(builder, HEADER_BATCH, writeBatch(builder, rowCount, nodes, buffers), bodyLength);
}

export function dictionaryMessage(
  id: number,
  rowCount: number,
  nodes: readonly (readonly [number, number])[],
  buffers: readonly (readonly [number, number])[],
  bodyLength: number,
): Uint8Array<ArrayBuffer> {
  const builder = new FlatBuilder();
  const batch = writeBatch(builder, rowCount, nodes, buffers);
  const dictionary = builder.table((slots) => {
    slots.int64(0, id);
    slots.offset(1, batch);
  });
  return message(builder, HEADER_DICTIONARY, dictionary, bodyLength);
}

function message(
  builder: FlatBuilder,
  header: number,
  headerTable: number,
  bodyLength: number,
): Uint8Array<ArrayBuffer> {
  const root = builder.table((slots) => {
    slots.int64(3, bodyLength);
    slots.offset(2, headerTable);
    slots.int16(0, METADATA_V5);
    slots.int8(1, header);
  });
  return frame(builder.finish(root));
}

function writeBatch(
  builder: FlatBuilder,
  rowCount: number,
  nodes: readonly (readonly [number, number])[],
  buffers: readonly (readonly [number, number])[],
): number {
  const nodeVector = builder.pairs(nodes);
  const bufferVector = builder.pairs(buffers);
  return builder.table((slots) => {
    slots.int64(0, rowCount);
    slots.offset(1, nodeVector);
    slots.offset(2, bufferVector);
  });
}

function writeField(builder: FlatBuilder, field: ArrowField): number {
  const { dictionary, type } = field;
  const children =
    type.kind === 'list'
      ? [writeField(builder, { name: 'item', isNullable: false, type: type.item })]
      : [];
  const name = builder.string(field.name);
  const pairs = writePairs(builder, field.metadata ?? []);
  const childVector = builder.offsets(children);
  const typeTable = writeType(builder, type);
  let dictionaryTable = 0;
  if (dictionary !== undefined) {
    const indexType = writeType(builder, {
      kind: 'int',
      bits: dictionary.indexBits,
      isSigned: true,
    });
    dictionaryTable = builder.table((slots) => {
      slots.int64(0, dictionary.id);
      slots.offset(1, indexType);
    });
  }
  return builder.table((slots) => {
    slots.offset(0, name);
    slots.offset(3, typeTable);
    if (dictionary !== undefined) slots.offset(4, dictionaryTable);
    slots.offset(5, childVector);
    slots.offset(6, pairs);
    slots.int8(1, field.isNullable ? 1 : 0);
    slots.int8(2, typeNumber(type));
  });
}

function typeNumber(type: ArrowType): number {
  switch (type.kind) {
    case 'int':
      return TYPE_INT;
    case 'float':
      return TYPE_FLOAT;
    case 'utf8':
      return TYPE_UTF8;
    case 'bool':
      return TYPE_BOOL;
    case 'list':
      return TYPE_LIST;
  }
}

function writeType(builder: FlatBuilder, type: ArrowType): number {
  return builder.table((slots) => {
    if (type.kind === 'int') {
      slots.int32(0, type.bits);
      slots.int8(1, type.isSigned ? 1 : 0);
    } else if (type.kind === 'float') {
      slots.int16(0, type.bits === 64 ? 2 : 1);
    }
  });
}

function writePairs(builder: FlatBuilder, pairs: readonly (readonly [string, string])[]): number {
  return builder.offsets(
    pairs.map(([name, value]) => {
      const nameString = builder.string(name);
      const valueString = builder.string(value);
      return builder.table((slots) => {
        slots.offset(0, nameString);
        slots.offset(1, valueString);
      });
    }),
  );
}
