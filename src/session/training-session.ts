import { checkCount, checkLiteral, checkOptionNames } from '../base/assert.ts';
import { ASYNC_DISPOSE } from '../base/dispose.ts';
import { invalidInput, messageOf } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import { loadPart } from '../base/runtime.ts';
import { preloadStorage } from '../location/open-storage.ts';
import { alertTable, type AlertRecord } from '../records/alert.ts';
import type { EventRecord } from '../records/event.ts';
import {
  TERMINAL_RUN_STATUSES,
  type RunStatus,
  type TerminalRunStatus,
} from '../records/literals.ts';
import { TRAINING_TOTAL, totalPayload, type TrainingTotal } from '../records/training-total.ts';
import { userAlertOf } from '../records/user-alert.ts';
import type { Dict } from '../schema/record.ts';
import type { Store } from '../store/store.ts';
import { SYNC_OFF, type SyncStatus } from '../store/sync-control.ts';
import {
  alertEvent,
  createEvent,
  logEvent,
  type AddLogOptions,
  type UserAlertOptions,
} from './event-logger.ts';
import { endEvent, shorten } from './end-event.ts';
import { beginProfile } from './platforms/begin-profile.ts';
import { RecordWriter } from './record-writer.ts';
import type { RecordingStatus } from './storing/recording-health.ts';
import { RunContext } from './run-context.ts';
import { setHandle } from './run-handle.ts';
import {
  describedBy,
  withConfig,
  withJson,
  withoutTag,
  withTag,
  type RunDescription,
  type TagValue,
} from './run-edits.ts';
import type { ResumeRunOptions, SessionOptions, StartRunOptions } from './run-options.ts';
import type { SessionCore } from './session-core.ts';
import type { RunEdit } from './session-run.ts';
import { noMetricsOfSession } from './wrong-calls.ts';

/**
 * The live handle of a run: everything that is recorded goes through a session.
 *
 * Prefer {@link TrainingSession.run}, which ends the run with the right status in every case. `await using` works
 * too, with `endRun` as the last statement of the block: disposal cannot see whether the block threw, so an open run
 * then ends as `interrupted`, and may be resumed.
 *
 * @example
 * ```js
 * import { MetricsLogger, TrainingSession } from 'quark-sdk';
 *
 * const options = { project: 'digits', storageDir: 'quark-runs', config: { lr: 0.1 } };
 * const status = await TrainingSession.run(options, async (session) => {
 *   const metrics = new MetricsLogger(session);
 *   for (let step = 0; step < 100 && !session.signal.aborted; step++) {
 *     session.setStep(step);
 *     metrics.log('train/loss', 1 / (step + 1));
 *   }
 *   await session.summary({ bestAccuracy: 0.93 });
 *   await session.flush();
 *   return session.recordingStatus().state;
 * });
 * console.log(status); // recording
 * ```
 */
export class TrainingSession implements AsyncDisposable {
  readonly #core: SessionCore;
  #context: RunContext;
  #alerts: RecordWriter<typeof alertTable.columns> | undefined;

  private constructor(core: SessionCore) {
    this.#core = core;
    this.#context = new RunContext(core, core.project, core.run);
    setHandle(this, core);
  }

  /**
   * Starts a run.
   *
   * Without strict mode it resolves even when the storage cannot be opened or written (quota or disk full, folder read-only,
   * service away, no IndexedDB). Rows are then buffered in memory, and the run is stored as soon as the storage works.
   * {@link TrainingSession.recordingStatus} and the option `onRecordingProblem` report the failure.
   *
   * @throws {QuarkError} `invalid_input` naming the option
   * @throws {RunNotFoundError} when the parent run is not in the store
   * @throws {SessionStoreError} when an option is wrong: an unknown scheme, an unknown key, a read-only store; in strict mode
   *   also when the store cannot be opened or written
   */
  static async startRun(options: StartRunOptions): Promise<TrainingSession> {
    const { openNewRun } = await loadSession(options);
    return TrainingSession.#begin(await openNewRun(options), options);
  }

  /**
   * Continues a run that was interrupted or failed, or whose session ended unexpectedly. The session that had the run is fenced: what
   * it writes after that is stored apart, and its `signal` is aborted. Of several calls at once, exactly one succeeds. The stored run must be readable: while
   * the storage cannot be read or written, the call rejects in both modes.
   *
   * @throws {RunNotFoundError}
   * @throws {InvalidRunStateError} when the run is completed, a live session has its lease, another session was first, or this tab is a copy
   *   of the one that has the run; `details.reason` says which: see {@link ResumeRefusal}
   * @throws {SessionStoreError} when the store cannot be opened, read or written
   */
  static async resumeRun(options: ResumeRunOptions): Promise<TrainingSession> {
    const { openResumedRun } = await loadSession(options);
    return TrainingSession.#begin(await openResumedRun(options), options);
  }

