/**
 * The training step of a network as one plain ONNX graph: forward, loss, backward, optimizer. Weights come in as inputs
 * and go out as outputs, so whatever runs ONNX trains.
 */
import { checkLiteral, checkOptionNames } from '../../../base/assert.ts';
import { invalidInput, QuarkError } from '../../../base/errors.ts';
import type { LayerInfo } from '../../../instruments/probes/model-source.ts';
import { layerFilter, type LayerFilterConfig } from '../../../instruments/probes/layer-filter.ts';
import { GraphBuilder, type TensorShape } from './graph/graph-builder.ts';
import type { OnnxLayersModel } from './layer-kinds.ts';
import {
  declareFinished,
  declareNetwork,
  emitNetwork,
  finishedWeights,
  type EmittedNetwork,
  type Network,
  type NetworkInput,
  type NetworkNoise,
  type NetworkParameter,
} from './network.ts';
import { withWeights } from '../file/onnx-patch.ts';
import { networkOfOnnx } from './network-import.ts';
import { networkOfLayers } from './network-layers.ts';
import {
  checkOptimizer,
  declareOptimizer,
  emitUpdate,
  type OnnxOptimizer,
  type OptimizerSettings,
} from './optimizers.ts';

/**
 * What training makes small. `softmaxCrossEntropy` takes logits, `[batch, ..., classes]`, and as targets either the
 * number of each class (`classes`, the default: int32 `[batch, ...]`) or its probability (`probabilities`: float32, of
 * the logits' shape). `meanSquaredError` takes float32 targets of the output's shape. Both are means over all samples
 * (and, of squares, over all elements).
 */
export type OnnxLoss =
  | { readonly kind: 'softmaxCrossEntropy'; readonly targets?: 'classes' | 'probabilities' }
  | { readonly kind: 'meanSquaredError' };

/** Options of {@link buildOnnxTraining}. */
export type OnnxTrainingConfig = {
  readonly loss: OnnxLoss;
  readonly optimizer: OnnxOptimizer;
  /** Layers whose outputs and gradients can be observed; all unless given. */
  readonly capture?: LayerFilterConfig;
  /** Name of the input that takes the targets; default `y`, or `targets` where the model has a value `y`. */
  readonly targetName?: string;
  /** Of an existing model: the value the loss is computed from. Its first output unless given. */
  readonly output?: string;
  /** Of an existing model: which of its initializers are trained, by name. All that are parameters unless given. */
  readonly isTrainable?: (parameterName: string) => boolean;
};

/** A layer of a network that is trained. */
export type OnnxTrainedLayer = {
  readonly name: string;
  readonly type: string;
  /** Output of the graph with the layer's output. */
  readonly activation: string;
  /** Output of the graph with the gradient of the loss with respect to it; null before the first trained parameter. */
  readonly gradient: string | null;
  /** Axis of its units: 1 for images, the last elsewhere. */
  readonly unitAxis: number;
};

/** A parameter of a network that is trained. */
export type OnnxTrainedParameter = NetworkParameter & {
  /** Output of the graph with its gradient; null when it is frozen or nothing depends on it. */
  readonly gradient: string | null;
  /** Output of the graph with its value after the step; null likewise. */
  readonly updated: string | null;
};

/** What is kept from step to step besides the parameters: moments, running means. */
export type OnnxTrainedState = {
  /** Input of the graph. */
  readonly name: string;
  readonly shape: readonly number[];
  readonly initial: Float32Array;
  /** Output of the graph with its value after the step. */
  readonly updated: string;
};

