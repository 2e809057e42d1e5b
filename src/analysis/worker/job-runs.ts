/** Stored runs, as jobs are given them. */
import { openRun, type RunReader } from '../../read/run-reader.ts';
import type { Store } from '../../store/store.ts';
import { runInfo } from '../columns/empty-columns.ts';
import { settle, type AnalyzableRun } from '../columns/load-run-columns.ts';
import type { RunColumns } from '../columns/run-columns.ts';
import { analyzedRunOf } from '../evaluate/stored-results.ts';
import type { JobRun } from './analysis-job.ts';

/** A run, and where it is stored. */
export type StoredJobRun = { readonly store: Store; readonly run: JobRun };

/** A run whose columns the caller has read: nothing is written and nothing is read. */
export function jobRunOfColumns(source: AnalyzableRun, columns: RunColumns): StoredJobRun {
  return { store: analyzedRunOf(source).store, run: { info: columns.run, columns } };
}

/**
 * The reader of a run that a job is to read. What its session has buffered is made durable first.
 *
 * @throws {RunNotFoundError}
 */
export async function openForJob(source: AnalyzableRun): Promise<RunReader> {
  const { runId, store } = await settle(source);
  return openRun(store, runId);
}

/** What a job needs of a run that was opened. */
export function jobRunOfReader({ isLive, run, store }: RunReader): StoredJobRun {
  return { store, run: { info: runInfo(run, isLive), record: run } };
}
