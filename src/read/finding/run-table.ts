/** Runs as a table: pages of rows in an order, what columns there are, how often values are there, and means by group. */
import { checkLiteral, checkOptionNames } from '../../base/assert.ts';
import { invalidInput } from '../../base/errors.ts';
import { conditionText, type RunCondition } from '../../records/shapes/run-condition.ts';
import {
  MAX_FOUND_GROUPS,
  type AnswerOf,
  type FoundColumn,
  type FoundGroup,
  type FoundRun,
  type TableAnswer,
  type RunFacet,
  type TableQuestion,
  type RunQuestionScope,
} from '../../records/run-question.ts';
import { isMachinePath } from '../../records/run-paths.ts';
import { askRunsOf } from '../../store/find/ask-runs.ts';
import type { Store } from '../../store/store.ts';
import { conditionOfQuery, type FindRunsQuery } from './find-runs.ts';
import { conditionOfLine, textCondition } from './query-condition.ts';
import { columnPath } from './query-paths.ts';
import { checkStore } from '../../store/whole-store.ts';

/** Which runs are in a table. All that is given has to hold. */
export type RunTableScope = {
  /** A query line such as `config.lr < 1e-3 and tag:baseline`, or the object that `findRuns` takes. */
  readonly where?: string | FindRunsQuery | undefined;
  /** Words, each of which has to be in the id, project, name, description, notes, job type, a group or a tag, whatever the case. */
  readonly text?: string | undefined;
  /** Name of the project. */
  readonly project?: string | undefined;
  /** Runs that are not archived, unless given. */
  readonly list?: 'active' | 'archived' | 'any' | undefined;
};

/** What a table is ordered by. A run without the value comes last in both directions. */
export type RunOrder = {
  /** The path of a value, such as `startedAt`, `config.lr`, `metrics.val/loss.best`. */
  readonly by: string;
  /** `ascending` unless given. */
  readonly direction?: 'ascending' | 'descending' | undefined;
};

/** A page of a table. */
export type RunTableQuery = RunTableScope & {
  /** At most four; newest first unless given. */
  readonly orderBy?: readonly RunOrder[] | undefined;
  /** Paths of values that rows have, at most 64. */
  readonly columns?: readonly string[] | undefined;
  /** 1 to 1,000; 100 unless given. */
  readonly limit?: number | undefined;
  /** The cursor of the page before, which had the same order. */
  readonly after?: string | undefined;
  /** Rows to pass over: for a jump into the middle. Pages that follow each other are quicker with `after`. */
  readonly offset?: number | undefined;
};

/** See {@link findRunRows}. */
export type RunTablePage = Omit<AnswerOf<'rows'>, 'kind'>;

/** A column that a table of runs can have. */
export type RunColumn = FoundColumn & {
  /** Whether it is about the machine rather than the model. */
  readonly isMachine: boolean;
};

const SCOPE = ['where', 'text', 'project', 'list'] as const;

/**
 * A page of runs in any order, with the values that are asked for.
 *
 * @throws {QuarkError} `invalid_input` naming the option; of a query line with `position`, `end` and `expected` in the details
 * @throws {SessionStoreError} when the store failed
 * @example
 * ```js
 * import { createMemoryStore, MetricsLogger, TrainingSession } from 'quark-sdk';
 * import { findRunRows } from 'quark-sdk/workspace';
 *
 * const store = createMemoryStore();
 * for (const lr of [0.1, 0.01])
 *   await TrainingSession.run({ project: 'digits', storage: store, config: { lr } }, (session) => {
 *     new MetricsLogger(session).log('val/loss', 2 * lr, { step: 100 });
 *   });
 * const { rows, total } = await findRunRows(store, {
 *   where: 'config.lr < 1 and val/loss.best < 0.5',
 *   orderBy: [{ by: 'metrics.val/loss.best' }],
 *   columns: ['config.lr', 'metrics.val/loss.best'],
 * });
 * console.log(total, rows[0].values); // 2 { 'config.lr': 0.01, 'metrics.val/loss.best': 0.02 }
 * ```
 */
