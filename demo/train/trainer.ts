/** Trains the digits network in this tab and records it, from a fresh start or from where a run was left. */
import type { LayersModel } from '@tensorflow/tfjs';
import {
  isQuarkError,
  MetricsLogger,
  TrainingSession,
  type RecordingProblem,
  type Store,
} from 'quark-sdk';
import { DataDiagnostics } from 'quark-sdk/probes';
import { quarkCallback } from 'quark-sdk/tfjs';
import { nextMessage } from '../../dashboard/parts/turns.ts';
import { fetchDigits, loadTensorFlow } from './browser-data.ts';
import { loadCheckpoint, removeCheckpoint, saveCheckpoint, type Checkpoint } from './checkpoint.ts';
import { findDestination, recordingOptions } from '../../dashboard/sources/destination.ts';
import { DEMO_PROJECT, DEMO_TRAINER, trainingConfigOf } from './demo-run.ts';
import {
  buildDigitsModel,
  DIGIT_PIXELS,
  digitBatches,
  digitTensors,
  splitDigits,
  type Digits,
  type DigitsTrainingConfig,
  type Tf,
} from './digits.ts';
import {
  INSTRUMENT_EVERY_STEPS,
  instrumentCallback,
  type DigitBatch,
  probeOptions,
  storedInstruments,
} from './instruments.ts';
import {
  etaOf,
  guesses,
  isTraining,
  recording,
  recordingProblem,
  training,
  watching,
  type TrainingProgress,
} from './training-state.ts';

/** What to train. */
export type TrainingRequest = {
  readonly store: Store;
  /** Settings of a new run, or the run to go on with. */
  readonly start: DigitsTrainingConfig | { readonly resumeRunId: string };
  /** How long the run counts as live without a sign of life. */
  readonly leaseTtlMs: number | undefined;
  /** A TensorFlow.js backend to use instead of the best one. */
  readonly backend: string | undefined;
};

const FLUSH_INTERVAL_MS = 500;
const GUESS_COUNT = 30;
/** A frame: after this long the page gets a turn. */
const YIELD_AFTER_MS = 12;

let stopRequested = false;

/** Ends the training after the batch under way; the run ends as interrupted and can be resumed. */
export function stopTraining(): void {
  stopRequested = true;
  const state = training.value;
  if (state.kind === 'training') training.value = { ...state, isStopping: true };
}

/** Trains to the end, or until it is stopped. What happens shows in {@link training}; this never rejects. */
export async function train(request: TrainingRequest): Promise<void> {
  if (isTraining(training.value)) return;
  stopRequested = false;
  guesses.value = [];
  watching.value = undefined;
  recordingProblem.value = undefined;
  training.value = { kind: 'preparing', what: 'Loading TensorFlow.js and the images' };
  let session: TrainingSession | undefined;
  try {
    const [tf, digits] = await Promise.all([
      loadTensorFlow(request.backend),
      fetchDigits(),
      letGoOfRecording(),
    ]);
    training.value = { kind: 'preparing', what: 'Building the network' };
    const opened = await openRun(tf, request, digits.count);
    session = opened.session;
    recording.value = session;
    await watchRun(session);
    let outcome = await fit(tf, session, opened, digits);
    if (session.signal.aborted) {
      // Somebody else has the run now; an open session would claim it.
      outcome = 'interrupted';
      await letGoOfRecording();
    } else {
      await session.endRun(outcome);
    }
    if (outcome === 'completed') await removeCheckpoint(tf, session.runId);
    const state: { kind: string; progress?: TrainingProgress } = training.value;
    if (state.progress !== undefined) {
      training.value = {
        kind: 'ended',
        outcome,
        progress: { ...state.progress, etaMs: undefined },
      };
    }
  } catch (error) {
    await failRun(session, error);
    training.value = { kind: 'failed', error, runId: session?.runId };
  }
}

/** Asks the rules while it trains, in a worker. The session ends the watch with its run. */
async function watchRun(session: TrainingSession): Promise<void> {
  try {
    const { AnalyzerEngine } = await import('quark-sdk/analysis');
    watching.value = { alerts: [], problem: undefined };
    const watch = new AnalyzerEngine(session).watch({
      onAlert: () => {
        if (recording.value === session)
          watching.value = { alerts: watch.alerts, problem: undefined };
      },
    });
  } catch (problem) {
    // A training without a watch goes on all the same.
    watching.value = { alerts: [], problem };
  }
}

async function failRun(session: TrainingSession | undefined, error: unknown): Promise<void> {
  if (session === undefined) return;
  try {
    await session.addLog(error instanceof Error ? error.message : String(error), {
      identifier: 'Error',
      eventType: 'runtime_error',
    });
    await session.endRun('failed');
  } catch {
    // The first error is the one to show; a run that cannot be ended lapses by itself.
    await letGoOfRecording();
  }
}

