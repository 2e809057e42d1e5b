/** A request for every address and method of the service's own description, with bodies that are right. */
import { UPLOAD_MEDIA_TYPE } from '../../src/wire/protocol.ts';
import { encodeUpload } from '../../src/wire/upload.ts';
import { toWire } from '../../src/wire/wire.ts';
import { ARTIFACT_ID, RUN_ID, runFields, sha256Of } from './scene.ts';
import { metricSegment } from './segments.ts';

/** A request without its key. */
export type RouteRequest = {
  /** Method and path template. */
  readonly route: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** Leave it out of most rounds: it rewrites the whole database. */
  readonly isRare?: boolean;
};

type Description = {
  readonly paths: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          { readonly requestBody?: { readonly content: Readonly<Record<string, BodyOf>> } }
        >
      >
    >
  >;
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
};

type Schema = { readonly [keyword: string]: unknown };
type BodyOf = { readonly schema?: Schema };

const ROWS_OF_AN_UPLOAD = 2_000;
const BLOB_BYTES = 256 * 1024;
const JSON_TYPE = 'application/json';

/** Ways to ask, beyond the bare path: those whose answers are large. */
const QUERIES: Readonly<Record<string, readonly string[]>> = {
  '/api/v1/runs/{runId}/tables/{table}/rows': [
    '?format=arrow',
    '?format=jsonl',
    '?format=jsonl&limit=100000',
    '?format=arrow&metric_key=train/metric_3',
  ],
  '/api/v1/runs/{runId}/curves': ['?buckets=1000', '?buckets=2000&step_min=7'],
  '/api/v1/runs': ['?limit=500', '?text=nowhere', '?config=lr%3C0.1'],
  '/api/v1/events': ['', `?run=${RUN_ID}&table=metrics`],
  '/api/v1/shares': ['?project=siege&user=nobody'],
};

/** All of them, in the order of the description; GET routes also as HEAD, and everything once as OPTIONS. */
export function everyRoute(description: Description, blobSha256: string): readonly RouteRequest[] {
  const blob = new Uint8Array(BLOB_BYTES).fill(7);
  const found: RouteRequest[] = [];
  for (const [template, methods] of Object.entries(description.paths)) {
    for (const [name, { requestBody }] of Object.entries(methods)) {
      const method = name.toUpperCase();
      const isBlobUpload = method === 'PUT' && template.includes('/blobs/');
      const path = template
        .replace('{runId}', RUN_ID)
        .replace('{table}', method === 'PUT' ? 'alerts' : 'metrics')
        .replace('{holder}', 'siege')
        .replace('{artifactId}', ARTIFACT_ID)
        .replace('{keyId}', 'qk_nobodys')
        .replace('{sha256}', isBlobUpload ? sha256Of(blob) : blobSha256);
      const type = Object.keys(requestBody?.content ?? {})[0];
      const example = (): unknown =>
        exampleOf(requestBody?.content[JSON_TYPE]?.schema ?? {}, description);
      const content = type === undefined ? undefined : bodyOf(type, template, { blob, example });
      const base = {
        route: `${method} ${template}`,
        method,
        headers: type === undefined ? {} : { 'content-type': type },
        ...(content === undefined ? {} : { body: content }),
        ...(template.endsWith('/reclaim') ? { isRare: true } : {}),
      };
      const queries = method === 'GET' || method === 'DELETE' ? (QUERIES[template] ?? ['']) : [''];
      for (const query of queries) found.push({ ...base, path: path + query });
      if (method === 'GET')
        found.push({ ...base, route: `HEAD ${template}`, method: 'HEAD', path });
    }
    found.push({ route: `OPTIONS ${template}`, method: 'OPTIONS', path: template, headers: {} });
  }
  return found;
}

/** A value of a schema, with what it requires and nothing else: for messages that are not written down here. */
function exampleOf(schema: Schema, description: Description): unknown {
  const ref = schema['$ref'];
  if (typeof ref === 'string') {
    const name = ref.slice(ref.lastIndexOf('/') + 1);
    return exampleOf(description.components?.schemas?.[name] ?? {}, description);
  }
  if ('const' in schema) return schema['const'];
  const [first] = (schema['enum'] ?? schema['oneOf'] ?? []) as readonly unknown[];
  if (first !== undefined)
    return 'enum' in schema ? first : exampleOf(first as Schema, description);
  switch ([schema['type']].flat()[0]) {
    case 'object': {
      const fields = Object.entries(
        (schema['properties'] ?? {}) as Readonly<Record<string, Schema>>,
      );
      const required = (schema['required'] ?? []) as readonly string[];
      return Object.fromEntries(
        fields
          .filter(([name]) => required.includes(name))
          .map(([name, field]) => [name, exampleOf(field, description)]),
      );
    }
    case 'array':
      return [];
    case 'integer':
    case 'number':
      return schema['minimum'] ?? 1;
    case 'boolean':
      return false;
    default:
      return 'siege';
  }
}

type Bodies = { readonly blob: Uint8Array; readonly example: () => unknown };

function bodyOf(type: string, template: string, { blob, example }: Bodies): Uint8Array {
  if (type === 'application/octet-stream') return blob;
  if (type === UPLOAD_MEDIA_TYPE) return uploadOf(template);
  if (type !== JSON_TYPE) throw new Error(`No body is known for ${type} of ${template}`);
  const known = messageOf(template);
  return new TextEncoder().encode(JSON.stringify(known === undefined ? example() : toWire(known)));
}

function uploadOf(template: string): Uint8Array {
  if (template.endsWith('/merge')) return encodeUpload([], { remove: [] });
  if (template.endsWith('{table}')) return encodeUpload([]);
  return encodeUpload([
    metricSegment(RUN_ID, 'leaving', 0, { rows: ROWS_OF_AN_UPLOAD, metrics: 10 }),
  ]);
}

function messageOf(template: string): object | undefined {
  switch (template) {
    case '/api/v1/projects':
      return { project: { id: 'prj_other', name: 'other', createdAtMs: 1 } };
    case '/api/v1/runs':
      return { run: runFields('run_other') };
    case '/api/v1/runs/{runId}':
      return { run: { ...runFields(RUN_ID), revision: 1 } };
    case '/api/v1/segments/read':
      return {
        segments: Array.from({ length: 20 }, (_, batchNumber) => ({
          runId: RUN_ID,
          table: 'metrics',
          writerId: 'siege',
          batchNumber,
        })),
      };
    case '/api/v1/runs/{runId}/leases/{holder}':
      return { ttlMs: 30_000 };
    case '/api/v1/reclaim':
      return {};
    case '/api/v1/keys':
      return { key: { scope: 'read', label: 'siege' } };
    case '/api/v1/shares':
      return { share: { project: 'siege', user: 'u1', access: 'read' } };
    default:
      return undefined;
  }
}
