/** The tables beside metrics and events, read back: after training, elsewhere, or while a run goes on. */
import { batchDiagnosticTable, type BatchDiagnosticRecord } from '../records/batch-diagnostic.ts';
import { layerSummaryTable, type LayerSummaryRecord } from '../records/layer-summary.ts';
import type {
  HookDirection,
  LayerSummaryType,
  ParameterDistributionType,
  TelemetryBoundary,
} from '../records/literals.ts';
import {
  parameterDistributionTable,
  type ParameterDistributionRecord,
} from '../records/parameter-distribution.ts';
import {
  parameterSummaryTable,
  type ParameterSummaryRecord,
} from '../records/parameter-summary.ts';
import { systemTelemetryTable, type SystemTelemetryRecord } from '../records/system-telemetry.ts';
import { readColumns, type RecordColumns } from './columns.ts';
import { checkFilter, checkText, type PositionFilter } from './filters.ts';
import { readRecords, type RecordsRead } from './records.ts';
import { checkRunSource, type RunSource } from './scan.ts';

/** A run to read from: what `openRun(store, runId)` gives, or a store and the id of a run. */
export type ReadableRun = RunSource;

/** Which telemetry to read. All conditions are joined by "and". */
export type TelemetryFilter = PositionFilter & {
  readonly boundary?: TelemetryBoundary | undefined;
};

/**
 * System telemetry of a run as records, in the order it was persisted.
 *
 * @throws {QuarkError} `invalid_input` naming the filter
 * @example
 * ```js
 * import { createMemoryStore, TrainingSession } from 'quark-sdk';
 * import { readTelemetry, SystemTelemetry } from 'quark-sdk/probes';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, (session) => {
 *   const telemetry = new SystemTelemetry(session);
 *   for (let step = 0; step < 3; step++) telemetry.recordStep(step, { stepTimeMs: 12.5 });
 *   return session.runId;
 * });
 * const { records } = await readTelemetry({ store, runId }, { boundary: 'step', stepMin: 1 });
 * console.log(records.map(({ step, stepTimeMs }) => [step, stepTimeMs])); // [ [ 1, 12.5 ], [ 2, 12.5 ] ]
 * ```
 */
export function readTelemetry(
  reader: ReadableRun,
  filter: TelemetryFilter = {},
): Promise<RecordsRead<SystemTelemetryRecord>> {
  return readRecords(checkRunSource('reader', reader), systemTelemetryTable, filter, {
    columns: ['boundary'],
  });
}

/** Which batch diagnostics to read. All conditions are joined by "and". */
export type BatchDiagnosticFilter = PositionFilter & {
  /** Only batches with this sample. */
  readonly sampleId?: string | number | undefined;
};

/**
 * Batch diagnostics of a run as records, in the order they were persisted; see `summarizeBatches`.
 *
 * @throws {QuarkError} `invalid_input` naming the filter
 * @example
 * ```js
 * import { createMemoryStore, TrainingSession } from 'quark-sdk';
 * import { DataDiagnostics, readBatchDiagnostics } from 'quark-sdk/probes';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, (session) => {
 *   const data = new DataDiagnostics(session);
 *   data.logBatch(0.7, { step: 0, sampleIds: ['a', 'b'] });
 *   data.logBatch(0.6, { step: 1, sampleIds: ['c', 'a'] });
 *   return session.runId;
 * });
 * const { records } = await readBatchDiagnostics({ store, runId }, { sampleId: 'c' });
 * console.log(records.length, records[0].loss); // 1 0.6
 * ```
 */
export function readBatchDiagnostics(
  reader: ReadableRun,
  filter: BatchDiagnosticFilter = {},
): Promise<RecordsRead<BatchDiagnosticRecord>> {
  const { sampleId } = filter;
  return readRecords(checkRunSource('reader', reader), batchDiagnosticTable, filter, {
    others: {
      sampleId: (name, value) => (typeof value === 'number' ? undefined : checkText(name, value)),
    },
    where:
      sampleId === undefined
        ? undefined
        : ({ sampleIds }) => sampleIds?.includes(String(sampleId)) === true,
  });
}

/** Which layer summaries to read. All conditions are joined by "and". */
export type LayerSummaryFilter = PositionFilter & {
  readonly moduleName?: string | undefined;
  readonly moduleType?: string | undefined;
  readonly summaryType?: LayerSummaryType | undefined;
  readonly hookDirection?: HookDirection | undefined;
};

