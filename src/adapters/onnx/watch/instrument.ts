/**
 * Gives the intermediate tensors of an ONNX model as outputs. The file is not decoded and written again: a second
 * `graph` field that holds only outputs is put behind it, and protocol buffers merge the two. Every byte of the
 * original, also of extensions unknown here, stays as it is.
 */
import { checkOptionNames, checkPositive } from '../../../base/assert.ts';
import { invalidInput, QuarkError } from '../../../base/errors.ts';
import { layerFilter, type LayerFilterConfig } from '../../../instruments/probes/layer-filter.ts';
import {
  elementTypeOf,
  FLOAT_TYPES,
  MAX_MODEL_BYTES,
  type ElementType,
  type OnnxDimension,
  type OnnxModelFile,
  type OnnxNode,
  type OnnxValueInfo,
} from '../file/onnx-format.ts';
import { readOnnxModel } from '../file/onnx-reader.ts';
import { valueInfoMessage } from '../file/onnx-writer.ts';
import { channelsFirst, onnxUnitAxisOf } from './unit-axes.ts';
import { ByteWriter } from '../../../codecs/protobuf/writer.ts';

/** One tensor that an instrumented model gives. */
export type OnnxCapture = {
  /** Name of the layer: the node's name, or that of its output where nodes have no names of their own. */
  readonly layerName: string;
  /** The operator: `Conv`, `Relu`, `com.microsoft.Gelu`. */
  readonly layerType: string;
  /** Name of the output of the instrumented model. */
  readonly outputName: string;
  /** Whether the model itself gives it already. */
  readonly isOwnOutput: boolean;
  /** Null when the file does not say. */
  readonly elementType: ElementType | null;
  /** Null when the file does not say. */
  readonly shape: readonly OnnxDimension[] | null;
  /** Axis of its units: 1 where channels come first, as they do behind convolutions; -1, the last, elsewhere. */
  readonly unitAxis: 1 | -1;
};

/** Something in a model that cannot be looked at, and why. */
export type OnnxUnobserved = {
  readonly layerName: string;
  readonly layerType: string;
  readonly reason: string;
};

/** A model that gives its intermediate tensors. */
export type InstrumentedOnnx = {
  /** The model's bytes and a little more; a copy. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** In the order of the graph. */
  readonly captures: readonly OnnxCapture[];
  /** Layers the filter selects that give nothing: subgraphs, sequences, more than `maxOutputs`. */
  readonly notObserved: readonly OnnxUnobserved[];
  /**
   * Whether two runs on the same inputs may differ, because an operator draws random numbers, or is a batch normalisation
   * in training mode, whose running means move with each run.
   */
  readonly isRandom: boolean;
};

/** Options of {@link instrumentOnnx}. */
export type InstrumentOnnxOptions = {
  /** Most outputs to add; those of later layers are left out and named in `notObserved`. Default 512. */
  readonly maxOutputs?: number;
};

/** Operators that only move numbers or make none worth a statistic; left out unless a filter asks by name or type. */
const MOVING_OPS: ReadonlySet<string> = new Set(
  `Cast CastLike Concat Constant ConstantOfShape DepthToSpace Expand EyeLike Flatten Gather GatherElements GatherND
  Identity Pad Range Reshape Shape Size Slice SpaceToDepth Split Squeeze Tile Transpose Unsqueeze`.split(
    /\s+/,
  ),
);

/** Operators whose output is never of floating point, or no tensor at all, which a session could not return. */
const NUMBERLESS_OPS: ReadonlySet<string> = new Set(
  `And ArgMax ArgMin BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Equal Greater GreaterOrEqual IsInf IsNaN Less
  LessOrEqual NonMaxSuppression NonZero Not Optional OptionalGetElement OptionalHasElement Or QuantizeLinear
  SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength SequenceMap Shape Size SplitToSequence
  StringNormalizer TfIdfVectorizer Xor ZipMap DictVectorizer`.split(/\s+/),
);

/** Whether an operator computes floating-point numbers, as opposed to moving them, comparing or counting. */
export function makesNumbers(opType: string): boolean {
  return !MOVING_OPS.has(opType) && !NUMBERLESS_OPS.has(opType);
}

