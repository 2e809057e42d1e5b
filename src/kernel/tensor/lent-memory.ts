/** Memories of frameworks in which kernels may read tensors where they lie. Empty until an adapter lends one. */
import type { TensorData } from '../kernel.ts';
import type { Modules } from '../twins.ts';
import type { Instance } from './wasm-instance.ts';

/** A memory that its framework lends. */
export interface LentMemory {
  /**
   * An instance of the kernels that works in this memory and has no block to copy into; or why there is none, and null where it is
   * no failure that there is none now.
   *
   * @param modules those of `own`
   * @param own gives the same numbers with a copy
   */
  instanceFor(data: TensorData, modules: Modules, own: Instance): Instance | string | null;
}

/** By the buffer that a memory has at present: it changes with each growth. */
const memories = /* @__PURE__ */ new WeakMap<ArrayBufferLike, LentMemory>();

/** Lets kernels read tensors over `buffer` through `memory`. */
export function lendMemory(buffer: ArrayBufferLike, memory: LentMemory): void {
  memories.set(buffer, memory);
}

/** The memory of which `buffer` is the buffer. */
export function lentMemory(buffer: ArrayBufferLike): LentMemory | undefined {
  return memories.get(buffer);
}