export async function findRunRows(store: Store, query: RunTableQuery = {}): Promise<RunTablePage> {
  checkOptionNames('query', query, [...SCOPE, 'orderBy', 'columns', 'limit', 'after', 'offset']);
  const { after = '', columns = [], limit = 100, offset = 0, orderBy = [] } = query;
  const orders = orderBy.map(({ by, direction = 'ascending' }) => ({
    path: columnPath(by),
    isDescending:
      checkLiteral('direction', direction, ['ascending', 'descending']) === 'descending',
  }));
  const paths = columns.map(columnPath);
  const {
    kind: _,
    rows,
    ...page
  } = await ask(store, {
    ...scopeOf(query),
    kind: 'rows',
    orderBy: orders.length === 0 ? [{ path: 'startedAt', isDescending: true }] : orders,
    columns: [...new Set(paths)],
    limit,
    offset,
    after,
  });
  return { ...page, rows: rows.map((row) => underNames(row, columns, paths)) };
}

/** Values by the names that were asked for, where these are short for paths. */
function underNames(row: FoundRun, names: readonly string[], paths: readonly string[]): FoundRun {
  if (names.every((name, i) => name === paths[i])) return row;
  const renamed = <T>(values: { readonly [path: string]: T }): { readonly [path: string]: T } =>
    Object.fromEntries(
      names.flatMap((name, i): [string, T][] => {
        const value = Object.hasOwn(values, paths[i] ?? '') ? values[paths[i] ?? ''] : undefined;
        return value === undefined ? [] : [[name, value]];
      }),
    );
  return { ...row, values: renamed(row.values), steps: renamed(row.steps) };
}

/**
 * The ids of all runs that match, newest first.
 *
 * @param scope `limit` is at most 100,000; 10,000 unless given
 * @throws {QuarkError} `invalid_input`
 * @example
 * ```js
 * import { createMemoryStore, TrainingSession } from 'quark-sdk';
 * import { findRunIds } from 'quark-sdk/workspace';
 *
 * const store = createMemoryStore();
 * for (const lr of [0.1, 0.01]) await TrainingSession.run({ project: 'digits', storage: store, config: { lr } }, () => {});
 * const { ids, total } = await findRunIds(store, { where: 'config.lr < 0.05', project: 'digits' });
 * console.log(ids.length, total); // 1 1
 * ```
 */
export async function findRunIds(
  store: Store,
  scope: RunTableScope & { readonly limit?: number | undefined } = {},
): Promise<{ readonly ids: readonly string[]; readonly total: number }> {
  checkOptionNames('scope', scope, [...SCOPE, 'limit']);
  const { limit = 10_000 } = scope;
  const { ids, total } = await ask(store, { ...scopeOf(scope), kind: 'ids', limit });
  return { ids, total };
}

/**
 * The columns that a table of these runs can have, as the newest 2,000 of them have values: those that vary first, what is about the
 * machine last.
 *
 * @throws {QuarkError} `invalid_input`
 * @example
 * ```js
 * import { createMemoryStore, TrainingSession } from 'quark-sdk';
 * import { findRunColumns } from 'quark-sdk/workspace';
 *
 * const store = createMemoryStore();
 * for (const lr of [0.1, 0.01]) await TrainingSession.run({ project: 'digits', storage: store, config: { lr } }, () => {});
 * const { columns, runs } = await findRunColumns(store, { project: 'digits' });
 * console.log(runs, columns.some(({ path }) => path === 'config.lr')); // 2 true
 * ```
 */
export async function findRunColumns(
  store: Store,
  scope: RunTableScope = {},
): Promise<{
  readonly columns: readonly RunColumn[];
  /** Runs that match. */
  readonly runs: number;
  /** The newest of them, which were looked at. */
  readonly looked: number;
}> {
  checkOptionNames('scope', scope, SCOPE);
  const answer = await ask(store, { ...scopeOf(scope), kind: 'columns', limit: 10_000 });
  const columns = answer.columns.map((column) => ({
    ...column,
    isMachine: isMachinePath(column.path),
  }));
  return { columns, runs: answer.total, looked: answer.looked };
}

/**
 * How often each value of some paths is there, the most frequent first.
 *
 * @param query `by`: at most 16 paths; `limit`: values of each, 50 unless given
 * @throws {QuarkError} `invalid_input`
 * @example
 * ```js
 * import { createMemoryStore, TrainingSession } from 'quark-sdk';
 * import { findRunFacets } from 'quark-sdk/workspace';
 *
 * const store = createMemoryStore();
 * for (const tags of [['sweep'], ['sweep', 'best']]) await TrainingSession.run({ project: 'digits', storage: store, tags }, () => {});
 * const [status, tags] = await findRunFacets(store, { by: ['status', 'tags'] });
 * console.log(status.values); // [ { value: 'completed', runs: 2 } ]
 * console.log(tags.values); // [ { value: 'sweep', runs: 2 }, { value: 'best', runs: 1 } ]
 * ```
 */
