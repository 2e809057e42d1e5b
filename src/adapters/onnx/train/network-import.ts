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
import {
  FLOAT_TYPES,
  type ElementType,
  type OnnxAttribute,
  type OnnxModelFile,
  type OnnxNode,
  type OnnxTensor,
  type OnnxValueInfo,
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
const OLDEST_OPSET = 7;

/** Operators whose second input, and for recurrent ones third, is a weight, and the next one a bias. */
const WEIGHTED: Readonly<Record<string, readonly ParameterRole[]>> = {
  BatchNormalization: ['other', 'other', 'bias'],
  Conv: ['other', 'weight', 'bias'],
  ConvTranspose: ['other', 'weight', 'bias'],
  GRU: ['other', 'weight', 'weight', 'bias'],
  Gather: ['weight'],
  Gemm: ['other', 'weight', 'bias'],
  GroupNormalization: ['other', 'other', 'bias'],
  InstanceNormalization: ['other', 'other', 'bias'],
  LSTM: ['other', 'weight', 'weight', 'bias', 'other', 'other', 'other', 'weight'],
  LayerNormalization: ['other', 'other', 'bias'],
  MatMul: ['weight', 'weight'],
  PRelu: ['other', 'weight'],
  RMSNormalization: ['other', 'other'],
  RNN: ['other', 'weight', 'weight', 'bias'],
  SimplifiedLayerNormalization: ['other', 'other'],
};

const ROLES: Readonly<Record<string, ParameterRole>> = {
  'Add:0': 'bias',
  'Add:1': 'bias',
  ...Object.fromEntries(
    Object.entries(WEIGHTED).flatMap(([op, roles]) =>
      roles.map((role, position) => [`${op}:${position}`, role] as const),
    ),
  ),
};

/**
 * Where a single number, or a constant of the graph, is a parameter: a weight or a bias of a unit, a channel or a feature.
 * Position 0 is what flows through, unless the operator is a product or a table.
 */
const isWeightPosition = (op: string, position: number): boolean =>
  (WEIGHTED[op]?.length ?? 0) > position &&
  (position > 0 || op === 'MatMul' || op === 'Gather' || op === 'Gemm');

/** Lists of numbers that are settings and no weights. */
const SETTINGS: ReadonlySet<string> = new Set([
  'OneHot:2',
  'Pad:2',
  'Resize:1',
  'Resize:2',
  'Upsample:1',
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
      `The model is of operator set ${opset}; training needs ${OLDEST_OPSET} or later. onnx.version_converter of the Python package onnx converts it.`,
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
  /** Tensors that nodes hold: weights where they are used as such, constants elsewhere. */
  readonly #constantNodes = new Map<string, OnnxTensor>();

  constructor(model: OnnxModelFile, opset: number, isTrainable: (name: string) => boolean) {
    this.#model = model;
    this.#opset = opset;
    this.#isTrainable = isTrainable;
  }

  add(node: OnnxNode, layerName: string): void {
    const output = node.outputs[0] ?? '';
    if (node.opType === 'Constant') return this.#addConstantNode(node, output);
    if (node.hasSubgraph) throw subgraph(node);
    const isKnown = node.domain === '' || CONTRIBUTED.has(`${node.domain}.${node.opType}`);
    const op = isKnown ? node.opType : `${node.domain}.${node.opType}`;
    for (const [position, name] of node.inputs.entries())
      this.#addInput(name, op, position, layerName, this.#isBias(node, position));
    if (BIASED_OPS.has(op)) this.#products.add(output);
    const outputs = node.outputs.length > 1 ? { outputs: node.outputs } : {};
    const attributes = this.#attributes(node);
    this.#nodes.push({ op, inputs: node.inputs, output, ...outputs, attributes });
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
    const stored = this.#model.initializers.get(name);
    const tensor = stored ?? this.#constantNodes.get(name);
    if (tensor === undefined) {
      const input = this.#model.inputs.find((info) => info.name === name);
      if (input !== undefined && !this.#inputs.has(name))
        this.#inputs.set(name, networkInput(input));
      return;
    }
    const size = tensor.shape.reduce((product, length) => product * length, 1);
    const isSingle = isBias || isWeightPosition(op, position);
    const isSetting = SETTINGS.has(`${op}:${position}`) || (stored === undefined && !isSingle);
    if (op === 'BatchNormalization' && position >= 3)
      this.#state.set(name, { name, layerName, shape: tensor.shape, initial: floats(tensor) });
    else if (!FLOAT_TYPES.has(tensor.elementType) || isSetting || (size <= 1 && !isSingle))
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
    if (value?.kind === 'tensor') {
      this.#constantNodes.set(name, value.value);
      return;
    }
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
    const type = constantType(elementType);
    if (type === undefined) {
      throw new QuarkError(
        'unsupported',
        `The constant "${name}" is of type ${elementType ?? 'unknown'}; training knows numbers and booleans.`,
        {
          details: { field: 'model', value: name, reason: 'element_type' },
        },
      );
    }
    this.#constants.set(name, { name, type, shape, data: tensorNumbers(tensor) });
  }

  #attributes(node: OnnxNode): Attributes {
    const attributes: Record<string, AttributeValue> = {};
    for (const [name, value] of node.attributes) {
      const written = attributeValue(value);
      if (written !== undefined) attributes[name] = written;
    }
    // Before operator set 13 the default was the first axis behind the batch, with all that follow it.
    if (node.opType.endsWith('Softmax') && this.#opset < 13) {
      attributes['axis'] ??= 1;
      attributes['flattens'] = 1;
    }
    const value = node.attributes.get('value');
    if (node.opType === 'ConstantOfShape' && value?.kind === 'tensor') {
      const [number = 0] = tensorNumbers(value.value);
      const isFloat = FLOAT_TYPES.has(value.value.elementType);
      attributes['value'] = isFloat ? { float: number } : number;
      attributes['value_type'] = isFloat ? 'float32' : 'int64';
    }
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

/** Operators of onnxruntime's own that mean what those of ONNX do. */
const CONTRIBUTED: ReadonlySet<string> = new Set(['com.microsoft.Gelu']);

const subgraph = ({ opType, outputs }: OnnxNode): QuarkError =>
  new QuarkError(
    'unsupported',
    `${opType} "${outputs[0] ?? ''}" has a graph of its own, which cannot be trained through. Export the model by tracing it, not as a script: that unrolls loops and takes one branch.`,
    { details: { field: 'model', layer: outputs[0] ?? '', op: opType, reason: 'subgraph' } },
  );

/** The type that a constant has in the training graph, where all floats are float32 and short integers int32. */
function constantType(type: ElementType | null): NetworkConstant['type'] | undefined {
  if (type === null || type === 'string' || type === 'uint64') return undefined;
  if (FLOAT_TYPES.has(type)) return 'float32';
  return type === 'int64' || type === 'bool' ? type : 'int32';
}

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
      return { floats: attribute.value };
    case 'strings':
      return { strings: attribute.value };
    case 'tensor':
    case 'graph':
    case 'other':
      return undefined;
  }
}

function networkInput({ name, elementType, shape }: OnnxValueInfo): NetworkInput {
  const type = inputType(elementType);
  if (type === undefined) {
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
  return { name, type, shape: sizes };
}

/** What a run gives: float32 for every kind of float, because the training graph computes in float32. */
function inputType(type: ElementType | null): NetworkInput['type'] | undefined {
  if (FLOAT_TYPES.has(type)) return 'float32';
  return type === 'int32' || type === 'int64' || type === 'bool' ? type : undefined;
}
