/** Tensors of the threaded WebAssembly backend, which the threads of a page share, read where they lie. */
import * as tf from '@tensorflow/tfjs';
import { setThreadsCount, setWasmPaths } from '@tensorflow/tfjs-backend-wasm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TfTensorRef } from '../../src/adapters/tfjs/tfjs-tensor.ts';
import { createKernels } from '../../src/kernel/tensor/kernels.ts';

let before = '';

beforeAll(async () => {
  await tf.ready();
  before = tf.getBackend();
});

// Its threads end with it.
afterAll(async () => {
  tf.removeBackend('wasm');
  await tf.setBackend(before === 'wasm' ? 'webgl' : before);
});

it('reads tensors of the threaded build where they lie, before and after its memory has grown', async () => {
  expect(crossOriginIsolated).toBe(true);
  setWasmPaths('/node_modules/@tensorflow/tfjs-backend-wasm/wasm-out/');
  setThreadsCount(2);
  await tf.setBackend('wasm');
  const wasm: { HEAPU8: Uint8Array } = Reflect.get(tf.backend(), 'wasm');
  expect(wasm.HEAPU8.buffer).toBeInstanceOf(SharedArrayBuffer);
  const kernels = await createKernels({ workers: 0 });
  const product = tf.tidy(() => {
    const values = tf.randomNormal([300, 300], 0, 1, 'float32', 7);
    return values.matMul(values);
  });
  const numbers = () => {
    const { data } = new TfTensorRef(tf, product);
    if (data === undefined) throw new TypeError('not on the host');
    expect(data.buffer).toBe(wasm.HEAPU8.buffer);
    return kernels.inline.tensorStats(data);
  };
  const expected = kernels.inline.tensorStats(product.dataSync());
  const callCount = () => kernels.diagnostics().inPlace?.callCount ?? 0;
  await expect
    .poll(() => {
      expect(numbers()).toStrictEqual(expected);
      return callCount();
    })
    .toBeGreaterThan(0);
  const { byteLength } = wasm.HEAPU8;
  const large = tf.zeros([byteLength / 4]);
  expect(wasm.HEAPU8.byteLength).toBeGreaterThan(byteLength);
  const callsBefore = callCount();
  expect(numbers()).toStrictEqual(expected);
  expect(kernels.diagnostics().inPlace).toStrictEqual({
    callCount: callsBefore + 1,
    failure: null,
  });
  tf.dispose([product, large]);
  await kernels.close();
});
