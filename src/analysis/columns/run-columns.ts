/** A run as columns: all that rules, phases and comparisons see. They are never changed after they were made. */
import type { JsonObject } from '../../base/json.ts';
import { PARAMETER_NUMBERS, RECORDED_LAYER_NUMBERS } from '../../read/tables.ts';
import type { RunStatus } from '../../records/literals.ts';
import type { AskedRoles } from '../../records/run-roles.ts';

/** What a series is laid out by: `epoch` only where its samples have no step. */
export type SeriesAxis = 'step' | 'epoch';

/** Columns that every series has; all of one length, in ascending order of `x`, each place once. */
export type PlacedColumns = {
  /** Which of `steps` and `epochs` the rows are ordered by; that column has no NaN. */
  readonly x: SeriesAxis;
  /** Step of each row; NaN where it has none. */
  readonly steps: Float64Array;
  /** Epoch of each row; NaN where it has none. */
  readonly epochs: Float64Array;
  /** When each row was recorded, in UTC epoch milliseconds; NaN where nobody knows. */
  readonly timesMs: Float64Array;
};

/** A metric. Of several samples at one place the last recorded counts: a resumed run replaces what it repeats. */
export type MetricSeries = PlacedColumns & {
  /** The full key, such as `train/loss`. */
  readonly key: string;
  /** The samples; NaN and infinities are kept. */
  readonly values: Float64Array;
};

/** One kind of summary of one layer, a row a probe. NaN is what is not known. */
export type LayerSeries = PlacedColumns & {
  readonly moduleName: string;
  readonly moduleType: string;
  readonly summaryType: 'activation' | 'gradient';
  /** Which call of the layer in a step, from 0. */
  readonly callIndex: number;
  /** Whether the passes trained nothing: validation, prediction. */
  readonly isEvaluation: boolean;
} & { readonly [K in LayerNumber]: Float64Array };

/**
 * Numbers of a {@link LayerSeries}, named as the fields of the layer summary record; `unitCount` is the number of units
 * that `deadUnitCount` counts among, from the shape of the tensor.
 */
export const LAYER_NUMBERS: readonly [...typeof RECORDED_LAYER_NUMBERS, 'unitCount'] = [
  ...RECORDED_LAYER_NUMBERS,
  'unitCount',
];

/** One of {@link LAYER_NUMBERS}. */
export type LayerNumber = (typeof LAYER_NUMBERS)[number];

/** One parameter, a row a snapshot. NaN is what is not known. */
export type ParameterSeries = PlacedColumns & {
  readonly moduleName: string;
  readonly parameterName: string;
  readonly parameterRole: string;
  /** Whether the optimizer does not have it. */
  readonly isFrozen: boolean;
} & { readonly [K in ParameterNumber]: Float64Array };

export { PARAMETER_NUMBERS };

/** One of {@link PARAMETER_NUMBERS}. */
export type ParameterNumber = (typeof PARAMETER_NUMBERS)[number];

/** Numbers of {@link TelemetryColumns}, named as the fields of the telemetry record. */
export const TELEMETRY_NUMBERS = [
  'stepTimeMs',
  'dataTimeMs',
  'computeTimeMs',
  'cpuUsagePercent',
  'ramUsagePercent',
  'ramUsedBytes',
  'processRssBytes',
  'gpuUtilizationPercent',
  'gpuMemoryUsedBytes',
  'gpuMemoryUsagePercent',
  'heapUsedBytes',
  'pageMemoryBytes',
  'tensorCount',
  'tensorBytes',
  'overflowCount',
  'skippedStepCount',
] as const;

/** One of {@link TELEMETRY_NUMBERS}. */
export type TelemetryNumber = (typeof TELEMETRY_NUMBERS)[number];

/** Telemetry in the order it was recorded, records of steps and of points in time together. NaN is what is not known. */
export type TelemetryColumns = {
  readonly rowCount: number;
  readonly steps: Float64Array;
  readonly epochs: Float64Array;
  /** UTC epoch milliseconds. */
  readonly timesMs: Float64Array;
} & { readonly [K in TelemetryNumber]: Float64Array };

