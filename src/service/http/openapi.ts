/** The description of the API in OpenAPI 3.1, made from the table of routes. A test compares it with what is answered. */
import { VERSION } from '../../base/version.ts';
import { list, object, ref, SCHEMAS, type Schema } from './api-schemas.ts';
import {
  API_PATH,
  ARROW_MEDIA_TYPE,
  EVENTS_MEDIA_TYPE,
  FRAMES_MEDIA_TYPE,
  JSON_LINES_MEDIA_TYPE,
  PROTOCOL_HEADER,
  REQUEST_HEADER,
  ROUTES,
  SPACE_HEADER,
  SPOKEN_VERSIONS,
  UPLOAD_MEDIA_TYPE,
} from '../../wire/protocol.ts';

type Method = 'get' | 'post' | 'put' | 'delete';

type Parameter = {
  readonly name: string;
  readonly description: string;
  readonly schema: Schema;
  readonly isRepeated?: boolean;
};

type Body = { readonly [mediaType: string]: Schema };

type Operation = {
  readonly summary: string;
  readonly query?: readonly Parameter[];
  readonly headers?: readonly Parameter[];
  readonly request?: Body;
  /** Bodies of the answers; 200 unless it says otherwise. */
  readonly answer: Body;
  /** Whether a range of the body can be asked for. */
  readonly hasRanges?: boolean;
};

const JSON_TYPE = 'application/json';
const json = (schema: Schema): Body => ({ [JSON_TYPE]: schema });
const bytes: Schema = { type: 'string', format: 'binary' };
const text: Schema = { type: 'string' };
const count: Schema = { type: 'integer', minimum: 0 };
const number: Schema = { type: 'number' };
const upload: Body = { [UPLOAD_MEDIA_TYPE]: bytes };
const kept: Body = json(object({ segments: list(ref('Manifest')) }));

const query = (name: string, schema: Schema, description: string): Parameter => ({
  name,
  schema,
  description,
});
const repeated = (name: string, description: string): Parameter => ({
  name,
  schema: list(text),
  description,
  isRepeated: true,
});

const positions: readonly Parameter[] = [
  query('sequence_min', number, 'Only what has a row at or after this sequence number.'),
  query('step_min', number, 'Smallest step, inclusive.'),
  query('step_max', number, 'Largest step, inclusive.'),
  query('epoch_min', number, 'Smallest epoch, inclusive.'),
  query('epoch_max', number, 'Largest epoch, inclusive.'),
];

