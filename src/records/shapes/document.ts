/** Documents of a project: saved views, reports and the like, which people write and programs as well. */
import { invalidInput } from '../../base/errors.ts';
import { checkId, checkLabel, checkStorable } from '../../base/names.ts';
import {
  checkShape,
  count,
  defineShape,
  instantMs,
  literal,
  nullable,
  optional,
  text,
  type Shape,
  type ValuesOf,
} from '../../schema/shape.ts';

/** Longest body of a document, in bytes of UTF-8: 256 KiB. */
export const MAX_DOCUMENT_BYTES: number = 256 * 1024;

/** Who sees a document: everybody who sees its project, or the user who wrote it alone. */
export const DOCUMENT_VISIBILITIES = ['project', 'private'] as const;

/** One of {@link DOCUMENT_VISIBILITIES}. */
export type DocumentVisibility = (typeof DOCUMENT_VISIBILITIES)[number];

const KIND = /^[a-z][a-z0-9-]{0,31}$/;

/** The kind of a document, such as `view`. @throws {QuarkError} `invalid_input` */
export function checkDocumentKind(field: string, value: unknown): string {
  if (typeof value !== 'string' || !KIND.test(value))
    throw invalidInput(field, value, 'a lowercase letter, then at most 31 of a-z, 0-9 and "-"');
  return value;
}

/** The JSON text of an object that fits into a document. @throws {QuarkError} `invalid_input` */
function checkBody(field: string, value: unknown): string {
  const body = checkStorable(field, value);
  const bytes = documentBytes(body);
  if (bytes > MAX_DOCUMENT_BYTES)
    throw invalidInput(`${field}.bytes`, bytes, `at most ${MAX_DOCUMENT_BYTES} bytes of UTF-8`);
  if (!isJsonObject(body)) throw invalidInput(field, value, 'the JSON text of an object');
  return body;
}

/** Bytes of a body in UTF-8. */
export function documentBytes(body: string): number {
  return new TextEncoder().encode(body).length;
}

function isJsonObject(body: string): boolean {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

const named = {
  /** What it is: `view`, `report`, ... */
  kind: text({ doc: 'What it is: view, report, ...', check: checkDocumentKind }),
  /** Unique among the documents of this kind in the project. */
  id: text({ doc: 'Unique among the documents of this kind in the project.', check: checkId }),
  /** What people call it; several documents may have the same name. */
  name: text({ doc: 'What people call it.', check: checkLabel }),
};

const author = nullable(text({ doc: 'Who wrote it last; null for nobody.', check: checkLabel }));
const body = text({ doc: 'JSON of an object, as text.', check: checkBody });

const visibility = optional(
  literal(DOCUMENT_VISIBILITIES, {
    doc: 'private: only the user who wrote it, and the owner of the space with a key of scope admin. Default: project.',
  }),
);

const headerFields = {
  ...named,
  /** `private`: only the user who wrote it sees it, and admins of the space. Missing: everybody who sees the project. */
  visibility,
  /** Id of the user whose private document it is, where that is somebody else than the reader. */
  owner: optional(
    text({ doc: 'User whose private document it is, if that is not the reader.', check: checkId }),
  ),
  /** Who wrote it last: of a service, the user of the key; null where nobody is named. */
  author,
  /** Counted from 1 on. */
  revision: count({ doc: 'Counted from 1 on.', min: 1 }),
  /** UTC epoch milliseconds. */
  createdAtMs: instantMs(),
  /** UTC epoch milliseconds. */
  updatedAtMs: instantMs(),
  /** Of the body, in bytes of UTF-8. */
  sizeBytes: count({ doc: 'Of the body, in bytes of UTF-8.' }),
};

const documentFields = { ...headerFields, body };
const newDocumentFields = { ...named, visibility, author: optional(author), body };

/** What a list says of a document: all but its body. */
export const documentHeaderShape: Shape<typeof headerFields> = defineShape(
  'document',
  headerFields,
);

/** A stored document. */
export const documentShape: Shape<typeof documentFields> = defineShape('document', documentFields);

/** A document before it is stored. */
export const newDocumentShape: Shape<typeof newDocumentFields> = defineShape(
  'document',
  newDocumentFields,
);

/** Checks a document that was stored. @throws {QuarkError} `invalid_input` naming the field */
export function checkStoredDocument(document: StoredDocument): void {
  checkShape(documentShape, document, 'document.');
}

/** What a list says of a document: all but its body. */
export type DocumentHeader = ValuesOf<typeof headerFields>;

/** A document of a project, with its body as JSON text. */
export type StoredDocument = ValuesOf<typeof documentFields>;

/** A document before it is stored. */
export type NewDocument = ValuesOf<typeof newDocumentFields>;
