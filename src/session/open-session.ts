/** Opens the core of a session from its options, with the run stored or yet to be stored. */
import { isQuarkError, isStoreError, type StoreFailureReason } from '../base/errors.ts';
import { createId } from '../base/ids.ts';
import { loadPart } from '../base/runtime.ts';
import { runRecord, type RunRecord } from '../records/run.ts';
import type { Clock } from '../base/clock.ts';
import type { Store, StoredRun } from '../store/store.ts';
import { AnswerLimit, UnansweredError } from './storing/answer-limit.ts';
import { createEvent } from './event-logger.ts';
import { loadPlatform, type Platform } from './platforms/platform.ts';
import { lineageRootOf, loadProject, loadRun, newRun } from './run-lifecycle.ts';
import {
  checkResumeOptions,
  checkStartOptions,
  clockOf,
  locationOf,
  resolveStore,
  type ResumeRunOptions,
  type SessionOptions,
  type StartRunOptions,
} from './run-options.ts';
import { checkRunning } from './run-state.ts';
import { loadMerging } from './storing/housekeeping.ts';
import type { LateStore } from './storing/run-store.ts';
import { SessionCore } from './session-core.ts';

/** The result of opening a stored run: the run, and the event of resuming it; no event when the run is joined. */
type Opening = {
  readonly run: RunRecord;
  readonly stored: StoredRun;
  readonly event?: string;
  readonly payload?: Readonly<Record<string, string | number | null>>;
};

/** Store failures caused by the options. A retry would not help, and training has not begun. */
const MISTAKES: ReadonlySet<StoreFailureReason> = new Set([
  'unknown_scheme',
  'read_only',
  'unauthorised',
  'rejected',
  'missing',
  'closed',
]);

/** See `TrainingSession.startRun`. Without strict mode, failing storage is retried later. @throws {QuarkError} */
export async function openNewRun(options: StartRunOptions): Promise<SessionCore> {
  const checked = checkStartOptions(options);
  const platform = await loadPlatform();
  const clock = clockOf(options);
  const mayBeLate = !checked.strictMode;
  const { failure, isOwned, store } = await openNow(options, mayBeLate);
  let core: SessionCore | undefined;
  try {
    const [gitCommit, environment] = await Promise.all([
      platform.gitCommit(),
      platform.environment(),
    ]);
    const facts = { gitCommit, environment };
    let run = newRun(clock.now(), checked, facts, 'location' in store ? store : undefined);
    if (run.parentRunId !== null && 'findRun' in store)
      run = await withLineage(store, run, run.parentRunId, mayBeLate, clock);
    const holder = createId('ses', clock.now());
    const parts = { store, isStoreOwned: isOwned, platform, clock, holder, run, options };
    core = new SessionCore({ ...parts, isStored: false });
    if (failure === undefined) await tryToStore(core, mayBeLate);
    else core.recording.failed('run', failure);
    await core.start();
    await core.record(
      createEvent(core, 'run_started', {
        status: run.status,
        payload: { project: checked.project, parent_run_id: checked.parentRunId },
      }),
    );
    loadRest();
    return core;
  } catch (error) {
    await abandon(core, store, isOwned);
    throw error;
  }
}

/** See `TrainingSession.resumeRun`. @throws {QuarkError} */
export async function openResumedRun(options: ResumeRunOptions): Promise<SessionCore> {
  const runId = checkResumeOptions(options);
  const { takeOver } = await loadPart('Resuming a run', async () => import('./take-over.ts'));
  return openKnownRun(options, runId, async (store, platform, holder) => {
    const { previous, run, stored } = await takeOver({
      store,
      runId,
      holder,
      ttlMs: options.leaseTtlMs ?? platform.leaseTtlMs,
      clock: clockOf(options),
      own: platform.tab?.read(store.uri, runId),
    });
    return {
      run,
      stored,
      event: 'run_resumed',
      payload: { previous_status: previous, resume_count: run.resumeCount },
    };
  });
}

