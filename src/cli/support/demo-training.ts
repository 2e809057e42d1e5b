/** The training of `quark demo`: TensorFlow.js, loaded when it is needed, on the digits that the package carries. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import {
  buildDigitsModel,
  compileDigitsModel,
  DEFAULT_DIGITS_TRAINING,
  digitBatches,
  digitTensors,
  DIGIT_CLASSES,
  DIGIT_SIDE,
  parseDigits,
  splitDigits,
  type DigitsSplit,
  type Tf,
} from '../../../demo/train/digits.ts';
import {
  DEFAULT_INSTRUMENTS,
  INSTRUMENT_EVERY_STEPS,
  instrumentCallback,
  probeOptions,
  storedInstruments,
  type DigitBatch,
} from '../../../demo/train/instruments.ts';
import { QuarkError, type TrainingSession } from '../../index.ts';
import { DataDiagnostics } from '../../probes.ts';
import { quarkCallback } from '../../tfjs.ts';
import type { TrainingPosition } from './progress.ts';

/** Backends that the demo trains on. */
export type DemoBackend = 'cpu' | 'wasm';

/** Epochs unless told otherwise: a bit over a minute on two cores. */
export const DEFAULT_EPOCHS = 12;
export const DEFAULT_SEED: number = DEFAULT_DIGITS_TRAINING.seed;

const DATA_FILE = 'digits.csv.gz';

/** What the run records of its settings. */
export type DemoConfig = {
  readonly model: string;
  readonly backend: DemoBackend;
  readonly dataset: string;
  readonly epochs: number;
  readonly batch_size: number;
  readonly learning_rate: number;
  readonly seed: number;
  readonly instruments: readonly string[];
  readonly train_images: number;
  readonly val_images: number;
};

/** A training that is ready to start. */
export type DemoTraining = {
  readonly config: DemoConfig;
  /** Trains until the end or until `signal` is aborted; returns where it got to. */
  readonly train: (
    session: TrainingSession,
    signal: AbortSignal,
    onStep: (at: TrainingPosition) => Promise<void>,
  ) => Promise<TrainingPosition>;
  /** Gives the tensors back. */
  readonly dispose: () => void;
};

/**
 * Loads TensorFlow.js and the data, and builds the model.
 *
 * @throws {QuarkError} `unsupported` when TensorFlow.js is not installed
 */
export async function prepareDemo(options: {
  readonly dataDir: string;
  readonly backend: DemoBackend;
  readonly epochs: number;
  readonly seed: number;
}): Promise<DemoTraining> {
  const { dataDir, backend, epochs, seed } = options;
  const tf = await loadTensorFlow(backend);
  const csv = gunzipSync(await readFile(join(dataDir, DATA_FILE))).toString('utf8');
  const { batchSize, learningRate, validationRatio } = DEFAULT_DIGITS_TRAINING;
  const split = splitDigits(parseDigits(csv), validationRatio, seed);
  const model =
    backend === 'wasm'
      ? buildDenseModel(tf, learningRate, seed)
      : buildDigitsModel(tf, learningRate, seed);
  const config: DemoConfig = {
    model: backend === 'wasm' ? 'dense' : 'convolutional',
    backend,
    dataset: 'UCI optical recognition of handwritten digits, 8 x 8',
    epochs,
    batch_size: batchSize,
    learning_rate: learningRate,
    seed,
    instruments: storedInstruments(DEFAULT_INSTRUMENTS),
    train_images: split.train.count,
    val_images: split.val.count,
  };
  return {
    config,
    train: (session, signal, onStep) =>
      train({ tf, model, split, config }, { session, signal, onStep }),
    dispose: () => {
      model.dispose();
    },
  };
}

type Model = ReturnType<typeof buildDigitsModel>;

/** What is trained, on what. */
type TrainedModel = {
  readonly tf: Tf;
  readonly model: Model;
  readonly split: DigitsSplit;
  readonly config: DemoConfig;
};

/** Who records the training and who watches it. */
type TrainingObserver = {
  readonly session: TrainingSession;
  readonly signal: AbortSignal;
  readonly onStep: (at: TrainingPosition) => Promise<void>;
};

