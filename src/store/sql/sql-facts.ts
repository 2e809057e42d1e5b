/**
 * Runs of one space by their facts. The facts of a run are rows with an index by path; they follow the run when somebody searches, so that
 * recording does not wait for them. A run whose facts are behind is compared as it is, so an answer is right at any time.
 */
import {
  compares,
  type FactValue,
  type RunComparison,
  type RunCondition,
} from '../../records/shapes/run-condition.ts';
import { runShape } from '../../records/shapes/run.ts';
import { runFactsOf, LIVE_PATH } from '../run-facts.ts';
import type { StoredRun } from '../store.ts';
import {
  placeholders,
  sql,
  sqlOne,
  textCell,
  together,
  type SqlCall,
  type SqlValue,
  type SqlWork,
} from './sql-database.ts';
import { sqlShape } from './sql-shapes.ts';

const runs = sqlShape(runShape);

/** Runs whose facts are written in one transaction. */
export const INDEXED_AT_ONCE = 100;
const FACTS_AT_ONCE = 100;
/** Texts that a pattern is compared with here, rather than run by run; and of those that are like it, as many as a statement may name. */
const MAX_LIKE_TEXTS = 20_000;
const MAX_NAMED_TEXTS = 5000;

const NUMBER = 0;
const TEXT = 1;
const FLAG = 2;
const NOTHING = 3;

/** A condition in SQL. */
export type SqlCondition = { readonly text: string; readonly params: readonly SqlValue[] };

/** Runs whose facts are behind. */
export const IS_BEHIND = '(indexed_revision IS NULL OR indexed_revision <> revision)';

/** Whether there are runs whose facts are behind. */
export function* hasUnindexed(space: string): SqlWork<boolean> {
  const rows = yield sqlOne(`SELECT 1 FROM runs WHERE space = ? AND ${IS_BEHIND} LIMIT 1`, space);
  return rows.length > 0;
}

/** Writes the facts of some runs whose facts are behind; returns how many there were. */
export function* indexRuns(space: string): SqlWork<number> {
  const rows = yield sql(
    `SELECT text(id) FROM runs WHERE space = ? AND ${IS_BEHIND} ORDER BY id LIMIT ?`,
    space,
    INDEXED_AT_ONCE,
  );
  for (const row of rows) yield* indexRun(space, textCell(row, 0));
  return rows.length;
}

function* indexRun(space: string, runId: string): SqlWork<void> {
  // A change of the run waits until its facts are those of the revision that is read here.
  const [row] = yield sqlOne(
    `SELECT ${runs.selected} FROM runs WHERE space = ? AND id = ? AND ${IS_BEHIND} FOR UPDATE`,
    space,
    runId,
  );
  if (row === undefined) return;
  const run = runs.read(row, {});
  yield* together([
    sql('DELETE FROM run_facts WHERE space = ? AND run_id = ?', space, runId),
    ...insertions(space, run),
    sql(
      'UPDATE runs SET indexed_revision = ? WHERE space = ? AND id = ?',
      run.revision,
      space,
      runId,
    ),
  ]);
}

function insertions(space: string, run: StoredRun): readonly SqlCall[] {
  const cells: SqlValue[][] = [];
  for (const [path, values] of runFactsOf(run))
    for (const value of values) cells.push([space, run.id, cells.length, path, ...cellsOf(value)]);
  const calls: SqlCall[] = [];
  for (let at = 0; at < cells.length; at += FACTS_AT_ONCE) {
    const some = cells.slice(at, at + FACTS_AT_ONCE);
    calls.push(
      sql(
        `INSERT INTO run_facts (space, run_id, fact, path, kind, number, body)
         VALUES ${some.map((row) => `(${placeholders(row)})`).join(', ')}`,
        ...some.flat(),
      ),
    );
  }
  return calls;
}

function cellsOf(value: FactValue | null): SqlValue[] {
  if (value === null) return [NOTHING, null, null];
  if (typeof value === 'number') return [NUMBER, value, null];
  return typeof value === 'string' ? [TEXT, null, value] : [FLAG, value ? 1 : 0, null];
}

/** A condition as SQL, and whether what it lets through has to be compared again. */
export type CompiledCondition = SqlCondition & { readonly isLoose: boolean };

