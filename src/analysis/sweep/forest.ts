/** A random forest (Breiman 2001) over settings, and what is lost when the values of a setting are shuffled. */
import { growTree, predict, type RegressionTree } from './tree.ts';
import type { SettingColumn } from './settings-table.ts';

/** A forest that grows tree by tree. Each tree sees a sample drawn with replacement, and is measured by the rows it has not seen. */
export class Forest {
  readonly #table: readonly SettingColumn[];
  readonly #targets: Float64Array;
  readonly #rows: readonly number[];
  readonly #random: () => number;
  readonly #losses: number[];
  /** What trees said of each row that they had not seen. */
  readonly #said = new Map<number, { sum: number; count: number }>();
  #measuredCount = 0;

  /** @param rows which rows of the table there are */
  constructor(
    table: readonly SettingColumn[],
    targets: Float64Array,
    rows: readonly number[],
    random: () => number,
  ) {
    this.#table = table;
    this.#targets = targets;
    this.#rows = rows;
    this.#random = random;
    this.#losses = table.map(() => 0);
  }

  /** Grows one more tree. */
  grow(): void {
    const rows = this.#rows;
    const seen = rows.map(() => rows[Math.floor(this.#random() * rows.length)] ?? 0);
    const isSeen = new Set(seen);
    const others = rows.filter((row) => !isSeen.has(row));
    if (others.length < 2) return;
    const tried = Math.max(Math.min(3, this.#table.length), Math.ceil(this.#table.length / 3));
    const tree = growTree(this.#table, this.#targets, seen, tried, this.#random);
    this.#measuredCount += others.length;
    const own = others.map((row) => this.#predicted(tree, row));
    for (const [at, row] of others.entries()) {
      const said = this.#said.get(row) ?? { sum: 0, count: 0 };
      this.#said.set(row, { sum: said.sum + (own[at] ?? 0), count: said.count + 1 });
    }
    const before = this.#errorOf(others, own);
    for (const asked of new Set(tree.columns)) {
      if (asked < 0) continue;
      const shuffled = shuffle(others, this.#random);
      const after = others.map((row, at) => this.#predicted(tree, row, asked, shuffled[at]));
      this.#losses[asked] = (this.#losses[asked] ?? 0) + this.#errorOf(others, after) - before;
    }
  }

  /**
   * The share of the variance that the trees predict which have not seen a row; below 0 where the mean is better.
   */
  get explained(): number {
    const variance = this.#variance();
    if (!(variance > 0) || this.#said.size === 0) return 0;
    let error = 0;
    for (const [row, { count, sum }] of this.#said)
      error += ((this.#targets[row] ?? 0) - sum / count) ** 2;
    return 1 - error / (this.#said.size * variance);
  }

  /** Of each column: by how much of the variance the error grows when its values are shuffled among rows that a tree has not seen. */
  get importances(): readonly number[] {
    const scale = this.#measuredCount * this.#variance();
    return this.#losses.map((loss) => (scale > 0 ? loss / scale : 0));
  }

  /** What a tree says of a row, of which one column may have the value of another row. */
  #predicted(tree: RegressionTree, row: number, column = -1, other = row): number {
    return predict(
      tree,
      (asked) => this.#table[asked]?.values[asked === column ? other : row] ?? 0,
    );
  }

  #errorOf(rows: readonly number[], predicted: readonly number[]): number {
    return rows.reduce(
      (sum, row, at) => sum + ((this.#targets[row] ?? 0) - (predicted[at] ?? 0)) ** 2,
      0,
    );
  }

  #variance(): number {
    const own = this.#rows.map((row) => this.#targets[row] ?? 0);
    const mean = own.reduce((sum, value) => sum + value / own.length, 0);
    return own.reduce((sum, value) => sum + (value - mean) ** 2 / own.length, 0);
  }
}

/** The items in another order (Fisher and Yates). */
export function shuffle<T>(items: readonly T[], random: () => number): T[] {
  const shuffled = [...items];
  for (let i = shuffled.length - 1; i > 0; i -= 1) {
    const other = Math.floor(random() * (i + 1));
    const [a, b] = [shuffled[i], shuffled[other]];
    if (a !== undefined && b !== undefined) [shuffled[i], shuffled[other]] = [b, a];
  }
  return shuffled;
}
