/** Means and deviations of results by groups of runs with the same values, in SQL. */
import type { FactValue } from '../../records/shapes/run-condition.ts';
import type {
  AnswerOf,
  FoundGroup,
  GroupValue,
  TableQuestion,
} from '../../records/run-question.ts';
import { groupsAnswer, GroupSums } from '../find/groups.ts';
import { numberCell, sql, textCell, type SqlRow, type SqlWork } from './sql-database.ts';
import { factOfCells } from './sql-facts.ts';
import { keyOfCells, tableSource, type FoundRuns, type OrderPart } from './sql-orders.ts';
import { textsByNumber } from './sql-table-counts.ts';

type Question = Extract<TableQuestion, { readonly kind: 'groups' }>;

/** Groups that are read and put in order here; of more, each run is read. */
const MAX_READ_GROUPS = 2_000;
/** The squares of larger values are no numbers any more: they are added up here. */
const MAX_SUMMED = '1e150';
const MAX_FINITE = '1.7976931348623157e308';
const TEXT = 1;

/** Groups of runs with the same values. */
export function* sqlGroups(found: FoundRuns, question: Question): SqlWork<AnswerOf<'groups'>> {
  const { by, limit, of } = question;
  const from = yield* tableSource(found, [...by, ...of]);
  const keys = from.parts.slice(0, by.length).map(keyOf);
  const groups = yield sql(
    groupStatement(from.text, keys, from.parts.slice(by.length)),
    ...from.params,
  );
  const cut = 3 * by.length + 2;
  const isOdd = (row: SqlRow): boolean => of.some((_, i) => numberCell(row, cut + 6 * i + 5) > 0);
  if (groups.length > MAX_READ_GROUPS || groups.some(isOdd)) return yield* sumHere(found, question);
  const read: FoundGroup[] = [];
  const texts: ReadonlyMap<number, string>[] = [];
  for (const [i, path] of by.entries()) {
    const ofTexts = groups.filter((row) => row[3 * i] === TEXT && row[3 * i + 2] === null);
    texts.push(
      yield* textsByNumber(
        found.space,
        path,
        ofTexts.map((row) => textCell(row, 3 * by.length + 1)),
      ),
    );
  }
  for (const row of groups)
    read.push({
      by: by.map((_, i) => valueOf(row, 3 * i, texts[i])),
      runs: numberCell(row, 3 * by.length),
      of: of.map((path, i) => groupValue(path, row, cut + 6 * i)),
    });
  return groupsAnswer(read, limit);
}

/** Three cells of a value that runs are grouped by: its kind, a number, and a text where the number does not stand for it. */
function keyOf(part: OrderPart, i: number): readonly [string, string, string] {
  return part.onlyKind === undefined
    ? [part.kind, `f${i}.number`, 'NULL']
    : [part.kind, part.number, part.body];
}

function groupStatement(
  source: string,
  keys: readonly (readonly string[])[],
  values: readonly OrderPart[],
): string {
  const key = keys.flatMap((cells, i) => cells.map((cell, j) => `${cell} AS k${i}_${j}`));
  const names = keys.flatMap((_, i) => [`k${i}_0`, `k${i}_1`, `k${i}_2`]);
  const within = ({ kind, number }: OrderPart, most: string): string =>
    `${kind} = 0 AND ${number} BETWEEN -${most} AND ${most}`;
  const numbers = values.flatMap((part, i) => [
    `CASE WHEN ${within(part, MAX_SUMMED)} THEN ${part.number} END AS x${i}`,
    `CASE WHEN ${within(part, MAX_FINITE)} AND NOT (${within(part, MAX_SUMMED)}) THEN 1 ELSE 0 END AS odd${i}`,
  ]);
  const means = values.map((_, i) => `avg(x${i}) OVER (PARTITION BY ${names.join(', ')}) AS m${i}`);
  const sums = values.flatMap((_, i) => [
    `count(x${i})`,
    `avg(x${i})`,
    `sum((x${i} - m${i}) * (x${i} - m${i}))`,
    `min(x${i})`,
    `max(x${i})`,
    `sum(odd${i})`,
  ]);
  const shown = keys.flatMap((_, i) => [`k${i}_0`, `k${i}_1`, `text(k${i}_2)`]);
  const columns = sums.map((sum, i) => `${sum} AS s${i}`);
  const grouped = `SELECT ${[...names, 'count(*) AS runs', 'min(id) AS one_run', ...columns].join(', ')}
    FROM (SELECT valued.*${means.map((one) => `, ${one}`).join('')}
      FROM (SELECT ${[...key, 'r.id AS id', ...numbers].join(', ')} FROM ${source}) AS valued) AS centred
    GROUP BY ${names.join(', ')} LIMIT ${MAX_READ_GROUPS + 1}`;
  return `SELECT ${[...shown, 'runs', 'text(one_run)', ...sums.map((_, i) => `s${i}`)].join(', ')}
    FROM (${grouped}) AS grouped`;
}

function valueOf(
  row: SqlRow,
  at: number,
  texts: ReadonlyMap<number, string> | undefined,
): FactValue | null {
  if (row[at] === TEXT && row[at + 2] === null) return texts?.get(numberCell(row, at + 1)) ?? null;
  const value = factOfCells(row, at);
  return value === undefined ? null : (value ?? Number.NaN);
}

function groupValue(path: string, row: SqlRow, at: number): GroupValue {
  const runs = numberCell(row, at);
  if (runs === 0) return { path, runs, mean: null, deviation: null, min: null, max: null };
  const deviation = runs < 2 ? null : Math.sqrt(numberCell(row, at + 2) / (runs - 1));
  const [mean, min, max] = [1, 3, 4].map((i) => numberCell(row, at + i));
  return { path, runs, mean: mean ?? null, deviation, min: min ?? null, max: max ?? null };
}

/** Reads the values of each run. */
function* sumHere(found: FoundRuns, { by, limit, of }: Question): SqlWork<AnswerOf<'groups'>> {
  const from = yield* tableSource(found, [...by, ...of]);
  const cells = from.parts.map(({ kind, number, text }) => `${kind}, ${number}, ${text}`);
  const all = yield sql(`SELECT ${cells.join(', ')} FROM ${from.text}`, ...from.params);
  const sums = new GroupSums(of);
  for (const row of all) {
    const values = from.parts.map((_, i) => keyOfCells(row, 3 * i));
    sums.add(
      values.slice(0, by.length),
      values.slice(by.length).map((value) => (typeof value === 'number' ? value : Number.NaN)),
    );
  }
  return sums.answer(limit);
}
