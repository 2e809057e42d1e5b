import { ASYNC_DISPOSE } from '../../base/dispose.ts';
import { isQuarkError } from '../../base/errors.ts';
import {
  parameterDistributionTable,
  type ParameterDistributionRecord,
} from '../../records/parameter-distribution.ts';
import {
  parameterSummaryTable,
  type ParameterSummaryRecord,
} from '../../records/parameter-summary.ts';
import type { ParameterDistributionType } from '../../records/literals.ts';
import {
  readParameterDistributions,
  readParameterSummaries,
  type ParameterDistributionFilter,
  type ParameterSummaryFilter,
} from '../../read/tables.ts';
import { writerClosed } from '../../session/writer-options.ts';
import type { RunContext } from '../../session/run-context.ts';
import { handleOf, writeFor } from '../../session/run-handle.ts';
import type { TrainingSession } from '../../session/training-session.ts';
import { RetainedChanges } from './retained-changes.ts';
import {
  Instrument,
  type ProbePosition,
  type ProbeStatus,
  type ProbeStepOptions,
} from './instrument.ts';
import type { ModelSource, ParameterWatch, ReductionRequest } from './model-source.ts';
import {
  checkParameterConfig,
  type ParameterDiagnosticsConfig,
  type ParameterSettings,
} from './parameter-config.ts';
import {
  blankSummaryRow,
  distributionRows,
  parameterFacts,
  setSummaryRow,
  type ParameterFacts,
  type ParameterFindings,
} from './parameter-rows.ts';
import type { ProbeWork } from './probe-work.ts';
import { RecordWriter } from '../../session/record-writer.ts';

/** Records of both kinds. */
export type ParameterRecords = {
  readonly summaries: readonly ParameterSummaryRecord[];
  readonly distributions: readonly ParameterDistributionRecord[];
};

/**
 * Records summaries of parameters, their gradients and what the optimizer did to them, and histograms if wanted.
 *
 * Call {@link ParameterDiagnostics.snapshot} after every optimizer step; the schedule decides which are read. A
 * snapshot never waits: small tensors are summarised on the spot, larger ones in a worker or on the device, and a snapshot
 * that is due while the one before is under way is left out and counted. Raw tensors are never stored.
 *
 * @example
 * ```js
 * import * as tf from '@tensorflow/tfjs';
 * import { TrainingSession } from 'quark-sdk';
 * import { ParameterDiagnostics } from 'quark-sdk/probes';
 * import { tfjsModel } from 'quark-sdk/tfjs';
 *
 * const model = tf.sequential({ layers: [tf.layers.dense({ name: 'output', units: 1, inputShape: [2] })] });
 * model.compile({ optimizer: 'sgd', loss: 'meanSquaredError' });
 * await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, async (session) => {
 *   const parameters = new ParameterDiagnostics(session, tfjsModel(tf, model), { captureDistributions: true });
 *   for (let step = 0; step < 3; step++) {
 *     await model.trainOnBatch(tf.ones([8, 2]), tf.ones([8, 1]));
 *     parameters.snapshot(step);
 *     await parameters.flush();
 *   }
 *   for (const { parameterName, gradientNorm, updateRatio } of await parameters.readSummaries({ latestOnly: true }))
 *     console.log(parameterName, gradientNorm, updateRatio);
 * });
 * ```
 */
export class ParameterDiagnostics implements AsyncDisposable {
  readonly #source: ModelSource;
  readonly #settings: ParameterSettings;
  readonly #instrument: Instrument;
  readonly #summaries: RecordWriter<typeof parameterSummaryTable.columns>;
  readonly #distributions: RecordWriter<typeof parameterDistributionTable.columns>;
  readonly #retained = new RetainedChanges();
  readonly #facts: readonly ParameterFacts[];
  readonly #requests: Readonly<Record<ParameterDistributionType, ReductionRequest>>;
  readonly #row = blankSummaryRow();
  readonly #watch: { -readonly [K in keyof ParameterWatch]: ParameterWatch[K] };
  #unwatch: () => void;
  #lastStep: number | undefined;
  /** Set when a snapshot could not be foreseen: from then on every optimizer step is retained. */
  #isAlwaysArmed = false;
  #stepBeganMs: number | undefined;
  #isClosed = false;

