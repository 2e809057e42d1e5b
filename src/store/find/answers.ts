/**
 * Answers to questions about many runs, from their facts: what stores in memory answer with, and what every other store has to answer as
 * well. The order of values is the same everywhere: numbers, texts by their code points, false and true; then NaN, then runs without
 * a value, whatever the direction. What is equal comes newest first.
 */
import type { FactsByPath } from '../../records/shapes/run-condition.ts';
import { stepPathOf } from '../../records/run-paths.ts';
import {
  cursorOf,
  cursorText,
  type AnswerOf,
  type FoundRun,
  type OrderPosition,
  type TableAnswer,
  type TableQuestion,
  type RunQuestionOrder,
  type RunValue,
} from '../../records/run-question.ts';
import { meetsFacts, whereOf } from '../run-facts.ts';
import { compareText } from '../run-rules.ts';
import { countColumns } from './columns.ts';
import { facetsOf, sumGroups } from './groups.ts';
import {
  compareKeys,
  effectiveStatus,
  newestFirst,
  rowValue,
  sortKeyAt,
  valuesAt,
  type RunWithFacts,
} from './known-run.ts';

/** What an answer says of a run beside its facts. */
export type FoundRunHead = RunWithFacts['run'];

/**
 * Answers a question about these runs.
 *
 * @param live ids of runs that sessions are at work on
 * @param factsOf the facts of one of the runs, without whether it is live
 */
export function answerOf<R extends FoundRunHead>(
  runs: Iterable<R>,
  question: TableQuestion,
  live: ReadonlySet<string>,
  factsOf: (run: R) => FactsByPath,
): TableAnswer {
  const found = runsOf(runs, question, live, factsOf);
  switch (question.kind) {
    case 'rows':
      return rowsOf(found, question);
    case 'ids': {
      const ids = newestFirst(found).map(({ run }) => run.id);
      return { kind: 'ids', ids: ids.slice(0, question.limit), total: ids.length };
    }
    case 'columns':
      return countColumns(newestFirst(found), question.limit);
    case 'facets':
      return { kind: 'facets', facets: facetsOf(found, question) };
    case 'groups':
      return sumGroups(found, question);
  }
}

/** The runs that a question is about, in no order. */
function runsOf<R extends FoundRunHead>(
  runs: Iterable<R>,
  question: TableQuestion,
  live: ReadonlySet<string>,
  factsOf: (run: R) => FactsByPath,
): readonly RunWithFacts[] {
  const where = whereOf(question);
  const found: RunWithFacts[] = [];
  for (const run of runs) {
    if (question.projectName !== undefined && run.projectName !== question.projectName) continue;
    if (question.archived !== undefined && question.archived === (run.archivedAtMs === undefined))
      continue;
    const isLive = run.status === 'running' && live.has(run.id);
    const facts = factsOf(run);
    if (where !== undefined && !meetsFacts(facts, where, isLive)) continue;
    found.push({ run, facts, isLive });
  }
  return found;
}

function positionOf(known: RunWithFacts, orderBy: readonly RunQuestionOrder[]): OrderPosition {
  const { id, startedAtMs } = known.run;
  return { keys: orderBy.map(({ path }) => sortKeyAt(known, path)), startedAtMs, id };
}

/** The order of two rows. */
export function comparePositions(
  a: OrderPosition,
  b: OrderPosition,
  orderBy: readonly RunQuestionOrder[],
): number {
  for (const [i, { isDescending }] of orderBy.entries()) {
    const order = compareKeys(a.keys[i] ?? null, b.keys[i] ?? null, isDescending);
    if (order !== 0) return order;
  }
  return b.startedAtMs - a.startedAtMs || compareText(b.id, a.id);
}

type RowsQuestion = Extract<TableQuestion, { readonly kind: 'rows' }>;

function rowsOf(
  found: readonly RunWithFacts[],
  { after, columns, limit, offset, orderBy }: RowsQuestion,
): AnswerOf<'rows'> {
  const rows = found.map((known) => ({ known, position: positionOf(known, orderBy) }));
  rows.sort((a, b) => comparePositions(a.position, b.position, orderBy));
  const last = cursorOf(after, orderBy.length);
  const isAfter = (position: OrderPosition): boolean =>
    last === undefined || comparePositions(position, last, orderBy) > 0;
  const start =
    last === undefined ? offset : firstIndex(rows.length, (i) => isAfter(at(rows, i).position));
  const page = rows.slice(start, start + limit);
  const end = page.at(-1);
  return {
    kind: 'rows',
    rows: page.map(({ known }) => rowOf(known, columns)),
    total: rows.length,
    cursor: end === undefined || start + limit >= rows.length ? null : cursorText(end.position),
  };
}

function at<T>(items: readonly T[], index: number): T {
  const item = items[index];
  if (item === undefined) throw new RangeError(`No item ${index}.`);
  return item;
}

/** The first of `count` indices that something is true of, as it is of all later ones. */
function firstIndex(count: number, isTrue: (index: number) => boolean): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isTrue(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** A run as a row. */
export function rowOf(known: RunWithFacts, columns: readonly string[]): FoundRun {
  const { run, facts, isLive } = known;
  const values: [path: string, value: RunValue][] = [];
  const steps: [path: string, step: number][] = [];
  for (const path of columns) {
    const value = rowValue(valuesAt(known, path));
    if (value === undefined) continue;
    values.push([path, value]);
    const step = facts.get(stepPathOf(path) ?? '')?.[0];
    if (typeof step === 'number') steps.push([path, step]);
  }
  return {
    id: run.id,
    project: run.projectName,
    name: textOf(facts, 'name'),
    status: effectiveStatus(run, isLive),
    isLive,
    startedAtMs: run.startedAtMs,
    endedAtMs: numberOf(facts, 'endedAt'),
    updatedAtMs: numberOf(facts, 'updatedAt'),
    archivedAtMs: run.archivedAtMs ?? null,
    tags: run.tags,
    groups: (facts.get('groups') ?? []).filter((one) => typeof one === 'string'),
    values: Object.fromEntries(values),
    steps: Object.fromEntries(steps),
  };
}

function textOf(facts: FactsByPath, path: string): string | null {
  const value = facts.get(path)?.[0];
  return typeof value === 'string' ? value : null;
}

function numberOf(facts: FactsByPath, path: string): number | null {
  const value = facts.get(path)?.[0];
  return typeof value === 'number' ? value : null;
}
