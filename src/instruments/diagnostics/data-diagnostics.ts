/** What the model is trained on, batch by batch. */
import {
  checkOptionalCount,
  checkOptionNames,
  checkTimestamp,
  isGiven,
} from '../../base/assert.ts';
import { ASYNC_DISPOSE } from '../../base/dispose.ts';
import { invalidInput, isQuarkError, messageOf } from '../../base/errors.ts';
import { measured } from '../../base/thread/thread-time.ts';
import { readBatchDiagnostics, type BatchDiagnosticFilter } from '../../read/tables.ts';
import {
  batchDiagnosticTable,
  type BatchDiagnosticRecord,
} from '../../records/batch-diagnostic.ts';
import type { WriterStatus } from '../../session/writer-options.ts';
import { MetricsLogger } from '../../session/metrics-logger.ts';
import { RecordWriter } from '../../session/record-writer.ts';
import type { RunContext } from '../../session/run-context.ts';
import { handleOf, writeFor, type RunHandle } from '../../session/run-handle.ts';
import type { TrainingSession } from '../../session/training-session.ts';
import {
  checkBatch,
  joined,
  NOTHING_FOUND,
  type BatchMetadata,
  type CheckedBatch,
} from './batch-metadata.ts';
import { BatchSketch, sketchTensor, type BatchFacts, type SketchTensor } from './batch-sketch.ts';
import {
  checkDiagnosticsConfig,
  type DataDiagnosticsConfig,
  type DataDiagnosticsSettings,
} from './config.ts';
import type { DataDiagnosticsSummary, ExposureSummary, HardBatchFinding } from './findings.ts';
import type { Labels, LabelTensor } from './labels.ts';
import { readBatchesAt, readBoth, readExposure, readLosses, type ScanRange } from './scan-range.ts';
import { findHardRows, toFinding, type LossColumns, type HardRow } from './summarize.ts';
import { checkLimit, loadNumerics, batchSummaryOf } from './summarize-batches.ts';

/** Options of {@link DataDiagnostics.logBatch}. What is given here goes before what the adapter finds in `batch`. */
export type LogBatchOptions = Omit<BatchMetadata, 'classCounts'> & {
  readonly step?: number | null | undefined;
  readonly epoch?: number | null | undefined;
  /** The batch itself, for the adapter. It is not stored. */
  readonly batch?: unknown;
  /** Labels of the samples, one-hot rows, a tensor of either, or counts by class. */
  readonly labels?: Labels | null | undefined;
  /**
   * What the model gets: a tensor on the host, or one for each of its inputs, `[batch, ...]`. Nothing of it is stored: samples that come
   * again are counted by a hash, and inputs are compared with the targets; see {@link DataDiagnostics.logEpoch}. Costs a few
   * microseconds a sample.
   */
  readonly inputs?: LabelTensor | readonly LabelTensor[] | null | undefined;
  /**
   * What the model is to give: a tensor on the host, `[batch]` or `[batch, width]`. Classes are counted where no `labels` are given; of
   * other numbers the metadata gets `target_min`, `target_max`, `target_mean` and `target_std`.
   */
  readonly targets?: LabelTensor | null | undefined;
  /** When the batch was trained on. Default: now. */
  readonly timestamp?: string | number | Date | undefined;
};

/** A range of batches. */
export type BatchRangeFilter = ScanRange;

const OPTION_NAMES = [
  'step',
  'epoch',
  'batch',
  'batchSize',
  'labels',
  'inputs',
  'targets',
  'sampleIds',
  'sequenceLengths',
  'metadata',
  'timestamp',
] as const;

/** What is open for each run: a batch is recorded once, by the program itself where it does so. */
const openFor = new Map<string, Set<DataDiagnostics>>();

/** Whether a run has other diagnostics than `own`. */
export function hasOtherDiagnostics(runId: string, own: DataDiagnostics): boolean {
  const open = openFor.get(runId);
  return open !== undefined && open.size > (open.has(own) ? 1 : 0);
}

