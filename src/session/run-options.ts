/** Options of sessions, checked once. */
import { checkFlag, checkOptionNames, checkPositive, isGiven } from '../base/assert.ts';
import { systemClock, type Clock } from '../base/clock.ts';
import { invalidInput } from '../base/errors.ts';
import { encodeJsonObject, type JsonObject } from '../base/json.ts';
import { checkStore } from '../store/whole-store.ts';
import { isNode, loadPart } from '../base/runtime.ts';
import { checkRoles, type AskedRoles } from '../records/run-roles.ts';
import { checkLabel } from '../base/names.ts';
import { defaultLocation, openStorage } from '../location/open-storage.ts';
import type { Store } from '../store/store.ts';
import { PERSISTENCE_NAMES, persistenceOf, type PersistenceOptions } from '../store/persistence.ts';
import { loadPlatform } from './platforms/platform.ts';
import { checkLabels, checkProse } from './run-texts.ts';
import type { TrainingSession } from './training-session.ts';
import type { RecordingCallback } from './storing/recording-health.ts';

/** Where runs are stored and sent to, and how the session behaves. */
export type SessionOptions = PersistenceOptions & {
  /**
   * A directory (Node) or a name (browser: `idb:<name>`), or any storage URI. Default: the current directory in Node,
   * `idb:quark` in a browser.
   */
  readonly storageDir?: string | undefined;
  /** A storage URI or an open store, instead of `storageDir`. A store that is handed in stays open. */
  readonly storage?: string | Store | undefined;
  /** How long the run counts as live without a sign of life, in milliseconds. Default: 30,000 in Node, 75,000 in a browser. */
  readonly leaseTtlMs?: number | undefined;
  /** Whether SIGINT, SIGTERM, SIGHUP and leaving the page end the run as interrupted. Default true. */
  readonly handleSignals?: boolean | undefined;
  /**
   * Called when recording stops (the storage is full or unreachable), when it works again, and when the stored run was removed.
   * Called synchronously, once for each change. Default: none. Without strict mode the console gets a line as well. Example:
   * {@link RecordingProblem}.
   */
  readonly onRecordingProblem?: RecordingCallback | undefined;
  /**
   * Whether the program is profiled, with scopes for epochs, evaluation and what else Quark knows of. In Node true is enough, and the
   * variable `QUARK_PROFILING=1` says the same; a page hands in `startProfiler` of `quark-sdk/profiler`, or a function that makes a
   * `Profiler` with options of its own. Default false.
   */
  readonly profile?: boolean | ((session: TrainingSession) => unknown) | undefined;
  /** The clock of time stamps and timers; for tests. */
  readonly clock?: Clock | undefined;
};

/** Options of `TrainingSession.startRun`. */
export type StartRunOptions = SessionOptions & {
  /** Name of the project; it is made when it is not there. */
  readonly project: string;
  /** Configuration of the run; a JSON object. */
  readonly config?: JsonObject | null | undefined;
  /** Name of the run, for people: one line. Several runs may have the same one. Default: none. */
  readonly name?: string | null | undefined;
  /** What the run is about, in a sentence. Default: none. */
  readonly description?: string | null | undefined;
  /** Notes on the run, as Markdown, at most 65,536 characters. Default: none. */
  readonly notes?: string | null | undefined;
  /** Groups that the run is in, such as a sweep or an ablation; each one line. Default: none. */
  readonly groups?: Iterable<string> | null | undefined;
  /** What the run does, such as `train` or `eval`: one line. Default: none. */
  readonly jobType?: string | null | undefined;
  /** Labels of the run, also with values: `workers=8`. */
  readonly tags?: Iterable<string> | null | undefined;
  /** The run this one continues from; it must be in the same store. */
  readonly parentRunId?: string | null | undefined;
  /**
   * Metrics that play a role, by their keys, such as `{ trainLoss: 'objective' }`; the run remembers them, and analyses and pages use them.
   * Default: found by the names of all metrics.
   */
  readonly roles?: AskedRoles | undefined;
  /**
   * Whether storage failures throw. Default: false, so that training continues. The session then buffers rows in memory, retries
   * to open and write the storage, and reports failures through {@link SessionOptions.onRecordingProblem},
   * `session.recordingStatus()` and the console. Invalid options throw in both modes.
   */
  readonly strictMode?: boolean | undefined;
};

/** Options of `TrainingSession.resumeRun` and `attachRun`. */
export type ResumeRunOptions = SessionOptions & { readonly runId: string };

const SESSION_NAMES = [
  'storageDir',
  'storage',
  'leaseTtlMs',
  'handleSignals',
  'onRecordingProblem',
  'clock',
  'profile',
  ...PERSISTENCE_NAMES,
] as const;
const START_NAMES = [
  'project',
  'name',
  'description',
  'notes',
  'groups',
  'jobType',
  'config',
  'tags',
  'parentRunId',
  'roles',
  'strictMode',
] as const;

