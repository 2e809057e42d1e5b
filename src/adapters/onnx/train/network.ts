/** A network as the training graph is made from it: operations in order, parameters, and where its layers end. */
import { invalidInput, QuarkError } from '../../../base/errors.ts';
import type { ParameterRole } from '../../../records/literals.ts';
import type { GraphBuilder, TensorShape } from './graph/graph-builder.ts';
import type { ElementType } from '../file/onnx-format.ts';
import type { ForwardNode, GraphMode, OpRuleContext } from './graph/op-rule.ts';
import { Tape } from './graph/tape.ts';
import { OPERATOR_RULES } from './rules/all.ts';
import { sizesOfNode, type SizeValue } from './graph/size-ops.ts';

/** An input of the network or a target of its loss. */
export type NetworkInput = {
  readonly name: string;
  readonly type: ElementType;
  /** Sizes, and names of sizes that a run decides. */
  readonly shape: TensorShape;
};

/** Weights that training changes, or that stay as they are. */
export type NetworkParameter = {
  readonly name: string;
  /** The layer it belongs to. */
  readonly layerName: string;
  readonly role: ParameterRole;
  readonly shape: readonly number[];
  /** Values to begin with, row-major. */
  readonly initial: Float32Array;
  /** False for frozen ones. */
  readonly isTrainable: boolean;
};

/** A running mean or variance: no gradient changes it, but each training step does. */
export type NetworkState = {
  readonly name: string;
  readonly layerName: string;
  readonly shape: readonly number[];
  readonly initial: Float32Array;
};

/** A layer and the value it ends with. */
export type NetworkLayer = {
  readonly name: string;
  readonly type: string;
  readonly output: string;
};

/** A constant of the network: shapes, axes, bounds, and numbers that no training changes. */
export type NetworkConstant = {
  readonly name: string;
  readonly type: ElementType;
  readonly shape: readonly number[];
  readonly data: readonly number[];
};

/** An input that a run fills with noise, as dropout does: 0 with the probability `rate`, 1 / (1 - rate) elsewhere. */
export type NetworkNoise = {
  readonly name: string;
  readonly shape: TensorShape;
  readonly rate: number;
};

/** A network without its loss. */
export type Network = {
  readonly inputs: readonly NetworkInput[];
  /** The value the loss is computed from. */
  readonly output: string;
  readonly nodes: readonly ForwardNode[];
  readonly layers: readonly NetworkLayer[];
  readonly parameters: readonly NetworkParameter[];
  readonly state: readonly NetworkState[];
  readonly constants: readonly NetworkConstant[];
};

/** Operators that can be trained through. */
export const TRAINABLE_OPS: readonly string[] = Object.keys(OPERATOR_RULES).sort();

/** The forward pass of a network in a graph, ready for gradients. */
export class EmittedNetwork {
  readonly #g: GraphBuilder;
  readonly #context: OpRuleContext;
  readonly #constants: ReadonlyMap<string, NetworkConstant>;
  /** Sizes that were computed from shapes. */
  readonly #sizes = new Map<string, SizeValue>();
  readonly #tape: Tape;
  /** Inputs that a run fills with noise. */
  readonly noise: NetworkNoise[] = [];
  /** New values of running means and variances, by the name of the state. */
  readonly stateUpdates = new Map<string, string>();

  constructor(g: GraphBuilder, network: Network, mode: GraphMode) {
    this.#g = g;
    this.#constants = new Map(network.constants.map((constant) => [constant.name, constant]));
    this.#context = {
      g,
      mode,
      constant: (name) => {
        const constant = this.#context.constantOrNone(name);
        if (constant === undefined) throw notConstant(name);
        return constant;
      },
      constantOrNone: (name) => this.#constants.get(name)?.data ?? numbersOf(this.#sizes.get(name)),
      sizes: (name) => this.#sizesOf(name)?.values ?? this.#context.constant(name),
      setState: (name, updated) => this.stateUpdates.set(name, updated),
      noise: (like, rate) => this.#addNoise(like, rate),
    };
    this.#tape = new Tape(
      this.#context,
      OPERATOR_RULES,
      network.parameters.flatMap(({ name, isTrainable }) => (isTrainable ? [name] : [])),
    );
    for (const node of network.nodes) this.emit(node);
  }

  /** Emits one more operation. */
  emit(node: ForwardNode): void {
    const sizes = sizesOfNode(node, {
      shapeOf: (name) => (this.#g.has(name) ? this.#g.shape(name) : undefined),
      sizesOf: (name) => this.#sizesOf(name),
    });
    if (sizes !== undefined) {
      this.#sizes.set(node.output, sizes);
      return;
    }
    if (!this.#tape.knows(node.op)) {
      throw new QuarkError(
        'unsupported',
        `${node.op} "${node.output}" cannot be trained through. ${wayOut(node.op)}`,
        { details: { field: 'model', layer: node.output, op: node.op, reason: 'operator' } },
      );
    }
    for (const [index, name] of node.inputs.entries())
      if (!ALL_SETTINGS.has(node.op) && (index === 0 || !SETTING_OPS.has(node.op)))
        this.#declare(name);
    this.#tape.emit(node);
  }

  /**
   * Emits the gradients of `loss`, a scalar, with respect to every value on the way to a trained parameter. The result
   * has the parameters' and the layers' outputs by name.
   */
  gradients(loss: string): Map<string, string> {
    return this.#tape.gradients(new Map([[loss, this.#g.scalar(1)]]));
  }

  #addNoise(like: string, rate: number): string {
    const shape = this.#g.shape(like);
    const name = this.#g.input(this.#g.fresh('noise'), 'float32', shape);
    this.noise.push({ name, shape, rate });
    return name;
  }

  #sizesOf(name: string): SizeValue | undefined {
    const known = this.#sizes.get(name);
    const constant = this.#constants.get(name);
    if (known !== undefined || constant === undefined) return known;
    const { type, shape, data } = constant;
    if (shape.length > 1 || (type !== 'int64' && shape.length > 0)) return undefined;
    if (type !== 'int64' && type !== 'float32') return undefined;
    return { values: data, rank: shape.length === 0 ? 0 : 1, type };
  }

  /** Adds a constant to the graph when something needs it: one that nothing needs makes onnxruntime complain. */
  #declare(name: string): void {
    if (name === '' || this.#g.has(name)) return;
    const sizes = this.#sizes.get(name);
    if (sizes !== undefined) return this.#declareSizes(name, sizes);
    const constant = this.#constants.get(name);
    if (constant === undefined) throw notComputed(name);
    const { type, shape, data } = constant;
    if (type === 'int64') this.#g.longs(data, shape, name);
    else if (type === 'int32') this.#g.int32s(data, shape, name);
    else if (type === 'bool') this.#g.booleans(data, shape, name);
    else this.#g.floats(Float32Array.from(data), shape, name);
  }

  /** Sizes that an operator needs as a tensor: as the scale of attention, or the length of positions. */
  #declareSizes(name: string, { values, rank, type }: SizeValue): void {
    const g = this.#g;
    const numbers = values.filter((size) => typeof size === 'number');
    const shape = rank === 0 ? [] : [values.length];
    if (numbers.length === values.length) {
      if (type === 'float32') g.floats(Float32Array.from(numbers), shape, name);
      else g.longs(numbers, shape, name);
      return;
    }
    const list = g.reshape(g.exactShape(values), shape, type === 'float32' ? undefined : name);
    if (type === 'float32') g.op('Cast', [list], shape, { to: 1 }, { output: name });
  }
}

