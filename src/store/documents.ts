/**
 * Documents of a project, as a store offers them. Stores with {@link StoreNotes} need no calls for them: their documents are notes, so
 * that an earlier release opens the same database. `src/workspace/documents.ts` reads and writes them.
 */
import {
  documentHeaderShape,
  type DocumentHeader,
  type NewDocument,
  type StoredDocument,
} from '../records/shapes/document.ts';
import { copyShape } from '../schema/shape.ts';

export type { DocumentHeader, NewDocument, StoredDocument } from '../records/shapes/document.ts';

/** Outcome of storing a document. */
export type DocumentUpdate =
  | { readonly kind: 'updated'; readonly document: StoredDocument }
  /** The revision is another one: `document` is the stored document, null where it was deleted. */
  | { readonly kind: 'conflict'; readonly document: StoredDocument | null };

/** Calls about the documents of a project, of stores that have no notes: one that talks to a service, or one that a service hands out. */
export interface DocumentCalls {
  /**
   * Stores a document. With `expected`, the revision that it has now (0: there is none), only if that is so.
   * @throws {SessionStoreError} `missing` when there is no such project
   */
  readonly putDocument: (
    project: string,
    document: NewDocument,
    expected?: number,
  ) => Promise<DocumentUpdate>;
  /** A document with its body. `owner`: of this user's private ones. */
  readonly findDocument: (
    project: string,
    kind: string,
    id: string,
    owner?: string,
  ) => Promise<StoredDocument | undefined>;
  /** The documents of a project without their bodies, of a kind or of all, by kind and id. None of a project that is not there. */
  readonly listDocuments: (project: string, kind?: string) => Promise<readonly DocumentHeader[]>;
  /** Deletes a document for good; returns whether it was there. With `expected`, only if that is its revision. */
  readonly deleteDocument: (
    project: string,
    kind: string,
    id: string,
    expected?: number,
    owner?: string,
  ) => Promise<boolean>;
}

/** How the kinds of documents begin that were deleted and can be restored. They stay in their store. */
export const DELETED_KIND = 'deleted-';

/** How the names of all notes begin that hold documents. */
export const DOCUMENT_NOTES = 'documents/';

/** How the names of the notes begin that hold the documents of a project. They go with the project. */
export function documentPrefix(projectId: string): string {
  return `${DOCUMENT_NOTES}${projectId}/`;
}

/** What a note of a document is. */
export type DocumentNote = {
  readonly projectId: string;
  /** The user whose private document it is. */
  readonly owner: string | undefined;
  readonly part: 'header' | 'body';
  readonly kind: string;
  readonly id: string;
};

/** How the name of a note begins. Private documents have names of their own, which no reader of shared ones lists. */
export function documentNotes(
  part: DocumentNote['part'],
  projectId: string,
  owner: string | undefined,
): string {
  return `${documentPrefix(projectId)}${owner === undefined ? part : `private-${part}/${owner}`}/`;
}

const NOTE_NAME =
  /^documents\/([^/]+)\/(?:private-(header|body)\/([^/]+)|(header|body))\/([^/]+)\/([^/]+)/;

/** Reads the name of a note; undefined where it is of no document. */
export function readDocumentNote(name: string): DocumentNote | undefined {
  const [, projectId, ownPart, owner, part = ownPart, kind, id] = NOTE_NAME.exec(name) ?? [];
  if (projectId === undefined || kind === undefined || id === undefined) return undefined;
  return part === 'header' || part === 'body' ? { projectId, owner, part, kind, id } : undefined;
}

/** A header as it is stored: of a document, with the name of the note that has its body. */
export type StoredHeader = { readonly document: DocumentHeader; readonly bodyName: string };

/** Reads a stored header. @throws {SyntaxError} where it is no JSON */
export function parseHeader(note: string): StoredHeader {
  const stored: unknown = JSON.parse(note);
  const { bodyName, document } = stored as StoredHeader;
  return { bodyName, document: copyShape(documentHeaderShape, document) };
}
