/** The inside of a session: its writers, its lease, its end. */
import type { Clock } from '../base/clock.ts';
import {
  isQuarkError,
  isStoreError,
  RunNotFoundError,
  type SessionStoreError,
} from '../base/errors.ts';
import { generationOf } from '../records/shapes/run.ts';
import { eventTable, type EventRecord } from '../records/event.ts';
import type { RunStatus, TerminalRunStatus } from '../records/literals.ts';
import { runRecord, type RunRecord } from '../records/run.ts';
import { persistenceOf } from '../store/persistence.ts';
import type { SegmentManifest, Store, StoredProject } from '../store/store.ts';
import { BufferedWriter } from './buffered-writer.ts';
import { AnswerLimit } from './storing/answer-limit.ts';
import { Claim } from './storing/claim.ts';
import { EventQueue } from './event-queue.ts';
import { Fence } from './storing/fence.ts';
import { Housekeeping, tolerate } from './storing/housekeeping.ts';
import type { Platform } from './platforms/platform.ts';
import { RecordingHealth } from './storing/recording-health.ts';
import { Retry } from './storing/retry.ts';
import {
  isRecordingFailure,
  runEnded,
  SessionListeners,
  throwFirst,
  writeFor,
  type Notice,
  type OpenWriter,
  type RunHandle,
} from './run-handle.ts';
import { OpenWriters } from './open-writers.ts';
import { loadRun } from './run-lifecycle.ts';
import type { SessionOptions } from './run-options.ts';
import { checkRunning } from './run-state.ts';
import { LateRunStore } from './storing/run-store.ts';
import { askToStop, noticeRefused, sessionFenced, storageCleared } from './session-notices.ts';
import { endInterrupted, leave, noticeLosses } from './interruption.ts';
import type { Postponed, SessionParts } from './session-parts.ts';
import { RunSummaries, type SummarySource } from './run-summaries.ts';
import { SessionRun, type RunEdit } from './session-run.ts';

/** How long a process that was asked to stop waits for the service: what is left is sent by the next one. */
const LAST_SYNC_MS = 1000;

export class SessionCore implements RunHandle {
  readonly runId: string;
  readonly store: Store;
  readonly clock: Clock;
  readonly strictMode: boolean;
  /** Whether the session joined a run that another one started. */
  readonly isGuest: boolean;
  step: number | undefined = undefined;
  readonly recording: RecordingHealth;
  /** Its name in leases on the run. */
  readonly holder: string;
  readonly #fence: Fence;
  readonly #run: SessionRun;
  readonly #runStore: LateRunStore;
  readonly #housekeeping: Housekeeping;
  readonly #summaries: RunSummaries;
  readonly #isStoreOwned: boolean;
  readonly #claim: Claim;
  readonly #platform: Platform;
  readonly #options: SessionOptions;
  /** Whether the run was stored before this session. */
  readonly #isKnown: boolean;
  readonly #abort = new AbortController();
  readonly #writers = new OpenWriters();
  readonly #events: EventQueue;
  /** Writes events and changes of the run that wait. */
  readonly #writeRetry: Retry;
  /** Stores an end that was postponed. */
  readonly #endRetry: Retry;
  readonly #undo: (() => void)[] = [];
  readonly #listeners = new SessionListeners();
  readonly onAppended = this.#listeners.onAppended;
  readonly onOver = this.#listeners.onOver;
  #status: RunStatus;
  /** The attempt to end the run that is under way. */
  #ending: Promise<RunRecord> | undefined;
  #postponed: Postponed | undefined;
  #isClosing = false;
  #isClosed = false;
  #interruption: Promise<void> | undefined;

