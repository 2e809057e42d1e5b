/** The rows of any Parquet file, a span at a time: of each column one page is in memory. Lists are no cells and are passed over. */
import { isQuarkError, messageOf } from '../../base/errors.ts';
import type { InputFile } from '../input.ts';
import type { ImportLimits } from '../limits.ts';
import { numberFromText } from '../number-text.ts';
import type { ParquetFooter, ParquetLeaf } from './parquet-footer.ts';
import { maxCellsOf, ParquetBudget, ParquetBudgetError } from './parquet-budget.ts';
import { ParquetPages, type ParquetPage, type Texts } from './parquet-pages.ts';
import { CELL_ABSENT, CELL_NUMBER, CELL_TEXT, type TableRow } from '../table-rows.ts';

/** Longer texts are no numbers. */
const MAX_NUMBER_BYTES = 40;

/** @throws {Error} when the file says of itself that it holds more than it can */
export function checkColumnRows(
  footer: ParquetFooter,
  file: InputFile,
  limits: ImportLimits,
): void {
  const rows = footer.groups.reduce((sum, { rowCount }) => sum + rowCount, 0);
  const cells = rows * Math.max(1, footer.leaves.length);
  if (cells > maxCellsOf(file, limits))
    throw new Error(
      `It says that it has ${rows} rows of ${footer.leaves.length} columns, in ${file.sizeBytes} bytes (limits.maxCellsPerByte).`,
    );
}

export class ParquetRows implements TableRow {
  readonly cellCount: number;
  readonly kinds: Uint8Array;
  readonly numbers: Float64Array;
  line = 0;
  readonly leaves: readonly ParquetLeaf[];
  readonly #columns: readonly Cursor[];
  readonly #leafIndexes: readonly number[];
  readonly #file: InputFile;
  readonly #footer: ParquetFooter;
  readonly #limits: ImportLimits;
  readonly #problem: (location: string, reason: string) => void;
  #left = 0;

  constructor(
    file: InputFile,
    footer: ParquetFooter,
    limits: ImportLimits,
    problem: (location: string, reason: string) => void,
  ) {
    checkColumnRows(footer, file, limits);
    this.#file = file;
    this.#footer = footer;
    this.#limits = limits;
    this.#problem = problem;
    this.#leafIndexes = footer.leaves.flatMap((leaf, i) => (leaf.maxRepetition === 0 ? [i] : []));
    this.leaves = this.#leafIndexes.flatMap((index) => footer.leaves[index] ?? []);
    this.#columns = this.leaves.map((leaf) => new Cursor(leaf));
    this.cellCount = this.leaves.length;
    this.kinds = new Uint8Array(this.cellCount);
    this.numbers = new Float64Array(this.cellCount);
  }

