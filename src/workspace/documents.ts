/**
 * Documents of a project: saved views, reports and other things that people write beside their runs. Where a store has notes, each
 * document is two of them: its header, which a list reads, and its body under a name of its own that the header tells. So no layout of
 * a database changes, an earlier release opens it, and a change is one comparison of the header. `docs/decisions/` says why.
 */
import { checkCount } from '../base/assert.ts';
import { systemClock } from '../base/clock.ts';
import { QuarkError, SessionStoreError, show } from '../base/errors.ts';
import { createId } from '../base/ids.ts';
import { checkId, checkStorable } from '../base/names.ts';
import {
  checkDocumentKind,
  documentBytes,
  documentHeaderShape,
  documentShape,
  newDocumentShape,
  type DocumentHeader,
  type NewDocument,
  type StoredDocument,
} from '../records/shapes/document.ts';
import { checkStore } from '../read/runs.ts';
import { checkShape, copyShape } from '../schema/shape.ts';
import { documentPrefix, type DocumentUpdate } from '../store/documents.ts';
import { compareText } from '../store/run-rules.ts';
import type { Store, StoreNotes } from '../store/store.ts';

/** Most documents of a project, of all kinds together. */
export const MAX_PROJECT_DOCUMENTS = 1000;

/** Attempts while others change the same document. */
const MAX_ATTEMPTS = 16;

/** What a header is as a note. */
type StoredHeader = { readonly document: DocumentHeader; readonly bodyName: string };

/**
 * Stores a document of a project, as a whole.
 *
 * @param project name of a project that is there
 * @param document its `kind` (`view`, `report`, ...), its `id`, which is unique among those of the kind, what people call it (`name`), and
 *   `body`: the JSON text of an object, at most 256 KiB of UTF-8
 * @param expected the revision that the stored document must have, 0 for a new document; with any other revision nothing is stored.
 *   Without it, a stored document is replaced
 * @returns the document as stored, or what somebody else stored meanwhile
 * @throws {QuarkError} `invalid_input` naming the field; `unsupported` where the store has no documents, as an earlier service
 * @throws {SessionStoreError} `missing` when there is no such project; `rejected` when it has {@link MAX_PROJECT_DOCUMENTS} already;
 *   `read_only`, `unauthorised`
 * @example
 * const body = JSON.stringify({ text: 'The baseline.' });
 * await putDocument(store, 'digits', { kind: 'report', id: 'baseline', name: 'Baseline', body });
 */
export async function putDocument(
  store: Store,
  project: string,
  document: NewDocument,
  expected?: number,
): Promise<DocumentUpdate> {
  checkStore(store);
  checkStorable('project', project);
  checkShape(newDocumentShape, document, 'document.');
  if (expected !== undefined) checkCount('expected', expected);
  if (store.putDocument !== undefined) return store.putDocument(project, document, expected);
  const notes = notesOf(store);
  const projectId = await findProject(store, project);
  if (projectId === undefined)
    throw new SessionStoreError(
      'missing',
      `There is no project ${show(project)} in ${store.uri}.`,
      {
        details: { project },
      },
    );
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const done = await tryToPut(notes, projectId, document, expected);
    if (done === undefined) continue;
    // The project may have been removed since it was looked up: nothing is left behind.
    if (done.kind === 'updated' && (await findProject(store, project)) !== projectId)
      await dropDocument(notes, projectId, document.kind, document.id);
    return done;
  }
  throw new SessionStoreError(
    'busy',
    `The document ${show(document.id)} was changed again and again meanwhile. Try again.`,
    { details: { project, kind: document.kind, id: document.id } },
  );
}

/**
 * A document with its body, as JSON text; undefined where there is none.
 *
 * @throws {QuarkError} `invalid_input`; `unsupported` as {@link putDocument}
 * @example
 * const found = await findDocument(store, 'digits', 'report', 'baseline');
 */
export async function findDocument(
  store: Store,
  project: string,
  kind: string,
  id: string,
): Promise<StoredDocument | undefined> {
  checkAddress(store, project, kind, id);
  if (store.findDocument !== undefined) return store.findDocument(project, kind, id);
  const notes = notesOf(store);
  const projectId = await findProject(store, project);
  return projectId === undefined ? undefined : readDocument(notes, projectId, kind, id);
}

/**
 * The documents of a project without their bodies, ordered by kind and id; none of a project that is not there.
 *
 * @param kind only those of this kind
 * @throws {QuarkError} `invalid_input`; `unsupported` as {@link putDocument}
 * @example
 * for (const { id, name, updatedAtMs } of await listDocuments(store, 'digits', 'report')) console.log(id, name, updatedAtMs);
 */
export async function listDocuments(
  store: Store,
  project: string,
  kind?: string,
): Promise<readonly DocumentHeader[]> {
  checkStore(store);
  checkStorable('project', project);
  if (kind !== undefined) checkDocumentKind('kind', kind);
  if (store.listDocuments !== undefined) return store.listDocuments(project, kind);
  const notes = notesOf(store);
  const projectId = await findProject(store, project);
  if (projectId === undefined) return [];
  const found = await notes.list(headerPrefix(projectId, kind));
  return found
    .map(({ text }) => parseHeader(text).document)
    .sort((a, b) => compareText(a.kind, b.kind) || compareText(a.id, b.id));
}