/** See `TrainingSession.attachRun`. @throws {QuarkError} */
export async function openJoinedRun(options: ResumeRunOptions): Promise<SessionCore> {
  const runId = checkResumeOptions(options);
  return openKnownRun(options, runId, async (store) => {
    const { run, stored } = await loadRun(store, runId);
    checkRunning(run, 'joined');
    return { run, stored };
  });
}

/** Opens a session for a run that is stored. */
async function openKnownRun(
  options: ResumeRunOptions,
  runId: string,
  open: (store: Store, platform: Platform, holder: string) => Promise<Opening>,
): Promise<SessionCore> {
  const platform = await loadPlatform();
  const clock = clockOf(options);
  const { store, isOwned } = await resolveStore(options);
  const holder = createId('ses', clock.now());
  let core: SessionCore | undefined;
  try {
    const { event, payload = {}, run, stored: known } = await open(store, platform, holder);
    const isGuest = event === undefined;
    const parts = { store, isStoreOwned: isOwned, platform, clock, holder, run, options };
    core = new SessionCore({ ...parts, known, isGuest });
    await core.start();
    core.project = await loadProject(store, run);
    if (event !== undefined)
      await core.record(createEvent(core, event, { status: run.status, payload }));
    loadRest();
    return core;
  } catch (error) {
    await abandon(core, store, isOwned, { runId, holder });
    throw error;
  }
}

/** What a session needs later is loaded while there is a network, and the files of this release are there. What fails is loaded when it is needed. */
function loadRest(): void {
  const rest = [loadMerging(), import('../read/metric-records.ts'), import('../read/events.ts')];
  for (const part of rest) part.catch(() => undefined);
}

type Opened = {
  readonly store: Store | LateStore;
  readonly isOwned: boolean;
  /** Why the store is not open yet. */
  readonly failure?: unknown;
};

async function openNow(options: SessionOptions, mayBeLate: boolean): Promise<Opened> {
  let opening: ReturnType<typeof resolveStore> | undefined = resolveStore(options);
  if (!mayBeLate) return opening;
  try {
    return await new AnswerLimit(clockOf(options)).within('open', opening);
  } catch (failure) {
    if (isMistake(failure)) throw failure;
    if (!(failure instanceof UnansweredError)) opening = undefined;
    const open = async (): Promise<Store> => {
      // One that was not answered may be yet.
      const first = opening;
      opening = undefined;
      return (await (first ?? resolveStore(options))).store;
    };
    return { store: { uri: locationOf(options), open }, isOwned: true, failure };
  }
}

async function withLineage(
  store: Store,
  run: RunRecord,
  parentRunId: string,
  mayBeLate: boolean,
  clock: Clock,
): Promise<RunRecord> {
  try {
    const reading = lineageRootOf(store, parentRunId);
    const lineageRootRunId = await (mayBeLate
      ? new AnswerLimit(clock).within('findRun', reading)
      : reading);
    return runRecord.create({ ...run, lineageRootRunId });
  } catch (error) {
    if (!mayBeLate || isMistake(error)) throw error;
    return run;
  }
}

async function tryToStore(core: SessionCore, mayBeLate: boolean): Promise<void> {
  try {
    await core.ready();
  } catch (error) {
    if (!mayBeLate || isMistake(error)) throw error;
    core.recording.failed('run', error);
  }
}

/** Whether the caller has to change the options. Otherwise the storage failed, and may work later. */
function isMistake(error: unknown): boolean {
  if (isStoreError(error)) return MISTAKES.has(error.reason);
  // A browser without IndexedDB.
  if (isQuarkError(error, 'unsupported')) return false;
  return isQuarkError(error);
}

/** The first error is the one to report; a lease that cannot be released expires. */
async function abandon(
  core: SessionCore | undefined,
  store: Store | LateStore,
  isOwned: boolean,
  claim = core === undefined ? undefined : { runId: core.runId, holder: core.holder },
): Promise<void> {
  await core?.close().catch(() => undefined);
  if (!('releaseLease' in store)) return;
  if (claim !== undefined)
    await store.releaseLease(claim.runId, claim.holder).catch(() => undefined);
  if (isOwned) await store.close();
}