  /**
   * @param session a session, or a context made by one
   * @param source the model, as an adapter gives it: `tfjsModel(tf, model)`
   * @throws {QuarkError} `invalid_input` naming the field; where errors are raised, `probe_failed` for a model without
   * parameters and for filters that match none
   */
  constructor(
    session: TrainingSession | RunContext,
    source: ModelSource,
    config: ParameterDiagnosticsConfig = {},
  ) {
    const handle = handleOf(session);
    const settings = checkParameterConfig(config);
    this.#instrument = new Instrument(handle, 'parameter_diagnostics', source, settings);
    this.#source = source;
    this.#settings = settings;
    this.#facts = source.parameters.map(parameterFacts);
    this.#requests = {
      value: requestOf(settings, 'value'),
      gradient: requestOf(settings, 'gradient'),
      update: requestOf(settings, 'update'),
    };
    const { troubles } = this.#instrument;
    const wanted = new Set(
      source.parameters.flatMap((parameter, i) => (settings.isWanted(parameter) ? [i] : [])),
    );
    if (wanted.size === 0) this.#reportNothing();
    troubles.raise();
    const options = { batchSize: settings.batchSize };
    this.#summaries = new RecordWriter(handle, parameterSummaryTable, options);
    this.#distributions = new RecordWriter(handle, parameterDistributionTable, options);
    this.#watch = {
      parameters: wanted,
      isActive: wanted.size > 0,
      changed: (parameter, change) => {
        if (!wanted.has(parameter)) return;
        try {
          this.#retained.retain(parameter, change);
        } catch (error) {
          troubles.failed('Holding an optimizer step', error);
        }
      },
      forget: () => this.#retained.clear(),
      warn: (trouble) => troubles.report(trouble),
    };
    this.#instrument.open({
      drain: () => this.#drain(),
      drainNow: () => {
        this.#instrument.pending.finishNow();
        this.#summaries.drainNow();
        this.#distributions.drainNow();
      },
      close: () => this.#end(),
    });
    this.#unwatch = source.watchParameters(this.#watch);
  }

  /** Full names of the parameters that are observed. */
  get parameterNames(): readonly string[] {
    return [...this.#watch.parameters].flatMap((i) => this.#source.parameters[i]?.name ?? []);
  }

  /** What has been probed, left out and written; rows of both kinds together. */
  get status(): ProbeStatus {
    return this.#instrument.status([this.#summaries.status, this.#distributions.status]);
  }

  /** Whether the schedule and the overhead budget allow a snapshot at this step. @throws {QuarkError} `invalid_input` */
  shouldSnapshot(step: number): boolean {
    return this.#instrument.isDue(step);
  }

  /**
   * Says that a training step begins, for the overhead budget: without it, a step lasts from one snapshot to the next, with
   * all that happens in between.
   */
  beginStep(): void {
    if (this.#instrument.isBudgeted) this.#stepBeganMs = this.#instrument.now();
  }

  /**
   * Reads the parameters after an optimizer step, if the schedule has this one. Values are those of now, gradients and
   * updates those of the last optimizer step; where there was none, they are null. What was found is written as soon as it
   * is there; this does not wait for it.
   *
   * @returns whether the step is probed
   * @throws {QuarkError} `invalid_input`; `writer_closed`; `invalid_run_state`; where errors are raised, `probe_failed`
   */
  snapshot(step: number, options: ProbeStepOptions = {}): boolean {
    if (this.#isClosed) throw writerClosed('parameter summaries', this.#instrument.handle);
    const { troubles } = this.#instrument;
    const position = this.#instrument.positionOf(step, options);
    for (const trouble of this.#source.inspect?.() ?? []) troubles.report(trouble);
    const isDue = this.#watch.parameters.size > 0 && this.#instrument.isDue(step);
    const work = isDue ? this.#instrument.begin() : undefined;
    if (work === undefined) {
      this.#retained.drop();
      this.#instrument.countPlain(this.#stepBeganMs);
    } else {
      this.#take(position, work);
    }
    this.#arm(step);
    troubles.raise();
    return work !== undefined;
  }

  /**
   * Waits for the snapshot under way, makes everything so far durable and returns the records this call wrote.
   *
   * @throws {SessionStoreError} in strict mode, when the store failed. Without it the failure is in `status`. In both modes the
   *   records stay buffered and are retried
   */
  async flush(): Promise<ParameterRecords> {
    await this.#instrument.pending.settle();
    return {
      summaries: await this.#summaries.flush(),
      distributions: await this.#distributions.flush(),
    };
  }

  /** {@link flush} without the records. @internal */
  drain(): Promise<void> {
    return writeFor(this.#instrument.handle, () => this.#drain());
  }

  /** Summaries of the run, after a flush when this is open. @throws {QuarkError} `invalid_input` naming the filter */
  async readSummaries(
    filter: ParameterSummaryFilter = {},
  ): Promise<readonly ParameterSummaryRecord[]> {
    await this.#drainOpen();
    return (await readParameterSummaries(this.#instrument.handle, filter)).records;
  }

  /** Histograms of the run, after a flush when this is open. @throws {QuarkError} `invalid_input` naming the filter */
  async readDistributions(
    filter: ParameterDistributionFilter = {},
  ): Promise<readonly ParameterDistributionRecord[]> {
    await this.#drainOpen();
    return (await readParameterDistributions(this.#instrument.handle, filter)).records;
  }

  /** Everything of the run, after a flush when this is open. */
  async read(): Promise<ParameterRecords> {
    return {
      summaries: await this.readSummaries(),
      distributions: await this.readDistributions(),
    };
  }

  /**
   * Takes everything off the optimizer at once, then waits for the snapshot under way and writes what is left. May be
   * called again after a failure.
   */
  close(): Promise<void> {
    return writeFor(this.#instrument.handle, () => this.#end());
  }

  /** Same as {@link ParameterDiagnostics.close}. */
  [ASYNC_DISPOSE](): Promise<void> {
    return this.close();
  }

  async #end(): Promise<void> {
    this.#isClosed = true;
    this.#watch.isActive = false;
    this.#unwatch();
    this.#unwatch = () => undefined;
    this.#retained.clear();
    await this.#instrument.pending.settle();
    this.#instrument.releaseKernels();
    await this.#summaries.close();
    await this.#distributions.close();
    this.#instrument.detach();
  }

  async #drain(): Promise<void> {
    await this.#instrument.pending.settle();
    await this.#summaries.drain();
    await this.#distributions.drain();
  }

  async #drainOpen(): Promise<void> {
    if (!this.#summaries.isClosed) await writeFor(this.#instrument.handle, () => this.#drain());
  }

  /** Foresees the next snapshot, so that the optimizer steps in between cost nothing. */
  #arm(step: number): void {
    const pace = this.#lastStep === undefined ? 1 : step - this.#lastStep;
    this.#lastStep = step;
    this.#watch.isActive =
      this.#watch.parameters.size > 0 &&
      (this.#isAlwaysArmed ||
        this.shouldSnapshot(step + 1) ||
        (pace > 1 && this.shouldSnapshot(step + pace)));
    this.#instrument.pending.advance();
    if (this.#instrument.isBudgeted) this.#stepBeganMs = this.#instrument.now();
  }

  #take(position: ProbePosition, work: ProbeWork): void {
    if (this.#retained.isEmpty && !this.#watch.isActive) this.#isAlwaysArmed = true;
    const found: ParameterFindings[] = [];
    work.timed(() => {
      for (const parameter of this.#watch.parameters) {
        const findings = this.#look(work, parameter);
        if (findings !== undefined) found.push(findings);
      }
    });
    this.#retained.passOn(this.#settings.captureGradientCosine);
    const timestamp = this.#instrument.timestamp();
    this.#instrument.finish(position, this.#stepBeganMs, work, () =>
      this.#write(position, timestamp, found),
    );
  }

  #look(work: ProbeWork, parameter: number): ParameterFindings | undefined {
    const info = this.#source.parameters[parameter];
    const facts = this.#facts[parameter];
    if (info === undefined || facts === undefined) return undefined;
    const found: ParameterFindings = {
      facts,
      optimizerGroup: info.optimizerGroup,
      value: null,
      gradient: null,
      update: null,
      beforeNorm: null,
      cosine: null,
    };
    try {
      const value = this.#source.readParameter(parameter);
      work.summarize(value, this.#requests.value, (summary) => {
        found.value = summary;
      });
      const retained = this.#retained.get(parameter);
      if (retained === undefined) return found;
      if (retained.gradient !== null) {
        work.summarize(retained.gradient, this.#requests.gradient, (summary) => {
          found.gradient = summary;
        });
        const earlier = this.#retained.earlierGradient(parameter);
        if (earlier !== undefined && this.#settings.captureGradientCosine) {
          work.cosine(retained.gradient, earlier, (cosine) => {
            found.cosine = cosine;
          });
        }
      }
      if (retained.before !== null) {
        work.change(value, retained.before, this.#requests.update, ({ update, beforeNorm }) => {
          found.update = update;
          found.beforeNorm = beforeNorm;
        });
      }
      return found;
    } catch (error) {
      if (isQuarkError(error, 'probe_failed') && typeof error.details['reason'] === 'string')
        this.#instrument.troubles.report(
          { reason: error.details['reason'], message: error.message },
          error,
        );
      else this.#instrument.troubles.failed(`Summarising ${info.name}`, error);
      return undefined;
    }
  }

  #write(position: ProbePosition, timestamp: number, all: readonly ParameterFindings[]): void {
    for (const found of all) {
      if (this.#settings.captureSummaries) {
        setSummaryRow(this.#row, position, timestamp, found);
        this.#summaries.add(this.#row);
      }
      if (this.#settings.distributions.size > 0)
        for (const row of distributionRows(position, timestamp, found))
          this.#distributions.add(row);
    }
  }

  #reportNothing(): void {
    const { parameters } = this.#source;
    this.#instrument.troubles.report(
      parameters.length === 0
        ? {
            reason: 'no_parameters',
            message:
              'The model has no parameters to observe: build it first, or leave the parameter diagnostics out.',
          }
        : {
            reason: 'no_match',
            message: `The filters match none of the ${parameters.length} parameters: none is observed. The first ones are ${parameters
              .slice(0, 5)
              .map(({ name, role }) => `${name} (${role})`)
              .join(', ')}.`,
          },
    );
  }
}

/** What is asked of the values, gradients or updates of every parameter. */
function requestOf(
  { distributions, histogram, nearZeroEpsilon }: ParameterSettings,
  type: ParameterDistributionType,
): ReductionRequest {
  return {
    epsilon: type === 'value' ? nearZeroEpsilon : 0,
    threshold: null,
    unitAxis: null,
    histogram: distributions.has(type) ? histogram : null,
  };
}
