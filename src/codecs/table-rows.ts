/** Rows of a table, whatever file they stand in: one row at a time, the same objects for each. */

/** What stands in a cell. */
export const CELL_ABSENT = 0;
export const CELL_NUMBER = 1;
export const CELL_TEXT = 2;

/** The row that a reader stands at. */
export interface TableRow {
  /** Cells of the row; there may be more than columns. */
  readonly cellCount: number;
  /** Where the row stands, for reports: a line, or a row, from 1. */
  readonly line: number;
  /** One of {@link CELL_ABSENT}, {@link CELL_NUMBER} and {@link CELL_TEXT} for each cell. */
  readonly kinds: Uint8Array;
  /** The numbers of the cells that have one. */
  readonly numbers: Float64Array;
  /** What a cell says. */
  text(cell: number): string;
}
