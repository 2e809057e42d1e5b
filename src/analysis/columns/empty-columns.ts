/** Runs in memory: columns that hold nothing, and columns put together by hand. */
import { checkOptionNames } from '../../base/assert.ts';
import { hasTimes, stepUnitOf } from '../../read/run-times.ts';
import type { RunRecord } from '../../records/run.ts';
import { rolesOfRun } from '../../records/run-roles.ts';
import { createBatchColumns } from './batch-columns.ts';
import {
  TELEMETRY_NUMBERS,
  type MetricSeries,
  type RunColumns,
  type RunInfo,
  type TelemetryColumns,
  type TelemetryNumber,
} from './run-columns.ts';

/** Parts of {@link createRunColumns}; what is left out is empty. */
export type RunColumnsParts = Partial<Omit<RunColumns, 'metrics' | 'run'>> & {
  readonly run?: Partial<RunInfo>;
  readonly metrics?: readonly MetricSeries[];
};

const NONE = new Float64Array(0);

/** A run of which nothing is known. */
export function emptyColumns(): RunColumns {
  const numbers = Object.fromEntries(TELEMETRY_NUMBERS.map((name) => [name, NONE]));
  const telemetry: TelemetryColumns = {
    rowCount: 0,
    steps: NONE,
    epochs: NONE,
    timesMs: NONE,
    // Object.fromEntries forgets which names it was given.
    ...(numbers as Record<TelemetryNumber, Float64Array>),
  };
  return {
    run: {
      runId: 'run',
      status: 'completed',
      isLive: false,
      config: {},
      startedAtMs: 0,
      endedAtMs: null,
      hasTimes: true,
      stepUnit: null,
      isContinued: false,
      roles: {},
    },
    metrics: new Map(),
    layers: [],
    parameters: [],
    telemetry,
    batches: createBatchColumns([]),
    events: {
      rowCount: 0,
      eventTypes: [],
      severities: [],
      steps: NONE,
      timesMs: NONE,
      payloads: [],
    },
    damagedSegments: 0,
  };
}

/**
 * A run from columns in memory, for what was never stored: `createRunColumns({ metrics: [createMetricSeries(...)] })`. Of
 * several series with one key the last counts.
 *
 * @throws {QuarkError} `invalid_input` naming an unknown part
 * @example
 * ```js
 * import { analyzeColumns, createMetricSeries, createRunColumns } from 'quark-sdk/analysis';
 *
 * const steps = Float64Array.from({ length: 50 }, (_, step) => step);
 * const metrics = [createMetricSeries('train/loss', { steps, values: steps.map((step) => 1 / (step + 1)) })];
 * const columns = createRunColumns({ metrics, run: { config: { lr: 0.1 } } });
 * console.log(columns.metrics.size, columns.run.config); // 1 { lr: 0.1 }
 * console.log(analyzeColumns(columns).roles.trainLoss.keys); // [ 'train/loss' ]
 * ```
 */
export function createRunColumns(parts: RunColumnsParts): RunColumns {
  const empty = emptyColumns();
  checkOptionNames('parts', parts, Object.keys(empty));
  const { metrics = [], run = {}, ...others } = parts;
  const sorted = metrics.toSorted((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  return {
    ...empty,
    ...others,
    run: { ...empty.run, ...run },
    metrics: new Map(sorted.map((series) => [series.key, series])),
  };
}

/** What analysis needs of a run record. */
export function runInfo(run: RunRecord, isLive: boolean): RunInfo {
  return {
    runId: run.id,
    status: run.status,
    isLive,
    config: run.config,
    startedAtMs: Date.parse(run.startedAt),
    endedAtMs: run.endedAt === null ? null : Date.parse(run.endedAt),
    hasTimes: hasTimes(run),
    stepUnit: stepUnitOf(run),
    isContinued: run.parentRunId !== null || run.resumeCount > 0,
    roles: rolesOfRun(run.environment),
  };
}
