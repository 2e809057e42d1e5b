/** Rows of one table on their way to the store. */
import type { TableColumns, TableDefinition } from '../schema/table.ts';
import type { RecordOf, RowOf } from '../schema/record.ts';
import { recordsOfBatch } from '../read/records.ts';
import { concatBatches } from '../segment/batch-ops.ts';
import { decodeBatches } from '../segment/decode.ts';
import { RowColumns } from '../segment/row-columns.ts';
import {
  BufferedWriter,
  type RowGate,
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

/** Writes rows. Its owner is attached to the session, because it has work to finish before its rows are complete. */
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
    gate?: RowGate,
  ) {
    this.#handle = handle;
    this.#table = table;
    this.#rows = new RowColumns(table);
    this.#writer = new BufferedWriter(detached(handle), table, this.#rows, options, gate);
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

  drainNow(): void {
    this.#writer.drainNow();
  }

  close(): Promise<void> {
    return this.#writer.close();
  }
}

/** The session as a writer sees it that somebody else flushes and closes. */
function detached(handle: RunHandle): RunHandle {
  return {
    runId: handle.runId,
    store: handle.store,
    clock: handle.clock,
    strictMode: handle.strictMode,
    signal: handle.signal,
    recording: handle.recording,
    checkOpen: () => handle.checkOpen(),
    attach: () => () => undefined,
    flush: () => handle.flush(),
    onAppended: (listener) => handle.onAppended(listener),
    requestStop: (reason) => handle.requestStop(reason),
    notify: (notice) => handle.notify(notice),
    appended: (table, segments) => handle.appended(table, segments),
  };
}
