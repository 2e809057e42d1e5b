/** What every store does alike with runs, projects and leases: checks, filter, order, errors. */
import { checkCount, checkPositive } from '../base/assert.ts';
import { invalidInput, SessionStoreError, show } from '../base/errors.ts';
import { checkId } from './segment-rules.ts';
import {
  MAX_NOTE_CHARS,
  type Lease,
  type RunFilter,
  type StoredProject,
  type StoredRun,
  type StoreSurvey,
  type StreamState,
} from './store.ts';

const NOTE_NAME = /^[A-Za-z0-9._:/%@+-]{1,512}$/;
const RUN_ID = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9_-])?$/;

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

/** A run's id; also the name of its folder in a file store. */
export function checkRunId(value: unknown): string {
  if (typeof value !== 'string' || !RUN_ID.test(value)) {
    throw invalidInput(
      'runId',
      value,
      '1 to 128 letters, digits, ".", "_" or "-", starting with a letter or digit, not ending in "."',
    );
  }
  return value;
}

/** Checks a project before it is kept. */
export function checkProject(project: StoredProject): void {
  checkId('project.id', project.id);
  checkText('project.name', project.name);
  checkInstantMs('project.createdAtMs', project.createdAtMs);
}

/** Checks a run before it is kept. */
export function checkRun(run: Omit<StoredRun, 'revision'>): void {
  checkRunId(run.id);
  checkId('projectId', run.projectId);
  checkText('projectName', run.projectName);
  checkText('status', run.status);
  checkInstantMs('startedAtMs', run.startedAtMs);
  checkTexts('tags', run.tags);
  if (typeof run.document !== 'string') throw invalidInput('document', run.document, 'JSON text');
}

/** Checks a run before it takes the place of its previous revision. */
export function checkRevisedRun(run: StoredRun): void {
  checkRun(run);
  checkPositive('revision', run.revision);
}

/** Checks a filter. */
export function checkRunFilter(filter: RunFilter): void {
  if (filter.projectName !== undefined) checkText('projectName', filter.projectName);
  if (filter.statuses !== undefined) checkTexts('statuses', filter.statuses);
  if (filter.tags !== undefined) checkTexts('tags', filter.tags);
  for (const field of ['startedMinMs', 'startedMaxMs'] as const)
    if (filter[field] !== undefined) checkInstantMs(field, filter[field]);
  if (filter.limit !== undefined) checkCount('limit', filter.limit);
  if (filter.offset !== undefined) checkCount('offset', filter.offset);
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

/** Whether a run is still as a survey of it said. */
export function isAsSurveyed(expected: StoreSurvey | undefined, now: StoreSurvey): boolean {
  const print = ({ runs, streams }: StoreSurvey): string =>
    fingerprintOf(runs[0]?.revision, streams);
  return expected === undefined || print(expected) === print(now);
}

/** The fields of a run and nothing else, sharing nothing with the one given. */
export function copyRun(run: Omit<StoredRun, 'revision'>, revision: number): StoredRun {
  return {
    id: run.id,
    projectId: run.projectId,
    projectName: run.projectName,
    status: run.status,
    startedAtMs: run.startedAtMs,
    tags: [...run.tags],
    document: run.document,
    revision,
  };
}

/** Runs of a filter in the order of `listRuns`. */
export function selectRuns(runs: Iterable<StoredRun>, filter: RunFilter): readonly StoredRun[] {
  const found = [...runs].filter((run) => matchesRunFilter(run, filter)).sort(compareRuns);
  const start = filter.offset ?? 0;
  return found.slice(start, filter.limit === undefined ? undefined : start + filter.limit);
}

/** A lease as it is kept. Those of before the time to live was kept have none. */
export type KeptLease = Lease & { readonly ttlMs?: number };

/**
 * Whether a lease has lapsed: at its end, or when more than twice its time to live is still to go. It was claimed under
 * a clock that has jumped back since, and its holder, if there still is one, renews it. Once would not do: the clocks of
 * machines that share a store differ.
 */
export function isLapsed({ expiresAtMs, ttlMs = Infinity }: KeptLease, nowMs: number): boolean {
  return expiresAtMs <= nowMs || expiresAtMs - nowMs > 2 * ttlMs;
}

/** Leases in the order of `listLeases`, without those that have lapsed. */
export function selectLeases(leases: Iterable<KeptLease>, nowMs: number): readonly Lease[] {
  return [...leases]
    .filter((lease) => !isLapsed(lease, nowMs))
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

/** @throws {SessionStoreError} `closed` */
export function storeClosed(uri: string): SessionStoreError {
  return new SessionStoreError(
    'closed',
    `The store ${uri} is closed. Open it again with openStorage().`,
    { details: { uri } },
  );
}

function matchesRunFilter(run: StoredRun, filter: RunFilter): boolean {
  return (
    (filter.projectName === undefined || run.projectName === filter.projectName) &&
    (filter.statuses === undefined || filter.statuses.includes(run.status)) &&
    (filter.startedMinMs === undefined || run.startedAtMs >= filter.startedMinMs) &&
    (filter.startedMaxMs === undefined || run.startedAtMs <= filter.startedMaxMs) &&
    (filter.tags === undefined || filter.tags.every((tag) => run.tags.includes(tag)))
  );
}

/** The order of `listRuns`. */
export function compareRuns(a: StoredRun, b: StoredRun): number {
  return b.startedAtMs - a.startedAtMs || compareText(b.id, a.id);
}

/** What PostgreSQL would refuse or change: it takes no U+0000, and half a pair of surrogates has no UTF-8. */
// oxlint-disable-next-line no-control-regex -- the rule is about a control character
const NOT_KEPT = /\u0000|\p{Surrogate}/u;

function checkText(field: string, value: unknown): void {
  if (typeof value !== 'string' || value === '' || NOT_KEPT.test(value))
    throw invalidInput(field, value, 'non-empty text without U+0000 and half pairs of surrogates');
}

function checkTexts(field: string, value: unknown): void {
  if (!Array.isArray(value)) throw invalidInput(field, value, 'an array of text');
  for (const item of value) checkText(field, item);
}

function checkInstantMs(field: string, value: unknown): void {
  if (typeof value !== 'number' || !Number.isFinite(value))
    throw invalidInput(field, value, 'UTC epoch milliseconds');
}
