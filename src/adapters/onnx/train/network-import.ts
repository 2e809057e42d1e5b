/** A network from an ONNX file, for training: its float32 constants become parameters, its operators get gradients. */
import { invalidInput, QuarkError } from '../../../base/errors.ts';
import type { ParameterRole } from '../../../records/literals.ts';
import type { TensorShape } from './graph/graph-builder.ts';
import { layerNames } from '../watch/instrument.ts';
import type {
  Network,
  NetworkConstant,
  NetworkInput,
  NetworkLayer,
  NetworkParameter,
  NetworkState,
} from './network.ts';
import type {
  OnnxAttribute,
  OnnxModelFile,
  OnnxNode,
  OnnxTensor,
  OnnxValueInfo,
} from '../file/onnx-format.ts';
import { readOnnxModel, tensorNumbers } from '../file/onnx-reader.ts';
import type { Attributes, AttributeValue } from '../file/onnx-writer.ts';
import type { ForwardNode } from './graph/op-rule.ts';

/** How a file is made a network. */
export type NetworkImportOptions = {
  /** The value the loss is computed from; the first output unless given. */
  readonly output?: string;
  /** Which parameters are trained, by name; all unless given. */
  readonly isTrainable?: (parameterName: string) => boolean;
};

/** Operator sets whose forms of the trainable operators are understood. */
const OLDEST_OPSET = 9;

/** Inputs of operators that are weights or biases, by operator and position; all others are `other`. */
const ROLES: Readonly<Record<string, ParameterRole>> = {
  'Add:1': 'bias',
  'Add:0': 'bias',
  'BatchNormalization:2': 'bias',
  'Conv:1': 'weight',
  'Conv:2': 'bias',
  'Gather:0': 'weight',
  'Gemm:1': 'weight',
  'Gemm:2': 'bias',
  'LayerNormalization:2': 'bias',
  'MatMul:0': 'weight',
  'MatMul:1': 'weight',
};

/** Where a single number is a weight or a bias: that of a unit, a channel or a feature there is one of. */
const SINGLE_PARAMETERS: ReadonlySet<string> = new Set([
  'BatchNormalization:1',
  'BatchNormalization:2',
  'Conv:1',
  'Conv:2',
  'Gather:0',
  'Gemm:0',
  'Gemm:1',
  'Gemm:2',
  'LayerNormalization:1',
  'LayerNormalization:2',
  'MatMul:0',
  'MatMul:1',
]);

/** Operators that an addition of one number behind them is the bias of. */
const BIASED_OPS: ReadonlySet<string> = new Set(['Conv', 'Gemm', 'MatMul']);

/**
 * Reads a network from a file.
 *
 * @throws {QuarkError} `invalid_input` for a damaged file, `unsupported` for weights in other files and operator sets
 * that are too old
 */
export function networkOfOnnx(bytes: Uint8Array, options: NetworkImportOptions = {}): Network {
  const model = readOnnxModel(bytes);
  const opset = model.opsets.get('') ?? 0;
  if (opset < OLDEST_OPSET) {
    throw new QuarkError(
      'unsupported',
      `The model is of operator set ${opset}; training needs ${OLDEST_OPSET} or later.`,
      {
        details: { field: 'model', reason: 'opset', opset },
      },
    );
  }
  const output = options.output ?? model.outputs[0]?.name ?? '';
  const found = new ImportedNetwork(model, opset, options.isTrainable ?? (() => true));
  const needed = neededNodes(model.nodes, output);
  if (needed.size === 0)
    throw invalidInput('options.output', output, 'a value that the model computes');
  const names = layerNames(model.nodes);
  for (const [index, node] of model.nodes.entries())
    if (needed.has(node)) found.add(node, names[index] ?? '');
  return found.network(output);
}

/** The nodes that a value is computed from. */
function neededNodes(nodes: readonly OnnxNode[], output: string): ReadonlySet<OnnxNode> {
  const producers = new Map<string, OnnxNode>();
  for (const node of nodes)
    for (const name of node.outputs) if (name !== '') producers.set(name, node);
  const needed = new Set<OnnxNode>();
  const open = [output];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const node = producers.get(name);
    if (node === undefined || needed.has(node)) continue;
    needed.add(node);
    open.push(...node.inputs);
  }
  return needed;
}

class ImportedNetwork {
  readonly #model: OnnxModelFile;
  readonly #opset: number;
  readonly #isTrainable: (name: string) => boolean;
  readonly #nodes: ForwardNode[] = [];
  /** Outputs of layers that may have a bias behind them. */
  readonly #products = new Set<string>();
  readonly #layers: NetworkLayer[] = [];
  readonly #inputs = new Map<string, NetworkInput>();
  readonly #parameters = new Map<string, NetworkParameter>();
  readonly #state = new Map<string, NetworkState>();
  readonly #constants = new Map<string, NetworkConstant>();

  constructor(model: OnnxModelFile, opset: number, isTrainable: (name: string) => boolean) {
    this.#model = model;
    this.#opset = opset;
    this.#isTrainable = isTrainable;
  }

