/**
 * Records a `model.fit` or `model.fitDataset` through its callbacks. Everything comes from the logs that fit gives
 * anyway: no tensor is made, none is read twice. TensorFlow.js is handed in by the caller and described structurally.
 */
import { invalidInput, isQuarkError, messageOf } from '../../base/errors.ts';
import {
  asGiven,
  count,
  flag,
  optional,
  orDefault,
  positive,
  readOptions,
} from '../../base/options.ts';
import { TRAINING_TOTAL } from '../../records/training-total.ts';
import { EventLogger } from '../../session/event-logger.ts';
import { MetricsLogger } from '../../session/metrics-logger.ts';
import { lastPosition } from '../../session/last-position.ts';
import { handleOf } from '../../session/run-handle.ts';
import type { TrainingSession } from '../../session/training-session.ts';
import {
  DataDiagnostics,
  hasOtherDiagnostics,
  type LogBatchOptions,
} from '../../instruments/diagnostics/data-diagnostics.ts';
import { SHARE_RULE } from '../../instruments/probes/hook-config.ts';
import { SystemTelemetry } from '../../instruments/telemetry/system-telemetry.ts';
import {
  CALLBACK_TELEMETRY,
  type QuarkCallbackOptions,
  type TfjsModel,
  type TfjsNamespace,
} from './callback-options.ts';
import { BatchWatch } from './batch-watch.ts';
import { refuseEndlessList } from './callback-order.ts';
import { DONE, FitOverhead, type TrainingDiagnostics } from './fit-overhead.ts';
import { FitScopes } from './fit-scopes.ts';
import { totalOfFit, withParams } from './fit-total.ts';
import { ProfileStep } from '../../base/profile-steps.ts';
import { learningRate, readLogs, readNumbers, type TfjsLogs } from './fit-logs.ts';
import { modelFacts } from './model-facts.ts';
import { trainingsOf, type SessionTraining } from './session-training.ts';
import { StepClock, type BatchTimes } from './step-clock.ts';
import { checkTrainingProbes, TrainingProbes } from './training-probes.ts';

/**
 * The callbacks of one model: pass it to `fit` or `fitDataset` as `callbacks`, alone or in a list, beside plain objects
 * or `tf.Callback`s. It may serve several fits in a row, such as one an epoch: steps and epochs go on counting, and the
 * probes go on with what they know of the model.
 */
export interface QuarkCallback {
  readonly onTrainBegin: (logs?: TfjsLogs) => Promise<void>;
  readonly onTrainEnd: () => Promise<void>;
  readonly onEpochBegin: (epoch: number) => Promise<void>;
  readonly onEpochEnd: (epoch: number, logs?: TfjsLogs) => Promise<void>;
  readonly onBatchBegin: (batch?: number, logs?: TfjsLogs) => Promise<void>;
  readonly onBatchEnd: (batch: number, logs?: TfjsLogs) => Promise<void>;
  /** Called by `fit` with how long it is, when the callback is in a list behind a `tf.Callback`. */
  readonly setParams: (params?: unknown) => void;
  /** Does nothing; `fit` calls it in the same case. The model was given to {@link quarkCallback}. */
  readonly setModel: () => void;
  /** What the callback takes of the training thread, so far. */
  diagnostics(): TrainingDiagnostics;
  /** Step that the next batch will get. In a session that has resumed its run it is known once `fit` has begun. */
  readonly nextStep: number;
  /**
   * Takes the probes off the model, releases their tensors, writes what is buffered and closes the writers. The session does
   * the same when its run ends.
   */
  close(): Promise<void>;
}

