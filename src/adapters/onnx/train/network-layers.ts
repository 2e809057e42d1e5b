/** A network as a list of layers, one after the other. Images are `[batch, channels, height, width]`, as everywhere in ONNX. */
import {
  checkCount,
  checkLiteral,
  checkOptionNames,
  checkPositive,
  checkFlag,
} from '../../../base/assert.ts';
import { invalidInput } from '../../../base/errors.ts';
import type { ParameterRole } from '../../../records/literals.ts';
import type { TensorShape } from './graph/graph-builder.ts';
import {
  ACTIVATION_OPS,
  LAYER_OPTIONS,
  LAYER_TYPES,
  ONNX_ACTIVATIONS,
  RELU_KIN,
  type OnnxActivation,
  type OnnxLayer,
  type OnnxLayersModel,
  type Weighted,
  type Windowed,
} from './layer-kinds.ts';
import type {
  Network,
  NetworkConstant,
  NetworkLayer,
  NetworkParameter,
  NetworkState,
} from './network.ts';
import { rowCount } from './rules/shapes.ts';
import type { Attributes } from '../file/onnx-writer.ts';
import type { ForwardNode } from './graph/op-rule.ts';

/** @throws {QuarkError} `invalid_input` naming the layer and the field */
export function networkOfLayers(model: OnnxLayersModel): Network {
  checkOptionNames('model', model, ['inputShape', 'inputType', 'inputName', 'layers', 'seed']);
  const { inputShape, inputType = 'float32', inputName = 'x', layers, seed = 1 } = model;
  checkLiteral('model.inputType', inputType, ['float32', 'int32']);
  if (!Array.isArray(inputShape) || !inputShape.every(isSize))
    throw invalidInput('model.inputShape', inputShape, 'a list of sizes and names of sizes');
  if (!Array.isArray(layers) || layers.length === 0)
    throw invalidInput('model.layers', layers, 'a list of at least one layer');
  const found = new FoundLayers(
    inputName,
    ['batch', ...inputShape],
    checkCount('model.seed', seed),
  );
  for (const [index, layer] of model.layers.entries()) {
    const field = `model.layers[${index}]`;
    if (typeof layer !== 'object' || layer === null) throw invalidInput(field, layer, 'a layer');
    const kind = checkLiteral(`${field}.kind`, layer.kind, Object.keys(LAYER_OPTIONS));
    checkOptionNames(field, layer, ['kind', 'name', ...(LAYER_OPTIONS[layer.kind] ?? [])]);
    found.add(layer, field, kind);
  }
  return {
    inputs: [{ name: inputName, type: inputType, shape: ['batch', ...inputShape] }],
    output: found.at,
    nodes: found.nodes,
    layers: found.layers,
    parameters: found.parameters,
    state: found.state,
    constants: found.constants,
  };
}

const isSize = (size: unknown): boolean =>
  typeof size === 'string' ? size !== '' : Number.isSafeInteger(size) && Number(size) > 0;

class FoundLayers {
  readonly nodes: ForwardNode[] = [];
  readonly layers: NetworkLayer[] = [];
  readonly parameters: NetworkParameter[] = [];
  readonly state: NetworkState[] = [];
  readonly constants: NetworkConstant[] = [];
  /** The value that the last layer ends with. */
  at: string;
  #shape: TensorShape;
  readonly #random: () => number;
  readonly #names = new Set<string>();
  readonly #counts = new Map<string, number>();

  constructor(input: string, shape: TensorShape, seed: number) {
    this.at = input;
    this.#shape = shape;
    this.#random = seededRandom(seed);
  }

