/** Rows of one table on their way to the store. */
import type { TableColumns, TableDefinition } from '../schema/table.ts';
import type { RecordOf, RowOf } from '../schema/record.ts';
import { recordsOfBatch } from '../read/records.ts';
import { concatBatches } from '../segment/batch-ops.ts';
import { decodeBatches } from '../segment/decode.ts';
import { RowColumns } from '../segment/row-columns.ts';
import {
  BufferedWriter,
  type WriterExtras,
  type WriterOptions,
  type WriterStatus,
} from './buffered-writer.ts';
import type { RunHandle } from './run-handle.ts';

/**
 * A row as it is put in: what the store adds is left out, the timestamp may be in epoch milliseconds, and lists of numbers may
 * be typed arrays.
 */
export type NewRow<C extends TableColumns> = {
  readonly [K in Exclude<keyof C, 'runId' | 'sequence' | 'timestamp'>]: OrTyped<RowOf<C>[K]>;
} & { readonly timestamp: string | number };

type OrTyped<T> = T extends readonly number[] ? T | Float64Array : T;

/** Writes rows given as objects. Unless told otherwise, its owner is attached to the session and drains and closes it. */
export class RecordWriter<C extends TableColumns> {
  readonly #handle: RunHandle;
  readonly #table: TableDefinition<C>;
  readonly #rows: RowColumns;
  readonly #writer: BufferedWriter;

  /** @throws {QuarkError} `invalid_input` naming the option */
  constructor(
    handle: RunHandle,
    table: TableDefinition<C>,
    options: WriterOptions,
    extras: WriterExtras = {},
  ) {
    this.#handle = handle;
    this.#table = table;
    this.#rows = new RowColumns(table);
    this.#writer = new BufferedWriter(handle, table, this.#rows, options, {
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
    return segments.flatMap(({ manifest, bytes }) => {
      const batch = concatBatches(decodeBatches(this.#table, bytes, manifest.schemaVersion));
      return recordsOfBatch(
        this.#table,
        this.#handle.runId,
        batch,
        (row) => manifest.firstSequence + row,
      );
    });
  }

  drain(): Promise<void> {
    return this.#writer.drain();
  }

  /** See {@link BufferedWriter.drainOpen}. */
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