/**
 * Records loss and make-up of batches, and finds the hard ones and what the model has been shown. Raw samples are never stored: sample
 * ids, class counts and sequence lengths are.
 *
 * @example
 * ```js
 * import { TrainingSession } from 'quark-sdk';
 * import { DataDiagnostics } from 'quark-sdk/probes';
 *
 * await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, async (session) => {
 *   const data = new DataDiagnostics(session);
 *   for (let step = 0; step < 20; step++) {
 *     const loss = step === 13 ? 9 : 1 / (step + 1);
 *     data.logBatch(loss, { step, labels: [3, 7, 7, 1], sampleIds: [0, 1, 2, 3].map((i) => 4 * step + i) });
 *   }
 *   const [hardest] = await data.findHardBatches({ limit: 1 });
 *   console.log(hardest.step, hardest.loss, hardest.reasons);
 *   const { classCounts } = await data.summarizeExposure();
 *   console.log(classCounts);
 * });
 * ```
 */
export class DataDiagnostics implements AsyncDisposable {
  readonly #session: TrainingSession | RunContext;
  readonly #sketch = new BatchSketch();
  #metrics: MetricsLogger | undefined;
  readonly #handle: RunHandle;
  readonly #settings: DataDiagnosticsSettings;
  readonly #writer: RecordWriter<typeof batchDiagnosticTable.columns>;
  readonly #detach: () => void;
  readonly #warned = new Set<string>();

