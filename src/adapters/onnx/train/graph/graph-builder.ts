/**
 * Builds an ONNX graph (operator set 17) node by node and knows the shape of every value. Sizes that are not known
 * before a run, as that of a batch, are symbols.
 */
import { invalidInput, QuarkError } from '../../../../base/errors.ts';
import type { ElementType } from '../../file/onnx-format.ts';
import {
  modelBytes,
  nodeMessage,
  tensorMessage,
  valueInfoMessage,
  type Attributes,
} from '../../file/onnx-writer.ts';
import { ByteWriter } from '../../../../codecs/protobuf/writer.ts';

/** Operator set of every graph that is built here, and the file version that goes with it. */
export const OPSET = 17;
const IR_VERSION = 8;

/** Sizes and symbols, row-major. */
export type TensorShape = readonly (number | string)[];

/** ONNX's number for float32 in Cast. */
const FLOAT = 1;

/** What a value of the graph is. */
export type GraphValue = { readonly type: ElementType; readonly shape: TensorShape };

/** Number of elements; undefined when a size is a symbol. */
export function elementCount(shape: TensorShape): number | undefined {
  let size = 1;
  for (const length of shape) {
    if (typeof length === 'string') return undefined;
    size *= length;
  }
  return size;
}

/** The shape of two values that meet in an elementwise operation. @throws {QuarkError} `invalid_input` */
export function broadcastShape(a: TensorShape, b: TensorShape): TensorShape {
  const rank = Math.max(a.length, b.length);
  return Array.from({ length: rank }, (_, i) => {
    const x = a[a.length - rank + i] ?? 1;
    const y = b[b.length - rank + i] ?? 1;
    if (x === y || y === 1) return x;
    if (x === 1) return y;
    throw invalidInput('shape', [a, b], 'two shapes that broadcast to one');
  });
}

/** `-1` and such count from the end. @throws {QuarkError} `invalid_input` */
export function axisFromEnd(axis: number, rank: number): number {
  const at = axis < 0 ? axis + rank : axis;
  if (!Number.isInteger(at) || at < 0 || at >= rank)
    throw invalidInput('axis', axis, `an axis of a tensor of ${rank} dimensions`);
  return at;
}

/** The output of a node: its name, a fresh one unless given, and its type, float32 unless given. */
type MadeValue = { readonly output?: string | undefined; readonly type?: ElementType };

/** A graph under construction. Methods that emit a node return the name of its output. */
export class GraphBuilder {
  readonly #graph = new ByteWriter();
  readonly #values = new Map<string, GraphValue>();
  readonly #constants = new Map<string, string>();
  readonly #outputs = new Set<string>();
  /** Where each symbol can be read from at run time. */
  readonly #symbols = new Map<string, { readonly value: string; readonly axis: number }>();
  readonly #produced = new Set<string>();
  readonly #reserved: ReadonlySet<string>;
  readonly #prefix: string;
  #count = 0;

  /**
   * @param reserved names that values will have later on, so that {@link fresh} leaves them alone
   * @param prefix what fresh names begin with: one of its own for a graph inside another, whose names are seen in both
   */
  constructor(name: string, reserved: Iterable<string> = [], prefix = 'quark/') {
    this.#graph.text(2, name);
    this.#reserved = new Set(reserved);
    this.#prefix = prefix;
  }

