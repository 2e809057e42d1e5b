/** Documents of projects in a `.quark` file: blobs that say what they are, which readers that do not know them store as blobs. */
import { sha256 } from '@noble/hashes/sha2.js';
import { isQuarkError } from '../../base/errors.ts';
import { toHex } from '../../base/hex.ts';
import {
  documentHeaderShape,
  type DocumentHeader,
  type StoredDocument,
} from '../../records/shapes/document.ts';
import { shapeToJson } from '../../schema/shape.ts';
import { DELETED_KIND } from '../../store/document-notes.ts';
import type { Store } from '../../store/store.ts';
import { findDocument, listDocuments } from '../../workspace/documents.ts';

/** Which documents a file has: those that all readers of a project see, the private ones as well, or none. */
export const EXPORTED_DOCUMENTS = ['project', 'all', 'none'] as const;

/** One of {@link EXPORTED_DOCUMENTS}. */
export type ExportedDocuments = (typeof EXPORTED_DOCUMENTS)[number];

/** A document as a part of the file. */
export type DocumentPart = { readonly meta: object; readonly body: Uint8Array<ArrayBuffer> };

/** The documents of a project, in the order of their kinds and ids. */
export async function* documentParts(
  store: Store,
  project: string,
  which: ExportedDocuments,
  onProblem?: (reason: string) => void,
): AsyncGenerator<DocumentPart> {
  if (which === 'none') return;
  for (const header of await listed(store, project)) {
    if (header.kind.startsWith(DELETED_KIND)) continue;
    // A private document of somebody else is not the exporter's to hand on.
    if (header.owner !== undefined || (which === 'project' && header.visibility === 'private'))
      continue;
    const found = await read(store, project, header, onProblem);
    if (found === undefined) continue;
    const body = new TextEncoder().encode(found.body);
    const document = shapeToJson(documentHeaderShape, found);
    yield { meta: { sha256: toHex(sha256(body)), project, document }, body };
  }
}

async function read(
  store: Store,
  project: string,
  { id, kind }: DocumentHeader,
  onProblem: ((reason: string) => void) | undefined,
): Promise<StoredDocument | undefined> {
  try {
    return await findDocument(store, project, kind, id);
  } catch (error) {
    if (!isQuarkError(error, 'store_failed') || error.details['reason'] !== 'corrupt') throw error;
    onProblem?.(error.message);
    return undefined;
  }
}

/** None of a store that has no documents. */
async function listed(store: Store, project: string): Promise<readonly DocumentHeader[]> {
  try {
    return await listDocuments(store, project);
  } catch (error) {
    if (isQuarkError(error, 'unsupported')) return [];
    throw error;
  }
}
