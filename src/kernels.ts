/** `quark-sdk/kernels`: numeric kernels over tensors and series, in WASM, on the calling thread or in workers. */
export { createKernels, type Kernels } from './kernel/tensor/kernels.ts';
export type { KernelCallOptions, KernelsDiagnostics } from './kernel/workers/dispatch.ts';
export { DEFAULT_KERNELS_CONFIG, type KernelsConfig } from './kernel/workers/config.ts';
export { DEFAULT_HISTOGRAM_BINS, MAX_HISTOGRAM_BINS, MAX_UNITS } from './kernel/tensor/checks.ts';
export { histogramEdges, mergeHistograms } from './kernel/tensor/histogram-bins.ts';
export { mergeTensorPairStats, mergeTensorStats } from './kernel/tensor/results.ts';
export { inactiveUnits, mergeTensorUnitStats } from './kernel/tensor/unit-results.ts';
export { HISTOGRAM_SCALES } from './kernel/kernel.ts';
export type {
  Histogram,
  HistogramOptions,
  HistogramScale,
  Kernel,
  PairData,
  PairType,
  TensorData,
  TensorPairStats,
  TensorStats,
  TensorStatsOptions,
  TensorType,
  TensorTypeOptions,
  TensorUnitStats,
  TensorUnitStatsOptions,
  ValueRange,
} from './kernel/kernel.ts';
export type { WorkerLike, WorkerMode, WorkerWayName } from './kernel/workers/spawn.ts';

export {
  createSeriesKernels,
  type AsyncArguments,
  type AsyncMethods,
  type SeriesKernels,
  type SeriesKernelsConfig,
} from './kernel/series/series-kernels.ts';
export { loadSeriesKernel } from './kernel/series/load-kernel.ts';
export { jsSeriesKernel, type SeriesKernel } from './kernel/series/series-kernel.ts';
export {
  AUTOCORRELATION_CHOICES,
  CHANGE_LOSSES,
  CHANGE_MODELS,
  type AutocorrelationChoice,
  type ChangeKernel,
  type ChangeLoss,
  type ChangeModel,
  type ChangePointOptions,
  type ChangePoints,
} from './kernel/series/change/change.ts';
export {
  NORMAL_MAD_SCALE,
  QUANTILE_METHODS,
  type MedianAbsoluteDeviation,
  type MedianAbsoluteDeviationOptions,
  type OrderKernel,
  type QuantileMethod,
  type QuantileOptions,
} from './kernel/series/order/order.ts';
export type {
  PrincipalComponentOptions,
  PrincipalComponents,
  ProjectKernel,
} from './kernel/series/project/project.ts';
export {
  OUTLIER_METHODS,
  OUTLIER_SIDES,
  type OutlierBaseline,
  type OutlierKernel,
  type OutlierMethod,
  type OutlierOptions,
  type Outliers,
  type OutlierSide,
} from './kernel/series/outlier/outlier.ts';
export {
  QuantileSketch,
  type QuantileSketchOptions,
} from './kernel/series/sketch/quantile-sketch.ts';
export type {
  BucketOptions,
  BucketReduction,
  DrawKernel,
  LttbOptions,
  SeriesReduction,
} from './kernel/series/draw/draw.ts';
export { SeriesPyramid, type PyramidQuery } from './kernel/series/draw/draw-pyramid.ts';
export {
  ALIGN_FILLS,
  ALIGN_JOINS,
  SPIKE_DIRECTIONS,
  type AlignedSeries,
  type AlignFill,
  type AlignJoin,
  type AlignOptions,
  type AreaOptions,
  type CurveArea,
  type CurveKernel,
  type MannKendall,
  type SmoothExponentialOptions,
  type SmoothRobustOptions,
  type Spike,
  type SpikeDirection,
  type SpikeOptions,
  type SteppedSeries,
  type TheilSenOptions,
  type TheilSenResult,
} from './kernel/series/curve/curve.ts';
export type { SeriesValues } from './kernel/series/module/values.ts';
