/** Loads the tensor kernel. */
import { compileKernels } from './abi.ts';
import { jsKernel } from './js-kernel.ts';
import type { Kernel } from './kernel.ts';
import { loadTwin, type Loaded } from './twins.ts';
import { createWasmKernel } from './wasm-kernel.ts';

/**
 * Loads the fastest kernel there is. Never fails: what stands in the way of WebAssembly is in `wasmFailure`.
 *
 * @param kind `js` asks for plain JavaScript, on this thread
 */
export async function loadKernel(kind: Kernel['kind']): Promise<Loaded<Kernel>> {
  return loadTwin({ compile: compileKernels, create: createWasmKernel, plain: jsKernel }, kind);
}
