/** How far the targets of a regression differ, by what batches tell of them. */
import type { BatchColumns } from '../columns/run-columns.ts';
import { numberOf } from './model/fields.ts';
import { median } from './statistics.ts';

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
