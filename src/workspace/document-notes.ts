/** Documents in the notes of a store, as one user sees them: those of the project, and the private ones of that user. */
import { systemClock } from '../base/clock.ts';
import { QuarkError, SessionStoreError, show } from '../base/errors.ts';
import { createId } from '../base/ids.ts';
import {
  documentBytes,
  documentShape,
  type DocumentHeader,
  type NewDocument,
  type StoredDocument,
} from '../records/shapes/document.ts';
import { copyShape } from '../schema/shape.ts';
import { documentPrefix, type DocumentCalls, type DocumentUpdate } from '../store/documents.ts';
import {
  documentNotes,
  parseHeader,
  readDocumentNote,
  type StoredHeader,
} from '../store/document-notes.ts';
import { compareText } from '../store/run-rules.ts';
import type { Store, StoreNotes } from '../store/store.ts';

/** Most documents of a project, of all kinds together; of the private ones of a user, as many again. */
export const MAX_PROJECT_DOCUMENTS = 1000;

/** Attempts while others change the same document. */
const MAX_ATTEMPTS = 16;

/** Who reads and writes documents. */
export type DocumentUser = {
  readonly userId: string;
  /** Whether private documents of others are in sight. */
  readonly isAdmin: boolean;
};

/** Everybody who opens a store without a service may read all of it. A service calls this user by the same name. */
const LOCAL: DocumentUser = { userId: 'local', isAdmin: true };

/** The documents of a project that everybody sees, or the private ones of a user. */
type Shelf = { readonly projectId: string; readonly owner: string | undefined };

/** The calls of {@link DocumentCalls} over the notes of a store. @throws {QuarkError} `unsupported` where it has none */
export function documentsInNotes(store: Store, user: DocumentUser = LOCAL): DocumentCalls {
  const { uri } = store;
  if (store.notes === undefined)
    throw new QuarkError(
      'unsupported',
      `The store ${uri} has no documents: it has neither notes nor calls for them.`,
      { details: { uri } },
    );
  const { notes } = store;
  const shelves = async (project: string, owner?: string): Promise<readonly Shelf[]> => {
    const projectId = await findProject(store, project);
    if (projectId === undefined) return [];
    if (owner === undefined || owner === user.userId)
      return [user.userId, owner].map((one) => ({ projectId, owner: one }));
    return user.isAdmin ? [{ projectId, owner }] : [];
  };
  return {
    putDocument: (project, document, expected) =>
      putInProject({ store, notes, user }, project, document, expected),
    findDocument: async (project, kind, id, owner) => {
      for (const shelf of await shelves(project, owner)) {
        const found = await readDocument(notes, shelf, kind, id);
        if (found !== undefined) return seenBy(user, shelf.owner, found);
      }
      return undefined;
    },
    listDocuments: async (project, kind) => {
      const projectId = await findProject(store, project);
      if (projectId === undefined) return [];
      return listAll(notes, user, projectId, kind);
    },
    deleteDocument: async (project, kind, id, expected, owner) => {
      for (const shelf of await shelves(project, owner))
        if ((await notes.read(`${headerPrefix(shelf, kind)}${id}`)) !== undefined)
          return dropDocument(notes, shelf, kind, id, expected);
      return false;
    },
  };
}

async function findProject(store: Store, name: string): Promise<string | undefined> {
  return (await store.listProjects()).find((one) => one.name === name)?.id;
}

function headerPrefix({ owner, projectId }: Shelf, kind?: string): string {
  return `${documentNotes('header', projectId, owner)}${kind === undefined ? '' : `${kind}/`}`;
}

/** A document says of private ones of others whose they are. */
function seenBy<D extends DocumentHeader>(
  { userId }: DocumentUser,
  owner: string | undefined,
  document: D,
): D {
  return owner === undefined || owner === userId ? document : { ...document, owner };
}