const LAYER_TEXTS = ['moduleName', 'moduleType', 'summaryType', 'hookDirection'] as const;

/** Numbers of a layer summary that are read as columns, named as the fields of its record. */
export const RECORDED_LAYER_NUMBERS = [
  'elementCount',
  'mean',
  'std',
  'norm',
  'deadUnitRatio',
  'saturationRatio',
  'nonFiniteCount',
  'deadUnitCount',
  'persistentDeadUnitCount',
] as const;

const POSITION = ['timestamp', 'step', 'epoch'] as const;
const LAYER_COLUMNS = [...POSITION, 'callIndex', ...RECORDED_LAYER_NUMBERS, 'tensorShape'] as const;

/**
 * Layer summaries of a run as records, in the order they were persisted. To follow a run that goes on, ask for what came
 * after the last record: `sequenceMin: record.sequence + 1`.
 *
 * @throws {QuarkError} `invalid_input` naming the filter
 * @example
 * ```js
 * import * as tf from '@tensorflow/tfjs';
 * import { createMemoryStore, TrainingSession } from 'quark-sdk';
 * import { readLayerSummaries } from 'quark-sdk/probes';
 * import { quarkCallback } from 'quark-sdk/tfjs';
 *
 * const model = tf.sequential({ layers: [tf.layers.dense({ name: 'output', units: 1, inputShape: [2] })] });
 * model.compile({ optimizer: 'sgd', loss: 'meanSquaredError' });
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, async (session) => {
 *   const callbacks = quarkCallback(session, tf, model, { hooks: {} });
 *   await model.fit(tf.ones([8, 2]), tf.ones([8, 1]), { batchSize: 4, epochs: 1, verbose: 0, callbacks });
 *   return session.runId;
 * });
 * const { records } = await readLayerSummaries({ store, runId }, { summaryType: 'activation', moduleName: 'output' });
 * for (const { step, norm } of records) console.log(step, norm > 0); // 0 true, then 1 true
 * ```
 */
export function readLayerSummaries(
  reader: ReadableRun,
  filter: LayerSummaryFilter = {},
): Promise<RecordsRead<LayerSummaryRecord>> {
  return readRecords(checkRunSource('reader', reader), layerSummaryTable, filter, {
    columns: LAYER_TEXTS,
  });
}

/**
 * Layer summaries as columns, named as the fields of {@link LayerSummaryRecord}; `timestamp` is in UTC epoch
 * milliseconds, `tensorShape` the length of the last axis.
 */
export type LayerColumns = RecordColumns<
  (typeof LAYER_TEXTS)[number],
  (typeof LAYER_COLUMNS)[number]
> & {
  /** 1 for summaries of passes that trained nothing: validation and prediction. */
  readonly isEvaluation: Uint8Array;
  /** How many units `deadUnitCount` counts among. */
  readonly unitCounts: Float64Array;
};

/**
 * Layer summaries of a run as columns: the fast way to read many.
 *
 * @throws {QuarkError} `invalid_input` naming the filter
 * @example
 * ```js
 * import * as tf from '@tensorflow/tfjs';
 * import { createMemoryStore, TrainingSession } from 'quark-sdk';
 * import { readLayerColumns } from 'quark-sdk/probes';
 * import { quarkCallback } from 'quark-sdk/tfjs';
 *
 * const model = tf.sequential({ layers: [tf.layers.dense({ name: 'output', units: 1, inputShape: [2] })] });
 * model.compile({ optimizer: 'sgd', loss: 'meanSquaredError' });
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, async (session) => {
 *   const callbacks = quarkCallback(session, tf, model, { hooks: {} });
 *   await model.fit(tf.ones([8, 2]), tf.ones([8, 1]), { batchSize: 4, epochs: 1, verbose: 0, callbacks });
 *   return session.runId;
 * });
 * const columns = await readLayerColumns({ store, runId }, { moduleName: 'output' });
 * console.log(columns.rowCount, columns.numbers.step, columns.numbers.norm);
 * ```
 */
export function readLayerColumns(
  reader: ReadableRun,
  filter: LayerSummaryFilter = {},
): Promise<LayerColumns> {
  return layerColumns(checkRunSource('reader', reader), filter);
}