/** A training step, ready to be run. */
export type OnnxTraining = {
  /** The training step: an ONNX model of operator set 17. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The forward pass alone, with weights and running means as inputs. */
  readonly predictBytes: Uint8Array<ArrayBuffer>;
  readonly inputs: readonly NetworkInput[];
  readonly target: NetworkInput;
  /** How many classes there are; null unless the targets are class numbers. */
  readonly classCount: number | null;
  /** Output of `predictBytes`. */
  readonly prediction: string;
  /** Output of `bytes`, a scalar. */
  readonly loss: string;
  readonly layers: readonly OnnxTrainedLayer[];
  readonly parameters: readonly OnnxTrainedParameter[];
  readonly state: readonly OnnxTrainedState[];
  /** Inputs of `bytes` that each step fills with the noise of dropout. `openOnnxTrainer` does. */
  readonly noise: readonly NetworkNoise[];
  /** The optimizer with its defaults. */
  readonly optimizer: OptimizerSettings;
  /**
   * The finished model with these weights inside, an `.onnx` file that any runtime takes: of a file, the file itself with other
   * numbers, its head, output names and metadata included; of a list of layers, the forward pass. What is not given has its
   * initial values.
   *
   * @throws {QuarkError} `invalid_input` for weights of another size
   */
  readonly exportModel: (
    weights: Readonly<Record<string, Float32Array>>,
  ) => Uint8Array<ArrayBuffer>;
};

const CONFIG_NAMES = ['loss', 'optimizer', 'capture', 'targetName', 'output', 'isTrainable'];

/**
 * Builds the training step of a network: a list of layers, or the bytes of an `.onnx` file made of operators that can
 * be trained through (`ONNX_TRAINABLE_OPS`). Of a file, every float32 initializer of more than one number is a
 * parameter, and one of a single number where it is a weight or a bias; so is a `Constant` node that is one. `isTrainable` keeps
 * those as they are that are neither. A softmax at the end is left out where the loss has one. Running means of batch normalisation move as in training. The batch size is free; other sizes have to be known
 * where a gradient needs them.
 *
 * @throws {QuarkError} `invalid_input` naming the field or layer, `unsupported` naming an operator that cannot be
 * trained through, weights in other files or an `.ort` file
 * @example
 * ```js
 * import { buildOnnxTraining } from 'quark-sdk/onnx';
 *
 * const training = buildOnnxTraining(
 *   {
 *     inputShape: [64],
 *     layers: [
 *       { kind: 'dense', name: 'hidden', units: 16, activation: 'relu' },
 *       { kind: 'dense', name: 'output', units: 2 },
 *     ],
 *   },
 *   { loss: { kind: 'softmaxCrossEntropy' }, optimizer: { kind: 'adam', learningRate: 0.01 } },
 * ); // needs no onnxruntime
 * console.log(training.parameters.map(({ name }) => name)); // [ 'hidden/weight', 'hidden/bias', 'output/weight', 'output/bias' ]
 * console.log(training.classCount, training.bytes instanceof Uint8Array); // 2 true: the graph of one training step
 * ```
 */
export function buildOnnxTraining(
  model: OnnxLayersModel | Uint8Array,
  config: OnnxTrainingConfig,
): OnnxTraining {
  checkOptionNames('config', config, CONFIG_NAMES);
  const settings = checkOptimizer(config.optimizer);
  const isFile = model instanceof Uint8Array;
  if (!isFile && (config.output !== undefined || config.isTrainable !== undefined))
    throw invalidInput(
      'config',
      Object.keys(config),
      'without "output" and "isTrainable", which are for files',
    );
  const { output, isTrainable } = config;
  if (!isFile) return trainingOf(networkOfLayers(model), config, settings);
  const file = model.slice();
  const network = networkOfOnnx(file, {
    ...(output === undefined ? {} : { output }),
    ...(isTrainable === undefined ? {} : { isTrainable }),
  });
  const training = trainingOf(network, config, settings);
  return {
    ...training,
    exportModel: (weights) => withWeights(file, finishedWeights(network, weights)),
  };
}

/** The training step of a network that has been read. @throws {QuarkError} `invalid_input`, `unsupported` */
export function trainingOf(
  network: Network,
  config: OnnxTrainingConfig,
  settings: OptimizerSettings = checkOptimizer(config.optimizer),
): OnnxTraining {
  return new StepGraph(network, config, settings).finish();
}

/**
 * The value that a loss is computed from. Cross-entropy has a softmax of its own: where the network ends with one, it is left
 * out, also one that is written as a quotient of exponentials.
 */
