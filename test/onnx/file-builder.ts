/** Builds ONNX files in the style of an exporter: its names of nodes and values, weights as initializers or `Constant` nodes, its operator set. */
import { ELEMENT_TYPES, type ElementType } from '../../src/adapters/onnx/file/onnx-format.ts';
import {
  nodeMessage,
  tensorMessage,
  valueInfoMessage,
  type Attributes,
} from '../../src/adapters/onnx/file/onnx-writer.ts';
import { ByteWriter } from '../../src/codecs/protobuf/writer.ts';

/** How an exporter names a node and its output: from the layer, the operator, and how many of these came before. */
export type NameStyle = (scope: string, op: string, count: number, total: number) => NodeNames;
type NodeNames = { readonly node: string; readonly output: string };

const numbered = (text: string, count: number): string => (count === 0 ? text : `${text}_${count}`);

/** `torch.onnx.export` of TorchScript. */
export const TORCH: NameStyle = (scope, op, count) => {
  const node = numbered(`${scope === '' ? '' : `/${scope}`}/${op}`, count);
  return { node, output: `${node}_output_0` };
};
/** `torch.onnx.export(dynamo=True)`. */
export const DYNAMO: NameStyle = (_scope, op, _count, total) => ({
  node: `node_${op}_${total}`,
  output: `val_${total}`,
});
/** `tf2onnx`: outputs of TensorFlow end with `:0`. */
export const TENSORFLOW: NameStyle = (scope, op, count) => {
  const node = numbered(`StatefulPartitionedCall/${scope}/${op}`, count);
  return { node, output: `${node}:0` };
};
/** `keras2onnx`. */
export const KERAS: NameStyle = (scope, op, count) => ({
  node: numbered(`${scope}_${op}`, count),
  output: numbered(`${scope}_${op.toLowerCase()}0`, count),
});
/** CNTK. */
export const CNTK: NameStyle = (_scope, op, _count, total) => ({
  node: `${op}${total}`,
  output: `${op}${total}_Output_0`,
});
/** PaddlePaddle: `paddle2onnx`. */
export const PADDLE: NameStyle = (_scope, op, _count, total) => ({
  node: `p2o.${op}.${total}`,
  output: `${op.toLowerCase()}_${total}.tmp_0`,
});
/** MXNet: nodes are named, and so are their outputs. */
export const MXNET: NameStyle = (scope, op, count) => {
  const node = numbered(`${scope}_${op.toLowerCase()}_fwd`, count);
  return { node, output: node };
};
/** `skl2onnx`: nodes are numbered, outputs say what they are. */
export const SKLEARN: NameStyle = (_scope, op, count) => ({
  node: numbered(`N${op}`, count),
  output: numbered(`${op.toLowerCase()}_result`, count),
});

/** Numbers from -1 to 1 that follow from a name. */
export function numbersOf(name: string, count: number): Float32Array {
  let state = 2_166_136_261;
  for (const char of name) state = Math.imul(state ^ (char.codePointAt(0) ?? 0), 16_777_619);
  return Float32Array.from({ length: count }, () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 31 - 1;
  });
}

const countOf = (shape: readonly number[]): number => shape.reduce((all, n) => all * n, 1);

/** What an initializer is besides its name and shape. */
export type WeightOptions = {
  /** Largest number; that of He's initialisation by default. */
  readonly scale?: number;
  /** Added to all numbers. */
  readonly shift?: number;
  readonly type?: 'float32' | 'float16' | 'bfloat16';
  /** Whether it is a `Constant` node. */
  readonly isNode?: boolean;
};

/** Where a file comes from. */
export type FileOptions = {
  readonly opset: number;
  readonly style: NameStyle;
  readonly producer: string;
  readonly irVersion?: number;
};

/** A file under construction. Methods that add a node return the name of its output. */
export class FileBuilder {
  readonly #graph = new ByteWriter();
  readonly #initializers = new ByteWriter();
  readonly #ends = new ByteWriter();
  readonly #options: FileOptions;
  readonly #counts = new Map<string, number>();
  readonly #known = new Set<string>();
  #total = 0;
  #scope = '';

