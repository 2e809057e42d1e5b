/** Chooses between the two implementations of a kernel: SIMD WebAssembly where the engine and the page allow it, else plain JavaScript. */
import { messageOf } from '../base/errors.ts';
import type { Kernel } from './kernel.ts';

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
 * Loads the faster one. Never fails: what stands in the way of WebAssembly is in `wasmFailure`.
 *
 * @param kind `js` asks for plain JavaScript, on this thread
 */
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

/**
 * Compiles a module that is embedded as text in base64. Rejects where the engine lacks SIMD or the page's policy forbids WebAssembly
 * (it needs `'wasm-unsafe-eval'`).
 */
export async function compileEmbedded(text: string): Promise<WebAssembly.Module> {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return WebAssembly.compile(bytes);
}
