/** Whether two runs of a model gave the same. */
import { isTensorOnHost, type OrtTensor } from '../ort.ts';

/** `close` is within what another order of the same sums may change. */
export type Agreement = 'identical' | 'close' | 'different';

/**
 * Fusing operators in another way moves the last digits of float32 by some 1e-5 of the largest value; a buffer that a
 * device failed to bind gives zeros or noise.
 */
const CLOSE_RATIO = 1e-3;

/** Compares two tensors, which may lie on a device, and leaves them there. */
export async function agreement(a: OrtTensor, b: OrtTensor): Promise<Agreement> {
  if (a.type !== b.type || a.dims.length !== b.dims.length) return 'different';
  if (a.dims.some((size, axis) => size !== b.dims[axis])) return 'different';
  const [x, y] = [await dataOf(a), await dataOf(b)];
  const [numbers, others] = [numbersOf(x, a.type), numbersOf(y, b.type)];
  if (numbers !== undefined && others !== undefined) return sameNumbers(numbers, others);
  // Texts and int64 have no rounding. What cannot be looked into is never trusted.
  return isList(x) && isList(y) ? sameItems(x, y) : 'close';
}

async function dataOf(tensor: OrtTensor): Promise<unknown> {
  return isTensorOnHost(tensor) ? tensor.data : tensor.getData();
}

const isList = (data: unknown): data is ArrayLike<unknown> =>
  Array.isArray(data) || data instanceof BigInt64Array || data instanceof BigUint64Array;

const NUMBER_ARRAYS = [
  Float32Array,
  Float64Array,
  Int8Array,
  Int16Array,
  Int32Array,
  Uint8Array,
  Uint16Array,
  Uint32Array,
];

function numbersOf(data: unknown, type: string): ArrayLike<number> | undefined {
  // A Float16Array, where the platform has one: its bits are compared.
  if (type === 'float16' && ArrayBuffer.isView(data))
    return new Uint16Array(data.buffer, data.byteOffset, data.byteLength / 2);
  return NUMBER_ARRAYS.some((kind) => data instanceof kind)
    ? (data as ArrayLike<number>) // one of these
    : undefined;
}

function sameItems(a: ArrayLike<unknown>, b: ArrayLike<unknown>): Agreement {
  if (a.length !== b.length) return 'different';
  for (let i = 0; i < a.length; i += 1) if (a[i] !== b[i]) return 'different';
  return 'identical';
}

function sameNumbers(a: ArrayLike<number>, b: ArrayLike<number>): Agreement {
  if (a.length !== b.length) return 'different';
  let largest = 0;
  let apart = 0;
  let areSame = true;
  for (let i = 0; i < a.length; i += 1) {
    const [x, y] = [a[i] ?? 0, b[i] ?? 0];
    if (Object.is(x, y)) {
      if (Number.isFinite(x)) largest = Math.max(largest, Math.abs(x));
      continue;
    }
    areSame = false;
    if (!Number.isFinite(x) || !Number.isFinite(y)) return 'different';
    largest = Math.max(largest, Math.abs(x));
    apart = Math.max(apart, Math.abs(x - y));
  }
  if (areSame) return 'identical';
  return apart <= largest * CLOSE_RATIO ? 'close' : 'different';
}
