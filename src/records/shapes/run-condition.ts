/**
 * Conditions on runs, as stores and services take them: lists that begin with an operator, such as `["lte","config.lr",0.1]`,
 * `["not",C]` and `["and",C,C]`. They compare the facts of a run (`run-facts.ts` in the store), which are values under paths. A path may
 * have several values, as `tags` has; a comparison holds where it holds for one of them.
 */
import { invalidInput } from '../../base/errors.ts';

/** Comparisons. `like` knows `%` for any text and `_` for one character; `ilike` is the same whatever the case. */
export const RUN_OPERATORS = [
  'eq',
  'lt',
  'lte',
  'gt',
  'gte',
  'in',
  'exists',
  'like',
  'ilike',
] as const;
/** One of {@link RUN_OPERATORS}. */
export type RunOperator = (typeof RUN_OPERATORS)[number];

/** A value that a run is compared with. */
export type FactValue = string | number | boolean;

/** See the top of this file. */
export type RunCondition =
  | { readonly kind: 'and'; readonly of: readonly RunCondition[] }
  | { readonly kind: 'or'; readonly of: readonly RunCondition[] }
  | { readonly kind: 'not'; readonly of: RunCondition }
  | RunComparison;

/** A comparison of the values under a path with others: one of them, except for `in`, which has any number, and `exists`, which has none. */
export type RunComparison = {
  readonly kind: RunOperator;
  readonly path: string;
  readonly values: readonly FactValue[];
};

/** Longest condition as JSON: it travels in the address of a request. */
export const MAX_CONDITION_CHARS = 4096;
const MAX_DEPTH = 32;
/** What compares as less or greater is a number. */
const ORDERS: ReadonlySet<RunOperator> = new Set(['lt', 'lte', 'gt', 'gte']);

/** The facts of a run: its values by their paths. A value that is null exists, and equals nothing. */
export type FactsByPath = ReadonlyMap<string, readonly (FactValue | null)[]>;

/** A condition as JSON text. */
export function conditionText(condition: RunCondition): string {
  return JSON.stringify(listOf(condition));
}

function listOf(condition: RunCondition): readonly unknown[] {
  if (condition.kind === 'not') return ['not', listOf(condition.of)];
  if (condition.kind === 'and' || condition.kind === 'or')
    return [condition.kind, ...condition.of.map(listOf)];
  return [condition.kind, condition.path, ...condition.values];
}

/** @throws {QuarkError} `invalid_input` */
export function checkCondition(field: string, value: unknown): string {
  if (typeof value !== 'string') throw invalidInput(field, value, 'a condition as JSON');
  parseCondition(field, value);
  return value;
}

/** Reads the JSON text of a condition. @throws {QuarkError} `invalid_input` */
export function parseCondition(field: string, text: string): RunCondition {
  if (text.length > MAX_CONDITION_CHARS)
    throw invalidInput(
      field,
      text.length,
      `at most ${MAX_CONDITION_CHARS} characters of JSON: ask for fewer values at a time`,
    );
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalidInput(field, text, 'a condition as JSON');
  }
  return conditionOf(field, value, 0);
}

function conditionOf(field: string, value: unknown, depth: number): RunCondition {
  if (!Array.isArray(value) || depth > MAX_DEPTH)
    throw invalidInput(field, value, `a condition of at most ${MAX_DEPTH} levels`);
  const [kind, ...rest]: unknown[] = value;
  if (kind === 'and' || kind === 'or')
    return { kind, of: rest.map((one) => conditionOf(field, one, depth + 1)) };
  if (kind === 'not' && rest.length === 1)
    return { kind, of: conditionOf(field, rest[0], depth + 1) };
  const operator = RUN_OPERATORS.find((one) => one === kind);
  if (operator === undefined)
    throw invalidInput(field, kind, `one of ${['and', 'or', 'not', ...RUN_OPERATORS].join(', ')}`);
  const [path, ...values] = rest;
  if (typeof path !== 'string') throw invalidInput(field, path, 'the path of a value');
  const comparison = { kind: operator, path: findable(path), values: values.map(valueOf(field)) };
  return checkComparison(field, comparison);
}