  constructor(parts: SessionParts) {
    const { clock, holder, isStored = true, options, platform, run, store } = parts;
    this.clock = clock;
    this.runId = run.id;
    this.strictMode = run.strictMode;
    this.isGuest = parts.isGuest ?? false;
    this.#isStoreOwned = parts.isStoreOwned;
    this.#platform = platform;
    this.#status = run.status;
    this.holder = holder;
    this.#options = options;
    this.#isKnown = isStored;
    const live = { runId: run.id, generation: generationOf(parts.known ?? {}) };
    this.#fence = new Fence(live, (error, current) => this.#fenced(error, current));
    this.#run = new SessionRun(run, clock, this.#fence, parts.known);
    this.#runStore = new LateRunStore(store, isStored, {
      runId: run.id,
      fence: this.#fence,
      answers: run.strictMode ? undefined : new AnswerLimit(clock),
      isMadeAgain: !run.strictMode,
      createRun: async (opened) => {
        await this.#run.create(opened);
        // If the lease fails, the next renewal restores it.
        if (!this.strictMode) await tolerate(() => this.#claim.renew(opened));
      },
      onOpened: (opened) => void this.#begin(opened).catch(() => undefined),
      onCleared: (rows) => this.#cleared(rows),
    });
    this.store = this.#runStore.store;
    const ttlMs = options.leaseTtlMs ?? platform.leaseTtlMs;
    this.#claim = new Claim(this.store, run.id, holder, clock, ttlMs);
    this.#housekeeping = new Housekeeping(this.store, run.id, clock, platform.mergeWindow);
    this.recording = new RecordingHealth(run.id, clock, {
      strictMode: run.strictMode,
      callback: options.onRecordingProblem,
      onWorks: () => this.#storageWorks(),
    });
    this.#events = new EventQueue(this, holder);
    this.#summaries = new RunSummaries(clock, (edit) => this.change(edit));
    this.#writeRetry = new Retry(clock, () => this.#writeWaiting());
    this.#endRetry = new Retry(clock, () => this.#endLate());
  }

  /** The run as this session knows it, with changes that are not stored yet. */
  get run(): RunRecord {
    const run = this.#run.current;
    const status = this.#postponed?.status;
    if (status === undefined) return run;
    return runRecord.create({ ...run, ...this.#events.endOf(status) });
  }

  get project(): StoredProject {
    return this.#run.project;
  }

  set project(project: StoredProject) {
    this.#run.project = project;
  }

  /** The store itself, once it is open. */
  get openedStore(): Store | undefined {
    return this.#runStore.opened;
  }

  /** Opens the store and creates the run, unless that is done. */
  readonly ready = (): Promise<unknown> => this.#runStore.ready();

  get isOpen(): boolean {
    return this.#status === 'running' && !this.#isClosed;
  }

  get status(): RunStatus {
    return this.#status === 'running' && this.fenced !== undefined ? 'interrupted' : this.#status;
  }

  get fenced(): SessionStoreError | undefined {
    return this.#fence.error;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Settles when an interruption has been dealt with; undefined when there is none. */
  get interruption(): Promise<void> | undefined {
    return this.#interruption;
  }

  async start(): Promise<void> {
    // Without strict mode the claim on a new run is stored with the run.
    if (this.strictMode || this.#isKnown) await this.#claim.renew();
    this.#claim.keep(
      () => this.isOpen,
      // It may have been frozen while another session took the run over.
      () => void this.reload().catch(() => undefined),
    );
    this.#undo.push(() => this.#claim.stop());
    if (this.#options.handleSignals ?? true)
      this.#undo.push(this.#platform.onInterrupt((reason) => this.#interrupt(reason)));
    const { limited } = this.#runStore;
    if (limited !== undefined) await this.#begin(limited);
    this.#undo.push(
      this.#platform.onExit((leaving) => {
        this.#writers.drainNow();
        const parts = { events: this.#events, run: this.#run, summaries: this.#summaries };
        leave(this, parts, this.#ending === undefined && !this.#isClosing ? leaving : undefined);
      }),
      this.#platform.onHide(() => {
        // A failure stays with the writer, which tries again.
        this.#flush().catch(() => undefined);
      }),
    );
  }

  checkOpen(): void {
    if (!this.isOpen)
      throw runEnded(
        this.runId,
        this.#isClosed && this.#status === 'running' ? 'closed' : this.#status,
      );
    if (this.strictMode && this.fenced !== undefined) throw this.fenced;
  }

  readonly openWriter: RunHandle['openWriter'] = (...parts) => new BufferedWriter(this, ...parts);

  attach(writer: OpenWriter): () => void {
    this.checkOpen();
    // It would be neither flushed nor closed with the others.
    if (this.#ending !== undefined) throw runEnded(this.runId, 'ending');
    if (this.#isClosing) throw runEnded(this.runId, 'closing');
    return this.#writers.add(writer);
  }

  notify(notice: Notice): void {
    this.#events.notify(notice);
    // Together with others of the same moment, and never inside a call of the training loop.
    this.#writeRetry.soon();
  }

  requestStop(reason: string): void {
    askToStop(this, this.#abort, reason);
  }

  readonly summarize = (source: SummarySource): void => this.#summaries.add(source);

  appended(table: string, segments: readonly SegmentManifest[]): void {
    if (this.#ending === undefined) this.#summaries.appended();
    this.#listeners.appended(table, segments);
    this.#claim.touch();
    this.#housekeeping.appended(table, segments, this.#ending === undefined && !this.fenced);
  }

  /**
   * Appends one event and returns it with its sequence number. Without strict mode, an event that cannot be stored now is queued
   * and returned without a number.
   */
  async record(event: EventRecord): Promise<EventRecord> {
    if (this.strictMode) return this.#events.append(this.#events.number(event));
    const numbered = this.#events.add(event);
    await this.#events.flush().catch(() => this.#writeRetry.later());
    return eventTable.wrap({ ...event, sequence: numbered.sequence });
  }

  /** Changes the run record. Without strict mode, a change that cannot be stored now is queued. */
  async change(change: RunEdit): Promise<RunRecord> {
    if (this.fenced !== undefined) return this.run;
    try {
      if (this.strictMode) await this.#run.change(this.store, change);
      else await this.#run.changeInOrder(this.store, change);
      this.recording.worked('run');
    } catch (error) {
      const isFenced = this.#fence.notice(error);
      if (isFenced && !this.strictMode) return this.run;
      if (this.strictMode || !isRecordingFailure(error)) throw error;
      this.recording.failed('run', error);
      this.#writeRetry.later();
    }
    return this.run;
  }

  /** Reads the run again. */
  async reload(): Promise<void> {
    await this.#run.reload(this.store);
  }

  async flush(): Promise<void> {
    await writeFor(this, () => this.#flush());
  }

  async #flush(): Promise<void> {
    const results = await this.#writers.ask((writer) => writer.drain());
    throwFirst([...results, ...(await Promise.allSettled([this.#writeWaiting()]))]);
    await this.#summaries.flushed();
  }

  /**
   * Ends the run. `merges` is false where there is no time for housekeeping; a run that is resumed is merged when it
   * ends again. Without strict mode an end that cannot be stored now is stored as soon as that is possible; with
   * `isCertain`, after any error.
   */
  async end(status: TerminalRunStatus, merges: boolean, isCertain = false): Promise<RunRecord> {
    this.checkOpen();
    if (this.#ending !== undefined) throw runEnded(this.runId, 'ending');
    this.#ending = this.fenced === undefined ? this.#end(status) : Promise.reject(this.fenced);
    try {
      await this.#ending;
    } catch (error) {
      if (this.#fence.notice(error)) return await this.#endFenced();
      const mayPostpone = isCertain
        ? !isQuarkError(error, 'invalid_run_state')
        : isRecordingFailure(error);
      if (this.strictMode || !mayPostpone) throw error;
      this.#postpone(status, merges, error);
      return this.run;
    } finally {
      this.#ending = undefined;
    }
    await writeFor(this, () => this.#afterEnd(merges));
    return this.run;
  }

  /** Another session has the run, and will end it: this one stores what it has, and leaves. */
  async #endFenced(): Promise<RunRecord> {
    await this.#leave().catch((error: unknown) => {
      if (this.strictMode || !isRecordingFailure(error)) throw error;
      this.#postpone(undefined, false, error);
    });
    this.#status = 'interrupted';
    if (this.strictMode) throw this.fenced;
    return this.run;
  }

  #fenced(error: SessionStoreError, current: number): void {
    this.#claim.stop();
    void tolerate(() => this.#claim.release());
    this.recording.fenced(error);
    const [{ generation }] = this.#fence.live;
    this.#events.notify(sessionFenced(error, this.holder, generation), current);
    this.#writeRetry.soon();
    this.#abort.abort(new DOMException(error.message, 'AbortError'));
  }

  async #afterEnd(merges: boolean): Promise<void> {
    await this.#listeners.tellOver(this.#status);
    await this.#housekeeping.settle();
    await this.store.sync?.synced({
      runId: this.runId,
      timeoutMs: merges ? (persistenceOf(this.#options)?.timeoutMs ?? 0) : LAST_SYNC_MS,
      onlyWhileReachable: true,
    });
    if (merges) await this.#housekeeping.mergeAll();
    this.#housekeeping.check();
  }

  async #end(status: TerminalRunStatus): Promise<RunRecord> {
    await this.#closeWriters();
    // Before the event: where another session has ended the run, there is nothing to record.
    const { run: found, stored } = await loadRun(this.store, this.runId);
    this.#fence.check(stored);
    checkRunning(found, 'ended again');
    const lastWord = this.#events.lastWordOf(status);
    await this.#events.append(lastWord);
    const run = await this.#run.change(this.store, (current) => {
      checkRunning(current, 'ended again');
      this.#summaries.stop();
      return { ...this.#events.endOf(status), ...this.#summaries.changeOf(current) };
    });
    this.#status = status;
    this.#stop();
    await tolerate(() => this.#claim.release());
    return run;
  }

  /** The caller gets its answer now; storing the end continues in the background. */
  #postpone(status: TerminalRunStatus | undefined, merges: boolean, error: unknown): void {
    if (status !== undefined) {
      this.#events.lastWordOf(status);
      this.#status = status;
    }
    this.#postponed = { status, merges, resumeCount: this.#run.stored.resumeCount };
    this.recording.failed('end', error);
    this.#endRetry.later();
  }

  /** Stores the rest of a session that was ended or closed. Rejects while that has to be retried. */
  async #endLate(): Promise<void> {
    const postponed = this.#postponed;
    if (postponed === undefined) return;
    const { merges, resumeCount, status } = postponed;
    try {
      const { run } = await loadRun(this.store, this.runId);
      // Another session has resumed the run, and will end it.
      if (status === undefined || run.resumeCount !== resumeCount) await this.#leave();
      else
        await this.#end(status).catch((error: unknown) => {
          if (!this.#fence.notice(error)) throw error;
          return this.#leave();
        });
    } catch (error) {
      this.recording.failed('end', error);
      // Somebody has ended it: an earlier attempt, whose answer was lost, or another session. Or the store that was handed in is
      // closed: nothing can be tried any more.
      if (!isQuarkError(error, 'invalid_run_state') && !isStoreError(error, 'closed')) throw error;
      this.#stop();
    }
    this.#postponed = undefined;
    this.recording.worked('end');
    if (status !== undefined) await writeFor(this, () => this.#afterEnd(merges));
    if (this.#isClosed) await this.#release();
  }

  async #leave(): Promise<void> {
    await this.#closeWriters();
    await this.#summaries.publish();
    this.#stop();
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    if (this.#status === 'running') {
      this.#isClosing = true;
      try {
        await this.#closeWriters();
        await this.#summaries.publish();
      } catch (error) {
        if (this.strictMode || !isRecordingFailure(error)) throw error;
        this.#postpone(undefined, false, error);
      } finally {
        this.#isClosing = false;
      }
    }
    this.#isClosed = true;
    // The rest is done once everything is stored.
    if (this.#postponed !== undefined) return;
    this.#stop();
    await writeFor(this, () => this.#release());
  }

  async #release(): Promise<void> {
    await this.#listeners.tellOver(this.#status);
    await this.store.spill?.end(this.runId);
    await this.#housekeeping.settle();
    if (this.#run.stored.status === 'running') await tolerate(() => this.#claim.release());
    if (this.#isStoreOwned) await this.store.close();
  }

  /** Once the store is open. */
  async #begin(store: Store): Promise<void> {
    const undo = store.sync?.onRefused(this.runId, (segment) => noticeRefused(this, segment));
    if (undo !== undefined) this.#undo.push(undo);
    await store.spill?.begin(this.runId, this.holder);
    const drop = this.#platform.tab?.hold(store.uri, this.holder, this.#fence.live[0]);
    if (drop !== undefined) this.#undo.push(drop);
    await noticeLosses(store, this.clock).catch(() => undefined);
  }

  /** The stored run was removed during the session and created again. */
  #cleared(rows: ReadonlyMap<string, number>): void {
    const { lostRows, message, notice } = storageCleared(this.runId, this.store.uri, rows);
    this.notify(notice);
    this.recording.cleared(lostRows, new RunNotFoundError(this.runId, this.store.uri), message);
  }

  /** A failing writer works again: other pending writes need not wait for their next retry. */
  #storageWorks(): void {
    if (this.#postponed === undefined) this.#flush().catch(() => undefined);
    else void this.#endRetry.now();
  }

  async #closeWriters(): Promise<void> {
    throwFirst(await this.#writers.ask((writer) => writer.close()));
    await this.#writeWaiting();
  }

  /** Writes events and changes of the run that wait. */
  async #writeWaiting(): Promise<void> {
    await this.#events.flush();
    await this.#writeChanges();
  }

  async #writeChanges(): Promise<void> {
    await this.#run.flush(this.store);
    this.recording.worked('run');
  }

  #stop(): void {
    for (const undo of this.#undo.splice(0)) undo();
  }

  #interrupt(reason: string): Promise<void> {
    this.#interruption ??= this.isOpen
      ? endInterrupted(this, { abort: this.#abort, ending: this.#ending }, reason)
      : Promise.resolve();
    return this.#interruption;
  }
}
