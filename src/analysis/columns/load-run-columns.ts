/** Reads a run into columns, as few segments and objects as it can. */
import { checkOptionNames } from '../../base/assert.ts';
import { invalidInput } from '../../base/errors.ts';
import { batchDiagnosticTable } from '../../records/batch-diagnostic.ts';
import { eventTable } from '../../records/event.ts';
import { systemTelemetryTable } from '../../records/system-telemetry.ts';
import { checkPosition, type Position } from '../../read/filters.ts';
import { readSeries } from '../../read/metric-series.ts';
import { readLayerColumns, readParameterColumns } from '../../read/tables.ts';
import { readColumns } from '../../read/columns.ts';
import { openRun, RunReader } from '../../read/run-reader.ts';
import type { RunSource } from '../../read/scan.ts';
import type { RunContext } from '../../session/run-context.ts';
import { handleOf } from '../../session/run-handle.ts';
import type { TrainingSession } from '../../session/training-session.ts';
import type { SegmentSource, Store } from '../../store/store.ts';
import { emptyColumns, runInfo } from './empty-columns.ts';
import { batchColumns, layerSeries, nameAt, parameterSeries } from './grouped-series.ts';
import { placeSeries } from './metric-series.ts';
import {
  TELEMETRY_NUMBERS,
  type EventColumns,
  type MetricSeries,
  type RunColumns,
  type RunInfo,
  type TelemetryColumns,
} from './run-columns.ts';

/** A run to analyse: a session, a context, or what `openRun` gives. */
export type AnalyzableRun = TrainingSession | RunContext | RunReader;

/** A run, and where its segments are read from. */
export type SegmentRun = { readonly store: SegmentSource; readonly runId: string };

/** What {@link loadRunColumns} reads; all of it unless told otherwise. */
export type WantedColumns = {
  /** True for all metrics, or the keys of some. */
  readonly metrics?: boolean | readonly string[];
  readonly layers?: boolean;
  readonly parameters?: boolean;
  readonly telemetry?: boolean;
  readonly batches?: boolean;
  readonly events?: boolean;
};

const WANTED_NAMES = ['metrics', 'layers', 'parameters', 'telemetry', 'batches', 'events'] as const;

/**
 * The run as columns. What an open session has buffered is made durable first.
 *
 * @throws {QuarkError} `invalid_input` naming the field
 * @throws {SessionStoreError}
 * @example
 * ```js
 * import { MetricsLogger, TrainingSession } from 'quark-sdk';
 * import { loadRunColumns } from 'quark-sdk/analysis';
 *
 * await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, async (session) => {
 *   new MetricsLogger(session).logColumns('train/loss', [0, 1, 2], [0.9, 0.5, 0.4]);
 *   const { metrics, layers } = await loadRunColumns(session, { metrics: ['train/loss'] });
 *   console.log(metrics.get('train/loss').values, layers.length); // Float64Array(3) [ 0.9, 0.5, 0.4 ] 0
 * });
 * ```
 */
export async function loadRunColumns(
  source: AnalyzableRun,
  wanted: WantedColumns = {},
): Promise<RunColumns> {
  checkWanted(wanted);
  const { store, runId } = await settle(source);
  const { isLive, run } = await openRun(store, runId);
  return readRunColumns({ store, runId }, runInfo(run, isLive), wanted);
}

/**
 * The same from segments alone, for those who know of the run and have no store: workers.
 *
 * @throws {SessionStoreError}
 */
export async function readRunColumns(
  source: SegmentRun,
  info: RunInfo,
  wanted: WantedColumns = {},
): Promise<RunColumns> {
  const isWanted = (name: Exclude<keyof WantedColumns, 'metrics'>): boolean => wanted[name] ?? true;
  const empty = emptyColumns();
  const metrics = await readMetrics(source, wanted.metrics ?? true);
  const layers = isWanted('layers') ? await readLayerColumns(source) : undefined;
  const parameters = isWanted('parameters') ? await readParameterColumns(source) : undefined;
  const telemetry = isWanted('telemetry')
    ? await readTelemetryTable(source, checkPosition({}, []))
    : undefined;
  const batches = isWanted('batches')
    ? await readBatchTable(source, checkPosition({}, []))
    : undefined;
  const events = isWanted('events') ? await readEvents(source) : undefined;
  const parts = [layers, parameters, telemetry, batches, events];
  return {
    run: info,
    metrics: metrics.series,
    layers: layers === undefined ? [] : layerSeries(layers),
    parameters: parameters === undefined ? [] : parameterSeries(parameters),
    telemetry: telemetry?.columns ?? empty.telemetry,
    batches: batches === undefined ? empty.batches : batchColumns(batches),
    events: events?.columns ?? empty.events,
    damagedSegments: parts.reduce(
      (sum, part) => sum + (part?.damage.length ?? 0),
      metrics.damagedSegments,
    ),
  };
}

