/** An instance of the WebAssembly kernels, with its memory, and what its callers share. */
import { instantiateKernels, type KernelExports, type WideType } from './abi.ts';
import { Arena, PAGE_BYTES } from '../arena.ts';
import type { TensorType } from '../kernel.ts';
import { SCRATCH_BYTES, SLOT_BYTES, STATS_SLOTS } from './layout.ts';
import type { Modules } from '../twins.ts';

const LIMIT_BYTES = 64 * 1024 * 1024;
/** Vectors may read so far beyond the end of a block. */
const SLACK_BYTES = 32;

/** An instance and the addresses in its memory that stay the same. */
export type Instance = {
  readonly exports: KernelExports;
  readonly arena: Arena;
  /** Of a statistics state, or of the sums of a pair. */
  readonly state: number;
  /** Of the part of the tensor that is being read. */
  readonly block: number;
  readonly blockBytes: number;
};

/** A new instance. */
export function createInstance(modules: Modules, blockBytes: number): Instance {
  const memory = new WebAssembly.Memory({ initial: 2, maximum: LIMIT_BYTES / PAGE_BYTES });
  const arena = new Arena(memory, 0, LIMIT_BYTES);
  const exports = instantiateKernels(modules, memory, arena.allocate(SCRATCH_BYTES));
  const state = arena.allocate(STATS_SLOTS * SLOT_BYTES);
  const block = arena.allocate(blockBytes + SLACK_BYTES);
  return { exports, arena, state, block, blockBytes };
}

/** What a type is widened to where there is no kernel of its own: one that holds all of its values. */
export function wideType(type: TensorType): WideType {
  return type === 'float64' || type === 'int32' ? 'float64' : 'float32';
}

const float32 = new Float32Array(1);
const bits = new Int32Array(float32.buffer);

/** The largest float32 not above `value`, which is 0 or more. */
export function floorFloat32(value: number): number {
  float32[0] = value;
  if ((float32[0] ?? 0) > value) bits[0] = (bits[0] ?? 0) - 1;
  return float32[0] ?? 0;
}

/** The smallest float32 not below `value`, which is 0 or more. */
export function ceilFloat32(value: number): number {
  float32[0] = value;
  if ((float32[0] ?? 0) < value) bits[0] = (bits[0] ?? 0) + 1;
  return float32[0] ?? 0;
}