const RANDOM_OPS: ReadonlySet<string> = new Set(
  'Bernoulli Dropout Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike'.split(
    ' ',
  ),
);

function variesByRun({ opType, attributes }: OnnxNode): boolean {
  if (opType !== 'BatchNormalization') return RANDOM_OPS.has(opType);
  const mode = attributes.get('training_mode');
  return mode?.kind === 'int' && mode.value !== 0;
}

const INCLUDES = ['includeNames', 'includeTypes', 'includeNamePatterns'] as const;

const DEFAULT_MAX_OUTPUTS = 512;

/**
 * Adds the tensors of the layers that `filters` selects to the outputs of a model. A filter that is empty selects every
 * operator that computes; those that only move numbers (`Reshape`, `Transpose`, ...) are selected by name or type.
 * Tensors inside the graphs of If, Loop and Scan cannot be reached.
 *
 * Weights in other files stay there: hand them to onnxruntime as before, with `externalData`.
 *
 * @param model bytes of an `.onnx` file up to 2 GiB; not kept and not changed
 * @throws {QuarkError} `invalid_input` when the file is damaged or cut off, when it has no layers, and when the filter
 * selects none of them; `unsupported` for an `.ort` file
 * @example
 * ```js
 * import { buildOnnxTraining, instrumentOnnx } from 'quark-sdk/onnx';
 *
 * const training = buildOnnxTraining(
 *   { inputShape: [2], layers: [{ kind: 'dense', name: 'hidden', units: 4, activation: 'relu' }] },
 *   { loss: { kind: 'meanSquaredError' }, optimizer: { kind: 'sgd', learningRate: 0.1 } },
 * );
 * const file = training.exportModel({}); // the bytes of an .onnx file
 * const { bytes, captures, notObserved } = instrumentOnnx(file, { includeTypes: ['Relu'] });
 * console.log(captures.map(({ layerType }) => layerType), notObserved); // [ 'Relu' ] []
 * console.log(bytes.length > file.length); // true
 * ```
 */
export function instrumentOnnx(
  model: Uint8Array,
  filters: LayerFilterConfig = {},
  options: InstrumentOnnxOptions = {},
): InstrumentedOnnx {
  checkOptionNames('options', options, ['maxOutputs']);
  const maxOutputs = checkPositive('options.maxOutputs', options.maxOutputs ?? DEFAULT_MAX_OUTPUTS);
  const read = readOnnxModel(model);
  if (read.nodes.length === 0)
    throw invalidInput('model', 'a graph without nodes', 'a model with layers');
  const found = new FoundCaptures(read, maxOutputs);
  const isSelected = layerFilter(filters);
  const asks = INCLUDES.some(
    (name) => filters[name] !== undefined && [...filters[name]].length > 0,
  );
  const names = layerNames(read.nodes);
  for (const [index, node] of read.nodes.entries()) {
    const name = names[index] ?? '';
    const qualifiedType = qualified(node);
    const layer = { name, type: node.opType, qualifiedType, isLeaf: !node.hasSubgraph };
    if (node.hasSubgraph && isSelected({ ...layer, isLeaf: true }))
      found.skip(name, qualifiedType, 'tensors inside its own graph cannot be reached');
    if (isSelected(layer) && (asks || !MOVING_OPS.has(node.opType)))
      found.add(node, name, qualifiedType);
  }
  if (found.captures.length === 0) {
    throw new QuarkError('invalid_input', noneSelected(found.notObserved), {
      details: {
        field: 'filters',
        value: filters,
        rule: 'a filter that selects layers of the model',
      },
    });
  }
  return {
    bytes: appendToGraph(model, found.added),
    captures: found.captures,
    notObserved: found.notObserved,
    isRandom: read.nodes.some(variesByRun),
  };
}

function noneSelected(notObserved: readonly OnnxUnobserved[]): string {
  const [first] = notObserved;
  const why = first === undefined ? '' : ` "${first.layerName}" is selected, but ${first.reason}.`;
  return `filters must select layers of the model that can be looked at; they select none.${why}`;
}

class FoundCaptures {
  readonly captures: OnnxCapture[] = [];
  readonly notObserved: OnnxUnobserved[] = [];
  readonly added = new ByteWriter();
  readonly #model: OnnxModelFile;
  readonly #own: ReadonlyMap<string, OnnxValueInfo>;
  readonly #maxOutputs: number;
  readonly #seen = new Set<string>();
  readonly #channelsFirst: ReadonlySet<string>;
  #addedCount = 0;