/** Batches in ascending order of step, of equal steps as they were recorded. NaN is what is not known. */
export type BatchColumns = {
  readonly rowCount: number;
  readonly steps: Float64Array;
  readonly epochs: Float64Array;
  /** UTC epoch milliseconds. */
  readonly timesMs: Float64Array;
  readonly losses: Float64Array;
  readonly batchSizes: Float64Array;
  /** Names of the classes that occur. */
  readonly classNames: readonly string[];
  /** Row `i` has the class counts from `classOffsets[i]` to before `classOffsets[i + 1]`; one more entry than rows. */
  readonly classOffsets: Int32Array;
  /** Position in `classNames` of each class count. */
  readonly classIndex: Int32Array;
  /** Samples of the class in the batch. */
  readonly classCounts: Float64Array;
  /** Identifiers of the samples that occur. */
  readonly sampleNames: readonly string[];
  /** Row `i` has the samples from `sampleOffsets[i]` to before `sampleOffsets[i + 1]`; one more entry than rows. */
  readonly sampleOffsets: Int32Array;
  /** Position in `sampleNames` of each sample. */
  readonly sampleIndex: Int32Array;
  /** Metadata of each batch as JSON text; null where it has none. */
  readonly metadata: readonly (string | null)[];
};

/** Events in the order they were recorded. */
export type EventColumns = {
  readonly rowCount: number;
  readonly eventTypes: readonly string[];
  readonly severities: readonly string[];
  readonly steps: Float64Array;
  /** UTC epoch milliseconds. */
  readonly timesMs: Float64Array;
  /** Payload of each event as JSON text. */
  readonly payloads: readonly string[];
};

/** What is known of the run itself. */
export type RunInfo = {
  readonly runId: string;
  readonly status: RunStatus;
  /** Whether a session holds the run now. */
  readonly isLive: boolean;
  readonly config: JsonObject;
  /** UTC epoch milliseconds. */
  readonly startedAtMs: number;
  /** UTC epoch milliseconds; null while the run goes on. */
  readonly endedAtMs: number | null;
  /** Whether the times are those of the run; false where a file without times was imported. */
  readonly hasTimes: boolean;
  /** What its steps count where they are no updates, such as `samples`: from the file it was imported from; null where nobody said. */
  readonly stepUnit: string | null;
  /** Whether the run began with what another had learned: it has a parent, or was resumed. */
  readonly isContinued: boolean;
  /** Metrics that somebody gave a role, as the run remembers them. */
  readonly roles: AskedRoles;
};

/** A run as columns. What was not asked for, or is not there, is empty. */
export type RunColumns = {
  readonly run: RunInfo;
  /** By key, in alphabetical order. */
  readonly metrics: ReadonlyMap<string, MetricSeries>;
  /** In the order in which the layers came to be seen first in a forward pass. */
  readonly layers: readonly LayerSeries[];
  /** In the order in which the parameters came to be seen first. */
  readonly parameters: readonly ParameterSeries[];
  readonly telemetry: TelemetryColumns;
  readonly batches: BatchColumns;
  readonly events: EventColumns;
  /** Segments that could not be read and are missing here. */
  readonly damagedSegments: number;
};

/**
 * The column that a series is ordered by.
 *
 * @example
 * ```js
 * import { axisOf, createMetricSeries } from 'quark-sdk/analysis';
 *
 * const loss = createMetricSeries('val/loss', { epochs: [1, 2, 3], values: [0.9, 0.5, 0.4] });
 * console.log(loss.x, axisOf(loss)); // epoch Float64Array(3) [ 1, 2, 3 ]
 * ```
 */
export function axisOf(series: PlacedColumns): Float64Array {
  return series.x === 'step' ? series.steps : series.epochs;
}
