/** Written reports of a project, which are documents of kind `report`. */
import { checkFlag } from '../base/assert.ts';
import { systemClock } from '../base/clock.ts';
import { SessionStoreError, show } from '../base/errors.ts';
import { createId } from '../base/ids.ts';
import { optional, readOptions } from '../base/options.ts';
import type { DocumentHeader, NewDocument, StoredDocument } from '../records/shapes/document.ts';
import { type DocumentUpdate } from '../store/documents.ts';
import { DELETED_KIND } from '../store/document-notes.ts';
import type { Store } from '../store/store.ts';
import { deleteDocument, findDocument, listDocuments, putDocument } from './documents.ts';
import { checkReport, type WrittenReport } from './report-shape.ts';

const KIND = 'report';
/** A report that can be restored, under its id. */
const DELETED = `${DELETED_KIND}report`;

/** How long a deleted report can be restored, in milliseconds: 7 days. */
export const REPORT_UNDO_MS: number = 7 * 24 * 3_600_000;

/** A report as it is stored. */
export type StoredReport = Omit<StoredDocument, 'body'> & { readonly report: WrittenReport };

/** What became of a report that was to be saved: as saved, or what somebody else saved meanwhile, null where it is gone. */
export type ReportUpdate =
  | { readonly kind: 'updated'; readonly report: StoredReport }
  | { readonly kind: 'conflict'; readonly report: StoredReport | null };

/**
 * Saves a report of a project.
 *
 * @param report its `title` and its `blocks`: text (Markdown), charts and tables of runs
 * @param options `id` of a report that is there, and `expected`, the revision that it has now; a new one without them
 * @throws {QuarkError} `invalid_input` naming the field, before anything is written; `unsupported` where the store has no documents
 * @throws {SessionStoreError} `missing` when there is no such project; `read_only`, `unauthorised`
 * @example
 * ```js
 * import { createMemoryStore, TrainingSession } from 'quark-sdk';
 * import { saveReport } from 'quark-sdk/workspace';
 *
 * const store = createMemoryStore();
 * await TrainingSession.run({ project: 'digits', storage: store }, () => {}); // a project is there with its first run
 * const { kind, report } = await saveReport(store, 'digits', {
 *   title: 'Learning rates',
 *   blocks: [
 *     { kind: 'text', text: 'Small ones *win*.' },
 *     { kind: 'chart', metric: 'val/loss', where: 'tag:sweep' },
 *     { kind: 'runs', where: 'tag:sweep', columns: ['config.lr', 'metrics.val/loss.best'] },
 *   ],
 * });
 * console.log(kind, report.name, report.revision); // updated Learning rates 1
 * ```
 */
export async function saveReport(
  store: Store,
  project: string,
  report: WrittenReport,
  options: { readonly id?: string; readonly expected?: number } = {},
): Promise<ReportUpdate> {
  const checked = checkReport(report);
  const { expected, id = createId('report', systemClock.now()) } = options;
  const body = JSON.stringify({ version: 1, blocks: checked.blocks });
  const done = await putDocument(
    store,
    project,
    { kind: KIND, id, name: checked.title, body },
    expected ?? (options.id === undefined ? 0 : undefined),
  );
  return updateOf(done);
}

/**
 * The reports of a project, the last changed first; none of a project that is not there.
 *
 * @throws {QuarkError} `invalid_input`; `unsupported` where the store has no documents
 * @example
 * ```js
 * import { createMemoryStore, TrainingSession } from 'quark-sdk';
 * import { listReports, saveReport } from 'quark-sdk/workspace';
 *
 * const store = createMemoryStore();
 * await TrainingSession.run({ project: 'digits', storage: store }, () => {});
 * await saveReport(store, 'digits', { title: 'Learning rates', blocks: [] });
 * for (const { id, name } of await listReports(store, 'digits')) console.log(name, id.length > 0); // Learning rates true
 * ```
 */
export async function listReports(
  store: Store,
  project: string,
): Promise<readonly DocumentHeader[]> {
  const found = await listDocuments(store, project, KIND);
  return found.toSorted((a, b) => b.updatedAtMs - a.updatedAtMs);
}

/**
 * A report; undefined where there is none.
 *
 * @throws {QuarkError} `invalid_input`, also where what is stored is no report; `unsupported` where the store has no documents
 * @example
 * ```js
 * import { createMemoryStore, TrainingSession } from 'quark-sdk';
 * import { readReport, saveReport } from 'quark-sdk/workspace';
 *
 * const store = createMemoryStore();
 * await TrainingSession.run({ project: 'digits', storage: store }, () => {});
 * const saved = await saveReport(store, 'digits', { title: 'Learning rates', blocks: [{ kind: 'text', text: 'Small ones *win*.' }] });
 * const { report } = await readReport(store, 'digits', saved.report.id);
 * console.log(report.title, report.blocks.length); // Learning rates 1
 * ```
 */
export async function readReport(
  store: Store,
  project: string,
  id: string,
): Promise<StoredReport | undefined> {
  const found = await findDocument(store, project, KIND, id);
  return found === undefined ? undefined : reportOf(found);
}