/**
 * Deletes a document for good.
 *
 * @param expected only if that is its revision now
 * @returns whether it was there, and as expected
 * @throws {QuarkError} `invalid_input`; `unsupported` as {@link putDocument}
 * @throws {SessionStoreError} `read_only`, `unauthorised`
 * @example
 * await deleteDocument(store, 'digits', 'report', 'baseline');
 */
export async function deleteDocument(
  store: Store,
  project: string,
  kind: string,
  id: string,
  expected?: number,
): Promise<boolean> {
  checkAddress(store, project, kind, id);
  if (expected !== undefined) checkCount('expected', expected);
  if (store.deleteDocument !== undefined) return store.deleteDocument(project, kind, id, expected);
  const notes = notesOf(store);
  const projectId = await findProject(store, project);
  return projectId === undefined ? false : dropDocument(notes, projectId, kind, id, expected);
}

function checkAddress(store: Store, project: string, kind: string, id: string): void {
  checkStore(store);
  checkStorable('project', project);
  checkDocumentKind('kind', kind);
  checkId('id', id);
}

function notesOf({ notes, uri }: Store): StoreNotes {
  if (notes !== undefined) return notes;
  throw new QuarkError(
    'unsupported',
    `The store ${uri} has no documents: it has neither notes nor calls for them.`,
    { details: { uri } },
  );
}

async function findProject(store: Store, name: string): Promise<string | undefined> {
  return (await store.listProjects()).find((one) => one.name === name)?.id;
}

function headerPrefix(projectId: string, kind?: string): string {
  return `${documentPrefix(projectId)}header/${kind === undefined ? '' : `${kind}/`}`;
}

function headerName(projectId: string, kind: string, id: string): string {
  return `${headerPrefix(projectId, kind)}${id}`;
}

function parseHeader(note: string): StoredHeader {
  const stored: unknown = JSON.parse(note);
  const { bodyName, document } = stored as StoredHeader;
  return { bodyName, document: copyShape(documentHeaderShape, document) };
}

/** Undefined: somebody else was faster, and nothing was expected. */
async function tryToPut(
  notes: StoreNotes,
  projectId: string,
  { author = null, body, id, kind, name }: NewDocument,
  expected: number | undefined,
): Promise<DocumentUpdate | undefined> {
  const at = headerName(projectId, kind, id);
  const before = await notes.read(at);
  const known = before === undefined ? undefined : parseHeader(before);
  const conflict = async (): Promise<DocumentUpdate> => ({
    kind: 'conflict',
    document: (await readDocument(notes, projectId, kind, id)) ?? null,
  });
  if (expected !== undefined && (known?.document.revision ?? 0) !== expected) return conflict();
  if (known === undefined) await checkRoom(notes, projectId);
  const nowMs = systemClock.now();
  const bodyName = `${documentPrefix(projectId)}body/${kind}/${id}/${createId('b', nowMs)}`;
  const header: DocumentHeader = {
    kind,
    id,
    name,
    author,
    revision: (known?.document.revision ?? 0) + 1,
    createdAtMs: known?.document.createdAtMs ?? nowMs,
    updatedAtMs: nowMs,
    sizeBytes: documentBytes(body),
  };
  await notes.write(bodyName, body);
  const stored: StoredHeader = { document: header, bodyName };
  if (!(await notes.write(at, JSON.stringify(stored), before ?? null))) {
    await notes.write(bodyName, null);
    return expected === undefined ? undefined : conflict();
  }
  if (known !== undefined) await notes.write(known.bodyName, null);
  return { kind: 'updated', document: copyShape(documentShape, { ...header, body }) };
}

async function checkRoom(notes: StoreNotes, projectId: string): Promise<void> {
  const { length } = await notes.list(headerPrefix(projectId));
  if (length < MAX_PROJECT_DOCUMENTS) return;
  throw new SessionStoreError(
    'rejected',
    `The project has ${length} documents, which is as many as a project can have. Delete some first.`,
    { details: { documents: length, max: MAX_PROJECT_DOCUMENTS } },
  );
}

async function readDocument(
  notes: StoreNotes,
  projectId: string,
  kind: string,
  id: string,
): Promise<StoredDocument | undefined> {
  const at = headerName(projectId, kind, id);
  let last: string | undefined;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const note = await notes.read(at);
    if (note === undefined) return undefined;
    const { bodyName, document } = parseHeader(note);
    const body = await notes.read(bodyName);
    if (body !== undefined) return copyShape(documentShape, { ...document, body });
    // A change between the two has a header of its own. The same header again: its body is gone.
    if (note === last) break;
    last = note;
  }
  throw new SessionStoreError('corrupt', `The body of the ${kind} ${show(id)} is missing.`, {
    details: { kind, id },
  });
}

async function dropDocument(
  notes: StoreNotes,
  projectId: string,
  kind: string,
  id: string,
  expected?: number,
): Promise<boolean> {
  const at = headerName(projectId, kind, id);
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const note = await notes.read(at);
    if (note === undefined) return false;
    const { bodyName, document } = parseHeader(note);
    if (expected !== undefined && document.revision !== expected) return false;
    if (!(await notes.write(at, null, note))) continue;
    await notes.write(bodyName, null);
    return true;
  }
  return false;
}
