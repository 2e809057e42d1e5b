/** What the pages of a Parquet file may become together: a page of a few bytes may stand for megabytes, and a file of 100 KB for thousands of such pages. */
import type { InputFile } from '../input.ts';
import type { ImportLimits } from '../limits.ts';

/** Cells that every file may have, however small it is. */
const FREE_CELLS = 1 << 20;
/** Of a plain number. */
const CELL_BYTES = 8;

/** The pages of the file are more than it may hold: nothing further of it is read. */
export class ParquetBudgetError extends Error {}

/** Cells that a file may have: the first million, and {@link ImportLimits.maxCellsPerByte} for each of its bytes. */
export function maxCellsOf({ sizeBytes }: InputFile, { maxCellsPerByte }: ImportLimits): number {
  return FREE_CELLS + sizeBytes * maxCellsPerByte;
}

/**
 * Counts what all pages of one file become, before memory is taken for it. Plain numbers of as many cells as the file may have fit,
 * whatever they are packed with, and one page of the largest size beside them.
 */
export class ParquetBudget {
  readonly #path: string;
  readonly #maxBytes: number;
  readonly #maxValues: number;
  #bytes = 0;
  #values = 0;

  constructor(file: InputFile, limits: ImportLimits) {
    this.#path = file.path;
    this.#maxValues = maxCellsOf(file, limits);
    this.#maxBytes = limits.maxRecordBytes + CELL_BYTES * this.#maxValues;
  }

  /** Counts bytes that are read, unpacked, or made of texts that share their bytes. @throws {ParquetBudgetError} when they are too many */
  takeBytes(count: number): void {
    this.#bytes += count;
    if (this.#bytes > this.#maxBytes) throw this.#exceeded(`${this.#maxBytes} bytes`);
  }

  /** Counts values of pages, nulls too. @throws {ParquetBudgetError} when they are too many */
  takeValues(count: number): void {
    this.#values += count;
    if (this.#values > this.#maxValues) throw this.#exceeded(`${this.#maxValues} values`);
  }

  #exceeded(what: string): ParquetBudgetError {
    return new ParquetBudgetError(
      `the pages of ${this.#path} become more than ${what}, which is what a file of its size may hold (limits.maxCellsPerByte)`,
    );
  }
}
