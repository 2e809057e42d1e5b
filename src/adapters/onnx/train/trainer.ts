/** Runs a training step on onnxruntime-web, keeps the weights where they are computed, and shows probes what happens. */
import { checkOptionNames } from '../../../base/assert.ts';
import { ASYNC_DISPOSE } from '../../../base/dispose.ts';
import { invalidInput, QuarkError } from '../../../base/errors.ts';
import { Mutex } from '../../../base/mutex.ts';
import { inSpan } from '../../../base/profiling.ts';
import { ProfileStep } from '../../../base/profile-steps.ts';
import type { ModelSource } from '../../../instruments/probes/model-source.ts';
import { checkLearningRate, optimizerScalars } from './optimizers.ts';
import {
  createSession,
  createTensor,
  providerOf,
  type Ort,
  type OrtSession,
  type OrtSessionOptions,
  type OrtTensor,
} from '../ort.ts';
import { batchFeeds, type OnnxBatch } from './batch-feeds.ts';
import { noiseFeeds } from './noise-feeds.ts';
import { Breather } from '../../../base/breather.ts';
import { DeviceReductions } from './device-reductions.ts';
import { DeviceTensors } from './device-tensors.ts';
import { TrainerSource } from './trainer-source.ts';
import type { OnnxTraining } from './training-step.ts';

/** Where the weights are kept between steps. */
export const WEIGHT_LOCATIONS = ['cpu', 'gpu-buffer', 'ml-tensor'] as const;

/** One of {@link WEIGHT_LOCATIONS}. */
export type WeightLocation = (typeof WEIGHT_LOCATIONS)[number];

/** Options of {@link openOnnxTrainer}. */
export type OnnxTrainerOptions = {
  /** Options of `ort.InferenceSession.create`: `{ executionProviders: ['webgpu'] }`. */
  readonly sessionOptions?: OrtSessionOptions;
  /**
   * Where weights and moments stay between steps: `gpu-buffer` for the provider `webgpu`, `ml-tensor` for `webnn`, `cpu`
   * else, unless given.
   */
  readonly weightLocation?: WeightLocation;
  /** Of the noise of dropout, a whole number; 0 unless given. Equal seeds and batches give equal trainings. */
  readonly seed?: number;
};

/** Options of {@link OnnxTrainer.step}. */
export type OnnxStepOptions = {
  /** From this step on; 0 or more. That of the optimizer unless given. */
  readonly learningRate?: number;
};

/**
 * Loads a training step into onnxruntime-web.
 *
 * @param ort the module: `import * as ort from 'onnxruntime-web'`, or `'onnxruntime-web/webgpu'`
 * @throws {QuarkError} `invalid_input`; what onnxruntime throws when it cannot load the graph
 * @example
 * ```js
 * import * as ort from 'onnxruntime-web';
 * import { buildOnnxTraining, openOnnxTrainer } from 'quark-sdk/onnx';
 *
 * ort.env.wasm.numThreads = 1;
 * const training = buildOnnxTraining(
 *   { inputShape: [2], layers: [{ kind: 'dense', name: 'output', units: 1 }] },
 *   { loss: { kind: 'meanSquaredError' }, optimizer: { kind: 'sgd', learningRate: 0.1 } },
 * );
 * const trainer = await openOnnxTrainer(ort, training);
 * const batch = { x: new Float32Array([0, 1, 1, 0]), y: new Float32Array([1, 0]) }; // two samples
 * const losses = [];
 * for (let step = 0; step < 20; step++) losses.push(await trainer.step(batch));
 * console.log(losses[19] < losses[0], trainer.stepCount); // true 20
 * console.log((await trainer.exportModel()).length > 100); // true: an .onnx file
 * await trainer.close();
 * ```
 */
export async function openOnnxTrainer(
  ort: Ort,
  training: OnnxTraining,
  options: OnnxTrainerOptions = {},
): Promise<OnnxTrainer> {
  checkOptionNames('options', options, ['sessionOptions', 'weightLocation', 'seed']);
  const { sessionOptions = {} } = options;
  const location = options.weightLocation ?? locationFor(sessionOptions);
  if (!WEIGHT_LOCATIONS.includes(location))
    throw invalidInput('options.weightLocation', location, `one of ${WEIGHT_LOCATIONS.join(', ')}`);
  const { seed = 0 } = options;
  if (!Number.isSafeInteger(seed)) throw invalidInput('options.seed', seed, 'a whole number');
  const session = await createSession(ort, training.bytes, {
    ...sessionOptions,
    ...(location === 'cpu' ? {} : { preferredOutputLocation: outputLocations(training, location) }),
  });
  return new OnnxTrainer(ort, training, session, { sessionOptions, location, seed });
}

/** What is kept from step to step stays on the device; so does what a probe looks at, where it is reduced there. */
function outputLocations(training: OnnxTraining, location: WeightLocation): Record<string, string> {
  const { parameters, state, layers } = training;
  const names: (string | null)[] = [...parameters, ...state].map(({ updated }) => updated);
  if (location === 'gpu-buffer') {
    names.push(...parameters.map(({ gradient }) => gradient));
    for (const { activation, gradient } of layers) names.push(activation, gradient);
  }
  return Object.fromEntries(names.flatMap((name) => (name === null ? [] : [[name, location]])));
}

