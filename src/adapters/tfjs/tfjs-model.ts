import { checkOptionNames } from '../../base/assert.ts';
import { invalidInput, messageOf, QuarkError } from '../../base/errors.ts';
import type {
  DeviceBatch,
  LayerInfo,
  LayerWatch,
  ModelSource,
  ParameterInfo,
  ParameterWatch,
  SourceTrouble,
  TensorRef,
} from '../../instruments/probes/model-source.ts';
import { TfDeviceBatch } from './device-batch.ts';
import { LayerWatches } from './layer-watches.ts';
import { tapMethod } from '../../base/method-tap.ts';
import { OptimizerWatches } from './optimizer-watches.ts';
import {
  findLayers,
  findParameters,
  namedParameters,
  type FoundLayer,
  type FoundParameter,
} from './tfjs-layers.ts';
import { TfTensorRef } from './tfjs-tensor.ts';
import type { TfjsLayersModel, TfjsOptimizer, TfjsRuntime, TfTensor } from './tfjs-types.ts';

/** Settings of {@link tfjsModel} and {@link tfjsVariables}. */
export type TfjsModelOptions = {
  /** Tensors that are shown with {@link TfjsSource.tap}: a name, and the type they are recorded under. */
  readonly taps?: Readonly<Record<string, string>>;
};

/** Settings of {@link tfjsVariables}. */
export type TfjsVariablesOptions = TfjsModelOptions & {
  /** The variables by the names to record them under: `{ 'hidden/kernel': w }` belongs to the layer `hidden`. */
  readonly variables: Readonly<Record<string, object>>;
  /** The optimizer whose steps are observed. */
  readonly optimizer?: TfjsOptimizer;
};

/** A model of TensorFlow.js as the hook engine and the parameter diagnostics see it. */
export interface TfjsSource extends ModelSource {
  /**
   * Shows a tensor that belongs to no layer, such as an activation of a model made of `tf.variable`s, and returns the tensor
   * to go on with: `const h = source.tap('hidden', tf.relu(...))`.
   *
   * @param name one of the names in the option `taps`
   * @throws {QuarkError} `invalid_input` for another name
   */
  tap<T extends object>(name: string, tensor: T): T;
}

/**
 * A layers model for {@link HookEngine} and {@link ParameterDiagnostics}: forward activations, gradients with respect to
 * layer outputs, parameter values, gradients and updates, in `fit`, `fitDataset`, `trainOnBatch`, `optimizer.minimize` and
 * `tf.variableGrads` with `applyGradients`. Nothing is changed before something watches, and everything is undone when
 * nothing does any more.
 *
 * What the model is given is recorded as activations of its `InputLayer`s, without gradients; numbers of tokens, and inputs of layers
 * that are used more than once, are left out.
 *
 * Nested layers are named by their path (`encoder/dense_1`). Wrappers (Bidirectional, TimeDistributed) count as one leaf;
 * what they wrap is listed below them and observed where `leafModulesOnly` is false. A frozen prefix has no gradients.
 *
 * @param tf the TensorFlow.js namespace the model was made with
 * @param model a built `tf.LayersModel`
 * @param optimizer the optimizer that trains it; default: the one it is compiled with, also after it is compiled again
 * @throws {QuarkError} `invalid_input` when an argument is wrong
 * @example
 * ```js
 * import * as tf from '@tensorflow/tfjs';
 * import { TrainingSession } from 'quark-sdk';
 * import { HookEngine } from 'quark-sdk/probes';
 * import { tfjsModel } from 'quark-sdk/tfjs';
 *
 * const layers = [tf.layers.dense({ name: 'hidden', units: 4, inputShape: [2] }), tf.layers.dense({ name: 'output', units: 1 })];
 * const model = tf.sequential({ layers });
 * model.compile({ optimizer: 'sgd', loss: 'meanSquaredError' });
 * await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, async (session) => {
 *   const hooks = new HookEngine(session, tfjsModel(tf, model));
 *   console.log(hooks.instrumentedModuleNames);
 *   await hooks.step(0, {}, () => model.trainOnBatch(tf.ones([8, 2]), tf.ones([8, 1])));
 *   console.log((await hooks.read()).length);
 * });
 * ```
 */
export function tfjsModel(
  tf: TfjsRuntime,
  model: TfjsLayersModel,
  optimizer?: TfjsOptimizer,
  options: TfjsModelOptions = {},
): TfjsSource {
  checkRuntime(tf);
  if (typeof model !== 'object' || model === null || !Array.isArray(model.layers))
    throw invalidInput('model', model, 'a tf.LayersModel; for tf.variables use tfjsVariables()');
  if (optimizer !== undefined) checkOptimizer('optimizer', optimizer);
  checkOptionNames('options', options, ['taps']);
  checkBuilt(model);
  const current = (): object | undefined => optimizer ?? optimizerOf(model);
  const layers = findLayers(model);
  const parameters = findParameters(layers, () => groupOf(current()));
  return new Source(tf, [...layers, ...tapsOf(options)], parameters, current);
}

