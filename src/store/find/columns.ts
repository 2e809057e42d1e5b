/** Which paths runs have values under, and how many different ones. */
import type { FactValue } from '../../records/shapes/run-condition.ts';
import { isMachinePath, metricOfPath } from '../../records/run-paths.ts';
import {
  MAX_COLUMN_RUNS,
  MAX_COUNTED_VALUES,
  type AnswerOf,
  type FoundColumn,
} from '../../records/run-question.ts';
import { compareText } from '../run-rules.ts';
import { effectiveStatus, type RunWithFacts } from './known-run.ts';

const MAX_EXAMPLES = 12;
/** What every row has, or what no one looks for. */
const HIDDEN: ReadonlySet<string> = new Set(['live', 'text', 'id']);

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
    const metric = metricOfPath(path);
    if (HIDDEN.has(path) || (metric !== undefined && metric.statistic !== 'last')) return;
    const name = metric === undefined ? path : `metrics.${metric.key}`;
    let column = this.#columns.get(name);
    if (column === undefined) {
      const kind = metric === undefined ? undefined : 'metric';
      column = { kind, runs: 0, lastRun: 0, values: new Map() };
      this.#columns.set(name, column);
    }
    if (column.lastRun !== this.#run) column.runs++;
    column.lastRun = this.#run;
    if (column.kind !== 'metric') column.kind = joined(column.kind, kindOf(value));
    const { values } = column;
    const fact = value ?? Number.NaN;
    const count = values.get(fact);
    if (count === undefined && values.size >= MAX_COUNTED_VALUES) return;
    values.set(fact, (count ?? 0) + 1);
  }

  /** Varying ones first, then those of most runs; what is about the machine comes last. */
  list(limit: number): readonly FoundColumn[] {
    const all = Array.from(
      this.#columns,
      ([path, { kind = 'mixed', runs, values }]): FoundColumn => {
        const examples = [...values].sort((a, b) => b[1] - a[1]).slice(0, MAX_EXAMPLES);
        return { path, kind, runs, distinct: values.size, examples: examples.map(([one]) => one) };
      },
    );
    return all.sort(compareColumns).slice(0, limit);
  }
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
