/** A network from an ONNX file, for training: its float32 constants become parameters, its operators get gradients. */
import { invalidInput, QuarkError } from '../../base/errors.ts';
import type { ParameterRole } from '../../records/literals.ts';
import type { Shape } from './graph-builder.ts';
import { layerNames } from './instrument.ts';
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
  OnnxModel,
  OnnxNode,
  OnnxTensor,
  OnnxValueInfo,
} from './onnx-format.ts';
import { readOnnxModel, tensorNumbers } from './onnx-reader.ts';
import type { Attributes, AttributeValue } from './onnx-writer.ts';
import type { ForwardNode } from './op-rule.ts';

/** How a file is made a network. */
export type ImportOptions = {
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

/**
 * Reads a network from a file.
 *
 * @throws {QuarkError} `invalid_input` for a damaged file, `unsupported` for weights in other files and operator sets
 * that are too old
 */
export function networkOfOnnx(bytes: Uint8Array, options: ImportOptions = {}): Network {
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
  readonly #model: OnnxModel;
  readonly #opset: number;
  readonly #isTrainable: (name: string) => boolean;
  readonly #nodes: ForwardNode[] = [];
  readonly #layers: NetworkLayer[] = [];
  readonly #inputs = new Map<string, NetworkInput>();
  readonly #parameters = new Map<string, NetworkParameter>();
  readonly #state = new Map<string, NetworkState>();
  readonly #constants = new Map<string, NetworkConstant>();

  constructor(model: OnnxModel, opset: number, isTrainable: (name: string) => boolean) {
    this.#model = model;
    this.#opset = opset;
    this.#isTrainable = isTrainable;
  }

  add(node: OnnxNode, layerName: string): void {
    const output = node.outputs[0] ?? '';
    if (node.opType === 'Constant') {
      const value = node.attributes.get('value');
      if (value?.kind === 'tensor') this.#addConstant(output, value.value);
      return;
    }
    const isKnown =
      node.domain === '' || (node.domain === 'com.microsoft' && node.opType === 'Gelu');
    const op = isKnown ? node.opType : `${node.domain}.${node.opType}`;
    for (const [position, name] of node.inputs.entries())
      this.#addInput(name, op, position, layerName);
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

  #addInput(name: string, op: string, position: number, layerName: string): void {
    const tensor = this.#model.initializers.get(name);
    if (tensor === undefined) {
      const input = this.#model.inputs.find((info) => info.name === name);
      if (input !== undefined && !this.#inputs.has(name))
        this.#inputs.set(name, networkInput(input));
      return;
    }
    const size = tensor.shape.reduce((product, length) => product * length, 1);
    if (op === 'BatchNormalization' && position >= 3)
      this.#state.set(name, { name, layerName, shape: tensor.shape, initial: floats(tensor) });
    else if (tensor.elementType !== 'float32' || size <= 1) this.#addConstant(name, tensor);
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

const floats = (tensor: OnnxTensor): Float32Array => Float32Array.from(tensorNumbers(tensor));

function attributeValue(attribute: OnnxAttribute): AttributeValue | undefined {
  switch (attribute.kind) {
    case 'float':
      return { float: attribute.value };
    case 'int':
    case 'string':
    case 'ints':
      return attribute.value;
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
  const sizes: Shape = shape.map(
    (size, axis) => size ?? (axis === 0 ? 'batch' : `${name}_${axis}`),
  );
  return { name, type: elementType, shape: sizes };
}
