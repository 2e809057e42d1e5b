/** Chooses the kernel: SIMD WebAssembly where the engine and the page allow it, else plain JavaScript. */
import { messageOf } from '../base/errors.ts';
import { jsKernel } from './js-kernel.ts';
import type { Kernel } from './kernel.ts';
import { loadWasmKernel } from './wasm-kernel.ts';

/** The kernel of this thread, and why it is not the WebAssembly one. */
export type LoadedKernel = {
  readonly kernel: Kernel;
  /** What WebAssembly said, or null when it is in use or was not asked for. */
  readonly wasmFailure: string | null;
};

/**
 * Loads the fastest kernel there is. Never fails: what stands in the way of WebAssembly is in `wasmFailure`.
 *
 * @param kind `wasm` is the default; `js` asks for plain JavaScript
 */
export async function loadKernel(kind: Kernel['kind'] = 'wasm'): Promise<LoadedKernel> {
  if (kind === 'js') return { kernel: jsKernel, wasmFailure: null };
  try {
    return { kernel: await loadWasmKernel(), wasmFailure: null };
  } catch (error) {
    return { kernel: jsKernel, wasmFailure: messageOf(error) };
  }
}