function lossInput(network: Network, loss: OnnxLoss): string {
  if (typeof loss !== 'object' || loss === null) throw invalidInput('config.loss', loss, 'a loss');
  const kind = checkLiteral('config.loss.kind', loss.kind, [
    'softmaxCrossEntropy',
    'meanSquaredError',
  ]);
  if (kind !== 'softmaxCrossEntropy') return network.output;
  const made = new Map(network.nodes.map((node) => [node.output, node]));
  const last = made.get(network.output);
  if (last?.op === 'Softmax' || last?.op === 'LogSoftmax') return last.inputs[0] ?? '';
  if (last?.op !== 'Div') return network.output;
  const [top = '', bottom = ''] = last.inputs;
  const sum = made.get(bottom);
  const power = made.get(top);
  const isSoftmax = power?.op === 'Exp' && sum?.op === 'ReduceSum' && sum.inputs[0] === top;
  return isSoftmax ? (power.inputs[0] ?? '') : network.output;
}

class StepGraph {
  readonly #g: GraphBuilder;
  readonly #network: Network;
  readonly #config: OnnxTrainingConfig;
  readonly #settings: OptimizerSettings;
  readonly #forward: EmittedNetwork;

  constructor(network: Network, config: OnnxTrainingConfig, settings: OptimizerSettings) {
    this.#g = new GraphBuilder('training_step', laterNames(network));
    this.#network = network;
    this.#config = config;
    this.#settings = settings;
    declareNetwork(this.#g, network);
    this.#forward = emitNetwork(this.#g, network, 'training');
  }

  finish(): OnnxTraining {
    const g = this.#g;
    const { target, classCount, loss } = emitLoss(
      g,
      this.#forward,
      lossInput(this.#network, this.#config.loss),
      this.#config,
    );
    const gradients = this.#forward.gradients(loss);
    const scalars = declareOptimizer(g, this.#settings);
    const state: OnnxTrainedState[] = [];
    g.output(loss);
    const parameters = this.#network.parameters.map((parameter): OnnxTrainedParameter => {
      const gradient = parameter.isTrainable ? gradients.get(parameter.name) : undefined;
      if (gradient === undefined) return { ...parameter, gradient: null, updated: null };
      const update = emitUpdate(g, this.#settings, parameter, gradient, scalars);
      for (const { name, shape, updated } of update.state)
        state.push({
          name,
          shape,
          initial: new Float32Array(parameter.initial.length),
          updated: g.output(updated),
        });
      return { ...parameter, gradient: g.output(gradient), updated: g.output(update.updated) };
    });
    if (parameters.every(({ updated }) => updated === null)) {
      throw new QuarkError(
        'invalid_input',
        'model must have a parameter to train; none leads to the loss.',
        {
          details: { field: 'model', rule: 'a parameter to train' },
        },
      );
    }
    for (const { name, shape, initial } of this.#network.state) {
      const updated = this.#forward.stateUpdates.get(name);
      if (updated !== undefined) state.push({ name, shape, initial, updated: g.output(updated) });
    }
    const layers = this.#layers(gradients);
    return {
      bytes: g.finish(),
      predictBytes: predictGraph(this.#network),
      inputs: this.#network.inputs,
      target,
      classCount,
      prediction: this.#network.output,
      loss,
      layers,
      parameters,
      state,
      noise: this.#forward.noise,
      optimizer: this.#settings,
      exportModel: (weights) => predictGraph(this.#network, weights),
    };
  }

  #layers(gradients: ReadonlyMap<string, string>): OnnxTrainedLayer[] {
    const g = this.#g;
    const isCaptured = layerFilter(this.#config.capture);
    return this.#network.layers.flatMap(({ name, type, output }) => {
      // What computes sizes has left no trace.
      if (!g.has(output)) return [];
      const rank = g.shape(output).length;
      const info: LayerInfo = { name, type, isLeaf: true };
      if (g.value(output).type !== 'float32' || !isCaptured(info)) return [];
      const gradient = gradients.get(output);
      return [
        {
          name,
          type,
          activation: g.output(output),
          gradient: gradient === undefined ? null : g.output(gradient),
          unitAxis: rank > 3 ? 1 : rank - 1,
        },
      ];
    });
  }
}

/** Names that values of the graph get only as the network is emitted. */
const laterNames = ({ nodes, constants }: Network): string[] => [
  ...nodes.map(({ output }) => output),
  ...constants.map(({ name }) => name),
];

/** The forward pass; `weights`, if given, become part of it and are inputs else. */
function predictGraph(
  network: Network,
  weights?: Readonly<Record<string, Float32Array>>,
): Uint8Array<ArrayBuffer> {
  const g = new GraphBuilder('prediction', laterNames(network));
  if (weights === undefined) declareNetwork(g, network);
  else declareFinished(g, network, weights);
  emitNetwork(g, network, 'inference');
  g.output(network.output);
  return g.finish();
}

/** The largest vocabularies have a quarter of a million words; a list of all classes becomes part of the graph. */
const MAX_CLASSES = 2 ** 22;

/** Emits the loss from operators that have gradients, and the input that takes the targets. */
function emitLoss(
  g: GraphBuilder,
  network: EmittedNetwork,
  output: string,
  { loss, targetName = g.has('y') ? 'targets' : 'y' }: OnnxTrainingConfig,
): { target: NetworkInput; classCount: number | null; loss: string } {
  const shape = g.shape(output);
  const emit = (op: string, inputs: readonly string[], attributes = {}): string => {
    const name = g.fresh(op);
    network.emit({ op, inputs, output: name, attributes });
    return name;
  };
  if (loss.kind === 'meanSquaredError') {
    checkOptionNames('config.loss', loss, ['kind']);
    const target = declareTarget(g, targetName, 'float32', shape);
    const difference = emit('Sub', [output, targetName]);
    const squared = emit('Mul', [difference, difference]);
    const mean = emit('ReduceMean', [squared], { keepdims: 0 });
    return { target, classCount: null, loss: mean };
  }
  checkOptionNames('config.loss', loss, ['kind', 'targets']);
  const kind = checkLiteral('config.loss.targets', loss.targets ?? 'classes', [
    'classes',
    'probabilities',
  ]);
  const classes = shape.at(-1);
  if (shape.length < 2 || typeof classes !== 'number')
    throw invalidInput('config.loss', shape, 'for logits of shape [batch, ..., classes]');
  if (classes > MAX_CLASSES)
    throw invalidInput('config.loss', classes, `for logits of at most ${MAX_CLASSES} classes`);
  const isClasses = kind === 'classes';
  const targetShape = isClasses ? shape.slice(0, -1) : shape;
  const target = declareTarget(g, targetName, isClasses ? 'int32' : 'float32', targetShape);
  const wanted = isClasses ? oneHot(g, targetName, classes) : targetName;
  const chosen = emit('Mul', [emit('LogSoftmax', [output], { axis: -1 }), wanted]);
  const perRow = emit('ReduceSum', [chosen], { axes: [-1], keepdims: 0 });
  const mean = emit('ReduceMean', [perRow], { keepdims: 0 });
  return { target, classCount: isClasses ? classes : null, loss: emit('Neg', [mean]) };
}

function declareTarget(
  g: GraphBuilder,
  name: string,
  type: 'int32' | 'float32',
  shape: TensorShape,
): NetworkInput {
  if (typeof name !== 'string' || name === '' || g.has(name))
    throw invalidInput('config.targetName', name, 'a name that no value of the model has');
  g.input(name, type, shape);
  return { name, type, shape };
}

/** 1 where a class is the target; comparing works on every provider, OneHot does not. */
function oneHot(g: GraphBuilder, target: string, classes: number): string {
  const shape = g.shape(target);
  const column = g.reshape(target, [...shape, 1]);
  const all = g.int32s(
    Array.from({ length: classes }, (_, i) => i),
    [classes],
  );
  return g.toFloat(g.op('Equal', [column, all], [...shape, classes], {}, { type: 'bool' }));
}
