/** The tables of a run as they are followed: what a delivery has of each. It is loaded when a run is followed. */
import { alertTable, type AlertRecord } from '../records/alert.ts';
import { artifactTable, type ArtifactRecord } from '../records/artifact.ts';
import { batchDiagnosticTable, type BatchDiagnosticRecord } from '../records/batch-diagnostic.ts';
import { eventTable, type EventRecord } from '../records/event.ts';
import { healthScoreTable, type HealthScoreRecord } from '../records/health-score.ts';
import {
  parameterDistributionTable,
  type ParameterDistributionRecord,
} from '../records/parameter-distribution.ts';
import { phaseTable, type PhaseRecord } from '../records/phase.ts';
import { generationOf } from '../records/shapes/run.ts';
import { systemTelemetryTable, type SystemTelemetryRecord } from '../records/system-telemetry.ts';
import type { RecordOf } from '../schema/record.ts';
import type { TableColumns, TableDefinition } from '../schema/table.ts';
import type { DamageReport } from '../segment/open-segment.ts';
import { containsKey } from '../store/segment-rules.ts';
import type { Store } from '../store/store.ts';
import { FollowLoop, type FollowedRun, type NextSegments } from './following/follow-loop.ts';
import type { FollowedPosition, FollowSettings } from './following/follow-options.ts';
import type { FollowHooks } from './following/run-following.ts';
import { readMetricColumns, type MetricColumns } from './metric-columns.ts';
import { readRecords } from './records.ts';
import { loadStored } from './runs.ts';
import { endOf, type RunSource } from './scan.ts';
import {
  readLayerColumns,
  readParameterColumns,
  type LayerColumns,
  type ParameterColumns,
} from './tables.ts';

/** Rows of a table that few records are in. */
export type FollowedRecords<T> = {
  /** In the order they were persisted. */
  readonly records: readonly T[];
  readonly rowCount: number;
  /** Segments that could not be read and are missing here. */
  readonly damage: readonly DamageReport[];
};

type RowsByTable = {
  readonly metrics: MetricColumns;
  readonly layer_summaries: LayerColumns;
  readonly parameter_summaries: ParameterColumns;
  readonly events: FollowedRecords<EventRecord>;
  readonly artifacts: FollowedRecords<ArtifactRecord>;
  readonly batch_diagnostics: FollowedRecords<BatchDiagnosticRecord>;
  readonly parameter_distributions: FollowedRecords<ParameterDistributionRecord>;
  readonly system_telemetry: FollowedRecords<SystemTelemetryRecord>;
  readonly alerts: FollowedRecords<AlertRecord>;
  readonly health_scores: FollowedRecords<HealthScoreRecord>;
  readonly phases: FollowedRecords<PhaseRecord>;
};

/** A table that can be followed. */
export type FollowedTable = keyof RowsByTable;

/**
 * What a delivery has of a table: columns of `metrics`, as `readMetricColumns` gives them, of `layer_summaries` and of
 * `parameter_summaries`; records of the others.
 */
export type FollowedRows<T extends FollowedTable = FollowedTable> = RowsByTable[T] &
  FollowedPosition;

type RowReaders = {
  readonly [T in FollowedTable]: (
    source: RunSource,
    sequenceMin: number,
    keys: readonly string[] | undefined,
  ) => Promise<RowsByTable[T]>;
};

const recordsOf =
  <C extends TableColumns>(table: TableDefinition<C>) =>
  async (source: RunSource, sequenceMin: number): Promise<FollowedRecords<RecordOf<C>>> => {
    const read = await readRecords(source, table, { sequenceMin });
    return { ...read, rowCount: read.records.length };
  };

const READERS: RowReaders = {
  metrics: (source, sequenceMin, metricKeys) =>
    readMetricColumns(source, { sequenceMin, metricKeys }),
  layer_summaries: (source, sequenceMin) => readLayerColumns(source, { sequenceMin }),
  parameter_summaries: (source, sequenceMin) => readParameterColumns(source, { sequenceMin }),
  events: recordsOf(eventTable),
  artifacts: recordsOf(artifactTable),
  batch_diagnostics: recordsOf(batchDiagnosticTable),
  parameter_distributions: recordsOf(parameterDistributionTable),
  system_telemetry: recordsOf(systemTelemetryTable),
  alerts: recordsOf(alertTable),
  health_scores: recordsOf(healthScoreTable),
  phases: recordsOf(phaseTable),
};

/** Begins to follow a table of a run. */
export function followRows<T extends FollowedTable>(
  store: Store,
  runId: string,
  asked: FollowSettings & { readonly table: T },
  hooks: FollowHooks,
): FollowLoop<RowsByTable[T]> {
  const { metricKeys, table } = asked;
  const readRows: RowReaders[T] = READERS[table];
  const run: FollowedRun<RowsByTable[T]> = {
    state: async () => {
      const found = await loadStored(store, runId);
      if (found === undefined) return undefined;
      const { stored, summary } = found;
      return {
        status: summary.effectiveStatus,
        isStored: summary.effectiveStatus === summary.run.status,
        revision: stored.revision,
        generation: generationOf(stored),
      };
    },
    end: () => endOf(store, runId, table),
    list: (sequenceMin, all = false) =>
      store.listSegments({
        runId,
        table,
        ...(sequenceMin > 0 ? { sequenceMin } : {}),
        ...(all ? { superseded: true, empty: true } : {}),
      }),
    read: async (next, position) => {
      const rows = await readRows(
        { runId, store: windowOf(store, next, metricKeys) },
        position,
        metricKeys,
      );
      return rows.rowCount === 0 && rows.damage.length === 0 ? undefined : rows;
    },
  };
  return new FollowLoop({ run, settings: asked, ...hooks });
}

/** The store, as far as the next segments reach; of those, the ones that may have samples of the metrics. */
function windowOf(
  store: Store,
  next: NextSegments,
  metricKeys: readonly string[] | undefined,
): RunSource['store'] {
  return {
    listSegments: async () => (await next()).filter(({ keys }) => containsKey(keys, metricKeys)),
    readSegments: (segments) => store.readSegments(segments),
  };
}
