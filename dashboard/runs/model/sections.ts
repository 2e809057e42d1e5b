/** A table in sections that fold: the heads of sections and the rows of those that are open, one below the other. */

/** A section as it is shown. */
export type Section = {
  /** Whether it has a head. Without one it is always open. */
  readonly hasHead: boolean;
  /** Rows below its head that are shown: none while it is folded. */
  readonly rows: number;
};

/** What stands in a line of the table: the head of a section, or one of its rows. */
export type SectionLine = { readonly section: number; readonly row: number | 'head' };

/** Sections with where they begin. */
export class SectionList {
  readonly #sections: readonly Section[];
  /** The line at which each section begins, and the number of all lines at the end. */
  readonly #starts: readonly number[];

  constructor(sections: readonly Section[]) {
    this.#sections = sections;
    const starts = [0];
    for (const { hasHead, rows } of sections)
      starts.push((starts.at(-1) ?? 0) + rows + (hasHead ? 1 : 0));
    this.#starts = starts;
  }

  /** How many lines there are. */
  get total(): number {
    return this.#starts.at(-1) ?? 0;
  }

  /** What stands in a line; undefined beyond the last one. */
  lineAt(index: number): SectionLine | undefined {
    if (index < 0 || index >= this.total) return undefined;
    let [low, high] = [0, this.#sections.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#starts[middle] ?? 0) <= index) low = middle;
      else high = middle - 1;
    }
    const offset = index - (this.#starts[low] ?? 0);
    const hasHead = this.#sections[low]?.hasHead === true;
    if (hasHead && offset === 0) return { section: low, row: 'head' };
    return { section: low, row: hasHead ? offset - 1 : offset };
  }

  /** The line of a head or row. */
  indexOf({ section, row }: SectionLine): number {
    const start = this.#starts[section] ?? 0;
    if (row === 'head') return start;
    return start + row + (this.#sections[section]?.hasHead === true ? 1 : 0);
  }

  /** The rows of a section among the lines from `first` to before `end`; undefined where there are none. */
  rowsIn(
    section: number,
    first: number,
    end: number,
  ): readonly [first: number, end: number] | undefined {
    const one = this.#sections[section];
    if (one === undefined) return undefined;
    const start = (this.#starts[section] ?? 0) + (one.hasHead ? 1 : 0);
    const from = Math.max(0, first - start);
    const to = Math.min(one.rows, end - start);
    return from < to ? [from, to] : undefined;
  }
}
