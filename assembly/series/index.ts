// The binary interface of the kernels over series: float64 values in linear memory. A module of its own, so that a page that only
// records does not carry it. Pointers are byte offsets, 16-byte aligned; counts are elements.
export { changeCentre, changeGrid, changeItems, changeScale, changeScan } from './change-grid';
export { changeLineItems, changeLines } from './change-line';
export { changeMean } from './change-mean';
export { changeMeanLong } from './change-mean-long';
export { heapBase } from './memory';
export { orderPlan, orderSelect } from './order';
export { finiteValues, orderDeviations } from './order-values';
export { drawAscending, drawExtremes, drawFinite, drawLttb } from './draw';
export { curveMedian, curveMedianBytes } from './curve-median';
export { curveEqualPairs, curveKeepOrder, curveResiduals, curveSortResiduals } from './curve-slope';
export { curveSmooth, curveSmoothStart } from './curve-smooth';
export { valuesBeyond } from './outlier';
export { projectGram } from './project';
export { statsReset } from '../stats-state';
export { statsF64 } from '../stats-float64';
