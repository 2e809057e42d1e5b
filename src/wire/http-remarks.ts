/** What people write, over HTTP: silences of alerts, and documents of projects. Parts of the store in `http-store.ts`. */
import { documentHeaderShape, documentShape } from '../records/shapes/document.ts';
import type { NewSilence, SilencedAlerts } from '../records/shapes/silence.ts';
import { storedName } from '../schema/record.ts';
import type { DocumentCalls } from '../store/documents.ts';
import type { HttpClient } from './http-client.ts';
import { decoder, Fields } from './wire.ts';

/** Silences alerts of a run; resolves to when, in UTC epoch milliseconds. */
export async function silenceThere(
  client: HttpClient,
  runId: string,
  silence: NewSilence,
): Promise<number> {
  const fields = Object.entries(silence).map(([name, value]) => [storedName(name), value] as const);
  const message = { silence: Object.fromEntries(fields) };
  const answer = await client.json('PUT /runs/:runId/silences', { params: { runId }, message });
  return new Fields('silence', answer.get('silence')).number('at_ms');
}

/** Takes back what was said of alerts; resolves to when. */
export async function unsilenceThere(
  client: HttpClient,
  runId: string,
  { metricKey, moduleName, ruleId }: SilencedAlerts,
): Promise<number> {
  const query = {
    ruleId,
    moduleName: moduleName ?? undefined,
    metricKey: metricKey ?? undefined,
  };
  const answer = await client.json('DELETE /runs/:runId/silences', { params: { runId }, query });
  return answer.number('at_ms');
}

const decodeDocument = decoder(documentShape);
const decodeHeader = decoder(documentHeaderShape);

/** The calls of the store that a client talks to. An earlier service answers them as `unsupported`. */
export function documentsThere(client: HttpClient): DocumentCalls {
  return {
    putDocument: async (name, document, expected) => {
      const { author = null, body, id, kind, name: title, visibility } = document;
      const answer = await client.json('PUT /projects/:name/documents', {
        params: { name },
        message: {
          document: {
            kind,
            id,
            name: title,
            author,
            body,
            ...(visibility === undefined ? {} : { visibility }),
          },
          ...(expected === undefined ? {} : { expected }),
        },
      });
      const found = answer.get('document');
      if (answer.text('kind') === 'updated')
        return { kind: 'updated', document: decodeDocument(found) };
      return { kind: 'conflict', document: found === null ? null : decodeDocument(found) };
    },
    findDocument: async (name, kind, id, owner) => {
      const asked = { params: { name, kind, id }, query: { owner } };
      const answer = await client.json('GET /projects/:name/documents/:kind/:id', asked);
      const found = answer.get('document');
      return found === null ? undefined : decodeDocument(found);
    },
    listDocuments: async (name, kind) => {
      const asked = { params: { name }, query: { kind } };
      const answer = await client.json('GET /projects/:name/documents', asked);
      return answer.list('documents').map(decodeHeader);
    },
    deleteDocument: async (name, kind, id, expected, owner) => {
      const asked = { params: { name, kind, id }, query: { expected, owner } };
      const answer = await client.json('DELETE /projects/:name/documents/:kind/:id', asked);
      return answer.flag('deleted');
    },
  };
}
