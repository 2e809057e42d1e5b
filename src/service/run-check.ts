/** What a service looks at before it keeps a run or a project that came from elsewhere: everybody's lists show them. */
import { invalidInput } from '../base/errors.ts';
import { checkLabel } from '../base/names.ts';
import type { StoredProject, StoredRun } from '../store/store.ts';

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
  checkLabel('run.projectName', run.projectName);
  checkLength('run.status', run.status, MAX_STATUS_CHARS);
  checkInstantMs('run.startedAtMs', run.startedAtMs);
  if (run.tags.length > MAX_TAGS)
    throw invalidInput('run.tags', run.tags.length, `at most ${MAX_TAGS} tags`);
  for (const tag of run.tags) checkLabel('run.tags', tag);
  checkLength('run.document', run.document, MAX_DOCUMENT_CHARS);
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
  for (const [field, value] of [
    ['project_id', run.projectId],
    ['project_name', run.projectName],
  ] as const) {
    const found: unknown = Reflect.get(told, field);
    if (found !== undefined && found !== value)
      throw invalidInput(`run.document.${field}`, found, `that of the run, "${value}"`);
  }
  const tags: unknown = Reflect.get(told, 'tags');
  if (Array.isArray(tags)) for (const tag of tags) checkLabel('run.document.tags', tag);
}

function checkLength(field: string, text: string, max: number): void {
  if (text.length > max) throw invalidInput(`${field}.length`, text.length, `at most ${max}`);
}

function checkInstantMs(field: string, ms: number): void {
  if (!(Math.abs(ms) <= MAX_INSTANT_MS))
    throw invalidInput(field, ms, 'UTC epoch milliseconds of a date');
}
