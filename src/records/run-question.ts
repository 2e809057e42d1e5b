/**
 * Questions about many runs at once, as stores and services take them: pages of rows in an order, the values there are, how often each
 * value is there, and means by group. They name the facts of runs by their paths (`run-facts.ts` in the store), and are plain JSON.
 */
import { checkCount, checkFlag, checkLiteral } from '../base/assert.ts';
import { invalidInput } from '../base/errors.ts';
import { checkStorable } from '../base/names.ts';
import type { RunStatus } from './literals.ts';
import { checkCondition, findable, type FactValue } from './shapes/run-condition.ts';

/** Rows of an answer, at most. */
export const MAX_FOUND_RUNS = 1_000;
/** Ids of an answer, at most. */
export const MAX_FOUND_IDS = 100_000;
/** Groups of an answer, at most. */
export const MAX_FOUND_GROUPS = 1_000;
/** Paths whose values a row has, at most. */
export const MAX_ROW_COLUMNS = 64;
/** Paths that rows are ordered by, at most. */
export const MAX_ROW_ORDERS = 4;
/** Paths of facets, at most, and values of each. */
export const MAX_FACETS = 16;
export const MAX_FACET_VALUES = 1_000;
/** Paths that groups are made by, and values of which they have means, at most. */
export const MAX_GROUP_PATHS = 4;
export const MAX_GROUP_VALUES = 16;
/** Different values of a column are counted up to here. */
export const MAX_COUNTED_VALUES = 1_000;
/** Columns are found in so many of the newest runs. */
export const MAX_COLUMN_RUNS = 2_000;
/** Examples are given of columns with so many different values or fewer. */
export const MAX_EXAMPLE_VALUES = 50;
const MAX_COLUMNS = 10_000;
const MAX_CURSOR_CHARS = 32_768;

/** Which runs a question is about; all that is given has to hold. */
export type RunQuestionScope = {
  /** A condition as JSON: see `run-condition.ts`. */
  readonly where?: string;
  readonly projectName?: string;
  /** True: only archived runs. False: only the others. */
  readonly archived?: boolean;
};

/** What rows are ordered by: a path, from the smallest value or from the largest. */
export type RunQuestionOrder = { readonly path: string; readonly isDescending: boolean };

/** See the top of this file. */
export type TableQuestion = RunQuestionScope &
  (
    | {
        readonly kind: 'rows';
        readonly orderBy: readonly RunQuestionOrder[];
        readonly columns: readonly string[];
        readonly limit: number;
        readonly offset: number;
        /** The cursor of the page before; '' for none. */
        readonly after: string;
      }
    | { readonly kind: 'ids'; readonly limit: number }
    | { readonly kind: 'columns'; readonly limit: number }
    | { readonly kind: 'facets'; readonly by: readonly string[]; readonly limit: number }
    | {
        readonly kind: 'groups';
        readonly by: readonly string[];
        readonly of: readonly string[];
        readonly limit: number;
      }
  );

/** A value of a run: several where it has several, as tags are. NaN and the infinities are numbers. */
export type RunValue = FactValue | readonly FactValue[];

/** A run as a row of a table. */
export type FoundRun = {
  readonly id: string;
  readonly project: string;
  readonly name: string | null;
  /** `interrupted` for a run that says it is running and that no session is at work on. */
  readonly status: RunStatus;
  /** Whether a session is at work on it. */
  readonly isLive: boolean;
  /** UTC epoch milliseconds. */
  readonly startedAtMs: number;
  readonly endedAtMs: number | null;
  readonly updatedAtMs: number | null;
  readonly archivedAtMs: number | null;
  readonly tags: readonly string[];
  readonly groups: readonly string[];
  /** By the paths that were asked for. A path that the run does not have is absent. */
  readonly values: { readonly [path: string]: RunValue };
  /** By paths of metrics, `.last` and `.best`: the step of the value. */
  readonly steps: { readonly [path: string]: number };
};

/** What there is of a path among the runs that were looked at. */
export type FoundColumn = {
  /** Of a metric `metrics.KEY`: take `.last`, `.best`, `.min` and `.max` of it. */
  readonly path: string;
  readonly kind: 'number' | 'text' | 'flag' | 'mixed' | 'metric';
  /** Runs that have it. */
  readonly runs: number;
  /** Different values, counted up to 1,000. Of a metric, of its last values. */
  readonly distinct: number;
  /** Some of the values, the most frequent first; none of a column with more than 50 different ones. */
  readonly examples: readonly FactValue[];
};

/** How often each value of a path is there. */
export type RunFacet = {
  readonly path: string;
  /** The most frequent first. */
  readonly values: readonly { readonly value: FactValue; readonly runs: number }[];
  /** Values that are left out, as there are more than were asked for. */
  readonly more: number;
  /** Runs without a value. */
  readonly missing: number;
};

/** Runs with the same values, and what their results are like. */
export type FoundGroup = {
  /** By the order of the paths; null for runs without the value. */
  readonly by: readonly (FactValue | null)[];
  readonly runs: number;
  readonly of: readonly GroupValue[];
};

/** The finite values of a path among the runs of a group. */
export type GroupValue = {
  readonly path: string;
  /** Runs that have a finite value. */
  readonly runs: number;
  readonly mean: number | null;
  /** Standard deviation over n - 1; null of fewer than two. */
  readonly deviation: number | null;
  readonly min: number | null;
  readonly max: number | null;
};