/** @param nowMs by the clock of the leases */
export function* compileCondition(
  space: string,
  condition: RunCondition,
  nowMs: number,
): SqlWork<CompiledCondition> {
  const compiler = { space, nowMs, isLoose: false };
  const { text, params } = yield* compile(compiler, condition, true);
  return { text, params, isLoose: compiler.isLoose };
}

type Compiler = { readonly space: string; readonly nowMs: number; isLoose: boolean };

/** @param isWanted false inside of `not`: what cannot be said in SQL has to let through too much, not too little */
function* compile(
  compiler: Compiler,
  condition: RunCondition,
  isWanted: boolean,
): SqlWork<SqlCondition> {
  if (condition.kind === 'not') {
    const { text, params } = yield* compile(compiler, condition.of, !isWanted);
    return { text: `NOT ${text}`, params };
  }
  if (condition.kind === 'and' || condition.kind === 'or') {
    const texts: string[] = [];
    const params: SqlValue[] = [];
    for (const one of condition.of) {
      const compiled = yield* compile(compiler, one, isWanted);
      texts.push(compiled.text);
      params.push(...compiled.params);
    }
    const none = condition.kind === 'and' ? '1 = 1' : '1 = 0';
    const joint = condition.kind === 'and' ? ' AND ' : ' OR ';
    return { text: `(${texts.length === 0 ? none : texts.join(joint)})`, params };
  }
  const { nowMs, space } = compiler;
  if (condition.path === LIVE_PATH)
    return {
      text: `id IN (SELECT run_id FROM leases WHERE space = ? AND expires_at_ms > ?
        AND (ttl_ms IS NULL OR expires_at_ms - 2 * ttl_ms <= ?))`,
      params: [space, nowMs, nowMs],
    };
  const test = yield* testOf(space, condition);
  if (test === undefined) {
    compiler.isLoose = true;
    return { text: isWanted ? '(1 = 1)' : '(1 = 0)', params: [] };
  }
  return {
    text: `id IN (SELECT run_id FROM run_facts WHERE space = ? AND path = ? AND ${test.text})`,
    params: [space, condition.path, ...test.params],
  };
}

const ORDERS = { lt: '<', lte: '<=', gt: '>', gte: '>=' } as const;

function* testOf(
  space: string,
  { kind, path, values }: RunComparison,
): SqlWork<SqlCondition | undefined> {
  if (kind === 'exists') return { text: '1 = 1', params: [] };
  if (kind === 'eq' || kind === 'in') return isOneOf(values);
  if (kind !== 'like' && kind !== 'ilike')
    return { text: `kind = ${NUMBER} AND number ${ORDERS[kind]} ?`, params: [Number(values[0])] };
  const rows = yield sql(
    `SELECT DISTINCT text(body) FROM run_facts WHERE space = ? AND path = ? AND kind = ${TEXT} LIMIT ?`,
    space,
    path,
    MAX_LIKE_TEXTS + 1,
  );
  if (rows.length > MAX_LIKE_TEXTS) return undefined;
  const comparison = { kind, path, values };
  const like = rows.map((row) => textCell(row, 0)).filter((text) => compares(text, comparison));
  return like.length > MAX_NAMED_TEXTS ? undefined : isOneOf(like);
}

function isOneOf(values: readonly FactValue[]): SqlCondition {
  const texts = values.filter((value) => typeof value === 'string');
  const numbers = values.filter((value) => typeof value === 'number');
  const flags = values.filter((value) => typeof value === 'boolean').map(Number);
  const tests = [
    ...among(TEXT, 'body', texts),
    ...among(NUMBER, 'number', numbers),
    ...among(FLAG, 'number', flags),
  ];
  if (tests.length === 0) return { text: '1 = 0', params: [] };
  return {
    text: `(${tests.map(({ text }) => text).join(' OR ')})`,
    params: tests.flatMap(({ params }) => params),
  };
}

function among(
  kind: number,
  column: string,
  values: readonly (string | number)[],
): readonly SqlCondition[] {
  if (values.length === 0) return [];
  return [{ text: `kind = ${kind} AND ${column} IN (${placeholders(values)})`, params: values }];
}