  constructor(options: FileOptions) {
    this.#options = options;
  }

  get opset(): number {
    return this.#options.opset;
  }

  /** The layer that is written from now on. */
  at(scope: string): this {
    this.#scope = scope;
    return this;
  }

  input(name: string, shape: readonly (number | string)[], type: ElementType = 'float32'): string {
    this.#ends.part(11, valueInfoMessage(name, type, shape));
    return name;
  }

  output(
    name: string,
    shape: readonly (number | string | null)[],
    type: ElementType = 'float32',
  ): void {
    this.#ends.part(12, valueInfoMessage(name, type, shape));
  }

  /** A node with one output, named in the style of the exporter unless `output` says otherwise. */
  op(
    opType: string,
    inputs: readonly string[],
    attributes: Attributes = {},
    output?: string,
  ): string {
    const [name = ''] = this.ops(opType, inputs, [output ?? null], attributes);
    return name;
  }

  /** A node with several outputs: null is named in the style of the exporter, empty text is left out. */
  ops(
    opType: string,
    inputs: readonly string[],
    outputs: readonly (string | null)[],
    attributes: Attributes = {},
    domain = '',
  ): string[] {
    const made = this.#names(opType);
    const names = outputs.map((name, i) => name ?? (i === 0 ? made.output : `${made.output}.${i}`));
    const node = nodeMessage(opType, inputs, names, attributes, made.node);
    this.#graph.part(1, domain === '' ? node : node.text(7, domain));
    return names;
  }

  /** A float initializer, or a `Constant` node, with numbers that follow from its name. */
  weight(name: string, shape: readonly number[], options: WeightOptions = {}): string {
    const fanIn = shape.length > 1 ? countOf(shape) / (shape[0] ?? 1) : 1;
    const { scale = shape.length > 1 ? Math.sqrt(3 / fanIn) : 0.1, shift = 0 } = options;
    const data = numbersOf(name, countOf(shape)).map((x) => x * scale + shift);
    return this.floats(name, data, shape, options);
  }

