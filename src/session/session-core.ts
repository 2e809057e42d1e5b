/** The inside of a session: its writers, its lease, its end. */
import type { Clock } from '../base/clock.ts';
import { isStoreError, messageOf } from '../base/errors.ts';
import { createId } from '../base/ids.ts';
import { Mutex } from '../base/mutex.ts';
import { eventTable, type EventRecord } from '../records/event.ts';
import type { RunStatus, TerminalRunStatus } from '../records/literals.ts';
import type { RunRecord } from '../records/run.ts';
import { TABLES } from '../records/tables.ts';
import { batchOfRows } from '../segment/batch-ops.ts';
import { compactTable } from '../segment/compact.ts';
import { createSegment } from '../segment/manifest.ts';
import type { NewSegment, SegmentManifest, Store } from '../store/store.ts';
import type { RefusedSegment } from '../store/sync-control.ts';
import { createEvent } from './event-logger.ts';
import type { Platform } from './platform.ts';
import {
  runEnded,
  type AppendListener,
  type Notice,
  type OpenWriter,
  type RunHandle,
} from './run-handle.ts';
import { changeRun, loadRun } from './run-lifecycle.ts';
import type { SessionOptions } from './run-options.ts';
import { persistenceOf } from '../store/persistence.ts';
import { recordLosses } from './record-losses.ts';
import { checkRunning } from './run-state.ts';

/**
 * Small segments of one table after which they are merged while the run goes on. Merging costs about a microsecond a row
 * on the training thread; listing this many segments costs a reader some 30 ms.
 */
const MERGE_AFTER_SEGMENTS = 4096;
const NOTICE_RETRY_MS = 1000;
/** How long a process that was asked to stop waits for the service: what is left is sent by the next one. */
const LAST_SYNC_MS = 1000;

/** An event on its way: with its number it can be appended again without being written twice. */
type NumberedEvent = { readonly event: EventRecord; readonly batchNumber: number };

export class SessionCore implements RunHandle {
  readonly runId: string;
  readonly store: Store;
  readonly clock: Clock;
  readonly strictMode: boolean;
  /** Whether the session joined a run that another one started. */
  readonly isGuest: boolean;
  readonly #isStoreOwned: boolean;
  readonly #holder: string;
  readonly #leaseTtlMs: number;
  readonly #platform: Platform;
  readonly #handlesSignals: boolean;
  readonly #syncWaitMs: number;
  readonly #abort = new AbortController();
  readonly #writers = new Set<OpenWriter>();
  readonly #eventOrder = new Mutex();
  readonly #segmentCounts = new Map<string, number>();
  readonly #undo: (() => void)[] = [];
  readonly #listeners = new Set<AppendListener>();
  #nextEventBatch = 0;
  #notices: NumberedEvent[] = [];
  #hasNoticeTimer = false;
  #status: RunStatus;
  /** The attempt to end the run that is under way. */
  #ending: Promise<RunRecord> | undefined;
  #lastWord: (NumberedEvent & { readonly status: string }) | undefined;
  #isClosing = false;
  #isClosed = false;
  #renewedAtMs = 0;
  #merging: Promise<void> | undefined;
  #mergeFailure: unknown;
  #interruption: Promise<void> | undefined;

  constructor(
    store: Store,
    isStoreOwned: boolean,
    platform: Platform,
    clock: Clock,
    holder: string,
    run: RunRecord,
    options: SessionOptions,
    isGuest: boolean,
  ) {
    this.store = store;
    this.clock = clock;
    this.runId = run.id;
    this.strictMode = run.strictMode;
    this.isGuest = isGuest;
    this.#isStoreOwned = isStoreOwned;
    this.#platform = platform;
    this.#status = run.status;
    this.#holder = holder;
    this.#leaseTtlMs = options.leaseTtlMs ?? platform.leaseTtlMs;
    this.#handlesSignals = options.handleSignals ?? true;
    this.#syncWaitMs = store.sync === undefined ? 0 : (persistenceOf(options)?.timeoutMs ?? 0);
  }

  get isOpen(): boolean {
    return this.#status === 'running' && !this.#isClosed;
  }

