/** What every store does alike with runs, projects and leases: checks, filter, order, errors. */
import { MAX_NOTE_CHARS } from './limits.ts';
import { invalidInput, SessionStoreError, show } from '../base/errors.ts';
import { checkId, checkRunId } from '../base/names.ts';
import { lapsedLeaseShape, type LapsedLease, type StoredLease } from '../records/shapes/lease.ts';
import { projectShape } from '../records/shapes/project.ts';
import { generationOf, newRunShape, runFilterShape, runShape } from '../records/shapes/run.ts';
import { checkShape, copyShape } from '../schema/shape.ts';
import { isFound, whereOf } from './run-facts.ts';
import type {
  DeletedRun,
  Lease,
  RunFilter,
  StoredProject,
  StoredRun,
  StoreSurvey,
  StreamState,
} from './store.ts';

const NOTE_NAME = /^[A-Za-z0-9._:/%@+-]{1,512}$/;

const SPACE = /^(?:[A-Za-z0-9][A-Za-z0-9._-]*(?:\/[A-Za-z0-9][A-Za-z0-9._-]*)*)?$/;
const MAX_SPACE_CHARS = 200;

/** The name of a space: '', or names joined by "/", as in `user/experiments`. */
export function checkSpace(value: unknown): string {
  if (typeof value !== 'string' || value.length > MAX_SPACE_CHARS || !SPACE.test(value)) {
    throw invalidInput(
      'space',
      value,
      `empty, or names of letters, digits, ".", "_" and "-" that start with a letter or digit, joined by "/", at most ${MAX_SPACE_CHARS} characters`,
    );
  }
  return value;
}

/** Checks a project before it is stored. */
export function checkProject(project: StoredProject): void {
  checkShape(projectShape, project, 'project.');
}

/**
 * The project that is added again with a run: another program removed it after its last run. Undefined where it is there, where
 * another project has its name, and where nothing was deleted from it.
 */
export function projectOfRun(
  { projectId: id, projectName: name, startedAtMs }: Omit<StoredRun, 'revision'>,
  projects: readonly StoredProject[],
  tombstones: readonly Pick<DeletedRun, 'projectName'>[],
): StoredProject | undefined {
  if (projects.some((one) => one.id === id || one.name === name)) return undefined;
  if (!tombstones.some(({ projectName }) => projectName === name)) return undefined;
  return { id, name, createdAtMs: startedAtMs };
}

/** Checks a run before it is stored. */
export function checkRun(run: Omit<StoredRun, 'revision'>): void {
  checkShape(newRunShape, run);
}

/** Checks a run before it takes the place of its previous revision. */
export function checkRevisedRun(run: StoredRun): void {
  checkShape(runShape, run);
}

/** Checks a filter. */
export function checkRunFilter(filter: RunFilter): void {
  checkShape(runFilterShape, filter);
}

/** Checks the claim of a lease. */
export function checkLeaseClaim(runId: string, holder: string, ttlMs: number): void {
  checkRunId(runId);
  checkId('holder', holder);
  if (typeof ttlMs !== 'number' || !Number.isFinite(ttlMs) || ttlMs <= 0) {
    throw invalidInput('ttlMs', ttlMs, 'a positive number of milliseconds');
  }
}

/** Checks the name of a note. */
export function checkNoteName(value: unknown): string {
  if (typeof value !== 'string' || !NOTE_NAME.test(value))
    throw invalidInput('name', value, '1 to 512 letters, digits, "._:/%@+-"');
  return value;
}

/** Checks a note before it is written. */
export function checkNote(name: string, text: unknown, expected: unknown): void {
  checkNoteName(name);
  if (
    text !== null &&
    (typeof text !== 'string' || text.length > MAX_NOTE_CHARS || text.includes('\u0000'))
  ) {
    throw invalidInput(
      'text',
      text,
      `text of at most ${MAX_NOTE_CHARS} characters without U+0000, or null`,
    );
  }
  if (expected !== undefined && expected !== null && typeof expected !== 'string')
    throw invalidInput('expected', expected, 'text, or null');
}

/** Says in one line all that can change in a run. */
export function fingerprintOf(
  revision: number | undefined,
  streams: Iterable<StreamState>,
): string {
  const parts = Array.from(
    streams,
    ({ nextSequence, replaceCount, table }) => `${table}:${nextSequence}:${replaceCount}`,
  );
  return `${revision ?? 0} ${parts.sort().join(' ')}`;
}