/**
 * Records a training by `model.fit`: for every batch `train/loss`, `train/<metric>` for each compiled metric (`acc` is
 * called `accuracy`), `optimizer/lr` and `perf/step_time_ms`; for every epoch `val/loss`, `val/<metric>`,
 * `train/epoch_loss`, `train/epoch_<metric>` and an `epoch_ended` event. Buffered records are written out after every
 * epoch. Activations, gradients and parameters are summarised as often as the options `hooks` and `parameters` say; the
 * model is as it was after every `fit`, after one that threw from the next one, `close()` or the end of the run on. The
 * machine is sampled as `telemetry` says. When `session.signal` is aborted, training stops after the batch under way.
 *
 * It may be made once for several fits or again for each of them: with the same session, model and options it is the same
 * callback, until it is closed, and goes on where the session has got to, or from another `initialStep`. From fit to fit the
 * overhead budget is kept, dead units are counted on and gradients are compared (which keeps one gradient of each parameter
 * until `close()` or the end of the run), unless the model has other layers or weights since. A session does so for its last
 * eight models.
 *
 * In a session that has resumed its run, steps and epochs go on behind those that are recorded. An epoch that was cut off begins again,
 * with new steps.
 *
 * The time of a step includes reading its loss back. Where `fit` validates, the last step of an epoch has no
 * `perf/step_time_ms`: `fit` runs the validation inside that step. What `fitDataset` waits for a batch is data time, and part of the
 * step time, in the telemetry.
 *
 * Beside callbacks of TensorFlow.js, such as `tf.callbacks.earlyStopping`, it comes last in the list: where a list begins with
 * anything else, `fit` takes all of it for plain objects of functions. A `tf.CustomCallback` behind this one would then call itself
 * without end, and `fit` rejects with a {@link QuarkError} (`invalid_input`) as it begins; others fail when they look for what is not
 * there. Beside plain objects the order does not matter.
 *
 * Recording problems do not reach the training unless the run is strict, or `raiseOnError` of a probe says so: they are
 * counted, and the first is logged.
 *
 * @param tf - The TensorFlow.js namespace the model was made with.
 * @throws {QuarkError} `invalid_input` when an argument is wrong
 * @example
 * ```js
 * import * as tf from '@tensorflow/tfjs';
 * import { TrainingSession } from 'quark-sdk';
 * import { quarkCallback } from 'quark-sdk/tfjs';
 *
 * const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [2] })] });
 * model.compile({ optimizer: 'sgd', loss: 'meanSquaredError' });
 * await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, async (session) => {
 *   const callbacks = quarkCallback(session, tf, model, { parameters: { schedule: { everyNSteps: 10 } } });
 *   await model.fit(tf.ones([64, 2]), tf.ones([64, 1]), { epochs: 2, batchSize: 8, verbose: 0, callbacks });
 *   const { run } = await session.reload();
 *   console.log(callbacks.nextStep, run.status); // 16 running
 * });
 * ```
 */
export function quarkCallback(
  session: TrainingSession,
  tf: TfjsNamespace,
  model: TfjsModel,
  options: QuarkCallbackOptions = {},
): QuarkCallback {
  if (typeof tf?.getBackend !== 'function' || typeof tf.customGrad !== 'function')
    throw invalidInput('tf', tf, 'the TensorFlow.js namespace');
  if (typeof model?.countParams !== 'function')
    throw invalidInput('model', model, 'a tf.LayersModel');
  const {
    initialStep: _step,
    initialEpoch: _epoch,
    ...others
  } = readOptions('options', options, OPTION_RULES);
  checkTrainingProbes(options);
  handleOf(session);
  const trainings = trainingsIn(session);
  const known = trainings.find(model, others);
  if (known !== undefined) {
    known.goOn(options);
    return known;
  }
  const made = new TrainingCallback(session, tf, model, options, trainings);
  trainings.add(model, others, made)?.rest();
  return made;
}

const OPTION_RULES = {
  initialStep: optional(count()),
  initialEpoch: optional(count()),
  everySteps: orDefault(positive(), 1),
  metrics: asGiven,
  now: asGiven,
  overheadBudget: optional(SHARE_RULE),
  telemetry: asGiven,
  batches: flag(true),
  hooks: asGiven,
  parameters: asGiven,
  source: asGiven,
};

const NO_LOGS: TfjsLogs = Object.freeze({});

const trainingsIn = trainingsOf<TrainingCallback>();