/**
 * A model made of `tf.variable`s, for {@link HookEngine} and {@link ParameterDiagnostics}. Activations are shown with
 * {@link TfjsSource.tap}.
 *
 * @param tf the TensorFlow.js namespace the variables were made with
 * @throws {QuarkError} `invalid_input` when an argument is wrong
 * @example
 * ```js
 * import * as tf from '@tensorflow/tfjs';
 * import { TrainingSession } from 'quark-sdk';
 * import { HookEngine } from 'quark-sdk/probes';
 * import { tfjsVariables } from 'quark-sdk/tfjs';
 *
 * const [kernel, optimizer] = [tf.variable(tf.ones([2, 1])), tf.train.sgd(0.1)];
 * const source = tfjsVariables(tf, { variables: { 'hidden/kernel': kernel }, optimizer, taps: { hidden: 'Dense' } });
 * await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, async (session) => {
 *   const hooks = new HookEngine(session, source);
 *   hooks.step(0, {}, () =>
 *     optimizer.minimize(() => source.tap('hidden', tf.matMul(tf.ones([8, 2]), kernel)).square().mean().asScalar()),
 *   );
 *   for (const { moduleName, summaryType, norm } of await hooks.read()) console.log(moduleName, summaryType, norm);
 * });
 * ```
 */
export function tfjsVariables(tf: TfjsRuntime, options: TfjsVariablesOptions): TfjsSource {
  checkRuntime(tf);
  checkOptionNames('options', options, ['variables', 'optimizer', 'taps']);
  const { variables, optimizer } = options;
  if (typeof variables !== 'object' || variables === null)
    throw invalidInput('options.variables', variables, 'variables by name');
  if (optimizer !== undefined) checkOptimizer('options.optimizer', optimizer);
  const parameters = namedParameters(variables, () => groupOf(optimizer));
  return new Source(tf, tapsOf(options), parameters, () => optimizer);
}

/** Whether two sources see one and the same model: the same layers and weights. */
export function isSameModel(first: TfjsSource, second: TfjsSource): boolean {
  if (first === second) return true;
  return first instanceof Source && second instanceof Source && first.sees(second);
}

class Source implements TfjsSource {
  readonly framework = 'tfjs';
  readonly layers: readonly LayerInfo[];
  readonly parameters: readonly ParameterInfo[];
  readonly #tf: TfjsRuntime;
  readonly #found: readonly FoundLayer[];
  readonly #weights: readonly FoundParameter[];
  readonly #taps: ReadonlyMap<string, number>;
  readonly #layerWatches: LayerWatches;
  readonly #optimizerWatches: OptimizerWatches;
  readonly #optimizer: () => object | undefined;
  #untapLayers: readonly (() => void)[] = [];
  #backend: string;

