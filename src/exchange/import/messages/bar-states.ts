/** Rows of a progress bar: the state after one says the same again, with more of the epoch in it, so that the last one counts. */
import type { LogRow } from './log-patterns.ts';

export class BarStates {
  #waiting: LogRow | undefined;

  /** Takes a row, and gives back those that are certain. */
  take(row: LogRow): readonly LogRow[] {
    const before = this.#waiting;
    if (before !== undefined && before.bar === row.bar) {
      const values = new Map([...before.values, ...row.values]);
      this.#waiting = { ...row, values: [...values] };
      return [];
    }
    const certain = this.end();
    if (row.bar === undefined) return [...certain, row];
    this.#waiting = row;
    return certain;
  }

  /** The row that waits: nothing follows it. */
  end(): readonly LogRow[] {
    const row = this.#waiting;
    this.#waiting = undefined;
    return row === undefined ? [] : [row];
  }
}
