/** Rows of one table on their way to the store. */
import { loadPart } from '../base/runtime.ts';
import type { TableColumns, TableDefinition } from '../schema/table.ts';
import type { RecordOf, RowOf } from '../schema/record.ts';
import { RowColumns } from '../segment/row-columns.ts';
import type { RunHandle } from './run-handle.ts';
import type { TableWriter, WriterExtras, WriterOptions, WriterStatus } from './writer-options.ts';

/**
 * A row as it is put in: what the store adds is left out, the timestamp may be in epoch milliseconds, and lists of numbers may
 * be typed arrays.
 */
export type NewRow<C extends TableColumns> = {
  readonly [K in Exclude<keyof C, 'runId' | 'sequence' | 'timestamp'>]: OrTyped<RowOf<C>[K]>;
} & { readonly timestamp: string | number };

/** A row whose fields are set anew for the next one: a writer has taken its values when `add` returns. */
export type MutableRow<C extends TableColumns> = {
  -readonly [K in keyof NewRow<C>]: NewRow<C>[K];
};

type OrTyped<T> = T extends readonly number[] ? T | Float64Array : T;

/** Writes rows given as objects. Unless told otherwise, its owner is attached to the session and drains and closes it. */
export class RecordWriter<C extends TableColumns> {
  readonly #table: TableDefinition<C>;
  readonly #rows: RowColumns;
  readonly #writer: TableWriter;

  /** @throws {QuarkError} `invalid_input` naming the option */
  constructor(
    handle: RunHandle,
    table: TableDefinition<C>,
    options: WriterOptions,
    extras: WriterExtras = {},
  ) {
    this.#table = table;
    this.#rows = new RowColumns(table);
    this.#writer = handle.openWriter(table, this.#rows, options, {
      isAttached: false,
      ...extras,
    });
  }

  get status(): WriterStatus {
    return this.#writer.status;
  }

  get isClosed(): boolean {
    return this.#writer.isClosed;
  }

  /** Whether a row could be added now. @throws {QuarkError} as {@link add} */
  check(): void {
    this.#writer.check();
  }

  /** @throws {QuarkError} `writer_closed`; `invalid_run_state`; in strict mode the store's error */
  add(row: NewRow<C>): void {
    if (!this.#writer.admit()) return;
    this.#rows.push(row);
    this.#writer.added();
  }

  /** Makes the rows durable and returns those that this wrote as records. @throws {SessionStoreError} in strict mode */
  async flush(): Promise<readonly RecordOf<C>[]> {
    const segments = await this.#writer.drainCollecting();
    if (segments.length === 0) return [];
    const { recordsOfSegment } = await loadPart(
      'Reading records',
      async () => import('../read/records.ts'),
    );
    return segments.flatMap((segment) => recordsOfSegment(this.#table, segment));
  }

  drain(): Promise<void> {
    return this.#writer.drain();
  }

  /** See {@link TableWriter.drainOpen}. */
  drainOpen(): Promise<void> {
    return this.#writer.drainOpen();
  }

  drainNow(): void {
    this.#writer.drainNow();
  }

  close(): Promise<void> {
    return this.#writer.close();
  }
}
