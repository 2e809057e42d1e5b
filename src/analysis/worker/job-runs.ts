/** Stored runs, as jobs are given them. */
import { openRun, type RunReader } from '../../read/run-reader.ts';
import type { Store } from '../../store/store.ts';
import { runInfo } from '../columns/empty-columns.ts';
import { settle, type AnalyzableRun } from '../columns/load-run-columns.ts';
import type { RunColumns } from '../columns/run-columns.ts';
import type { JobRun } from './analysis-job.ts';

/** A run that was opened, and where it is stored. */
export type StoredJobRun = { readonly store: Store; readonly run: JobRun };

/**
 * What a job needs of a run. What its session has buffered is made durable first, unless columns are given.
 *
 * @throws {RunNotFoundError}
 */
export async function jobRunOf(source: AnalyzableRun, columns?: RunColumns): Promise<StoredJobRun> {
  const { runId, store } = await settle(source);
  return jobRunOfReader(await openRun(store, runId), columns);
}

/** The same of a run that was opened. */
export function jobRunOfReader(
  { isLive, run, store }: RunReader,
  columns?: RunColumns,
): StoredJobRun {
  return { store, run: { info: columns?.run ?? runInfo(run, isLive), record: run, columns } };
}
