/** Writes ONNX messages: nodes, constants, described tensors, models. */
import {
  ATTRIBUTE_FLOAT,
  ATTRIBUTE_FLOATS,
  ATTRIBUTE_GRAPH,
  ATTRIBUTE_INT,
  ATTRIBUTE_INTS,
  ATTRIBUTE_STRING,
  ATTRIBUTE_STRINGS,
  ELEMENT_TYPES,
  type ElementType,
  type OnnxDimension,
} from './onnx-format.ts';
import { ByteWriter } from '../../../codecs/protobuf/writer.ts';

/**
 * The value of an attribute: integers are `int` and `ints`; floats are marked, since 1 and 1.0 are one in JavaScript. `graph` is a
 * graph of its own, as Scan has one.
 */
export type AttributeValue =
  | number
  | readonly number[]
  | string
  | { readonly float: number }
  | { readonly floats: readonly number[] }
  | { readonly strings: readonly string[] }
  | { readonly graph: ByteWriter };

/** Attributes of a node by name. */
export type Attributes = Readonly<Record<string, AttributeValue>>;

/** A NodeProto. */
export function nodeMessage(
  opType: string,
  inputs: readonly string[],
  outputs: readonly string[],
  attributes: Attributes = {},
  name: string = outputs[0] ?? '',
): ByteWriter {
  const message = new ByteWriter();
  for (const input of inputs) message.text(1, input);
  for (const output of outputs) message.text(2, output);
  message.text(3, name).text(4, opType);
  for (const [key, value] of Object.entries(attributes)) message.part(5, attribute(key, value));
  return message;
}

function attribute(name: string, value: AttributeValue): ByteWriter {
  const message = new ByteWriter().text(1, name);
  if (typeof value === 'number') return message.integer(3, value).integer(20, ATTRIBUTE_INT);
  if (typeof value === 'string') return message.text(4, value).integer(20, ATTRIBUTE_STRING);
  if ('float' in value) return message.float(2, value.float).integer(20, ATTRIBUTE_FLOAT);
  if ('graph' in value) return message.part(6, value.graph).integer(20, ATTRIBUTE_GRAPH);
  if ('floats' in value) {
    for (const item of value.floats) message.float(7, item);
    return message.integer(20, ATTRIBUTE_FLOATS);
  }
  if ('strings' in value) {
    for (const item of value.strings) message.text(9, item);
    return message.integer(20, ATTRIBUTE_STRINGS);
  }
  for (const item of value) message.integer(8, item);
  return message.integer(20, ATTRIBUTE_INTS);
}

/** A ValueInfoProto; without a type, onnxruntime infers it. */
export function valueInfoMessage(
  name: string,
  elementType: ElementType | null = null,
  shape: readonly OnnxDimension[] | null = null,
): ByteWriter {
  const message = new ByteWriter().text(1, name);
  if (elementType === null) return message;
  const tensor = new ByteWriter().integer(1, ELEMENT_TYPES[elementType]);
  if (shape !== null) {
    const dimensions = new ByteWriter();
    for (const size of shape) {
      const dimension = new ByteWriter();
      if (typeof size === 'number') dimension.integer(1, size);
      else if (size !== null) dimension.text(2, size);
      dimensions.part(1, dimension);
    }
    tensor.part(2, dimensions);
  }
  return message.part(2, new ByteWriter().part(1, tensor));
}

/** A TensorProto. The machine is taken to be little-endian, as everything WebAssembly runs on is. */
export function tensorMessage(
  name: string,
  data: Float32Array | Int32Array | BigInt64Array | Uint8Array,
  shape: readonly number[],
): ByteWriter {
  const message = new ByteWriter();
  for (const size of shape) message.integer(1, size);
  return message
    .integer(2, ELEMENT_TYPES[typeOf(data)])
    .text(8, name)
    .part(9, new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
}

/** Bytes are booleans: nothing else is written with eight bits. */
function typeOf(data: Float32Array | Int32Array | BigInt64Array | Uint8Array): ElementType {
  if (data instanceof Float32Array) return 'float32';
  if (data instanceof Int32Array) return 'int32';
  return data instanceof BigInt64Array ? 'int64' : 'bool';
}

/** A whole model of one operator set. */
export function modelBytes(
  graph: ByteWriter,
  opset: number,
  irVersion: number,
): Uint8Array<ArrayBuffer> {
  return new ByteWriter()
    .integer(1, irVersion)
    .text(2, 'quark-sdk')
    .part(7, graph)
    .part(8, new ByteWriter().text(1, '').integer(2, opset))
    .finish();
}
