/**
 * The training API that onnxruntime-web had from 1.17 to 1.19 (`onnxruntime-web/training`) and has no more. It is frozen:
 * this watches it and adds nothing to it. Such a session cannot fetch what is no output, so the training model is given
 * its intermediate tensors as outputs, each through an Identity of another name, because the API hides outputs whose
 * names end in `_grad`.
 */
import { checkOptionNames } from '../../../base/assert.ts';
import { ASYNC_DISPOSE } from '../../../base/dispose.ts';
import { invalidInput, messageOf, QuarkError } from '../../../base/errors.ts';
import type { LayerFilterConfig } from '../../../instruments/probes/layer-filter.ts';
import type {
  LayerWatch,
  ModelSource,
  ParameterWatch,
  TensorRef,
} from '../../../instruments/probes/model-source.ts';
import { captureModel, type CapturedModel } from './legacy-model.ts';
import { hostData, hostRef, type OrtTensor, type OrtValues } from '../ort.ts';
import { askedOutputs } from './run-arguments.ts';

/** An `ort.TrainingSession` of onnxruntime-web 1.17 to 1.19. */
export interface LegacyTrainingSession {
  readonly trainingOutputNames: readonly string[];
  runTrainStep(feeds: OrtValues, ...rest: unknown[]): Promise<OrtValues>;
  runOptimizerStep(options?: unknown): Promise<void>;
  lazyResetGrad(): Promise<void>;
  getContiguousParameters(trainableOnly: boolean): Promise<OrtTensor>;
  release(): Promise<void>;
}

/** The module: `import * as ort from 'onnxruntime-web/training'`. */
export interface LegacyOrt {
  readonly TrainingSession: { create(artifacts: never, options?: never): Promise<object> };
}

/** What `ort.TrainingSession.create` takes; the training model as bytes. */
export type LegacyTrainingArtifacts = {
  readonly checkpointState: Uint8Array | string;
  readonly trainModel: Uint8Array;
  readonly optimizerModel?: Uint8Array | string;
  readonly evalModel?: Uint8Array | string;
};

/** Options of {@link openLegacyOnnxTraining}. */
export type LegacyTrainingOptions = {
  /** Layers to observe; those that compute unless given. Each costs a copy of its output, and of its gradient, a step. */
  readonly filters?: LayerFilterConfig;
  /** Options of `ort.TrainingSession.create`. */
  readonly sessionOptions?: object;
};

/** The type of the sessions a module makes: `ort.TrainingSession`. */
export type LegacySessionOf<O extends LegacyOrt> = Awaited<
  ReturnType<O['TrainingSession']['create']>
>;

/**
 * Opens a session of the training API of onnxruntime-web 1.17 to 1.19 so that it can be observed. The API was taken out
 * in 1.20; for later versions see `buildOnnxTraining`.
 *
 * @param ort the module: `import * as ort from 'onnxruntime-web/training'`. Node does not find it by that name;
 * there it is `onnxruntime-web/dist/ort.training.wasm.min.mjs`, by its path, of 1.19
 * @throws {QuarkError} `invalid_input` for a training model that is damaged or trains nothing; what onnxruntime throws
 * @example
 * ```js not-run="needs onnxruntime-web 1.17 to 1.19, and the files that its training tools make"
 * import * as ort from 'onnxruntime-web/training'; // 1.17 to 1.19
 * import { TrainingSession } from 'quark-sdk';
 * import { openLegacyOnnxTraining } from 'quark-sdk/onnx';
 * import { HookEngine } from 'quark-sdk/probes';
 *
 * const bytesOf = async (url) => new Uint8Array(await (await fetch(url)).arrayBuffer());
 * const [checkpointState, trainModel, optimizerModel] = await Promise.all(['checkpoint', 'train.onnx', 'optimizer.onnx'].map(bytesOf));
 * const training = await openLegacyOnnxTraining(ort, { checkpointState, trainModel, optimizerModel });
 * await TrainingSession.run({ project: 'digits' }, async (session) => {
 *   const hooks = new HookEngine(session, training.source);
 *   await hooks.step(0, {}, () => training.session.runTrainStep({ x: new ort.Tensor('float32', [0, 1], [1, 2]) }));
 * });
 * await training.close();
 * ```
 */