/** Closes the session of the run before. What it has not sent is sent by the next one. */
async function letGoOfRecording(): Promise<void> {
  const session = recording.value;
  recording.value = undefined;
  try {
    await session?.close();
  } catch {
    // Nothing is written by it any more: what it had was stored when its run ended.
  }
}

type OpenedRun = {
  readonly session: TrainingSession;
  readonly config: DigitsTrainingConfig;
  readonly checkpoint: Checkpoint;
};

async function openRun(tf: Tf, request: TrainingRequest, imageCount: number): Promise<OpenedRun> {
  const { store, start, leaseTtlMs } = request;
  const options = {
    ...(leaseTtlMs === undefined ? {} : { leaseTtlMs }),
    ...recordingOptions(await findDestination(), store),
    onRecordingProblem: (problem: RecordingProblem) => {
      recordingProblem.value = problem;
    },
  };
  if ('resumeRunId' in start) {
    const { resumeRunId: runId } = start;
    const session = await resumed(TrainingSession.resumeRun({ runId, ...options }), runId);
    const config = trainingConfigOf(session.context.run.config);
    const stored = await loadCheckpoint(tf, runId);
    const fresh = { epoch: 0, step: 0 };
    const checkpoint = stored ?? {
      ...fresh,
      model: buildDigitsModel(tf, config.learningRate, config.seed),
    };
    await session.addLog(
      stored === undefined
        ? 'No checkpoint in this browser: training starts over'
        : `Going on from the checkpoint after epoch ${stored.epoch}`,
      { identifier: stored === undefined ? 'Warning' : 'Info', step: checkpoint.step },
    );
    return { session, config, checkpoint };
  }
  const session = await TrainingSession.startRun({
    project: DEMO_PROJECT,
    tags: ['browser', tf.getBackend()],
    config: {
      trainer: DEMO_TRAINER,
      model: 'conv 3x3x8, conv 3x3x16, pool, dense 32, dense 10',
      optimizer: 'adam',
      epochs: start.epochs,
      batch_size: start.batchSize,
      learning_rate: start.learningRate,
      validation_ratio: start.validationRatio,
      seed: start.seed,
      instruments: storedInstruments(start.instruments),
      images: imageCount,
      tfjs: tf.version.tfjs,
      backend: tf.getBackend(),
    },
    ...options,
  });
  const model = buildDigitsModel(tf, start.learningRate, start.seed);
  return { session, config: start, checkpoint: { model, epoch: 0, step: 0 } };
}

/** What the library says of a run that cannot be resumed is for programmers. */
async function resumed(
  resuming: Promise<TrainingSession>,
  runId: string,
): Promise<TrainingSession> {
  try {
    return await resuming;
  } catch (cause) {
    if (!isQuarkError(cause, 'invalid_run_state')) throw cause;
    throw new Error(
      `Run ${runId} is being trained elsewhere, or has been completed. Another tab may have gone on with it.`,
      { cause },
    );
  }
}

/** Trains the model of a run on a part of the images. */
async function fit(
  tf: Tf,
  session: TrainingSession,
  { config, checkpoint }: OpenedRun,
  digits: Digits,
): Promise<'completed' | 'interrupted'> {
  const { model } = checkpoint;
  const split = splitDigits(digits, config.validationRatio, config.seed);
  const valTensors = digitTensors(tf, split.val);
  const source = batchSource(tf, split.train, config, checkpoint.epoch);
  const recorded = recorders(tf, session, { config, checkpoint }, source.underWay);
  const { batchesPerEpoch } = source;
  const progress = fitProgress(session.runId, tf.getBackend(), {
    epochs: config.epochs,
    batchesPerEpoch,
    firstEpoch: checkpoint.epoch,
  });
  let { epoch } = checkpoint;
  progress.show();
  await guessSome(tf, model, split.val, checkpoint.epoch === 0);
  try {
    await model.fitDataset(source.dataset, {
      epochs: config.epochs,
      initialEpoch: checkpoint.epoch,
      batchesPerEpoch,
      validationData: [valTensors.xs, valTensors.ys],
      // fit's own yielding waits for a frame, and a hidden tab has none: the run would stop there.
      yieldEvery: 'never',
      callbacks: [
        ...recorded.callbacks,
        {
          onBatchEnd: async () => {
            if (stopRequested) model.stopTraining = true;
            await progress.batchDone();
          },
          onEpochEnd: async (done: number) => {
            // A stopped epoch is not done: it will be trained again.
            if (model.stopTraining && !progress.isEndOfEpoch()) return;
            epoch = done + 1;
            await keepCheckpoint(session, { model, epoch, step: recorded.nextStep() });
            await guessSome(tf, model, split.val, false);
            progress.epochDone(epoch);
          },
        },
      ],
    });
    await recorded.end();
    progress.show();
    return epoch >= config.epochs ? 'completed' : 'interrupted';
  } finally {
    await recorded.close();
    tf.dispose([valTensors.xs, valTensors.ys]);
    model.dispose();
  }
}

