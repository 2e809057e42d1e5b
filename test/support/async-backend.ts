/**
 * A backend of TensorFlow.js as WebGPU is one: its tensors can be read asynchronously only. It computes as the cpu backend
 * does. A synchronous read, which a real device would answer by stalling or by an error, throws.
 */
import type * as tfjs from '@tensorflow/tfjs';

type Backend = { read(dataId: object): Promise<unknown> };

/** What {@link registerAsyncBackend} has seen. */
export type AsyncReads = {
  /** Asynchronous reads so far. */
  readonly count: number;
  /** Forbids synchronous reads; returns the undo. */
  readonly forbidSync: () => () => void;
};

/** Registers the backend under a name. */
export async function registerAsyncBackend(tf: typeof tfjs, name: string): Promise<AsyncReads> {
  await tf.setBackend('cpu');
  const Cpu = tf.findBackend('cpu').constructor as new () => Backend;
  let count = 0;
  tf.registerBackend(name, () => {
    const backend = new Cpu();
    const read = backend.read.bind(backend);
    Object.assign(backend, {
      read: async (dataId: object) => {
        count += 1;
        // Some time later: the training goes on meanwhile.
        await new Promise((resolve) => setImmediate(resolve));
        return read(dataId);
      },
    });
    return backend as unknown as tfjs.KernelBackend;
  });
  for (const kernel of tf.getKernelsForBackend('cpu'))
    tf.registerKernel({ ...kernel, backendName: name });
  return {
    get count() {
      return count;
    },
    forbidSync() {
      // Kernels of the cpu backend read their own arrays; tensors are read through the engine.
      const engine: object = tf.engine();
      const forbidden = (): never => {
        throw new Error('A tensor was read synchronously, which this backend cannot do.');
      };
      Object.defineProperty(engine, 'readSync', { value: forbidden, configurable: true });
      return () => void Reflect.deleteProperty(engine, 'readSync');
    },
  };
}