/** Whether a run is as a snapshot of it said. */
export function isUnchanged(expected: StoreSurvey | undefined, now: StoreSurvey): boolean {
  const print = ({ runs, streams }: StoreSurvey): string =>
    fingerprintOf(runs[0]?.revision, streams);
  return expected === undefined || print(expected) === print(now);
}

/** The fields of a run and nothing else, sharing nothing with the one given. */
export function copyRun(run: Omit<StoredRun, 'revision'>, revision: number): StoredRun {
  return copyShape(runShape, { ...run, revision });
}

/** Runs of a filter in the order of `listRuns`. */
export function selectRuns(
  runs: Iterable<StoredRun>,
  filter: RunFilter,
  live: ReadonlySet<string> = NO_RUNS,
): readonly StoredRun[] {
  const found = [...runs].filter((run) => matchesRunFilter(run, filter, live)).sort(compareRuns);
  const start = filter.offset ?? 0;
  return found.slice(start, filter.limit === undefined ? undefined : start + filter.limit);
}

/**
 * Whether a lease has lapsed: at its end, or when more than twice its time to live is still to go. It was claimed under
 * a clock that has jumped back since, and its holder, if there still is one, renews it. Once would not do: the clocks of
 * machines that share a store differ.
 */
export function isLapsed({ expiresAtMs, ttlMs = Infinity }: StoredLease, nowMs: number): boolean {
  return expiresAtMs <= nowMs || expiresAtMs - nowMs > 2 * ttlMs;
}

/** Lapsed leases stay for so long, for those who doubt a clock: see `lapsedLeases`. */
export const LAPSED_LEASE_MS = 86_400_000;

/** Where the end of a lapsed lease is put that lies ahead: it would be valid again when a clock that was turned back gets there. */
export const LAPSED_AGO_MS: number = LAPSED_LEASE_MS / 2;

/** What becomes of a lease when another one is renewed: undefined once it has lapsed for a day. */
export function agedLease(lease: StoredLease, nowMs: number): StoredLease | undefined {
  if (lease.expiresAtMs <= nowMs - LAPSED_LEASE_MS) return undefined;
  const isAhead = lease.expiresAtMs > nowMs && isLapsed(lease, nowMs);
  return isAhead ? { ...lease, expiresAtMs: nowMs - LAPSED_AGO_MS } : lease;
}

/** The lapsed leases of a run, ordered by holder. */
export function selectLapsed(
  leases: Iterable<StoredLease>,
  nowMs: number,
  runId: string,
): readonly LapsedLease[] {
  return [...leases]
    .filter((lease) => lease.runId === runId && isLapsed(lease, nowMs))
    .map((lease) => copyShape(lapsedLeaseShape, { ...lease, endedMs: nowMs - lease.expiresAtMs }))
    .sort((a, b) => compareText(a.holder, b.holder));
}

/** Leases in the order of `listLeases`, without those that have lapsed; of these runs, or of all. */
export function selectLeases(
  leases: Iterable<StoredLease>,
  nowMs: number,
  runIds?: readonly string[],
): readonly Lease[] {
  return [...leases]
    .filter((lease) => !isLapsed(lease, nowMs) && runIds?.includes(lease.runId) !== false)
    .map(({ expiresAtMs, holder, runId }) => ({ runId, holder, expiresAtMs }))
    .sort((a, b) => compareText(a.runId, b.runId) || compareText(a.holder, b.holder));
}

