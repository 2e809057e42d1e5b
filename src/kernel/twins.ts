/** Chooses between the two implementations of a kernel: SIMD WebAssembly where the engine and the page allow it, else plain JavaScript. */
import { bytesStream } from '../base/runtime.ts';
import { messageOf } from '../base/errors.ts';
import type { Kernel } from './kernel.ts';

/** Compiled modules of one kernel: the one that runs everywhere, and another for the engine at hand that does some of it better. */
export type Modules = readonly [WebAssembly.Module, ...WebAssembly.Module[]];

/** The instructions a kernel uses. */
export type SimdLevel = 'none' | 'fixed' | 'relaxed';

/** The kernel of this thread, and why it is not the WebAssembly one. */
export type Loaded<K> = {
  readonly kernel: K;
  /** What WebAssembly said, or null when it is in use or was not asked for. */
  readonly wasmFailure: string | null;
  /** What the kernel of this thread uses. */
  readonly simd: SimdLevel;
  /** The modules for the workers, compiled when first asked for; rejects with what WebAssembly said. */
  readonly modules: () => Promise<Modules>;
};

/** The two implementations of a kernel. */
export type Twins<K> = {
  readonly compile: () => Promise<Modules>;
  readonly create: (modules: Modules) => K;
  readonly plain: K;
};

/**
 * Loads the faster one. Never fails: what stands in the way of WebAssembly is in `wasmFailure`.
 *
 * @param kind `js` asks for plain JavaScript, on this thread
 */
export async function loadTwin<K>(twins: Twins<K>, kind: Kernel['kind']): Promise<Loaded<K>> {
  let compiled: Promise<Modules> | undefined;
  const modules = (): Promise<Modules> => (compiled ??= twins.compile());
  if (kind === 'js') return { kernel: twins.plain, wasmFailure: null, simd: 'none', modules };
  try {
    const found = await modules();
    const simd = found.length > 1 ? 'relaxed' : 'fixed';
    return { kernel: twins.create(found), wasmFailure: null, simd, modules };
  } catch (error) {
    return { kernel: twins.plain, wasmFailure: messageOf(error), simd: 'none', modules };
  }
}

/**
 * Compiles a module that is embedded as text: deflated (RFC 1951), in base64. Rejects where the engine lacks SIMD or the page's policy
 * forbids WebAssembly (it needs `'wasm-unsafe-eval'`).
 */
export async function compileEmbedded(text: string): Promise<WebAssembly.Module> {
  return WebAssembly.compile(await inflateEmbedded(text));
}

/** The bytes of such a module. */
export async function inflateEmbedded(text: string): Promise<ArrayBuffer> {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  const inflated = bytesStream([bytes]).pipeThrough(new DecompressionStream('deflate-raw'));
  return new Response(inflated).arrayBuffer();
}
