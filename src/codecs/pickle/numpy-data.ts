/** Arrays and single numbers of NumPy, out of their bytes. */
import { QuarkError } from '../../base/errors.ts';
import type { PickledValue } from './pickle-value.ts';

/** What the bytes of an array are. */
export type PickledDtype = {
  /** `f` for floats, `i` and `u` for whole numbers, `b` for booleans. */
  readonly kind: string;
  readonly bytes: number;
  readonly isLittle: boolean;
};

const MAX_DIMENSIONS = 8;
const SIZES: Readonly<Record<string, readonly number[]>> = {
  f: [2, 4, 8],
  i: [1, 2, 4, 8],
  u: [1, 2, 4, 8],
  b: [1],
};

/** The type that a text such as `f8` or `<i4` names. */
export function dtypeOf(name: PickledValue): PickledDtype {
  const match = typeof name === 'string' ? /^([<>|=]?)([a-zA-Z])(\d{1,3})$/.exec(name) : null;
  const [, order = '', kind = '', size = ''] = match ?? [];
  if (SIZES[kind]?.includes(Number(size)) !== true)
    throw bad(`the type ${JSON.stringify(name)} of an array is none of numbers`);
  return { kind, bytes: Number(size), isLittle: order !== '>' };
}

/** The order of bytes is set apart from the type. */
export function setByteOrder(dtype: PickledDtype, order: PickledValue): PickledDtype {
  return { ...dtype, isLittle: order !== '>' };
}

export function decodeScalar(dtype: PickledDtype, bytes: Uint8Array): number {
  if (bytes.byteLength !== dtype.bytes) throw bad('a number has another length than its type');
  return numberAt(dtype, viewOf(bytes), 0);
}

/** Numbers in lists, one in the other for each dimension. */
export function decodeArray(
  dtype: PickledDtype,
  written: readonly PickledValue[],
  bytes: Uint8Array,
  isFortran: boolean,
): PickledValue {
  const shape = written.map((size) =>
    typeof size === 'number' && Number.isSafeInteger(size) && size >= 0 ? size : Number.NaN,
  );
  const count = shape.reduce((product, size) => product * size, 1);
  if (shape.length > MAX_DIMENSIONS || count * dtype.bytes !== bytes.byteLength)
    throw bad('an array has another length than its shape');
  // Without a number in it, a shape may still say any length.
  if (count === 0) return [];
  const strides = stridesOf(shape, isFortran);
  const view = viewOf(bytes);
  const build = (dimension: number, at: number): PickledValue =>
    dimension === shape.length
      ? numberAt(dtype, view, at * dtype.bytes)
      : Array.from({ length: shape[dimension] ?? 0 }, (_, i) =>
          build(dimension + 1, at + i * (strides[dimension] ?? 0)),
        );
  return build(0, 0);
}

function stridesOf(shape: readonly number[], isFortran: boolean): readonly number[] {
  const strides: number[] = [];
  let stride = 1;
  const order = shape.map((_, i) => (isFortran ? i : shape.length - 1 - i));
  for (const i of order) {
    strides[i] = stride;
    stride *= shape[i] ?? 1;
  }
  return strides;
}

function numberAt({ bytes, isLittle, kind }: PickledDtype, view: DataView, at: number): number {
  if (kind === 'f') {
    if (bytes === 8) return view.getFloat64(at, isLittle);
    return bytes === 4 ? view.getFloat32(at, isLittle) : halfOf(view.getUint16(at, isLittle));
  }
  const isSigned = kind === 'i';
  if (bytes === 1) return isSigned ? view.getInt8(at) : view.getUint8(at);
  if (bytes === 2) return isSigned ? view.getInt16(at, isLittle) : view.getUint16(at, isLittle);
  if (bytes === 4) return isSigned ? view.getInt32(at, isLittle) : view.getUint32(at, isLittle);
  return Number(isSigned ? view.getBigInt64(at, isLittle) : view.getBigUint64(at, isLittle));
}

/** A float of 16 bits. */
function halfOf(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0x1f) return fraction === 0 ? sign * Infinity : Number.NaN;
  return exponent === 0
    ? sign * 2 ** -14 * (fraction / 1024)
    : sign * 2 ** (exponent - 15) * (1 + fraction / 1024);
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function bad(what: string): QuarkError {
  return new QuarkError('invalid_input', `The pickle is not read: ${what}.`);
}
