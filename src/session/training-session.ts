import { checkLiteral, checkOptionNames } from '../base/assert.ts';
import { ASYNC_DISPOSE } from '../base/dispose.ts';
import { invalidInput, messageOf } from '../base/errors.ts';
import { createId } from '../base/ids.ts';
import { checkLabel } from '../base/names.ts';
import type { EventRecord } from '../records/event.ts';
import {
  TERMINAL_RUN_STATUSES,
  type RunStatus,
  type TerminalRunStatus,
} from '../records/literals.ts';
import type { RunRecord } from '../records/run.ts';
import type { Dict } from '../schema/record.ts';
import type { Store, StoredProject } from '../store/store.ts';
import { SYNC_OFF, type SyncStatus } from '../store/sync-control.ts';
import { createEvent, logEvent, type AddLogOptions } from './event-logger.ts';
import { loadPlatform, type Platform } from './platform.ts';
import { RunContext } from './run-context.ts';
import { setHandle } from './run-handle.ts';
import { changeRun, createRun, loadProject, loadRun, type LoadedRun } from './run-lifecycle.ts';
import {
  checkResumeOptions,
  checkStartOptions,
  clockOf,
  resolveStore,
  type ResumeRunOptions,
  type SessionOptions,
  type StartRunOptions,
} from './run-options.ts';
import { checkResumable, checkRunning } from './run-state.ts';
import { SessionCore } from './session-core.ts';

/**
 * The live handle of a run: everything that is recorded goes through a session.
 *
 * Prefer {@link TrainingSession.run}, which ends the run with the right status whatever happens. `await using` works
 * too, but disposal cannot see whether the block threw: a run that is still open is then ended as `completed`.
 */
export class TrainingSession implements AsyncDisposable {
  readonly #core: SessionCore;
  #context: RunContext;

  private constructor(core: SessionCore, project: StoredProject, run: RunRecord) {
    this.#core = core;
    this.#context = new RunContext(core, project, run);
    setHandle(this, core);
  }

  /**
   * Starts a run.
   *
   * @throws {QuarkError} `invalid_input` naming the option
   * @throws {RunNotFoundError} when the parent run is not in the store
   * @throws {SessionStoreError} when the store cannot be opened or written
   */
  static async startRun(options: StartRunOptions): Promise<TrainingSession> {
    const checked = checkStartOptions(options);
    return openSession(options, async (store, platform) => {
      const [gitCommit, environment] = await Promise.all([
        platform.gitCommit(),
        platform.environment(),
      ]);
      const created = await createRun(store, clockOf(options).now(), checked, {
        gitCommit,
        environment,
      });
      return {
        ...created,
        event: 'run_started',
        payload: { project: checked.project, parent_run_id: checked.parentRunId },
      };
    });
  }

  /**
   * Continues a run that was interrupted or failed, or whose session died without a word.
   *
   * @throws {RunNotFoundError}
   * @throws {InvalidRunStateError} when the run is completed, or held by a live session
   */
  static async resumeRun(options: ResumeRunOptions): Promise<TrainingSession> {
    const runId = checkResumeOptions(options);
    return openSession(options, async (store, platform, holder) => {
      await loadRun(store, runId);
      // The lease comes first: of two sessions that resume at once, each sees the other's claim.
      await store.renewLease(runId, holder, options.leaseTtlMs ?? platform.leaseTtlMs);
      let previous: RunStatus = 'running';
      const run = await changeRun(store, runId, clockOf(options).now(), async (current) => {
        const leases = await store.listLeases([runId]);
        checkResumable(
          current,
          leases.some((lease) => lease.holder !== holder),
        );
        previous = current.status;
        return { status: 'running', endedAt: null, resumeCount: current.resumeCount + 1 };
      });
      return {
        run,
        event: 'run_resumed',
        payload: { previous_status: previous, resume_count: run.resumeCount },
      };
    });
  }

