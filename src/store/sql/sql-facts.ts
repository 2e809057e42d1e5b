/**
 * Runs of one space by their facts: rows with an index by path and value, written in the transaction that changes a run. A run that goes on
 * and has many facts, and what an earlier Quark has written, is behind until somebody searches. What is behind is compared as it is, so an
 * answer is right at any time.
 */
import {
  compares,
  type FactValue,
  type RunComparison,
  type RunCondition,
} from '../../records/shapes/run-condition.ts';
import { runShape } from '../../records/shapes/run.ts';
import { runFactsOf, LIVE_PATH, TEXT_PATH } from '../run-facts.ts';
import type { StoredRun } from '../store.ts';
import {
  numberCell,
  placeholders,
  sql,
  sqlOne,
  textCell,
  together,
  type SqlCall,
  type SqlRow,
  type SqlValue,
  type SqlWork,
} from './sql-database.ts';
import { sqlShape } from './sql-shapes.ts';

const runs = sqlShape(runShape);

/** Runs whose facts are written in one transaction. */
export const INDEXED_AT_ONCE = 500;
/** Rows and paths of a statement: few forms of it, which are prepared once. */
const PART_SIZES = [64, 16, 4, 1] as const;
/** A run that goes on and has more facts is behind: its results change every 30 s, and training must not wait for thousands of rows. */
const MAX_LIVE_FACTS = 500;
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
  // A change of these runs waits until their facts are those of the revisions that are read here.
  const rows = yield sql(
    `SELECT ${runs.selected} FROM runs WHERE space = ? AND ${IS_BEHIND} ORDER BY id LIMIT ? FOR UPDATE`,
    space,
    INDEXED_AT_ONCE,
  );
  const calls: SqlCall[] = [];
  const facts: SqlValue[][] = [];
  for (const row of rows) {
    const run = runs.read(row, {});
    calls.push(removal(space, run.id), marking(space, run));
    facts.push(...rowsOf(space, run));
  }
  // In the order of the index: its pages are then written once and not for each run.
  facts.sort(compareRows);
  yield* together([...calls, ...insertions(facts)]);
  return rows.length;
}

/** Writes the facts of a run that was just added or changed, in its transaction: those of paths whose values are others than before. */
export function* writeFacts(space: string, run: StoredRun): SqlWork<void> {
  const facts = rowsOf(space, run);
  if (facts.length > MAX_LIVE_FACTS && run.status === 'running') return;
  const before = byPath(yield* storedFacts(space, run.id));
  const after = byPath(facts.map((cells) => cells.slice(2)));
  const isSame = (path: string): boolean =>
    JSON.stringify(before.get(path)) === JSON.stringify(after.get(path));
  const others = [...before.keys()].filter((path) => !isSame(path));
  const added = facts.filter((cells) => !isSame(String(cells[2])));
  yield* together([...removals(space, run.id, others), ...insertions(added), marking(space, run)]);
}

/** The values of each path, without the numbers that put them in order. */
function byPath(rows: readonly (readonly SqlValue[])[]): ReadonlyMap<string, SqlValue[][]> {
  const found = new Map<string, SqlValue[][]>();
  for (const [path, , ...value] of rows) {
    const values = found.get(String(path));
    if (values === undefined) found.set(String(path), [value]);
    else values.push(value);
  }
  return found;
}

/** Path, number, kind, number and body of each stored fact of a run, in their order. */
function* storedFacts(space: string, runId: string): SqlWork<SqlValue[][]> {
  const stored = yield sql(
    'SELECT text(path), fact, kind, number, text(body) FROM run_facts WHERE space = ? AND run_id = ? ORDER BY path, fact',
    space,
    runId,
  );
  return stored.map((cells) => [
    textCell(cells, 0),
    ...cells.slice(1, 4),
    cells[4] === null ? null : textCell(cells, 4),
  ]);
}

