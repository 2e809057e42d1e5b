/** Chooses the kernel: SIMD WebAssembly where the engine and the page allow it, else plain JavaScript. */
import { messageOf } from '../base/errors.ts';
import { compileKernels } from './abi.ts';
import { jsKernel } from './js-kernel.ts';
import type { Kernel } from './kernel.ts';
import { createWasmKernel } from './wasm-kernel.ts';

/** The kernel of this thread, and why it is not the WebAssembly one. */
export type Loaded<K> = {
  readonly kernel: K;
  /** What WebAssembly said, or null when it is in use or was not asked for. */
  readonly wasmFailure: string | null;
  /** The module for the workers, compiled when first asked for; rejects with what WebAssembly said. */
  readonly module: () => Promise<WebAssembly.Module>;
};

/** The two implementations of a kernel. */
export type Twins<K> = {
  readonly compile: () => Promise<WebAssembly.Module>;
  readonly create: (module: WebAssembly.Module) => K;
  readonly plain: K;
};

/**
 * Loads the fastest kernel there is. Never fails: what stands in the way of WebAssembly is in `wasmFailure`.
 *
 * @param kind `wasm` is the default; `js` asks for plain JavaScript, on this thread
 */
export async function loadKernel(kind: Kernel['kind'] = 'wasm'): Promise<Loaded<Kernel>> {
  return loadTwin({ compile: compileKernels, create: createWasmKernel, plain: jsKernel }, kind);
}

/** The same of any kernel. */
export async function loadTwin<K>(twins: Twins<K>, kind: Kernel['kind']): Promise<Loaded<K>> {
  let compiled: Promise<WebAssembly.Module> | undefined;
  const module = (): Promise<WebAssembly.Module> => (compiled ??= twins.compile());
  if (kind === 'js') return { kernel: twins.plain, wasmFailure: null, module };
  try {
    return { kernel: twins.create(await module()), wasmFailure: null, module };
  } catch (error) {
    return { kernel: twins.plain, wasmFailure: messageOf(error), module };
  }
}