  /**
   * Joins a running run from another process or tab: both write to it, and nothing of either is lost. The run keeps its
   * state; whoever calls `endRun` ends it, `close` only leaves it.
   *
   * @throws {RunNotFoundError}
   * @throws {InvalidRunStateError} when the run has ended
   */
  static async attachRun(options: ResumeRunOptions): Promise<TrainingSession> {
    const runId = checkResumeOptions(options);
    return openSession(options, async (store) => {
      const { run } = await loadRun(store, runId);
      checkRunning(run, 'joined');
      return { run };
    });
  }

  /**
   * Runs `work` in a session. The run ends as `completed` when it returns; as `failed`, after a `runtime_error` log, when
   * it throws; as `interrupted` on SIGINT, SIGTERM, an `AbortError`, when the page goes away, or when a watch stopped it. What
   * `work` threw is thrown on.
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
        await session.#endAfter(error);
        throw error;
      }
      await session.#core.interruption;
      if (session.#core.isOpen)
        await session.endRun(session.signal.aborted ? 'interrupted' : 'completed');
    } catch (error) {
      // Whatever closing has to say, this error came first and says why.
      await session.close().catch(() => undefined);
      throw error;
    }
    await session.close();
    return result;
  }

  /** The run as this session last saw it. */
  get context(): RunContext {
    return this.#context;
  }

  get runId(): string {
    return this.#core.runId;
  }

  /** Directory of the run, or the URI that stands for it. */
  get runPath(): string {
    return this.#context.runPath;
  }

  get projectName(): string {
    return this.#context.projectName;
  }

  get storageDir(): string {
    return this.#context.storageDir;
  }

  /** The status as this session knows it; `reload()` asks the store. */
  get status(): RunStatus {
    return this.#core.status === 'running' ? this.#context.status : this.#core.status;
  }

  get strictMode(): boolean {
    return this.#core.strictMode;
  }

  /** The store the run is in. */
  get store(): Store {
    return this.#core.store;
  }

  /** Aborted when the run is interrupted or a watch says stop: stop training then. */
  get signal(): AbortSignal {
    return this.#core.signal;
  }

  /** Reads the run again. @throws {RunNotFoundError} */
  async reload(): Promise<RunContext> {
    const { run } = await loadRun(this.store, this.runId);
    return this.#update(run);
  }

  /** Adds a label to the run. A label it has already changes nothing. @throws {QuarkError} `invalid_input` */
  async addTag(tag: string): Promise<RunContext> {
    checkLabel('tag', tag);
    this.#core.checkOpen();
    const run = await changeRun(this.store, this.runId, this.#core.clock.now(), ({ tags }) =>
      tags.includes(tag) ? undefined : { tags: [...tags, tag] },
    );
    return this.#update(run);
  }

  /**
   * Records a message at once: it is durable when the promise resolves.
   *
   * @throws {QuarkError} `invalid_input`, `invalid_run_state`
   * @throws {SessionStoreError} when the store failed; the message is then not recorded
   */
  async addLog(message: string, options: AddLogOptions = {}): Promise<EventRecord> {
    const [eventType, eventOptions] = logEvent(message, options);
    const event = createEvent(this.#core, eventType, eventOptions);
    this.#core.checkOpen();
    return this.#core.record(event);
  }

  /** Makes durable what all writers of the session have buffered. @throws {SessionStoreError} */
  flush(): Promise<void> {
    return this.#core.flush();
  }

  /**
   * How far the records of this run are on their way to the service that is configured; `state: 'off'` where none is.
   *
   * @throws {SessionStoreError} when the local store cannot be read
   */
  async syncStatus(): Promise<SyncStatus> {
    return (await this.store.sync?.status(this.runId)) ?? SYNC_OFF;
  }

  /**
   * Waits until the service has acknowledged what is recorded now, and returns how far it is then. It flushes first, and
   * never throws because of the service: after the time is up, or when the run cannot be sent, look at the status.
   *
   * @throws {SessionStoreError} when the local store cannot be written
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
   * Ends the run: closes all its writers, records `run_ended`, sets the status, merges small segments. With a service
   * configured, waits for it as long as one request may take, and not at all while it is away; what is left is sent by
   * whoever opens this place next, or by `quark sync`.
   *
   * @throws {InvalidRunStateError} when the run has ended already
   * @throws {SessionStoreError} when something could not be written; the run is then still open and nothing is lost
   */
  async endRun(status: TerminalRunStatus = 'completed'): Promise<RunContext> {
    checkLiteral('status', status, TERMINAL_RUN_STATUSES);
    return this.#update(await this.#core.end(status, true));
  }

  /** The whole context with the names of the specification. */
  toDict(): Dict {
    return this.#context.toDict();
  }

  /** Flushes, lets go of the run without ending it, and closes the store if the session opened it. */
  close(): Promise<void> {
    return this.#core.close();
  }

  async [ASYNC_DISPOSE](): Promise<void> {
    try {
      if (this.#core.isOpen && !this.#core.isGuest) await this.endRun('completed');
    } finally {
      await this.close();
    }
  }

  /** @internal */
  static open(core: SessionCore, project: StoredProject, run: RunRecord): TrainingSession {
    return new TrainingSession(core, project, run);
  }

  #update(run: RunRecord): RunContext {
    const { project } = this.#context;
    this.#context = new RunContext(
      this.#core,
      { id: project.id, name: project.name, createdAtMs: Date.parse(project.createdAt) },
      run,
    );
    return this.#context;
  }

