/** Whether the times of a run are its own, and what its steps count. */
import type { RunRecord } from '../records/run.ts';

/**
 * Whether anybody knows when a run started and ended. A file without times says neither: `startedAt` of a run that was imported
 * from one is when the file was written, and nothing to show to people.
 *
 * @example
 * ```js
 * import { createMemoryStore, hasTimes, listRuns, TrainingSession } from 'quark-sdk';
 *
 * const store = createMemoryStore();
 * await TrainingSession.run({ project: 'digits', storage: store }, () => {});
 * for (const { run } of await listRuns(store)) console.log(run.id, hasTimes(run) ? run.startedAt : '–');
 * ```
 */
export function hasTimes(run: Pick<RunRecord, 'endedAt' | 'environment' | 'startedAt'>): boolean {
  return run.environment['import'] === undefined || run.endedAt !== run.startedAt;
}

/** What the steps of a run count where they are no updates, such as `samples`; null where nobody said. */
export function stepUnitOf({ environment }: Pick<RunRecord, 'environment'>): string | null {
  const unit = environment['step_unit'];
  return typeof unit === 'string' ? unit : null;
}
