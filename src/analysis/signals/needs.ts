/** What rules need of a run before they can say anything, and what a run has of it. */
import type { MetricSeries, RunColumns } from '../columns/run-columns.ts';
import type { Signals } from './signals.ts';

/** A part of a run that a question is asked of: its name, and how many values it has. */
export type DataFound = { readonly name: string; readonly count: number };

type Need = {
  /** What is missing where the run has none, as a noun of a sentence. */
  readonly noun: string;
  readonly find: (columns: RunColumns, signals: Signals) => readonly DataFound[];
};

/** Everything that a rule may need. */
export const NEEDS = {
  train_loss: {
    noun: 'training loss',
    find: (_, { roles, trainLosses }) =>
      ofMetrics([...trainLosses, ...(roles.trainLoss === null ? [] : [roles.trainLoss.series])]),
  },
  val_loss: {
    noun: 'validation loss',
    find: (_, { lossPairs, roles }) =>
      ofMetrics([
        ...lossPairs.map(({ validation }) => validation),
        ...(roles.valLoss === null ? [] : [roles.valLoss.series]),
      ]),
  },
  loss_pair: {
    noun: 'validation loss beside a training loss',
    find: (_, { lossPairs, roles: { trainLoss, valLoss } }) =>
      ofMetrics([
        ...lossPairs.flatMap(({ train, validation }) => (isFinite(train) ? [validation] : [])),
        ...(trainLoss === null || valLoss === null || !isFinite(trainLoss.series)
          ? []
          : [valLoss.series]),
      ]),
  },
  accuracy: {
    noun: 'accuracy',
    find: (_, { roles: { trainAccuracy, valAccuracy } }) =>
      ofMetrics([trainAccuracy, valAccuracy].flatMap((one) => one?.series ?? [])),
  },
  accuracy_pair: {
    noun: 'validation accuracy beside a training accuracy',
    find: (_, { roles: { trainAccuracy, valAccuracy } }) =>
      trainAccuracy === null || valAccuracy === null || !isFinite(trainAccuracy.series)
        ? []
        : ofMetrics([valAccuracy.series]),
  },
  reward: {
    noun: 'reward',
    find: (_, { roles }) => ofMetrics(roles.reward === null ? [] : [roles.reward.series]),
  },
  train_eval_loss: {
    noun: 'training loss in evaluation mode',
    find: (_, { trainEvalLoss }) => ofMetrics(trainEvalLoss === undefined ? [] : [trainEvalLoss]),
  },
  gradient_norm: {
    noun: 'norm of the gradients',
    find: (_, { gradientNorm }) => ofMetrics(gradientNorm === undefined ? [] : [gradientNorm]),
  },
  activations: {
    noun: 'probed activations',
    find: ({ layers }) =>
      ofProbes(
        'activations of layers',
        layers.filter(({ summaryType }) => summaryType === 'activation'),
      ),
  },
  gradients: {
    noun: 'probed gradients',
    find: ({ layers, parameters }) =>
      ofProbes('gradients', [
        ...layers.filter(({ summaryType }) => summaryType === 'gradient'),
        ...parameters.filter(({ gradientNorm }) => gradientNorm.some(Number.isFinite)),
      ]),
  },
  parameters: {
    noun: 'probed parameters',
    find: ({ parameters }) => ofProbes('parameters', parameters),
  },
  labels: {
    noun: 'class counts of batches',
    find: ({ batches }) =>
      batches.classNames.length === 0 ? [] : [{ name: 'batches', count: batches.rowCount }],
  },
  batches: {
    noun: 'batches',
    find: ({ batches }) =>
      batches.rowCount === 0 ? [] : [{ name: 'batches', count: batches.rowCount }],
  },
  model: {
    noun: 'description of the model',
    find: ({ run }) =>
      'model' in run.config || 'layers' in run.config ? [{ name: 'model', count: 1 }] : [],
  },
  step_times: {
    noun: 'step times',
    find: ({ telemetry }, { stepTime }) => [
      ...ofMetrics(stepTime === undefined ? [] : [stepTime]),
      ...ofTelemetry('step times', telemetry.stepTimeMs),
    ],
  },
  data_times: {
    noun: 'times of loading data',
    find: ({ telemetry }, { dataTime }) => [
      ...ofMetrics(dataTime === undefined ? [] : [dataTime]),
      ...ofTelemetry('data times', telemetry.dataTimeMs),
    ],
  },
  memory: {
    noun: 'memory in use',
    find: ({ telemetry }) => [
      ...ofTelemetry('memory', telemetry.processRssBytes),
      ...ofTelemetry('heap', telemetry.heapUsedBytes),
      ...ofTelemetry('tensors', telemetry.tensorCount),
      ...ofTelemetry('page memory', telemetry.pageMemoryBytes),
      ...ofTelemetry('GPU memory', telemetry.gpuMemoryUsedBytes),
    ],
  },
  metrics: {
    noun: 'metric',
    find: ({ metrics }) =>
      metrics.size === 0 ? [] : [{ name: `${metrics.size} metrics`, count: metrics.size }],
  },
  run: { noun: 'run', find: () => [{ name: 'the record of the run', count: 1 }] },
} as const satisfies Readonly<Record<string, Need>>;

/** What a rule may need. */
export type NeedName = keyof typeof NEEDS;

/** Telemetry and series as what was found: only what has a finite value counts. */
function ofMetrics(series: readonly MetricSeries[]): readonly DataFound[] {
  return [...new Map(series.map((one) => [one.key, one])).values()].flatMap(({ key, values }) =>
    counted(key, values),
  );
}

function ofTelemetry(name: string, values: Float64Array): readonly DataFound[] {
  return counted(name, values);
}

function ofProbes(
  name: string,
  probes: readonly { readonly steps: Float64Array }[],
): readonly DataFound[] {
  if (probes.length === 0) return [];
  const count = probes.reduce((most, { steps }) => Math.max(most, steps.length), 0);
  return [{ name, count }];
}

function counted(name: string, values: Float64Array): readonly DataFound[] {
  let count = 0;
  for (const value of values) if (value - value === 0) count++;
  return count === 0 ? [] : [{ name, count }];
}

function isFinite({ values }: MetricSeries): boolean {
  return values.some((value) => Number.isFinite(value));
}
