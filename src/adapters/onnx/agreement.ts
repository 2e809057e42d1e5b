/** Whether two runs of a model gave the same. */
import { hostData, isOnHost, type OrtTensor } from './ort.ts';

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
  const [x, y] = [await numbersOf(a), await numbersOf(b)];
  // Texts and int64 have no rounding.
  if (x === undefined || y === undefined) return sameItems(await itemsOf(a), await itemsOf(b));
  return sameNumbers(x, y);
}

async function itemsOf(tensor: OrtTensor): Promise<ArrayLike<unknown>> {
  const data: unknown = isOnHost(tensor) ? tensor.data : await tensor.getData();
  return Array.isArray(data) || data instanceof BigInt64Array || data instanceof BigUint64Array
    ? data
    : [];
}

async function numbersOf(tensor: OrtTensor): Promise<ArrayLike<number> | undefined> {
  if (isOnHost(tensor)) return hostData(tensor);
  const data = await tensor.getData();
  if (data instanceof Float32Array || data instanceof Float64Array || data instanceof Int32Array)
    return data;
  return data instanceof Uint8Array || data instanceof Uint16Array ? data : undefined;
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
