/** ONNX's numbers (onnx.proto of version 1.20): element types, kinds of attributes, and the limits files are read with. */

/** Element types by their number in a file. */
export const ELEMENT_TYPES = {
  float32: 1,
  uint8: 2,
  int8: 3,
  uint16: 4,
  int16: 5,
  int32: 6,
  int64: 7,
  string: 8,
  bool: 9,
  float16: 10,
  float64: 11,
  uint32: 12,
  uint64: 13,
  bfloat16: 16,
} as const;

/** Name of an element type. */
export type ElementType = keyof typeof ELEMENT_TYPES;

/** Bytes of a number of an element type; 0 for text, which has no fixed size. */
export const ELEMENT_BYTES: Readonly<Record<ElementType, number>> = {
  float32: 4,
  float64: 8,
  float16: 2,
  bfloat16: 2,
  int8: 1,
  int16: 2,
  int32: 4,
  int64: 8,
  uint8: 1,
  uint16: 2,
  uint32: 4,
  uint64: 8,
  bool: 1,
  string: 0,
};

/** The name of an element type's number; undefined for one that is unknown here. */
export function elementTypeOf(number: number): ElementType | undefined {
  for (const [name, known] of Object.entries(ELEMENT_TYPES))
    if (known === number) return name as ElementType;
  return undefined;
}

/** Element types that have statistics. */
export const FLOAT_TYPES: ReadonlySet<ElementType | null> = new Set<ElementType>([
  'float32',
  'float16',
  'float64',
  'bfloat16',
]);

/** Kinds of attributes. */
export const ATTRIBUTE_FLOAT = 1;
export const ATTRIBUTE_INT = 2;
export const ATTRIBUTE_STRING = 3;
export const ATTRIBUTE_TENSOR = 4;
export const ATTRIBUTE_GRAPH = 5;
export const ATTRIBUTE_FLOATS = 6;
export const ATTRIBUTE_INTS = 7;
export const ATTRIBUTE_STRINGS = 8;

/** Protocol buffers end at 2 GiB, and so do ONNX files; larger models keep their weights in other files. */
export const MAX_MODEL_BYTES = 2 ** 31 - 1;
/** The largest language models have some 100,000 nodes; a file of this size with more is made to fill memory. */
export const MAX_NODES = 1_000_000;
/** Weights and described tensors of a graph; as many as nodes. */
export const MAX_VALUES = 1_000_000;
/** Exporters make names of some hundred bytes. */
export const MAX_NAME_BYTES = 65_536;
/** Numbers in one attribute; lists of shapes, axes and thresholds. Longer ones are weights and belong in a tensor. */
export const MAX_LIST_LENGTH = 1_000_000;
/** Dimensions of a tensor. onnxruntime's own limit is lower. */
export const MAX_RANK = 64;

/** A dimension: its size, its symbolic name, or null when the file does not say. */
export type OnnxDimension = number | string | null;

/** A tensor's name, type and shape, as far as a file states them. */
export type OnnxValueInfo = {
  readonly name: string;
  /** Null when the file does not say, or when it is no tensor. */
  readonly elementType: ElementType | null;
  readonly shape: readonly OnnxDimension[] | null;
  /** False for sequences, maps and optionals. */
  readonly isTensor: boolean;
};

/** A constant tensor of a file. Bytes are views of the file. */
export type OnnxTensor = {
  readonly name: string;
  readonly elementType: ElementType | null;
  readonly shape: readonly number[];
  /** Whether the numbers lie in another file. */
  readonly isExternal: boolean;
  /** Little-endian numbers; null when they are given as a list of fields. */
  readonly rawData: Uint8Array | null;
  /** The message, for readers that need the listed numbers. */
  readonly message: Uint8Array;
};

/** The value of an attribute; `graph` stands for a subgraph, which is counted and not read. */
export type OnnxAttribute =
  | { readonly kind: 'float'; readonly value: number }
  | { readonly kind: 'int'; readonly value: number }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'ints'; readonly value: readonly number[] }
  | { readonly kind: 'floats'; readonly value: readonly number[] }
  | { readonly kind: 'strings'; readonly value: readonly string[] }
  | { readonly kind: 'tensor'; readonly value: OnnxTensor }
  | { readonly kind: 'graph' }
  | { readonly kind: 'other' };

/** An operation of a graph. Absent inputs and outputs are empty text. */
export type OnnxNode = {
  readonly name: string;
  readonly opType: string;
  /** Empty text for ONNX's own operators. */
  readonly domain: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes: ReadonlyMap<string, OnnxAttribute>;
  /** Whether it carries graphs of its own: If, Loop, Scan. */
  readonly hasSubgraph: boolean;
};

/** What a model file holds, without its weights' numbers. */
export type OnnxModelFile = {
  readonly irVersion: number;
  /** Versions of the operator sets by domain; `''` is ONNX's own. */
  readonly opsets: ReadonlyMap<string, number>;
  readonly nodes: readonly OnnxNode[];
  readonly inputs: readonly OnnxValueInfo[];
  readonly outputs: readonly OnnxValueInfo[];
  readonly valueInfos: ReadonlyMap<string, OnnxValueInfo>;
  readonly initializers: ReadonlyMap<string, OnnxTensor>;
  /** Operators the file defines itself, as `domain:name`. */
  readonly functions: ReadonlySet<string>;
};
