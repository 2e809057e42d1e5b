// What engines with relaxed SIMD do better: the same sources, with products that are added in one instruction and truncation in one
// (`ASC_FEATURE_RELAXED_SIMD` in them). It works in the memory of the other module and shares its scratch
// memory: nothing there outlasts a call but vectors that both set alike.
// Statistics of float32 gain 5 percent and would double the size: they are not among them. Where rounding once or twice makes a difference, results differ between machines, within the same bounds.
export { statsF64 } from './stats-float64';
export { histogramF32, histogramF64 } from './histogram';
export { pairF32, pairF64 } from './pair';
