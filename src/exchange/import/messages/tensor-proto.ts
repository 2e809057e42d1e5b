/** TensorProto of TensorFlow: numbers and texts. */
import type { ProtoReader } from '../../../codecs/protobuf/reader.ts';
import { ProtoReader as Reader } from '../../../codecs/protobuf/reader.ts';

/** What a tensor holds, as far as it was asked for. */
export type TensorValues = {
  /** Sizes of the dimensions; null when the rank is not known. */
  readonly shape: readonly number[] | null;
  /** Row-major; null for a type that holds no numbers. */
  readonly numbers: readonly number[] | null;
  /** Of a tensor of texts. */
  readonly texts: readonly string[] | null;
};

/** Numbers of TensorFlow's DataType. */
const FLOAT = 1;
const DOUBLE = 2;
const INT32 = 3;
const UINT8 = 4;
const INT16 = 5;
const INT8 = 6;
const STRING = 7;
const INT64 = 9;
const BOOL = 10;
const BFLOAT16 = 14;
const UINT16 = 17;
const HALF = 19;
const UINT32 = 22;
const UINT64 = 23;

type Element = { readonly bytes: number; read(view: DataView, at: number): number };

/** Elements as `tensor_content` has them. */
const ELEMENTS: ReadonlyMap<number, Element> = new Map([
  [FLOAT, { bytes: 4, read: (view, at) => view.getFloat32(at, true) }],
  [DOUBLE, { bytes: 8, read: (view, at) => view.getFloat64(at, true) }],
  [INT32, { bytes: 4, read: (view, at) => view.getInt32(at, true) }],
  [UINT8, { bytes: 1, read: (view, at) => view.getUint8(at) }],
  [INT16, { bytes: 2, read: (view, at) => view.getInt16(at, true) }],
  [INT8, { bytes: 1, read: (view, at) => view.getInt8(at) }],
  [INT64, { bytes: 8, read: (view, at) => Number(view.getBigInt64(at, true)) }],
  [BOOL, { bytes: 1, read: (view, at) => (view.getUint8(at) === 0 ? 0 : 1) }],
  [BFLOAT16, { bytes: 2, read: (view, at) => bfloat16(view.getUint16(at, true)) }],
  [UINT16, { bytes: 2, read: (view, at) => view.getUint16(at, true) }],
  [HALF, { bytes: 2, read: (view, at) => float16(view.getUint16(at, true)) }],
  [UINT32, { bytes: 4, read: (view, at) => view.getUint32(at, true) }],
  [UINT64, { bytes: 8, read: (view, at) => Number(view.getBigUint64(at, true)) }],
]);
const MAX_RANK = 254;
/** A tensor of one value again and again has it once. How many such values there may be beside those that have bytes of their own. */
const FREE_REPEATS = 64;
const REPEATS_PER_BYTE = 16;

/**
 * Reads the TensorProto that `field` is at. At most `maxValues` numbers or texts are read; a tensor of more, or of a type without numbers,
 * comes without them.
 */
export function readTensorProto(field: ProtoReader, maxValues: number): TensorValues {
  const message = new Reader().enter(field);
  let type = 0;
  let shape: number[] | null = [];
  let content: Uint8Array | undefined;
  const listed: number[] = [];
  const texts: string[] = [];
  const limit = maxValues + 1;
  while (message.next()) {
    switch (message.field) {
      case 1:
        type = message.integer;
        break;
      case 2:
        shape = readShape(message);
        break;
      case 4:
        content = message.part();
        break;
      case 5:
        message.repeated('float', listed, limit);
        break;
      case 6:
        message.repeated('double', listed, limit);
        break;
      case 8:
        if (texts.length < limit) texts.push(message.text());
        break;
      case 7:
      case 10:
      case 11:
      case 13:
        message.repeated('integer', listed, limit);
        break;
      case 16:
      case 17:
        message.repeated('unsigned', listed, limit);
        break;
      default:
    }
  }
  if (message.isBroken) return { shape: null, numbers: null, texts: null };
  if (type === STRING)
    return { shape, numbers: null, texts: texts.length > maxValues ? null : texts };
  const count = shape?.reduce((product, size) => product * size, 1) ?? null;
  const element = ELEMENTS.get(type);
  if (element === undefined || (count !== null && count > maxValues))
    return { shape, numbers: null, texts: null };
  const maxCount = listed.length + FREE_REPEATS + REPEATS_PER_BYTE * (field.to - field.from);
  const isListed = content === undefined || content.byteLength === 0;
  if (isListed && count !== null && count > maxCount) return { shape, numbers: null, texts: null };
  const numbers =
    content === undefined || content.byteLength === 0
      ? fromList(type, listed, count)
      : fromContent(element, content, maxValues);
  const fits = numbers.length <= maxValues && (count === null || numbers.length === count);
  return { shape, numbers: fits ? numbers : null, texts: null };
}

/** Halves are stored as their bits; fewer numbers than elements means that the last one is repeated. */
function fromList(type: number, listed: readonly number[], count: number | null): number[] {
  const values = listed.map((value) =>
    type === HALF ? float16(value & 0xffff) : type === BFLOAT16 ? bfloat16(value & 0xffff) : value,
  );
  const size = count ?? values.length;
  // proto3 leaves zeros out: a scalar 0 may come with no value at all.
  const last = values.at(-1) ?? 0;
  while (values.length < size) values.push(last);
  return values;
}

function fromContent(element: Element, content: Uint8Array, maxValues: number): number[] {
  const view = new DataView(content.buffer, content.byteOffset, content.byteLength);
  const count = Math.min(Math.floor(content.byteLength / element.bytes), maxValues + 1);
  return Array.from({ length: count }, (_, i) => element.read(view, i * element.bytes));
}

function readShape(field: ProtoReader): number[] | null {
  const message = new Reader().enter(field);
  const dimension = new Reader();
  const sizes: number[] = [];
  while (message.next()) {
    if (message.field === 3 && message.integer !== 0) return null;
    if (message.field !== 2) continue;
    if (sizes.length >= MAX_RANK) return null;
    let size = 0;
    dimension.enter(message);
    while (dimension.next()) if (dimension.field === 1) size = dimension.integer;
    if (size < 0) return null;
    sizes.push(size);
  }
  return sizes;
}

/** IEEE 754 binary16. */
function float16(bits: number): number {
  const sign = (bits & 0x8000) === 0 ? 1 : -1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : Number.NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

const WORD = new DataView(new ArrayBuffer(4));

/** The upper half of a float32. */
function bfloat16(bits: number): number {
  WORD.setUint32(0, bits << 16);
  return WORD.getFloat32(0);
}
