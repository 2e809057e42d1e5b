/** What the machine did while it trained. */
import {
  checkCount,
  checkOptionalCount,
  checkOptionNames,
  checkFlag,
  checkTimestamp,
  isGiven,
} from '../../base/assert.ts';
import { ASYNC_DISPOSE } from '../../base/dispose.ts';
import { invalidInput, messageOf } from '../../base/errors.ts';
import { encodeJsonObject, type JsonObject, copyJsonObject } from '../../base/json.ts';
import { isNode } from '../../base/runtime.ts';
import { measured } from '../../base/thread/thread-time.ts';
import { readTelemetry, type TelemetryFilter } from '../../read/tables.ts';
import {
  systemTelemetryTable,
  type SystemTelemetryRecord,
} from '../../records/system-telemetry.ts';
import type { WriterStatus } from '../../session/writer-options.ts';
import { MetricsLogger } from '../../session/metrics-logger.ts';
import { RecordWriter, type MutableRow } from '../../session/record-writer.ts';
import type { RunContext } from '../../session/run-context.ts';
import { handleOf, writeFor, type RunHandle } from '../../session/run-handle.ts';
import type { TrainingSession } from '../../session/training-session.ts';
import { watchBrowser } from './browser-watch.ts';
import {
  checkTelemetryConfig,
  type SystemTelemetryConfig,
  type SystemTelemetrySettings,
} from './config.ts';
import { countOrNull, UNKNOWN_READING, type MachineWatch } from './machine.ts';
import { watchNode, type NodeProcess } from './node-watch.ts';
import { scalarsOf } from './scalars.ts';
import { StepTelemetryScope, type StepOutcome, type StepTimes } from './step-scope.ts';

/** Options of {@link SystemTelemetry.startStep}. */
export type StartStepOptions = {
  readonly epoch?: number | null | undefined;
  /** Context of the step; a JSON object. */
  readonly metadata?: JsonObject | null | undefined;
};

/** Options of {@link SystemTelemetry.sample}. */
export type SampleOptions = StartStepOptions & {
  readonly step?: number | null | undefined;
  /** When it was. Default: now. */
  readonly timestamp?: string | number | Date | undefined;
};

/** Options of {@link SystemTelemetry.recordStep}. */
export type RecordStepOptions = StartStepOptions &
  StepOutcome & {
    /** Duration of the step in milliseconds. */
    readonly stepTimeMs?: number | null | undefined;
    /** Part of it spent waiting for data. */
    readonly dataTimeMs?: number | null | undefined;
    /** Part of it spent computing. */
    readonly computeTimeMs?: number | null | undefined;
    /** When it was. Default: now. */
    readonly timestamp?: string | number | Date | undefined;
  };

/** Reading the machine takes 0.1 to 1 ms: records closer together than this share one reading. */
const MIN_READING_SPAN_MS = 100;
/** Where a reading takes long, it is that of so many times its own time, up to a second. */
const READING_SPANS = 500;
const MAX_READING_SPAN_MS = 1000;
const NO_TIMES = { stepTimeMs: null, dataTimeMs: null, computeTimeMs: null };

/**
 * Records how long steps take and what the machine does meanwhile. Every call is synchronous and cheap: what takes long to read
 * (`nvidia-smi`, the memory of a page) is watched in the background. What the platform does not know is null.
 *
 * @example
 * ```js
 * import { TrainingSession } from 'quark-sdk';
 * import { SystemTelemetry } from 'quark-sdk/probes';
 *
 * await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, async (session) => {
 *   const telemetry = new SystemTelemetry(session, { sampleEveryNSteps: 10, captureGpu: false });
 *   for (let step = 0; step < 20; step++) telemetry.recordStep(step, { stepTimeMs: 12.5, dataTimeMs: 2 });
 *   telemetry.sample(); // what the machine does now
 *   const records = await telemetry.read();
 *   console.log(records.map(({ boundary, step }) => `${boundary} ${step}`)); // [ 'step 0', 'step 10', 'time null' ]
 * });
 * ```
 */
