/** Regression trees (Breiman et al. 1984) over the settings of runs. */
import type { SettingColumn } from './settings-table.ts';

/** A tree as columns; node 0 is the root. */
export type RegressionTree = {
  /** The column that a node asks; -1 for a leaf. */
  readonly columns: readonly number[];
  /** Runs whose value is in `levels`, or at most `limit`, go to `left[node]`, all others to `left[node] + 1`. */
  readonly limits: readonly number[];
  readonly levels: readonly (ReadonlySet<number> | undefined)[];
  readonly left: readonly number[];
  readonly means: readonly number[];
};

/** Fewest runs of a leaf. */
const MIN_LEAF = 2;

type Split = {
  readonly column: number;
  readonly gain: number;
  readonly limit: number;
  readonly levels: ReadonlySet<number> | undefined;
};

/**
 * Grows a tree on these rows, which may repeat.
 *
 * @param tried how many columns each node chooses among, drawn anew
 */
export function growTree(
  table: readonly SettingColumn[],
  targets: Float64Array,
  rows: readonly number[],
  tried: number,
  random: () => number,
): RegressionTree {
  const tree = {
    columns: [-1],
    limits: [Number.NaN],
    levels: [undefined] as (ReadonlySet<number> | undefined)[],
    left: [-1],
    means: [meanOf(targets, rows)],
  };
  const open: { readonly node: number; readonly rows: readonly number[] }[] = [{ node: 0, rows }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { node, rows: own } = next;
    if (own.length < 2 * MIN_LEAF) continue;
    const split = bestSplit(table, targets, own, drawn(table.length, tried, random));
    if (split === undefined) continue;
    const { values } = table[split.column] ?? { values: targets };
    const isLeft = (row: number): boolean => goesLeft(values[row] ?? 0, split.limit, split.levels);
    const sides = [own.filter(isLeft), own.filter((row) => !isLeft(row))] as const;
    tree.columns[node] = split.column;
    tree.limits[node] = split.limit;
    tree.levels[node] = split.levels;
    tree.left[node] = tree.means.length;
    for (const side of sides) {
      open.push({ node: tree.means.length, rows: side });
      tree.columns.push(-1);
      tree.limits.push(Number.NaN);
      tree.levels.push(undefined);
      tree.left.push(-1);
      tree.means.push(meanOf(targets, side));
    }
  }
  return tree;
}

/** What the tree says of a run. `valueOf` gives the value of a column. */
export function predict(tree: RegressionTree, valueOf: (column: number) => number): number {
  let node = 0;
  for (;;) {
    const column = tree.columns[node] ?? -1;
    if (column < 0) return tree.means[node] ?? 0;
    const left = tree.left[node] ?? 0;
    node = goesLeft(valueOf(column), tree.limits[node] ?? 0, tree.levels[node]) ? left : left + 1;
  }
}

function goesLeft(value: number, limit: number, levels: ReadonlySet<number> | undefined): boolean {
  return levels === undefined ? value <= limit : levels.has(value);
}

function meanOf(targets: Float64Array, rows: readonly number[]): number {
  return rows.reduce((sum, row) => sum + (targets[row] ?? 0), 0) / Math.max(1, rows.length);
}

/** So many different columns, drawn without replacement (Fisher and Yates). */
function drawn(count: number, wanted: number, random: () => number): readonly number[] {
  const all = Array.from({ length: count }, (_, i) => i);
  for (let i = 0; i < wanted && i < count; i += 1) {
    const other = i + Math.floor(random() * (count - i));
    [all[i], all[other]] = [all[other] ?? 0, all[i] ?? 0];
  }
  return all.slice(0, wanted);
}

function bestSplit(
  table: readonly SettingColumn[],
  targets: Float64Array,
  rows: readonly number[],
  asked: readonly number[],
): Split | undefined {
  let best: Split | undefined;
  for (const at of asked) {
    const column = table[at];
    const found = column === undefined ? undefined : splitOf(column, targets, rows);
    if (found !== undefined && found.gain > (best?.gain ?? 1e-12)) best = { ...found, column: at };
  }
  return best;
}

/** The best limit of a column. Of categories the best set is one of those in the order of their means (Fisher 1958). */
function splitOf(
  { kind, values }: SettingColumn,
  targets: Float64Array,
  rows: readonly number[],
): Omit<Split, 'column'> | undefined {
  const groups = new Map<number, { value: number; count: number; sum: number }>();
  let total = 0;
  for (const row of rows) {
    const value = values[row] ?? 0;
    const group = groups.get(value) ?? { value, count: 0, sum: 0 };
    group.count += 1;
    group.sum += targets[row] ?? 0;
    total += targets[row] ?? 0;
    groups.set(value, group);
  }
  if (groups.size < 2) return undefined;
  const keyOf = (group: { value: number; count: number; sum: number }): number =>
    kind === 'number' ? group.value : group.sum / group.count;
  const ordered = [...groups.values()].toSorted((a, b) => keyOf(a) - keyOf(b));
  const base = total ** 2 / rows.length;
  let [count, sum, bestGain, bestAt] = [0, 0, 0, -1];
  for (let i = 0; i < ordered.length - 1; i += 1) {
    count += ordered[i]?.count ?? 0;
    sum += ordered[i]?.sum ?? 0;
    const rest = rows.length - count;
    if (count < MIN_LEAF || rest < MIN_LEAF) continue;
    const gain = sum ** 2 / count + (total - sum) ** 2 / rest - base;
    if (gain > bestGain) [bestGain, bestAt] = [gain, i];
  }
  if (bestAt < 0) return undefined;
  if (kind === 'category')
    return {
      gain: bestGain,
      limit: Number.NaN,
      levels: new Set(ordered.slice(0, bestAt + 1).map(({ value }) => value)),
    };
  const [below, above] = [ordered[bestAt]?.value ?? 0, ordered[bestAt + 1]?.value ?? 0];
  // Halfway, so that values between those that were seen go to the nearer side; a missing value has no middle.
  const limit = Number.isFinite(below) ? below + (above - below) / 2 : below;
  return { gain: bestGain, limit, levels: undefined };
}