/** What is answered, by route and method. Every route of the table has to be here. */
const OPERATIONS: Readonly<Record<keyof typeof ROUTES, Partial<Record<Method, Operation>>>> = {
  about: {
    get: {
      summary: 'What this is, which versions it speaks and what it takes',
      answer: json(ref('About')),
    },
  },
  openapi: {
    get: { summary: 'This description', answer: json({ type: 'object' }) },
  },
  projects: {
    get: {
      summary: 'All projects, by name',
      answer: json(object({ projects: list(ref('Project')) })),
    },
    post: {
      summary: 'The project of this name, made if there is none',
      request: json(object({ project: ref('Project') })),
      answer: json(object({ project: ref('Project') })),
    },
  },
  runs: {
    get: {
      summary: 'Runs that match, newest first',
      query: [
        query('project', text, 'Name of the project.'),
        repeated('status', 'Any of these.'),
        repeated('tag', 'Every one of these.'),
        query(
          'started_min_ms',
          text,
          'Started at this instant or later: epoch milliseconds or ISO 8601.',
        ),
        query('started_max_ms', text, 'Started at this instant or before.'),
        query('text', text, 'Text in the id, the project, the commit, a tag or the configuration.'),
        repeated(
          'config',
          'A value of the configuration compared with another, such as `lr<0.1` or `optimizer.name=adam`; operators = != < <= > >=.',
        ),
        query('limit', count, 'At most 500, which is the default.'),
        query(
          'offset',
          count,
          'Runs to pass over, before `text` and `config` are looked at: `next` of the page before.',
        ),
      ],
      answer: json(
        object({
          runs: list(ref('Run')),
          next: { type: ['integer', 'null'], description: 'The `offset` of the next page.' },
        }),
      ),
    },
    post: {
      summary: 'Adds a run, with revision 1; an id that is taken is refused',
      request: json(object({ run: ref('NewRun') })),
      answer: json(object({ run: ref('Run') })),
    },
  },
  run: {
    get: { summary: 'One run', answer: json(object({ run: ref('Run') })) },
    put: {
      summary: 'Replaces the run if its revision is still the one given',
      request: json(object({ run: ref('Run') })),
      answer: json(object({ kind: { enum: ['updated', 'conflict'] }, run: ref('Run') })),
    },
  },
  leases: {
    get: {
      summary: 'Claims of live sessions',
      query: [repeated('run', 'Of these runs; of all unless given. At most 100.')],
      answer: json(object({ leases: list(ref('Lease')) })),
    },
  },
  lease: {
    put: {
      summary: 'Takes or extends a claim',
      request: json(object({ ttl_ms: number })),
      answer: json(object({ lease: ref('Lease') })),
    },
    delete: { summary: 'Gives a claim back', answer: json(object({})) },
  },
  tables: {
    get: {
      summary: 'The tables of a run: how far each has come, and how often it was emptied',
      answer: json(object({ tables: list(ref('Table')) })),
    },
  },
  segments: {
    get: {
      summary: 'Manifests of the segments that may hold matching rows',
      query: [...positions, repeated('key', 'Only segments that may hold one of these keys.')],
      answer: json(object({ segments: list(ref('Manifest')) })),
    },
  },
  appendSegments: {
    post: {
      summary: 'Appends segments, all or none; one that is known already is not written again',
      request: upload,
      answer: kept,
    },
  },
  readSegments: {
    post: {
      summary: 'The bytes of segments; changes nothing',
      request: json(object({ segments: list(ref('SegmentReference')) })),
      answer: { [FRAMES_MEDIA_TYPE]: bytes },
    },
  },
  table: {
    put: { summary: 'Empties the table and appends these segments', request: upload, answer: kept },
  },
  mergeSegments: {
    post: {
      summary: 'Puts merged segments in the place of others, if those are still there',
      request: upload,
      answer: json(object({ replaced: { type: 'boolean' } })),
    },
  },
  rows: {
    get: {
      summary:
        'Rows that match, in the order they were persisted; any column of names is a parameter too, such as `metric_key`',
      query: [
        query('format', { enum: ['arrow', 'jsonl'] }, 'Arrow unless given.'),
        ...positions,
        query('step', count, 'Exactly this step.'),
        query('epoch', count, 'Exactly this epoch.'),
        query('limit', { ...count, minimum: 1 }, 'Only the most recent rows, at most 1,000,000.'),
        query(
          'damaged',
          { enum: ['fail', 'skip'] },
          'What to do about segments that cannot be read; `fail` breaks the answer off.',
        ),
      ],
      answer: { [ARROW_MEDIA_TYPE]: bytes, [JSON_LINES_MEDIA_TYPE]: text },
    },
  },
  curves: {
    get: {
      summary: 'Curves of metrics, thinned to what that many pixels show; all are recorded samples',
      query: [
        query(
          'buckets',
          { ...count, minimum: 1, maximum: 4096 },
          'Equal parts of the steps (of the times, for samples without a step) at most; 1,000 unless given. Parts are powers of two wide. Of each part the first, lowest, highest and last sample is in the answer, and one of each kind that is not finite.',
        ),
        repeated('key', 'Only these metrics, at most 64; unless given, the first of the run.'),
        query('step_min', count, 'Smallest step, inclusive.'),
        query('step_max', count, 'Largest step, inclusive.'),
        query('rows_min', count, 'With fewer rows than this, the answer has no curves.'),
      ],
      answer: json(ref('Curves')),
    },
  },
  events: {
    get: {
      summary: 'Live updates of runs, or of the list of runs, as server-sent events',
      query: [
        repeated('run', 'Runs to follow, at most 16; the list of runs unless given.'),
        repeated('table', 'Tables of these runs to follow.'),
      ],
      headers: [
        {
          name: 'last-event-id',
          schema: text,
          description: 'The id of the last event that was seen: goes on from there.',
        },
      ],
      answer: { [EVENTS_MEDIA_TYPE]: text },
    },
  },
  artifact: {
    get: {
      summary: 'The payload of an artifact',
      answer: { 'application/octet-stream': bytes, [JSON_TYPE]: {}, 'text/plain': text },
      hasRanges: true,
    },
  },
  blob: {
    get: {
      summary: 'Bytes by their SHA-256',
      answer: { 'application/octet-stream': bytes },
      hasRanges: true,
    },
    put: {
      summary: 'Keeps bytes under their SHA-256',
      request: { 'application/octet-stream': bytes },
      answer: json(object({})),
    },
  },
  reclaim: {
    post: {
      summary: 'Gives space of removed segments back to the system',
      request: json(object({})),
      answer: json(object({})),
    },
  },
};

