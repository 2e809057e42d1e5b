/**
 * The first rows of a table in an order, from an index of facts: the values of the first path are walked in their order until there are
 * enough rows, and only rows of equal values are sorted. Numbers come first, then texts, flags, NaN, and runs without a value, each from a
 * range of its own.
 */
import { LIVE_PATH, TEXT_PATH } from '../run-facts.ts';
import type { OrderPosition, RunQuestionOrder } from '../../records/run-question.ts';
import { sql, type SqlRow, type SqlWork } from './sql-database.ts';
import type { SqlCondition } from './sql-facts.ts';
import {
  beginningIn,
  isAfter,
  joinsOf,
  kindOfKey,
  mayHaveSeveral,
  orderOf,
  orderTerms,
  runsOf,
  type FoundRuns,
  type DirectedPart,
  type OrderPart,
} from './sql-orders.ts';

const [NUMBER, TEXT, FLAG, NAN, NOTHING] = [0, 1, 2, 3, 4] as const;
const KINDS = [NUMBER, TEXT, FLAG, NAN, NOTHING] as const;
type Kind = (typeof KINDS)[number];

/** What the index of texts leaves out, in the words of the layout: planners compare them. */
const HAS_INDEX = `walked.path <> '${TEXT_PATH}'`;

/** Whether there is an index of the first order. Status depends on leases, and text is in none. */
export function canWalk(orderBy: readonly RunQuestionOrder[]): boolean {
  const [first] = orderBy;
  return first !== undefined && ![TEXT_PATH, LIVE_PATH, 'status'].includes(first.path);
}

/** What a row of a page has: id, start, and three cells of each key. */
export function pageColumns(keys: readonly DirectedPart[]): string {
  const cells = keys.map(({ part }) => `${part.kind}, ${part.number}, ${part.text}`);
  return ['text(r.id)', 'r.started_at_ms', ...cells].join(', ');
}

/** Parts with their directions. */
export function orderKeys(
  parts: readonly OrderPart[],
  orderBy: readonly RunQuestionOrder[],
): readonly DirectedPart[] {
  return parts.map((part, i) => ({
    part,
    direction: orderBy[i]?.isDescending === true ? 'DESC' : 'ASC',
  }));
}

/** The first rows after a position, `count` or all that there are, with {@link pageColumns}. */
export function* walkOrder(
  found: FoundRuns,
  orderBy: readonly RunQuestionOrder[],
  after: OrderPosition | undefined,
  count: number,
): SqlWork<readonly SqlRow[]> {
  const [path = '', ...others] = orderBy.map((one) => one.path);
  const parts: OrderPart[] = [];
  for (const [i, other] of others.entries())
    parts.push(yield* orderOf(found.space, other, `f${i + 1}`));
  const joined = joinsOf(found, others, parts);
  const own = path === 'startedAt' || path === 'id';
  const starts = own
    ? [yield* ofRuns(found, path)]
    : KINDS.map((kind) => ofKind(found, path, kind));
  const from = after === undefined || own ? 0 : kindOfKey(after.keys[0] ?? null);
  const rows: SqlRow[] = [];
  for (const { source, part, where } of starts.slice(from)) {
    const keys = orderKeys([part, ...parts], orderBy);
    const position = after === undefined ? undefined : isAfter(keys, after);
    const conditions = [where, position].filter((one) => one !== undefined);
    const page = yield sql(
      `SELECT ${pageColumns(keys)} FROM ${source.text} ${joined.text}
       ${conditions.length === 0 ? '' : `WHERE ${conditions.map(({ text }) => text).join(' AND ')}`}
       ORDER BY ${orderTerms(keys)} LIMIT ${count}`,
      ...source.params,
      ...joined.params,
      ...conditions.flatMap(({ params }) => params),
    );
    rows.push(...page);
    if (rows.length >= count) break;
  }
  return rows.slice(0, count);
}

/** Where rows of a range come from. */
type Start = {
  readonly source: SqlCondition;
  readonly part: OrderPart;
  readonly where: SqlCondition | undefined;
};

function* ofRuns(found: FoundRuns, path: string): SqlWork<Start> {
  const part = yield* orderOf(found.space, path, 'f0');
  const source = { text: runsOf(found), params: found.condition.params };
  return { source, part, where: undefined };
}

/** Runs whose value of a path is of a kind. Two tables in this order: a database that plans little begins with the first. */
function ofKind(found: FoundRuns, path: string, kind: Kind): Start {
  const { condition, space } = found;
  if (kind === NOTHING)
    return {
      source: { text: runsOf(found), params: condition.params },
      part: { ...NO_VALUE, kind: '4', onlyKind: NOTHING },
      where: {
        text: `NOT EXISTS (SELECT 1 FROM run_facts AS f0 WHERE f0.space = r.space AND f0.run_id = r.id AND f0.path = ?)`,
        params: [path],
      },
    };
  // Of several values the first counts.
  const isFirst = mayHaveSeveral(path)
    ? `AND walked.fact = (SELECT min(fact) FROM run_facts AS firsts WHERE firsts.space = walked.space
        AND firsts.run_id = walked.run_id AND firsts.path = walked.path)`
    : '';
  return {
    source: { text: `run_facts AS walked CROSS JOIN ${runsOf(found)}`, params: condition.params },
    part: { ...partOf(kind), kind: String(kind), onlyKind: kind },
    where: {
      text: `walked.space = ? AND walked.path = ? AND walked.kind = ${kind} AND walked.run_id = r.id
        ${kind === TEXT ? `AND ${HAS_INDEX}` : ''} ${isFirst}`,
      params: [space, path],
    },
  };
}

const NO_VALUE: Omit<OrderPart, 'kind'> = {
  join: '',
  params: [],
  number: 'NULL',
  body: 'NULL',
  text: 'NULL',
  varying: [],
};

function partOf(kind: Exclude<Kind, 4>): Omit<OrderPart, 'kind'> {
  if (kind === NAN) return NO_VALUE;
  if (kind !== TEXT) return { ...NO_VALUE, number: 'walked.number', varying: ['number'] };
  return {
    ...NO_VALUE,
    body: 'walked.body',
    text: 'text(walked.body)',
    beginning: beginningIn('walked.body'),
    varying: ['beginning', 'body'],
  };
}