export async function findRunFacets(
  store: Store,
  query: RunTableScope & { readonly by: readonly string[]; readonly limit?: number | undefined },
): Promise<readonly RunFacet[]> {
  checkOptionNames('query', query, [...SCOPE, 'by', 'limit']);
  const by = checkNames('by', query.by).map(columnPath);
  const { limit = 50 } = query;
  const { facets } = await ask(store, { ...scopeOf(query), kind: 'facets', by, limit });
  return facets.map((facet, i) => ({ ...facet, path: query.by[i] ?? facet.path }));
}

/**
 * Groups of runs with the same values, with mean, deviation, smallest and largest of their results; the largest groups first.
 *
 * @param query `by`: one to four paths; `of`: at most 16 paths of numbers; `limit`: groups, at most 1,000, 200 unless given
 * @throws {QuarkError} `invalid_input`
 * @example
 * ```js
 * import { createMemoryStore, MetricsLogger, TrainingSession } from 'quark-sdk';
 * import { findRunGroups } from 'quark-sdk/workspace';
 *
 * const store = createMemoryStore();
 * for (const seed of [1, 2, 3])
 *   await TrainingSession.run({ project: 'digits', storage: store, config: { lr: 0.1, seed } }, (session) => {
 *     new MetricsLogger(session).log('val/loss', seed, { step: 0 });
 *   });
 * const { groups } = await findRunGroups(store, { by: ['config.lr'], of: ['metrics.val/loss.best'] });
 * const [{ by, runs, of }] = groups;
 * console.log(by, runs, of[0].mean); // [ 0.1 ] 3 2
 * ```
 */
export async function findRunGroups(
  store: Store,
  query: RunTableScope & {
    readonly by: readonly string[];
    readonly of?: readonly string[] | undefined;
    readonly limit?: number | undefined;
  },
): Promise<{ readonly groups: readonly FoundGroup[]; readonly total: number }> {
  checkOptionNames('query', query, [...SCOPE, 'by', 'of', 'limit']);
  const [by, of] = [checkNames('by', query.by), checkNames('of', query.of ?? [])];
  if (by.length === 0) throw invalidInput('by', by, 'one to four paths');
  const { limit = Math.min(200, MAX_FOUND_GROUPS) } = query;
  const question = { by: by.map(columnPath), of: of.map(columnPath), limit };
  const { groups, total } = await ask(store, { ...scopeOf(query), kind: 'groups', ...question });
  const named = groups.map((group) => ({
    ...group,
    of: group.of.map((value, i) => ({ ...value, path: of[i] ?? value.path })),
  }));
  return { groups: named, total };
}

function checkNames(field: string, names: readonly string[]): readonly string[] {
  if (!Array.isArray(names)) throw invalidInput(field, names, 'a list of paths');
  return names;
}

function scopeOf({ list = 'active', project, text, where }: RunTableScope): RunQuestionScope {
  checkLiteral('list', list, ['active', 'archived', 'any']);
  const all: RunCondition[] = [];
  if (typeof where === 'string') all.push(...conditionOfLine(where));
  else if (where !== undefined) all.push(conditionOfQuery(where, 'where'));
  if (text !== undefined) all.push(...textCondition(text));
  const [only] = all;
  const condition: RunCondition | undefined = all.length > 1 ? { kind: 'and', of: all } : only;
  return {
    ...(condition === undefined ? {} : { where: conditionText(condition) }),
    ...(project === undefined ? {} : { projectName: project }),
    ...(list === 'any' ? {} : { archived: list === 'archived' }),
  };
}

/** Asks a store, or answers from all of its runs where it does not know the question. */
async function ask<K extends TableQuestion['kind']>(
  store: Store,
  question: TableQuestion & { readonly kind: K },
): Promise<AnswerOf<K>> {
  checkStore(store);
  const answer = await askRunsOf(store, question);
  if (!isOfKind(answer, question.kind))
    throw invalidInput('answer', answer.kind, `an answer of kind "${question.kind}"`);
  return answer;
}

function isOfKind<K extends TableQuestion['kind']>(
  answer: TableAnswer,
  kind: K,
): answer is AnswerOf<K> {
  return answer.kind === kind;
}
