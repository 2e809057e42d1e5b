import { jsKernel } from '../../src/kernel/tensor/js-kernel.ts';
import { createKernels } from '../../src/kernel/tensor/kernels.ts';
import { loadWasmKernel } from '../../src/kernel/tensor/wasm-kernel.ts';
import { isWhole } from '../support/property.ts';
import { describeKernel } from './kernel-contract.ts';

/** Further ways to the same numbers. */
const describeLong = isWhole ? describeKernel : (): void => undefined;

describeKernel('plain JavaScript', async () => jsKernel);
describeKernel('WebAssembly', () => loadWasmKernel());
describeLong(
  'WebAssembly, pieces of one block and memory given back',
  () => loadWasmKernel({ blockBytes: 4096, retainBytes: 65_536 }),
  0.5,
);
describeKernel(
  'workers, shared memory',
  () => createKernels({ inlineBytes: 0, chunkBytes: 8192, workers: 2 }),
  0.3,
);
describeKernel(
  'workers, transfer',
  () => createKernels({ inlineBytes: 0, chunkBytes: 8192, workers: 2, sharedMemory: false }),
  0.3,
);
describeLong('this thread, in chunks', () => createKernels({ workers: 0, chunkBytes: 8192 }), 0.5);
