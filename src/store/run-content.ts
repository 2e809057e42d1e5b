/** What is looked at before a run or a project that came from elsewhere is stored: by a service that takes it, and by a client that takes it over. */
import { invalidInput, isQuarkError, SessionStoreError } from '../base/errors.ts';
import { checkLabel } from '../base/names.ts';
import { checkProject, checkRun } from './run-rules.ts';
import type { StoredProject, StoredRun } from './store.ts';

/** Tags of one run. */
const MAX_TAGS = 256;
/** Configuration and environment may have 1 MiB of JSON each; the rest is small. */
const MAX_DOCUMENT_CHARS = 4 * 1024 * 1024;
const MAX_STATUS_CHARS = 32;
const MAX_INSTANT_MS = 8.64e15;

/** @throws {QuarkError} `invalid_input` naming the field */
export function checkProjectContent(project: StoredProject): void {
  checkLabel('project.name', project.name);
  checkInstantMs('project.createdAtMs', project.createdAtMs);
}

/** @throws {QuarkError} `invalid_input` naming the field */
export function checkRunContent(run: Omit<StoredRun, 'revision'>): void {
  checkNames(run);
  checkInstantMs('run.startedAtMs', run.startedAtMs);
  let document: unknown;
  try {
    document = JSON.parse(run.document);
  } catch {
    throw invalidInput('run.document', run.document, 'JSON');
  }
  const told = typeof document === 'object' && document !== null ? document : {};
  const id: unknown = Reflect.get(told, 'id');
  if (id !== run.id) throw invalidInput('run.document.id', id, `the id of the run, "${run.id}"`);
  // Lists show what the document says: a run must not pass for one of a project that it is not in.
  checkDocument(told, { project_id: run.projectId, project_name: run.projectName });
}

/** A run as a service may answer with it: its ids and texts are such as a store takes. @throws {SessionStoreError} `rejected` */
export function checkAnsweredRun(run: StoredRun, runId: string = run.id): StoredRun {
  return asAnswer(() => {
    if (run.id !== runId)
      throw invalidInput('run.id', run.id, `the run that was asked for, "${runId}"`);
    checkRun(run);
    return run;
  });
}

/** The same of a project. @throws {SessionStoreError} `rejected` */
export function checkAnsweredProject(project: StoredProject): StoredProject {
  return asAnswer(() => {
    checkProject(project);
    return project;
  });
}

/**
 * A run that a client takes over from a service: its names are checked by the rules of names, so that a service plants none in the
 * store of its client. Less than {@link checkRunContent} asks of a client: of documents of other versions only the names count.
 *
 * @throws {SessionStoreError} `rejected` naming the field; nothing of the run is to be stored
 */
export function checkTakenRun(run: StoredRun, runId: string): void {
  checkAnsweredRun(run, runId);
  asAnswer(() => {
    checkNames(run);
    checkDocument(objectOf(run.document), { id: run.id, project_name: run.projectName });
  });
}

function checkNames(run: Omit<StoredRun, 'revision'>): void {
  checkLabel('run.projectName', run.projectName);
  checkLength('run.status', run.status, MAX_STATUS_CHARS);
  if (run.tags.length > MAX_TAGS)
    throw invalidInput('run.tags', run.tags.length, `at most ${MAX_TAGS} tags`);
  for (const tag of run.tags) checkLabel('run.tags', tag);
  checkLength('run.document', run.document, MAX_DOCUMENT_CHARS);
}

/** What the document says of these fields is what the run says, and its tags are labels. */
function checkDocument(told: object, fields: Readonly<Record<string, string>>): void {
  for (const [field, value] of Object.entries(fields)) {
    const found: unknown = Reflect.get(told, field);
    if (found !== undefined && found !== value)
      throw invalidInput(`run.document.${field}`, found, `that of the run, "${value}"`);
  }
  const tags: unknown = Reflect.get(told, 'tags');
  if (Array.isArray(tags)) for (const tag of tags) checkLabel('run.document.tags', tag);
}

function objectOf(document: string): object {
  try {
    const told: unknown = JSON.parse(document);
    return typeof told === 'object' && told !== null ? told : {};
  } catch {
    return {};
  }
}

/** What a service says is wrong where it says it: the caller's own input is not. */
function asAnswer<T>(check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (!isQuarkError(error, 'invalid_input')) throw error;
    throw new SessionStoreError(
      'rejected',
      `The service answered with what no store takes: ${error.message} Nothing of it was stored.`,
      { details: error.details, cause: error },
    );
  }
}

function checkLength(field: string, text: string, max: number): void {
  if (text.length > max) throw invalidInput(`${field}.length`, text.length, `at most ${max}`);
}

function checkInstantMs(field: string, ms: number): void {
  if (!(Math.abs(ms) <= MAX_INSTANT_MS))
    throw invalidInput(field, ms, 'UTC epoch milliseconds of a date');
}