  /** Yields when pages are there; then {@link next} goes over their rows. What is damaged costs its row group; pages that become too much, the rest of the file. */
  async *spans(): AsyncGenerator<void, void, undefined> {
    const budget = new ParquetBudget(this.#file, this.#limits);
    let first = 0;
    for (const [number, group] of this.#footer.groups.entries()) {
      let column = '';
      this.line = first;
      try {
        for (const [i, cursor] of this.#columns.entries()) {
          const chunk = group.chunks[this.#leafIndexes[i] ?? -1];
          if (chunk === undefined) continue;
          if (chunk.isElsewhere) throw new Error('it is in another file');
          cursor.open(new ParquetPages(this.#file, cursor.leaf, chunk, this.#limits, budget));
        }
        for (let left = group.rowCount; left > 0; left -= this.#left) {
          let bytes = 0;
          let rows = left;
          for (const cursor of this.#columns) {
            column = cursor.leaf.name;
            if (cursor.left === 0) await cursor.load();
            rows = Math.min(rows, cursor.left);
            bytes += cursor.bytes;
          }
          column = '';
          if (bytes > this.#limits.maxExpandedBytes)
            throw new Error(
              `its pages take ${bytes} bytes beside each other; they may take ${this.#limits.maxExpandedBytes} (limits.maxExpandedBytes)`,
            );
          const count = rows;
          this.#left = rows;
          yield;
          // A reader that stopped in the middle does not continue.
          while (this.#left > 0) this.next();
          this.#left = count;
        }
      } catch (error) {
        if (isQuarkError(error, 'aborted')) throw error;
        const where = column === '' ? '' : `, column "${column.slice(0, 100)}"`;
        this.#problem(
          `row group ${number + 1}${where}`,
          `The rest of ${error instanceof ParquetBudgetError ? 'the file' : 'it'} is left out: ${messageOf(error)}.`,
        );
        if (error instanceof ParquetBudgetError) {
          this.#left = 0;
          return;
        }
      }
      this.#left = 0;
      first += group.rowCount;
    }
  }

  /** Goes to the next row of the span. */
  next(): boolean {
    if (this.#left === 0) return false;
    this.#left--;
    this.line++;
    for (let i = 0; i < this.#columns.length; i++) {
      const cursor = this.#columns[i];
      if (cursor === undefined) continue;
      this.kinds[i] = cursor.next();
      this.numbers[i] = cursor.number;
    }
    return true;
  }

  text(cell: number): string {
    return this.#columns[cell]?.text() ?? '';
  }
}

/** One column on its way from page to page. */
class Cursor {
  readonly leaf: ParquetLeaf;
  number = Number.NaN;
  readonly #isNumber: boolean;
  #pages: ParquetPages | undefined;
  #page: ParquetPage | undefined;
  #at = 0;
  #valueAt = -1;
  /** Of the texts of a dictionary: the numbers that they say, null for none. */
  #known: (number | null | undefined)[] = [];
  #knownOf: Texts | undefined;

  constructor(leaf: ParquetLeaf) {
    this.leaf = leaf;
    this.#isNumber = hasNumbers(leaf);
  }

  get left(): number {
    return (this.#page?.count ?? 0) - this.#at;
  }

  get bytes(): number {
    return this.#page?.bytes ?? 0;
  }

  open(pages: ParquetPages): void {
    this.#pages = pages;
    this.#page = undefined;
    this.#at = 0;
  }

  async load(): Promise<void> {
    this.#page = await this.#pages?.next();
    if (this.#page === undefined) throw new Error('it has fewer rows than its row group');
    this.#at = 0;
    this.#valueAt = -1;
  }

  next(): number {
    const page = this.#page;
    this.number = Number.NaN;
    if (page === undefined) return CELL_ABSENT;
    const at = this.#at++;
    if (page.definition !== null && page.definition[at] !== this.leaf.maxDefinition)
      return CELL_ABSENT;
    this.#valueAt++;
    const { values } = page;
    if (values.kind === 'numbers') {
      this.number = values.values[this.#valueAt] ?? Number.NaN;
      return this.#isNumber ? CELL_NUMBER : CELL_TEXT;
    }
    const number = this.#numberIn(values.texts, values.positions);
    if (number === null) return CELL_TEXT;
    if (number === undefined) return CELL_ABSENT;
    this.number = number;
    return CELL_NUMBER;
  }

  text(): string {
    const values = this.#page?.values;
    if (values?.kind === 'texts')
      return values.texts.at(values.positions?.[this.#valueAt] ?? this.#valueAt);
    const number = values?.values[this.#valueAt] ?? Number.NaN;
    if (this.leaf.type === 'BOOLEAN') return number === 1 ? 'true' : 'false';
    const isTime = this.leaf.logical === 'timestamp' || this.leaf.logical === 'date';
    if (isTime) return Math.abs(number) <= 8.64e15 ? new Date(number).toISOString() : '';
    return this.#isNumber ? String(number) : '';
  }

  #numberIn(texts: Texts, positions: Int32Array | null): number | null | undefined {
    const at = positions?.[this.#valueAt] ?? this.#valueAt;
    if (texts.byteLength(at) > MAX_NUMBER_BYTES) return null;
    if (positions === null) return numberFromText(texts.at(at));
    if (this.#knownOf !== texts) {
      this.#knownOf = texts;
      this.#known = Array.from({ length: texts.length }, (_, i) =>
        texts.byteLength(i) > MAX_NUMBER_BYTES ? null : numberFromText(texts.at(i)),
      );
    }
    return this.#known[at];
  }
}

/** Whether the values of a column are numbers that mean what they say. */
export function hasNumbers({ type, logical }: ParquetLeaf): boolean {
  if (logical === 'other' || type === 'BOOLEAN' || type === 'BYTE_ARRAY') return false;
  return type !== 'FIXED_LEN_BYTE_ARRAY' || logical === 'decimal' || logical === 'float16';
}