async function layerColumns(source: RunSource, filter: LayerSummaryFilter): Promise<LayerColumns> {
  const {
    jsons,
    lists: _none,
    ...columns
  } = await readColumns(source, layerSummaryTable, {
    rows: checkFilter(layerSummaryTable, filter, { columns: LAYER_TEXTS }),
    texts: LAYER_TEXTS,
    numbers: LAYER_COLUMNS,
    jsons: ['metadata'],
  });
  const isEvaluation = new Uint8Array(columns.rowCount);
  const unitCounts = columns.numbers.tensorShape.slice();
  const known = new Map<string, SummaryContext>();
  for (const [row, text] of jsons.metadata.entries()) {
    if (text === null || !/"(?:evaluation|unit_count)"/.test(text)) continue;
    let context = known.get(text);
    if (context === undefined) known.set(text, (context = contextOf(text)));
    if (context.isEvaluation) isEvaluation[row] = 1;
    if (context.unitCount !== undefined) unitCounts[row] = context.unitCount;
  }
  return { ...columns, isEvaluation, unitCounts };
}

type SummaryContext = { readonly isEvaluation: boolean; readonly unitCount: number | undefined };

/** What the metadata of a summary says about it; see `instruments/probes/layer-rows.ts`. */
function contextOf(metadata: string): SummaryContext {
  const value: unknown = JSON.parse(metadata);
  if (typeof value !== 'object' || value === null)
    return { isEvaluation: false, unitCount: undefined };
  return {
    isEvaluation: 'pass' in value && value.pass === 'evaluation',
    unitCount:
      'unit_count' in value && typeof value.unit_count === 'number' ? value.unit_count : undefined,
  };
}

/** Which parameter summaries to read. All conditions are joined by "and". */
export type ParameterSummaryFilter = PositionFilter & {
  readonly moduleName?: string | undefined;
  readonly parameterName?: string | undefined;
  /** Of each parameter the most recent only; default false. */
  readonly latestOnly?: boolean | undefined;
};

/** Which parameter summaries to read as columns. All conditions are joined by "and". */
export type ParameterColumnFilter = Omit<ParameterSummaryFilter, 'latestOnly'>;

/** Which parameter histograms to read. All conditions are joined by "and". */
export type ParameterDistributionFilter = ParameterSummaryFilter & {
  readonly distributionType?: ParameterDistributionType | undefined;
};

const PARAMETER_FILTERS = ['moduleName', 'parameterName'] as const;
const PARAMETER_TEXTS = [...PARAMETER_FILTERS, 'parameterRole', 'optimizerGroup'] as const;

/** Numbers of a parameter summary that are read as columns, named as the fields of its record. */
export const PARAMETER_NUMBERS = [
  'elementCount',
  'valueMean',
  'valueStd',
  'valueNorm',
  'gradientMean',
  'gradientStd',
  'gradientNorm',
  'updateNorm',
  'nearZeroRatio',
  'updateRatio',
  'valueNonFiniteCount',
  'gradientNonFiniteCount',
  'updateNonFiniteCount',
  'gradientCosine',
  'valueNormBefore',
] as const;

const PARAMETER_COLUMNS = [...POSITION, ...PARAMETER_NUMBERS] as const;

/**
 * Parameter summaries of a run as records, in the order they were persisted.
 *
 * @throws {QuarkError} `invalid_input` naming the filter
 * @example
 * ```js
 * import * as tf from '@tensorflow/tfjs';
 * import { createMemoryStore, TrainingSession } from 'quark-sdk';
 * import { readParameterSummaries } from 'quark-sdk/probes';
 * import { quarkCallback } from 'quark-sdk/tfjs';
 *
 * const model = tf.sequential({ layers: [tf.layers.dense({ name: 'output', units: 1, inputShape: [2] })] });
 * model.compile({ optimizer: 'sgd', loss: 'meanSquaredError' });
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, async (session) => {
 *   const callbacks = quarkCallback(session, tf, model, { parameters: {} });
 *   await model.fit(tf.ones([8, 2]), tf.ones([8, 1]), { batchSize: 4, epochs: 1, verbose: 0, callbacks });
 *   return session.runId;
 * });
 * const { records } = await readParameterSummaries({ store, runId }, { latestOnly: true });
 * for (const { parameterName, step, valueNorm, updateRatio } of records) console.log(parameterName, step, valueNorm, updateRatio);
 * ```
 */
