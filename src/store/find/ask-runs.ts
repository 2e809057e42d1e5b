/** Questions about runs, for stores that answer them and for those that do not. */
import {
  checkTableQuestion,
  type TableAnswer,
  type TableQuestion,
} from '../../records/run-question.ts';
import { knownFactsOf } from '../run-facts.ts';
import type { Store, StoredRun } from '../store.ts';
import { answerOf } from './answers.ts';
import { runIndexOf } from './run-index.ts';

/** Asks a store, or answers from all of its runs where it cannot. @throws {QuarkError} `invalid_input` */
export async function askRunsOf(
  store: Pick<Store, 'askRuns' | 'listRuns' | 'listLeases' | 'runFeed'>,
  question: TableQuestion,
): Promise<TableAnswer> {
  checkTableQuestion(question);
  if (store.runFeed !== undefined) return runIndexOf(store.runFeed).ask(question);
  return (await store.askRuns?.(question)) ?? answerFromRuns(store, question);
}

/**
 * Answers from runs in memory. The facts of a run object are computed once.
 *
 * @param live ids of runs that sessions are at work on
 * @throws {QuarkError} `invalid_input`
 */
export function answerFromMemory(
  runs: Iterable<StoredRun>,
  live: ReadonlySet<string>,
  question: TableQuestion,
): TableAnswer {
  checkTableQuestion(question);
  return answerOf(runs, question, live, knownFactsOf);
}

/** Answers from all runs of a store. */
export async function answerFromRuns(
  store: Pick<Store, 'listRuns' | 'listLeases'>,
  question: TableQuestion,
): Promise<TableAnswer> {
  const { archived, projectName } = question;
  const [runs, leases] = await Promise.all([
    store.listRuns({
      ...(archived === undefined ? {} : { archived }),
      ...(projectName === undefined ? {} : { projectName }),
    }),
    store.listLeases(),
  ]);
  return answerFromMemory(runs, new Set(leases.map(({ runId }) => runId)), question);
}