/**
 * Where a run is, after what its session has buffered was made durable.
 *
 * @throws {QuarkError} `invalid_input`
 */
export async function settle(
  source: AnalyzableRun,
): Promise<{ readonly store: Store; readonly runId: string }> {
  if (source instanceof RunReader) return { store: source.store, runId: source.run.id };
  const handle = handleOf(source);
  await handle.flush();
  return { store: handle.store, runId: handle.runId };
}

/**
 * Columns that a caller has read already, for an analysis of this run.
 *
 * @throws {QuarkError} `invalid_input`
 */
export function checkColumnsOf(columns: RunColumns, runId: string): RunColumns {
  const given: unknown = (columns as { readonly run?: { readonly runId?: unknown } } | null)?.run
    ?.runId;
  if (given !== runId)
    throw invalidInput('options.columns', given, `the columns of run ${runId}, by loadRunColumns`);
  return columns;
}

function checkWanted(wanted: WantedColumns): void {
  checkOptionNames('wanted', wanted, WANTED_NAMES);
  for (const name of WANTED_NAMES) {
    const value: unknown = wanted[name];
    const isList =
      name === 'metrics' && Array.isArray(value) && value.every((key) => typeof key === 'string');
    if (value !== undefined && typeof value !== 'boolean' && !isList)
      throw invalidInput(
        `wanted.${name}`,
        value,
        name === 'metrics' ? 'true, false or a list of metric keys' : 'true or false',
      );
  }
}

async function readMetrics(
  source: SegmentRun,
  wanted: boolean | readonly string[],
): Promise<{ series: ReadonlyMap<string, MetricSeries>; damagedSegments: number }> {
  if (wanted === false) return { series: new Map(), damagedSegments: 0 };
  const read = await readSeries(source, wanted === true ? {} : { metricKeys: wanted });
  return { series: placeSeries(read.series), damagedSegments: read.damage.length };
}

type Damaged<T> = { readonly columns: T; readonly damage: readonly unknown[] };

/** Telemetry as columns. */
export async function readTelemetryTable(
  source: RunSource,
  position: Position,
): Promise<
  Damaged<TelemetryColumns> & { readonly rowCount: number; readonly lastSequence: number }
> {
  const { damage, lastSequence, numbers, rowCount } = await readColumns(
    source,
    systemTelemetryTable,
    { rows: { position }, numbers: ['timestamp', 'step', 'epoch', ...TELEMETRY_NUMBERS] },
  );
  const { epoch, step, timestamp, ...others } = numbers;
  return {
    columns: { rowCount, steps: step, epochs: epoch, timesMs: timestamp, ...others },
    damage,
    rowCount,
    lastSequence,
  };
}

/** Batches as columns, class counts as JSON, sample ids as lists. */
export function readBatchTable(source: RunSource, position: Position) {
  return readColumns(source, batchDiagnosticTable, {
    rows: { position },
    numbers: ['timestamp', 'step', 'epoch', 'loss', 'batchSize'],
    jsons: ['classCounts', 'metadata'],
    lists: ['sampleIds'],
  });
}

async function readEvents(source: RunSource): Promise<Damaged<EventColumns>> {
  const { damage, jsons, numbers, rowCount, texts } = await readColumns(source, eventTable, {
    rows: { position: checkPosition({}, []) },
    texts: ['eventType', 'severity'],
    numbers: ['timestamp', 'step'],
    jsons: ['payload'],
  });
  const rows = Array.from({ length: rowCount }, (_, row) => row);
  return {
    columns: {
      rowCount,
      eventTypes: rows.map((row) => nameAt(texts.eventType, row)),
      severities: rows.map((row) => nameAt(texts.severity, row)),
      steps: numbers.step,
      timesMs: numbers.timestamp,
      payloads: jsons.payload.map((text) => text ?? '{}'),
    },
    damage,
  };
}