class TrainingCallback implements QuarkCallback {
  readonly #session: TrainingSession;
  readonly #tf: TfjsNamespace;
  readonly #model: TfjsModel;
  readonly #metrics: MetricsLogger;
  readonly #ownsMetrics: boolean;
  readonly #events: EventLogger;
  readonly #telemetry: SystemTelemetry | undefined;
  readonly #everySteps: number;
  readonly #trainings: SessionTraining<TrainingCallback>;
  readonly #probes: TrainingProbes;
  readonly #batches: DataDiagnostics | undefined;
  readonly #batchWatch: BatchWatch | undefined;
  readonly #scopes: FitScopes;
  readonly #overhead: FitOverhead;
  #epochsSeen = 0;
  readonly #clock: StepClock;
  /** The given start. */
  #begun: { readonly initialStep: number | undefined; readonly initialEpoch: number | undefined };
  #nextStep: number;
  #nextEpoch: number | undefined;
  /** What is added to the epochs of the fit under way; known once it has begun its first one. */
  #epochShift: number | undefined;
  #epoch = 0;
  #epochBatches = 0;
  /** Time of the batch before, recorded once it is known that no validation was in it. */
  #pendingTime: (BatchTimes & { readonly step: number }) | undefined;
  /** How long the fit is, where `setParams` was told. */
  #params: unknown;
  #hasStarted = false;
  #isTraining = false;
  #failures = 0;

