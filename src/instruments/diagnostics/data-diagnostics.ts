/** What the model is trained on, batch by batch. */
import { checkOptionalCount, checkOptionNames, checkTimestamp } from '../../base/assert.ts';
import { ASYNC_DISPOSE } from '../../base/dispose.ts';
import { invalidInput, isQuarkError, messageOf } from '../../base/errors.ts';
import { readBatchDiagnostics, type BatchDiagnosticFilter } from '../../read/tables.ts';
import {
  batchDiagnosticTable,
  type BatchDiagnosticRecord,
} from '../../records/batch-diagnostic.ts';
import type { WriterStatus } from '../../session/buffered-writer.ts';
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
import {
  checkDiagnosticsConfig,
  type DataDiagnosticsConfig,
  type DataDiagnosticsSettings,
} from './config.ts';
import type { DataDiagnosticsSummary, ExposureSummary, HardBatchFinding } from './findings.ts';
import type { Labels } from './labels.ts';
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
  'sampleIds',
  'sequenceLengths',
  'metadata',
  'timestamp',
] as const;

/**
 * Records loss and make-up of batches, and finds the hard ones and what the model has been shown. Raw samples are never stored: sample
 * ids, class counts and sequence lengths are.
 */
export class DataDiagnostics implements AsyncDisposable {
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
    this.#handle = handleOf(session);
    this.#settings = checkDiagnosticsConfig(config);
    this.#writer = new RecordWriter(this.#handle, batchDiagnosticTable, this.#settings.writer);
    this.#detach = this.#handle.attach({
      drain: () => this.#writer.drain(),
      drainNow: () => this.#writer.drainNow(),
      close: () => this.#end(),
    });
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
    if (typeof loss !== 'number') throw invalidInput('loss', loss, 'a number');
    checkOptionNames('options', options, OPTION_NAMES);
    const { step, epoch, batch, labels, timestamp, ...given } = options;
    const { adapter } = this.#settings;
    if (batch !== undefined && adapter === null)
      throw invalidInput('batch', '[batch]', 'left out, or an adapter in the config');
    const position = {
      step: checkOptionalCount('step', step),
      epoch: checkOptionalCount('epoch', epoch),
    };
    const found = batch === undefined ? NOTHING_FOUND : this.#ask(batch, position);
    const row = {
      timestamp: checkTimestamp(timestamp, this.#handle.clock),
      ...position,
      loss,
      ...joined(this.#check({ ...given, classCounts: labels }, position), found),
    };
    this.#writer.add(row);
    return batchDiagnosticTable.wrap({ ...row, runId: this.#handle.runId, sequence: null });
  }

  /**
   * Makes every batch so far durable and returns those this call wrote.
   *
   * @throws {SessionStoreError} in strict mode, when the store failed. Without it the failure is in `status`. In both modes the
   *   records stay buffered and are retried
   */
  flush(): Promise<readonly BatchDiagnosticRecord[]> {
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

  /** Flushes and closes; `logBatch` throws `writer_closed` afterwards, reading and summaries still work. */
  close(): Promise<void> {
    return writeFor(this.#handle, () => this.#end());
  }

  /** Same as {@link close}. */
  [ASYNC_DISPOSE](): Promise<void> {
    return this.close();
  }

  async #end(): Promise<void> {
    await this.#writer.close();
    this.#detach();
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