/** What to do about an operator that cannot be trained through. */
function wayOut(op: string): string {
  if (/Quantize|^QLinear|Integer$/.test(op))
    return 'Train the model as it was before it was quantised, and quantise what exportModel gives.';
  if (/^Random|^Bernoulli$|^Multinomial$/.test(op))
    return 'Export the model with the noise as an input, and feed it with each batch.';
  return `Operators that can be: ${TRAINABLE_OPS.join(', ')}. Where the loss does not need it, name a value before it as "output".`;
}

/** An output that no rule makes, as the positions of MaxPool. */
const notComputed = (name: string): QuarkError =>
  new QuarkError(
    'unsupported',
    `"${name}" is used, and nothing that can be trained through makes it.`,
    {
      details: { field: 'model', value: name, reason: 'not_computed' },
    },
  );

/** Operators whose further inputs are settings, which the rules write into the graph themselves. */
const SETTING_OPS: ReadonlySet<string> = new Set([
  'Clip',
  'CumSum',
  'Dropout',
  'Expand',
  'Pad',
  'ReduceL1',
  'ReduceL2',
  'ReduceLogSum',
  'ReduceLogSumExp',
  'ReduceMax',
  'ReduceMean',
  'ReduceMin',
  'ReduceProd',
  'ReduceSum',
  'ReduceSumSquare',
  'Reshape',
  'Resize',
  'Slice',
  'Split',
  'Squeeze',
  'Tile',
  'TopK',
  'Unsqueeze',
  'Upsample',
]);

/** Operators that are made of settings only. */
const ALL_SETTINGS: ReadonlySet<string> = new Set(['ConstantOfShape', 'Range']);

/** Emits the forward pass of a network whose inputs have been declared. */
export function emitNetwork(g: GraphBuilder, network: Network, mode: GraphMode): EmittedNetwork {
  return new EmittedNetwork(g, network, mode);
}

/** Adds what a network is given in each run to a graph: its inputs, parameters and state. */
export function declareNetwork(g: GraphBuilder, network: Network): void {
  for (const { name, type, shape } of network.inputs) g.input(name, type, shape);
  for (const { name, shape } of [...network.parameters, ...network.state])
    g.input(name, 'float32', shape);
}

/** Adds the inputs of a network to a graph, and its weights as constants. @throws {QuarkError} `invalid_input` */
export function declareFinished(
  g: GraphBuilder,
  network: Network,
  weights: Readonly<Record<string, Float32Array>>,
): void {
  for (const { name, type, shape } of network.inputs) g.input(name, type, shape);
  const finished = finishedWeights(network, weights);
  for (const { name, shape, initial } of [...network.parameters, ...network.state])
    g.floats(finished.get(name) ?? initial, shape, name);
}

/** The given weights and, for those that are not given, the initial ones. @throws {QuarkError} `invalid_input` */
export function finishedWeights(
  network: Network,
  weights: Readonly<Record<string, Float32Array>>,
): ReadonlyMap<string, Float32Array> {
  return new Map(
    [...network.parameters, ...network.state].map(({ name, initial }) => {
      const data = weights[name] ?? initial;
      if (!(data instanceof Float32Array) || data.length !== initial.length)
        throw invalidInput(
          `weights.${name}`,
          data?.length,
          `a Float32Array of ${initial.length} numbers`,
        );
      return [name, data];
    }),
  );
}

/** Sizes of which a run decides none. */
function numbersOf(sizes: SizeValue | undefined): readonly number[] | undefined {
  const numbers = sizes?.values.filter((size) => typeof size === 'number');
  return numbers?.length === sizes?.values.length ? numbers : undefined;
}

const notConstant = (name: string): QuarkError =>
  new QuarkError('unsupported', `"${name}" has to be a constant for training; it is computed.`, {
    details: { field: 'model', value: name, reason: 'not_constant' },
  });
