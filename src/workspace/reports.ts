/** Written reports of a project, which are documents of kind `report`. */
import { createId } from '../base/ids.ts';
import { systemClock } from '../base/clock.ts';
import type { DocumentHeader, StoredDocument } from '../records/shapes/document.ts';
import type { DocumentUpdate } from '../store/documents.ts';
import type { Store } from '../store/store.ts';
import { deleteDocument, findDocument, listDocuments, putDocument } from './documents.ts';
import { checkReport, type WrittenReport } from './report-shape.ts';

const KIND = 'report';

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
 * await saveReport(store, 'digits', {
 *   title: 'Learning rates',
 *   blocks: [
 *     { kind: 'text', text: 'Small ones *win*.' },
 *     { kind: 'chart', metric: 'val/loss', where: 'tag:sweep' },
 *     { kind: 'runs', where: 'tag:sweep', columns: ['config.lr', 'metrics.val/loss.best'] },
 *   ],
 * });
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
 * for (const { id, name } of await listReports(store, 'digits')) console.log(id, name);
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
 * const found = await readReport(store, 'digits', 'baseline');
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
 * Deletes a report for good; whether it was there.
 *
 * @throws {QuarkError} `invalid_input`; `unsupported` where the store has no documents
 * @throws {SessionStoreError} `read_only`, `unauthorised`
 * @example
 * await deleteReport(store, 'digits', 'baseline');
 */
export function deleteReport(store: Store, project: string, id: string): Promise<boolean> {
  return deleteDocument(store, project, KIND, id);
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
