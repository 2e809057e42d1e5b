/** The probes that go along with a `fit`. */
import { invalidInput } from '../../base/errors.ts';
import { HookEngine } from '../../instruments/probes/hook-engine.ts';
import { checkHookConfig, type HookEngineConfig } from '../../instruments/probes/hook-config.ts';
import {
  checkParameterConfig,
  type ParameterDiagnosticsConfig,
} from '../../instruments/probes/parameter-config.ts';
import { ParameterDiagnostics } from '../../instruments/probes/parameter-diagnostics.ts';
import type {
  LayerWatch,
  ModelSource,
  ParameterWatch,
  TensorRef,
} from '../../instruments/probes/model-source.ts';
import { addSince, threadTime } from '../../base/thread/thread-time.ts';
import type { TrainingSession } from '../../session/training-session.ts';
import { isSameModel, tfjsModel, type TfjsSource } from './tfjs-model.ts';
import type { TfjsLayersModel, TfjsRuntime } from './tfjs-types.ts';

/** Which probes go along with a training. */
export type TrainingProbesOptions = {
  /**
   * Records activations and gradients of layers: true, false, or the settings of the hook engine. True, the default: from
   * every 10th step on, as often as the overhead budget of the callback allows.
   */
  readonly hooks?: boolean | HookEngineConfig;
  /** Records parameters, their gradients and updates: true, the default, false, or the settings. As often as hooks. */
  readonly parameters?: boolean | ParameterDiagnosticsConfig;
  /** The model as probes see it, where it has taps; default `tfjsModel(tf, model)`. */
  readonly source?: TfjsSource;
};

/** The schedule that `true` stands for. */
const SCHEDULE = Object.freeze({ everyNSteps: 10 });

/** The probes of one model, which last over several fits and are on the model during them only. */
export class TrainingProbes {
  readonly #session: TrainingSession;
  readonly #tf: TfjsRuntime;
  readonly #model: TfjsLayersModel;
  readonly #options: TrainingProbesOptions;
  /** Share of the training time that probes may take, asked for at every choice; null: as scheduled. */
  readonly #share: (() => number) | null;
  #seen: TfjsSource | undefined;
  #source: DetachableSource | undefined;
  #hooks: HookEngine | undefined;
  #parameters: ParameterDiagnostics | undefined;
  #isProbed = false;

  constructor(
    session: TrainingSession,
    tf: TfjsRuntime,
    model: TfjsLayersModel,
    options: TrainingProbesOptions,
    share: (() => number) | null,
  ) {
    this.#share = share;
    this.#session = session;
    this.#tf = tf;
    this.#model = model;
    this.#options = options;
  }

  /**
   * Attaches to the model. What is known from earlier fits remains, unless the model has other layers or weights since.
   *
   * @throws {QuarkError} `invalid_input`; where errors are raised, `probe_failed`
   */
  async begin(): Promise<void> {
    const { hooks = true, parameters = true } = this.#options;
    if (hooks === false && parameters === false) return;
    // Those of a fit that threw are attached: it calls no callback then.
    this.#takeOff();
    const seen = this.#options.source ?? tfjsModel(this.#tf, this.#model);
    if (this.#source !== undefined && this.#seen !== undefined && isSameModel(this.#seen, seen)) {
      this.#source.resume();
      return;
    }
    await this.close();
    try {
      this.#open(seen, hooks, parameters);
    } catch (error) {
      // One may have been made before the other could not be.
      await this.close();
      throw error;
    }
  }

  beginStep(step: number, epoch: number): void {
    this.#parameters?.beginStep();
    this.#isProbed = this.#hooks?.beginStep(step, { epoch }) === true;
  }

  endStep(step: number, epoch: number): void {
    const began = performance.now();
    const { totalMs } = threadTime;
    const isOpen = this.#isProbed;
    this.#isProbed = false;
    this.#hooks?.endStep();
    const isRead = this.#parameters?.snapshot(step, { epoch }) === true;
    if (isOpen || isRead) addSince('probes', began, totalMs);
  }

