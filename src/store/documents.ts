/**
 * Documents of a project, as a store offers them. Stores with {@link StoreNotes} need no calls for them: their documents are notes, so
 * that an earlier release opens the same database. `src/workspace/documents.ts` reads and writes them.
 */
import type { DocumentHeader, NewDocument, StoredDocument } from '../records/shapes/document.ts';

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

/** How the names of all notes begin that hold documents. */
export const DOCUMENT_NOTES = 'documents/';

/** How the names of the notes begin that hold the documents of a project. They go with the project. */
export function documentPrefix(projectId: string): string {
  return `${DOCUMENT_NOTES}${projectId}/`;
}
