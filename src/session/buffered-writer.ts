/**
 * The capture path from rows to the store, shared by all writers. Rows wait in columns; a flush turns all that wait into
 * segments and appends them. While an append is under way, or failing, new rows wait on, up to a bound; beyond it they
 * are counted and the count is recorded as an event. A segment keeps its identity until the store has it, so that
 * trying again never writes it twice.
 */
import { isStoreError, messageOf, QuarkError } from '../base/errors.ts';
import { createId } from '../base/ids.ts';
import { measured, spentMs, threadTime } from '../base/thread/thread-time.ts';
import type { TableDefinition } from '../schema/table.ts';
import { gatherRows } from '../segment/batch-ops.ts';
import { createSegment } from '../segment/manifest.ts';
import type { RowBatch } from '../codecs/arrow/vectors.ts';
import type { NewSegment, SegmentIdentity, SegmentManifest } from '../store/store.ts';
import { RowSaver } from './storing/row-saver.ts';
import { writeFor, type OpenWriter, type RunHandle } from './run-handle.ts';
import {
  checkWriterOptions,
  writerClosed,
  type RowBuffer,
  type RowGate,
  type StoredSegment,
  type TableWriter,
  type WriterExtras,
  type WriterOptions,
  type WriterStatus,
} from './writer-options.ts';

const MAX_SEGMENT_ROWS = 1 << 16;
/** A quarter of what stores take. */
const MAX_SEGMENT_BYTES = 16 << 20;
/** Rows with long texts fill the memory long before `maxBufferedRows`. */
const MAX_BUFFERED_BYTES = 256 << 20;
/** Segments in one append: bounds the length of a transaction. */
const MAX_APPEND_SEGMENTS = 64;
/** A batch that is being filled is saved as a whole each time: it ends here. */
const MAX_SAVED_ROWS = 4096;
const MAX_SAVED_CHARS = 1 << 20;
const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 30_000;

export class BufferedWriter implements OpenWriter, TableWriter {
  readonly #handle: RunHandle;
  readonly #table: TableDefinition;
  readonly #buffer: RowBuffer;
  readonly #options: Required<WriterOptions>;
  readonly #gate: RowGate | undefined;
  #finish: (() => void) | undefined;
  readonly #writerId: string;
  readonly #detach: () => void;
  #saver: RowSaver | undefined;
  /** Rows of the current batch that are in the spill. */
  #savedRows = 0;
  /** Of `#pending`, those whose rows are all in the spill. */
  readonly #saved = new WeakSet<NewSegment>();
  readonly #uncount: () => void;
  #nextBatch = 0;
  #pending: NewSegment[] = [];
  #pendingRows = 0;
  #pendingBytes = 0;
  #running: Promise<void> | undefined;
  /** Calls that want the segments written; each segment goes to the call that has waited longest. */
  readonly #collectors = new Set<StoredSegment[]>();
  #cancelTimer: (() => void) | undefined;
  #retryMs = FIRST_RETRY_MS;
  #retryAtMs = 0;
  #lastError: Error | null = null;
  #droppedRows = 0;
  #unreportedDrops = 0;
  #isClosed = false;
  /** When the last flush began, and what it took of the thread: both in milliseconds. */
  #flushedAtMs = 0;
  #flushMs = 0;

  constructor(
    handle: RunHandle,
    table: TableDefinition,
    buffer: RowBuffer,
    options: WriterOptions,
    { finish, gate, isAttached = true }: WriterExtras = {},
  ) {
    this.#handle = handle;
    this.#table = table;
    this.#buffer = buffer;
    this.#options = checkWriterOptions(options);
    this.#gate = gate;
    this.#finish = finish;
    this.#writerId = createId('wrt', handle.clock.now());
    this.#saver = this.#newSaver();
    this.#detach = isAttached ? handle.attach(this) : () => undefined;
    this.#uncount = handle.recording.count(this);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get status(): WriterStatus {
    return {
      bufferedRows: this.#buffer.rowCount + this.#pendingRows,
      droppedRows: this.#droppedRows,
      lastError: this.#lastError,
    };
  }

  admit(): boolean {
    this.check();
    return this.makeRoom();
  }

