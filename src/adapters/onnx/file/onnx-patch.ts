/** A model file with other weights: everything else, such as heads, names and metadata, is copied byte by byte. */
import { ByteWriter } from '../../../codecs/protobuf/writer.ts';
import { ELEMENT_TYPES, MAX_NAME_BYTES, type ElementType } from './onnx-format.ts';
import { MessageReader } from './message-reader.ts';
import { readTensor } from './onnx-reader.ts';

/** Fields of ModelProto, GraphProto, NodeProto and AttributeProto that lead to weights. */
const MODEL_GRAPH = 7;
const GRAPH_NODE = 1;
const GRAPH_INITIALIZER = 5;
const NODE_OUTPUT = 2;
const NODE_OP_TYPE = 4;
const NODE_ATTRIBUTE = 5;
const ATTRIBUTE_TENSOR_FIELD = 5;

/**
 * Copies a model, with the numbers of some tensors replaced: initializers by their name, `Constant` nodes by that of their
 * output. Numbers are written in the type that the file has for them.
 *
 * @param weights row-major, as many as the tensor has
 * @throws {QuarkError} `invalid_input` for bytes that are no model
 */
export function withWeights(
  model: Uint8Array,
  weights: ReadonlyMap<string, ArrayLike<number>>,
): Uint8Array<ArrayBuffer> {
  return rewritten(model, (field, bytes) =>
    field === MODEL_GRAPH
      ? rewritten(bytes, (inner, part) => inGraph(inner, part, weights))
      : undefined,
  );
}

function inGraph(
  field: number,
  bytes: Uint8Array,
  weights: ReadonlyMap<string, ArrayLike<number>>,
): Uint8Array | undefined {
  if (field === GRAPH_INITIALIZER) return tensorWith(bytes, weights.get(readTensor(bytes).name));
  if (field !== GRAPH_NODE) return undefined;
  const output = constantOutput(bytes);
  const numbers = output === undefined ? undefined : weights.get(output);
  if (numbers === undefined) return undefined;
  return rewritten(bytes, (inner, attribute) =>
    inner === NODE_ATTRIBUTE
      ? rewritten(attribute, (part, tensor) =>
          part === ATTRIBUTE_TENSOR_FIELD ? tensorWith(tensor, numbers) : undefined,
        )
      : undefined,
  );
}

/** The output of a `Constant` node; undefined for other nodes. */
function constantOutput(node: Uint8Array): string | undefined {
  const reader = new MessageReader(node);
  let output: string | undefined;
  let isConstant = false;
  while (reader.next()) {
    if (reader.field === NODE_OUTPUT) output ??= reader.text(MAX_NAME_BYTES);
    else if (reader.field === NODE_OP_TYPE) isConstant = reader.text(MAX_NAME_BYTES) === 'Constant';
  }
  return isConstant ? output : undefined;
}

/** A TensorProto with other numbers; undefined where there are none for it. */
function tensorWith(
  bytes: Uint8Array,
  numbers: ArrayLike<number> | undefined,
): Uint8Array | undefined {
  if (numbers === undefined) return undefined;
  const { name, elementType, shape } = readTensor(bytes);
  const type = elementType ?? 'float32';
  const message = new ByteWriter();
  for (const size of shape) message.integer(1, size);
  return message
    .integer(2, ELEMENT_TYPES[type])
    .text(8, name)
    .part(9, encoded(type, numbers))
    .finish();
}

/** Numbers as a file has them, little-endian. */
function encoded(type: ElementType, numbers: ArrayLike<number>): Uint8Array {
  if (type === 'float64') return bytesOf(Float64Array.from(numbers));
  if (type === 'float16') return bytesOf(Uint16Array.from(numbers, toFloat16));
  if (type === 'bfloat16') return bytesOf(Uint16Array.from(numbers, toBfloat16));
  return bytesOf(Float32Array.from(numbers));
}

const bytesOf = ({
  buffer,
}: Float32Array<ArrayBuffer> | Float64Array<ArrayBuffer> | Uint16Array<ArrayBuffer>): Uint8Array =>
  new Uint8Array(buffer);

const BITS = new DataView(new ArrayBuffer(4));

/** The bits of the nearest bfloat16, ties to even. */
function toBfloat16(value: number): number {
  BITS.setFloat32(0, value);
  const bits = BITS.getUint32(0);
  if (Number.isNaN(value)) return 0x7fc0;
  return ((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16) & 0xffff;
}

/** The bits of the nearest float16, ties to even; beyond 65,504 infinity. */
function toFloat16(value: number): number {
  if (Number.isNaN(value)) return 0x7e00;
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const size = Math.abs(value);
  if (size >= 65_520) return sign | 0x7c00;
  if (size < 2 ** -14) return sign | toEven(size * 2 ** 24);
  const exponent = Math.floor(Math.log2(size));
  const fraction = toEven((size / 2 ** exponent - 1) * 1024);
  return sign + ((exponent + 15) << 10) + fraction;
}

function toEven(value: number): number {
  const low = Math.floor(value);
  const rest = value - low;
  return rest > 0.5 || (rest === 0.5 && low % 2 === 1) ? low + 1 : low;
}

/** A message whose fields are copied, but for those that `change` gives other bytes; it leaves out those that it gives null. */
export function rewritten(
  message: Uint8Array,
  change: (field: number, bytes: Uint8Array) => Uint8Array | null | undefined,
): Uint8Array<ArrayBuffer> {
  const reader = new MessageReader(message);
  const made = new ByteWriter();
  for (let from = reader.offset; reader.next(); from = reader.offset) {
    const changed = reader.isBytes ? change(reader.field, reader.bytes()) : undefined;
    if (changed === undefined) made.raw(message.subarray(from, reader.offset));
    else if (changed !== null) made.part(reader.field, changed);
  }
  return made.finish();
}
