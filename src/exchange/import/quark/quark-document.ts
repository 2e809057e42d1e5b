/** Documents of projects out of a `.quark` file: what the store has already stays as it is. */
import { isQuarkError, messageOf } from '../../../base/errors.ts';
import { checkLabel } from '../../../base/names.ts';
import type { PartEntry } from '../../../codecs/quark/quark-file.ts';
import {
  documentHeaderShape,
  MAX_DOCUMENT_BYTES,
  type DocumentHeader,
} from '../../../records/shapes/document.ts';
import { checkShape, shapeFromJson } from '../../../schema/shape.ts';
import { putDocument } from '../../../workspace/documents.ts';
import type { ImportContext } from '../sink/importer.ts';
import { fieldOf, partLocationOf, type QuarkParts } from './quark-parts.ts';

/** A part that holds a document. */
export type DocumentEntry = {
  readonly parts: QuarkParts;
  readonly entry: PartEntry;
  readonly meta: unknown;
};

/**
 * Stores a document where there is none of its kind and id. Its times and revision are those of the import.
 *
 * @throws {Error} when the part holds no document; {@link QuarkError} `invalid_input`; {@link SessionStoreError} as `putDocument`
 */
export async function restoreDocument(
  { entry, meta, parts }: DocumentEntry,
  { project: asked, store }: ImportContext['target'],
  problem: (location: string | null, reason: string) => void,
): Promise<void> {
  const at = partLocationOf(entry);
  const header = headerIn(meta);
  const { author, id, kind, name, visibility } = header;
  const project = asked ?? checkLabel('project', fieldOf(meta, 'project'));
  if (entry.bodyBytes > MAX_DOCUMENT_BYTES)
    throw new Error(`it has ${entry.bodyBytes} bytes; a document may have ${MAX_DOCUMENT_BYTES}`);
  const bytes = await parts.body(entry);
  if (bytes === undefined) return;
  const body = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  const document = { kind, id, name, author, body };
  const done = await putDocument(
    store,
    project,
    visibility === undefined ? document : { ...document, visibility },
    0,
  ).catch((error: unknown) => {
    // The runs of the file are imported all the same.
    const reason = isQuarkError(error, 'store_failed') ? error.details['reason'] : undefined;
    throw reason === 'missing' || reason === 'rejected' ? new Error(messageOf(error)) : error;
  });
  const stored = done.kind === 'conflict' ? done.document : null;
  if (stored !== null && (stored.body !== body || stored.name !== name))
    problem(
      at,
      `The ${kind} "${id}" of the project is there with other content, and stays as it is.`,
    );
}

function headerIn(meta: unknown): DocumentHeader {
  const header = shapeFromJson(
    documentHeaderShape,
    fieldOf(meta, 'document'),
    (field) => new Error(`its description has no sensible ${field}`),
  );
  checkShape(documentHeaderShape, header, 'document.');
  return header;
}