/** Code-unit order, the same in every store. */
export function compareText(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

/** @throws {SessionStoreError} `rejected` */
export function runIdTaken(runId: string): SessionStoreError {
  return new SessionStoreError(
    'rejected',
    `A run with the id ${show(runId)} is in the store already. Create the run with another id, or resume this one.`,
    {
      details: { runId },
    },
  );
}

/** @throws {SessionStoreError} `rejected` */
export function projectIdTaken(projectId: string): SessionStoreError {
  return new SessionStoreError(
    'rejected',
    `Another project has the id ${show(projectId)}. Give the new project an id of its own.`,
    {
      details: { projectId },
    },
  );
}

/** @throws {SessionStoreError} `rejected` */
export function segmentTaken(name: string): SessionStoreError {
  return new SessionStoreError(
    'rejected',
    `A segment that stays has the identity ${name}. Give the merged segment the identity of one it replaces, or a new one.`,
    {
      details: { segment: name },
    },
  );
}

/** A change that arrives too late, or whose sender has to look again. @throws {SessionStoreError} `busy` */
export function tableChanged(
  runId: string,
  table: string,
  replaceCount: number,
): SessionStoreError {
  return new SessionStoreError(
    'busy',
    `The table ${table} of run ${runId} was computed anew meanwhile. Nothing was changed. Look at it, and try again.`,
    { details: { runId, table, replaceCount, httpStatus: 409 } },
  );
}

/** Another session has taken over the run of a live session. @throws {SessionStoreError} `fenced` */
export function runFenced(runId: string, generation: number, current: number): SessionStoreError {
  return new SessionStoreError(
    'fenced',
    `Another session has taken over run ${runId}: it has generation ${current}, and this session has ${generation}. Nothing was changed. Stop this training, or resume the run to take it over again.`,
    { details: { runId, generation: current, ownGeneration: generation } },
  );
}

/** The fields of a run that a change leaves, with the next revision: its generation never decreases. */
export function revisedRun(run: StoredRun, stored: StoredRun): StoredRun {
  const { generation: _given, ...rest } = withArchived(run, stored.archivedAtMs);
  const generation = Math.max(generationOf(run), generationOf(stored));
  const config = configOf(run, stored);
  return copyRun(
    { ...rest, ...config, ...(generation === 1 ? {} : { generation }) },
    run.revision + 1,
  );
}

/** The hash of the configuration after a change, and its revision, unless that is to be counted. */
function configOf(
  { configHash: hash, configRevision: given }: StoredRun,
  stored: StoredRun,
): Pick<StoredRun, 'configHash' | 'configRevision'> {
  const configHash = hash ?? stored.configHash;
  const configRevision =
    given ?? (configHash === stored.configHash ? stored.configRevision : undefined);
  return {
    ...(configHash === undefined ? {} : { configHash }),
    ...(configRevision === undefined ? {} : { configRevision }),
  };
}

/**
 * Counts the configuration of a run that is added or changed: the run with its revision, and the last revision of the configuration.
 * What comes from another store has its revision, and the next one here is greater.
 */
export function countedRun<T extends Omit<StoredRun, 'revision'>>(
  run: T,
  last: number,
): { readonly run: T; readonly last: number } {
  if (!isUncounted(run)) return { run, last: Math.max(last, run.configRevision ?? 0) };
  return { run: { ...run, configRevision: last + 1 }, last: last + 1 };
}

/** Whether the store has to count the runs of the configuration of a run. */
export function isUncounted(
  run: Omit<StoredRun, 'revision'>,
): run is Omit<StoredRun, 'revision'> & { readonly configHash: string } {
  return run.configHash !== undefined && run.configRevision === undefined;
}

/** The same run, archived since this instant, or not archived. */
export function withArchived<T extends Omit<StoredRun, 'revision'>>(
  run: T,
  archivedAtMs: number | undefined,
): T {
  const { archivedAtMs: _before, ...rest } = run;
  return (archivedAtMs === undefined ? rest : { ...rest, archivedAtMs }) as T;
}

/** @throws {SessionStoreError} `closed` */
export function storeClosed(uri: string): SessionStoreError {
  return new SessionStoreError(
    'closed',
    `The store ${uri} is closed. Open it again with openStorage().`,
    { details: { uri } },
  );
}

/** Runs that sessions are at work on, by the leases that have not lapsed. */
export function liveRuns(leases: Iterable<StoredLease>, nowMs: number): ReadonlySet<string> {
  return new Set(selectLeases(leases, nowMs).map(({ runId }) => runId));
}

const NO_RUNS: ReadonlySet<string> = new Set();

function matchesRunFilter(run: StoredRun, filter: RunFilter, live: ReadonlySet<string>): boolean {
  const where = whereOf(filter);
  return (
    (filter.projectName === undefined || run.projectName === filter.projectName) &&
    (filter.statuses === undefined || filter.statuses.includes(run.status)) &&
    (filter.startedMinMs === undefined || run.startedAtMs >= filter.startedMinMs) &&
    (filter.startedMaxMs === undefined || run.startedAtMs <= filter.startedMaxMs) &&
    (filter.archived === undefined || filter.archived === (run.archivedAtMs !== undefined)) &&
    (filter.tags === undefined || filter.tags.every((tag) => run.tags.includes(tag))) &&
    (where === undefined || isFound(run, where, live.has(run.id)))
  );
}

/** The order of `listRuns`. */
export function compareRuns(a: StoredRun, b: StoredRun): number {
  return b.startedAtMs - a.startedAtMs || compareText(b.id, a.id);
}