export async function openLegacyOnnxTraining<O extends LegacyOrt>(
  ort: O,
  artifacts: LegacyTrainingArtifacts,
  options: LegacyTrainingOptions = {},
): Promise<LegacyOnnxTraining<LegacySessionOf<O>>> {
  checkOptionNames('options', options, ['filters', 'sessionOptions']);
  if (
    typeof ort !== 'object' ||
    ort === null ||
    typeof ort.TrainingSession?.create !== 'function'
  ) {
    throw invalidInput(
      'ort',
      ort,
      'the module "onnxruntime-web/training" of version 1.17 to 1.19: later ones have no TrainingSession, use buildOnnxTraining() with them',
    );
  }
  const model = captureModel(artifacts.trainModel, options.filters);
  const all = { ...artifacts, trainModel: model.bytes };
  // What the module's own declarations promise.
  const session = (await ort.TrainingSession.create(
    all as never,
    options.sessionOptions as never,
  )) as LegacyTrainingSession;
  return new LegacyOnnxTraining(session, model);
}

const ownValue = (fetches: unknown, name: string): unknown =>
  typeof fetches === 'object' && fetches !== null ? (Reflect.get(fetches, name) ?? null) : null;

/** A session of the frozen training API that can be observed. Make one with {@link openLegacyOnnxTraining}. */
export class LegacyOnnxTraining<
  S extends object = LegacyTrainingSession,