export class SystemTelemetry implements AsyncDisposable {
  readonly #handle: RunHandle;
  readonly #settings: SystemTelemetrySettings;
  readonly #writer: RecordWriter<typeof systemTelemetryTable.columns>;
  readonly #metrics: MetricsLogger | undefined;
  readonly #watch: MachineWatch;
  readonly #detach: () => void;
  /** The last row: its fields are set anew for the next one, which costs a tenth of making forty of them. */
  readonly #row: MutableRow<typeof systemTelemetryTable.columns> = {
    step: null,
    epoch: null,
    timestamp: 0,
    metadata: null,
    boundary: 'step',
    ...NO_TIMES,
    overflowOccurred: false,
    skippedStep: false,
    overflowCount: 0,
    skippedStepCount: 0,
    ...UNKNOWN_READING,
  };
  #readAtMs = Number.NEGATIVE_INFINITY;
  #readingSpanMs = MIN_READING_SPAN_MS;
  #hasWarned = false;
  #overflowCount = 0;
  #skippedStepCount = 0;

  /**
   * @param session a session, or a context made by one
   * @throws {QuarkError} `invalid_input` naming the option; `invalid_run_state` when the run has ended
   */
  constructor(session: TrainingSession | RunContext, config: SystemTelemetryConfig = {}) {
    this.#handle = handleOf(session);
    this.#settings = checkTelemetryConfig(config);
    const { emitScalarMetrics, writer } = this.#settings;
    this.#writer = new RecordWriter(this.#handle, systemTelemetryTable, writer);
    // First: a run that has ended refuses, and nothing may be left watching then.
    this.#detach = this.#handle.attach({
      drain: () => this.#writer.drain(),
      drainNow: () => this.#writer.drainNow(),
      close: () => this.#end(),
    });
    this.#metrics = emitScalarMetrics
      ? new MetricsLogger(session, { nonFinite: 'store' })
      : undefined;
    this.#watch = isNode()
      ? watchNode((globalThis as unknown as { process: NodeProcess }).process, this.#settings)
      : watchBrowser(this.#settings);
  }

  /** How many records are buffered, how many were dropped, and why writing failed last. */
  get status(): WriterStatus {
    return this.#writer.status;
  }

  /**
   * Starts the clock of a step. Call `markDataReady()` when the batch is there, and `finish()` at the end.
   *
   * @throws {QuarkError} `invalid_input` naming field, value and rule
   */
  startStep(step: number, options: StartStepOptions = {}): StepTelemetryScope {
    checkOptionNames('options', options, ['epoch', 'metadata']);
    checkCount('step', step);
    checkOptionalCount('epoch', options.epoch);
    if (isGiven(options.metadata)) encodeJsonObject('metadata', options.metadata);
    return new StepTelemetryScope((times: StepTimes, outcome: StepOutcome) =>
      this.recordStep(step, { ...options, ...times, ...outcome }),
    );
  }

  /**
   * Times a step: the scope given to `work` is finished when it returns or throws.
   *
   * @returns what `work` returned
   */
  async step<T>(
    step: number,
    options: StartStepOptions,
    work: (scope: StepTelemetryScope) => T | Promise<T>,
  ): Promise<T> {
    const scope = this.startStep(step, options);
    let result: T;
    try {
      result = await work(scope);
    } catch (error) {
      try {
        scope.finish();
      } catch {
        // The run may be over, as it is after an interruption: why the step failed says more.
      }
      throw error;
    }
    scope.finish();
    return result;
  }

  /**
   * Records a step that was timed elsewhere. Overflows and skipped steps are counted whether or not the cadence leaves the step out.
   *
   * @returns the record; null for a step that the cadence leaves out
   * @throws {QuarkError} `invalid_input` naming field, value and rule; `writer_closed`; `invalid_run_state`
   */
  recordStep(step: number, options: RecordStepOptions = {}): SystemTelemetryRecord | null {
    checkOptionNames('options', options, [
      'epoch',
      'metadata',
      'stepTimeMs',
      'dataTimeMs',
      'computeTimeMs',
      'overflowOccurred',
      'skippedStep',
      'timestamp',
    ]);
    checkCount('step', step);
    const times = {
      stepTimeMs: checkDuration('stepTimeMs', options.stepTimeMs),
      dataTimeMs: checkDuration('dataTimeMs', options.dataTimeMs),
      computeTimeMs: checkDuration('computeTimeMs', options.computeTimeMs),
    };
    const { overflowOccurred = false, skippedStep = false } = options;
    checkFlag('overflowOccurred', overflowOccurred);
    checkFlag('skippedStep', skippedStep);
    const moment = this.#checkMoment(step, options);
    if (overflowOccurred) this.#overflowCount++;
    if (skippedStep) this.#skippedStepCount++;
    if (step % this.#settings.sampleEveryNSteps !== 0) return null;
    return this.#record(moment, { boundary: 'step', ...times, overflowOccurred, skippedStep });
  }

  /** {@link recordStep} of a step that is due, without a record; `waitMs`: what it waited for data before. @internal */
  noteStep(step: number, epoch: number, timeMs: number, waitMs?: number): void {
    measured('telemetry', () => {
      const row = this.#row;
      row.step = step;
      row.epoch = epoch;
      row.timestamp = this.#handle.clock.now();
      row.metadata = null;
      row.boundary = 'step';
      row.stepTimeMs = checkDuration('stepTimeMs', timeMs + (waitMs ?? 0));
      row.dataTimeMs = checkDuration('dataTimeMs', waitMs);
      row.computeTimeMs = waitMs === undefined ? null : timeMs;
      row.overflowOccurred = false;
      row.skippedStep = false;
      this.#write();
    });
  }

  /**
   * Records what the machine does now.
   *
   * @returns the record; its boundary is `step` when a step is given, else `time`
   * @throws {QuarkError} `invalid_input` naming field, value and rule; `writer_closed`; `invalid_run_state`
   */
  sample(options: SampleOptions = {}): SystemTelemetryRecord {
    checkOptionNames('options', options, ['step', 'epoch', 'metadata', 'timestamp']);
    const step = checkOptionalCount('step', options.step);
    return this.#record(this.#checkMoment(step, options), {
      boundary: step === null ? 'time' : 'step',
      ...NO_TIMES,
      overflowOccurred: false,
      skippedStep: false,
    });
  }

  /**
   * Makes every record so far durable and returns those this call wrote.
   *
   * @throws {SessionStoreError} in strict mode, when the store failed. Without it the failure is in `status`. In both modes the
   *   records stay buffered and are retried
   */
  async flush(): Promise<readonly SystemTelemetryRecord[]> {
    await this.#metrics?.flush();
    return this.#writer.flush();
  }

  /**
   * Telemetry of the run in the order it was persisted, after a flush when this is open.
   *
   * @throws {QuarkError} `invalid_input` naming the filter
   */
  async read(filter: TelemetryFilter = {}): Promise<readonly SystemTelemetryRecord[]> {
    await this.#writer.drainOpen();
    return (await readTelemetry(this.#handle, filter)).records;
  }

  /** {@link flush} without the records. @internal */
  async drain(): Promise<void> {
    await this.#metrics?.drain();
    await writeFor(this.#handle, () => this.#writer.drain());
  }

  /** Whether the cadence has this step. @internal */
  isDue(step: number, slowdown: number): boolean {
    return step % (this.#settings.sampleEveryNSteps * slowdown) === 0;
  }

  /** Flushes, and ends what watches the machine; later records throw `writer_closed`, `read` still works. */
  close(): Promise<void> {
    return writeFor(this.#handle, () => this.#end());
  }

  /** Same as {@link close}. */
  [ASYNC_DISPOSE](): Promise<void> {
    return this.close();
  }

  async #end(): Promise<void> {
    this.#watch.close();
    await this.#writer.close();
    await this.#metrics?.close();
    this.#detach();
  }

  #checkMoment(step: number | null, options: SampleOptions): Moment {
    const { metadata, timestamp } = options;
    return {
      step,
      epoch: checkOptionalCount('epoch', options.epoch),
      timestamp: checkTimestamp(timestamp, this.#handle.clock),
      metadata: isGiven(metadata) ? copyJsonObject('metadata', metadata) : null,
    };
  }

  #record(moment: Moment, values: Measured): SystemTelemetryRecord {
    return measured('telemetry', () => {
      Object.assign(this.#row, moment, values);
      this.#write();
      return systemTelemetryTable.wrap({
        ...this.#row,
        timestamp: moment.timestamp,
        runId: this.#handle.runId,
        sequence: null,
      });
    });
  }

  /** Writes the row, with what the machine does now. */
  #write(): void {
    const row = this.#row;
    this.#readMachine();
    row.overflowCount = this.#overflowCount;
    row.skippedStepCount = this.#skippedStepCount;
    this.#writer.add(row);
    // A metric needs a position on an axis; a sample by time has none.
    const { epoch, step, timestamp } = row;
    if (this.#metrics !== undefined && (step !== null || epoch !== null))
      this.#metrics.logMany(scalarsOf(row), {
        step: step ?? undefined,
        epoch: epoch ?? undefined,
        timestamp,
      });
  }

  #readMachine(): void {
    const nowMs = performance.now();
    const row = this.#row;
    if (nowMs - this.#readAtMs < this.#readingSpanMs) {
      // These two are of the time since the record before, which has all of it.
      if (row.longTaskMs !== null) row.longTaskMs = 0;
      if (row.longFrameMs !== null) row.longFrameMs = 0;
      return;
    }
    this.#readAtMs = nowMs;
    const memory = this.#ask('TensorFlow.js', () => this.#settings.tf?.memory());
    Object.assign(
      row,
      UNKNOWN_READING,
      this.#ask('The machine', () => this.#watch.read()),
    );
    row.tensorCount = countOrNull(memory?.numTensors);
    row.tensorBytes = countOrNull(memory?.numBytes);
    this.#readingSpanMs = Math.min(
      MAX_READING_SPAN_MS,
      Math.max(MIN_READING_SPAN_MS, READING_SPANS * (performance.now() - nowMs)),
    );
  }

  /** What cannot be read now is null: TensorFlow.js throws before its backend is ready, Node when it runs out of files. */
  #ask<T>(who: string, question: () => T): T | undefined {
    try {
      return question();
    } catch (error) {
      if (this.#hasWarned) return undefined;
      this.#hasWarned = true;
      this.#handle.notify({
        eventType: 'telemetry_warning',
        severity: 'warning',
        step: null,
        epoch: null,
        payload: {
          message: `${who} could not be asked, and its fields are null: ${messageOf(error)}`,
        },
      });
      return undefined;
    }
  }
}

type Moment = Pick<SystemTelemetryRecord, 'step' | 'epoch' | 'timestamp' | 'metadata'>;
type Measured = Pick<
  SystemTelemetryRecord,
  'boundary' | 'stepTimeMs' | 'dataTimeMs' | 'computeTimeMs' | 'overflowOccurred' | 'skippedStep'
>;

function checkDuration(field: string, value: unknown): number | null {
  if (value === null || value === undefined) return null;
  if (typeof value !== 'number' || !(value >= 0) || value === Infinity)
    throw invalidInput(field, value, 'milliseconds: a finite number, 0 or more');
  return value;
}
