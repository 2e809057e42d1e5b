/** What a writer of a table is, and its options; `buffered-writer.ts` comes with the session. */
import { invalidInput, messageOf, QuarkError } from '../base/errors.ts';
import { positive, readOptions, type OptionRule } from '../base/options.ts';
import type { RowBatch } from '../codecs/arrow/vectors.ts';
import type { SegmentManifest } from '../store/store.ts';

/** Options of every buffered writer. */
export type WriterOptions = {
  /** Rows after which a flush starts by itself. */
  readonly batchSize?: number;
  /** Longest time a row waits for a flush, in milliseconds. Default 1000. */
  readonly flushIntervalMs?: number;
  /**
   * Rows that may wait in memory while the store is slow or failing. Default 1,000,000. Rows with long texts are bounded
   * at 256 MiB as well.
   */
  readonly maxBufferedRows?: number;
};

/** Defaults of {@link WriterOptions}. */
export const DEFAULT_WRITER_OPTIONS: Readonly<Required<WriterOptions>> = Object.freeze({
  batchSize: 100,
  flushIntervalMs: 1000,
  maxBufferedRows: 1_000_000,
});

/** State of a writer. */
export type WriterStatus = {
  /** Rows that are not in the store yet. */
  readonly bufferedRows: number;
  /** Rows dropped because the buffer was full; each is counted in a `records_dropped` event. */
  readonly droppedRows: number;
  /** Why the last attempt to write failed; null after a success. */
  readonly lastError: Error | null;
};

/** Dependencies of a writer's rows, which are stored first. */
export interface RowGate {
  /** Whether the rows may be stored now. */
  readonly isOpen: boolean;
  /** Stores what comes first. @throws {SessionStoreError} */
  open(): Promise<void>;
}

/** Rows in memory. */
export interface RowBuffer {
  readonly rowCount: number;
  /** Characters of text in the buffer, numbers left out. */
  readonly textChars: number;
  /** All rows, which stay. The batch may be a view that the next row overwrites. */
  view(): RowBatch;
  /** Empties the buffer. The batches, of at most `maxRows` rows each, may be views that the next row overwrites. */
  take(maxRows: number): RowBatch[];
}

/** A segment and what the store said of it. */
export type StoredSegment = { readonly manifest: SegmentManifest; readonly bytes: Uint8Array };

/** What few writers need. */
export type WriterExtras = {
  /** Opened before each append. */
  readonly gate?: RowGate;
  /** Whether the session flushes and closes it; false where the owner has work to finish before its rows are complete. Default true. */
  readonly isAttached?: boolean;
  /** Adds the last rows, before the writer is closed. */
  readonly finish?: () => void;
};

/** The writer of a table, as those who fill its rows see it. */
export interface TableWriter {
  readonly isClosed: boolean;
  readonly status: WriterStatus;
  /**
   * Makes sure that one more row may be put into the buffer. Returns false when the buffer is full; the row is then
   * counted as dropped.
   *
   * @throws {QuarkError} `writer_closed`; `invalid_run_state` when the run has ended; in strict mode the store's error
   */
  admit(): boolean;
  /** The same for rows that were checked when they came, and are added later. */
  makeRoom(): boolean;
  /** The errors of {@link admit}, for those who have work to do before they add a row. */
  check(): void;
  /** Tells that rows were put into the buffer. */
  added(): void;
  /**
   * Waits for the rows that are there now, not for those that come meanwhile: they could go on for ever.
   *
   * @throws {SessionStoreError} when the store failed; the rows stay buffered and are retried
   */
  drain(): Promise<void>;
  /** Drains before what was recorded is read, unless it is closed. @throws {SessionStoreError} in strict mode */
  drainOpen(): Promise<void>;
  /**
   * Drains, and returns the segments that this wrote. Without strict mode a failure stays in the status.
   *
   * @throws {SessionStoreError} in strict mode
   */
  drainCollecting(): Promise<readonly StoredSegment[]>;
  /** Makes durable what is buffered without waiting, where the store can; for the last moment of a process. */
  drainNow(): void;
  /** Flushes and stops taking rows. After a failure it may be called again. */
  close(): Promise<void>;
}

/** Rules of {@link WriterOptions}, for classes with options of their own beside them. */
export const WRITER_RULES: Readonly<Record<keyof WriterOptions, OptionRule<unknown, number>>> = {
  batchSize: positive(DEFAULT_WRITER_OPTIONS.batchSize),
  flushIntervalMs: positive(DEFAULT_WRITER_OPTIONS.flushIntervalMs),
  maxBufferedRows: positive(DEFAULT_WRITER_OPTIONS.maxBufferedRows),
};

/** Settings with those of a writer beside the others. */
export function withWriter<T extends Required<WriterOptions>>(
  settings: T,
): Omit<T, keyof WriterOptions> & { readonly writer: Required<WriterOptions> } {
  const { batchSize, flushIntervalMs, maxBufferedRows, ...others } = settings;
  return { ...others, writer: { batchSize, flushIntervalMs, maxBufferedRows } };
}

/** @throws {QuarkError} `invalid_input` naming the option */
export function checkWriterOptions(options: WriterOptions): Required<WriterOptions> {
  const checked = readOptions('options', options, WRITER_RULES, '');
  const { batchSize, maxBufferedRows } = checked;
  if (maxBufferedRows < batchSize)
    throw invalidInput('maxBufferedRows', maxBufferedRows, `at least batchSize (${batchSize})`);
  return checked;
}

/** The error of using a closed writer, which says whether the run goes on. */
export function writerClosed(what: string, handle: { checkOpen(): void }): QuarkError {
  let why = 'Its session takes a new one while it is open.';
  try {
    handle.checkOpen();
  } catch (error) {
    why = messageOf(error);
  }
  return new QuarkError('writer_closed', `This writer of ${what} is closed. ${why}`, {
    details: { writer: what },
  });
}
