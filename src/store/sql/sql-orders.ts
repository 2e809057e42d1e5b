/** What runs are ordered and grouped by, in SQL: a value of each run as three cells, and whether sessions are at work on runs. */
import type { OrderPosition, SortKey } from '../../records/run-question.ts';
import { numberCell, sql, type SqlRow, type SqlValue, type SqlWork } from './sql-database.ts';
import { factOfCells, type SqlCondition } from './sql-facts.ts';

/** The value of a path of the runs `r`: its kind (4 where there is none), and a number or a text. */
export type OrderPart = {
  readonly join: string;
  readonly params: readonly SqlValue[];
  readonly kind: string;
  /** A number; NULL for other kinds. */
  readonly number: string;
  /** A text; NULL for other kinds. */
  readonly body: string;
  /** The same text as it is selected. */
  readonly text: string;
  /** What of these differs between runs, in the order in which it counts. */
  readonly varying: readonly ('kind' | 'number' | 'beginning' | 'body')[];
  /** The kind, where all values are of one. */
  readonly onlyKind?: number;
  /** The beginning of the text, where an index has it. */
  readonly beginning?: string;
};

/** An {@link OrderPart} and its direction. */
export type DirectedPart = { readonly part: OrderPart; readonly direction: 'ASC' | 'DESC' };

/** The ids of runs that sessions are at work on. */
export function liveCondition(space: string, nowMs: number): SqlCondition {
  return {
    text: `SELECT DISTINCT run_id FROM leases WHERE space = ? AND expires_at_ms > ?
      AND (ttl_ms IS NULL OR expires_at_ms - 2 * ttl_ms <= ?)`,
    params: [space, nowMs, nowMs],
  };
}

/** The effective status of the run with this alias, where `live` is joined. */
export function statusExpression(alias: string): string {
  return `CASE WHEN ${alias}.status = 'running' AND live.run_id IS NULL THEN 'interrupted' ELSE ${alias}.status END`;
}

/** The value of a path. @param alias of the facts that are joined */
export function* orderOf(space: string, path: string, alias: string): SqlWork<OrderPart> {
  if (path === 'startedAt') return ofRun('0', 'r.started_at_ms', 'NULL', 'NULL');
  if (path === 'id') return ofRun('1', 'NULL', 'r.id', 'text(r.id)');
  if (path === 'status')
    return ofRun('1', 'NULL', `(${statusExpression('r')})`, `(${statusExpression('r')})`);
  // Of several values the first counts.
  const isFirst = (yield* hasSeveral(space, path))
    ? `AND ${alias}.fact = (SELECT min(fact) FROM run_facts AS firsts WHERE firsts.space = r.space
        AND firsts.run_id = r.id AND firsts.path = ${alias}.path)`
    : '';
  return {
    join: `LEFT JOIN run_facts AS ${alias} ON ${alias}.space = r.space AND ${alias}.run_id = r.id AND ${alias}.path = ? ${isFirst}`,
    params: [path],
    kind: `coalesce(${alias}.kind, 4)`,
    number: `CASE WHEN ${alias}.kind = 1 THEN NULL ELSE ${alias}.number END`,
    body: `${alias}.body`,
    text: `text(${alias}.body)`,
    varying: ['kind', 'number', 'body'],
  };
}

function ofRun(kind: string, number: string, body: string, text: string): OrderPart {
  const varying = [kind === '0' ? ('number' as const) : ('body' as const)];
  return { join: '', params: [], kind, number, body, text, varying, onlyKind: Number(kind) };
}

/** Whether runs may have several values of a path, as tags and lists are. */
export function mayHaveSeveral(path: string): boolean {
  return /^(?:config|metadata|summary|tags|groups)(?:\.|$)/u.test(path);
}

/** Whether a run has several values of a path. */
function* hasSeveral(space: string, path: string): SqlWork<boolean> {
  if (!mayHaveSeveral(path)) return false;
  const rows = yield sql(
    'SELECT 1 FROM run_facts WHERE space = ? AND path = ? GROUP BY run_id HAVING count(*) > 1 LIMIT 1',
    space,
    path,
  );
  return rows.length > 0;
}

/** What rows are ordered by. */
export function orderTerms(keys: readonly DirectedPart[]): string {
  const terms = keys.flatMap(({ part, direction }) =>
    part.varying.map((cell) => {
      if (cell === 'kind') return `${part.kind} ASC`;
      if (cell === 'number') return `${part.number} ${direction}`;
      const text = cell === 'beginning' ? (part.beginning ?? part.body) : part.body;
      return `${text} COLLATE "C" ${direction}`;
    }),
  );
  return [...terms, 'r.started_at_ms DESC', 'r.id COLLATE "C" DESC'].join(', ');
}

/** Numbers, texts, flags, NaN, nothing. */
export function kindOfKey(key: SortKey): number {
  if (key === null) return 4;
  if (typeof key === 'number') return Number.isNaN(key) ? 3 : 0;
  return typeof key === 'string' ? 1 : 2;
}

