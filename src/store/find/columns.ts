/** Which paths runs have values under, and how many different ones. */
import type { FactValue } from '../../records/shapes/run-condition.ts';
import { isMachinePath, metricOfPath } from '../../records/run-paths.ts';
import {
  MAX_COLUMN_RUNS,
  MAX_COUNTED_VALUES,
  MAX_EXAMPLE_VALUES,
  type AnswerOf,
  type FoundColumn,
} from '../../records/run-question.ts';
import { compareText } from '../run-rules.ts';
import { compareKeys, effectiveStatus, type RunWithFacts } from './known-run.ts';

const MAX_EXAMPLES = 12;
/** What every row has, or what no one asks for. */
const HIDDEN: ReadonlySet<string> = new Set(['live', 'text', 'id', 'problem']);

/** The columns of these runs, newest first, of which only the first are looked at. */
export function countColumns(found: readonly RunWithFacts[], limit: number): AnswerOf<'columns'> {
  const looked = found.slice(0, MAX_COLUMN_RUNS);
  const columns = new ColumnCounts();
  for (const { run, facts, isLive } of looked) {
    columns.beginRun();
    columns.add('status', effectiveStatus(run, isLive));
    for (const [path, values] of facts)
      if (path !== 'status') for (const value of values) columns.add(path, value);
  }
  return {
    kind: 'columns',
    columns: columns.list(limit),
    total: found.length,
    looked: looked.length,
  };
}

type Counted = {
  kind: FoundColumn['kind'] | undefined;
  runs: number;
  lastRun: number;
  readonly values: Map<FactValue, number>;
};

/** Counts the values of columns, run by run. */
class ColumnCounts {
  readonly #columns = new Map<string, Counted>();
  #run = 0;

  /** What is added next is of another run. */
  beginRun(): void {
    this.#run++;
  }

  /** Counts a value of the run. @param value null for NaN */
  add(path: string, value: FactValue | null): void {
    let column = this.#columns.get(path);
    if (column === undefined) {
      column = { kind: undefined, runs: 0, lastRun: 0, values: new Map() };
      this.#columns.set(path, column);
    }
    if (column.lastRun !== this.#run) column.runs++;
    column.lastRun = this.#run;
    column.kind = joined(column.kind, kindOf(value));
    const { values } = column;
    const fact = value ?? Number.NaN;
    const count = values.get(fact);
    if (count === undefined && values.size >= MAX_COUNTED_VALUES) return;
    values.set(fact, (count ?? 0) + 1);
  }

  list(limit: number): readonly FoundColumn[] {
    const columns = new Map<string, FoundColumn>();
    const examples = new Map<string, ReadonlyMap<FactValue, number>>();
    for (const [path, { kind = 'mixed', runs, values }] of this.#columns) {
      const column = foundColumn(path, undefined, { kind, runs, distinct: values.size });
      if (column === undefined) continue;
      columns.set(path, column);
      examples.set(path, values);
    }
    return listColumns(columns, examples, limit);
  }
}

/** A column of what was counted of a path, or undefined for a path that is none. @param before what was counted of other kinds of values */
export function foundColumn(
  path: string,
  before: FoundColumn | undefined,
  { distinct, kind, runs }: Pick<FoundColumn, 'kind' | 'runs' | 'distinct'>,
): FoundColumn | undefined {
  const metric = metricOfPath(path);
  if (HIDDEN.has(path) || (metric !== undefined && metric.statistic !== 'last')) return undefined;
  return {
    path: metric === undefined ? path : `metrics.${metric.key}`,
    kind: metric === undefined ? joined(before?.kind, kind) : 'metric',
    runs: runs + (before?.runs ?? 0),
    distinct: Math.min(MAX_COUNTED_VALUES, distinct + (before?.distinct ?? 0)),
    examples: [],
  };
}

/** Varying ones first, then those of most runs; what is about the machine comes last. @param counts values by the paths of their facts */
export function listColumns(
  columns: ReadonlyMap<string, FoundColumn>,
  counts: ReadonlyMap<string, ReadonlyMap<FactValue, number>>,
  limit: number,
): readonly FoundColumn[] {
  const all = Array.from(columns, ([path, column]): FoundColumn => {
    const values = [...(counts.get(path) ?? [])];
    // Of the status, the effective one.
    const distinct = path === 'status' ? values.length : column.distinct;
    if (distinct > MAX_EXAMPLE_VALUES) return column;
    values.sort((a, b) => b[1] - a[1] || compareKeys(a[0], b[0]));
    return { ...column, distinct, examples: values.slice(0, MAX_EXAMPLES).map(([value]) => value) };
  });
  return all.sort(compareColumns).slice(0, limit);
}

function compareColumns(a: FoundColumn, b: FoundColumn): number {
  return (
    Number(isMachinePath(a.path)) - Number(isMachinePath(b.path)) ||
    Number(b.distinct > 1) - Number(a.distinct > 1) ||
    b.runs - a.runs ||
    compareText(a.path, b.path)
  );
}

function kindOf(value: FactValue | null): FoundColumn['kind'] {
  if (typeof value === 'string') return 'text';
  return typeof value === 'boolean' ? 'flag' : 'number';
}

function joined(
  before: FoundColumn['kind'] | undefined,
  kind: FoundColumn['kind'],
): FoundColumn['kind'] {
  return before === undefined || before === kind ? kind : 'mixed';
}
