/** A network as the training graph is made from it: operations in order, parameters, and where its layers end. */
import { invalidInput, QuarkError } from '../../../base/errors.ts';
import type { ParameterRole } from '../../../records/literals.ts';
import type { GraphBuilder, TensorShape } from './graph-builder.ts';
import type { ElementType } from '../file/onnx-format.ts';
import type { Backward, ForwardNode, GraphMode, OpRule, OpRuleContext } from './op-rule.ts';
import { ELEMENTWISE_RULES } from './ops-elementwise.ts';
import { MATRIX_RULES } from './ops-matrix.ts';
import { NORMALISATION_RULES } from './ops-normalisation.ts';
import { WINDOW_RULES } from './ops-window.ts';
import { sizesOfNode } from './size-ops.ts';

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

const RULES: Readonly<Record<string, OpRule>> = {
  ...ELEMENTWISE_RULES,
  ...MATRIX_RULES,
  ...WINDOW_RULES,
  ...NORMALISATION_RULES,
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
  readonly #steps: { readonly node: ForwardNode; readonly backward: Backward }[] = [];
  /** Values whose gradients lead to a parameter that is trained. */
  readonly #wanted = new Set<string>();
  /** New values of running means and variances, by the name of the state. */
  readonly stateUpdates = new Map<string, string>();

  constructor(g: GraphBuilder, network: Network, mode: GraphMode) {
    this.#g = g;
    this.#constants = new Map(network.constants.map((constant) => [constant.name, constant]));
    this.#context = {
      g,
      mode,
      constant: (name) => {
        const constant = this.#constants.get(name);
        if (constant === undefined) throw notConstant(name);
        return constant.data;
      },
      sizes: (name) => this.#sizesOf(name) ?? this.#context.constant(name),
      setState: (name, updated) => this.stateUpdates.set(name, updated),
    };
    for (const { name, isTrainable } of network.parameters) if (isTrainable) this.#wanted.add(name);
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
    const rule = Object.hasOwn(RULES, node.op) ? RULES[node.op] : undefined;
    if (rule === undefined) {
      throw new QuarkError(
        'unsupported',
        `${node.op} "${node.output}" cannot be trained through. Operators that can be: ${TRAINABLE_OPS.join(', ')}.`,
        { details: { field: 'model', layer: node.output, op: node.op, reason: 'operator' } },
      );
    }
    for (const [index, name] of node.inputs.entries())
      if (index === 0 || !SETTING_OPS.has(node.op)) this.#declare(name);
    this.#steps.push({ node, backward: rule(this.#context, node) });
    if (node.inputs.some((name) => this.#wanted.has(name))) this.#wanted.add(node.output);
  }

  /**
   * Emits the gradients of `loss`, a scalar, with respect to every value on the way to a trained parameter. The result
   * has the parameters' and the layers' outputs by name.
   */
  gradients(loss: string): Map<string, string> {
    const g = this.#g;
    const found = new Map<string, string>([[loss, g.scalar(1)]]);
    for (const { node, backward } of [...this.#steps].reverse()) {
      const dy = found.get(node.output);
      const wants = node.inputs.map((name) => this.#wanted.has(name));
      if (dy === undefined || !wants.includes(true)) continue;
      for (const [index, gradient] of backward(dy, wants).entries()) {
        const input = node.inputs[index];
        if (gradient === null || input === undefined || wants[index] !== true) continue;
        const before = found.get(input);
        found.set(input, before === undefined ? gradient : g.add(before, gradient));
      }
    }
    return found;
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
    else this.#g.floats(Float32Array.from(data), shape, name);
  }
}

/** Operators whose further inputs are settings, which the rules write into the graph themselves. */
const SETTING_OPS: ReadonlySet<string> = new Set([
  'Clip',
  'ReduceMean',
  'ReduceSum',
  'Reshape',
  'Squeeze',
  'Unsqueeze',
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

const notConstant = (name: string): QuarkError =>
  new QuarkError('unsupported', `"${name}" has to be a constant for training; it is computed.`, {
    details: { field: 'model', value: name, reason: 'not_constant' },
  });
