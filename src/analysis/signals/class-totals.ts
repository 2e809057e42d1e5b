/** How often each class was trained on. */
import type { BatchColumns } from '../columns/run-columns.ts';

/** Samples of each class in all batches, and of all classes together. */
export function classTotals({ classCounts, classIndex, classNames }: BatchColumns): {
  readonly counts: Float64Array;
  readonly total: number;
} {
  const counts = new Float64Array(classNames.length);
  classIndex.forEach((at, i) => {
    counts[at] = (counts[at] ?? 0) + (classCounts[i] ?? 0);
  });
  return { counts, total: classCounts.reduce((a, b) => a + b, 0) };
}

/** Samples of the first epoch; 0 where batches do not tell them. */
export function samplesOfEpoch({ batchSizes, epochs, rowCount }: BatchColumns): number {
  let sum = 0;
  for (let row = 0; row < rowCount && epochs[row] === epochs[0]; row++) sum += batchSizes[row] ?? 0;
  return sum;
}