/** The answer to a {@link TableQuestion} of the same kind. */
export type TableAnswer =
  | {
      readonly kind: 'rows';
      readonly rows: readonly FoundRun[];
      /** All that match. */
      readonly total: number;
      /** Where the next page begins; null where there is none. */
      readonly cursor: string | null;
    }
  | { readonly kind: 'ids'; readonly ids: readonly string[]; readonly total: number }
  | {
      readonly kind: 'columns';
      readonly columns: readonly FoundColumn[];
      /** All that match. */
      readonly total: number;
      /** The newest of them, which were looked at. */
      readonly looked: number;
    }
  | { readonly kind: 'facets'; readonly facets: readonly RunFacet[] }
  | {
      readonly kind: 'groups';
      readonly groups: readonly FoundGroup[];
      /** All groups. */
      readonly total: number;
    };

/** The answer to a kind of question. */
export type AnswerOf<K extends TableQuestion['kind']> = Extract<TableAnswer, { readonly kind: K }>;

/** @throws {QuarkError} `invalid_input` naming the field */
export function checkTableQuestion(question: TableQuestion): void {
  const { where, projectName, archived, kind } = question;
  if (where !== undefined) checkCondition('where', where);
  if (projectName !== undefined) checkStorable('projectName', projectName);
  if (archived !== undefined) checkFlag('archived', archived);
  checkLiteral('kind', kind, ['rows', 'ids', 'columns', 'facets', 'groups']);
  switch (question.kind) {
    case 'rows': {
      const { after, columns, limit, offset, orderBy } = question;
      checkSome('limit', limit, MAX_FOUND_RUNS);
      checkCount('offset', offset);
      checkPaths('columns', columns, MAX_ROW_COLUMNS);
      checkPaths('orderBy', orderBy.map(pathOf), MAX_ROW_ORDERS);
      for (const one of orderBy) checkFlag('orderBy.isDescending', one.isDescending);
      cursorOf(after, orderBy.length);
      if (after !== '' && offset > 0)
        throw invalidInput('offset', offset, '0 where after is given');
      break;
    }
    case 'ids':
      checkSome('limit', question.limit, MAX_FOUND_IDS);
      break;
    case 'columns':
      checkSome('limit', question.limit, MAX_COLUMNS);
      break;
    case 'facets':
      checkPaths('by', question.by, MAX_FACETS);
      checkSome('limit', question.limit, MAX_FACET_VALUES);
      break;
    case 'groups':
      checkPaths('by', question.by, MAX_GROUP_PATHS);
      checkPaths('of', question.of, MAX_GROUP_VALUES);
      checkSome('limit', question.limit, MAX_FOUND_GROUPS);
  }
}

function pathOf({ path }: RunQuestionOrder): string {
  return path;
}

function checkSome(field: string, value: unknown, most: number): void {
  if (checkCount(field, value) < 1 || Number(value) > most)
    throw invalidInput(field, value, `an integer from 1 to ${most}`);
}

function checkPaths(field: string, paths: readonly string[], most: number): void {
  if (!Array.isArray(paths) || paths.length > most)
    throw invalidInput(field, Array.isArray(paths) ? paths.length : paths, `at most ${most} paths`);
  for (const path of paths)
    if (typeof path !== 'string' || path === '' || findable(path) !== path)
      throw invalidInput(field, path, 'the path of a value, such as "config.lr"');
}

/** Where a row is in an order: the value of each path, and what rows without an order are ordered by. */
export type OrderPosition = {
  readonly keys: readonly SortKey[];
  readonly startedAtMs: number;
  readonly id: string;
};

/** A value to order by; null comes last. NaN is `NaN` and comes just before those without a value. */
export type SortKey = FactValue | null;

/** A position as text. */
export function cursorText({ id, keys, startedAtMs }: OrderPosition): string {
  return JSON.stringify([
    ...keys.map((key) =>
      typeof key === 'number' && !Number.isFinite(key) ? { number: String(key) } : key,
    ),
    startedAtMs,
    id,
  ]);
}

/** The position of a cursor; undefined for ''. @throws {QuarkError} `invalid_input` unless it is one for so many orders */
export function cursorOf(text: string, orders: number): OrderPosition | undefined {
  if (text === '') return undefined;
  const refusal = invalidInput('after', text, 'the cursor of a page with the same order');
  if (typeof text !== 'string' || text.length > MAX_CURSOR_CHARS) throw refusal;
  let parts: unknown;
  try {
    parts = JSON.parse(text);
  } catch {
    throw refusal;
  }
  if (!Array.isArray(parts) || parts.length !== orders + 2) throw refusal;
  const [id, startedAtMs]: unknown[] = [parts.at(-1), parts.at(-2)];
  if (typeof id !== 'string' || typeof startedAtMs !== 'number') throw refusal;
  const keys = parts.slice(0, -2).map((key: unknown): SortKey => {
    const isPlain = typeof key === 'string' || typeof key === 'number' || typeof key === 'boolean';
    if (isPlain || key === null) return key;
    const special = Object.entries(Object(key))[0];
    if (special?.[0] !== 'number') throw refusal;
    return Number(special[1]);
  });
  return { keys, startedAtMs, id };
}