function locationFor(options: OrtSessionOptions): WeightLocation {
  const provider = providerOf(options);
  if (provider === 'webgpu') return 'gpu-buffer';
  return provider === 'webnn' ? 'ml-tensor' : 'cpu';
}

/** What a trainer is made with. */
type TrainerSettings = {
  readonly sessionOptions: OrtSessionOptions;
  readonly location: WeightLocation;
  readonly seed: number;
};

/**
 * A network under training. Probed steps run the very graph that other steps run and only fetch more of its outputs, so
 * probing cannot change the training. Make one with {@link openOnnxTrainer}; close it when it is no longer needed.
 */
export class OnnxTrainer implements AsyncDisposable {
  /** Layers and parameters, for `HookEngine` and `ParameterDiagnostics`. */
  readonly source: ModelSource;
  readonly #ort: Ort;
  readonly #training: OnnxTraining;
  readonly #session: OrtSession;
  readonly #sessionOptions: OrtSessionOptions;
  readonly #source: TrainerSource;
  /** Parameters and state by name. */
  readonly #values = new Map<string, OrtTensor>();
  readonly #device: DeviceTensors;
  readonly #reductions: DeviceReductions;
  readonly #mutex = new Mutex();
  readonly #breather = new Breather();
  #predictor: OrtSession | undefined;
  #learningRate: number;
  #stepCount = 0;
  #hadFirstStep = false;
  #isClosed = false;
  readonly #seed: number;

