/** Calls of the tensor kernels as data, and how one is carried out, on whatever thread. */
import type {
  HistogramOptions,
  Histogram,
  Kernel,
  PairData,
  TensorData,
  TensorPairStats,
  TensorStats,
  TensorStatsOptions,
  TensorType,
  TensorUnitStats,
  TensorUnitStatsOptions,
} from '../kernel.ts';

/** A flat tensor inside a buffer. */
export type TensorView = {
  readonly type: TensorType;
  readonly buffer: ArrayBufferLike;
  readonly byteOffset: number;
  /** Elements. */
  readonly length: number;
};

/** A kernel to run, without its tensor. */
export type KernelCall =
  | { readonly op: 'tensorStats'; readonly options: TensorStatsOptions }
  | { readonly op: 'histogram'; readonly options: HistogramOptions }
  | { readonly op: 'tensorUnitStats'; readonly options: TensorUnitStatsOptions }
  /** Its tensor is both tensors, one after the other. */
  | { readonly op: 'tensorPairStats' };

/** The result of each kernel. */
export type KernelResults = {
  readonly tensorStats: TensorStats;
  readonly histogram: Histogram;
  readonly tensorUnitStats: TensorUnitStats;
  readonly tensorPairStats: TensorPairStats;
};

/** What a kernel call gives. */
export type KernelResult = KernelResults[keyof KernelResults];

/** A kernel to run, and where its tensor lies in the buffer that comes with it. */
export type TensorJob = {
  readonly call: KernelCall;
  readonly view: Omit<TensorView, 'buffer'>;
};

/** Runs one call on `kernel`. */
export function executeCall(kernel: Kernel, call: KernelCall, view: TensorView): KernelResult {
  const data = openView(view);
  switch (call.op) {
    case 'tensorStats':
      return kernel.tensorStats(data, call.options);
    case 'histogram':
      return kernel.histogram(data, call.options);
    case 'tensorUnitStats':
      return kernel.tensorUnitStats(data, call.options);
    case 'tensorPairStats': {
      const half = view.length / 2;
      const both = openPair(view);
      return kernel.tensorPairStats(both.subarray(0, half), both.subarray(half));
    }
  }
}

function openPair({ type, buffer, byteOffset, length }: TensorView): PairData {
  return type === 'float32'
    ? new Float32Array(buffer, byteOffset, length)
    : new Float64Array(buffer, byteOffset, length);
}

/** The tensor of a view. */
export function openView({ type, buffer, byteOffset, length }: TensorView): TensorData {
  switch (type) {
    case 'float32':
      return new Float32Array(buffer, byteOffset, length);
    case 'float64':
      return new Float64Array(buffer, byteOffset, length);
    case 'int32':
      return new Int32Array(buffer, byteOffset, length);
    case 'uint8':
      return new Uint8Array(buffer, byteOffset, length);
    case 'float16':
    case 'bfloat16':
      return new Uint16Array(buffer, byteOffset, length);
  }
}
