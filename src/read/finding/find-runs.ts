/** Runs by what they are: names, groups, tags, configuration, results, times. */
import { checkCount, checkInstant, checkOptionNames, checkPositive } from '../../base/assert.ts';
import { invalidInput } from '../../base/errors.ts';
import {
  conditionText,
  parseCondition,
  type FactValue,
  type RunComparison,
  type RunCondition,
} from '../../records/shapes/run-condition.ts';
import type { Store } from '../../store/store.ts';
import { factComparison, ofStatus } from './fact-conditions.ts';
import { conditionOfLine } from './query-condition.ts';
import { summarize, type RunSummary } from '../runs.ts';
import { checkStore } from '../../store/whole-store.ts';

/** What a value of a run is compared with, by the names of operators; all of them have to hold. A "$" before a name changes nothing. */
export type RunComparisons = {
  readonly eq?: FactValue | null | undefined;
  /** Holds as well where the run has no such value. */
  readonly ne?: FactValue | null | undefined;
  readonly lt?: number | undefined;
  readonly lte?: number | undefined;
  readonly gt?: number | undefined;
  readonly gte?: number | undefined;
  readonly in?: readonly FactValue[] | undefined;
  /** Holds as well where the run has no such value. */
  readonly nin?: readonly FactValue[] | undefined;
  readonly exists?: boolean | undefined;
  /** A text: `%` stands for any text, `_` for one character. */
  readonly like?: string | undefined;
  /** The same, whatever the case. */
  readonly ilike?: string | undefined;
};

/** A value that is to be equal, null for one that is not there, a list of which it is to be one, or comparisons. */
export type RunMatch = FactValue | null | readonly FactValue[] | RunComparisons;

/** Values by their names, at any depth: `{ optimizer: { lr: { lte: 0.1 } } }`, or `{ 'optimizer.lr': { lte: 0.1 } }`. */
export type RunMatches = { readonly [name: string]: RunMatch | RunMatches };

/** An instant: UTC epoch milliseconds, a date, or ISO 8601. */
type Instant = string | number | Date;
type TimeRange = {
  readonly lt?: Instant | undefined;
  readonly lte?: Instant | undefined;
  readonly gt?: Instant | undefined;
  readonly gte?: Instant | undefined;
};

/** Which runs to find. All conditions are joined by "and". */
export type FindRunsQuery = {
  /** A query line, such as `config.lr < 1e-3 and tag:baseline`: see `parseRunQuery`. */
  readonly where?: string | undefined;
  readonly id?: RunMatch | undefined;
  /** Name of the project. */
  readonly project?: RunMatch | undefined;
  /** Effective status: a run that says it is running, and that no session is at work on, is `interrupted`. */
  readonly status?: RunMatch | undefined;
  readonly name?: RunMatch | undefined;
  readonly description?: RunMatch | undefined;
  readonly notes?: RunMatch | undefined;
  readonly jobType?: RunMatch | undefined;
  readonly parentRunId?: RunMatch | undefined;
  readonly gitCommit?: RunMatch | undefined;
  readonly configHash?: RunMatch | undefined;
  readonly configRevision?: RunMatch | undefined;
  /** A group, a list of groups that the run is in all of, or comparisons. */
  readonly groups?: RunMatch | undefined;
  /** A tag, a list of tags that the run has all of, or values of tags: `{ workers: { gte: 8 } }`. */
  readonly tags?: FactValue | readonly FactValue[] | RunMatches | undefined;
  /** When the run was started. */
  readonly time?: TimeRange | undefined;
  /** When the run ended. */
  readonly endedAt?: TimeRange | undefined;
  /** From the start to the end, in milliseconds; a run that goes on has none. */
  readonly durationMs?: RunMatch | undefined;
  readonly config?: RunMatches | undefined;
  readonly metadata?: RunMatches | undefined;
  readonly summary?: RunMatches | undefined;
  /**
   * By the key of a series: `last`, `lastStep`, `min`, `max`, `best` and `bestStep`, as in `{ 'val/loss': { last: { lt: 0.3 } } }`. A value or
   * comparisons without one of these names are about `last`.
   */
  readonly metrics?: RunMatches | undefined;
  readonly and?: readonly FindRunsQuery[] | undefined;
  readonly or?: readonly FindRunsQuery[] | undefined;
  readonly not?: FindRunsQuery | undefined;
};