/** Whether the facts of a run that are not behind are others than those of the run. */
export function* areFactsWrong(space: string, runId: string): SqlWork<boolean> {
  const [row] = yield sqlOne(
    `SELECT ${runs.selected} FROM runs WHERE space = ? AND id = ? AND indexed_revision = revision`,
    space,
    runId,
  );
  if (row === undefined) return false;
  const found = byPath(yield* storedFacts(space, runId));
  const wanted = byPath(rowsOf(space, runs.read(row, {})).map((cells) => cells.slice(2)));
  const inOrder = (facts: ReadonlyMap<string, unknown>): string =>
    JSON.stringify([...facts].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return inOrder(found) !== inOrder(wanted);
}

/** Writes the facts of a run again; false where there is no such run. */
export function* rebuildFacts(space: string, runId: string): SqlWork<boolean> {
  const [row] = yield sqlOne(
    `SELECT ${runs.selected} FROM runs WHERE space = ? AND id = ? FOR UPDATE`,
    space,
    runId,
  );
  if (row === undefined) return false;
  yield* writeFacts(space, runs.read(row, {}));
  return true;
}

function removal(space: string, runId: string): SqlCall {
  return sql('DELETE FROM run_facts WHERE space = ? AND run_id = ?', space, runId);
}

/** Few forms of the statement, which are prepared once. */
function removals(space: string, runId: string, paths: readonly string[]): readonly SqlCall[] {
  return inParts(paths).map((some) =>
    sql(
      `DELETE FROM run_facts WHERE space = ? AND run_id = ? AND path IN (${placeholders(some)})`,
      space,
      runId,
      ...some,
    ),
  );
}

function marking(space: string, { id, revision }: StoredRun): SqlCall {
  return sql(
    'UPDATE runs SET indexed_revision = ? WHERE space = ? AND id = ?',
    revision,
    space,
    id,
  );
}

/** In the order of the paths, as they lie. */
function rowsOf(space: string, run: StoredRun): SqlValue[][] {
  const rows: SqlValue[][] = [];
  for (const [path, values] of runFactsOf(run))
    for (const value of values) rows.push([space, run.id, path, rows.length, ...cellsOf(value)]);
  return rows;
}

/** By path, kind and number. */
function compareRows(a: readonly SqlValue[], b: readonly SqlValue[]): number {
  const [pathA, pathB] = [String(a[2]), String(b[2])];
  if (pathA !== pathB) return pathA < pathB ? -1 : 1;
  return Number(a[4]) - Number(b[4]) || Number(a[5]) - Number(b[5]) || 0;
}

function insertions(rows: readonly (readonly SqlValue[])[]): readonly SqlCall[] {
  return inParts(rows).map((some) =>
    sql(
      `INSERT INTO run_facts (space, run_id, path, fact, kind, number, body)
       VALUES ${some.map((row) => `(${placeholders(row)})`).join(', ')}`,
      ...some.flat(),
    ),
  );
}

function inParts<T>(list: readonly T[]): readonly (readonly T[])[] {
  const parts: (readonly T[])[] = [];
  for (let at = 0; at < list.length;) {
    const count = PART_SIZES.find((size) => size <= list.length - at) ?? 1;
    parts.push(list.slice(at, at + count));
    at += count;
  }
  return parts;
}

function cellsOf(value: FactValue | null): SqlValue[] {
  if (value === null) return [NOTHING, null, null];
  if (typeof value === 'number') return [NUMBER, value, null];
  return typeof value === 'string'
    ? [TEXT, numberOfText(value), value]
    : [FLAG, value ? 1 : 0, null];
}

/** The value of three cells, kind, number and text; null for NaN, undefined where there is none. */
export function factOfCells(row: SqlRow, at: number): FactValue | null | undefined {
  const kind = row[at];
  if (kind === NUMBER) return numberCell(row, at + 1);
  if (kind === TEXT) return textCell(row, at + 2);
  if (kind === FLAG) return numberCell(row, at + 1) === 1;
  return kind === NOTHING ? null : undefined;
}

/** The number by which an index finds a text, whose body is compared as well. Stored: it never changes. */
function numberOfText(text: string): number {
  let [low, high] = [0x811c9dc5, 0x1b873593];
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    low = Math.imul(low ^ code, 0x01000193);
    high = Math.imul(high ^ code, 0x85ebca6b);
  }
  return (low >>> 0) * 2 ** 20 + (high >>> 12);
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
  const ofRun = columnTest(condition);
  if (ofRun !== undefined) return ofRun;
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

/** Facts that are columns of each run. */
const COLUMNS: ReadonlyMap<string, string> = new Map([
  ['id', 'id'],
  ['project', 'project_name'],
  ['status', 'status'],
]);

/** A comparison with columns of the run, where it is one that SQL does as well. */
function columnTest({ kind, path, values }: RunComparison): SqlCondition | undefined {
  const column = COLUMNS.get(path);
  if (column === undefined || (kind !== 'eq' && kind !== 'in')) return undefined;
  const texts = values.filter((value) => typeof value === 'string');
  // What was cut or replaced in a text to make it findable is another text in its column.
  if (texts.some((text) => text.includes('\ufffd') || text.length > MAX_COLUMN_CHARS))
    return undefined;
  if (texts.length === 0) return { text: '1 = 0', params: [] };
  return { text: `${column} IN (${placeholders(texts)})`, params: texts };
}

const MAX_COLUMN_CHARS = 1000;

const ORDERS = { lt: '<', lte: '<=', gt: '>', gte: '>=' } as const;

function* testOf(
  space: string,
  { kind, path, values }: RunComparison,
): SqlWork<SqlCondition | undefined> {
  if (kind === 'exists') return { text: '1 = 1', params: [] };
  if (kind === 'eq' || kind === 'in') return isOneOf(values, COLUMNS.has(path));
  if (kind !== 'like' && kind !== 'ilike')
    return { text: `kind = ${NUMBER} AND number ${ORDERS[kind]} ?`, params: [Number(values[0])] };
  const pattern = String(values[0]);
  // All of these texts differ, and are in lower case: no index helps, and both know patterns alike.
  if (path === TEXT_PATH && kind === 'like' && pattern === pattern.toLowerCase())
    return {
      text: `kind = ${TEXT} AND body LIKE ? ESCAPE '\\'`,
      params: [pattern.replaceAll('\\', '\\\\')],
    };
  const rows = yield sql(
    `SELECT DISTINCT text(body) FROM run_facts WHERE space = ? AND path = ? AND kind = ${TEXT} LIMIT ?`,
    space,
    path,
    MAX_LIKE_TEXTS + 1,
  );
  if (rows.length > MAX_LIKE_TEXTS) return undefined;
  const comparison = { kind, path, values };
  const like = rows.map((row) => textCell(row, 0)).filter((text) => compares(text, comparison));
  return like.length > MAX_NAMED_TEXTS ? undefined : isOneOf(like, COLUMNS.has(path));
}

/** @param isExact whether texts are compared as well as the numbers they are found by */
function isOneOf(values: readonly FactValue[], isExact: boolean): SqlCondition {
  const texts = values.filter((value) => typeof value === 'string');
  const numbers = values.filter((value) => typeof value === 'number');
  const flags = values.filter((value) => typeof value === 'boolean').map(Number);
  const tests = [...amongTexts(texts, isExact), ...among(NUMBER, numbers), ...among(FLAG, flags)];
  if (tests.length === 0) return { text: '1 = 0', params: [] };
  return {
    text: `(${tests.map(({ text }) => text).join(' OR ')})`,
    params: tests.flatMap(({ params }) => params),
  };
}

/**
 * Texts by the numbers that an index finds them by: of two different texts they are equal once in 2^52 times. The rows of facts are all
 * over a table, so that reading the text of each took a hundred times as long. What decides about access compares texts.
 */
function amongTexts(texts: readonly string[], isExact: boolean): readonly SqlCondition[] {
  if (texts.length === 0) return [];
  const marks = placeholders(texts);
  const numbers = texts.map(numberOfText);
  const byNumber = `kind = ${TEXT} AND number IN (${marks})`;
  return isExact
    ? [{ text: `(${byNumber} AND body IN (${marks}))`, params: [...numbers, ...texts] }]
    : [{ text: `(${byNumber})`, params: numbers }];
}

function among(kind: number, values: readonly number[]): readonly SqlCondition[] {
  if (values.length === 0) return [];
  return [{ text: `(kind = ${kind} AND number IN (${placeholders(values)}))`, params: values }];
}