/** What records a `fit`: its metrics, and what the settings of the run ask for. */
function recorders(
  tf: Tf,
  session: TrainingSession,
  { config, checkpoint }: Omit<OpenedRun, 'session'>,
  batch: () => DigitBatch | undefined,
) {
  const { instruments } = config;
  const metrics = new MetricsLogger(session, { flushIntervalMs: FLUSH_INTERVAL_MS });
  const recorder = quarkCallback(session, tf, checkpoint.model, {
    initialStep: checkpoint.step,
    initialEpoch: checkpoint.epoch,
    metrics,
    telemetry: instruments.telemetry && { sampleEveryNSteps: INSTRUMENT_EVERY_STEPS },
    // The page records its batches itself, with the names of the images.
    batches: false,
    ...probeOptions(instruments),
  });
  const diagnostics = instruments.batches ? new DataDiagnostics(session) : undefined;
  const step = (): number => recorder.nextStep;
  return {
    callbacks: [instrumentCallback({ diagnostics, step, batch }), recorder],
    nextStep: step,
    end: () => recorder.close(),
    close: async () => {
      await diagnostics?.close();
      await metrics.close();
    },
  };
}

/** The batches to train on, and which of them is under way. */
function batchSource(
  tf: Tf,
  images: Digits,
  { batchSize, seed }: DigitsTrainingConfig,
  firstEpoch: number,
) {
  let underWay: DigitBatch | undefined;
  return {
    dataset: digitBatches(tf, images, { batchSize, seed, firstEpoch }, (batch) => {
      underWay = batch;
    }),
    batchesPerEpoch: Math.ceil(images.count / batchSize),
    underWay: () => underWay,
  };
}

/** Counts the batches of a `fit`, and shows how far it is. */
function fitProgress(
  runId: string,
  backend: string,
  plan: { readonly epochs: number; readonly batchesPerEpoch: number; readonly firstEpoch: number },
) {
  const { epochs, batchesPerEpoch, firstEpoch } = plan;
  let epoch = firstEpoch;
  let batches = 0;
  // The first batch compiles what the others use: it says nothing about how long they take.
  let startedMs: number | undefined;
  let yieldedMs = performance.now();
  const show = (): void => {
    const batchesDone = firstEpoch * batchesPerEpoch + batches;
    const left = epochs * batchesPerEpoch - batchesDone;
    const etaMs = startedMs && etaOf(startedMs, performance.now(), batches - 1, left);
    training.value = {
      kind: 'training',
      isStopping: stopRequested,
      progress: { runId, backend, epochs, epoch, batchesPerEpoch, batchesDone, etaMs },
    };
  };
  return {
    show,
    batchDone: async () => {
      batches += 1;
      startedMs ??= performance.now();
      if (performance.now() - yieldedMs < YIELD_AFTER_MS) return;
      show();
      await nextMessage();
      yieldedMs = performance.now();
    },
    isEndOfEpoch: () => batches % batchesPerEpoch === 0,
    epochDone: (done: number) => {
      epoch = done;
      show();
    },
  };
}

/** Training goes on without a checkpoint, for instance when the browser has no room for one. */
async function keepCheckpoint(session: TrainingSession, checkpoint: Checkpoint): Promise<void> {
  try {
    await saveCheckpoint(session.runId, checkpoint);
  } catch (error) {
    await session.addLog(
      `The checkpoint after epoch ${checkpoint.epoch} could not be stored: ${String(error)}`,
      { identifier: 'Warning', step: checkpoint.step },
    );
  }
}

/** Shows some validation images, with what the network takes them for unless it knows nothing yet. */
async function guessSome(
  tf: Tf,
  model: LayersModel,
  val: Digits,
  isUntrained: boolean,
): Promise<void> {
  const count = Math.min(GUESS_COUNT, val.count);
  let found: ArrayLike<number> = [];
  if (!isUntrained) {
    const classes = tf.tidy(() => {
      const images = tf.tensor4d(val.images.slice(0, count * DIGIT_PIXELS), [count, 8, 8, 1]);
      const scores = model.predict(images);
      const first = Array.isArray(scores) ? scores[0] : scores;
      return first?.argMax(-1);
    });
    found = (await classes?.data()) ?? [];
    classes?.dispose();
  }
  guesses.value = Array.from({ length: count }, (_, row) => ({
    pixels: val.images.subarray(row * DIGIT_PIXELS, (row + 1) * DIGIT_PIXELS),
    label: val.labels[row] ?? 0,
    guess: found[row],
  }));
}
