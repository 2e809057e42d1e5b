// The whole binary interface of the kernels. Pointers are byte offsets into linear memory, 16-byte aligned where a state
// or table is meant, aligned to one element where a tensor is meant; counts are elements.
export { statsReset } from './stats-state';
export { statsF32 } from './stats-float32';
export { statsF64 } from './stats-float64';
export { statsI32, statsU8 } from './stats-integer';
export { histogramReset, histogramF32, histogramF64, histogramCollect } from './histogram';
export { histogramLogF32, histogramLogF64 } from './histogram-log';
export { statsF16, statsBF16 } from './half';
export { widenF16, widenBF16, widenU8, widenI32 } from './half';
export { unitRowsF32, unitRowsF64, unitRunsF32, unitRunsF64 } from './units';
export { pairF32, pairF64 } from './pair';