  constructor(model: OnnxModelFile, maxOutputs: number) {
    this.#model = model;
    this.#maxOutputs = maxOutputs;
    this.#own = new Map(model.outputs.map((output) => [output.name, output]));
    this.#channelsFirst = channelsFirst(model.nodes);
  }

  skip(layerName: string, layerType: string, reason: string): void {
    this.notObserved.push({ layerName, layerType, reason });
  }

  /** The first output of a node; further ones are masks, indices and states. */
  add(node: OnnxNode, layerName: string, layerType: string): void {
    const outputName = node.outputs[0] ?? '';
    if (outputName === '' || NUMBERLESS_OPS.has(node.opType) || this.#seen.has(outputName)) return;
    this.#seen.add(outputName);
    const stated = this.#model.valueInfos.get(outputName) ?? this.#own.get(outputName);
    if (stated?.isTensor === false)
      return this.skip(layerName, layerType, 'its output is not a tensor');
    const elementType = stated?.elementType ?? castTo(node);
    if (elementType === 'bfloat16')
      return this.skip(layerName, layerType, 'onnxruntime-web gives no tensors of bfloat16');
    if (elementType !== null && !FLOAT_TYPES.has(elementType)) return;
    const isOwnOutput = this.#own.has(outputName);
    if (!isOwnOutput) {
      if (this.#addedCount >= this.#maxOutputs)
        return this.skip(layerName, layerType, `options.maxOutputs is ${this.#maxOutputs}`);
      this.#addedCount += 1;
      // Without a type, which onnxruntime infers: a type that a file states wrongly would keep the session from loading.
      this.added.part(12, valueInfoMessage(outputName));
    }
    const shape = stated?.shape ?? null;
    this.captures.push({
      layerName,
      layerType,
      outputName,
      isOwnOutput,
      elementType,
      shape,
      unitAxis: onnxUnitAxisOf(outputName, shape, this.#channelsFirst),
    });
  }
}

/** The type a Cast makes, which files need not state elsewhere. */
function castTo({ opType, attributes }: OnnxNode): ElementType | null {
  const to = opType === 'Cast' ? attributes.get('to') : undefined;
  return to?.kind === 'int' ? (elementTypeOf(to.value) ?? null) : null;
}

/**
 * A name for each node, which no other has: its own where that is unique, else the name of its first output, and that
 * with a number where a node is called like another one's output.
 */
export function layerNames(nodes: readonly OnnxNode[]): string[] {
  const counts = new Map<string, number>();
  for (const { name } of nodes) counts.set(name, (counts.get(name) ?? 0) + 1);
  const isOwn = (name: string): boolean => name !== '' && counts.get(name) === 1;
  const taken = new Set([...counts.keys()].filter(isOwn));
  // Kept for each name: a file that repeats one a million times is to take no longer than others.
  const numbers = new Map<string, number>();
  return nodes.map(({ name, outputs }, index) => {
    if (isOwn(name)) return name;
    const wanted = (outputs[0] ?? '') || `node_${index}`;
    let free = wanted;
    let number = numbers.get(wanted) ?? 2;
    for (; taken.has(free); number += 1) free = `${wanted}_${number}`;
    numbers.set(wanted, number);
    taken.add(free);
    return free;
  });
}

const qualified = (node: OnnxNode): string =>
  node.domain === '' ? node.opType : `${node.domain}.${node.opType}`;

/** Puts a second `graph` field behind a model. @throws {QuarkError} `invalid_input` when it gets too large */
export function appendToGraph(model: Uint8Array, outputs: ByteWriter): Uint8Array<ArrayBuffer> {
  const tail = new ByteWriter().part(7, outputs).finish();
  if (model.length + tail.length > MAX_MODEL_BYTES)
    throw invalidInput(
      'model',
      model.length,
      `at most ${MAX_MODEL_BYTES - tail.length} bytes long`,
    );
  const bytes = new Uint8Array(model.length + tail.length);
  bytes.set(model);
  bytes.set(tail, model.length);
  return bytes;
}
