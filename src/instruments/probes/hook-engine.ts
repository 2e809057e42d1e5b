import { ASYNC_DISPOSE } from '../../base/dispose.ts';
import { layerSummaryTable, type LayerSummaryRecord } from '../../records/layer-summary.ts';
import { readLayerSummaries, type LayerSummaryFilter } from '../../read/tables.ts';
import { writerClosed } from '../../session/writer-options.ts';
import type { RunContext } from '../../session/run-context.ts';
import { handleOf, writeFor } from '../../session/run-handle.ts';
import type { TrainingSession } from '../../session/training-session.ts';
import { checkHookConfig, type HookEngineConfig, type HookSettings } from './hook-config.ts';
import {
  Instrument,
  type ProbePosition,
  type ProbeStatus,
  type ProbeStepOptions,
} from './instrument.ts';
import {
  blankLayerRow,
  DeadUnits,
  isSamePoint,
  setLayerRow,
  type LayerFinding,
} from './layer-rows.ts';
import type { CapturePoint, LayerWatch, ModelSource, TensorRef } from './model-source.ts';
import type { ProbeWork } from './probe-work.ts';
import { RecordWriter } from '../../session/record-writer.ts';
import { unitAxisOf } from '../../kernel/tensor/reductions.ts';

type OpenStep = {
  readonly position: ProbePosition;
  readonly beganMs: number;
  readonly work: ProbeWork;
  readonly findings: LayerFinding[];
  /** Calls of each layer so far. */
  readonly calls: Map<number, number>;
};

/**
 * Records summaries of activations and of gradients with respect to layer outputs, on the steps its schedule allows.
 *
 * Surround each training step with {@link HookEngine.beginStep} and {@link HookEngine.endStep}, or with
 * {@link HookEngine.step}. Neither ever waits: small tensors are summarised on the spot, larger ones in a worker or on the
 * device, and a probe that is due while the one before is under way is left out and counted. Raw tensors are never stored.
 *
 * @example
 * ```js
 * import * as tf from '@tensorflow/tfjs';
 * import { TrainingSession } from 'quark-sdk';
 * import { HookEngine } from 'quark-sdk/probes';
 * import { tfjsModel } from 'quark-sdk/tfjs';
 *
 * const layers = [tf.layers.dense({ name: 'hidden', units: 4, activation: 'relu', inputShape: [2] }), tf.layers.dense({ units: 1 })];
 * const model = tf.sequential({ layers });
 * model.compile({ optimizer: 'sgd', loss: 'meanSquaredError' });
 * await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, async (session) => {
 *   const hooks = new HookEngine(session, tfjsModel(tf, model), { schedule: { everyNSteps: 2 } });
 *   for (let step = 0; step < 4; step++)
 *     await hooks.step(step, {}, () => model.trainOnBatch(tf.ones([8, 2]), tf.ones([8, 1])));
 *   for (const { summaryType, step, norm } of await hooks.read({ moduleName: 'hidden' })) console.log(summaryType, step, norm);
 * });
 * ```
 */
export class HookEngine implements AsyncDisposable {
  readonly #source: ModelSource;
  readonly #settings: HookSettings;
  readonly #instrument: Instrument;
  readonly #writer: RecordWriter<typeof layerSummaryTable.columns>;
  readonly #deadUnits: DeadUnits;
  readonly #row = blankLayerRow();
  /** Layers whose saturation is counted. */
  readonly #saturating: ReadonlySet<number>;
  readonly #watch: { -readonly [K in keyof LayerWatch]: LayerWatch[K] };
  #unwatch: () => void;
  #open: OpenStep | undefined;
  #plainStepBeganMs: number | undefined;
  #isClosed = false;