  add(layer: OnnxLayer, field: string, kind: string): void {
    const name = this.#name(layer.name ?? this.#counted(kind), `${field}.name`);
    switch (layer.kind) {
      case 'dense':
        return this.#dense(layer, name, field);
      case 'conv2d':
        return this.#conv(layer, name, field);
      case 'maxPool2d':
      case 'averagePool2d': {
        const window = this.#window(layer, field, layer.strides ?? layer.size);
        const op = layer.kind === 'maxPool2d' ? 'MaxPool' : 'AveragePool';
        this.#node(op, [this.at], name, window.attributes);
        this.#shape = [...this.#shape.slice(0, 2), ...window.output];
        break;
      }
      case 'globalAveragePool2d':
        this.#expectRank(4, field);
        this.#node('GlobalAveragePool', [this.at], `${name}/pooled`);
        this.#node('Flatten', [this.at], name, { axis: 1 });
        this.#shape = this.#shape.slice(0, 2);
        break;
      case 'flatten':
        this.#node('Flatten', [this.at], name, { axis: 1 });
        this.#shape = [this.#shape[0] ?? 'batch', rowCount(this.#shape.slice(1))];
        break;
      case 'batchNorm':
        return this.#batchNorm(layer, name, field);
      case 'layerNorm': {
        const size = this.#known(-1, field);
        const scale = this.#parameter(layer, `${name}/scale`, 'other', [size], () => 1);
        const bias = this.#parameter(layer, `${name}/bias`, 'bias', [size], () => 0);
        const epsilon = checkSmall(`${field}.epsilon`, layer.epsilon ?? 1e-3);
        this.#node('LayerNormalization', [this.at, scale, bias], name, {
          axis: -1,
          epsilon: { float: epsilon },
        });
        break;
      }
      case 'embedding': {
        const rows = checkPositive(`${field}.vocabulary`, layer.vocabulary);
        const dimensions = checkPositive(`${field}.dimensions`, layer.dimensions);
        // Uniform within 0.05, as Keras begins.
        const table = this.#parameter(
          layer,
          `${name}/weight`,
          'weight',
          [rows, dimensions],
          () => (this.#random() - 0.5) / 10,
        );
        this.#node('Gather', [table, this.at], name, { axis: 0 });
        this.#shape = [...this.#shape, dimensions];
        break;
      }
      case 'activation':
        return this.#activation(layer.activation, name, field);
    }
    this.layers.push({ name, type: LAYER_TYPES[layer.kind], output: this.at });
  }

  #dense(layer: OnnxLayer & { kind: 'dense' }, name: string, field: string): void {
    const units = checkPositive(`${field}.units`, layer.units);
    const inputs = this.#known(-1, field);
    const weight = this.#weight(layer, name, field, [inputs, units], [inputs, units]);
    const bias = this.#bias(layer, name, field, units);
    if (this.#shape.length === 2) this.#node('Gemm', [this.at, weight, ...bias], name);
    else {
      this.#node('MatMul', [this.at, weight], bias.length === 0 ? name : `${name}/product`);
      if (bias.length > 0) this.#node('Add', [this.at, ...bias], name);
    }
    this.#shape = [...this.#shape.slice(0, -1), units];
    this.#end(layer, name, field);
  }

  #conv(layer: OnnxLayer & { kind: 'conv2d' }, name: string, field: string): void {
    const filters = checkPositive(`${field}.filters`, layer.filters);
    const group = checkPositive(`${field}.groups`, layer.groups ?? 1);
    const { kernel, output, attributes } = this.#window(
      layer,
      field,
      layer.strides ?? 1,
      layer.dilations ?? 1,
    );
    const channels = this.#known(1, field);
    if (channels % group !== 0 || filters % group !== 0)
      throw invalidInput(
        `${field}.groups`,
        group,
        `a divisor of ${channels} channels and ${filters} filters`,
      );
    const [taps, perGroup] = [kernel[0] * kernel[1], channels / group];
    const weight = this.#weight(
      layer,
      name,
      field,
      [filters, perGroup, ...kernel],
      [taps * perGroup, (taps * filters) / group],
    );
    const bias = this.#bias(layer, name, field, filters);
    this.#node('Conv', [this.at, weight, ...bias], name, { ...attributes, group });
    this.#shape = [this.#shape[0] ?? 'batch', filters, ...output];
    this.#end(layer, name, field);
  }

  #batchNorm(layer: OnnxLayer & { kind: 'batchNorm' }, name: string, field: string): void {
    const channels = this.#known(1, field);
    const scale = this.#parameter(layer, `${name}/scale`, 'other', [channels], () => 1);
    const bias = this.#parameter(layer, `${name}/bias`, 'bias', [channels], () => 0);
    const running = (kind: string, value: number): string => {
      const state = `${name}/${kind}`;
      this.state.push({
        name: state,
        layerName: name,
        shape: [channels],
        initial: new Float32Array(channels).fill(value),
      });
      return state;
    };
    const inputs = [
      this.at,
      scale,
      bias,
      running('running_mean', 0),
      running('running_variance', 1),
    ];
    const momentum = layer.momentum ?? 0.99;
    if (!(momentum >= 0 && momentum < 1))
      throw invalidInput(`${field}.momentum`, momentum, 'from 0 to below 1');
    const epsilon = checkSmall(`${field}.epsilon`, layer.epsilon ?? 1e-3);
    this.#node('BatchNormalization', inputs, name, {
      epsilon: { float: epsilon },
      momentum: { float: momentum },
    });
    this.layers.push({ name, type: LAYER_TYPES.batchNorm, output: this.at });
  }

  #activation(activation: OnnxActivation, name: string, field: string): void {
    const kind = checkLiteral(`${field}.activation`, activation, ONNX_ACTIVATIONS);
    if (kind === 'relu6') {
      const bound = (end: string, value: number): string => {
        const constant = `${name}/${end}`;
        this.constants.push({ name: constant, type: 'float32', shape: [], data: [value] });
        return constant;
      };
      this.#node('Clip', [this.at, bound('min', 0), bound('max', 6)], name);
    } else
      this.#node(ACTIVATION_OPS[kind], [this.at], name, kind === 'softmax' ? { axis: -1 } : {});
    this.layers.push({ name, type: ACTIVATION_OPS[kind], output: this.at });
  }

  /** The layer itself, and its activation behind it. */
  #end(
    layer: OnnxLayer & Weighted & { kind: 'dense' | 'conv2d' },
    name: string,
    field: string,
  ): void {
    this.layers.push({ name, type: LAYER_TYPES[layer.kind], output: this.at });
    if (layer.activation !== undefined)
      this.#activation(layer.activation, this.#name(`${name}/${layer.activation}`, field), field);
  }

  #weight(
    layer: Weighted,
    name: string,
    field: string,
    shape: readonly number[],
    [fanIn, fanOut]: readonly [fanIn: number, fanOut: number],
  ): string {
    const fallback = RELU_KIN.has(layer.activation) ? 'heNormal' : 'glorotUniform';
    const kind = checkLiteral(`${field}.initializer`, layer.initializer ?? fallback, [
      'glorotUniform',
      'heNormal',
    ]);
    const limit = Math.sqrt(6 / (fanIn + fanOut));
    const deviation = Math.sqrt(2 / fanIn);
    const draw =
      kind === 'heNormal'
        ? (): number => deviation * this.#normal()
        : (): number => (2 * this.#random() - 1) * limit;
    return this.#parameter(layer, `${name}/weight`, 'weight', shape, draw);
  }

  #bias(layer: Weighted, name: string, field: string, size: number): string[] {
    const hasBias = layer.bias ?? true;
    checkFlag(`${field}.bias`, hasBias);
    return hasBias ? [this.#parameter(layer, `${name}/bias`, 'bias', [size], () => 0)] : [];
  }

  /** `name` is `layer/parameter`. */
  #parameter(
    { trainable }: { readonly trainable?: boolean | undefined },
    name: string,
    role: ParameterRole,
    shape: readonly number[],
    draw: () => number,
  ): string {
    const layerName = name.slice(0, name.lastIndexOf('/'));
    const size = shape.reduce((product, length) => product * length, 1);
    const initial = Float32Array.from({ length: size }, draw);
    this.parameters.push({ name, layerName, role, shape, initial, isTrainable: trainable ?? true });
    return name;
  }

  /** Box and Muller, 1958. */
  #normal(): number {
    const radius = Math.sqrt(-2 * Math.log(1 - this.#random()));
    return radius * Math.cos(2 * Math.PI * this.#random());
  }

  #window(
    layer: Windowed,
    field: string,
    strides: Windowed['size'],
    dilations: Windowed['size'] = 1,
  ): { kernel: [number, number]; output: number[]; attributes: Attributes } {
    this.#expectRank(4, field);
    const kernel = checkPair(`${field}.size`, layer.size);
    const [stride, dilation] = [
      checkPair(`${field}.strides`, strides),
      checkPair(`${field}.dilations`, dilations),
    ];
    const padding = checkLiteral(`${field}.padding`, layer.padding ?? 'valid', ['valid', 'same']);
    const output = [0, 1].map((i) => {
      const size = this.#known(i + 2, field);
      const reach = ((kernel[i] ?? 1) - 1) * (dilation[i] ?? 1) + 1;
      if (padding === 'same') return Math.ceil(size / (stride[i] ?? 1));
      if (reach > size)
        throw invalidInput(`${field}.size`, layer.size, `at most as large as the input (${size})`);
      return Math.floor((size - reach) / (stride[i] ?? 1)) + 1;
    });
    return {
      kernel,
      output,
      attributes: {
        kernel_shape: kernel,
        strides: stride,
        ...(dilation.some((size) => size !== 1) ? { dilations: dilation } : {}),
        auto_pad: padding === 'same' ? 'SAME_UPPER' : 'VALID',
      },
    };
  }

  #node(op: string, inputs: readonly string[], output: string, attributes: Attributes = {}): void {
    this.nodes.push({ op, inputs, output, attributes });
    this.at = output;
  }

  #known(axis: number, field: string): number {
    const size = this.#shape.at(axis);
    if (typeof size !== 'number')
      throw invalidInput(field, this.#shape, 'given an input whose features are of known number');
    return size;
  }

  #expectRank(rank: number, field: string): void {
    if (this.#shape.length !== rank)
      throw invalidInput(
        field,
        this.#shape,
        `given an input of ${rank} dimensions, with the batch`,
      );
  }

  #counted(kind: string): string {
    const count = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, count);
    return `${kind}_${count}`;
  }

  #name(name: string, field: string): string {
    if (typeof name !== 'string' || name === '' || this.#names.has(name))
      throw invalidInput(field, name, 'a name that no other layer has');
    this.#names.add(name);
    return name;
  }
}

function checkPair(field: string, value: unknown): [number, number] {
  const pair: unknown[] = Array.isArray(value) ? value : [value, value];
  if (pair.length !== 2) throw invalidInput(field, value, 'one size, or height and width');
  return [checkPositive(field, pair[0]), checkPositive(field, pair[1])];
}

function checkSmall(field: string, value: number): number {
  if (!(value > 0 && value < 1)) throw invalidInput(field, value, 'above 0 and below 1');
  return value;
}

/** Numbers from 0 to below 1 that a seed determines (mulberry32 by Tommy Ettinger). */
function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}