  /**
   * Joins a running run from another process or tab: both write to it, and nothing of either is lost. The run keeps its state:
   * `endRun` ends it for all sessions, `close` leaves it running. While the storage cannot be read, the call rejects in both
   * modes.
   *
   * @throws {RunNotFoundError}
   * @throws {InvalidRunStateError} when the run has ended
   * @throws {SessionStoreError} when the store cannot be opened, read or written
   */
  static async attachRun(options: ResumeRunOptions): Promise<TrainingSession> {
    const { openJoinedRun } = await loadSession(options);
    return TrainingSession.#begin(await openJoinedRun(options), options);
  }

  /**
   * Runs `work` in a session. The run ends as `completed` when it returns; as `failed`, after a `runtime_error` log, when it
   * throws; as `interrupted` on SIGINT, SIGTERM, SIGHUP, an `AbortError`, when the page goes away, or when a watch stopped it.
   *
   * The result of `work` is returned, and its error is thrown, whether or not recording failed. Without strict mode, storage that
   * fails when the run ends is retried after this has resolved, as long as the page or process exists. A storage call that is
   * not answered within 60 seconds counts as failed; until one is answered, the limit of the next calls is 5 seconds.
   * `recordingStatus()`, `onRecordingProblem` and the console say what is not stored.
   *
   * @throws {QuarkError} as {@link TrainingSession.startRun}, before `work` is called; in strict mode also what ending the run
   *   throws
   */
  static async run<T>(
    options: StartRunOptions,
    work: (session: TrainingSession) => Promise<T> | T,
  ): Promise<T> {
    if (typeof work !== 'function') throw invalidInput('work', work, 'a function');
    const session = await TrainingSession.startRun(options);
    let result: T;
    try {
      try {
        result = await work(session);
      } catch (error) {
        await session.#finish(() => session.#endAfter(error));
        throw error;
      }
      await session.#finish(() => session.#endDone());
    } catch (error) {
      // Whatever closing has to say, this error came first and says why.
      await session.close().catch(() => undefined);
      throw error;
    }
    await session.#finish(() => session.close());
    return result;
  }