  add(node: OnnxNode, layerName: string): void {
    const output = node.outputs[0] ?? '';
    if (node.opType === 'Constant') return this.#addConstantNode(node, output);
    const isKnown =
      node.domain === '' || (node.domain === 'com.microsoft' && node.opType === 'Gelu');
    const op = isKnown ? node.opType : `${node.domain}.${node.opType}`;
    for (const [position, name] of node.inputs.entries())
      this.#addInput(name, op, position, layerName, this.#isBias(node, position));
    if (BIASED_OPS.has(op)) this.#products.add(output);
    this.#nodes.push({ op, inputs: node.inputs, output, attributes: this.#attributes(node) });
    this.#layers.push({ name: layerName, type: node.opType, output });
  }

  network(output: string): Network {
    return {
      inputs: [...this.#inputs.values()],
      output,
      nodes: this.#nodes,
      layers: this.#layers,
      parameters: [...this.#parameters.values()],
      state: [...this.#state.values()],
      constants: [...this.#constants.values()],
    };
  }

  /** Whether an input is added to such an output. */
  #isBias({ opType, inputs }: OnnxNode, position: number): boolean {
    const other = inputs[1 - position] ?? '';
    return opType === 'Add' && this.#products.has(other);
  }

  #addInput(name: string, op: string, position: number, layerName: string, isBias: boolean): void {
    const tensor = this.#model.initializers.get(name);
    if (tensor === undefined) {
      const input = this.#model.inputs.find((info) => info.name === name);
      if (input !== undefined && !this.#inputs.has(name))
        this.#inputs.set(name, networkInput(input));
      return;
    }
    const size = tensor.shape.reduce((product, length) => product * length, 1);
    const isSingle = isBias || SINGLE_PARAMETERS.has(`${op}:${position}`);
    if (op === 'BatchNormalization' && position >= 3)
      this.#state.set(name, { name, layerName, shape: tensor.shape, initial: floats(tensor) });
    else if (tensor.elementType !== 'float32' || (size <= 1 && !isSingle))
      this.#addConstant(name, tensor);
    else if (!this.#parameters.has(name)) {
      this.#parameters.set(name, {
        name,
        layerName,
        role: ROLES[`${op}:${position}`] ?? 'other',
        shape: tensor.shape,
        initial: floats(tensor),
        isTrainable: this.#isTrainable(name),
      });
    }
  }

  /** Its value is a tensor, or from operator set 12 on a number or a list of numbers. */
  #addConstantNode({ attributes }: OnnxNode, name: string): void {
    const value = attributes.get('value');
    if (value?.kind === 'tensor') return this.#addConstant(name, value.value);
    for (const [attribute, type] of CONSTANT_ATTRIBUTES) {
      const given = attributes.get(attribute);
      if (given?.kind === 'float' || given?.kind === 'int')
        this.#constants.set(name, { name, type, shape: [], data: [given.value] });
      else if (given?.kind === 'floats' || given?.kind === 'ints')
        this.#constants.set(name, { name, type, shape: [given.value.length], data: given.value });
    }
  }

  #addConstant(name: string, tensor: OnnxTensor): void {
    if (this.#constants.has(name)) return;
    const { elementType, shape } = tensor;
    if (elementType !== 'float32' && elementType !== 'int64') {
      throw new QuarkError(
        'unsupported',
        `The constant "${name}" is of type ${elementType ?? 'unknown'}; training knows float32 and int64.`,
        {
          details: { field: 'model', value: name, reason: 'element_type' },
        },
      );
    }
    this.#constants.set(name, { name, type: elementType, shape, data: tensorNumbers(tensor) });
  }

  #attributes(node: OnnxNode): Attributes {
    const attributes: Record<string, AttributeValue> = {};
    for (const [name, value] of node.attributes) {
      const written = attributeValue(value);
      if (written !== undefined) attributes[name] = written;
    }
    // Before operator set 13 the default was the first axis behind the batch, with all that follow it.
    if (node.opType.endsWith('Softmax') && this.#opset < 13) attributes['axis'] ??= 1;
    return attributes;
  }
}

/** Attributes of Constant other than `value`, and what they make. */
const CONSTANT_ATTRIBUTES = [
  ['value_float', 'float32'],
  ['value_floats', 'float32'],
  ['value_int', 'int64'],
  ['value_ints', 'int64'],
] as const;

const floats = (tensor: OnnxTensor): Float32Array => Float32Array.from(tensorNumbers(tensor));

function attributeValue(attribute: OnnxAttribute): AttributeValue | undefined {
  switch (attribute.kind) {
    case 'float':
      return { float: attribute.value };
    case 'int':
    case 'string':
    case 'ints':
      return attribute.value;
    case 'floats':
    case 'tensor':
    case 'graph':
    case 'other':
      return undefined;
  }
}

function networkInput({ name, elementType, shape }: OnnxValueInfo): NetworkInput {
  if (elementType !== 'float32' && elementType !== 'int32' && elementType !== 'int64') {
    throw new QuarkError(
      'unsupported',
      `The input "${name}" is of type ${elementType ?? 'unknown'}; training knows float32, int32 and int64.`,
      {
        details: { field: 'model', value: name, reason: 'element_type' },
      },
    );
  }
  if (shape === null)
    throw invalidInput('model', name, 'a model that states the shapes of its inputs');
  const sizes: TensorShape = shape.map(
    (size, axis) => size ?? (axis === 0 ? 'batch' : `${name}_${axis}`),
  );
  return { name, type: elementType, shape: sizes };
}
