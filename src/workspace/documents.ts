/**
 * Documents of a project: saved views, reports and other things that people write beside their runs. Where a store has notes, each
 * document is two of them: its header, which a list reads, and its body under a name of its own that the header tells. So no layout of
 * a database changes, an earlier release opens it, and a change is one comparison of the header. `docs/decisions/` says why.
 */
import { checkCount } from '../base/assert.ts';
import { checkId, checkStorable } from '../base/names.ts';
import {
  checkDocumentKind,
  newDocumentShape,
  type DocumentHeader,
  type NewDocument,
  type StoredDocument,
} from '../records/shapes/document.ts';
import { checkStore } from '../store/whole-store.ts';
import { checkShape } from '../schema/shape.ts';
import type { DocumentCalls, DocumentUpdate } from '../store/documents.ts';
import type { Store } from '../store/store.ts';
import { documentsInNotes, type DocumentUser } from './document-notes.ts';

/**
 * Stores a document of a project, as a whole.
 *
 * @param project name of a project that is there
 * @param document its `kind` (`view`, `report`, ...), its `id`, which is unique among those of the kind, what people call it (`name`), and
 *   `body`: the JSON text of an object, at most 256 KiB of UTF-8. With `visibility: 'private'`, a service shows it to the user of the key
 *   alone, and to the owner of the space with a key of scope `admin`; its id may be that of another user's. A store without a service has
 *   one user: everybody who opens it reads all of it. Default: as the stored document is, and `project` for a new one
 * @param expected the revision that the stored document must have, 0 for a new document; with any other revision nothing is stored.
 *   Without it, a stored document is replaced
 * @returns the document as stored, or what somebody else stored meanwhile
 * @throws {QuarkError} `invalid_input` naming the field; `unsupported` where the store has no documents, as an earlier service
 * @throws {SessionStoreError} `missing` when there is no such project; `rejected` when it has {@link MAX_PROJECT_DOCUMENTS} already;
 *   `read_only`, `unauthorised`
 * @example
 * ```js
 * import { createMemoryStore, TrainingSession } from 'quark-sdk';
 * import { putDocument } from 'quark-sdk/workspace';
 *
 * const store = createMemoryStore();
 * await TrainingSession.run({ project: 'digits', storage: store }, () => {}); // a project is there with its first run
 * const body = JSON.stringify({ text: 'The baseline.' });
 * const first = await putDocument(store, 'digits', { kind: 'card', id: 'baseline', name: 'Baseline', body }, 0);
 * console.log(first.kind, first.document.revision); // updated 1
 * const again = await putDocument(store, 'digits', { kind: 'card', id: 'baseline', name: 'Mine', body }, 0);
 * console.log(again.kind, again.document.name); // conflict Baseline
 * ```
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
  return documentCallsOf(store).putDocument(project, document, expected);
}

/**
 * A document with its body, as JSON text; undefined where there is none. Where a private document of the reader has the id of one of the
 * project, it is the private one.
 *
 * @param owner of this user's private documents, as a list says it to admins
 * @throws {QuarkError} `invalid_input`; `unsupported` as {@link putDocument}
 * @example
 * ```js
 * import { createMemoryStore, TrainingSession } from 'quark-sdk';
 * import { findDocument, putDocument } from 'quark-sdk/workspace';
 *
 * const store = createMemoryStore();
 * await TrainingSession.run({ project: 'digits', storage: store }, () => {});
 * await putDocument(store, 'digits', { kind: 'card', id: 'baseline', name: 'Baseline', body: '{"text":"The baseline."}' });
 * const found = await findDocument(store, 'digits', 'card', 'baseline');
 * console.log(JSON.parse(found.body).text); // The baseline.
 * ```
 */
export async function findDocument(
  store: Store,
  project: string,
  kind: string,
  id: string,
  owner?: string,
): Promise<StoredDocument | undefined> {
  checkAddress(store, project, kind, id, owner);
  return documentCallsOf(store).findDocument(project, kind, id, owner);
}

/**
 * The documents of a project without their bodies, ordered by kind and id; none of a project that is not there.
 *
 * @param kind only those of this kind
 * @throws {QuarkError} `invalid_input`; `unsupported` as {@link putDocument}
 * @example
 * ```js
 * import { createMemoryStore, TrainingSession } from 'quark-sdk';
 * import { listDocuments, putDocument } from 'quark-sdk/workspace';
 *
 * const store = createMemoryStore();
 * await TrainingSession.run({ project: 'digits', storage: store }, () => {});
 * await putDocument(store, 'digits', { kind: 'card', id: 'baseline', name: 'Baseline', body: '{}' });
 * const documents = await listDocuments(store, 'digits', 'card');
 * for (const { id, name, revision } of documents) console.log(id, name, revision); // baseline Baseline 1
 * ```
 */
export async function listDocuments(
  store: Store,
  project: string,
  kind?: string,
): Promise<readonly DocumentHeader[]> {
  checkStore(store);
  checkStorable('project', project);
  if (kind !== undefined) checkDocumentKind('kind', kind);
  return documentCallsOf(store).listDocuments(project, kind);
}

/**
 * Deletes a document for good.
 *
 * @param expected only if that is its revision now
 * @param owner as for {@link findDocument}
 * @returns whether it was there, and as expected
 * @throws {QuarkError} `invalid_input`; `unsupported` as {@link putDocument}
 * @throws {SessionStoreError} `read_only`, `unauthorised`
 * @example
 * ```js
 * import { createMemoryStore, TrainingSession } from 'quark-sdk';
 * import { deleteDocument, putDocument } from 'quark-sdk/workspace';
 *
 * const store = createMemoryStore();
 * await TrainingSession.run({ project: 'digits', storage: store }, () => {});
 * await putDocument(store, 'digits', { kind: 'card', id: 'baseline', name: 'Baseline', body: '{}' });
 * console.log(await deleteDocument(store, 'digits', 'card', 'baseline')); // true
 * console.log(await deleteDocument(store, 'digits', 'card', 'baseline')); // false
 * ```
 */
export async function deleteDocument(
  store: Store,
  project: string,
  kind: string,
  id: string,
  expected?: number,
  owner?: string,
): Promise<boolean> {
  checkAddress(store, project, kind, id, owner);
  if (expected !== undefined) checkCount('expected', expected);
  return documentCallsOf(store).deleteDocument(project, kind, id, expected, owner);
}

function checkAddress(
  store: Store,
  project: string,
  kind: string,
  id: string,
  owner: string | undefined,
): void {
  checkStore(store);
  checkStorable('project', project);
  checkDocumentKind('kind', kind);
  checkId('id', id);
  if (owner !== undefined) checkId('owner', owner);
}

/** The store's own calls; over its notes where it has none. @param user who asks; default: the user of this machine */
export function documentCallsOf(store: Store, user?: DocumentUser): DocumentCalls {
  const { deleteDocument: drop, findDocument: find, listDocuments: list, putDocument: put } = store;
  return put && find && list && drop
    ? { putDocument: put, findDocument: find, listDocuments: list, deleteDocument: drop }
    : documentsInNotes(store, user);
}