async function train(trained: TrainedModel, observer: TrainingObserver): Promise<TrainingPosition> {
  const { config, model, split, tf } = trained;
  const { session } = observer;
  const images = split.train;
  const recorder = quarkCallback(session, tf, model, {
    telemetry: { sampleEveryNSteps: INSTRUMENT_EVERY_STEPS },
    ...probeOptions(DEFAULT_INSTRUMENTS),
  });
  const diagnostics = new DataDiagnostics(session);
  let batchUnderWay: DigitBatch | undefined;
  const instruments = instrumentCallback({
    diagnostics,
    step: () => recorder.nextStep,
    batch: () => batchUnderWay,
  });
  // fit's own shuffling cannot be seeded.
  const batches = digitBatches(
    tf,
    images,
    { batchSize: config.batch_size, seed: config.seed, firstEpoch: 0 },
    (batch) => {
      batchUnderWay = batch;
    },
  );
  const batchesPerEpoch = Math.ceil(images.count / config.batch_size);
  const reporter = new StepReporter(trained, observer, batchesPerEpoch * config.epochs);
  const validation = digitTensors(tf, split.val);
  try {
    await model.fitDataset(batches, {
      epochs: config.epochs,
      batchesPerEpoch,
      validationData: [validation.xs, validation.ys],
      callbacks: [instruments, recorder, reporter],
    });
  } finally {
    tf.dispose([validation.xs, validation.ys]);
    await diagnostics.close();
    await recorder.close();
  }
  return reporter.at;
}

type Logs = Readonly<Record<string, number>>;

/** The callback that reports each step, and stops the training once the signal is aborted. */
class StepReporter {
  at: TrainingPosition;
  readonly #model: Model;
  readonly #observer: TrainingObserver;
  readonly #startedMs = performance.now();

  constructor({ config, model }: TrainedModel, observer: TrainingObserver, steps: number) {
    this.#model = model;
    this.#observer = observer;
    this.at = {
      step: 0,
      steps,
      epoch: 1,
      epochs: config.epochs,
      loss: Number.NaN,
      valAccuracy: Number.NaN,
      elapsedMs: 0,
      isEpochEnd: false,
    };
  }

  readonly onEpochBegin = (epoch: number): Promise<void> => {
    this.at = { ...this.at, epoch: epoch + 1 };
    return Promise.resolve();
  };

  readonly onBatchEnd = async (_batch: number, logs?: Logs): Promise<void> => {
    const { onStep, signal } = this.#observer;
    this.at = {
      ...this.at,
      step: this.at.step + 1,
      loss: logs?.['loss'] ?? Number.NaN,
      elapsedMs: performance.now() - this.#startedMs,
      isEpochEnd: false,
    };
    await onStep(this.at);
    if (signal.aborted) this.#model.stopTraining = true;
  };

  readonly onEpochEnd = async (_epoch: number, logs?: Logs): Promise<void> => {
    const { onStep, signal } = this.#observer;
    this.at = {
      ...this.at,
      valAccuracy: logs?.['val_acc'] ?? this.at.valAccuracy,
      loss: logs?.['loss'] ?? this.at.loss,
      isEpochEnd: !signal.aborted,
    };
    await onStep(this.at);
  };
}

/** Three dense layers: what the wasm backend can train. */
function buildDenseModel(tf: Tf, learningRate: number, seed: number): Model {
  const relu = (units: number, offset: number): ReturnType<Tf['layers']['dense']> =>
    tf.layers.dense({
      units,
      activation: 'relu',
      kernelInitializer: tf.initializers.heNormal({ seed: seed + offset }),
    });
  const model = tf.sequential({
    name: 'digits-dense',
    layers: [
      tf.layers.flatten({ inputShape: [DIGIT_SIDE, DIGIT_SIDE, 1] }),
      relu(64, 1),
      relu(32, 2),
      tf.layers.dense({
        units: DIGIT_CLASSES,
        activation: 'softmax',
        kernelInitializer: tf.initializers.glorotNormal({ seed: seed + 3 }),
      }),
    ],
  });
  compileDigitsModel(tf, model, learningRate);
  return model;
}

async function loadTensorFlow(backend: DemoBackend): Promise<Tf> {
  const tf = await optional('@tensorflow/tfjs', () => import('@tensorflow/tfjs'));
  if (backend === 'wasm')
    await optional('@tensorflow/tfjs-backend-wasm', () => import('@tensorflow/tfjs-backend-wasm'));
  // Without this it recommends another package on standard error.
  tf.enableProdMode();
  if (!(await tf.setBackend(backend))) {
    throw new QuarkError(
      'unsupported',
      `TensorFlow.js could not start its ${backend} backend here.`,
      { details: { backend } },
    );
  }
  await tf.ready();
  return tf;
}

async function optional<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    const code: unknown = cause instanceof Error && 'code' in cause ? cause.code : undefined;
    if (code !== 'ERR_MODULE_NOT_FOUND') throw cause;
    throw new QuarkError(
      'unsupported',
      `"quark demo" trains with TensorFlow.js, which is not installed. Run: npm install ${name}`,
      {
        details: { package: name },
        cause,
      },
    );
  }
}