  floats(
    name: string,
    data: ArrayLike<number>,
    shape: readonly number[],
    { type = 'float32', isNode = false }: WeightOptions = {},
  ): string {
    if (this.#known.has(name)) return name;
    this.#known.add(name);
    const numbers = Float32Array.from(data);
    const tensor =
      type === 'float32'
        ? tensorMessage(name, numbers, shape)
        : shortTensor(name, numbers, shape, type);
    return this.#tensor(name, tensor, isNode);
  }

  /** Whole numbers; a `Constant` node where `isNode`, as TorchScript writes them. */
  ints(name: string, values: readonly number[], shape?: readonly number[], isNode = false): string {
    if (this.#known.has(name)) return name;
    this.#known.add(name);
    const data = BigInt64Array.from(values, BigInt);
    return this.#tensor(name, tensorMessage(name, data, shape ?? [values.length]), isNode);
  }

  bools(name: string, values: readonly number[], shape: readonly number[]): string {
    return this.#tensor(name, tensorMessage(name, Uint8Array.from(values), shape), false);
  }

  /** An initializer of another type. */
  raw(name: string, type: ElementType, bytes: Uint8Array, shape: readonly number[]): string {
    return this.#tensor(name, rawTensor(name, type, bytes, shape), false);
  }

  /** A `Constant` node of whole numbers, named as the exporter does. */
  constantInts(values: readonly number[], shape?: readonly number[]): string {
    const { output } = this.#names('Constant');
    return this.ints(output, values, shape, true);
  }

  /** A `Constant` node of a number. */
  constantFloat(value: number, shape: readonly number[] = []): string {
    const { output } = this.#names('Constant');
    return this.floats(
      output,
      Array.from({ length: countOf(shape) }, () => value),
      shape,
      {
        isNode: true,
      },
    );
  }

  /** An attribute of a tensor, as ConstantOfShape has one. */
  opWithTensor(
    opType: string,
    inputs: readonly string[],
    value: number,
    type: 'float32' | 'int64',
  ): string {
    const made = this.#names(opType);
    const tensor =
      type === 'float32'
        ? tensorMessage('value', Float32Array.of(value), [1])
        : tensorMessage('value', BigInt64Array.of(BigInt(value)), [1]);
    const node = nodeMessage(opType, inputs, [made.output], {}, made.node);
    this.#graph.part(1, node.part(5, tensorAttribute('value', tensor)));
    return made.output;
  }

  /** The graph as that of a node. */
  body(): { readonly graph: ByteWriter } {
    return { graph: this.#whole() };
  }

  finish(domains: Readonly<Record<string, number>> = {}): Uint8Array<ArrayBuffer> {
    const { opset, producer, irVersion = opset < 9 ? 3 : opset < 15 ? 6 : 8 } = this.#options;
    const model = new ByteWriter()
      .integer(1, irVersion)
      .text(2, producer)
      .text(3, '1.0')
      .part(7, this.#whole())
      .part(8, new ByteWriter().text(1, '').integer(2, opset));
    for (const [domain, version] of Object.entries(domains))
      model.part(8, new ByteWriter().text(1, domain).integer(2, version));
    return model.part(14, new ByteWriter().text(1, 'made_by').text(2, producer)).finish();
  }

  #whole(): ByteWriter {
    return new ByteWriter()
      .raw(this.#graph.bytes)
      .text(2, 'main_graph')
      .raw(this.#initializers.bytes)
      .raw(this.#ends.bytes);
  }

  #tensor(name: string, tensor: ByteWriter, isNode: boolean): string {
    this.#known.add(name);
    if (!isNode) this.#initializers.part(5, tensor);
    else
      this.#graph.part(
        1,
        nodeMessage('Constant', [], [name], {}, `${name}_node`).part(
          5,
          tensorAttribute('value', tensor),
        ),
      );
    return name;
  }

  #names(op: string): NodeNames {
    const key = `${this.#scope}/${op}`;
    const count = this.#counts.get(key) ?? 0;
    this.#counts.set(key, count + 1);
    this.#total += 1;
    return this.#options.style(this.#scope, op, count, this.#total);
  }
}

/** ONNX's kind of an attribute that is a tensor. */
const TENSOR_ATTRIBUTE = 4;

const tensorAttribute = (name: string, tensor: ByteWriter): ByteWriter =>
  new ByteWriter().text(1, name).part(5, tensor).integer(20, TENSOR_ATTRIBUTE);

function rawTensor(
  name: string,
  type: ElementType,
  bytes: Uint8Array,
  shape: readonly number[],
): ByteWriter {
  const message = new ByteWriter();
  for (const size of shape) message.integer(1, size);
  return message.integer(2, ELEMENT_TYPES[type]).text(8, name).part(9, bytes);
}

const BITS = new DataView(new ArrayBuffer(4));

/** The upper half of the bits of a float32. */
function bfloat16(value: number): number {
  BITS.setFloat32(0, value);
  return BITS.getUint16(0);
}

/** For numbers of 2^-14 to 65,504 and 0. */
function float16(value: number): number {
  const size = Math.abs(value);
  if (size < 2 ** -14) return 0;
  const exponent = Math.floor(Math.log2(size));
  const fraction = Math.floor((size / 2 ** exponent - 1) * 1024);
  return (value < 0 ? 0x8000 : 0) | ((exponent + 15) << 10) | fraction;
}

function shortTensor(
  name: string,
  data: Float32Array,
  shape: readonly number[],
  type: 'float16' | 'bfloat16',
): ByteWriter {
  const bits = Uint16Array.from(data, type === 'float16' ? float16 : bfloat16);
  return rawTensor(name, type, new Uint8Array(bits.buffer), shape);
}
