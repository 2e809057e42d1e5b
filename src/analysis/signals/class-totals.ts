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
