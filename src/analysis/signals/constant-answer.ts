/** Whether a regression answers nearly the same for every sample: what it has learned is the mean of the targets. */
import type { LayerSeries, RunColumns } from '../columns/run-columns.ts';
import { leastTargetDeviation } from './chance-level.ts';
import { stillImproves } from './late-progress.ts';
import { modelOutline, recordedOutline } from './model/model-outline.ts';
import type { Signals } from './signals.ts';
import { median } from './statistics.ts';

/** Share of the variance of the targets that answers explain, below which they are one and the same. */
const MAX_SHARE = 0.1;
/** Fewest probes in the second half of the run. */
const MIN_PROBES = 2;
/** Samples a probe, by which a spread can be told. */
const MIN_SAMPLES = 8;
/** Share of what was gained that the second half brings where something is learned. */
const LATE_SHARE = 0.05;

const SQUARED = /^(?:mean_?squared_?error|mse)$/i;
const ABSOLUTE = /^(?:mean_?absolute_?error|mae|absolute_?difference)$/i;
const HUBER = /^huber(?:_?loss)?$/i;

/** Answers that hardly differ. */
export type ConstantAnswer = {
  readonly layer: LayerSeries;
  /** Standard deviation of the answers. */
  readonly spread: number;
  /** What they are wrong by: the root of the mean square, at least; NaN where nobody knows. */
  readonly error: number;
  /** Standard deviation of the targets, at least; NaN where the error says it. */
  readonly targets: number;
  /** Share of the variance of the targets that the answers explain. */
  readonly share: number;
  /** First of the probes that it comes from. */
  readonly row: number;
};

/**
 * Answers of one number a sample that are spread far less than they are wrong. Where answers are the means of their targets, as those of a
 * fitted model are, the variance of the targets is that of the answers plus the mean squared error (law of total variance), which gives the
 * share that is explained without a look at the targets. Where the loss has a name that does not say what the error is, the targets that
 * batches tell of are looked at. Undefined while validation, or training, still improves.
 */
export function constantAnswer(
  columns: RunColumns,
  model: unknown,
  signals: Signals,
): ConstantAnswer | undefined {
  const layer = signals.layers('activation').at(-1);
  const lastStep = signals.trainLosses[0]?.steps.at(-1) ?? Number.NaN;
  if (layer === undefined) return undefined;
  const row = layer.steps.findIndex((step) => step >= lastStep / 2);
  if (row < 0 || layer.steps.length - row < MIN_PROBES || stillImproves(signals, LATE_SHARE))
    return undefined;
  const isOne = layer.unitCount.at(-1) === 1 && (layer.elementCount.at(-1) ?? 0) >= MIN_SAMPLES;
  if (!isOne) return undefined;
  const spread = median(layer.std.subarray(row));
  const error = errorOf(columns, model, signals, layer.steps[row] ?? 0);
  const targets = Number.isNaN(error) ? leastTargetDeviation(columns.batches) : Number.NaN;
  const variance = Number.isNaN(error) ? targets ** 2 : spread ** 2 + error ** 2;
  const share = spread ** 2 / variance;
  return share < MAX_SHARE ? { layer, spread, error, targets, share, row } : undefined;
}

/** What the answers are wrong by from a step on, by a metric or by a loss whose name says what it is; NaN where neither does. */
function errorOf(columns: RunColumns, model: unknown, signals: Signals, from: number): number {
  const late = (steps: Float64Array, values: Float64Array): number =>
    median(values.filter((_, row) => (steps[row] ?? -1) >= from));
  for (const { key, steps, values } of columns.metrics.values()) {
    const name = /^train\/(?<name>[^/]+)$/.exec(key)?.groups?.['name'] ?? '';
    if (SQUARED.test(name)) return Math.sqrt(late(steps, values));
    if (ABSOLUTE.test(name)) return late(steps, values);
  }
  const [series] = signals.trainLosses;
  if (series === undefined) return Number.NaN;
  // Who describes the layers need not say what the loss is.
  const loss = modelOutline(columns, model)?.loss ?? recordedOutline(columns.events)?.loss ?? '';
  const level = late(series.steps, series.values);
  if (SQUARED.test(loss)) return Math.sqrt(level);
  if (ABSOLUTE.test(loss)) return level;
  // No more than half of the squared error, and no more than the absolute one.
  return HUBER.test(loss) ? Math.max(level, Math.sqrt(2 * level)) : Number.NaN;
}