export function readParameterSummaries(
  reader: ReadableRun,
  filter: ParameterSummaryFilter = {},
): Promise<RecordsRead<ParameterSummaryRecord>> {
  return readRecords(checkRunSource('reader', reader), parameterSummaryTable, filter, {
    columns: PARAMETER_FILTERS,
    latestBy: ({ parameterName }) => parameterName,
  });
}

/**
 * Parameter summaries as columns, named as the fields of {@link ParameterSummaryRecord}; `timestamp` is in UTC epoch
 * milliseconds.
 */
export type ParameterColumns = RecordColumns<
  (typeof PARAMETER_TEXTS)[number],
  (typeof PARAMETER_COLUMNS)[number]
>;

/**
 * Parameter summaries of a run as columns: the fast way to read many.
 *
 * @throws {QuarkError} `invalid_input` naming the filter
 * @example
 * ```js
 * import * as tf from '@tensorflow/tfjs';
 * import { createMemoryStore, TrainingSession } from 'quark-sdk';
 * import { readParameterColumns } from 'quark-sdk/probes';
 * import { quarkCallback } from 'quark-sdk/tfjs';
 *
 * const model = tf.sequential({ layers: [tf.layers.dense({ name: 'output', units: 1, inputShape: [2] })] });
 * model.compile({ optimizer: 'sgd', loss: 'meanSquaredError' });
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, async (session) => {
 *   const callbacks = quarkCallback(session, tf, model, { parameters: {} });
 *   await model.fit(tf.ones([8, 2]), tf.ones([8, 1]), { batchSize: 4, epochs: 1, verbose: 0, callbacks });
 *   return session.runId;
 * });
 * const columns = await readParameterColumns({ store, runId }, { stepMin: 1 });
 * console.log(columns.rowCount, columns.numbers.gradientNorm, columns.numbers.updateRatio);
 * ```
 */
export function readParameterColumns(
  reader: ReadableRun,
  filter: ParameterColumnFilter = {},
): Promise<ParameterColumns> {
  return parameterColumns(checkRunSource('reader', reader), filter);
}

async function parameterColumns(
  source: RunSource,
  filter: ParameterColumnFilter,
): Promise<ParameterColumns> {
  const {
    jsons: _noJsons,
    lists: _noLists,
    ...columns
  } = await readColumns(source, parameterSummaryTable, {
    rows: checkFilter(parameterSummaryTable, filter, { columns: PARAMETER_FILTERS }),
    texts: PARAMETER_TEXTS,
    numbers: PARAMETER_COLUMNS,
  });
  return columns;
}

/**
 * Parameter histograms of a run as records, in the order they were persisted.
 *
 * @throws {QuarkError} `invalid_input` naming the filter
 * @example
 * ```js
 * import * as tf from '@tensorflow/tfjs';
 * import { createMemoryStore, TrainingSession } from 'quark-sdk';
 * import { readParameterDistributions } from 'quark-sdk/probes';
 * import { quarkCallback } from 'quark-sdk/tfjs';
 *
 * const model = tf.sequential({ layers: [tf.layers.dense({ name: 'output', units: 1, inputShape: [2] })] });
 * model.compile({ optimizer: 'sgd', loss: 'meanSquaredError' });
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, async (session) => {
 *   const callbacks = quarkCallback(session, tf, model, { parameters: { captureDistributions: true } });
 *   await model.fit(tf.ones([8, 2]), tf.ones([8, 1]), { batchSize: 4, epochs: 1, verbose: 0, callbacks });
 *   return session.runId;
 * });
 * const { records } = await readParameterDistributions({ store, runId }, { latestOnly: true });
 * for (const { parameterName, binEdges, counts } of records) console.log(parameterName, binEdges.length, counts.length);
 * ```
 */
export function readParameterDistributions(
  reader: ReadableRun,
  filter: ParameterDistributionFilter = {},
): Promise<RecordsRead<ParameterDistributionRecord>> {
  return readRecords(checkRunSource('reader', reader), parameterDistributionTable, filter, {
    columns: [...PARAMETER_FILTERS, 'distributionType'],
    latestBy: ({ distributionType, parameterName }) =>
      JSON.stringify([parameterName, distributionType]),
  });
}
