/** What guards against wrong numbers of a device: whether two runs agree, for outputs of every type, wherever they lie. */
import { describe, expect, it } from 'vitest';
import { agreement } from '../../src/adapters/onnx/watch/agreement.ts';
import type { OrtTensor } from '../../src/adapters/onnx/ort.ts';

function tensor(type: string, data: unknown, location: string, dims = [2]): OrtTensor {
  return {
    type,
    dims,
    location,
    get data() {
      if (location !== 'cpu') throw new Error('The data is not on CPU.');
      return data;
    },
    getData: async () => data,
    dispose: () => undefined,
  };
}

/** Stands for a Float16Array, which not every platform has. */
const halves = (bits: readonly number[]): DataView => new DataView(Uint16Array.from(bits).buffer);

describe.each(['cpu', 'gpu-buffer'])('outputs on %s', (location) => {
  it.each([
    ['float32', (values: number[]) => Float32Array.from(values)],
    ['float64', (values: number[]) => Float64Array.from(values)],
    ['float16', (values: number[]) => Uint16Array.from(values)],
    ['float16', (values: number[]) => halves(values)],
    ['int8', (values: number[]) => Int8Array.from(values)],
    ['int16', (values: number[]) => Int16Array.from(values)],
    ['int32', (values: number[]) => Int32Array.from(values)],
    ['uint8', (values: number[]) => Uint8Array.from(values)],
    ['uint16', (values: number[]) => Uint16Array.from(values)],
    ['uint32', (values: number[]) => Uint32Array.from(values)],
    ['bool', (values: number[]) => Uint8Array.from(values)],
    ['int64', (values: number[]) => BigInt64Array.from(values, BigInt)],
    ['uint64', (values: number[]) => BigUint64Array.from(values, BigInt)],
    ['string', (values: number[]) => values.map(String)],
  ] as const)('of %s are compared', async (type, make) => {
    const compare = (a: number[], b: number[]): Promise<string> =>
      agreement(tensor(type, make(a), location), tensor(type, make(b), location));
    expect(await compare([1, 100], [1, 100])).toBe('identical');
    expect(await compare([1, 100], [0, 0])).toBe('different');
  });

  it('are close within rounding, and never trusted when nobody can look into them', async () => {
    const floats = (...values: number[]): OrtTensor =>
      tensor('float32', Float32Array.from(values), location);
    expect(await agreement(floats(1, 100), floats(1.00001, 100))).toBe('close');
    expect(await agreement(floats(1, NaN), floats(1, NaN))).toBe('identical');
    expect(await agreement(floats(1, NaN), floats(1, 2))).toBe('different');
    expect(await agreement(floats(1), floats(1, 2))).toBe('different');
    const wide = tensor('float32', Float32Array.of(1, 2), location, [1, 2]);
    expect(await agreement(floats(1, 2), wide)).toBe('different');
    const strange = tensor('int4', {}, location);
    expect(await agreement(strange, strange)).toBe('close');
  });
});