  get status(): RunStatus {
    return this.#status;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Settles when an interruption has been dealt with; undefined when there is none. */
  get interruption(): Promise<void> | undefined {
    return this.#interruption;
  }

  async start(): Promise<void> {
    await this.#renew();
    this.#renewLater();
    await this.store.spill?.begin(this.runId);
    await recordLosses(this.store, this.clock).catch(() => undefined);
    if (this.#handlesSignals)
      this.#undo.push(this.#platform.onInterrupt((reason) => this.#interrupt(reason)));
    const undoRefused = this.store.sync?.onRefused(this.runId, (segment) => this.#refused(segment));
    if (undoRefused !== undefined) this.#undo.push(undoRefused);
    this.#undo.push(
      this.#platform.onExit(() => {
        for (const writer of this.#writers) writer.drainNow();
        this.#flushNoticesNow();
        this.store.spill?.left();
      }),
      this.#platform.onHide(() => {
        // A failure stays with the writer, which tries again.
        this.flush().catch(() => undefined);
      }),
    );
  }

  checkOpen(): void {
    if (!this.isOpen)
      throw runEnded(
        this.runId,
        this.#isClosed && this.#status === 'running' ? 'closed' : this.#status,
      );
  }

  attach(writer: OpenWriter): () => void {
    this.checkOpen();
    // It would be neither flushed nor closed with the others.
    if (this.#ending !== undefined) throw runEnded(this.runId, 'ending');
    if (this.#isClosing) throw runEnded(this.runId, 'closing');
    this.#writers.add(writer);
    return () => this.#writers.delete(writer);
  }

  notify({ eventType, ...options }: Notice): void {
    const event = createEvent(this, eventType, options);
    this.#notices.push({ event, batchNumber: this.#nextEventBatch++ });
    // Together with others of the same moment, and never inside a call of the training loop.
    this.#flushNoticesLater(0);
  }

  onAppended(listener: AppendListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  requestStop(reason: string): void {
    if (this.#abort.signal.aborted) return;
    const message = `Asked to stop: ${reason}.`;
    this.notify({
      eventType: 'stop_requested',
      severity: 'warning',
      step: null,
      epoch: null,
      payload: { message, reason },
    });
    this.#abort.abort(new DOMException(message, 'AbortError'));
  }

  appended(table: string, segments: readonly SegmentManifest[]): void {
    for (const listener of this.#listeners) listener(table, segments);
    if (this.clock.now() - this.#renewedAtMs > this.#leaseTtlMs / 3)
      this.#renew().catch(() => undefined);
    const count = (this.#segmentCounts.get(table) ?? 0) + segments.length;
    this.#segmentCounts.set(table, count);
    if (count < MERGE_AFTER_SEGMENTS || this.#merging !== undefined || this.#ending !== undefined)
      return;
    this.#segmentCounts.set(table, 0);
    // Merging is housekeeping: when it fails, the segments are there as they were, and the next one tries again.
    this.#merging = this.#merge(table)
      .catch((error: unknown) => {
        if (!isStoreError(error)) this.#mergeFailure = error;
      })
      .finally(() => {
        this.#merging = undefined;
      });
  }

  /** Appends one event and returns it with its sequence number. */
  record(event: EventRecord, batchNumber: number = this.#nextEventBatch++): Promise<EventRecord> {
    return this.#eventOrder.run(async () => {
      const kept = await this.store.appendSegments([this.#segmentOf({ event, batchNumber })]);
      this.appended(eventTable.table, kept);
      return eventTable.wrap({ ...event, sequence: kept[0]?.firstSequence ?? null });
    });
  }

  async flush(): Promise<void> {
    const results = await this.#askWriters((writer) => writer.drain());
    throwFirst([...results, ...(await Promise.allSettled([this.#flushNotices()]))]);
  }

  async #askWriters(ask: (writer: OpenWriter) => Promise<void>) {
    const writers = [...this.#writers];
    const results = [];
    for (const isLast of [false, true])
      results.push(
        ...(await Promise.allSettled(
          writers.filter((one) => (one.isLast ?? false) === isLast).map(ask),
        )),
      );
    return results;
  }

  /**
   * Ends the run. `merges` is false where there is no time for housekeeping; a run that is resumed is merged when it
   * ends again.
   */
  async end(status: TerminalRunStatus, merges: boolean): Promise<RunRecord> {
    this.checkOpen();
    if (this.#ending !== undefined) throw runEnded(this.runId, 'ending');
    this.#ending = this.#end(status);
    let run: RunRecord;
    try {
      run = await this.#ending;
    } finally {
      this.#ending = undefined;
    }
    await this.#merging;
    await this.store.sync?.synced({
      runId: this.runId,
      timeoutMs: merges ? this.#syncWaitMs : LAST_SYNC_MS,
      onlyWhileReachable: true,
    });
    if (merges) await tolerate(() => this.#mergeAll());
    if (this.#mergeFailure !== undefined) throw this.#mergeFailure;
    return run;
  }

  async #end(status: TerminalRunStatus): Promise<RunRecord> {
    throwFirst(await this.#askWriters((writer) => writer.close()));
    await this.#flushNotices();
    // Before the event: when somebody else ended the run, there is nothing to say.
    checkRunning((await loadRun(this.store, this.runId)).run, 'ended again');
    // Kept from a first attempt to a second, so that the event is written once.
    if (this.#lastWord?.status !== status) {
      const event = createEvent(this, 'run_ended', { status, payload: { status } });
      this.#lastWord = { status, event, batchNumber: this.#nextEventBatch++ };
    }
    const { batchNumber, event } = this.#lastWord;
    await this.record(event, batchNumber);
    const run = await changeRun(this.store, this.runId, this.clock.now(), (current) => {
      checkRunning(current, 'ended again');
      return { status, endedAt: event.timestamp };
    });
    this.#status = status;
    this.#stop();
    await tolerate(() => this.store.releaseLease(this.runId, this.#holder));
    return run;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    if (this.#status === 'running') {
      this.#isClosing = true;
      try {
        throwFirst(await this.#askWriters((writer) => writer.close()));
        await this.#flushNotices();
      } finally {
        this.#isClosing = false;
      }
    }
    this.#isClosed = true;
    this.#stop();
    await this.store.spill?.end(this.runId);
    await this.#merging;
    if (this.#status === 'running')
      await tolerate(() => this.store.releaseLease(this.runId, this.#holder));
    if (this.#isStoreOwned) await this.store.close();
  }

  #refused({ batchNumber, message, reason, rowCount, table, writerId }: RefusedSegment): void {
    // An event about an event that was refused would be refused as well, and so on.
    if (table === eventTable.table) return;
    const payload = {
      table,
      writer_id: writerId,
      batch_number: batchNumber,
      row_count: rowCount,
      reason,
      message,
    };
    this.notify({
      eventType: 'sync_segment_refused',
      severity: 'error',
      step: null,
      epoch: null,
      payload,
    });
  }

  #stop(): void {
    for (const undo of this.#undo.splice(0)) undo();
  }

  #interrupt(reason: string): Promise<void> {
    this.#interruption ??= this.#endInterrupted(reason);
    return this.#interruption;
  }

  async #endInterrupted(reason: string): Promise<void> {
    if (!this.isOpen) return;
    const message = `Interrupted: ${reason}.`;
    this.#abort.abort(new DOMException(message, 'AbortError'));
    try {
      if (this.#ending !== undefined) {
        // The run is all but over: let it end as it was going to.
        await this.#ending;
        return;
      }
      const payload = { message, identifier: 'Warning', reason };
      await this.record(
        createEvent(this, 'runtime_interruption', { severity: 'warning', payload }),
      );
      if (this.isGuest) await this.close();
      else await this.end('interrupted', false);
    } catch (error) {
      // The store refused the last words. What was acknowledged is there, and the lease will lapse.
      if (!isStoreError(error)) throw error;
    }
  }

  #flushNoticesLater(delayMs: number): void {
    if (this.#hasNoticeTimer) return;
    this.#hasNoticeTimer = true;
    this.clock.after(delayMs, () => {
      this.#hasNoticeTimer = false;
      this.#flushNotices().catch(() => {
        if (!this.#isClosed) this.#flushNoticesLater(NOTICE_RETRY_MS);
      });
    });
  }

  /** Records what was noticed, in order. What the store refuses stays for the next time. */
  async #flushNotices(): Promise<void> {
    for (let notice = this.#notices[0]; notice !== undefined; notice = this.#notices[0]) {
      await this.record(notice.event, notice.batchNumber);
      const written = notice;
      this.store.spill?.forget([this.#segmentOf(written)]);
      this.#notices = this.#notices.filter((other) => other !== written);
    }
  }

  #flushNoticesNow(): void {
    const { store } = this;
    if (this.#notices.length === 0) return;
    const segments = this.#notices.map((notice) => this.#segmentOf(notice));
    // They stay in line: a page that goes on writes them as always.
    store.spill?.leave(segments);
    if (store.appendSegmentsNow === undefined) return;
    try {
      store.appendSegmentsNow(segments);
      this.#notices = [];
    } catch {
      // The process is ending and the store refuses: nobody is left to tell.
    }
  }

  #segmentOf({ batchNumber, event }: NumberedEvent): NewSegment {
    const { table } = eventTable;
    const identity = { runId: this.runId, table, writerId: this.#holder, batchNumber };
    return createSegment(eventTable, identity, batchOfRows(eventTable, [event]));
  }

  async #renew(): Promise<void> {
    this.#renewedAtMs = this.clock.now();
    await this.store.renewLease(this.runId, this.#holder, this.#leaseTtlMs);
  }

  #renewLater(): void {
    const cancel = this.clock.after(this.#leaseTtlMs / 3, () => {
      const at = this.#undo.indexOf(cancel);
      if (at >= 0) this.#undo.splice(at, 1);
      if (!this.isOpen) return;
      // A renewal that fails is made up for by the next one; until then the run may look interrupted.
      this.#renew().catch(() => undefined);
      this.#renewLater();
    });
    this.#undo.push(cancel);
  }

  async #mergeAll(): Promise<void> {
    for (const table of TABLES.keys()) await this.#merge(table);
    await this.store.reclaimSpace();
  }

  async #merge(name: string): Promise<void> {
    const table = TABLES.get(name);
    if (table !== undefined)
      await compactTable(this.store, table, this.runId, createId('mrg', this.clock.now()));
  }
}

function throwFirst(results: readonly PromiseSettledResult<unknown>[]): void {
  for (const result of results) {
    if (result.status === 'rejected')
      throw result.reason instanceof Error ? result.reason : new Error(messageOf(result.reason));
  }
}

/**
 * Housekeeping after everything is stored: where the store refuses it, segments stay small and a lease lapses by itself,
 * and nothing is lost.
 */
async function tolerate(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!isStoreError(error)) throw error;
  }
}