  /**
   * @param session a session, or a context made by one
   * @param source the model, as an adapter gives it: `tfjsModel(tf, model)`
   * @throws {QuarkError} `invalid_input` naming the field; where errors are raised, `probe_failed` for a model without
   * layers and for filters that match none
   */
  constructor(
    session: TrainingSession | RunContext,
    source: ModelSource,
    config: HookEngineConfig = {},
  ) {
    const handle = handleOf(session);
    const settings = checkHookConfig(config);
    this.#instrument = new Instrument(handle, 'hook_engine', source, settings);
    this.#source = source;
    this.#settings = settings;
    const wanted = new Set(
      source.layers.flatMap((layer, i) => (settings.isWanted(layer) ? [i] : [])),
    );
    if (wanted.size === 0) this.#reportNothing();
    this.#instrument.troubles.raise();
    this.#writer = new RecordWriter(handle, layerSummaryTable, { batchSize: settings.batchSize });
    this.#saturating = new Set(
      source.layers.flatMap((layer, i) => (settings.saturates(layer) ? [i] : [])),
    );
    this.#deadUnits = new DeadUnits(settings.deadUnitProbes);
    this.#watch = {
      layers: wanted,
      forward: settings.captureForward,
      backward: settings.captureBackward,
      evaluation: settings.captureEvaluation,
      isActive: false,
      beginCall: (layer) => this.#beginCall(layer),
      capture: (point, tensor) => this.#capture(point, tensor),
      warn: (trouble) => this.#instrument.troubles.report(trouble),
    };
    this.#instrument.open({
      drain: () => this.#drain(),
      drainNow: () => {
        this.#instrument.pending.finishNow();
        this.#writer.drainNow();
      },
      close: () => this.#end(),
    });
    this.#unwatch = source.watchLayers(this.#watch);
  }

  /** Names of the layers that are instrumented. */
  get instrumentedModuleNames(): readonly string[] {
    return [...this.#watch.layers].flatMap((i) => this.#source.layers[i]?.name ?? []);
  }

  /** What has been probed, left out and written. */
  get status(): ProbeStatus {
    return this.#instrument.status([this.#writer.status]);
  }

  /** Whether the schedule and the overhead budget allow a probe at this step. @throws {QuarkError} `invalid_input` */
  shouldProbe(step: number): boolean {
    return this.#instrument.isDue(step);
  }

  /**
   * Begins a training step; from here to {@link endStep} the layers are observed, if the step is probed.
   *
   * @returns whether it is
   * @throws {QuarkError} `invalid_input`; `writer_closed`; `invalid_run_state`; where errors are raised, `probe_failed`
   */
  beginStep(step: number, options: ProbeStepOptions = {}): boolean {
    if (this.#isClosed) throw writerClosed('layer summaries', this.#instrument.handle);
    const { troubles } = this.#instrument;
    const position = this.#instrument.positionOf(step, options);
    if (this.#open !== undefined) this.#endUnended(this.#open);
    this.#instrument.pending.advance();
    const isDue = this.#watch.layers.size > 0 && this.#instrument.isDue(step);
    if (isDue) for (const trouble of this.#source.inspect?.() ?? []) troubles.report(trouble);
    troubles.raise();
    const work = isDue ? this.#instrument.begin() : undefined;
    const beganMs = this.#instrument.isBudgeted ? this.#instrument.now() : 0;
    if (work === undefined) {
      this.#plainStepBeganMs = beganMs;
      return false;
    }
    this.#open = { position, beganMs, work, findings: [], calls: new Map() };
    this.#watch.isActive = true;
    return true;
  }

  /**
   * Ends the step. Its summaries are written as soon as they are there; this does not wait for them. Does nothing when no
   * step is open.
   *
   * @throws {QuarkError} where errors are raised, `probe_failed` for what went wrong in the step or since the last
   */
  endStep(): void {
    if (this.#open !== undefined) this.#finish(this.#open);
    else this.#instrument.countPlain(this.#plainStepBeganMs);
    this.#plainStepBeganMs = undefined;
    this.#instrument.troubles.raise();
  }

  /**
   * Runs a training step between {@link beginStep} and {@link endStep}. What a step that fails had captured is discarded.
   *
   * @param work gets whether the step is probed; may return a promise, with which the step ends
   * @returns what `work` returns
   * @throws what `work` throws, and as {@link beginStep}
   */
  step<T>(step: number, options: ProbeStepOptions, work: (isProbed: boolean) => T): T {
    const isProbed = this.beginStep(step, options);
    let result: T;
    try {
      result = work(isProbed);
    } catch (error) {
      this.abandonStep();
      throw error;
    }
    if (!(result instanceof Promise)) {
      this.endStep();
      return result;
    }
    return result.then(
      (value: unknown) => {
        this.endStep();
        return value;
      },
      (error: unknown) => {
        this.abandonStep();
        throw error;
      },
    ) as T;
  }

  /** Ends a step that failed: what it had captured is discarded. Does nothing when no step is open. */
  abandonStep(): void {
    const open = this.#open;
    this.#open = undefined;
    this.#plainStepBeganMs = undefined;
    this.#watch.isActive = false;
    open?.work.discard();
  }

  /**
   * Waits for the probe under way, makes every summary so far durable and returns those this call wrote.
   *
   * @throws {SessionStoreError} in strict mode, when the store failed. Without it the failure is in `status`. In both modes the
   *   summaries stay buffered and are retried
   */
  async flush(): Promise<readonly LayerSummaryRecord[]> {
    await this.#instrument.pending.settle();
    return this.#writer.flush();
  }

  /** {@link flush} without the summaries. @internal */
  drain(): Promise<void> {
    return writeFor(this.#instrument.handle, () => this.#drain());
  }

  /** Layer summaries of the run, after a flush when the engine is open. @throws {QuarkError} `invalid_input` */
  async read(filter: LayerSummaryFilter = {}): Promise<readonly LayerSummaryRecord[]> {
    const { handle } = this.#instrument;
    if (!this.#writer.isClosed) await writeFor(handle, () => this.#drain());
    return (await readLayerSummaries(handle, filter)).records;
  }

  /**
   * Takes everything off the model at once, then waits for the probe under way and writes what is left. May be called
   * again after a failure.
   */
  close(): Promise<void> {
    return writeFor(this.#instrument.handle, () => this.#end());
  }

  /** Same as {@link HookEngine.close}. */
  [ASYNC_DISPOSE](): Promise<void> {
    return this.close();
  }

  async #end(): Promise<void> {
    this.#isClosed = true;
    this.abandonStep();
    this.#unwatch();
    this.#unwatch = () => undefined;
    await this.#instrument.pending.settle();
    this.#instrument.releaseKernels();
    await this.#writer.close();
    this.#instrument.detach();
  }

  async #drain(): Promise<void> {
    await this.#instrument.pending.settle();
    await this.#writer.drain();
  }

  #reportNothing(): void {
    const { layers } = this.#source;
    // A source without layers may know why.
    const known = layers.length === 0 ? (this.#source.inspect?.() ?? []) : [];
    for (const trouble of known) this.#instrument.troubles.report(trouble);
    if (known.length > 0) return;
    const first = layers.slice(0, 5).map(({ name, type }) => `${name} (${type})`);
    this.#instrument.troubles.report(
      layers.length === 0
        ? {
            reason: 'no_layers',
            message:
              'The model has no layers to observe. Tap tensors of your own, or leave the hook engine out.',
          }
        : {
            reason: 'no_match',
            message: `The filters match none of the ${layers.length} layers: no layer is observed. The first ones are ${first.join(', ')}.`,
          },
    );
  }

  #endUnended(open: OpenStep): void {
    const { step } = open.position;
    this.#instrument.troubles.report({
      reason: 'step_not_ended',
      message: `Step ${step} was begun and not ended: call endStep() after every step. What it captured is recorded.`,
    });
    this.#finish(open);
  }

  #beginCall(layer: number): number {
    const calls = this.#open?.calls;
    const index = calls?.get(layer) ?? 0;
    calls?.set(layer, index + 1);
    return index;
  }

  /** Sources show only what is wanted; one that shows more is no reason to record it. */
  #wants({ layer, direction, isTraining }: CapturePoint): boolean {
    const watch = this.#watch;
    return watch.layers.has(layer) && watch[direction] && (isTraining || watch.evaluation);
  }

  #capture(point: CapturePoint, tensor: TensorRef): void {
    const open = this.#open;
    const layer = this.#source.layers[point.layer];
    if (open === undefined || layer === undefined || !this.#wants(point)) return;
    try {
      const isForward = point.direction === 'forward';
      const { deadUnitEpsilon, saturationThreshold } = this.#settings;
      const { shape } = tensor;
      const finding: LayerFinding = { layer, point, shape, summary: undefined };
      const request = {
        epsilon: isForward ? deadUnitEpsilon : 0,
        threshold: isForward && this.#saturating.has(point.layer) ? saturationThreshold : null,
        unitAxis: isForward ? unitAxisOf(shape, layer.unitAxis ?? -1) : null,
        histogram: null,
      };
      open.work.timed(() =>
        open.work.summarize(tensor, request, (summary) => {
          finding.summary = summary;
        }),
      );
      // A gradient of a gradient passes a layer twice; the last pass is that of the loss itself.
      const earlier = isForward
        ? -1
        : open.findings.findIndex((other) => isSamePoint(other.point, point));
      if (earlier < 0) open.findings.push(finding);
      else open.findings[earlier] = finding;
    } catch (error) {
      this.#instrument.troubles.failed(`Summarising ${layer.name} (${point.direction})`, error);
    }
  }

  #finish(open: OpenStep): void {
    this.#watch.isActive = false;
    this.#open = undefined;
    if (open.findings.length === 0) {
      this.#instrument.troubles.report({
        reason: 'nothing_captured',
        message:
          'A probed step ended without any instrumented layer having been captured: is the model that trains the one that is observed?',
      });
    }
    const timestamp = this.#instrument.timestamp();
    this.#instrument.finish(open.position, open.beganMs, open.work, () => {
      for (const finding of open.findings) {
        if (setLayerRow(this.#row, open.position, timestamp, finding, this.#deadUnits))
          this.#writer.add(this.#row);
      }
    });
  }
}
