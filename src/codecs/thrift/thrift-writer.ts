/** Thrift's compact protocol, in which Parquet's footers and page headers are written. */

const I16 = 4;
const I32 = 5;
const I64 = 6;
const BINARY = 8;
const LIST = 9;
const STRUCT = 12;

/** A value of a field. */
export type ThriftValue =
  | { readonly kind: 'bool'; readonly value: boolean }
  | { readonly kind: 'i16' | 'i32' | 'i64'; readonly value: number }
  | { readonly kind: 'text'; readonly value: string | Uint8Array }
  | { readonly kind: 'list'; readonly of: ThriftElement; readonly values: readonly ThriftValue[] }
  | { readonly kind: 'struct'; readonly fields: ThriftFields };

type ThriftElement = 'i32' | 'i64' | 'text' | 'struct';

/** Fields by their numbers, ascending; undefined ones are left out. */
export type ThriftFields = readonly (readonly [id: number, value: ThriftValue | undefined])[];

const TYPES = { i16: I16, i32: I32, i64: I64, text: BINARY, struct: STRUCT } as const;

/** A number of 32 bits. */
export const i32 = (value: number): ThriftValue => ({ kind: 'i32', value });
/** A number of 64 bits; exact up to 2^53. */
export const i64 = (value: number): ThriftValue => ({ kind: 'i64', value });
/** Text, or bytes. */
export const thriftText = (value: string | Uint8Array): ThriftValue => ({ kind: 'text', value });
export const thriftBool = (value: boolean): ThriftValue => ({ kind: 'bool', value });
export const struct = (...fields: ThriftFields): ThriftValue => ({ kind: 'struct', fields });
export const thriftList = (of: ThriftElement, values: readonly ThriftValue[]): ThriftValue => ({
  kind: 'list',
  of,
  values,
});

/** The bytes of a struct. */
export function thriftBytes(fields: ThriftFields): Uint8Array<ArrayBuffer> {
  const out: number[] = [];
  writeFields(out, fields);
  return Uint8Array.from(out);
}

function writeFields(out: number[], fields: ThriftFields): void {
  let before = 0;
  for (const [id, value] of fields) {
    if (value === undefined) continue;
    // All numbers of Parquet's structs are within 15 of the one before.
    out.push(((id - before) << 4) | typeOf(value));
    before = id;
    writeValue(out, value);
  }
  out.push(0);
}

function typeOf(value: ThriftValue): number {
  if (value.kind === 'bool') return value.value ? 1 : 2;
  return value.kind === 'list' ? LIST : TYPES[value.kind];
}

function writeValue(out: number[], value: ThriftValue): void {
  switch (value.kind) {
    case 'bool':
      return;
    case 'i16':
    case 'i32':
    case 'i64':
      varint(out, value.value >= 0 ? value.value * 2 : -value.value * 2 - 1);
      return;
    case 'text': {
      const bytes =
        typeof value.value === 'string' ? new TextEncoder().encode(value.value) : value.value;
      varint(out, bytes.length);
      for (const byte of bytes) out.push(byte);
      return;
    }
    case 'list': {
      const { length } = value.values;
      if (length < 15) out.push((length << 4) | TYPES[value.of]);
      else {
        out.push(0xf0 | TYPES[value.of]);
        varint(out, length);
      }
      for (const item of value.values) writeValue(out, item);
      return;
    }
    case 'struct':
      writeFields(out, value.fields);
  }
}

function varint(out: number[], value: number): void {
  let rest = value;
  while (rest > 0x7f) {
    out.push((rest % 0x80) | 0x80);
    rest = Math.floor(rest / 0x80);
  }
  out.push(rest);
}
