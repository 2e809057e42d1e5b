/** The routes of what people write beside runs: documents of a project, and silences. Part of the table in `routes.ts`. */
import { checkId } from '../base/names.ts';
import { checkDocumentKind, MAX_DOCUMENT_BYTES } from '../records/shapes/document.ts';
import {
  count,
  countOf,
  json,
  jsonOf,
  message,
  read,
  textOf,
  write,
  type Parameter,
  type Route,
} from './route-parts.ts';
import { SILENCE_ROUTES } from './silence-routes.ts';
import { object, schemaFor, type Schema } from './schemas.ts';

/** Most bytes of a message with a document: a character of its body takes six as an escape. */
const MAX_DOCUMENT_MESSAGE_BYTES = 6 * MAX_DOCUMENT_BYTES + 16 * 1024;

const documentOrNull: Schema = { oneOf: [schemaFor('Document'), { type: 'null' }] };

const kind: Parameter<string> = {
  ...textOf('Only documents of this kind.'),
  read: checkDocumentKind,
};

const owner: Parameter<string> = {
  ...textOf('Of the private documents of this user, as a list names it to the owner of the space.'),
  read: checkId,
};

const DOCUMENT_ROUTES = {
  'GET /projects/:name/documents': read(
    'getDocuments',
    'The documents of a project without their bodies, by kind and id',
    json({ documents: ['DocumentHeader'] }),
    { query: { kind } },
  ),
  'GET /projects/:name/documents/:kind/:id': read(
    'getDocument',
    'A document with its body; null where there is none',
    json({ document: documentOrNull }),
    { query: { owner } },
  ),
  'PUT /projects/:name/documents': write(
    'putDocument',
    'Stores a document as a whole; with `expected`, only if that is its revision now, 0 for none',
    json({ kind: { enum: ['updated', 'conflict'] }, document: documentOrNull }),
    {
      body: message(
        jsonOf(object({ document: 'NewDocument', expected: count }, ['expected'])),
        MAX_DOCUMENT_MESSAGE_BYTES,
        MAX_DOCUMENT_MESSAGE_BYTES,
      ),
    },
  ),
  'DELETE /projects/:name/documents/:kind/:id': write(
    'deleteDocument',
    'Deletes a document for good',
    json({ deleted: { type: 'boolean' } }),
    { query: { expected: countOf('Only if this is its revision now.'), owner } },
  ),
} as const satisfies Readonly<Record<string, Route>>;

/** See the top of this file. */
export const REMARK_ROUTES = { ...SILENCE_ROUTES, ...DOCUMENT_ROUTES } as const;