  /**
   * @param session a session, or a context made by one
   * @throws {QuarkError} `invalid_input` naming the option
   */
  constructor(session: TrainingSession | RunContext, config: DataDiagnosticsConfig = {}) {
    this.#session = session;
    this.#handle = handleOf(session);
    this.#settings = checkDiagnosticsConfig(config);
    this.#writer = new RecordWriter(this.#handle, batchDiagnosticTable, this.#settings.writer);
    this.#detach = this.#handle.attach({
      drain: () => this.#writer.drain(),
      drainNow: () => this.#writer.drainNow(),
      close: () => this.#end(),
    });
    const { runId } = this.#handle;
    openFor.set(runId, (openFor.get(runId) ?? new Set()).add(this));
  }

  /** How many records are buffered, how many were dropped, and why writing failed last. */
  get status(): WriterStatus {
    return this.#writer.status;
  }

  /**
   * Records one batch. An adapter that fails is reported in one `data_diagnostics_warning` event, and the batch is recorded without what it
   * would have found; so it is with a tensor that cannot be read any more. In strict mode the error is thrown.
   *
   * @param loss loss of the batch; NaN and infinities are recorded as they are
   * @throws {QuarkError} `invalid_input` naming field, value and rule; `writer_closed`; `invalid_run_state`; in strict mode
   * `probe_failed` for a tensor that cannot be read, and what the adapter throws
   */
  logBatch(loss: number, options: LogBatchOptions = {}): BatchDiagnosticRecord {
    return measured('batches', () => this.#log(loss, options));
  }

  #log(loss: number, options: LogBatchOptions): BatchDiagnosticRecord {
    if (typeof loss !== 'number') throw invalidInput('loss', loss, 'a number');
    checkOptionNames('options', options, OPTION_NAMES);
    const { step, epoch, batch, labels, inputs, targets, timestamp, ...given } = options;
    const { adapter } = this.#settings;
    if (batch !== undefined && adapter === null)
      throw invalidInput('batch', '[batch]', 'left out, or an adapter in the config');
    const position = {
      step: checkOptionalCount('step', step),
      epoch: checkOptionalCount('epoch', epoch),
    };
    const asked = batch === undefined ? NOTHING_FOUND : this.#ask(batch, position);
    const found = joined(this.#check({ ...given, classCounts: labels }, position), asked);
    const sketched = this.#sketchOf(inputs, targets, position);
    const row = {
      timestamp: checkTimestamp(timestamp, this.#handle.clock),
      ...position,
      loss,
      ...joined(found, sketched),
      metadata:
        sketched.metadata === null ? found.metadata : { ...sketched.metadata, ...found.metadata },
    };
    this.#writer.add(row);
    return batchDiagnosticTable.wrap({ ...row, runId: this.#handle.runId, sequence: null });
  }

  /**
   * Counts the samples of a batch of the validation that were trained on before, as far as {@link logBatch} was given `inputs`.
   *
   * @param inputs as in {@link LogBatchOptions.inputs}
   * @throws {QuarkError} `invalid_input` naming field, value and rule; in strict mode `probe_failed` for a tensor that cannot be read
   */
  addValidation(inputs: LabelTensor | readonly LabelTensor[]): void {
    try {
      this.#sketch.validate(sketchTensors(inputs));
    } catch (error) {
      if (!isQuarkError(error, 'probe_failed')) throw error;
      const message = 'A batch of the validation is not compared with those of training';
      this.#warn('unreadable_tensor', message, error, { step: null, epoch: null });
    }
  }

  /**
   * Records what is known of the data so far as metrics, after an epoch and its validation; what is not known is left out. Shares and
   * sizes from 0 to 1:
   *
   * - `data/validation_overlap`: share of the samples of the validation that were trained on before;
   * - `data/repeated_samples`: share of the samples of the first epoch that had come before in it, by which the one above is judged;
   * - `data/input_target_correlation`: size of Pearson's correlation with the target of the input that follows it most closely, over
   *   the first 2,000 samples; `data/most_correlated_input` is its position among the numbers of a sample. Up to 512 numbers.
   *
   * @throws {QuarkError} `invalid_input` naming the field; `writer_closed`; `invalid_run_state`
   */
  logEpoch(at: { readonly step?: number; readonly epoch?: number } = {}): void {
    const overlap = this.#sketch.takeOverlap();
    const close = this.#sketch.correlation();
    const values = {
      ...(overlap === undefined
        ? {}
        : { validation_overlap: overlap.validation, repeated_samples: overlap.repeated }),
      ...(close === undefined
        ? {}
        : { input_target_correlation: close.correlation, most_correlated_input: close.input }),
    };
    for (const [name, value] of Object.entries(values)) {
      this.#metrics ??= new MetricsLogger(this.#session);
      this.#metrics.log(`data/${name}`, value, at);
    }
  }

  /**
   * Makes every batch so far durable and returns those this call wrote.
   *
   * @throws {SessionStoreError} in strict mode, when the store failed. Without it the failure is in `status`. In both modes the
   *   records stay buffered and are retried
   */
  async flush(): Promise<readonly BatchDiagnosticRecord[]> {
    await this.#metrics?.flush();
    return this.#writer.flush();
  }

  /**
   * Batches of the run in the order they were persisted, after a flush when this is open.
   *
   * @throws {QuarkError} `invalid_input` naming the filter
   */
  async read(filter: BatchDiagnosticFilter = {}): Promise<readonly BatchDiagnosticRecord[]> {
    await this.#writer.drainOpen();
    return (await readBatchDiagnostics(this.#handle, filter)).records;
  }

  /** Which classes, samples and sequences the model has been shown. @throws {QuarkError} `invalid_input` naming the filter */
  async summarizeExposure(range: BatchRangeFilter = {}): Promise<ExposureSummary> {
    await this.#writer.drainOpen();
    return (await readExposure(this.#handle, range)).summary();
  }

  /**
   * Batches that stand out by their loss or their longest sequence, hardest first.
   *
   * @throws {QuarkError} `invalid_input` naming the filter
   */
  async findHardBatches(
    range: BatchRangeFilter & { readonly limit?: number | null | undefined } = {},
  ): Promise<readonly HardBatchFinding[]> {
    const { limit, ...filter } = range;
    const most = checkLimit('limit', limit);
    await this.#writer.drainOpen();
    const losses = await readLosses(this.#handle, filter);
    const hard = findHardRows(losses, await loadNumerics(), this.#settings);
    return this.#findings(losses, hard.slice(0, most));
  }

  /**
   * All of it: losses, exposure, hard batches.
   *
   * @throws {QuarkError} `invalid_input` naming the filter
   */
  async summarize(
    range: BatchRangeFilter & { readonly hardBatchLimit?: number | null | undefined } = {},
  ): Promise<DataDiagnosticsSummary> {
    const { hardBatchLimit, ...filter } = range;
    const most = checkLimit('hardBatchLimit', hardBatchLimit);
    await this.#writer.drainOpen();
    const { losses, exposure } = await readBoth(this.#handle, filter);
    return batchSummaryOf(losses, exposure, await loadNumerics(), this.#settings, (hard) =>
      this.#findings(losses, hard.slice(0, most)),
    );
  }

  /** {@link flush} without the records. @internal */
  async drain(): Promise<void> {
    await this.#metrics?.drain();
    await writeFor(this.#handle, () => this.#writer.drain());
  }

  /** Flushes and closes; `logBatch` throws `writer_closed` afterwards, reading and summaries still work. */
  close(): Promise<void> {
    return writeFor(this.#handle, () => this.#end());
  }

  /** Same as {@link close}. */
  [ASYNC_DISPOSE](): Promise<void> {
    return this.close();
  }

  async #end(): Promise<void> {
    await this.#metrics?.close();
    await this.#writer.close();
    this.#detach();
    const { runId } = this.#handle;
    const open = openFor.get(runId);
    open?.delete(this);
    if (open?.size === 0) openFor.delete(runId);
  }

  /** Hard rows with what was recorded of their batches, which is read for them alone. */
  async #findings(
    { sequences }: LossColumns,
    hard: readonly HardRow[],
  ): Promise<readonly HardBatchFinding[]> {
    const sequenceOf = ({ row }: HardRow): number => sequences[row] ?? -1;
    const batches = await readBatchesAt(this.#handle, hard.map(sequenceOf));
    return hard.flatMap((found) => {
      const batch = batches.get(sequenceOf(found));
      return batch === undefined ? [] : [toFinding(batch, found)];
    });
  }

  /** What inputs and targets say. An error of a tensor that cannot be read is thrown in strict mode only. */
  #sketchOf(
    inputs: LogBatchOptions['inputs'],
    targets: LogBatchOptions['targets'],
    position: BatchPosition,
  ): CheckedBatch {
    if (!isGiven(inputs) && !isGiven(targets)) return NOTHING_FOUND;
    try {
      const given = isGiven(inputs) ? sketchTensors(inputs) : [];
      const target = isGiven(targets) ? sketchTensor('targets', targets) : undefined;
      const facts = this.#sketch.train(given, target, position.epoch);
      return { ...NOTHING_FOUND, batchSize: facts.batchSize, ...recordedOf(facts) };
    } catch (error) {
      if (!isQuarkError(error, 'probe_failed')) throw error;
      this.#warn('unreadable_tensor', 'A batch is recorded without its samples', error, position);
      return NOTHING_FOUND;
    }
  }

  /** What was given by name. The error of a tensor that cannot be read is thrown in strict mode only. */
  #check(given: BatchMetadata, position: BatchPosition): CheckedBatch {
    try {
      return checkBatch(given, 'labels');
    } catch (error) {
      if (!isQuarkError(error, 'probe_failed')) throw error;
      this.#warn('unreadable_tensor', 'A batch is recorded without its samples', error, position);
      const { batchSize, metadata } = given;
      return checkBatch({ batchSize, metadata });
    }
  }

  /** What the adapter finds in a batch. It is the user's code: its errors are thrown in strict mode only. */
  #ask(batch: unknown, position: BatchPosition): CheckedBatch {
    try {
      return checkBatch(checkFound(this.#settings.adapter?.extractBatchMetadata(batch)));
    } catch (error) {
      const message =
        'The adapter could not read a batch; its loss is recorded without its samples';
      this.#warn('adapter_failed', message, error, position);
      return NOTHING_FOUND;
    }
  }

  /** Once a reason; in strict mode the error goes on. */
  #warn(reason: string, message: string, error: unknown, position: BatchPosition): void {
    if (this.#handle.strictMode) throw error;
    if (this.#warned.has(reason)) return;
    this.#warned.add(reason);
    this.#handle.notify({
      eventType: 'data_diagnostics_warning',
      severity: 'warning',
      ...position,
      payload: { message: `${message}: ${messageOf(error)}`, reason },
    });
  }
}

function sketchTensors(inputs: LabelTensor | readonly LabelTensor[]): readonly SketchTensor[] {
  const list: readonly unknown[] = Array.isArray(inputs) ? inputs : [inputs];
  return list.map((tensor, i) =>
    sketchTensor(list.length === 1 ? 'inputs' : `inputs[${i}]`, tensor),
  );
}

function recordedOf({
  classCounts,
  targets,
}: BatchFacts): Pick<CheckedBatch, 'classCounts' | 'metadata'> {
  if (targets === null) return { classCounts, metadata: null };
  const { max, mean, min, std } = targets;
  return {
    classCounts,
    metadata: { target_min: min, target_max: max, target_mean: mean, target_std: std },
  };
}

type BatchPosition = { readonly step: number | null; readonly epoch: number | null };

/** Checks what an adapter returned: it is the user's code. */
function checkFound(found: unknown): BatchMetadata {
  // It has no names of its own, and would count as a batch of which nothing is known.
  if (typeof found === 'object' && found !== null && 'then' in found)
    throw invalidInput(
      'adapter.extractBatchMetadata(batch)',
      'a promise',
      'the metadata itself; read what takes time before, and pass it to logBatch',
    );
  checkOptionNames('adapter.extractBatchMetadata(batch)', found, [
    'batchSize',
    'sampleIds',
    'classCounts',
    'sequenceLengths',
    'metadata',
  ]);
  return found as BatchMetadata; // each value is checked where the batch is
}