  constructor(
    session: TrainingSession,
    tf: TfjsNamespace,
    model: TfjsModel,
    options: QuarkCallbackOptions,
    trainings: SessionTraining<TrainingCallback>,
  ) {
    this.#session = session;
    this.#tf = tf;
    this.#model = model;
    this.#trainings = trainings;
    this.#begun = { initialStep: options.initialStep, initialEpoch: options.initialEpoch };
    this.#nextStep = options.initialStep ?? trainings.nextStep;
    this.#nextEpoch = options.initialEpoch ?? trainings.nextEpoch;
    this.#everySteps = options.everySteps ?? 1;
    this.#clock = new StepClock(options.now);
    this.#ownsMetrics = options.metrics === undefined;
    this.#metrics = options.metrics ?? new MetricsLogger(session);
    this.#events = new EventLogger(session);
    const { telemetry = {} } = options;
    this.#telemetry =
      telemetry === false
        ? undefined
        : new SystemTelemetry(session, { ...CALLBACK_TELEMETRY, tf, ...telemetry });
    const handle = handleOf(session);
    this.#overhead = new FitOverhead(handle, options, () => ({
      step: Math.max(0, this.#nextStep - 1),
      epoch: this.#epoch,
    }));
    this.#probes = new TrainingProbes(session, tf, model, options, this.#overhead.probeShare);
    this.#scopes = new FitScopes(handle, model, tf);
    if (options.batches === false) return;
    this.#batches = new DataDiagnostics(session);
    this.#batchWatch = new BatchWatch(session, { diagnostics: this.#batches, model, tf });
  }

  get nextStep(): number {
    return this.#nextStep;
  }

  /** Asked for again: goes on from a new position, else from that of the session. */
  goOn({ initialStep, initialEpoch }: QuarkCallbackOptions): void {
    const isNew =
      initialStep !== this.#begun.initialStep || initialEpoch !== this.#begun.initialEpoch;
    this.#begun = { initialStep, initialEpoch };
    this.#nextStep = (isNew ? initialStep : undefined) ?? this.#trainings.nextStep;
    this.#nextEpoch = (isNew ? initialEpoch : undefined) ?? this.#trainings.nextEpoch;
  }

  get isTraining(): boolean {
    return this.#isTraining;
  }

  /** Closes the probes; the next fit begins with new ones. */
  rest(): void {
    this.#batchWatch?.detach();
    void this.#try(() => this.#probes.close());
  }

  // fit may take the functions off the object (it makes a CustomCallback of them): they are bound to this one.
  readonly onTrainBegin = withParams<TfjsLogs>((params, logs) => this.#trainBegin(params, logs));

  async #trainBegin(params: unknown, logs?: TfjsLogs): Promise<void> {
    refuseEndlessList(logs);
    this.#isTraining = true;
    this.#overhead.beginFit();
    this.#epochShift = undefined;
    this.#scopes.begin(ProfileStep.TRAINING);
    this.#pendingTime = undefined;
    this.#record(() => this.#batchWatch?.attach());
    await this.#try(() => this.#beginBehind());
    // After that: a run that was resumed begins behind the steps that it has.
    const total = totalOfFit(params ?? this.#params, this.#nextStep, this.#nextEpoch);
    if (total !== undefined)
      this.#record(() => {
        this.#events.log(TRAINING_TOTAL, { severity: 'debug', payload: total });
      });
    await this.#try(() => this.#probes.begin());
    if (this.#hasStarted) return;
    this.#hasStarted = true;
    this.#record(() => {
      this.#events.log('training_started', {
        step: this.#nextStep,
        payload: {
          framework: 'tfjs',
          framework_version: this.#tf.version.tfjs ?? null,
          backend: this.#tf.getBackend(),
          model: this.#model.name,
          parameter_count: this.#model.countParams(),
          ...modelFacts(this.#model),
        },
      });
    });
  }

  /** The first fit of a session that has resumed its run goes on where the run had got to. */
  async #beginBehind(): Promise<void> {
    if (this.#hasStarted) return;
    await this.#trainings.beginBehind(() => lastPosition(this.#session));
    if (this.#begun.initialStep === undefined)
      this.#nextStep = Math.max(this.#nextStep, this.#trainings.nextStep);
    if (this.#begun.initialEpoch === undefined) this.#nextEpoch = this.#trainings.nextEpoch;
  }

  readonly onEpochBegin = async (epoch: number): Promise<void> => {
    this.#epochShift ??=
      (this.#nextEpoch === undefined || this.#nextEpoch < epoch ? epoch : this.#nextEpoch) - epoch;
    this.#epoch = epoch + this.#epochShift;
    this.#epochBatches = 0;
    this.#scopes.begin(ProfileStep.EPOCH);
    this.#clock.beginEpoch();
  };

  readonly onBatchBegin = (_batch?: number, logs: TfjsLogs = NO_LOGS): Promise<void> =>
    this.#overhead.counted(() => {
      this.#clock.waited(logs);
      this.#writePendingTime();
      this.#record(() => this.#probes.beginStep(this.#nextStep, this.#epoch));
      this.#batchWatch?.beginStep(this.#overhead.wantsBatch(this.#epochsSeen, this.#nextStep));
      this.#scopes.beginStep();
      this.#clock.beginBatch();
    });

  readonly onBatchEnd = (_batch: number, logs: TfjsLogs = NO_LOGS): Promise<void> =>
    this.#overhead.counted(() => {
      this.#scopes.end(ProfileStep.FIRST_STEP);
      if (this.#isInterrupted()) return DONE;
      const step = this.#nextStep;
      this.#record(() => this.#probes.endStep(step, this.#epoch));
      const batch = this.#batchWatch?.take();
      const isRecorded = step % this.#everySteps === 0;
      const values = isRecorded || batch !== undefined ? readNumbers(logs) : [];
      if (values === undefined)
        return readLogs(logs).then((read) =>
          this.#overhead.counted(() => this.#logStep(step, batch, read, isRecorded)),
        );
      this.#logStep(step, batch, values, isRecorded);
      return DONE;
    });

  #logStep(
    step: number,
    batch: LogBatchOptions | undefined,
    values: readonly (readonly [string, number])[],
    isRecorded: boolean,
  ): void {
    if (batch !== undefined) this.#logBatch(batch, step, values);
    const times = this.#clock.batch;
    this.#nextStep += 1;
    this.#trainings.reached(this.#nextStep, this.#nextEpoch);
    this.#epochBatches += 1;
    if (isRecorded) {
      this.#record(() => {
        const at = { step, epoch: this.#epoch };
        for (const [name, value] of values) this.#metrics.log(`train/${name}`, value, at);
        const rate = learningRate(this.#model.optimizer);
        if (rate !== undefined) this.#metrics.log('optimizer/lr', rate, at);
      });
      this.#pendingTime = { step, ...times };
    }
    this.#isInterrupted();
    this.#overhead.endStep();
    this.#clock.leave();
  }

  readonly onEpochEnd = async (_epoch: number, logs: TfjsLogs = {}): Promise<void> => {
    this.#scopes.end(ProfileStep.EPOCH);
    if (this.#isInterrupted()) return;
    const values = await readLogs(logs);
    const hasValidation = values.some(([name]) => name.startsWith('val_'));
    if (hasValidation) this.#pendingTime = undefined;
    this.#writePendingTime();
    const at = { step: Math.max(0, this.#nextStep - 1), epoch: this.#epoch };
    this.#nextEpoch = this.#epoch + 1;
    this.#epochsSeen += 1;
    this.#record(() => this.#batches?.logEpoch(at));
    this.#trainings.reached(this.#nextStep, this.#nextEpoch);
    this.#record(() => {
      for (const [name, value] of values) {
        const key = name.startsWith('val_')
          ? `val/${name.slice('val_'.length)}`
          : `train/epoch_${name}`;
        this.#metrics.log(key, value, at);
      }
      this.#events.log('epoch_ended', {
        ...at,
        payload: {
          ...Object.fromEntries(
            values.map(([name, value]) => [name, Number.isFinite(value) ? value : String(value)]),
          ),
          batch_count: this.#epochBatches,
          duration_ms: this.#clock.epochMs,
        },
      });
    });
    this.#overhead.tell();
    await this.#overhead.flush(false, () => this.#write());
  };

  readonly onTrainEnd = async (): Promise<void> => {
    this.#isTraining = false;
    this.#scopes.end(ProfileStep.TRAINING);
    this.#batchWatch?.detach();
    await this.#try(() => this.#probes.end());
    if (this.#isInterrupted()) {
      this.#overhead.endFit();
      return;
    }
    this.#writePendingTime();
    await this.#overhead.flush(true, () => this.#write());
    this.#overhead.endFit();
  };

  diagnostics(): TrainingDiagnostics {
    return this.#overhead.diagnostics;
  }

  readonly setParams = (params?: unknown): void => {
    this.#params = params;
  };
  readonly setModel = (): void => {};

  async close(): Promise<void> {
    this.#trainings.remove(this);
    this.#overhead.close();
    this.#scopes.close();
    this.#batchWatch?.detach();
    await this.#try(() => this.#probes.close());
    if (this.#ownsMetrics) await this.#metrics.close();
    else await this.#metrics.flush();
    await this.#events.close();
    await this.#telemetry?.close();
    await this.#batches?.close();
  }

  async #try(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#failed(error);
    }
  }

  /** Stops the training of an interrupted run. Its session has ended it by then: there is nothing to record into. */
  #isInterrupted(): boolean {
    if (!this.#session.signal.aborted) return false;
    this.#model.stopTraining = true;
    this.#pendingTime = undefined;
    return true;
  }

  /** Loss and make-up of the batch that was trained on. */
  #logBatch(
    batch: LogBatchOptions,
    step: number,
    values: readonly (readonly [string, number])[],
  ): void {
    const loss = values.find(([name]) => name === 'loss')?.[1];
    const own = this.#batches;
    if (loss === undefined || own === undefined) return;
    // A program that has diagnostics of its own records its batches itself.
    if (hasOtherDiagnostics(this.#session.runId, own)) return;
    this.#record(() => own.logBatch(loss, { ...batch, step, epoch: this.#epoch }));
  }

  #writePendingTime(): void {
    const held = this.#pendingTime;
    this.#pendingTime = undefined;
    if (held === undefined) return;
    this.#record(() => {
      const { step, timeMs, waitMs } = held;
      const at = { epoch: this.#epoch };
      this.#metrics.log('perf/step_time_ms', timeMs, { step, ...at });
      if (this.#telemetry?.isDue(step, this.#overhead.telemetrySlowdown) !== true) return;
      this.#telemetry.noteStep(step, this.#epoch, timeMs, waitMs);
    });
  }

  async #write(): Promise<void> {
    await this.#try(async () => {
      await this.#metrics.drain();
      await this.#events.drain();
      await this.#telemetry?.drain();
      await this.#batches?.drain();
    });
  }

  #record(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    this.#failures += 1;
    // Probes throw where it was asked for, which may be their own `raiseOnError`.
    if (this.#session.strictMode || isQuarkError(error, 'probe_failed')) throw error;
    // An interruption closes the writers while the batch under way goes on.
    if (this.#failures > 1 || this.#session.signal.aborted) return;
    this.#session
      .addLog(`The training callback could not record: ${messageOf(error)}`, {
        identifier: 'Warning',
        eventType: 'runtime_error',
      })
      // A run that has ended takes no log.
      .catch(() => undefined);
  }
}