  static async #begin(core: SessionCore, { profile }: SessionOptions): Promise<TrainingSession> {
    const session = new TrainingSession(core);
    try {
      await beginProfile(session, profile);
    } catch (error) {
      await core.close().catch(() => undefined);
      throw error;
    }
    return session;
  }

  /** The run as this session last saw it. */
  get context(): RunContext {
    // The location is known only after the storage was opened.
    if (this.#context.run.runPath !== this.#core.run.runPath) this.#update();
    return this.#context;
  }

  get runId(): string {
    return this.#core.runId;
  }

  /** Directory of the run, or the URI that stands for it. */
  get runPath(): string {
    return this.context.runPath;
  }

  get projectName(): string {
    return this.#context.projectName;
  }

  get storageDir(): string {
    return this.context.storageDir;
  }

  /** The status as this session knows it; `reload()` asks the store. */
  get status(): RunStatus {
    return this.#core.status === 'running' ? this.#context.status : this.#core.status;
  }

  get strictMode(): boolean {
    return this.#core.strictMode;
  }

  /** The store of the run. If it could not be opened at the start, calls on it try to open it. */
  get store(): Store {
    return this.#core.openedStore ?? this.#core.store;
  }

  /** Aborted when the run is interrupted or a watch says stop: stop training then. */
  get signal(): AbortSignal {
    return this.#core.signal;
  }

  /**
   * Reads the run again. It has nothing to give while the storage cannot be read: then it rejects, in both modes, as every
   * call does that reads what is stored (`read` of the loggers, `syncStatus`). Training that must not end by that catches it.
   *
   * @throws {RunNotFoundError}
   * @throws {SessionStoreError} when the store cannot be read
   */
  async reload(): Promise<RunContext> {
    await this.#core.reload();
    return this.#update();
  }

  /**
   * Says where the training is: samples that are logged without a step and an epoch get this step from now on.
   *
   * @param step a non-negative integer
   * @throws {QuarkError} `invalid_input`, `invalid_run_state`
   * @example
   * ```js
   * import { MetricsLogger, startRun } from 'quark-sdk';
   *
   * const session = await startRun({ project: 'digits', storageDir: 'quark-runs' });
   * const metrics = new MetricsLogger(session);
   * for (let step = 0; step < 3; step++) {
   *   session.setStep(step);
   *   metrics.log('train/loss', 1 / (step + 1));
   * }
   * console.log((await metrics.read()).map(({ step }) => step)); // [ 0, 1, 2 ]
   * await session.endRun();
   * ```
   */
  setStep(step: number): void {
    checkCount('step', step);
    this.#core.checkOpen();
    this.#core.step = step;
  }

  /**
   * Adds a label to the run, also with a value: `addTag('workers', 8)` is the label `workers=8`, which replaces another value of that
   * name. A label that the run already has changes nothing. Without strict mode, a label that cannot be stored now is stored later.
   *
   * @param value text of one line, a finite number, true or false. Default: none
   * @throws {QuarkError} `invalid_input`, `invalid_run_state`
   * @throws {SessionStoreError} in strict mode, when the store failed
   */
  addTag(tag: string, value?: TagValue): Promise<RunContext> {
    return this.#edit(() => withTag(tag, value));
  }

  /**
   * Removes a label of the run: all of its text (`workers=8`), or its name (`workers`) with any value. Removing one that is not there
   * changes nothing.
   *
   * @throws {QuarkError} `invalid_input`, `invalid_run_state`
   * @throws {SessionStoreError} in strict mode, when the store failed
   */
  removeTag(tag: string): Promise<RunContext> {
    return this.#edit(() => withoutTag(tag));
  }

  /**
   * Changes the name, the description, the notes, the groups and the job type of the run. What is left out stays as it is.
   *
   * @throws {QuarkError} `invalid_input`, `invalid_run_state`
   * @throws {SessionStoreError} in strict mode, when the store failed
   * @example
   * ```js
   * import { startRun } from 'quark-sdk';
   *
   * const session = await startRun({ project: 'digits', storageDir: 'quark-runs' });
   * const { run } = await session.describe({ name: 'baseline', groups: ['ablation'], notes: 'Batch norm removed.' });
   * console.log(run.name, run.groups); // baseline [ 'ablation' ]
   * await session.endRun();
   * ```
   */
  describe(description: RunDescription): Promise<RunContext> {
    return this.#edit(() => describedBy(description));
  }

  /**
   * Puts values over the configuration of the run. Objects are merged name by name at every depth, everything else replaces what was
   * there; two programs that change different values lose nothing. Where the configuration changes, its hash changes, and the store
   * counts its revision anew.
   *
   * @throws {QuarkError} `invalid_input`, `invalid_run_state`
   * @throws {SessionStoreError} in strict mode, when the store failed
   * @example
   * ```js
   * import { startRun } from 'quark-sdk';
   *
   * const session = await startRun({ project: 'digits', storageDir: 'quark-runs', config: { optimizer: { kind: 'sgd' } } });
   * const { run } = await session.updateConfig({ optimizer: { lr: 0.01 }, parameterCount: 1234 });
   * console.log(run.config); // { optimizer: { kind: 'sgd', lr: 0.01 }, parameterCount: 1234 }
   * await session.endRun();
   * ```
   */
  updateConfig(patch: JsonObject): Promise<RunContext> {
    return this.#edit(() => withConfig(patch));
  }

  /**
   * Puts values over the metadata of the run: what is known of it beside its configuration, such as the host of a data set. Merged like
   * the configuration.
   *
   * @throws {QuarkError} `invalid_input`, `invalid_run_state`
   * @throws {SessionStoreError} in strict mode, when the store failed
   */
  setMetadata(patch: JsonObject): Promise<RunContext> {
    return this.#edit(() => withJson('metadata', patch));
  }

  /**
   * Puts values over the summary of the run: its results, such as `{ bestAccuracy: 0.93 }`. Merged like the configuration. The last,
   * smallest, largest and best value of every metric are in `run.metricSummaries` without this.
   *
   * @throws {QuarkError} `invalid_input`, `invalid_run_state`
   * @throws {SessionStoreError} in strict mode, when the store failed
   */
  summary(patch: JsonObject): Promise<RunContext> {
    return this.#edit(() => withJson('summary', patch));
  }

  /**
   * Records a message immediately: it is durable when the promise resolves. Without strict mode, a message that cannot be stored
   * now is returned with `sequence: null` and stored later.
   *
   * @throws {QuarkError} `invalid_input`, `invalid_run_state`
   * @throws {SessionStoreError} in strict mode, when the store failed; the message is then not recorded
   */
  async addLog(message: string, options: AddLogOptions = {}): Promise<EventRecord> {
    const [eventType, eventOptions] = logEvent(message, options);
    const event = createEvent(this.#core, eventType, eventOptions);
    this.#core.checkOpen();
    return this.#core.record(event);
  }

  /**
   * Raises an alert: it is stored beside those of the analyzer with the rule id `user_alert`, shown by watches and pages, and part of
   * the report and of the health of the run. Analyses leave it as it is. Resolves when it is durable; without strict mode, an
   * alert that cannot be stored now is stored later.
   *
   * @throws {QuarkError} `invalid_input` naming the option, `invalid_run_state`
   * @throws {SessionStoreError} in strict mode, when the store failed
   * @example
   * ```js
   * import { startRun } from 'quark-sdk';
   *
   * const session = await startRun({ project: 'digits', storageDir: 'quark-runs' });
   * const alert = await session.alert({ title: 'Half of the images are black', text: 'The loader returns zeros.', step: 12 });
   * console.log(alert.ruleId, alert.severity); // user_alert warning
   * await session.endRun();
   * ```
   */
  async alert(options: UserAlertOptions): Promise<AlertRecord> {
    const event = alertEvent(this.#core, options);
    this.#core.checkOpen();
    const alert = userAlertOf(event);
    this.#alerts ??= new RecordWriter(this.#core, alertTable, {}, { isAttached: true });
    await this.#core.record(event);
    this.#alerts.add(alert);
    const [stored = alert] = await this.#alerts.flush();
    return stored;
  }

  /**
   * Says how long the training is meant to be, so that `quark show`, `quark watch` and the page can tell what is left of it
   * (`readProgress` of `quark-sdk/profiler`). The last total counts; `quarkCallback` gives it by itself.
   *
   * @example
   * ```js
   * import { startRun } from 'quark-sdk';
   *
   * const session = await startRun({ project: 'digits', storageDir: 'quark-runs' });
   * await session.setTotal({ epochs: 10, stepsPerEpoch: 938 });
   * await session.endRun();
   * ```
   *
   * @throws {QuarkError} `invalid_input` naming the option, `invalid_run_state`
   * @throws {SessionStoreError} in strict mode, when the store failed
   */
  async setTotal(total: TrainingTotal): Promise<void> {
    const payload = totalPayload(total);
    this.#core.checkOpen();
    await this.#core.record(
      createEvent(this.#core, TRAINING_TOTAL, { severity: 'debug', payload }),
    );
  }

  /**
   * The current state of recording: whether it has stopped, since when and why, and how many rows are buffered, dropped or lost.
   * Reads no storage and never throws.
   *
   * @example
   * ```js
   * import { startRun } from 'quark-sdk';
   *
   * const session = await startRun({ project: 'digits', storageDir: 'quark-runs' });
   * await session.flush();
   * console.log(session.recordingStatus().state); // recording: stopped, where the storage fails
   * await session.endRun();
   * ```
   */
  recordingStatus(): RecordingStatus {
    return this.#core.recording.status;
  }

  /**
   * Makes the buffered rows of all writers durable. Without strict mode it also resolves when the store fails:
   * {@link TrainingSession.recordingStatus} then has the failure, and the rows stay buffered for the next attempt.
   *
   * @throws {SessionStoreError} in strict mode
   */
  flush(): Promise<void> {
    return this.#core.flush();
  }

  /**
   * How far the records of this run are on their way to the service that is configured; `state: 'off'` where none is.
   *
   * @throws {SessionStoreError} when the local store cannot be read, in both modes
   */
  async syncStatus(): Promise<SyncStatus> {
    return (await this.store.sync?.status(this.runId)) ?? SYNC_OFF;
  }

  /**
   * Waits until the service has acknowledged what is recorded now, and returns how far it is then. It flushes first, and
   * never throws because of the service: after the time is up, or when the run cannot be sent, the status says why.
   *
   * @throws {SessionStoreError} when the local store cannot be read, in both modes; in strict mode also when it cannot be written
   * @throws {QuarkError} `aborted`; `invalid_input`
   */
  async synced(
    options: { readonly timeoutMs?: number; readonly signal?: AbortSignal } = {},
  ): Promise<SyncStatus> {
    checkOptionNames('options', options, ['timeoutMs', 'signal']);
    if (this.#core.isOpen) await this.flush();
    return (await this.store.sync?.synced({ ...options, runId: this.runId })) ?? SYNC_OFF;
  }

  /**
   * Ends the run, with `reason` where it failed or was interrupted: a text or an error, of which the first line is the `statusReason` of the
   * run, at most 300 characters, and all is an event. Without one, the last error or interruption that was logged says why.
   *
   * It closes all its writers, records `run_ended`, sets the status, merges small segments. With a service configured,
   * waits for one request at most, and not at all while the service cannot be reached. The next program that opens this storage,
   * or `quark sync`, sends the rest.
   *
   * Without strict mode it also resolves when the store fails. The run is then over for this session; buffered rows, the end and
   * its time are stored as soon as the storage works, while the page or process exists. {@link TrainingSession.recordingStatus}
   * says whether that is still pending.
   *
   * @throws {QuarkError} `invalid_input` for a reason of a run that completed
   * @throws {InvalidRunStateError} when the run has ended already
   * @throws {SessionStoreError} in strict mode, when a write failed; the run is then still open and nothing is lost
   * @example
   * ```js
   * import { startRun } from 'quark-sdk';
   *
   * const session = await startRun({ project: 'digits', storageDir: 'quark-runs' });
   * const { run } = await session.endRun('failed', new Error('The loss is NaN.'));
   * console.log(run.status, run.statusReason); // failed The loss is NaN.
   * ```
   */
  async endRun(
    status: TerminalRunStatus = 'completed',
    reason?: string | Error,
  ): Promise<RunContext> {
    checkLiteral('status', status, TERMINAL_RUN_STATUSES);
    if (reason !== undefined) await this.#say(checkEndReason(status, reason), status);
    await this.#core.end(status, true);
    return this.#update();
  }

  /** Says what records metrics. @internal */
  log(): never {
    throw noMetricsOfSession('log');
  }

  /** The same. @internal */
  logMany(): never {
    throw noMetricsOfSession('logMany');
  }

  /** The whole context with the names of abiotic-quark. */
  toDict(): Dict {
    return this.#context.toDict();
  }

  /**
   * Flushes, leaves the run without ending it, and closes the store if the session opened it. Without strict mode it also
   * resolves when the store fails: buffered rows are retried, and the store is closed after they are stored.
   *
   * @throws {SessionStoreError} in strict mode; the call may then be repeated
   */
  close(): Promise<void> {
    return this.#core.close();
  }

  async [ASYNC_DISPOSE](): Promise<void> {
    try {
      // The block may have thrown, which nothing says here: what nobody has called completed is not.
      if (this.#core.isOpen && !this.#core.isGuest) await this.endRun('interrupted', DISPOSED);
    } finally {
      await this.close();
    }
  }

  async #edit(edit: () => RunEdit): Promise<RunContext> {
    const change = edit();
    this.#core.checkOpen();
    await this.#core.change(change);
    return this.#update();
  }

  #update(): RunContext {
    const { project, run } = this.#core;
    this.#context = new RunContext(this.#core, project, run);
    return this.#context;
  }

  /** Ends the session of `run`. Its failure is thrown in strict mode only: the result of `work` has priority. */
  async #finish(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (this.strictMode) throw error;
      this.#core.recording.note(error);
    }
  }

  async #endDone(): Promise<void> {
    await this.#core.interruption;
    if (this.#core.isOpen)
      await this.#core.end(this.signal.aborted ? 'interrupted' : 'completed', true, true);
  }

  async #endAfter(error: unknown): Promise<void> {
    await this.#core.interruption;
    if (!this.#core.isOpen) return;
    const isAbort =
      error instanceof Error &&
      (error.name === 'AbortError' || Reflect.get(error, 'code') === 'aborted');
    try {
      await this.#say(error, isAbort ? 'interrupted' : 'failed');
      await this.#core.end(isAbort ? 'interrupted' : 'failed', true, true);
    } catch (storeError) {
      throw new AggregateError(
        [error, storeError],
        `The run failed (${shorten(messageOf(error))}), and so did recording that (${messageOf(storeError)}).`,
        { cause: storeError },
      );
    }
  }

  /** Records why the run ends. */
  async #say(error: unknown, status: TerminalRunStatus): Promise<void> {
    const event = endEvent(this.#core, error, status);
    this.#core.checkOpen();
    await this.#core.record(event);
  }
}

const DISPOSED =
  'the session was disposed before endRun(). TrainingSession.run() ends a run as completed or as failed by itself.';

/** What every session needs is one part, which a page that only reads does not load. */
function loadSession(options: SessionOptions | undefined) {
  preloadStorage(options?.storage ?? options?.storageDir);
  return loadPart('Recording', async () => import('./open-session.ts'));
}

/** @throws {QuarkError} `invalid_input` */
function checkEndReason(status: TerminalRunStatus, reason: unknown): unknown {
  if (status === 'completed')
    throw invalidInput('reason', reason, 'left out for a run that completed');
  if (reason instanceof Error || (typeof reason === 'string' && reason.trim() !== ''))
    return reason;
  throw invalidInput('reason', reason, 'a text that is not empty, or an Error');
}
