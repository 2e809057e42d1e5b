/** What probes and diagnostics recorded of a run, read back: after training, elsewhere, or while it goes on. */
import { invalidInput } from '../../base/errors.ts';
import * as batches from '../../read/batch-diagnostics.ts';
import * as layers from '../../read/layer-summaries.ts';
import type { RecordsRead } from '../../read/metric-records.ts';
import * as parameters from '../../read/parameter-records.ts';
import type { RunReader } from '../../read/run-reader.ts';
import * as telemetry from '../../read/telemetry.ts';
import type { BatchDiagnosticRecord } from '../../records/batch-diagnostic.ts';
import type { LayerSummaryRecord } from '../../records/layer-summary.ts';
import type { ParameterDistributionRecord } from '../../records/parameter-distribution.ts';
import type { ParameterSummaryRecord } from '../../records/parameter-summary.ts';
import type { SystemTelemetryRecord } from '../../records/system-telemetry.ts';

/** A run to read from: what `openRun(store, runId)` gives. */
export type ReadableRun = Pick<RunReader, 'store' | 'run'>;

/**
 * Layer summaries of a run as records, in the order they were persisted. To follow a run that goes on, ask for what came
 * after the last record: `sequenceMin: record.sequence + 1`.
 *
 * @throws {QuarkError} `invalid_input` naming the filter
 */
export function readLayerSummaries(
  reader: ReadableRun,
  filter: layers.LayerSummaryFilter = {},
): Promise<RecordsRead<LayerSummaryRecord>> {
  const { store, runId } = checkReader(reader);
  return layers.readLayerSummaries(store, runId, filter);
}

/**
 * Layer summaries of a run as columns: the fast way to read many.
 *
 * @throws {QuarkError} `invalid_input` naming the filter
 */
export function readLayerColumns(
  reader: ReadableRun,
  filter: layers.LayerSummaryFilter = {},
): Promise<layers.LayerColumns> {
  const { store, runId } = checkReader(reader);
  return layers.readLayerColumns(store, runId, filter);
}

/**
 * Parameter summaries of a run as records, in the order they were persisted.
 *
 * @throws {QuarkError} `invalid_input` naming the filter
 */
export function readParameterSummaries(
  reader: ReadableRun,
  filter: parameters.ParameterSummaryFilter = {},
): Promise<RecordsRead<ParameterSummaryRecord>> {
  const { store, runId } = checkReader(reader);
  return parameters.readParameterSummaries(store, runId, filter);
}

/**
 * Parameter summaries of a run as columns: the fast way to read many.
 *
 * @throws {QuarkError} `invalid_input` naming the filter
 */
export function readParameterColumns(
  reader: ReadableRun,
  filter: parameters.ParameterColumnFilter = {},
): Promise<parameters.ParameterColumns> {
  const { store, runId } = checkReader(reader);
  return parameters.readParameterColumns(store, runId, filter);
}

/**
 * Parameter histograms of a run as records, in the order they were persisted.
 *
 * @throws {QuarkError} `invalid_input` naming the filter
 */
export function readParameterDistributions(
  reader: ReadableRun,
  filter: parameters.ParameterDistributionFilter = {},
): Promise<RecordsRead<ParameterDistributionRecord>> {
  const { store, runId } = checkReader(reader);
  return parameters.readParameterDistributions(store, runId, filter);
}

/**
 * System telemetry of a run as records, in the order it was persisted.
 *
 * @throws {QuarkError} `invalid_input` naming the filter
 */
export function readTelemetry(
  reader: ReadableRun,
  filter: telemetry.TelemetryFilter = {},
): Promise<RecordsRead<SystemTelemetryRecord>> {
  const { store, runId } = checkReader(reader);
  return telemetry.readTelemetry(store, runId, filter);
}

/**
 * Batch diagnostics of a run as records, in the order they were persisted; see `summarizeBatches`.
 *
 * @throws {QuarkError} `invalid_input` naming the filter
 */
export function readBatchDiagnostics(
  reader: ReadableRun,
  filter: batches.BatchDiagnosticFilter = {},
): Promise<RecordsRead<BatchDiagnosticRecord>> {
  const { store, runId } = checkReader(reader);
  return batches.readBatchDiagnostics(store, runId, filter);
}

function checkReader(reader: ReadableRun): { store: RunReader['store']; runId: string } {
  if (typeof reader?.run?.id !== 'string' || typeof reader.store?.listSegments !== 'function')
    throw invalidInput('reader', reader, 'a run to read: await openRun(store, runId)');
  return { store: reader.store, runId: reader.run.id };
}