  async #endAfter(error: unknown): Promise<void> {
    await this.#core.interruption;
    if (!this.#core.isOpen) return;
    const isAbort =
      error instanceof Error &&
      (error.name === 'AbortError' || Reflect.get(error, 'code') === 'aborted');
    try {
      if (isAbort) {
        await this.addLog(`Interrupted: ${shorten(messageOf(error))}`, {
          identifier: 'Warning',
          eventType: 'runtime_interruption',
        });
      } else {
        const payload = {
          error_type: error instanceof Error ? shorten(error.name) : typeof error,
          stack: error instanceof Error ? shorten(error.stack ?? '') || null : null,
        };
        await this.addLog(shorten(messageOf(error)) || 'An error without a message was thrown.', {
          identifier: 'Error',
          eventType: 'runtime_error',
          payload,
        });
      }
      await this.endRun(isAbort ? 'interrupted' : 'failed');
    } catch (storeError) {
      throw new AggregateError(
        [error, storeError],
        `The run failed (${shorten(messageOf(error))}), and so did recording that (${messageOf(storeError)}).`,
        { cause: storeError },
      );
    }
  }
}

/** Messages of errors may hold whole tensors; their beginning says what happened. */
const MAX_ERROR_CHARS = 16_384;

function shorten(text: string): string {
  return text.length > MAX_ERROR_CHARS ? `${text.slice(0, MAX_ERROR_CHARS)}...` : text;
}

/** What opening a session came to: the run, and the event that says so. */
type Opening = Pick<LoadedRun, 'run'> & {
  readonly event?: string;
  readonly payload?: Readonly<Record<string, string | number | null>>;
};

async function openSession(
  options: SessionOptions,
  open: (store: Store, platform: Platform, holder: string) => Promise<Opening>,
): Promise<TrainingSession> {
  const platform = await loadPlatform();
  const clock = clockOf(options);
  const { store, isOwned } = await resolveStore(options);
  const holder = createId('ses', clock.now());
  let runId = 'runId' in options ? String(options.runId) : undefined;
  let core: SessionCore | undefined;
  try {
    const { event, payload = {}, run } = await open(store, platform, holder);
    runId = run.id;
    core = new SessionCore(
      store,
      isOwned,
      platform,
      clock,
      holder,
      run,
      options,
      event === undefined,
    );
    await core.start();
    const session = TrainingSession.open(core, await loadProject(store, run), run);
    if (event !== undefined)
      await core.record(createEvent(core, event, { status: run.status, payload }));
    return session;
  } catch (error) {
    // What matters is the first error: a claim that cannot be given back lapses.
    await core?.close().catch(() => undefined);
    if (runId !== undefined) await store.releaseLease(runId, holder).catch(() => undefined);
    if (isOwned) await store.close();
    throw error;
  }
}
