/** What the worker of the tensor kernels runs. */
import { executeCall, type TensorJob } from './calls.ts';
import { jsKernel } from './js-kernel.ts';
import { tensorAnswer } from './ring-codec.ts';
import { createWasmKernel } from './wasm-kernel.ts';
import { exposeHost } from '../workers/worker-host.ts';

/** Makes this thread a worker of the tensor kernels. */
export function exposeKernel(): void {
  exposeHost<TensorJob>((modules) => {
    const kernel = modules === null ? jsKernel : createWasmKernel(modules);
    return {
      execute: ({ call, view }, buffer) => executeCall(kernel, call, { ...view, buffer }),
      answer: tensorAnswer(kernel),
    };
  });
}
