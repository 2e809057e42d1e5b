/** Routes of the documents of a project. */
import { checkCount } from '../../base/assert.ts';
import {
  documentHeaderShape,
  documentShape,
  newDocumentShape,
} from '../../records/shapes/document.ts';
import { shapeToJson } from '../../schema/shape.ts';
import { decoder } from '../../wire/wire.ts';
import {
  deleteDocument,
  findDocument,
  listDocuments,
  putDocument,
} from '../../workspace/documents.ts';
import type { StoreHandlers } from './store-routes.ts';

const decodeNew = decoder(newDocumentShape);

export const documentHandlers = {
  'GET /projects/:name/documents': async ({ scope, params: { name }, query: { kind } }) => {
    const found = await listDocuments(scope.store, name, kind);
    return { documents: found.map((one) => shapeToJson(documentHeaderShape, one)) };
  },

  'GET /projects/:name/documents/:kind/:id': async ({ scope, params, query: { owner } }) => {
    const { name, kind, id } = params;
    const found = await findDocument(scope.store, name, kind, id, owner);
    return { document: found === undefined ? null : shapeToJson(documentShape, found) };
  },

  'PUT /projects/:name/documents': async ({ scope, params: { name }, body }) => {
    const fields = await body();
    const asked = decodeNew(fields.get('document'));
    const given = fields.get('expected');
    const expected = given === undefined ? undefined : checkCount('expected', given);
    // Where the service knows who asks, nobody writes under the name of somebody else.
    const document = { ...asked, author: scope.actor ?? asked.author ?? null };
    const result = await putDocument(scope.store, name, document, expected);
    const stored = result.document;
    return {
      kind: result.kind,
      document: stored === null ? null : shapeToJson(documentShape, stored),
    };
  },

  'DELETE /projects/:name/documents/:kind/:id': async ({ scope, params, query }) => {
    const { name, kind, id } = params;
    const { expected, owner } = query;
    return { deleted: await deleteDocument(scope.store, name, kind, id, expected, owner) };
  },
} satisfies Partial<StoreHandlers>;
