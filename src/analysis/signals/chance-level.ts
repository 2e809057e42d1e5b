/** What a loss is for a model that has learned nothing: the level of chance. */
import type { BatchColumns, RunColumns } from '../columns/run-columns.ts';
import { classTotals } from './class-totals.ts';
import { field, numberOf } from './model/fields.ts';
import { modelOutline, type ModelOutline } from './model/model-outline.ts';
import { median } from './statistics.ts';

const CLASS_LOSS = /^(?:(?:sparse)?categoricalcrossentropy|(?:softmax)?crossentropy)$/;
const BINARY_LOSS = /^(?:binary(?:crossentropy)?|sigmoidcrossentropy)$/;
/** Labels from which their shares are known. */
const MIN_LABELS = 500;

/**
 * Cross-entropy of a model that says the same of every sample, in nats: the entropy of the classes it was shown, or where their counts are
 * not known the logarithm of their number, which is the most it can be. NaN where the model, or its loss, is not known or another one.
 */
export function chanceLoss(columns: RunColumns, model: unknown): number {
  const { config } = columns.run;
  const { count, isCrossEntropy } = classesOf(modelOutline(columns, model), field(config, 'loss'));
  if (!isCrossEntropy) return Number.NaN;
  const { counts, total } = classTotals(columns.batches);
  if (total < MIN_LABELS) return Math.log(count);
  const entropy = counts.reduce(
    (sum, n) => (n > 0 ? sum - (n / total) * Math.log(n / total) : sum),
    0,
  );
  return Math.min(entropy, Math.log(count));
}

function classesOf(
  outline: ModelOutline | undefined,
  named: unknown,
): { readonly count: number; readonly isCrossEntropy: boolean } {
  const output = outline?.layers.at(-1);
  const units = output?.units ?? Number.NaN;
  const loss =
    outline?.loss ??
    (typeof named === 'string' ? named.toLowerCase().replace(/[^a-z0-9]/g, '') : '');
  if (CLASS_LOSS.test(loss)) return { count: units, isCrossEntropy: units >= 2 };
  return { count: 2, isCrossEntropy: BINARY_LOSS.test(loss) && units === 1 };
}

/** Batches that the spread of the targets is taken from, at most. */
const TARGET_BATCHES = 200;
/** Standard deviations between the least and the largest target of a batch, at most: more than that of a hundred normal numbers. */
const RANGE = 6;

/** Variance of the targets: within batches and between them. NaN where batches do not tell it. */
export function targetVariance({ metadata, rowCount }: BatchColumns): number {
  const means: number[] = [];
  let within = 0;
  for (let row = 0; row < Math.min(rowCount, TARGET_BATCHES); row++) {
    const text = metadata[row];
    if (text === null || text === undefined || !text.includes('target')) continue;
    const value: unknown = JSON.parse(text);
    const mean = numberOf(value, 'target_mean', 'targetMean');
    const std = numberOf(value, 'target_std', 'targetStd');
    if (mean === undefined || std === undefined) continue;
    means.push(mean);
    within += std ** 2;
  }
  if (means.length === 0) return Number.NaN;
  const middle = means.reduce((a, b) => a + b, 0) / means.length;
  const between = means.reduce((sum, mean) => sum + (mean - middle) ** 2, 0) / means.length;
  return within / means.length + between;
}

/** A standard deviation that the targets have at least: by their variance, or by how far apart they lie in a batch. NaN where nobody knows. */
export function leastTargetDeviation(batches: BatchColumns): number {
  const variance = targetVariance(batches);
  if (!Number.isNaN(variance)) return Math.sqrt(variance);
  const ranges = batches.metadata.slice(0, TARGET_BATCHES).flatMap((text) => {
    if (text === null || !text.includes('target')) return [];
    const value: unknown = JSON.parse(text);
    const least = numberOf(value, 'target_min', 'targetMin');
    const most = numberOf(value, 'target_max', 'targetMax');
    return least === undefined || most === undefined ? [] : [most - least];
  });
  return median(ranges) / RANGE;
}