/**
 * The description.
 *
 * @param readOnly leaves out what changes a store
 * @param others paths of the service around it
 */
export function describeApi(
  readOnly: boolean,
  others: Readonly<Record<string, object>> = {},
): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const [name, route] of Object.entries(ROUTES)) {
    const operations = OPERATIONS[name as keyof typeof ROUTES];
    const path = `/${API_PATH}${route === '/' ? '' : route.replaceAll(/:([A-Za-z0-9]+)/g, '{$1}')}`;
    for (const method of ['get', 'post', 'put', 'delete'] as const) {
      const operation = operations[method];
      const isRead = method === 'get' || name === 'readSegments';
      if (operation === undefined || (readOnly && !isRead)) continue;
      (paths[path] ??= {})[method] = describe(
        `${method}${name[0]?.toUpperCase()}${name.slice(1)}`,
        route,
        operation,
      );
    }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Quark',
      version: VERSION,
      description:
        'Runs, segments and blobs of trainings. Uploads and answers with segments are binary; docs/formats.md of quark-sdk has their layout.',
    },
    servers: [{ url: '/' }],
    security: [{ userKey: [] }, {}],
    paths: { ...paths, ...others },
    components: {
      schemas: SCHEMAS,
      securitySchemes: { userKey: { type: 'http', scheme: 'bearer', bearerFormat: 'qk_...' } },
      responses: {
        Error: {
          description: 'What was wrong, and what to do. 429 and 503 may carry Retry-After.',
          content: json({ $ref: '#/components/schemas/Error' }),
        },
      },
    },
  };
}

function describe(operationId: string, route: string, operation: Operation): object {
  const { summary, request, answer, hasRanges = false } = operation;
  const answers: Record<string, object> = {
    '200': { description: 'Done.', content: contentOf(answer) },
    default: { $ref: '#/components/responses/Error' },
  };
  if (hasRanges) {
    answers['206'] = { description: 'The range that was asked for.', content: contentOf(answer) };
    answers['416'] = { $ref: '#/components/responses/Error' };
  }
  return {
    operationId,
    summary,
    parameters: [
      ...[...route.matchAll(/:([A-Za-z0-9]+)/g)].map(([, name]) => ({
        name,
        in: 'path',
        required: true,
        schema: { type: 'string' },
      })),
      ...(operation.query ?? []).map((parameter) => describeParameter(parameter, 'query')),
      ...(operation.headers ?? []).map((parameter) => describeParameter(parameter, 'header')),
      ...(hasRanges
        ? [
            describeParameter(
              query('range', text, 'One range of bytes, such as `bytes=0-1023`.'),
              'header',
            ),
          ]
        : []),
      ...COMMON_HEADERS,
    ],
    ...(request === undefined
      ? {}
      : { requestBody: { required: true, content: contentOf(request) } }),
    responses: answers,
  };
}

function describeParameter(
  { name, schema, description, isRepeated }: Parameter,
  place: string,
): object {
  return {
    name,
    in: place,
    required: false,
    description,
    schema,
    ...(isRepeated === true ? { style: 'form', explode: true } : {}),
  };
}

function contentOf(body: Body): object {
  return Object.fromEntries(Object.entries(body).map(([type, schema]) => [type, { schema }]));
}

const COMMON_HEADERS: readonly object[] = [
  describeParameter(
    query(
      PROTOCOL_HEADER,
      text,
      `Versions of the protocol that the client speaks, newest first; the server speaks ${SPOKEN_VERSIONS.join(', ')}.`,
    ),
    'header',
  ),
  describeParameter(
    query(
      REQUEST_HEADER,
      text,
      'Of changes: a name of its own, 16 to 64 letters, digits, "_" or "-"; the same request again gets the same answer.',
    ),
    'header',
  ),
  describeParameter(
    query(SPACE_HEADER, text, 'The space that the request is about; the unnamed one unless given.'),
    'header',
  ),
];
