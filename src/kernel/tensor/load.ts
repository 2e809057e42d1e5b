/** Loads the tensor kernel. */
import { compileKernels } from './abi.ts';
import type { KernelsSettings } from '../workers/config.ts';
import { jsKernel } from './js-kernel.ts';
import type { Kernel } from '../kernel.ts';
import { loadTwin, type Loaded, type Modules } from '../twins.ts';
import { createWasmKernel } from './wasm-kernel.ts';

/** Loads the fastest kernel there is. Never fails: what stands in the way of WebAssembly is in `wasmFailure`. */
export async function loadKernel({
  kernel,
  relaxedSimd,
}: Pick<KernelsSettings, 'kernel' | 'relaxedSimd'>): Promise<Loaded<Kernel>> {
  const compile = (): Promise<Modules> => compileKernels({ relaxedSimd });
  return loadTwin({ compile, create: createWasmKernel, plain: jsKernel }, kernel);
}