  /** @internal */
  constructor(
    ort: Ort,
    training: OnnxTraining,
    session: OrtSession,
    { sessionOptions, location, seed }: TrainerSettings,
  ) {
    this.#seed = seed;
    // The initial weights come from the host, and are compared with what the device makes of them.
    this.#device = new DeviceTensors(location === 'gpu-buffer');
    this.#ort = ort;
    this.#training = training;
    this.#session = session;
    this.#sessionOptions = sessionOptions;
    this.#learningRate = training.optimizer.learningRate;
    for (const { name, initial, shape } of [...training.parameters, ...training.state])
      this.#values.set(name, createTensor(ort, 'float32', initial.slice(), shape));
    this.#reductions = new DeviceReductions(this.#device, (bytes) =>
      createSession(ort, bytes, sessionOptions),
    );
    this.#source = new TrainerSource(
      training,
      (tensor) => this.#device.refer(tensor),
      (name) => this.#value(name),
      () => this.#reductions.openBatch((work) => this.#mutex.run(work)),
    );
    this.source = this.#source;
  }

  /** Steps so far. */
  get stepCount(): number {
    return this.#stepCount;
  }

  /** The learning rate of the next step. */
  get learningRate(): number {
    return this.#learningRate;
  }

  /**
   * One step: forward, loss, backward, update. Steps run one after the other. Every few milliseconds the event loop gets a
   * turn, so that a loop of steps does not hold up a page.
   *
   * @param batch a tensor or numbers for each input of the network, and for the targets
   * @returns the loss, before the update
   * @throws {QuarkError} `invalid_input` naming the input; what onnxruntime throws. The weights are unchanged then.
   */
  step(batch: OnnxBatch, options: OnnxStepOptions = {}): Promise<number> {
    checkOptionNames('options', options, ['learningRate']);
    const { learningRate = this.#learningRate } = options;
    checkLearningRate('options.learningRate', learningRate);
    return this.#mutex.run(async () => {
      this.#checkOpen();
      this.#learningRate = learningRate;
      const loss = this.#hadFirstStep
        ? await this.#runStep(batch)
        : await inSpan(ProfileStep.FIRST_STEP, () => this.#runStep(batch));
      this.#hadFirstStep = true;
      await this.#breather.breathe();
      return loss;
    });
  }

  /**
   * The network's output for a batch, computed with the present weights and, in batch normalisation, the running means.
   *
   * @returns a tensor the caller owns
   * @throws {QuarkError} `invalid_input` naming the input; what onnxruntime throws
   */
  predict(batch: OnnxBatch): Promise<OrtTensor> {
    return this.#mutex.run(async () => {
      this.#checkOpen();
      const { predictBytes, inputs, prediction } = this.#training;
      this.#predictor ??= await createSession(this.#ort, predictBytes, this.#sessionOptions);
      const feeds = batchFeeds(this.#ort, batch, inputs);
      for (const name of this.#predictor.inputNames) feeds[name] ??= this.#value(name);
      const output = (await this.#predictor.run(feeds, [prediction]))[prediction];
      if (output === undefined) throw failed(`gave no output "${prediction}"`);
      return output;
    });
  }

  /** The finished model with the present weights inside: an `.onnx` file that any runtime takes. */
  async exportModel(): Promise<Uint8Array<ArrayBuffer>> {
    return inSpan(ProfileStep.MODEL_SAVING, async () =>
      this.#training.exportModel(await this.readWeights()),
    );
  }

  /**
   * Copies of all parameters, moments and running means by name, row-major float32: what has to be kept to go on later.
   * The number of steps, which Adam needs, is {@link OnnxTrainer.stepCount}.
   */
  readWeights(): Promise<Record<string, Float32Array<ArrayBuffer>>> {
    return this.#mutex.run(async () => {
      this.#checkOpen();
      const weights: Record<string, Float32Array<ArrayBuffer>> = {};
      for (const [name, tensor] of this.#values) {
        const data = await tensor.getData();
        if (!(data instanceof Float32Array)) throw failed(`gave no numbers for "${name}"`);
        weights[name] = data.slice();
      }
      return weights;
    });
  }

  /**
   * Sets parameters, moments and running means. Those that are not named stay as they are.
   *
   * @param stepCount steps that led to them; unchanged unless given
   * @throws {QuarkError} `invalid_input` naming what does not fit; nothing is set then
   */
  loadWeights(weights: Readonly<Record<string, Float32Array>>, stepCount?: number): Promise<void> {
    return this.#mutex.run(async () => {
      this.#checkOpen();
      const known = new Map(
        [...this.#training.parameters, ...this.#training.state].map((value) => [value.name, value]),
      );
      for (const [name, data] of Object.entries(weights)) {
        const size = known.get(name)?.initial.length;
        if (size === undefined)
          throw invalidInput(`weights.${name}`, name, 'the name of a parameter or a state');
        if (!(data instanceof Float32Array) || data.length !== size)
          throw invalidInput(`weights.${name}`, data?.length, `a Float32Array of ${size} numbers`);
      }
      if (stepCount !== undefined && !(Number.isSafeInteger(stepCount) && stepCount >= 0))
        throw invalidInput('stepCount', stepCount, 'a non-negative integer');
      for (const [name, data] of Object.entries(weights))
        this.#replace(
          name,
          createTensor(this.#ort, 'float32', data.slice(), known.get(name)?.shape ?? []),
        );
      this.#stepCount = stepCount ?? this.#stepCount;
    });
  }

  /** Frees the sessions and the weights; every later call throws. */
  close(): Promise<void> {
    return this.#mutex.run(async () => {
      if (this.#isClosed) return;
      this.#isClosed = true;
      for (const tensor of this.#values.values()) this.#device.drop(tensor);
      await this.#reductions.close();
      await this.#session.release();
      await this.#predictor?.release();
    });
  }

  [ASYNC_DISPOSE](): Promise<void> {
    return this.close();
  }

  async #runStep(batch: OnnxBatch): Promise<number> {
    const { inputs, target, classCount, loss, parameters, state } = this.#training;
    const feeds: Record<string, OrtTensor> = {
      ...Object.fromEntries(this.#values),
      ...batchFeeds(this.#ort, batch, [...inputs, target], { name: target.name, classCount }),
    };
    for (const [name, tensor] of noiseFeeds(this.#ort, this.#training, feeds, {
      seed: this.#seed,
      step: this.#stepCount,
    }))
      feeds[name] = tensor;
    for (const [name, value] of optimizerScalars(
      this.#training.optimizer,
      this.#learningRate,
      this.#stepCount,
    ))
      feeds[name] = createTensor(this.#ort, 'float32', Float32Array.of(value), []);
    const kept = [...parameters, ...state].flatMap(({ name, updated }) =>
      updated === null ? [] : [{ name, updated }],
    );
    const fetches = new Set([
      loss,
      ...kept.map(({ updated }) => updated),
      ...this.#source.wanted(),
    ]);
    const outputs = await this.#session.run(feeds, [...fetches]);
    const before = new Map(this.#values);
    // What came is held while probes look at it; weights until the next step, by the trainer.
    for (const tensor of Object.values(outputs)) this.#device.hold(tensor);
    for (const { name, updated } of kept) {
      const value = outputs[updated];
      if (value === undefined) throw failed(`gave no output "${updated}"`);
      this.#device.hold(value);
      this.#values.set(name, value);
    }
    this.#stepCount += 1;
    this.#source.show(outputs, before);
    for (const tensor of Object.values(outputs)) this.#device.drop(tensor);
    for (const { name } of kept) {
      const old = before.get(name);
      if (old !== undefined) this.#device.drop(old);
    }
    const data = outputs[loss]?.data;
    if (!(data instanceof Float32Array)) throw failed('gave no loss');
    return data[0] ?? Number.NaN;
  }

  #value(name: string): OrtTensor {
    const value = this.#values.get(name);
    if (value === undefined) throw invalidInput('name', name, 'the name of a parameter or a state');
    return value;
  }

  #replace(name: string, tensor: OrtTensor): void {
    this.#device.drop(this.#value(name));
    this.#values.set(name, tensor);
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new QuarkError('writer_closed', 'The trainer is closed.');
  }
}

const failed = (what: string): QuarkError =>
  new QuarkError('kernel_failed', `onnxruntime ${what}.`);