/** Checked options of a new run. */
export type CheckedStart = {
  readonly project: string;
  readonly name: string | null;
  readonly description: string | null;
  readonly notes: string | null;
  readonly groups: readonly string[];
  readonly jobType: string | null;
  readonly config: JsonObject;
  readonly tags: readonly string[];
  readonly parentRunId: string | null;
  readonly roles: AskedRoles;
  readonly strictMode: boolean;
};

/** @throws {QuarkError} `invalid_input` naming the option */
export function checkStartOptions(options: StartRunOptions): CheckedStart {
  checkSessionOptions(options, START_NAMES);
  const { config, tags, parentRunId, strictMode = false } = options;
  const project = checkLabel('project', options.project);
  checkFlag('strictMode', strictMode);
  if (parentRunId !== undefined && parentRunId !== null && typeof parentRunId !== 'string')
    throw invalidInput('parentRunId', parentRunId, 'the id of a run');
  return {
    project,
    name: isGiven(options.name) ? checkLabel('name', options.name) : null,
    description: checkProse('description', options.description),
    notes: checkProse('notes', options.notes),
    groups: checkLabels('groups', options.groups),
    jobType: isGiven(options.jobType) ? checkLabel('jobType', options.jobType) : null,
    config:
      config === undefined || config === null
        ? {}
        : (JSON.parse(encodeJsonObject('config', config)) as JsonObject),
    tags: checkLabels('tags', tags),
    parentRunId: parentRunId ?? null,
    roles: checkRoles('roles', options.roles),
    strictMode,
  };
}

/** @throws {QuarkError} `invalid_input` naming the option */
export function checkResumeOptions(options: ResumeRunOptions): string {
  checkSessionOptions(options, ['runId']);
  if (typeof options.runId !== 'string' || options.runId === '')
    throw invalidInput('runId', options.runId, 'the id of a run');
  return options.runId;
}

/**
 * The store of a session, and whether the session opened it. With a service configured, records go to the local store
 * first and from there to the service; an open store that is handed in is used as it is, unless the options name a
 * service too.
 */
export async function resolveStore(
  options: SessionOptions,
): Promise<{ readonly store: Store; readonly isOwned: boolean }> {
  const { storage, storageDir } = options;
  const isHandedIn = typeof storage === 'object';
  const persistence =
    isHandedIn && !isGiven(options.persistenceUrl) ? undefined : persistenceOf(options);
  const clock = clockOf(options);
  const location = isHandedIn ? undefined : (storage ?? storageDir);
  const local = isHandedIn ? storage : await openStorage(location, { clock });
  // A store behind a network is written to as it is: there is nothing to keep first.
  if (persistence === undefined || local.notes === undefined || local.sync !== undefined)
    return { store: local, isOwned: !isHandedIn };
  const [{ openOutbox, spaceOf }, { holderTag }] = await Promise.all([
    loadPart('Sending to a service', async () => import('../sync/open-outbox.ts')),
    loadPlatform(),
  ]);
  const space = spaceOf(isHandedIn ? local.uri : location);
  const { url, ...rest } = persistence;
  return {
    store: openOutbox(local, { ...rest, url, space, clock, holderTag, ownsLocal: !isHandedIn }),
    isOwned: true,
  };
}

/** Placeholder for the store of a session before it is open. */
export function locationOf({ storage, storageDir }: SessionOptions): string {
  if (typeof storage === 'object') return storage.uri;
  return storage ?? storageDir ?? defaultLocation();
}

/** The clock of a session. */
export function clockOf(options: SessionOptions): Clock {
  return options.clock ?? systemClock;
}

function checkSessionOptions(options: SessionOptions, otherNames: readonly string[]): void {
  checkOptionNames('options', options, [...otherNames, ...SESSION_NAMES]);
  persistenceOf(options);
  const { profile } = options;
  if (isGiven(profile) && typeof profile !== 'boolean' && typeof profile !== 'function')
    throw invalidInput('profile', profile, 'true, false or a function');
  if (profile === true && !isNode())
    throw invalidInput('profile', profile, 'startProfiler of quark-sdk/profiler, in a page');
  const { storage, storageDir, leaseTtlMs, handleSignals, onRecordingProblem } = options;
  if (storageDir !== undefined && (typeof storageDir !== 'string' || storageDir === ''))
    throw invalidInput('storageDir', storageDir, 'a directory, a name or a storage URI');
  if (storage !== undefined && storageDir !== undefined)
    throw invalidInput('storage', storage, 'left out when storageDir is given');
  if (storage !== undefined && typeof storage !== 'string') {
    if (typeof storage !== 'object' || storage === null)
      throw invalidInput('storage', storage, 'a storage URI or an open store');
    checkStore(storage, 'storage');
  }
  if (leaseTtlMs !== undefined) checkPositive('leaseTtlMs', leaseTtlMs);
  if (handleSignals !== undefined && typeof handleSignals !== 'boolean')
    throw invalidInput('handleSignals', handleSignals, 'true or false');
  if (onRecordingProblem !== undefined && typeof onRecordingProblem !== 'function')
    throw invalidInput('onRecordingProblem', onRecordingProblem, 'a function');
}
