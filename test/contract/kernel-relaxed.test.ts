import { describe } from 'vitest';
import { createKernels } from '../../src/kernel/tensor/kernels.ts';
import { loadWasmKernel } from '../../src/kernel/tensor/wasm-kernel.ts';
import { enableRelaxedSimd } from '../support/relaxed-simd.ts';
import { describeKernel } from './kernel-contract.ts';

describe.skipIf(!enableRelaxedSimd())('relaxed SIMD', () => {
  describeKernel('WebAssembly', () => loadWasmKernel());
  describeKernel(
    'WebAssembly, pieces of one block and memory given back',
    () => loadWasmKernel({ blockBytes: 4096, retainBytes: 65_536 }),
    0.3,
  );
  describeKernel(
    'workers',
    () => createKernels({ inlineBytes: 0, chunkBytes: 8192, workers: 2 }),
    0.3,
  );
});
