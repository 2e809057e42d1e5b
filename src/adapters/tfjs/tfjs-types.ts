/**
 * The parts of TensorFlow.js that are used here, described by their shape: the namespace is passed in, and a program that
 * does not install TensorFlow.js can still check its types. Methods are declared as methods, which TypeScript compares
 * in both directions, so that the real namespace fits.
 */

/** A `tf.Tensor`. */
export interface TfTensor {
  readonly shape: readonly number[];
  readonly dtype: string;
  readonly size: number;
  readonly dataId: object;
  readonly isDisposed: boolean;
  clone(): TfTensor;
  dispose(): void;
  data(): Promise<unknown>;
  dataSync(): unknown;
}

/** A `tf.Variable`. */
export interface TfVariable extends TfTensor {
  readonly name: string;
  readonly trainable: boolean;
}

/** The part of the TensorFlow.js namespace that probes use: pass `tf` itself. */
export interface TfjsRuntime {
  readonly version: { readonly tfjs?: string };
  getBackend(): string;
  engine(): object;
  backend(): object;
  keep(tensor: TfTensor): TfTensor;
  customGrad(work: never): unknown;
}

/** A `tf.layers.Layer`. */
export interface TfLayer {
  readonly name: string;
  readonly trainable: boolean;
  readonly weights: readonly TfLayerVariable[];
  getClassName(): string;
  call(inputs: unknown, kwargs: unknown): unknown;
}

/** A weight of a layer. */
export interface TfLayerVariable {
  readonly originalName: string;
  readonly trainable: boolean;
  readonly shape: readonly (number | null)[];
  readonly dtype: string;
  read(): TfTensor;
}

/** The part of a `tf.LayersModel` that probes use. */
export interface TfjsLayersModel {
  readonly name: string;
  readonly layers: readonly object[];
  readonly optimizer?: unknown;
}

/** The part of a `tf.Optimizer` that probes use. */
export interface TfjsOptimizer {
  applyGradients(gradients: never): void;
}

/** What is called of the namespace, with the types it has for these uses. */
export interface TfOps {
  keep(tensor: TfTensor): TfTensor;
  customGrad(
    work: (x: TfTensor) => { value: TfTensor; gradFunc: (dy: TfTensor) => TfTensor },
  ): (x: TfTensor) => TfTensor;
  tidy(work: () => TfTensor): TfTensor;
  cast(x: TfTensor, dtype: string): TfTensor;
  reshape(x: TfTensor, shape: readonly number[]): TfTensor;
  isFinite(x: TfTensor): TfTensor;
  where(condition: TfTensor, a: TfTensor, b: TfTensor): TfTensor;
  scalar(value: number): TfTensor;
  tensor1d(values: readonly number[]): TfTensor;
  fill(shape: readonly number[], value: number): TfTensor;
  abs(x: TfTensor): TfTensor;
  square(x: TfTensor): TfTensor;
  sqrt(x: TfTensor): TfTensor;
  add(a: TfTensor, b: TfTensor): TfTensor;
  sub(a: TfTensor, b: TfTensor): TfTensor;
  mul(a: TfTensor, b: TfTensor): TfTensor;
  div(a: TfTensor, b: TfTensor): TfTensor;
  less(a: TfTensor, b: TfTensor): TfTensor;
  lessEqual(a: TfTensor, b: TfTensor): TfTensor;
  greaterEqual(a: TfTensor, b: TfTensor): TfTensor;
  sum(x: TfTensor, axis?: number | number[]): TfTensor;
  min(x: TfTensor): TfTensor;
  max(x: TfTensor, axis?: number | number[]): TfTensor;
  slice(x: TfTensor, begin: readonly number[], size: readonly number[]): TfTensor;
  stridedSlice(
    x: TfTensor,
    begin: readonly number[],
    end: readonly number[],
    strides: readonly number[],
  ): TfTensor;
  stack(tensors: readonly TfTensor[]): TfTensor;
  concat(tensors: readonly TfTensor[]): TfTensor;
}

/** The namespace with those types. */
export function opsOf(tf: TfjsRuntime): TfOps {
  return tf as TfjsRuntime & TfOps;
}