  /** A name that no value has. */
  fresh(hint: string): string {
    let name: string;
    do name = `${this.#prefix}${hint}_${this.#count++}`;
    while (this.#values.has(name) || this.#reserved.has(name));
    return name;
  }

  value(name: string): GraphValue {
    const value = this.#values.get(name);
    if (value === undefined) throw invalidInput('value', name, 'the name of a value of the graph');
    return value;
  }

  shape(name: string): TensorShape {
    return this.value(name).shape;
  }

  type(name: string): ElementType {
    return this.value(name).type;
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }

  input(name: string, type: ElementType, shape: TensorShape): string {
    this.#define(name, { type, shape });
    this.#graph.part(11, valueInfoMessage(name, type, shape));
    for (const [axis, size] of shape.entries())
      if (typeof size === 'string' && !this.#symbols.has(size))
        this.#symbols.set(size, { value: name, axis });
    return name;
  }

  /** Makes a value of the graph around this one known here. */
  outer(name: string, value: GraphValue): void {
    if (!this.#values.has(name)) this.#define(name, value);
  }

  /** Declares a value an output; returns the output's name, another one when the value is an input or a constant. */
  output(name: string): string {
    const { type, shape } = this.value(name);
    const made = this.#produced.has(name) ? name : this.op('Identity', [name], shape);
    if (!this.#outputs.has(made)) {
      this.#outputs.add(made);
      this.#graph.part(12, valueInfoMessage(made, type, shape));
    }
    return made;
  }

  /** A node with one output; its name is returned. */
  op(
    opType: string,
    inputs: readonly string[],
    shape: TensorShape,
    attributes: Attributes = {},
    { output = this.fresh(opType), type = 'float32' }: MadeValue = {},
  ): string {
    this.ops(opType, inputs, [[output, { type, shape }]], attributes);
    return output;
  }

  /** A node with several outputs. */
  ops(
    opType: string,
    inputs: readonly string[],
    outputs: readonly (readonly [name: string, value: GraphValue])[],
    attributes: Attributes = {},
  ): void {
    for (const [name, value] of outputs) {
      this.#define(name, value);
      this.#produced.add(name);
    }
    const names = outputs.map(([name]) => name);
    this.#graph.part(1, nodeMessage(opType, inputs, names, attributes));
  }

  /** A constant of float32. */
  floats(
    data: Float32Array,
    shape: readonly number[],
    name: string = this.fresh('constant'),
  ): string {
    this.#define(name, { type: 'float32', shape });
    this.#graph.part(5, tensorMessage(name, data.slice(), shape));
    return name;
  }

  scalar(value: number): string {
    return this.#constant(`float ${value}`, () => this.floats(Float32Array.of(value), []));
  }

  /** A constant list of int64, as axes and shapes are given. */
  integers(values: readonly number[]): string {
    return this.#constant(`ints ${values.join()}`, () => this.longs(values, [values.length]));
  }

  /** A constant of int64. */
  longs(
    values: readonly number[],
    shape: readonly number[],
    name: string = this.fresh('ints'),
  ): string {
    this.#define(name, { type: 'int64', shape });
    this.#graph.part(5, tensorMessage(name, BigInt64Array.from(values, BigInt), shape));
    return name;
  }

  /** A constant list of int32. */
  int32s(
    values: readonly number[],
    shape: readonly number[],
    name: string = this.fresh('int32s'),
  ): string {
    this.#define(name, { type: 'int32', shape });
    this.#graph.part(5, tensorMessage(name, Int32Array.from(values), shape));
    return name;
  }

  /** A constant of booleans, 0 or 1. */
  booleans(values: readonly number[], shape: readonly number[], name: string): string {
    this.#define(name, { type: 'bool', shape });
    this.#graph.part(
      5,
      tensorMessage(
        name,
        Uint8Array.from(values, (value) => Number(value !== 0)),
        shape,
      ),
    );
    return name;
  }

  /** Add, Sub, Mul, Div and the like, with broadcasting: of the type of `a`. */
  binary(opType: string, a: string, b: string, output?: string): string {
    const shape = broadcastShape(this.shape(a), this.shape(b));
    return this.op(opType, [a, b], shape, {}, { output, type: this.type(a) });
  }

  /** `a` where a condition is true, `b` elsewhere. */
  where(condition: string, a: string, b: string, output?: string): string {
    const shape = broadcastShape(
      broadcastShape(this.shape(condition), this.shape(a)),
      this.shape(b),
    );
    return this.op('Where', [condition, a, b], shape, {}, { output, type: this.type(a) });
  }

  /** Greater, Equal and the like, with broadcasting: booleans. */
  compare(opType: string, a: string, b: string, output?: string): string {
    const shape = broadcastShape(this.shape(a), this.shape(b));
    return this.op(opType, [a, b], shape, {}, { output, type: 'bool' });
  }

  add = (a: string, b: string): string => this.binary('Add', a, b);
  sub = (a: string, b: string): string => this.binary('Sub', a, b);
  mul = (a: string, b: string): string => this.binary('Mul', a, b);
  div = (a: string, b: string): string => this.binary('Div', a, b);
  scale = (a: string, factor: number): string =>
    factor === 1 ? a : this.mul(a, this.scalar(factor));

  /** An operator that keeps the shape. */
  unary(opType: string, a: string, attributes: Attributes = {}, output?: string): string {
    return this.op(opType, [a], this.shape(a), attributes, { output, type: this.type(a) });
  }

  /** 1 where `a` is greater than `b`, 0 elsewhere. */
  greater(a: string, b: string): string {
    return this.toFloat(this.compare('Greater', a, b));
  }

  toFloat(a: string): string {
    return this.op('Cast', [a], this.shape(a), { to: FLOAT });
  }

  reduce(
    opType: string,
    a: string,
    axes: readonly number[],
    keepdims: boolean,
    output?: string,
  ): string {
    const from = this.shape(a);
    const shape = keepdims
      ? from.map((size, axis) => (axes.includes(axis) ? 1 : size))
      : from.filter((_, axis) => !axes.includes(axis));
    const keep = { keepdims: keepdims ? 1 : 0 };
    // The others take their axes as an input from operator set 18 on, ReduceSum from 13 on.
    return opType === 'ReduceSum'
      ? this.op(opType, [a, this.integers(axes)], shape, keep, { output, type: this.type(a) })
      : this.op(opType, [a], shape, { ...keep, axes }, { output, type: this.type(a) });
  }

  transpose(a: string, order: readonly number[], output?: string): string {
    const from = this.shape(a);
    return this.op(
      'Transpose',
      [a],
      order.map((axis) => from[axis] ?? 1),
      { perm: order },
      { output, type: this.type(a) },
    );
  }

  reshape(a: string, shape: TensorShape, output?: string): string {
    return this.op(
      'Reshape',
      [a, this.shapeTensor(shape)],
      shape,
      {},
      { output, type: this.value(a).type },
    );
  }

  /** Sums a gradient down to the shape of what was broadcast. */
  sumTo(a: string, shape: TensorShape): string {
    const from = this.shape(a);
    const extra = from.length - shape.length;
    const axes = from.flatMap((size, axis) =>
      axis < extra || (shape[axis - extra] === 1 && size !== 1) ? [axis] : [],
    );
    if (axes.length === 0) return a;
    const summed = this.reduce('ReduceSum', a, axes, true);
    return extra === 0 ? summed : this.reshape(summed, shape);
  }

  /** Repeats a value along the axes where it has size 1, to the shape of `like`. */
  expandLike(a: string, like: string): string {
    return this.op('Expand', [a, this.shapeOf(like)], this.shape(like), {}, { type: this.type(a) });
  }

  /** Zeros of the shape of `like`. */
  zerosLike(like: string): string {
    return this.op('ConstantOfShape', [this.shapeOf(like)], this.shape(like));
  }

  /** One size of a value as a list of one int64: a constant where it is known. */
  sizeAt(a: string, axis: number): string {
    const size = this.shape(a)[axis];
    if (typeof size === 'number') return this.integers([size]);
    return this.op(
      'Gather',
      [this.shapeOf(a), this.integers([axis])],
      [1],
      { axis: 0 },
      { type: 'int64' },
    );
  }

  /** The shape of a value at run time. */
  shapeOf(a: string): string {
    const size = elementCount(this.shape(a));
    if (size !== undefined) return this.integers(this.shape(a).map(Number));
    return this.op('Shape', [a], [this.shape(a).length], {}, { type: 'int64' });
  }

  /** How many elements of `a` there are for each of `b`: a scalar. */
  countRatio(a: string, b: string): string {
    const [of, over] = [elementCount(this.shape(a)), elementCount(this.shape(b))];
    if (of !== undefined && over !== undefined) return this.scalar(of / over);
    const count = (name: string): string =>
      this.toFloat(this.op('Size', [name], [], {}, { type: 'int64' }));
    return this.div(count(a), count(b));
  }

  /** A shape as a tensor. One size that is unknown is left to Reshape; more are read from the inputs that have them. */
  shapeTensor(shape: TensorShape): string {
    const unknown = shape.filter((size) => typeof size === 'string');
    if (unknown.length <= 1)
      return this.integers(shape.map((size) => (typeof size === 'string' ? -1 : size)));
    const parts = shape.map((size) => {
      if (typeof size === 'number') return this.integers([size]);
      const source = this.#symbols.get(size);
      if (source === undefined) return this.integers([-1]);
      return this.sizeAt(source.value, source.axis);
    });
    return this.concat(parts, 'int64');
  }

  /** A shape as a tensor with every size in it: those that a run decides are read from the inputs that have them. */
  exactShape(shape: TensorShape): string {
    return this.concat(
      shape.map((size) => this.sizeOf(size)),
      'int64',
    );
  }

  /** A size, or a product of sizes, as a list of one int64. @throws {QuarkError} `unsupported` when no input has it */
  sizeOf(size: number | string): string {
    if (typeof size === 'number') return this.integers([size]);
    const factors = size.split('*').map((factor) => {
      const source = this.#symbols.get(factor);
      if (source !== undefined) return this.sizeAt(source.value, source.axis);
      if (/^\d+$/.test(factor)) return this.integers([Number(factor)]);
      throw new QuarkError('unsupported', `No input has the size "${size}".`, {
        details: { field: 'model', value: size, reason: 'unknown_size' },
      });
    });
    return factors.reduce((all, factor) => this.binary('Mul', all, factor));
  }

  /** One-dimensional values one after the other. A WebGPU shader binds few buffers: never more than six at a time. */
  concat(parts: readonly string[], type: ElementType = 'float32', axis = 0): string {
    let level = [...parts];
    while (level.length > 1) {
      const next: string[] = [];
      for (let at = 0; at < level.length; at += MAX_CONCAT_INPUTS) {
        const group = level.slice(at, at + MAX_CONCAT_INPUTS);
        const [first = ''] = group;
        const sizes = group.map((name) => this.shape(name)[axis]);
        const total = sizes.every((size) => typeof size === 'number')
          ? sizes.reduce((sum, size) => sum + size, 0)
          : sizes.join('+');
        const shape = this.shape(first).map((size, at_) => (at_ === axis ? total : size));
        next.push(group.length === 1 ? first : this.op('Concat', group, shape, { axis }, { type }));
      }
      level = next;
    }
    return level[0] ?? '';
  }

  /** The graph as the attribute of a node of another graph. */
  body(): { readonly graph: ByteWriter } {
    return { graph: this.#graph };
  }

  finish(): Uint8Array<ArrayBuffer> {
    return modelBytes(this.#graph, OPSET, IR_VERSION);
  }

  #constant(key: string, make: () => string): string {
    const known = this.#constants.get(key);
    if (known !== undefined) return known;
    const name = make();
    this.#constants.set(key, name);
    return name;
  }

  #define(name: string, value: GraphValue): void {
    if (name === '' || this.#values.has(name))
      throw invalidInput('value', name, 'a name that is not taken');
    this.#values.set(name, value);
  }
}

/** WebGPU guarantees eight storage buffers to a shader, of which the output takes one. */
const MAX_CONCAT_INPUTS = 6;