/** Options of {@link findRuns}. */
export type FindRunsOptions = {
  /** True: only archived runs. False, the default: only the others. `any`: all runs. */
  readonly archived?: boolean | 'any' | undefined;
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
};

/**
 * Finds runs, newest first, in any store; a store over SQL answers from an index.
 *
 * @throws {QuarkError} `invalid_input` naming the value, also for an operator that is not known
 * @throws {SessionStoreError} when the store failed
 * @example
 * ```js
 * import { createMemoryStore, findRuns, MetricsLogger, TrainingSession } from 'quark-sdk';
 *
 * const store = createMemoryStore();
 * for (const lr of [0.5, 0.1])
 *   await TrainingSession.run({ project: 'digits', storage: store, config: { lr }, groups: ['sweep'] }, (session) => {
 *     new MetricsLogger(session).log('val/loss', lr, { step: 100 });
 *   });
 * const good = await findRuns(store, {
 *   config: { lr: { lte: 0.2 } },
 *   metrics: { 'val/loss': { last: { lt: 0.3 } } },
 *   groups: ['sweep'],
 *   time: { gte: '2026-01-01' },
 * });
 * console.log(good.map(({ run }) => run.config)); // [ { lr: 0.1 } ]
 * ```
 */
export async function findRuns(
  store: Store,
  query: FindRunsQuery,
  options: FindRunsOptions = {},
): Promise<readonly RunSummary[]> {
  checkStore(store);
  checkOptionNames('options', options, ['archived', 'limit', 'offset']);
  const { archived = false, limit, offset } = options;
  if (archived !== 'any' && typeof archived !== 'boolean')
    throw invalidInput('archived', archived, 'true, false or "any"');
  if (limit !== undefined) checkPositive('limit', limit);
  if (offset !== undefined) checkCount('offset', offset);
  const where = conditionText(conditionOfQuery(query));
  parseCondition('query', where);
  const runs = await store.listRuns({
    where,
    ...(archived === 'any' ? {} : { archived }),
    ...(limit === undefined ? {} : { limit }),
    ...(offset === undefined ? {} : { offset }),
  });
  const live = new Set((await store.listLeases()).map((lease) => lease.runId));
  return runs.map((run) => summarize(run, live.has(run.id)));
}

/** A query as stores take it. @throws {QuarkError} `invalid_input` */
export function conditionOfQuery(query: FindRunsQuery, field = 'query'): RunCondition {
  if (typeof query !== 'object' || query === null || Array.isArray(query))
    throw invalidInput(field, query, 'an object of conditions');
  checkOptionNames(field, query, QUERY_NAMES);
  const { and, not, or, where, ...plain } = query;
  const all = Object.entries(plain).flatMap(([name, value]) =>
    value === undefined ? [] : [conditionOfField(name, value, `${field}.${name}`)],
  );
  if (where !== undefined) all.push(...conditionOfLine(where));
  if (and !== undefined) all.push({ kind: 'and', of: listOf(and, `${field}.and`) });
  if (or !== undefined) all.push({ kind: 'or', of: listOf(or, `${field}.or`) });
  if (not !== undefined) all.push({ kind: 'not', of: conditionOfQuery(not, `${field}.not`) });
  const [only] = all;
  return all.length === 1 && only !== undefined ? only : { kind: 'and', of: all };
}

const PLAIN = [
  'id',
  'project',
  'name',
  'description',
  'notes',
  'jobType',
  'parentRunId',
  'gitCommit',
  'configHash',
  'configRevision',
  'durationMs',
] as const;
const OBJECTS = ['config', 'metadata', 'summary'] as const;
const QUERY_NAMES = [
  'where',
  ...PLAIN,
  ...OBJECTS,
  'status',
  'groups',
  'tags',
  'time',
  'endedAt',
  'metrics',
  'and',
  'or',
  'not',
] as const;

/** Names of what is compared with, the "$" of Track and MongoDB left out. */
const COMPARISONS: ReadonlySet<string> = new Set([
  'eq',
  'ne',
  'lt',
  'lte',
  'gt',
  'gte',
  'in',
  'nin',
  'exists',
  'like',
  'ilike',
]);
const STATISTICS: ReadonlySet<string> = new Set([
  'last',
  'lastStep',
  'min',
  'max',
  'best',
  'bestStep',
]);

