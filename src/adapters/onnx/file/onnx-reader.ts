/**
 * Reads the skeleton of an ONNX file: nodes, names, types and shapes, without touching the weights' numbers. A field
 * that occurs twice is merged, as protocol buffers demand; that is what instrumenting relies on.
 */
import { invalidInput, QuarkError } from '../../../base/errors.ts';
import {
  ATTRIBUTE_FLOAT,
  ATTRIBUTE_FLOATS,
  ATTRIBUTE_INT,
  ATTRIBUTE_INTS,
  ATTRIBUTE_STRING,
  ATTRIBUTE_STRINGS,
  ATTRIBUTE_TENSOR,
  ELEMENT_BYTES,
  elementTypeOf,
  MAX_LIST_LENGTH,
  MAX_MODEL_BYTES,
  MAX_NAME_BYTES,
  MAX_NODES,
  MAX_RANK,
  MAX_VALUES,
  type ElementType,
  type OnnxAttribute,
  type OnnxDimension,
  type OnnxModelFile,
  type OnnxNode,
  type OnnxTensor,
  type OnnxValueInfo,
} from './onnx-format.ts';
import { damagedModel, MessageReader } from './message-reader.ts';

/**
 * Reads a model. The result holds views of `bytes`.
 *
 * @throws {QuarkError} `invalid_input` for bytes that are no complete ONNX file or exceed a limit, `unsupported` for
 * onnxruntime's own format (`.ort`)
 */
export function readOnnxModel(bytes: Uint8Array): OnnxModelFile {
  checkModelBytes(bytes);
  const found = new FoundModel();
  const model = new MessageReader(bytes);
  while (model.next()) {
    if (model.field === 1) found.irVersion = model.integer();
    else if (model.field === 7) found.readGraph(model.message());
    else if (model.field === 8) found.readOpset(model.message());
    else if (model.field === 25) found.readFunction(model.message());
  }
  return found.finish(bytes.length);
}

/** The checks that need no reading. @throws {QuarkError} `invalid_input`, or `unsupported` for an `.ort` file */
function checkModelBytes(bytes: unknown): asserts bytes is Uint8Array {
  if (!(bytes instanceof Uint8Array))
    throw invalidInput('model', bytes, 'the bytes of an ONNX file, as a Uint8Array');
  if (bytes.length === 0) throw damagedModel('the file ends', 0);
  if (bytes.length > MAX_MODEL_BYTES)
    throw invalidInput('model', bytes.length, `at most ${MAX_MODEL_BYTES} bytes long`);
  // The identifier of a FlatBuffers file stands behind the offset of its root.
  if (bytes.length >= 8 && new TextDecoder().decode(bytes.subarray(4, 8)) === 'ORTM') {
    throw new QuarkError(
      'unsupported',
      'This is an .ort file, which cannot be instrumented. Use the .onnx file it was made from.',
      { details: { field: 'model', reason: 'ort_format' } },
    );
  }
}

class FoundModel {
  irVersion = 0;
  #graphCount = 0;
  readonly #opsets = new Map<string, number>();
  readonly #nodes: OnnxNode[] = [];
  readonly #inputs: OnnxValueInfo[] = [];
  readonly #outputs: OnnxValueInfo[] = [];
  readonly #valueInfos = new Map<string, OnnxValueInfo>();
  readonly #initializers = new Map<string, OnnxTensor>();
  readonly #functions = new Set<string>();

  readOpset(reader: MessageReader): void {
    let domain = '';
    let version = 0;
    while (reader.next()) {
      if (reader.field === 1) domain = reader.text(MAX_NAME_BYTES);
      else if (reader.field === 2) version = reader.integer();
    }
    this.#opsets.set(ownDomain(domain), version);
  }

  readFunction(reader: MessageReader): void {
    let name = '';
    let domain = '';
    while (reader.next()) {
      if (reader.field === 1) name = reader.text(MAX_NAME_BYTES);
      else if (reader.field === 10) domain = reader.text(MAX_NAME_BYTES);
    }
    this.#functions.add(`${ownDomain(domain)}:${name}`);
  }

