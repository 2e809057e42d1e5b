/** Blocks of networks on images, as `torch.onnx.export` of TorchScript writes them. */
import { FileBuilder, TORCH } from '../file-builder.ts';

export const torchFile = (opset: number): FileBuilder =>
  new FileBuilder({ opset, style: TORCH, producer: 'pytorch' });

/** `/features/features.0/Conv` of `features.0`. */
export const scopeOf = (path: string): string => {
  const parts = path.split('.');
  return parts.map((_, i) => parts.slice(0, i + 1).join('.')).join('/');
};

/** Settings of a convolution; one number for both axes. */
export type ConvOptions = {
  readonly stride?: number;
  readonly pad?: number;
  readonly group?: number;
  readonly dilation?: number;
  readonly bias?: boolean;
  /** 1 for sequences; 2 unless given. */
  readonly dims?: number;
};

const twice = (n: number, dims: number): number[] => Array<number>(dims).fill(n);

export function conv(
  f: FileBuilder,
  x: string,
  path: string,
  [out, into, size]: readonly [number, number, number],
  options: ConvOptions = {},
): string {
  const { stride = 1, group = 1, dilation = 1, bias = true, dims = 2 } = options;
  const { pad = Math.floor(size / 2) } = options;
  f.at(scopeOf(path));
  const inputs = [x, f.weight(`${path}.weight`, [out, into / group, ...twice(size, dims)])];
  if (bias) inputs.push(f.weight(`${path}.bias`, [out]));
  return f.op('Conv', inputs, {
    dilations: twice(dilation, dims),
    group,
    kernel_shape: twice(size, dims),
    pads: twice(pad, 2 * dims),
    strides: twice(stride, dims),
  });
}

export function batchNorm(f: FileBuilder, x: string, path: string, channels: number): string {
  const inputs = [
    x,
    f.weight(`${path}.weight`, [channels], { shift: 1 }),
    f.weight(`${path}.bias`, [channels]),
    f.weight(`${path}.running_mean`, [channels]),
    f.weight(`${path}.running_var`, [channels], { shift: 1 }),
  ];
  const attributes = { epsilon: { float: 1e-5 }, momentum: { float: 0.9 } };
  return f.at(scopeOf(path)).op('BatchNormalization', inputs, attributes);
}

/** A convolution without a bias and a batch normalisation. */
export function convNorm(
  f: FileBuilder,
  x: string,
  path: string,
  sizes: readonly [number, number, number],
  options: ConvOptions = {},
): string {
  const made = conv(f, x, `${path}.0`, sizes, { bias: false, ...options });
  return batchNorm(f, made, `${path}.1`, sizes[0]);
}

export function gemm(
  f: FileBuilder,
  x: string,
  path: string,
  [out, into]: readonly [number, number],
  output?: string,
): string {
  const inputs = [x, f.weight(`${path}.weight`, [out, into]), f.weight(`${path}.bias`, [out])];
  const attributes = { alpha: { float: 1 }, beta: { float: 1 }, transB: 1 };
  return f.at(scopeOf(path)).op('Gemm', inputs, attributes, output);
}

/** ReLU6 as TorchScript writes it: bounds are `Constant` nodes. */
export function relu6(f: FileBuilder, x: string, path: string): string {
  f.at(scopeOf(path));
  if (f.opset < 11) return f.op('Clip', [x], { min: { float: 0 }, max: { float: 6 } });
  return f.op('Clip', [x, f.constantFloat(0), f.constantFloat(6)]);
}

/** `x.mean([2, 3])`, or adaptive pooling, and `torch.flatten(x, 1)`. */
export function pooledFlat(f: FileBuilder, x: string, by: 'mean' | 'pool'): string {
  f.at(by === 'mean' ? '' : 'avgpool');
  const pooled =
    by === 'pool'
      ? f.op('GlobalAveragePool', [x])
      : f.op('ReduceMean', [x], { axes: [2, 3], keepdims: 1 });
  return f.at('').op('Flatten', [pooled], { axis: 1 });
}

export function maxPool(
  f: FileBuilder,
  x: string,
  scope: string,
  [size, stride, pad]: readonly [number, number, number],
  ceil = false,
): string {
  const mode = f.opset >= 10 ? { ceil_mode: ceil ? 1 : 0 } : {};
  const attributes = {
    kernel_shape: twice(size, 2),
    pads: twice(pad, 4),
    strides: twice(stride, 2),
  };
  return f.at(scope).op('MaxPool', [x], { ...attributes, ...mode });
}

/** One size of a value, as TorchScript reads it: a number of rank 0. */
export function sizeAt(f: FileBuilder, x: string, axis: number): string {
  const shape = f.op('Shape', [x]);
  return f.op('Gather', [shape, f.constantInts([axis], [])], { axis: 0 });
}

/** `x.view(...)`: sizes that are computed are unsqueezed and joined with those that are known. */
export function view(f: FileBuilder, x: string, sizes: readonly (string | number)[]): string {
  const parts = sizes.map((size) => {
    const given = typeof size === 'number' ? f.constantInts([size], []) : size;
    if (f.opset < 13) return f.op('Unsqueeze', [given], { axes: [0] });
    return f.op('Unsqueeze', [given, f.constantInts([0])]);
  });
  return f.op('Reshape', [x, f.op('Concat', parts, { axis: 0 })]);
}

/** Sizes of a value as a list. */
export const sizesOf = (f: FileBuilder, x: string, axes: readonly number[]): string[] =>
  axes.map((axis) => sizeAt(f, x, axis));