async function listAll(
  notes: StoreNotes,
  user: DocumentUser,
  projectId: string,
  kind: string | undefined,
): Promise<readonly DocumentHeader[]> {
  const { isAdmin, userId } = user;
  const found = await Promise.all([
    notes.list(headerPrefix({ projectId, owner: undefined }, kind)),
    notes.list(
      isAdmin
        ? `${documentPrefix(projectId)}private-header/`
        : headerPrefix({ projectId, owner: userId }, kind),
    ),
  ]);
  return found
    .flat()
    .flatMap(({ name, text }) => {
      const at = readDocumentNote(name);
      if (at === undefined || (kind !== undefined && at.kind !== kind)) return [];
      return [seenBy(user, at.owner, parseHeader(text).document)];
    })
    .sort(
      (a, b) =>
        compareText(a.kind, b.kind) ||
        compareText(a.id, b.id) ||
        compareText(a.owner ?? '', b.owner ?? ''),
    );
}

type NotesTarget = {
  readonly store: Store;
  readonly notes: StoreNotes;
  readonly user: DocumentUser;
};

async function putInProject(
  { notes, store, user }: NotesTarget,
  project: string,
  document: NewDocument,
  expected: number | undefined,
): Promise<DocumentUpdate> {
  const projectId = await findProject(store, project);
  if (projectId === undefined)
    throw new SessionStoreError(
      'missing',
      `There is no project ${show(project)} in ${store.uri}.`,
      {
        details: { project },
      },
    );
  const shelf = await shelfFor(notes, user, projectId, document);
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const done = await tryToPut(notes, shelf, document, expected);
    if (done === undefined) continue;
    // The project may have been removed since it was looked up: nothing is left behind.
    if (done.kind === 'updated' && (await findProject(store, project)) !== projectId)
      await dropDocument(notes, shelf, document.kind, document.id);
    return done;
  }
  throw new SessionStoreError(
    'busy',
    `The document ${show(document.id)} was changed again and again meanwhile. Try again.`,
    { details: { project, kind: document.kind, id: document.id } },
  );
}

/** A program that does not know of private documents and changes one leaves it private. */
async function shelfFor(
  notes: StoreNotes,
  { userId }: DocumentUser,
  projectId: string,
  { id, kind, visibility }: NewDocument,
): Promise<Shelf> {
  const own: Shelf = { projectId, owner: userId };
  const isOwn =
    visibility === undefined
      ? (await notes.read(`${headerPrefix(own, kind)}${id}`)) !== undefined
      : visibility === 'private';
  return isOwn ? own : { projectId, owner: undefined };
}

/** Undefined: somebody else was faster, and nothing was expected. */
async function tryToPut(
  notes: StoreNotes,
  shelf: Shelf,
  { author = null, body, id, kind, name }: NewDocument,
  expected: number | undefined,
): Promise<DocumentUpdate | undefined> {
  const at = `${headerPrefix(shelf, kind)}${id}`;
  const before = await notes.read(at);
  const known = before === undefined ? undefined : parseHeader(before);
  const conflict = async (): Promise<DocumentUpdate> => ({
    kind: 'conflict',
    document: (await readDocument(notes, shelf, kind, id)) ?? null,
  });
  if (expected !== undefined && (known?.document.revision ?? 0) !== expected) return conflict();
  if (known === undefined) await checkRoom(notes, shelf);
  const nowMs = systemClock.now();
  const bodyName = `${documentNotes('body', shelf.projectId, shelf.owner)}${kind}/${id}/${createId('b', nowMs)}`;
  const header: DocumentHeader = {
    kind,
    id,
    name,
    ...(shelf.owner === undefined ? {} : { visibility: 'private' }),
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

async function checkRoom(notes: StoreNotes, shelf: Shelf): Promise<void> {
  const { length } = await notes.list(headerPrefix(shelf));
  if (length < MAX_PROJECT_DOCUMENTS) return;
  const whose = shelf.owner === undefined ? '' : ' private';
  throw new SessionStoreError(
    'rejected',
    `The project has ${length}${whose} documents, which is as many as a project can have. Delete some first.`,
    { details: { documents: length, max: MAX_PROJECT_DOCUMENTS } },
  );
}

async function readDocument(
  notes: StoreNotes,
  shelf: Shelf,
  kind: string,
  id: string,
): Promise<StoredDocument | undefined> {
  const at = `${headerPrefix(shelf, kind)}${id}`;
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
  shelf: Shelf,
  kind: string,
  id: string,
  expected?: number,
): Promise<boolean> {
  const at = `${headerPrefix(shelf, kind)}${id}`;
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