  readGraph(reader: MessageReader): void {
    this.#graphCount += 1;
    while (reader.next()) {
      switch (reader.field) {
        case 1:
          if (this.#nodes.push(readNode(reader.message())) > MAX_NODES)
            throw overLimit('nodes', MAX_NODES);
          break;
        case 5: {
          const tensor = readTensor(reader.bytes());
          this.#initializers.set(tensor.name, tensor);
          break;
        }
        case 11:
          this.#inputs.push(readValueInfo(reader.message()));
          break;
        case 12:
          this.#outputs.push(readValueInfo(reader.message()));
          break;
        case 13: {
          const info = readValueInfo(reader.message());
          this.#valueInfos.set(info.name, info);
          break;
        }
        default:
      }
    }
    const counts = [
      this.#initializers.size,
      this.#valueInfos.size,
      this.#inputs.length,
      this.#outputs.length,
    ];
    if (Math.max(...counts) > MAX_VALUES) throw overLimit('tensors', MAX_VALUES);
  }

  finish(length: number): OnnxModelFile {
    // A cut between two fields leaves a readable rest: exporters put the operator sets behind the graph.
    if (this.#graphCount === 0) throw damagedModel('the file ends without a graph', length);
    if (this.#opsets.size === 0)
      throw damagedModel('the file ends without its operator sets', length);
    if (this.#outputs.length === 0) throw damagedModel('the graph ends without outputs', length);
    return {
      irVersion: this.irVersion,
      opsets: this.#opsets,
      nodes: this.#nodes,
      inputs: this.#inputs,
      outputs: this.#outputs,
      valueInfos: this.#valueInfos,
      initializers: this.#initializers,
      functions: this.#functions,
    };
  }
}

const overLimit = (what: string, limit: number): QuarkError =>
  new QuarkError('invalid_input', `model must have at most ${limit} ${what}.`, {
    details: { field: 'model', rule: `at most ${limit} ${what}` },
  });

/** `ai.onnx` is another way to write the empty domain. */
const ownDomain = (domain: string): string => (domain === 'ai.onnx' ? '' : domain);

function readNode(reader: MessageReader): OnnxNode {
  const inputs: string[] = [];
  const outputs: string[] = [];
  const attributes = new Map<string, OnnxAttribute>();
  let name = '';
  let opType = '';
  let domain = '';
  let hasSubgraph = false;
  while (reader.next()) {
    if (reader.field === 1) inputs.push(reader.text(MAX_NAME_BYTES));
    else if (reader.field === 2) outputs.push(reader.text(MAX_NAME_BYTES));
    else if (reader.field === 3) name = reader.text(MAX_NAME_BYTES);
    else if (reader.field === 4) opType = reader.text(MAX_NAME_BYTES);
    else if (reader.field === 7) domain = reader.text(MAX_NAME_BYTES);
    else if (reader.field === 5) {
      const [attributeName, value] = readAttribute(reader.message());
      attributes.set(attributeName, value);
      hasSubgraph ||= value.kind === 'graph';
    }
  }
  return { name, opType, domain: ownDomain(domain), inputs, outputs, attributes, hasSubgraph };
}

function readAttribute(reader: MessageReader): [name: string, value: OnnxAttribute] {
  let name = '';
  let type = 0;
  let float = 0;
  let int = 0;
  let text = '';
  let tensor: OnnxTensor | undefined;
  let hasGraph = false;
  const ints: number[] = [];
  const floats: number[] = [];
  const strings: string[] = [];
  while (reader.next()) {
    const { field } = reader;
    if (field === 1) name = reader.text(MAX_NAME_BYTES);
    else if (field === 2) float = reader.float();
    else if (field === 3) int = reader.integer();
    else if (field === 4) text = shortText(reader);
    else if (field === 5) tensor = readTensor(reader.bytes());
    else if (field === 6 || field === 11) hasGraph = true;
    else if (field === 7) reader.floats(floats, MAX_LIST_LENGTH);
    else if (field === 8) reader.integers(ints, MAX_LIST_LENGTH);
    else if (field === 9 && strings.length < MAX_LIST_LENGTH) strings.push(shortText(reader));
    else if (field === 20) type = reader.integer();
  }
  if (hasGraph) return [name, { kind: 'graph' }];
  if (type === ATTRIBUTE_FLOAT) return [name, { kind: 'float', value: float }];
  if (type === ATTRIBUTE_INT) return [name, { kind: 'int', value: int }];
  if (type === ATTRIBUTE_STRING) return [name, { kind: 'string', value: text }];
  if (type === ATTRIBUTE_FLOATS) return [name, { kind: 'floats', value: floats }];
  if (type === ATTRIBUTE_INTS) return [name, { kind: 'ints', value: ints }];
  if (type === ATTRIBUTE_STRINGS) return [name, { kind: 'strings', value: strings }];
  if (type === ATTRIBUTE_TENSOR && tensor !== undefined)
    return [name, { kind: 'tensor', value: tensor }];
  return [name, { kind: 'other' }];
}

/** An attribute may hold a whole file as text; only names and modes are of interest. */
function shortText(reader: MessageReader): string {
  return reader.bytes().length > MAX_NAME_BYTES ? '' : reader.text(MAX_NAME_BYTES);
}

/** Reads a TensorProto. */
export function readTensor(message: Uint8Array): OnnxTensor {
  const reader = new MessageReader(message);
  const shape: number[] = [];
  let name = '';
  let elementType: ElementType | null = null;
  let isExternal = false;
  let rawData: Uint8Array | null = null;
  while (reader.next()) {
    if (reader.field === 1) reader.integers(shape, MAX_RANK);
    else if (reader.field === 2) elementType = elementTypeOf(reader.integer()) ?? null;
    else if (reader.field === 8) name = reader.text(MAX_NAME_BYTES);
    else if (reader.field === 9) rawData = reader.bytes();
    else if (reader.field === 14) isExternal = reader.integer() === 1;
  }
  return { name, elementType, shape, isExternal, rawData, message };
}

function readValueInfo(reader: MessageReader): OnnxValueInfo {
  let name = '';
  let type: Omit<OnnxValueInfo, 'name'> = { elementType: null, shape: null, isTensor: true };
  while (reader.next()) {
    if (reader.field === 1) name = reader.text(MAX_NAME_BYTES);
    else if (reader.field === 2) type = readType(reader.message());
  }
  return { name, ...type };
}

function readType(reader: MessageReader): Omit<OnnxValueInfo, 'name'> {
  let elementType: ElementType | null = null;
  let shape: OnnxDimension[] | null = null;
  let isTensor = true;
  while (reader.next()) {
    // 6 is the denotation, which says what a value means, not what it is.
    if (reader.field !== 1) {
      isTensor = isTensor && reader.field === 6;
      continue;
    }
    const tensor = reader.message();
    while (tensor.next()) {
      if (tensor.field === 1) elementType = elementTypeOf(tensor.integer()) ?? null;
      else if (tensor.field === 2) shape = readShape(tensor.message());
    }
  }
  return { elementType, shape, isTensor };
}

function readShape(reader: MessageReader): OnnxDimension[] {
  const shape: OnnxDimension[] = [];
  while (reader.next()) {
    if (reader.field !== 1) continue;
    let size: OnnxDimension = null;
    const dimension = reader.message();
    while (dimension.next()) {
      if (dimension.field === 1) size = dimension.integer();
      else if (dimension.field === 2) size = dimension.text(MAX_NAME_BYTES);
    }
    if (shape.push(size) > MAX_RANK)
      throw damagedModel('a shape has too many dimensions', reader.offset);
  }
  return shape;
}

/** Numbers that are listed one by one in a TensorProto, by the field that has them. */
const LISTED: Readonly<Partial<Record<ElementType, number>>> = {
  float32: 4,
  int32: 5,
  int64: 7,
  bool: 5,
  float16: 5,
  bfloat16: 5,
  float64: 10,
  int8: 5,
  uint8: 5,
  int16: 5,
  uint16: 5,
  uint32: 11,
};

/**
 * The numbers of a constant of any type but text and 64 bits without a sign, in row-major order.
 *
 * @throws {QuarkError} `unsupported` for other types and for numbers in another file, `invalid_input` when there are
 * fewer or more than the shape says
 */
export function tensorNumbers(tensor: OnnxTensor): number[] {
  const { elementType, name } = tensor;
  if (tensor.isExternal) {
    throw new QuarkError(
      'unsupported',
      `The numbers of "${name}" lie in another file. joinOnnxData(model, read) of quark-sdk/onnx gives a copy with all weights inside.`,
      { details: { field: 'model', tensor: name, reason: 'external_data' } },
    );
  }
  const field = elementType === null ? undefined : LISTED[elementType];
  if (elementType === null || field === undefined) {
    throw new QuarkError('unsupported', `"${name}" is of type ${elementType ?? 'unknown'}.`, {
      details: { field: 'model', tensor: name, reason: 'element_type' },
    });
  }
  const size = tensor.shape.reduce((product, length) => product * length, 1);
  const numbers =
    tensor.rawData === null
      ? listed(tensor.message, field, size).map((value) => ofBits(value, elementType))
      : raw(tensor.rawData, elementType);
  if (numbers.length !== size)
    throw invalidInput(`model: "${name}"`, numbers.length, `${size} numbers`);
  return numbers;
}

/** How a number is read. */
const RAW: Readonly<Partial<Record<ElementType, (view: DataView, at: number) => number>>> = {
  float32: (view, at) => view.getFloat32(at, true),
  float64: (view, at) => view.getFloat64(at, true),
  float16: (view, at) => float16(view.getUint16(at, true)),
  bfloat16: (view, at) => bfloat16(view.getUint16(at, true)),
  int8: (view, at) => view.getInt8(at),
  int16: (view, at) => view.getInt16(at, true),
  int32: (view, at) => view.getInt32(at, true),
  int64: (view, at) => Number(view.getBigInt64(at, true)),
  uint16: (view, at) => view.getUint16(at, true),
  uint32: (view, at) => view.getUint32(at, true),
};

function raw(bytes: Uint8Array, elementType: ElementType): number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const at = RAW[elementType] ?? ((from: DataView, i: number) => from.getUint8(i));
  const width = ELEMENT_BYTES[elementType] || 1;
  return Array.from({ length: Math.floor(bytes.length / width) }, (_, i) => at(view, i * width));
}

/** IEEE 754 binary16, from its bits. */
function float16(bits: number): number {
  const [sign, exponent, fraction] = [bits >> 15, (bits >> 10) & 31, bits & 1023];
  const size =
    exponent === 0
      ? fraction * 2 ** -24
      : exponent === 31
        ? fraction === 0
          ? Infinity
          : Number.NaN
        : (1 + fraction / 1024) * 2 ** (exponent - 15);
  return sign === 1 ? -size : size;
}

const BITS = new DataView(new ArrayBuffer(4));

/** The upper half of a float32, from its bits. */
function bfloat16(bits: number): number {
  BITS.setUint16(0, bits);
  BITS.setUint16(2, 0);
  return BITS.getFloat32(0);
}

/** Listed numbers of 16 bits are whole numbers: their bits. */
function ofBits(value: number, elementType: ElementType): number {
  if (elementType === 'float16') return float16(value);
  return elementType === 'bfloat16' ? bfloat16(value) : value;
}

function listed(message: Uint8Array, field: number, size: number): number[] {
  const numbers: number[] = [];
  const reader = new MessageReader(message);
  while (reader.next()) {
    if (reader.field !== field) continue;
    if (field === 4) reader.floats(numbers, size);
    else if (field === 10) reader.doubles(numbers, size);
    else reader.integers(numbers, size);
  }
  return numbers;
}
