/** The kinds of layers a network may have, and what each may be told. */
import type { TensorShape } from './graph/graph-builder.ts';

/** Activations of {@link OnnxLayer}. */
export const ONNX_ACTIVATIONS = [
  'elu',
  'gelu',
  'hardSigmoid',
  'hardSwish',
  'leakyRelu',
  'relu',
  'relu6',
  'selu',
  'sigmoid',
  'silu',
  'softmax',
  'softplus',
  'tanh',
] as const;

/** One of {@link ONNX_ACTIVATIONS}. */
export type OnnxActivation = (typeof ONNX_ACTIVATIONS)[number];

/** How weights begin: uniform after Glorot and Bengio, 2010, or normal after He, Zhang, Ren and Sun, 2015. */
export type OnnxInitializer = 'glorotUniform' | 'heNormal';

type Named = {
  /** Name of the layer; its kind and a number unless given. */
  readonly name?: string;
};

/** Options of layers with weights. */
export type Weighted = Named & {
  /** A layer of its own behind this one, named `NAME/ACTIVATION`. */
  readonly activation?: OnnxActivation;
  /** Whether a bias is added; default true. */
  readonly bias?: boolean;
  /** False freezes the weights; default true. */
  readonly trainable?: boolean;
  /** `heNormal` in front of relu and its kin unless given, `glorotUniform` elsewhere. */
  readonly initializer?: OnnxInitializer;
};

/** Options of layers with a window. */
export type Windowed = {
  /** Window, one size or height and width. */
  readonly size: number | readonly [number, number];
  /** Default 1 for convolutions, the window's size for pooling. */
  readonly strides?: number | readonly [number, number];
  /** `valid` (default): none. `same`: as much as keeps the size at stride 1. */
  readonly padding?: 'valid' | 'same';
};

/** A layer of a network that is trained. */
export type OnnxLayer =
  | (Weighted & { readonly kind: 'dense'; readonly units: number })
  | (Weighted &
      Windowed & {
        readonly kind: 'conv2d';
        readonly filters: number;
        readonly dilations?: number | readonly [number, number];
        /** Channels are convolved in so many groups; default 1. */
        readonly groups?: number;
      })
  | (Named & Windowed & { readonly kind: 'maxPool2d' | 'averagePool2d' })
  | (Named & { readonly kind: 'globalAveragePool2d' | 'flatten' })
  | (Named & {
      readonly kind: 'batchNorm';
      /** Default 1e-3. */ readonly epsilon?: number;
      /** Share of the running mean that is kept in each step; default 0.99. */ readonly momentum?: number;
      readonly trainable?: boolean;
    })
  | (Named & {
      readonly kind: 'layerNorm';
      /** Default 1e-3. */ readonly epsilon?: number;
      readonly trainable?: boolean;
    })
  | (Named & {
      readonly kind: 'embedding';
      /** How many different numbers the input holds. */ readonly vocabulary: number;
      readonly dimensions: number;
      readonly trainable?: boolean;
    })
  | (Named & { readonly kind: 'activation'; readonly activation: OnnxActivation });

/** A network as a list of layers. */
export type OnnxLayersModel = {
  /** Shape of one sample, without the batch: `[64]`, `[1, 8, 8]`. A text is a size that each run decides. */
  readonly inputShape: TensorShape;
  /** Default float32; int32 for an embedding. */
  readonly inputType?: 'float32' | 'int32';
  /** Name of the input; default `x`. */
  readonly inputName?: string;
  readonly layers: readonly OnnxLayer[];
  /** Determines the initial weights; default 1. */
  readonly seed?: number;
};

/** Options of each kind of layer. */
export const LAYER_OPTIONS: Readonly<Record<OnnxLayer['kind'], readonly string[]>> = {
  dense: ['units', 'activation', 'bias', 'trainable', 'initializer'],
  conv2d: [
    'filters',
    'size',
    'strides',
    'padding',
    'dilations',
    'groups',
    'activation',
    'bias',
    'trainable',
    'initializer',
  ],
  maxPool2d: ['size', 'strides', 'padding'],
  averagePool2d: ['size', 'strides', 'padding'],
  globalAveragePool2d: [],
  flatten: [],
  batchNorm: ['epsilon', 'momentum', 'trainable'],
  layerNorm: ['epsilon', 'trainable'],
  embedding: ['vocabulary', 'dimensions', 'trainable'],
  activation: ['activation'],
};

/** Class names of layers, as filters and records have them. */
export const LAYER_TYPES: Readonly<Record<Exclude<OnnxLayer['kind'], 'activation'>, string>> = {
  dense: 'Dense',
  conv2d: 'Conv2D',
  maxPool2d: 'MaxPool2D',
  averagePool2d: 'AveragePool2D',
  globalAveragePool2d: 'GlobalAveragePool2D',
  flatten: 'Flatten',
  batchNorm: 'BatchNorm',
  layerNorm: 'LayerNorm',
  embedding: 'Embedding',
};

/** The operator of each activation, which is also the layer's class. */
export const ACTIVATION_OPS: Readonly<Record<OnnxActivation, string>> = {
  elu: 'Elu',
  gelu: 'Gelu',
  hardSigmoid: 'HardSigmoid',
  hardSwish: 'HardSwish',
  leakyRelu: 'LeakyRelu',
  relu: 'Relu',
  relu6: 'ReLU6',
  selu: 'Selu',
  sigmoid: 'Sigmoid',
  silu: 'Silu',
  softmax: 'Softmax',
  softplus: 'Softplus',
  tanh: 'Tanh',
};

/** Activations that weights are drawn for after He. */
export const RELU_KIN: ReadonlySet<OnnxActivation | undefined> = new Set<OnnxActivation>([
  'elu',
  'gelu',
  'hardSwish',
  'leakyRelu',
  'relu',
  'relu6',
  'silu',
]);
