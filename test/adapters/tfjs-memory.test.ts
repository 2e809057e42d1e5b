/** Tensors of the real WebAssembly backend read where they lie, and copied wherever the backend is not as expected. */
import * as tf from '@tensorflow/tfjs';
import { version_wasm as wasmVersion } from '@tensorflow/tfjs-backend-wasm';
import { beforeAll, describe, expect, it } from 'vitest';
import { TfTensorRef } from '../../src/adapters/tfjs/tfjs-tensor.ts';
import type { TfjsRuntime } from '../../src/adapters/tfjs/tfjs-types.ts';
import { createKernels, type Kernels } from '../../src/kernel/tensor/kernels.ts';
import { TrainingSession } from '../../src/session/training-session.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import { quarkCallback } from '../../src/tfjs.ts';
import { data, model, weights } from './small-training.ts';

type Wasm = Record<string, unknown> & { readonly HEAPU8: Uint8Array };

beforeAll(async () => {
  tf.enableProdMode();
  await tf.setBackend('wasm');
  expect(wasmVersion).toBe(tf.version['tfjs-core']);
});

const wasm = (): Wasm => Reflect.get(tf.backend(), 'wasm');
const VALUES = [-0, 0, Number.NaN, 1e-45, -1e-40, 3e38, Infinity, -1, 0.5, 0.25, 7];

async function withKernels<T>(work: (kernels: Kernels) => Promise<T> | T): Promise<T> {
  const kernels = await createKernels({ workers: 0 });
  try {
    return await work(kernels);
  } finally {
    await kernels.close();
  }
}

/** The numbers of a tensor as it is read, beside those of the copy that the backend gives. */
function read(kernels: Kernels, runtime: TfjsRuntime, tensor: tf.Tensor) {
  const { data: view } = new TfTensorRef(runtime, tensor);
  if (view === undefined) throw new TypeError('not on the host');
  const copy = tensor.dataSync();
  return {
    view,
    found: kernels.inline.tensorStats(view),
    expected: kernels.inline.tensorStats(copy),
  };
}

describe('tensors of the WebAssembly backend', () => {
  it('are read where they lie, of every type and size, with the numbers of a copy', () =>
    withKernels((kernels) => {
      const tensors = [
        ...[0, 1, 3, 11, 70].map((length) =>
          tf.tensor1d(Array.from({ length }, (_, i) => VALUES[i % VALUES.length] ?? 0)),
        ),
        tf.tensor1d([1, -2, 3, 2 ** 31 - 1, -(2 ** 31)], 'int32'),
        tf.tensor1d([true, false, true], 'bool'),
        tf.randomNormal([(1 << 18) + 3]),
      ];
      for (const tensor of tensors) {
        const { view, found, expected } = read(kernels, tf, tensor);
        expect(found).toStrictEqual(expected);
        expect(view.buffer).toBe(wasm().HEAPU8.buffer);
      }
      expect(kernels.diagnostics().inPlace).toStrictEqual({
        callCount: tensors.length,
        failure: null,
      });
      tf.dispose(tensors);
    }));

  it('are found again when the memory has grown, and not once they are disposed of', () =>
    withKernels((kernels) => {
      const tensor = tf.tensor1d(VALUES);
      const ref = new TfTensorRef(tf, tensor);
      const before = ref.data;
      const { byteLength } = wasm().HEAPU8;
      const large = tf.zeros([byteLength / 4]);
      expect(wasm().HEAPU8.byteLength).toBeGreaterThan(byteLength);
      expect(before).toHaveLength(0);
      const { found, expected } = read(kernels, tf, tensor);
      expect(found).toStrictEqual(expected);
      expect(ref.data).toHaveLength(VALUES.length);
      expect(kernels.diagnostics().inPlace).toStrictEqual({ callCount: 1, failure: null });
      tf.dispose([tensor, large]);
      expect(() => ref.data).toThrow('disposed');
      expect(() => new TfTensorRef(tf, tensor).data).toThrow('disposed');
    }));

  it.each<[string, object]>([
    ['its allocator', { _malloc: undefined }],
    ['its memory', { asm: undefined, wasmMemory: undefined, wasmExports: undefined }],
    ['its memory', { asm: { memory: new WebAssembly.Memory({ initial: 1 }) } }],
    ['the allocator gave address', { _malloc: () => 0 }],
    ['out of order', { _malloc: () => { throw new Error('out of order'); } }], // oxfmt-ignore
  ])('are copied by a build that differs: %s', (reason, differences) =>
    withKernels((kernels) => {
      const backend = Object.assign(Object.create(tf.backend()), {
        wasm: Object.assign(Object.create(wasm()), differences),
      });
      const other = { ...tf, backend: () => backend };
      const tensor = tf.tensor1d(VALUES);
      const { found, expected } = read(kernels, other, tensor);
      expect(found).toStrictEqual(expected);
      const { inPlace } = kernels.diagnostics();
      expect(inPlace?.callCount).toBe(0);
      expect(inPlace?.failure?.toLowerCase()).toContain(reason);
      tensor.dispose();
    }),
  );

  it.each<[string, (entry: { memoryOffset: number }) => unknown]>([
    ['has no address', () => ({})],
    [
      'has another address than it says',
      ({ memoryOffset }) => ({ memoryOffset: memoryOffset + 4 }),
    ],
    ['has an address beyond the memory', () => ({ memoryOffset: 2 ** 32 })],
    ['has no whole address', () => ({ memoryOffset: 0.5 })],
  ])('are taken as the backend gives them where an entry %s', (_, change) =>
    withKernels((kernels) => {
      const map = Reflect.get(tf.backend(), 'dataIdMap');
      const backend = Object.assign(Object.create(tf.backend()), {
        dataIdMap: {
          has: (id: object) => map.has(id),
          get: (id: object) => change(map.get(id)),
        },
      });
      const other = { ...tf, backend: () => backend };
      const tensor = tf.tensor1d(VALUES);
      for (let i = 0; i < 2; i++) {
        const { view, found, expected } = read(kernels, other, tensor);
        expect(found).toStrictEqual(expected);
        expect(view.buffer).not.toBe(wasm().HEAPU8.buffer);
      }
      tensor.dispose();
    }),
  );

  it('train as without Quark, to the bit, and leave no tensor behind', async () => {
    const { xs, ys } = data();
    const fit = async (isWatched: boolean) => {
      const { numTensors } = tf.memory();
      const network = model();
      const kernels = await createKernels();
      const session = await TrainingSession.startRun({
        project: 'p',
        storage: createMemoryStore(),
        handleSignals: false,
      });
      const settings = { schedule: { everyNSteps: 1 }, kernels };
      const callbacks = isWatched
        ? [quarkCallback(session, tf, network, { hooks: settings, parameters: settings })]
        : [];
      const { history } = await network.fit(xs, ys, {
        epochs: 2,
        batchSize: 8,
        shuffle: false,
        verbose: 0,
        callbacks,
      });
      await session.endRun('completed');
      const found = {
        history,
        weights: weights(network),
        inPlace: kernels.diagnostics().inPlace,
      };
      network.dispose();
      await kernels.close();
      return { ...found, leftTensors: tf.memory().numTensors - numTensors };
    };
    const without = await fit(false);
    const watched = await fit(true);
    expect(watched.leftTensors).toBe(without.leftTensors);
    expect(watched.weights).toStrictEqual(without.weights);
    expect(watched.history['loss']).toStrictEqual(without.history['loss']);
    expect(watched.inPlace?.callCount).toBeGreaterThan(50);
    expect(watched.inPlace?.failure).toBeNull();
    tf.dispose([xs, ys]);
  });
});
