/** The notes that documents are: their names, and the form of headers. For stores that count them and for those who read them. */
import { documentHeaderShape, type DocumentHeader } from '../records/shapes/document.ts';
import { copyShape } from '../schema/shape.ts';
import { documentPrefix } from './documents.ts';

/** How the kinds of documents begin that were deleted and can be restored. They stay in their store. */
export const DELETED_KIND = 'deleted-';

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
