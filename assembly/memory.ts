// Where the scratch memory of an instance lies: see SCRATCH_BYTES in src/kernel/tensor/layout.ts. An import, not static data, so that an
// instance can work in the memory of a framework, which alone says which bytes are free.
export declare const scratch: usize;

// Offsets from there.
export const SCRATCH_CAREFUL: usize = 0;
export const SCRATCH_HALF: usize = 8192;
export const SCRATCH_HALF_CONSTANTS: usize = 16_384;
export const SCRATCH_FLOAT32: usize = 16_480;
export const SCRATCH_FLOAT64: usize = 16_624;
export const SCRATCH_HISTOGRAM: usize = 16_656;
export const SCRATCH_ADDRESSES: usize = 16_880;
export const SCRATCH_LOG: usize = 17_904;
export const SCRATCH_UNITS: usize = 17_952;