  makeRoom(): boolean {
    if (this.#handle.fenced !== undefined) {
      this.#droppedRows++;
      return false;
    }
    if (!this.#isFull()) return true;
    // After a failure the store is not asked again for every row: each attempt may block.
    const mayAsk = this.#lastError === null || this.#handle.clock.now() >= this.#retryAtMs;
    if (mayAsk && this.#handle.store.appendSegmentsNow !== undefined) this.drainNow();
    if (!this.#isFull()) return true;
    this.#droppedRows++;
    this.#unreportedDrops++;
    return false;
  }

  check(): void {
    if (this.#isClosed) throw writerClosed(this.#table.table, this.#handle);
    this.#handle.checkOpen();
    if (this.#lastError !== null && this.#handle.strictMode) throw this.#lastError;
  }

  #isFull(): boolean {
    const { rowCount, textChars } = this.#buffer;
    return (
      rowCount + this.#pendingRows >= this.#options.maxBufferedRows ||
      2 * textChars + this.#pendingBytes >= MAX_BUFFERED_BYTES
    );
  }

  added(): void {
    this.#saver?.added();
    if (this.#buffer.rowCount >= this.#options.batchSize && !this.#isPostponed()) {
      if (this.#running === undefined && this.#lastError === null) this.#start();
    } else if (this.#cancelTimer === undefined) {
      const { flushIntervalMs } = this.#options;
      const withinMs = this.#handle.store.spill?.flushWithinMs ?? flushIntervalMs;
      this.#startLater(Math.min(flushIntervalMs, withinMs));
    }
  }

  /** Whether a full batch waits for more rows, at most until its interval is over: where flushes are to take a share of the time only. */
  #isPostponed(): boolean {
    const { flushShare } = threadTime;
    if (flushShare === undefined || this.#buffer.rowCount >= MAX_SAVED_ROWS) return false;
    const waitMs = Math.min(this.#options.flushIntervalMs, this.#flushMs / flushShare);
    return this.#handle.clock.now() - this.#flushedAtMs < waitMs;
  }

  async drain(): Promise<void> {
    this.#encode();
    const last = this.#pending.at(-1);
    for (;;) {
      if (this.#running === undefined) this.#run();
      await this.#running;
      if (last === undefined || !this.#pending.includes(last)) return;
    }
  }

  async drainOpen(): Promise<void> {
    if (!this.#isClosed) await writeFor(this.#handle, () => this.drain());
  }

  async drainCollecting(): Promise<readonly StoredSegment[]> {
    const collected: StoredSegment[] = [];
    if (this.#running !== undefined) await this.#running.catch(() => undefined);
    this.#collectors.add(collected);
    try {
      await writeFor(this.#handle, () => this.drain());
    } finally {
      this.#collectors.delete(collected);
    }
    return collected;
  }

  drainNow(): void {
    const { store } = this.#handle;
    if (store.appendSegmentsNow === undefined && store.spill === undefined) return;
    if (this.#gate?.isOpen === false) return;
    // Small segments for the end of a page: all rows of a segment that does not fit are lost.
    this.#encode(store.appendSegmentsNow === undefined ? MAX_SAVED_ROWS : MAX_SEGMENT_ROWS);
    if (this.#pending.length === 0) return;
    if (store.appendSegmentsNow === undefined) {
      // They stay in line: a page that goes on writes them as always.
      store.spill?.leave(this.#pending);
      this.#noteSaved(this.#pending);
      return;
    }
    try {
      store.appendSegmentsNow(this.#pending);
      this.#keep([]);
      this.#succeeded();
    } catch (error) {
      this.#failed(error);
    }
  }

  async close(): Promise<void> {
    const finish = this.#finish;
    this.#finish = undefined;
    finish?.();
    this.#isClosed = true;
    await this.drain();
    this.#cancelTimer?.();
    this.#saver?.stop();
    this.#detach();
    this.#uncount();
  }

  #startLater(delayMs: number): void {
    this.#cancelTimer?.();
    this.#cancelTimer = this.#handle.clock.after(delayMs, () => {
      this.#cancelTimer = undefined;
      this.#start();
    });
  }

  /** Undefined while the store is not open, and for stores without a spill. */
  #newSaver(): RowSaver | undefined {
    const { clock, store } = this.#handle;
    const { spill } = store;
    return spill === undefined ? undefined : new RowSaver(spill, clock, () => this.#saveRows());
  }

  /** Starts a flush in the background: its failure is in the status, and the flush is retried. */
  #start(): void {
    if (this.#running === undefined) this.#run();
    this.#running?.catch(() => undefined);
  }

  #run(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#running = this.#append().finally(() => {
      this.#running = undefined;
      this.#goOn();
    });
  }

  /** After an append: rows that came meanwhile are next, at once if they are many. After a failure its timer is set. */
  #goOn(): void {
    if (this.#lastError !== null) return;
    if (this.#pending.length > 0) this.#start();
    else if (this.#buffer.rowCount > 0) this.added();
  }

  async #append(): Promise<void> {
    // A store that could not be opened at first may be open now.
    this.#saver ??= this.#newSaver();
    this.#flushedAtMs = this.#handle.clock.now();
    const before = spentMs('flush');
    this.#encode();
    const sending = this.#pending.slice(0, MAX_APPEND_SEGMENTS);
    if (sending.length === 0) return;
    let manifests: readonly SegmentManifest[];
    try {
      await this.#gate?.open();
      manifests = await this.#handle.store.appendSegments(sending);
      this.#flushMs = spentMs('flush') - before;
    } catch (error) {
      this.#failed(error);
      throw error;
    }
    // drainNow may have taken some of them meanwhile; identities make that harmless.
    const sent = new Set(sending);
    this.#handle.store.spill?.forget(sending);
    this.#keep(this.#pending.filter((segment) => !sent.has(segment)));
    const [collector] = this.#collectors;
    sending.forEach((segment, i) => {
      const manifest = manifests[i];
      const { batchNumber, writerId } = segment.manifest;
      // Else an earlier attempt wrote it after all, and it has been merged since.
      if (manifest?.writerId === writerId && manifest.batchNumber === batchNumber)
        collector?.push({ manifest, bytes: segment.bytes });
    });
    this.#handle.appended(this.#table.table, manifests);
    this.#succeeded();
  }

  #encode(maxRows = MAX_SEGMENT_ROWS): void {
    if (this.#buffer.rowCount === 0) return;
    const first = this.#pending.length;
    measured('flush', () => {
      for (const batch of this.#buffer.take(maxRows)) this.#encodeBatch(batch);
    });
    const segments = this.#pending.slice(first);
    const savedRows = this.#savedRows;
    this.#savedRows = 0;
    if (savedRows === 0) return;
    const [only] = segments;
    if (segments.length > 1) {
      // Rows that were saved as one batch are split into several: the spill is updated before any of them is appended.
      this.#handle.store.spill?.save(segments);
      this.#noteSaved(segments);
    } else if (only?.manifest.rowCount === savedRows) this.#noteSaved(segments);
  }

  /** Saves what is not in the spill yet: segments that await their append, and the current batch. */
  #saveRows(): void {
    const { spill } = this.#handle.store;
    if (spill === undefined) return;
    const { rowCount, textChars } = this.#buffer;
    if (rowCount >= MAX_SAVED_ROWS || textChars >= MAX_SAVED_CHARS) this.#encode();
    const unsaved = this.#pending.filter((segment) => !this.#saved.has(segment));
    if (this.#buffer.rowCount > this.#savedRows) {
      this.#savedRows = this.#buffer.rowCount;
      unsaved.push(createSegment(this.#table, this.#nextIdentity(), this.#buffer.view()));
    }
    spill.save(unsaved);
    this.#noteSaved(unsaved);
  }

  #noteSaved(segments: readonly NewSegment[]): void {
    for (const segment of segments) this.#saved.add(segment);
  }

  #nextIdentity(): SegmentIdentity {
    return {
      runId: this.#handle.runId,
      table: this.#table.table,
      writerId: this.#writerId,
      batchNumber: this.#nextBatch,
    };
  }

  #encodeBatch(batch: RowBatch): void {
    const segment = createSegment(this.#table, this.#nextIdentity(), batch);
    if (segment.bytes.byteLength > MAX_SEGMENT_BYTES && batch.rowCount > 1) {
      // Rows with long texts: halves, until each fits.
      const middle = batch.rowCount >> 1;
      const rows = Int32Array.from({ length: batch.rowCount }, (_, row) => row);
      this.#encodeBatch(gatherRows(batch, rows.subarray(0, middle)));
      this.#encodeBatch(gatherRows(batch, rows.subarray(middle)));
      return;
    }
    this.#nextBatch++;
    this.#pending.push(segment);
    this.#pendingRows += batch.rowCount;
    this.#pendingBytes += segment.bytes.byteLength;
  }

  #keep(pending: NewSegment[]): void {
    this.#pending = pending;
    this.#pendingRows = pending.reduce((sum, segment) => sum + segment.manifest.rowCount, 0);
    this.#pendingBytes = pending.reduce((sum, segment) => sum + segment.bytes.byteLength, 0);
  }

  #succeeded(): void {
    this.#retryMs = FIRST_RETRY_MS;
    const failure = this.#lastError;
    this.#lastError = null;
    this.#handle.recording.worked(this.#writerId);
    if (failure !== null) {
      this.#notify('runtime_error', {
        message: `Writing ${this.#table.table} failed for a while and works again: ${failure.message}`,
        identifier: 'Error',
        source: this.#table.table,
        reason: isStoreError(failure) ? failure.reason : null,
      });
    }
    if (this.#unreportedDrops > 0) {
      this.#notify('records_dropped', {
        table: this.#table.table,
        count: this.#unreportedDrops,
        max_buffered_rows: this.#options.maxBufferedRows,
      });
      this.#unreportedDrops = 0;
    }
  }

  #failed(error: unknown): void {
    this.#lastError =
      error instanceof Error ? error : new QuarkError('store_failed', messageOf(error));
    this.#retryAtMs = this.#handle.clock.now() + this.#retryMs;
    this.#handle.recording.failed(this.#writerId, this.#lastError);
    // In strict mode the caller of close got the error; a closed store takes no more writes.
    if ((this.#isClosed && this.#handle.strictMode) || isStoreError(error, 'closed')) return;
    this.#startLater(this.#retryMs);
    this.#retryMs = Math.min(LAST_RETRY_MS, this.#retryMs * 2);
  }

  #notify(eventType: string, payload: Readonly<Record<string, string | number | null>>): void {
    this.#handle.notify({ eventType, severity: 'error', step: null, epoch: null, payload });
  }
}