/**
 * Deletes a report. It can be restored for {@link REPORT_UNDO_MS}.
 *
 * @param options `purge`: for good, also where it was deleted before
 * @returns whether it was there
 * @throws {QuarkError} `invalid_input`; `unsupported` where the store has no documents
 * @throws {SessionStoreError} `busy` when it was changed meanwhile; `read_only`, `unauthorised`
 * @example
 * ```js
 * import { createMemoryStore, TrainingSession } from 'quark-sdk';
 * import { deleteReport, listReports, saveReport } from 'quark-sdk/workspace';
 *
 * const store = createMemoryStore();
 * await TrainingSession.run({ project: 'digits', storage: store }, () => {});
 * const { report } = await saveReport(store, 'digits', { title: 'Learning rates', blocks: [] });
 * console.log(await deleteReport(store, 'digits', report.id)); // true
 * console.log(await listReports(store, 'digits')); // []
 * ```
 */
export async function deleteReport(
  store: Store,
  project: string,
  id: string,
  options: { readonly purge?: boolean } = {},
): Promise<boolean> {
  const { purge = false } = readOptions('options', options, { purge: optional(checkFlag) });
  const found = await findDocument(store, project, KIND, id);
  if (found === undefined && !purge) return false;
  if (found !== undefined) {
    if (!purge) await putDocument(store, project, { ...contentOf(found), kind: DELETED });
    if (!(await deleteDocument(store, project, KIND, id, found.revision)))
      throw changedMeanwhile(found.name);
  }
  const wasDeleted = purge && (await deleteDocument(store, project, DELETED, id));
  await purgeExpired(store, project);
  return found !== undefined || wasDeleted;
}

/**
 * Brings back a report that was deleted.
 *
 * @returns the report; undefined where none of this id was deleted, or too long ago
 * @throws {QuarkError} `invalid_input`; `unsupported` where the store has no documents
 * @throws {SessionStoreError} `rejected` when there is a report of this id again; `read_only`, `unauthorised`
 * @example
 * ```js
 * import { createMemoryStore, TrainingSession } from 'quark-sdk';
 * import { deleteReport, restoreReport, saveReport } from 'quark-sdk/workspace';
 *
 * const store = createMemoryStore();
 * await TrainingSession.run({ project: 'digits', storage: store }, () => {});
 * const { report } = await saveReport(store, 'digits', { title: 'Learning rates', blocks: [] });
 * await deleteReport(store, 'digits', report.id);
 * const restored = await restoreReport(store, 'digits', report.id);
 * console.log(restored.report.title); // Learning rates
 * ```
 */
export async function restoreReport(
  store: Store,
  project: string,
  id: string,
): Promise<StoredReport | undefined> {
  const found = await findDocument(store, project, DELETED, id);
  if (found === undefined || hasExpired(found)) return undefined;
  const done = await putDocument(store, project, { ...contentOf(found), kind: KIND }, 0);
  if (done.kind === 'conflict')
    throw new SessionStoreError(
      'rejected',
      `There is a report ${show(id)} again. Rename or delete it first.`,
      { details: { project, id } },
    );
  await deleteDocument(store, project, DELETED, id);
  return reportOf(done.document);
}

/**
 * The deleted reports of a project that can be restored, the last deleted first; `updatedAtMs` is when that was.
 *
 * @throws {QuarkError} `invalid_input`; `unsupported` where the store has no documents
 * @example
 * ```js
 * import { createMemoryStore, TrainingSession } from 'quark-sdk';
 * import { deleteReport, listDeletedReports, saveReport } from 'quark-sdk/workspace';
 *
 * const store = createMemoryStore();
 * await TrainingSession.run({ project: 'digits', storage: store }, () => {});
 * const { report } = await saveReport(store, 'digits', { title: 'Learning rates', blocks: [] });
 * await deleteReport(store, 'digits', report.id);
 * for (const { id, name } of await listDeletedReports(store, 'digits')) console.log(name, id === report.id); // Learning rates true
 * ```
 */
export async function listDeletedReports(
  store: Store,
  project: string,
): Promise<readonly DocumentHeader[]> {
  const found = await listDocuments(store, project, DELETED);
  return found.filter((one) => !hasExpired(one)).sort((a, b) => b.updatedAtMs - a.updatedAtMs);
}

function hasExpired({ updatedAtMs }: DocumentHeader): boolean {
  return updatedAtMs <= systemClock.now() - REPORT_UNDO_MS;
}

/** Deleted reports are gone for good with the next deletion after their time. */
async function purgeExpired(store: Store, project: string): Promise<void> {
  for (const one of await listDocuments(store, project, DELETED))
    if (one.owner === undefined && hasExpired(one))
      await deleteDocument(store, project, DELETED, one.id, one.revision);
}

function contentOf({
  author,
  body,
  id,
  name,
  visibility,
}: StoredDocument): Omit<NewDocument, 'kind'> {
  return { id, name, author, body, ...(visibility === undefined ? {} : { visibility }) };
}

function changedMeanwhile(name: string): SessionStoreError {
  return new SessionStoreError(
    'busy',
    `The report ${show(name)} was changed meanwhile, and was not deleted.`,
    { details: { name, httpStatus: 409 } },
  );
}

function updateOf(done: DocumentUpdate): ReportUpdate {
  if (done.kind === 'updated') return { kind: 'updated', report: reportOf(done.document) };
  return { kind: 'conflict', report: done.document === null ? null : reportOf(done.document) };
}

function reportOf({ body, ...header }: StoredDocument): StoredReport {
  const stored: unknown = JSON.parse(body);
  const blocks: unknown = Reflect.get(Object(stored), 'blocks');
  return { ...header, report: checkReport({ title: header.name, blocks }) };
}