/** What comes after a position: in the first order, or equal there and in the next. */
export function isAfter(keys: readonly DirectedPart[], last: OrderPosition): SqlCondition {
  let after: SqlCondition = {
    text: '(r.started_at_ms < ? OR (r.started_at_ms = ? AND r.id COLLATE "C" < ?))',
    params: [last.startedAtMs, last.startedAtMs, last.id],
  };
  for (const [i, key] of [...keys.entries()].toReversed())
    after = isAfterKey(key, last.keys[i] ?? null, after);
  return after;
}

function isAfterKey(
  { part, direction }: DirectedPart,
  key: SortKey,
  after: SqlCondition,
): SqlCondition {
  const kind = kindOfKey(key);
  const sign = direction === 'ASC' ? '>' : '<';
  const value = typeof key === 'string' ? key : Number(key);
  const compared = typeof key === 'string' ? `${part.body} COLLATE "C"` : part.number;
  const ofKind: SqlCondition =
    kind > 2
      ? after
      : {
          text: `(${compared} ${sign} ? OR (${compared} = ? AND ${after.text}))`,
          params: [value, value, ...after.params],
        };
  const { beginning, onlyKind } = part;
  if (onlyKind === undefined)
    return {
      text: `(${part.kind} > ? OR (${part.kind} = ? AND ${ofKind.text}))`,
      params: [kind, kind, ...ofKind.params],
    };
  if (kind !== onlyKind) return { text: kind < onlyKind ? '1 = 1' : '1 = 0', params: [] };
  if (kind > 2) return ofKind;
  // An index begins there, and not at its beginning.
  const start =
    beginning === undefined ? `${compared} ${sign}= ?` : `${beginning} COLLATE "C" ${sign}= ?`;
  const from = beginning === undefined ? value : beginningOf(String(value));
  return { text: `(${start} AND ${ofKind.text})`, params: [from, ...ofKind.params] };
}

/** Texts are in an index as far as these characters; what is longer is compared besides. */
const INDEXED_CHARS = 64;

/** The beginning of a text as SQL, as the index `run_facts_by_text` has it. */
export function beginningIn(body: string): string {
  return `substr(${body}, 1, ${INDEXED_CHARS})`;
}

/** The same of a text here: SQL counts code points. */
function beginningOf(text: string): string {
  return Array.from(text).slice(0, INDEXED_CHARS).join('');
}

/** The runs that a question is about. */
export type FoundRuns = {
  readonly space: string;
  readonly nowMs: number;
  readonly condition: SqlCondition;
  /** Where the question is about all runs but these, the ids of these. */
  readonly allBut?: SqlCondition | undefined;
};

/** What it says of the facts of a run that it is one of those found; begins with "AND" or is empty. */
export function ofFoundRuns({ allBut, condition }: FoundRuns): SqlCondition {
  if (allBut === undefined)
    return {
      text: `AND run_id IN (SELECT id FROM runs WHERE ${condition.text})`,
      params: condition.params,
    };
  const { params, text } = allBut;
  return text === '' ? allBut : { text: `AND run_id NOT IN (${text})`, params };
}

/** How many there are. */
export function* countFoundRuns({ condition }: FoundRuns): SqlWork<number> {
  const [row = []] = yield sql(
    `SELECT count(*) FROM runs WHERE ${condition.text}`,
    ...condition.params,
  );
  return numberCell(row, 0);
}

/** The ids of the newest of them. */
export function newest({ condition }: FoundRuns, limit: number): SqlCondition {
  return {
    text: `SELECT text(id) FROM runs WHERE ${condition.text}
      ORDER BY started_at_ms DESC, id COLLATE "C" DESC LIMIT ?`,
    params: [...condition.params, limit],
  };
}

/** Columns of runs that orders need. The index `runs_listed` has them, so that no document is passed over. */
export function runsOf({ condition }: FoundRuns): string {
  return `(SELECT id, space, status, project_name, started_at_ms FROM runs WHERE ${condition.text}) AS r`;
}

/** The runs as `r`, joined with what they are ordered by. */
export function* tableSource(
  found: FoundRuns,
  paths: readonly string[],
): SqlWork<SqlCondition & { readonly parts: readonly OrderPart[] }> {
  const parts: OrderPart[] = [];
  for (const [i, path] of paths.entries()) parts.push(yield* orderOf(found.space, path, `f${i}`));
  const joined = joinsOf(found, paths, parts);
  return {
    parts,
    text: `${runsOf(found)} ${joined.text}`,
    params: [...found.condition.params, ...joined.params],
  };
}

/** What is joined to the runs `r` for these parts. */
export function joinsOf(
  { space, nowMs }: FoundRuns,
  paths: readonly string[],
  parts: readonly OrderPart[],
): SqlCondition {
  const live = liveCondition(space, nowMs);
  const isByStatus = paths.includes('status');
  const joins = parts.map(({ join }) => join);
  return {
    text: `${isByStatus ? `LEFT JOIN (${live.text}) AS live ON live.run_id = r.id` : ''} ${joins.join(' ')}`,
    params: [...(isByStatus ? live.params : []), ...parts.flatMap(({ params }) => params)],
  };
}

/** The value of three cells, as runs are ordered by it. */
export function keyOfCells(row: SqlRow, at: number): SortKey {
  const value = factOfCells(row, at);
  return value === undefined ? null : (value ?? Number.NaN);
}