  /** Goes off the model and writes what was found. */
  async end(): Promise<void> {
    this.#takeOff();
    await this.#hooks?.drain();
    await this.#parameters?.drain();
  }

  async close(): Promise<void> {
    const hooks = this.#hooks;
    const parameters = this.#parameters;
    this.#source?.pause();
    this.#source = undefined;
    this.#seen = undefined;
    this.#hooks = undefined;
    this.#parameters = undefined;
    await hooks?.close();
    await parameters?.close();
  }

  #open(
    seen: TfjsSource,
    hooks: boolean | HookEngineConfig,
    parameters: boolean | ParameterDiagnosticsConfig,
  ): void {
    const source = new DetachableSource(seen);
    this.#seen = seen;
    this.#source = source;
    const share = this.#share;
    // One of two gets half of what there is for both.
    const part = hooks === true && parameters === true ? 0.5 : 1;
    const budgeted = {
      schedule: SCHEDULE,
      overheadBudget: share === null ? null : (): number => part * share(),
    };
    if (hooks !== false)
      this.#hooks = new HookEngine(this.#session, source, hooks === true ? budgeted : hooks);
    if (parameters !== false) {
      const settings = parameters === true ? budgeted : parameters;
      this.#parameters = new ParameterDiagnostics(this.#session, source, settings);
    }
  }

  #takeOff(): void {
    this.#hooks?.abandonStep();
    this.#source?.pause();
  }
}

/** @throws {QuarkError} `invalid_input` naming the option */
export function checkTrainingProbes(options: TrainingProbesOptions): void {
  for (const name of ['hooks', 'parameters'] as const) {
    const given = options[name];
    if (given === undefined || typeof given === 'boolean') continue;
    if (typeof given !== 'object' || given === null)
      throw invalidInput(`options.${name}`, given, 'true, false or its settings');
  }
  // Now, and not when the first fit begins: a typing error is to be seen.
  if (typeof options.hooks === 'object') checkHookConfig(options.hooks);
  if (typeof options.parameters === 'object') checkParameterConfig(options.parameters);
  const { source } = options;
  if (source !== undefined && typeof source?.watchLayers !== 'function')
    throw invalidInput('options.source', source, 'what tfjsModel() gave');
}

type Watching = { readonly start: () => () => void; stop: (() => void) | undefined };

/** A source that can be detached from its model and attached again while it has watches. */
class DetachableSource implements ModelSource {
  readonly framework: string;
  readonly layers: ModelSource['layers'];
  readonly parameters: ModelSource['parameters'];
  readonly openBatch?: NonNullable<ModelSource['openBatch']>;
  readonly inspect?: NonNullable<ModelSource['inspect']>;
  readonly #source: ModelSource;
  readonly #watching = new Set<Watching>();
  #isPaused = false;

  constructor(source: ModelSource) {
    this.#source = source;
    this.framework = source.framework;
    this.layers = source.layers;
    this.parameters = source.parameters;
    if (source.openBatch !== undefined) this.openBatch = source.openBatch.bind(source);
    if (source.inspect !== undefined) this.inspect = source.inspect.bind(source);
  }

  watchLayers(watch: LayerWatch): () => void {
    return this.#watch(() => this.#source.watchLayers(watch));
  }

  watchParameters(watch: ParameterWatch): () => void {
    return this.#watch(() => this.#source.watchParameters(watch));
  }

  readParameter(parameter: number): TensorRef {
    return this.#source.readParameter(parameter);
  }

  /** Detaches from the model. */
  pause(): void {
    this.#isPaused = true;
    for (const watching of this.#watching) {
      watching.stop?.();
      watching.stop = undefined;
    }
  }

  /** Attaches again. */
  resume(): void {
    this.#isPaused = false;
    for (const watching of this.#watching) watching.stop ??= watching.start();
  }

  #watch(start: () => () => void): () => void {
    const watching: Watching = { start, stop: this.#isPaused ? undefined : start() };
    this.#watching.add(watching);
    return () => {
      this.#watching.delete(watching);
      watching.stop?.();
      watching.stop = undefined;
    };
  }
}
