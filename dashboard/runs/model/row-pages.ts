/**
 * The rows of a filter in an order, as far as somebody has seen them: read in pages, the pages on screen again and again. Rows that
 * are read again change where they are. When the order has changed, or runs came or went, all other pages are dropped; while the reader
 * points at the rows, they stay where they are until asked.
 */
import { batch, signal, type ReadonlySignal } from '@preact/signals';
import { errorText } from '../../parts/notices.tsx';

/** A row that is told from others. */
export type Identified = { readonly id: string };

/** Rows from a position, and how many there are in all. */
export type RowsRead<R> = { readonly rows: readonly R[]; readonly total: number };

/** Rows of a page. */
export const PAGE_ROWS = 100;

/** Reads rows. */
export type ReadRows<R> = (offset: number, limit: number) => Promise<RowsRead<R>>;

/** See the top of this file. */
export class RowPages<R extends Identified> {
  readonly #read: ReadRows<R>;
  readonly #pages = new Map<number, readonly R[]>();
  readonly #asked = new Set<number>();
  readonly #version = signal(0);
  readonly #total = signal<number | undefined>(undefined);
  readonly #waiting = signal(false);
  readonly #failure = signal<string | undefined>(undefined);
  /** Counts up when pages are dropped: what was asked before then belongs to another order. */
  #generation = 0;

  constructor(read: ReadRows<R>) {
    this.#read = read;
  }

  /** Counts up whenever a row is another one. */
  get version(): ReadonlySignal<number> {
    return this.#version;
  }

  /** How many rows there are; undefined before the first answer. */
  get total(): ReadonlySignal<number | undefined> {
    return this.#total;
  }

  /** Whether the order has changed and is not shown yet. */
  get isWaiting(): ReadonlySignal<boolean> {
    return this.#waiting;
  }

  /** Why the last page could not be read, as a sentence. */
  get failure(): ReadonlySignal<string | undefined> {
    return this.#failure;
  }

  /** A row, if it was read. */
  row(index: number): R | undefined {
    return this.#pages.get(Math.floor(index / PAGE_ROWS))?.[index % PAGE_ROWS];
  }

  /** Where a row is among those that were read; undefined elsewhere. */
  indexOf(id: string): number | undefined {
    for (const [page, rows] of this.#pages) {
      const at = rows.findIndex((row) => row.id === id);
      if (at >= 0) return page * PAGE_ROWS + at;
    }
    return undefined;
  }

  /** Reads the pages of these rows that are missing. */
  want(first: number, end: number): void {
    for (const page of pagesOf(first, end)) {
      if (this.#pages.has(page) || this.#asked.has(page)) continue;
      this.#asked.add(page);
      void this.#fetch(page, this.#generation);
    }
  }

  /** All rows of a range, read where they are missing. @throws what reading throws */
  async range(first: number, end: number): Promise<readonly R[]> {
    const missing = pagesOf(first, end).filter((page) => !this.#pages.has(page));
    const generation = this.#generation;
    for (const page of missing) {
      const read = await this.#read(page * PAGE_ROWS, PAGE_ROWS);
      if (generation === this.#generation) this.#pages.set(page, read.rows);
    }
    const rows: R[] = [];
    for (let at = first; at < end; at += 1) {
      const row = this.row(at);
      if (row !== undefined) rows.push(row);
    }
    return rows;
  }

  /**
   * Reads the pages of these rows again.
   *
   * @param isHeld whether rows are to stay where they are, though their order has changed
   * @throws what reading throws
   */
  async refresh(first: number, end: number, isHeld: boolean): Promise<void> {
    const pages = pagesOf(first, Math.max(end, first + 1));
    const [from = 0] = pages;
    const generation = this.#generation;
    const read = await this.#read(from * PAGE_ROWS, pages.length * PAGE_ROWS);
    if (generation !== this.#generation) return;
    const fresh = new Map(
      pages.map((page, at) => [page, read.rows.slice(at * PAGE_ROWS, (at + 1) * PAGE_ROWS)]),
    );
    const isSame =
      read.total === this.#total.peek() &&
      pages.every((page) => hasSameOrder(this.#pages.get(page), fresh.get(page) ?? []));
    batch(() => {
      this.#failure.value = undefined;
      if (isSame) {
        this.#renew(read.rows);
        this.#waiting.value = false;
      } else if (isHeld && this.#total.peek() !== undefined) {
        this.#renew(read.rows);
        this.#waiting.value = true;
      } else this.#replace(fresh, read.total);
    });
  }

  /** Changes a row before the store has answered. */
  patch(id: string, change: (row: R) => R): void {
    for (const [page, rows] of this.#pages)
      if (rows.some((row) => row.id === id))
        this.#pages.set(
          page,
          rows.map((row) => (row.id === id ? change(row) : row)),
        );
    this.#version.value += 1;
  }

  /** Shows other pages instead of all that are there. */
  #replace(fresh: ReadonlyMap<number, readonly R[]>, total: number): void {
    const known = new Map([...this.#pages.values()].flat().map((row) => [row.id, row]));
    this.#generation += 1;
    this.#asked.clear();
    this.#pages.clear();
    for (const [page, rows] of fresh)
      if (rows.length > 0)
        this.#pages.set(
          page,
          rows.map((row) => sameOr(known.get(row.id), row)),
        );
    this.#total.value = total;
    this.#waiting.value = false;
    this.#version.value += 1;
  }

  /** Puts what has changed of rows where they are. */
  #renew(rows: readonly R[]): void {
    const fresh = new Map(rows.map((row) => [row.id, row]));
    let isNew = false;
    for (const [page, before] of this.#pages) {
      const after = before.map((row) => sameOr(row, fresh.get(row.id) ?? row));
      if (after.every((row, at) => row === before[at])) continue;
      this.#pages.set(page, after);
      isNew = true;
    }
    if (isNew) this.#version.value += 1;
  }

  async #fetch(page: number, generation: number): Promise<void> {
    try {
      const { rows, total } = await this.#read(page * PAGE_ROWS, PAGE_ROWS);
      if (generation !== this.#generation) return;
      batch(() => {
        this.#pages.set(page, rows);
        if (this.#total.peek() === undefined) this.#total.value = total;
        this.#failure.value = undefined;
        this.#version.value += 1;
      });
    } catch (error) {
      if (generation === this.#generation) this.#failure.value = errorText(error);
    } finally {
      if (generation === this.#generation) this.#asked.delete(page);
    }
  }
}

/** The pages that rows from `first` to before `end` are on. */
function pagesOf(first: number, end: number): readonly number[] {
  const from = Math.floor(first / PAGE_ROWS);
  const to = Math.ceil(end / PAGE_ROWS);
  return Array.from({ length: Math.max(0, to - from) }, (_, at) => from + at);
}

function hasSameOrder(
  before: readonly Identified[] | undefined,
  after: readonly Identified[],
): boolean {
  if (before === undefined) return after.length === 0;
  return before.length === after.length && before.every(({ id }, at) => id === after[at]?.id);
}

/** The object that is there, where nothing of it has changed: what draws it then has nothing to do. */
function sameOr<R>(before: R | undefined, after: R): R {
  if (before === undefined || before === after) return after;
  return JSON.stringify(before) === JSON.stringify(after) ? before : after;
}