> implements AsyncDisposable {
  /** Use it like the `ort.TrainingSession` it stands for. `release` closes this as well. */
  readonly session: S;
  /** Layers and trained parameters, for `HookEngine` and `ParameterDiagnostics`. */
  readonly source: ModelSource;
  readonly #session: LegacyTrainingSession;
  readonly #model: CapturedModel;
  readonly #own: readonly string[];
  readonly #layerWatches = new Set<LayerWatch>();
  readonly #parameterWatches = new Set<ParameterWatch>();
  /** Gradients of the last train step; those of several steps that were accumulated are not known. */
  #gradients: OrtValues = {};
  #stepsSinceReset = 0;
  #values: Float32Array | undefined;
  #isClosed = false;

  /** @internal */
  constructor(session: LegacyTrainingSession, model: CapturedModel) {
    this.#session = session;
    this.#model = model;
    const hidden = new Set(model.outputs);
    this.#own = session.trainingOutputNames.filter((name) => !hidden.has(name));
    this.source = this.#createSource();
    // The proxy is the session it stands for, but for what it does when run and released.
    this.session = this.#createSession() as unknown as S;
  }

  /** Frees the session. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#session.release();
  }

  [ASYNC_DISPOSE](): Promise<void> {
    return this.close();
  }

  #createSource(): ModelSource {
    const watch = <T>(all: Set<T>, one: T): (() => void) => {
      all.add(one);
      return () => void all.delete(one);
    };
    return {
      framework: 'onnxruntime-web/training',
      layers: this.#model.layers.map(({ info }) => info),
      parameters: this.#model.parameters.map(({ info }) => info),
      watchLayers: (one) => watch(this.#layerWatches, one),
      watchParameters: (one) => watch(this.#parameterWatches, one),
      readParameter: (index) => {
        const values = this.#values;
        if (values === undefined)
          throw new QuarkError(
            'unsupported',
            'The values of the parameters are known after an optimizer step that is observed.',
          );
        return this.#slice(index, values);
      },
    };
  }

  #createSession(): object {
    const replaced: Readonly<Record<string, unknown>> = {
      trainingOutputNames: this.#own,
      runTrainStep: (feeds: OrtValues, ...rest: unknown[]) => this.#runTrainStep(feeds, rest),
      runOptimizerStep: (options?: unknown) => this.#runOptimizerStep(options),
      lazyResetGrad: () => {
        this.#stepsSinceReset = 0;
        return this.#session.lazyResetGrad();
      },
      release: () => this.close(),
    };
    return new Proxy(this.#session, {
      get: (target, name) => {
        if (typeof name === 'string' && Object.hasOwn(replaced, name)) return replaced[name];
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  }

  async #runTrainStep(feeds: OrtValues, rest: readonly unknown[]): Promise<OrtValues> {
    const asked = askedOutputs([feeds, ...rest], this.#own);
    // What onnxruntime refuses it is to refuse here too.
    if (asked === undefined) return this.#session.runTrainStep(feeds, ...rest);
    const layerWatches = [...this.#layerWatches].filter(({ isActive }) => isActive);
    const wanted = this.#wanted(layerWatches);
    const options = asked.options === undefined ? [] : [asked.options];
    const names = [...new Set([...asked.names, ...wanted])];
    // Preallocated outputs are the caller's memory.
    const fetches = asked.isPlain
      ? names
      : Object.fromEntries(names.map((name) => [name, ownValue(rest[0], name)]));
    const outputs = await this.#session.runTrainStep(feeds, fetches, ...options);
    this.#stepsSinceReset += 1;
    this.#gradients = outputs;
    for (const watch of layerWatches) this.#show(watch, outputs);
    return Object.fromEntries(
      asked.names.flatMap((name) => {
        const value = outputs[name];
        return value === undefined ? [] : [[name, value]];
      }),
    );
  }

  #wanted(layerWatches: readonly LayerWatch[]): string[] {
    const names = layerWatches.flatMap(({ layers, forward, backward }) =>
      [...layers].flatMap((index) => {
        const layer = this.#model.layers[index];
        return [forward ? layer?.activation : null, backward ? layer?.gradient : null];
      }),
    );
    for (const { isActive, parameters } of this.#parameterWatches)
      if (isActive)
        for (const index of parameters) names.push(this.#model.parameters[index]?.gradient);
    return names.filter((name) => typeof name === 'string');
  }

  #show(watch: LayerWatch, outputs: OrtValues): void {
    for (const index of watch.layers) {
      const layer = this.#model.layers[index];
      if (layer === undefined) continue;
      const callIndex = watch.beginCall(index);
      for (const direction of ['forward', 'backward'] as const) {
        const name = direction === 'forward' ? layer.activation : layer.gradient;
        const tensor = name === null ? undefined : outputs[name];
        if (tensor === undefined || !watch[direction] || hostData(tensor) === undefined) continue;
        watch.capture(
          { layer: index, direction, callIndex, outputIndex: 0, isTraining: true },
          hostRef(tensor),
        );
      }
    }
  }

  /** What an optimizer did is the difference of two readings of all parameters, made only when somebody looks. */
  async #runOptimizerStep(options: unknown): Promise<void> {
    const rest = options === undefined ? [] : [options];
    const watches = [...this.#parameterWatches].filter(({ isActive }) => isActive);
    if (watches.length === 0) {
      this.#values = undefined;
      return this.#session.runOptimizerStep(...rest);
    }
    const before = await this.#read(watches);
    await this.#session.runOptimizerStep(...rest);
    this.#values = await this.#read(watches);
    if (before === undefined || this.#values === undefined) return;
    for (const watch of watches) {
      if (this.#stepsSinceReset > 1) {
        watch.warn({
          reason: 'gradients_accumulated',
          message:
            'Gradients that are accumulated over several train steps are not observed: onnxruntime does not give the sum. Updates are.',
        });
      }
      for (const index of watch.parameters) {
        const parameter = this.#model.parameters[index];
        if (parameter === undefined) continue;
        const gradient =
          this.#stepsSinceReset > 1 ? undefined : this.#gradients[parameter.gradient];
        watch.changed(index, {
          gradient: gradient === undefined ? null : hostRef(gradient),
          before: this.#slice(index, before),
        });
      }
    }
  }

  async #read(watches: readonly ParameterWatch[]): Promise<Float32Array | undefined> {
    try {
      const { data } = await this.#session.getContiguousParameters(true);
      if (data instanceof Float32Array) return data;
    } catch (error) {
      for (const watch of watches)
        watch.warn({
          reason: 'parameters_unreadable',
          message: `The parameters cannot be read: ${messageOf(error)}`,
        });
    }
    return undefined;
  }

  #slice(index: number, values: Float32Array): TensorRef {
    const parameter = this.#model.parameters[index];
    if (parameter === undefined)
      throw invalidInput('parameter', index, 'the position of a parameter');
    const { info, offset, length } = parameter;
    const data = values.subarray(offset, offset + length);
    const ref = {
      shape: info.shape,
      dtype: info.dtype,
      data,
      retain: () => ref,
      release: () => undefined,
    };
    return ref;
  }
}