  constructor(
    tf: TfjsRuntime,
    layers: readonly FoundLayer[],
    parameters: readonly FoundParameter[],
    optimizer: () => object | undefined,
  ) {
    this.#tf = tf;
    this.#found = layers;
    this.#weights = parameters;
    this.#optimizer = optimizer;
    this.layers = Object.freeze(layers.map(({ info }) => info));
    this.parameters = Object.freeze(parameters.map(({ info }) => info));
    this.#taps = new Map(
      layers.flatMap(({ info, layer }, i) =>
        layer === undefined ? [[info.name, i] as const] : [],
      ),
    );
    this.#layerWatches = new LayerWatches(tf);
    this.#optimizerWatches = new OptimizerWatches(tf, parameters);
    this.#backend = tf.getBackend();
  }

  /** Whether the other one was made of the same objects. */
  sees(other: Source): boolean {
    return (
      this.#found.length === other.#found.length &&
      this.#found.every(({ layer, info }, i) => {
        const found = other.#found[i];
        return layer === found?.layer && isSameInfo(info, found?.info);
      }) &&
      this.#weights.length === other.#weights.length &&
      this.#weights.every(({ variableName, info }, i) => {
        const weight = other.#weights[i];
        return variableName === weight?.variableName && isSameInfo(info, weight.info);
      })
    );
  }

  tap<T extends object>(name: string, tensor: T): T {
    const position = this.#taps.get(name);
    if (position === undefined)
      throw invalidInput('name', name, `one of the taps: ${[...this.#taps.keys()].join(', ')}`);
    if (!this.#layerWatches.wants(position)) return tensor;
    return this.#layerWatches.observe(position, tensor) as T;
  }

  watchLayers(watch: LayerWatch): () => void {
    if (this.#layerWatches.isEmpty) this.#tapLayers();
    this.#layerWatches.add(watch);
    return () => {
      this.#layerWatches.remove(watch);
      if (!this.#layerWatches.isEmpty) return;
      for (const untap of this.#untapLayers) untap();
      this.#untapLayers = [];
    };
  }

  watchParameters(watch: ParameterWatch): () => void {
    this.#optimizerWatches.add(watch);
    this.#optimizerWatches.tap(this.#optimizer());
    return () => {
      this.#optimizerWatches.remove(watch);
      if (this.#optimizerWatches.isEmpty) this.#optimizerWatches.tap(undefined);
    };
  }

  readParameter(parameter: number): TensorRef {
    const weight = this.#weights[parameter];
    if (weight === undefined)
      throw invalidInput('parameter', parameter, `below ${this.#weights.length}`);
    let tensor: TfTensor;
    try {
      tensor = weight.read();
    } catch (error) {
      throw new QuarkError(
        'probe_failed',
        `The value of ${weight.info.name} is gone: ${messageOf(error)}`,
        { details: { reason: 'tensor_disposed', parameter: weight.info.name }, cause: error },
      );
    }
    return new TfTensorRef(this.#tf, tensor);
  }

  openBatch(): DeviceBatch {
    return new TfDeviceBatch(this.#tf);
  }

  inspect(): readonly SourceTrouble[] {
    const troubles: SourceTrouble[] = [];
    const backend = this.#tf.getBackend();
    if (backend !== this.#backend) {
      troubles.push({
        reason: 'backend_changed',
        message: `The backend was switched from ${this.#backend} to ${backend}; probes go on there. Gradients of the two are not compared.`,
      });
      this.#backend = backend;
      // Who asks is one of several that observe the model.
      this.#optimizerWatches.forget();
    }
    if (!this.#optimizerWatches.isEmpty) {
      const optimizer = this.#optimizer();
      const { tapped } = this.#optimizerWatches;
      if (optimizer !== tapped && tapped !== undefined) {
        troubles.push({
          reason: 'optimizer_replaced',
          message:
            'The model was compiled with another optimizer, which is observed from here on; what it did before is not recorded.',
        });
      }
      this.#optimizerWatches.tap(optimizer);
    }
    return troubles;
  }

  #tapLayers(): void {
    const watches = this.#layerWatches;
    this.#untapLayers = this.#found.flatMap(({ fedTo, layer, info }, position) => {
      if (layer === undefined) return [];
      if (fedTo !== undefined)
        return tapMethod(
          fedTo.layer,
          'call',
          (original) =>
            function (this: unknown, ...args) {
              if (watches.wants(position)) {
                const [given] = args;
                watches.observeInput(
                  position,
                  Array.isArray(given) ? given[fedTo.position] : given,
                );
              }
              return original.apply(this, args);
            },
        );
      return tapMethod(
        layer,
        'call',
        (original) =>
          function (this: unknown, ...args) {
            const output = original.apply(this, args);
            if (!watches.wants(position)) return output;
            return watches.observe(position, output, info.isLeaf ? args[0] : undefined);
          },
      );
    });
  }
}

/** Layers and parameters are described by text, numbers and lists of them, always in one order. */
function isSameInfo(first: object, second: object | undefined): boolean {
  return JSON.stringify(first) === JSON.stringify(second);
}

function tapsOf({ taps = {} }: TfjsModelOptions): readonly FoundLayer[] {
  return Object.entries(taps).map(([name, type]) => {
    if (typeof type !== 'string' || type === '')
      throw invalidInput(`options.taps.${name}`, type, 'the type to record it under');
    return { info: { name, type, isLeaf: true }, layer: undefined };
  });
}

/** A sequential model is built at its first use, and has its weights from then on: this is the first use. */
function checkBuilt(model: TfjsLayersModel): void {
  if (!('built' in model) || model.built !== false || model.layers.length === 0) return;
  try {
    if ('build' in model && typeof model.build === 'function') model.build();
  } catch (error) {
    throw invalidInput(
      'model',
      `a model that cannot be built yet (${messageOf(error)})`,
      'built: give the first layer an inputShape, or call model.build() with one',
    );
  }
}

function optimizerOf(model: TfjsLayersModel): object | undefined {
  const { optimizer } = model;
  return typeof optimizer === 'object' && optimizer !== null && 'applyGradients' in optimizer
    ? optimizer
    : undefined;
}

/** TensorFlow.js has one group of parameters an optimizer: it is called after the optimizer. */
function groupOf(optimizer: object | undefined): string | null {
  if (optimizer === undefined) return null;
  const name: unknown =
    'getClassName' in optimizer && typeof optimizer.getClassName === 'function'
      ? optimizer.getClassName()
      : undefined;
  return typeof name === 'string' && name !== '' ? name : 'default';
}

function checkRuntime(tf: TfjsRuntime): void {
  if (typeof tf?.customGrad !== 'function' || typeof tf.engine !== 'function')
    throw invalidInput('tf', tf, 'the TensorFlow.js namespace');
}

function checkOptimizer(field: string, optimizer: unknown): void {
  if (typeof optimizer !== 'object' || optimizer === null || !('applyGradients' in optimizer))
    throw invalidInput(field, optimizer, 'a tf.Optimizer');
}
