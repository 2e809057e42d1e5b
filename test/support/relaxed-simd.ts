/** Relaxed SIMD in the tests of Node: version 20 has it behind a flag. */
import { setFlagsFromString } from 'node:v8';
import { hasRelaxedSimd } from '../../src/kernel/tensor/abi.ts';

/** Switches it on where it can be; false, with a message, where the engine lacks it. To be asked before kernels are made. */
export function enableRelaxedSimd(): boolean {
  if (!hasRelaxedSimd()) setFlagsFromString('--experimental-wasm-relaxed-simd');
  const isThere = hasRelaxedSimd();
  if (!isThere) console.warn('Skipped: this engine has no relaxed SIMD.');
  return isThere;
}