/** @throws {QuarkError} `invalid_input` when the operator does not take the values */
export function checkComparison(field: string, comparison: RunComparison): RunComparison {
  const { kind, values } = comparison;
  const [value] = values;
  if (kind === 'exists' ? values.length !== 0 : kind !== 'in' && values.length !== 1)
    throw invalidInput(field, values, `as many values as "${kind}" takes`);
  if (ORDERS.has(kind) && typeof value !== 'number')
    throw invalidInput(field, value, `a number, which "${kind}" compares with`);
  if ((kind === 'like' || kind === 'ilike') && typeof value !== 'string')
    throw invalidInput(field, value, 'a text, with % for any text and _ for one character');
  return comparison;
}

const valueOf =
  (field: string) =>
  (value: unknown): FactValue => {
    if (typeof value === 'string') return findable(value);
    if (typeof value === 'boolean' || typeof value === 'number') return value;
    throw invalidInput(field, value, 'text, a number, true or false');
  };

/** Whether a run with these facts meets a condition. */
export function meetsCondition(facts: FactsByPath, condition: RunCondition): boolean {
  switch (condition.kind) {
    case 'and':
      return condition.of.every((one) => meetsCondition(facts, one));
    case 'or':
      return condition.of.some((one) => meetsCondition(facts, one));
    case 'not':
      return !meetsCondition(facts, condition.of);
    default: {
      const found = facts.get(condition.path);
      return found !== undefined && found.some((fact) => compares(fact, condition));
    }
  }
}

/** Whether one value compares as asked for. */
export function compares(fact: FactValue | null, { kind, values }: RunComparison): boolean {
  const [value] = values;
  switch (kind) {
    case 'exists':
      return true;
    case 'eq':
      return fact === value;
    case 'in':
      return fact !== null && values.includes(fact);
    case 'like':
      return typeof fact === 'string' && isLike(fact, String(value));
    case 'ilike':
      return typeof fact === 'string' && isLike(fact.toLowerCase(), String(value).toLowerCase());
    case 'lt':
    case 'lte':
    case 'gt':
    case 'gte':
      return typeof fact === 'number' && typeof value === 'number' && isInOrder(kind, fact, value);
  }
}

function isInOrder(kind: 'lt' | 'lte' | 'gt' | 'gte', a: number, b: number): boolean {
  if (kind === 'lt') return a < b;
  if (kind === 'lte') return a <= b;
  return kind === 'gt' ? a > b : a >= b;
}

/** Whether a text is like a pattern, in time that grows with the product of their lengths at most: patterns come from anybody. */
function isLike(text: string, pattern: string): boolean {
  const [chars, wanted] = [Array.from(text), Array.from(pattern)];
  let [at, next, star, from] = [0, 0, -1, 0];
  while (at < chars.length) {
    if (next < wanted.length && wanted[next] === '%') {
      star = next++;
      from = at;
    } else if (next < wanted.length && (wanted[next] === '_' || wanted[next] === chars[at])) {
      at++;
      next++;
    } else if (star >= 0) {
      next = star + 1;
      at = ++from;
    } else return false;
  }
  while (next < wanted.length && wanted[next] === '%') next++;
  return next === wanted.length;
}

/** Of longer texts, runs are found by the beginning only. */
const MAX_TEXT_CHARS = 4096;
// oxlint-disable-next-line no-control-regex -- PostgreSQL takes no U+0000
const NOT_STORABLE = /\u0000|\p{Surrogate}/gu;

/** Text as every database stores and compares it. */
export function findable(text: string): string {
  return text.slice(0, MAX_TEXT_CHARS).replaceAll(NOT_STORABLE, '\ufffd');
}

/** All comparisons of a condition. */
export function comparisonsOf(condition: RunCondition): readonly RunComparison[] {
  if (condition.kind === 'not') return comparisonsOf(condition.of);
  if (condition.kind === 'and' || condition.kind === 'or')
    return condition.of.flatMap(comparisonsOf);
  return [condition];
}
