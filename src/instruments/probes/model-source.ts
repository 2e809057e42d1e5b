/**
 * What an adapter gives to the hook engine and the parameter diagnostics, and all that these know of a framework. A
 * network of one's own can be observed by implementing {@link ModelSource}: see `examples/plain-network.mjs`.
 */
import type { TensorData } from '../../kernel/kernel.ts';
import type { ReductionRequest, TensorSummary } from '../../kernel/tensor/summaries.ts';
import type { HookDirection, ParameterRole } from '../../records/literals.ts';

export type {
  ReductionRequest,
  TensorHistogram,
  TensorSummary,
} from '../../kernel/tensor/summaries.ts';

/** A layer of the model. */
export type LayerInfo = {
  /** Path of the layer in the model; no two layers have the same: `encoder/dense_1`. */
  readonly name: string;
  /** Class of the layer: `Dense`, `Conv2D`. */
  readonly type: string;
  /** The class with what it belongs to: `tfjs.layers.Dense`; type filters match it as well. */
  readonly qualifiedType?: string | undefined;
  /** Name of an activation that is part of the layer: `tanh`. Saturation is counted for it as for a layer of its own. */
  readonly activation?: string | undefined;
  /** False for containers, whose layers are listed by themselves. */
  readonly isLeaf: boolean;
  /** Axis of the output along which its units lie; -1, the last, unless given. */
  readonly unitAxis?: number | undefined;
};

/** A parameter of the model. */
export type ParameterInfo = {
  /** Full name; no two parameters have the same: `encoder/dense_1/kernel`. */
  readonly name: string;
  /** Path of the layer it belongs to; empty when it belongs to none. */
  readonly moduleName: string;
  /** What it is to its layer. */
  readonly role: ParameterRole;
  /** Its shape. */
  readonly shape: readonly number[];
  /** Element type: `float32`, ... */
  readonly dtype: string;
  /** Group of the optimizer that changes it; null when none does. Read for every record: it may change. */
  readonly optimizerGroup: string | null;
};

/**
 * A tensor at the moment it is captured. Where `retain` is missing, it is read or copied before the call that handed it
 * over returns. It is never changed.
 */
export interface TensorRef {
  /** Sizes of the axes, row-major. */
  readonly shape: readonly number[];
  /** Element type: `float32`, ... */
  readonly dtype: string;
  /** The elements where they are in host memory; undefined on a device. Asked for each time they are read. */
  readonly data: TensorData | undefined;
  /** Another reference to the same elements, good until it is released. */
  retain?(): RetainedTensor;
}

/** A {@link TensorRef} that outlives the call it was handed over in. */
export interface RetainedTensor extends TensorRef {
  /** Gives the elements up. Called once. */
  release(): void;
}

/** Where a tensor was captured. */
export type CapturePoint = {
  /** Position in {@link ModelSource.layers}. */
  readonly layer: number;
  /** `forward`: the output of the layer. `backward`: the gradient of the loss with respect to it. */
  readonly direction: HookDirection;
  /** Which call of the layer in the step: what {@link LayerWatch.beginCall} gave; a gradient has that of its output. */
  readonly callIndex: number;
  /** Which output of a layer with several, from 0. */
  readonly outputIndex: number;
  /** False in a pass that trains nothing: validation, prediction. */
  readonly isTraining: boolean;
};

/** What cannot be observed, and why. */
export type SourceTrouble = {
  /** Short and stable: `optimizer_replaced`, `tensor_disposed`, ... */
  readonly reason: string;
  /** For people: what is not observed, why, and what to do. */
  readonly message: string;
};

/** Called by a source for what its layers do. No method throws, or references a tensor without retaining it. */
export interface LayerWatch {
  /** Layers to capture, by position in {@link ModelSource.layers}. */
  readonly layers: ReadonlySet<number>;
  /** Whether outputs are wanted. */
  readonly forward: boolean;
  /** Whether gradients with respect to outputs are wanted. */
  readonly backward: boolean;
  /** Whether the step under way is probed. While it is false, a source captures nothing. */
  readonly isActive: boolean;
  /** Whether passes that train nothing are wanted too. */
  readonly evaluation: boolean;
  /** Counts a call of a layer that is about to be captured; returns the `callIndex` of its tensors. */
  beginCall(layer: number): number;
  /** Hands a tensor over. Of several for one point, the last one counts. */
  capture(point: CapturePoint, tensor: TensorRef): void;
  /** Says that something could not be captured. */
  warn(trouble: SourceTrouble): void;
}

/** What an optimizer step did to one parameter. */
export type ParameterChange = {
  /** Gradient the optimizer was given; null when there was none. */
  readonly gradient: TensorRef | null;
  /** Value before the step. A source that changes its values in place copies them first. Null when it is not known. */
  readonly before: TensorRef | null;
};

/** Called by a source for what its optimizer does. No method throws, or references a tensor without retaining it. */
export interface ParameterWatch {
  /** Parameters to capture, by position in {@link ModelSource.parameters}. */
  readonly parameters: ReadonlySet<number>;
  /** Whether the next optimizer step is wanted. While it is false, a source captures nothing. */
  readonly isActive: boolean;
  /** Hands over what one optimizer step did to one parameter, after the step. */
  changed(parameter: number, change: ParameterChange): void;
  /** Gives up what was handed over so far: it cannot be compared with what is to come, as after a switch of backends. */
  forget(): void;
  /** Says that something could not be captured. */
  warn(trouble: SourceTrouble): void;
}

/** Reductions of one step on a device. Results come in the order of the calls, all from one asynchronous read. */
export interface DeviceBatch {
  /** Reduces a tensor. */
  summarize(tensor: TensorRef, request: ReductionRequest): void;
  /** Reduces `after - before`; the result has `beforeNorm` as well. */
  summarizeChange(after: TensorRef, before: TensorRef, request: ReductionRequest): void;
  /** The cosine of the angle between two tensors of one shape. */
  compare(first: TensorRef, second: TensorRef): void;
  /** Reads everything back. */
  read(): Promise<readonly DeviceResult[]>;
  /** Gives up what was reduced and not read. */
  discard(): void;
}

/** What a device found. */
export type DeviceResult = {
  /** Of `summarize` and `summarizeChange`. */
  readonly summary: TensorSummary | null;
  /** Of `summarizeChange`: the L2 norm of `before`. */
  readonly beforeNorm: number | null;
  /** Of `compare`; null when a tensor is all zero. */
  readonly cosine: number | null;
};

/** A model that can be observed. Adapters implement it; `tfjsModel` and the ONNX adapter are two. */
export interface ModelSource {
  /** Name of the framework, for the records' readers. */
  readonly framework: string;
  /** The layers. Positions in it identify them, so it never changes once it has been read. */
  readonly layers: readonly LayerInfo[];
  /** The parameters; the same holds. */
  readonly parameters: readonly ParameterInfo[];
  /** Captures the layers of a watch until the function it returns is called, which undoes everything. */
  watchLayers(watch: LayerWatch): () => void;
  /** Captures what the optimizer does until the function it returns is called, which undoes everything. */
  watchParameters(watch: ParameterWatch): () => void;
  /** The value a parameter has now. @throws when there is none any more */
  readParameter(parameter: number): TensorRef;
  /** Opens reductions on the device, for tensors without `data`. Sources whose tensors all have it leave it out. */
  openBatch?(): DeviceBatch;
  /**
   * Called when a probed step begins: what has changed since the last one that gets in the way of observing. Where there are
   * no layers, called once by each hook engine: why.
   */
  inspect?(): readonly SourceTrouble[];
}
