/** A network as the training graph is made from it: operations in order, parameters, and where its layers end. */
import { invalidInput, QuarkError } from '../../../base/errors.ts';
import type { ParameterRole } from '../../../records/literals.ts';
import type { GraphBuilder, TensorShape } from './graph/graph-builder.ts';
import type { ElementType } from '../file/onnx-format.ts';
import type { ForwardNode, GraphMode, OpRuleContext } from './graph/op-rule.ts';
import { Tape } from './graph/tape.ts';
import { RULES } from './rules/all.ts';
import { sizesOfNode } from './graph/size-ops.ts';

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
export const TRAINABLE_OPS: readonly string[] = Object.keys(RULES).sort();

/** The forward pass of a network in a graph, ready for gradients. */
export class EmittedNetwork {
  readonly #g: GraphBuilder;
  readonly #context: OpRuleContext;
  readonly #constants: ReadonlyMap<string, NetworkConstant>;
  /** Sizes that were computed from shapes. */
  readonly #sizes = new Map<string, TensorShape>();
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
      constantOrNone: (name) =>
        this.#constants.get(name)?.data ?? wholeSizes(this.#sizes.get(name)),
      sizes: (name) => this.#sizesOf(name) ?? this.#context.constant(name),
      setState: (name, updated) => this.stateUpdates.set(name, updated),
      noise: (like, rate) => this.#addNoise(like, rate),
    };
    this.#tape = new Tape(
      this.#context,
      RULES,
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
        `${node.op} "${node.output}" cannot be trained through. Operators that can be: ${TRAINABLE_OPS.join(', ')}.`,
        { details: { field: 'model', layer: node.output, op: node.op, reason: 'operator' } },
      );
    }
    for (const [index, name] of node.inputs.entries())
      if (index === 0 || !SETTING_OPS.has(node.op)) this.#declare(name);
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

  #sizesOf(name: string): TensorShape | undefined {
    const constant = this.#constants.get(name);
    return this.#sizes.get(name) ?? (constant?.type === 'int64' ? constant.data : undefined);
  }

  /** Adds a constant to the graph when something needs it: one that nothing needs makes onnxruntime complain. */
  #declare(name: string): void {
    const constant = this.#constants.get(name);
    if (constant === undefined || this.#g.has(name)) return;
    const { type, shape, data } = constant;
    if (type === 'int64') this.#g.longs(data, shape, name);
    else if (type === 'int32') this.#g.int32s(data, shape, name);
    else if (type === 'bool') this.#g.booleans(data, shape, name);
    else this.#g.floats(Float32Array.from(data), shape, name);
  }
}

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
  for (const { name, shape, initial } of [...network.parameters, ...network.state]) {
    const data = weights[name] ?? initial;
    if (!(data instanceof Float32Array) || data.length !== initial.length)
      throw invalidInput(
        `weights.${name}`,
        data?.length,
        `a Float32Array of ${initial.length} numbers`,
      );
    g.floats(data, shape, name);
  }
}

/** Sizes of which a run decides none. */
const wholeSizes = (sizes: TensorShape | undefined): readonly number[] | undefined =>
  sizes?.every((size) => typeof size === 'number') === true ? sizes : undefined;

const notConstant = (name: string): QuarkError =>
  new QuarkError('unsupported', `"${name}" has to be a constant for training; it is computed.`, {
    details: { field: 'model', value: name, reason: 'not_constant' },
  });