function listOf(queries: readonly FindRunsQuery[], field: string): readonly RunCondition[] {
  if (!Array.isArray(queries)) throw invalidInput(field, queries, 'a list of conditions');
  return queries.map((one: FindRunsQuery, i) => conditionOfQuery(one, `${field}[${i}]`));
}

function conditionOfField(name: string, value: unknown, field: string): RunCondition {
  if (name === 'time') return timeRange('startedAt', value, field);
  if (name === 'endedAt') return timeRange('endedAt', value, field);
  if (name === 'status') return ofStatus(matchOf('status', value, field));
  if (name === 'metrics') return ofMetrics(value, field);
  if (name === 'tags' || name === 'groups') {
    // As filters by tags have always been: all of them.
    if (Array.isArray(value))
      return { kind: 'and', of: value.map((one: unknown) => matchOf(name, one, field)) };
    if (name === 'tags' && isObject(value) && !hasComparisons(value, field))
      return nested(name, value, field);
  }
  return OBJECTS.some((one) => one === name)
    ? nested(name, value, field)
    : matchOf(name, value, field);
}

/** Values by name, at any depth. */
function nested(path: string, value: unknown, field: string): RunCondition {
  if (!isObject(value)) throw invalidInput(field, value, 'an object of names and conditions');
  const of = Object.entries(value).map(([name, one]) => {
    const [inner, where] = [`${path}.${name}`, `${field}.${name}`];
    if (name.startsWith('$') || name === '') throw unknownOperator(where, name);
    return isObject(one) && !hasComparisons(one, where)
      ? nested(inner, one, where)
      : matchOf(inner, one, where);
  });
  return { kind: 'and', of };
}

function ofMetrics(value: unknown, field: string): RunCondition {
  if (!isObject(value)) throw invalidInput(field, value, 'an object of metrics and conditions');
  const of = Object.entries(value).map(([key, one]): RunCondition => {
    const [path, where] = [`metrics.${key}`, `${field}.${key}`];
    if (!isObject(one) || hasComparisons(one, where)) return matchOf(`${path}.last`, one, where);
    const statistics = Object.entries(one).map(([name, match]) => {
      if (!STATISTICS.has(name))
        throw invalidInput(where, name, `one of ${[...STATISTICS, ...COMPARISONS].join(', ')}`);
      return matchOf(`${path}.${name}`, match, `${where}.${name}`);
    });
    return { kind: 'and', of: statistics };
  });
  return { kind: 'and', of };
}

/** Whether an object names operators. @throws {QuarkError} `invalid_input` when it names operators and other things */
function hasComparisons(value: object, field: string): boolean {
  const names = Object.keys(value);
  const operators = names.filter((name) => COMPARISONS.has(operatorOf(name)));
  const other = names.find((name) => !operators.includes(name));
  const isMixed = operators.length > 0 && other !== undefined;
  if (isMixed || other?.startsWith('$') === true) throw unknownOperator(field, other);
  return operators.length > 0;
}

function operatorOf(name: string): string {
  return name.startsWith('$') ? name.slice(1) : name;
}

function unknownOperator(field: string, name: unknown): Error {
  return invalidInput(field, name, `an operator: one of ${[...COMPARISONS].join(', ')}`);
}

function matchOf(path: string, value: unknown, field: string): RunCondition {
  if (!isObject(value)) {
    const isList = Array.isArray(value);
    return factComparison(path, isList ? 'in' : 'eq', value, field);
  }
  const entries = Object.entries(value).filter(([, one]) => one !== undefined);
  const of = entries.map(([name, one]) => {
    const operator = operatorOf(name);
    if (!COMPARISONS.has(operator)) throw unknownOperator(field, name);
    return factComparison(path, operator, one, `${field}.${name}`);
  });
  const [only] = of;
  return of.length === 1 && only !== undefined ? only : { kind: 'and', of };
}

function timeRange(path: string, value: unknown, field: string): RunCondition {
  if (!isObject(value)) throw invalidInput(field, value, 'a range, such as { gte: "2026-01-01" }');
  const of = Object.entries(value).flatMap(([name, instant]): readonly RunComparison[] => {
    const operator = operatorOf(name);
    if (operator !== 'lt' && operator !== 'lte' && operator !== 'gt' && operator !== 'gte')
      throw invalidInput(field, name, 'one of lt, lte, gt, gte');
    if (instant === undefined) return [];
    return [{ kind: operator, path, values: [checkInstant(`${field}.${name}`, instant)] }];
  });
  return { kind: 'and', of };
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
