/** The series kernel that all analyses of a program share: compiling it takes longer than most of them. */
import type { SeriesKernel } from '../../kernel/series/series-kernel.ts';
import { loadSeriesKernel } from '../../kernel/series/load-kernel.ts';

let shared: Promise<SeriesKernel> | undefined;

/** The kernel, loaded once. Its methods keep nothing from call to call. */
export function analysisKernel(): Promise<SeriesKernel> {
  shared ??= loadSeriesKernel();
  return shared;
}
