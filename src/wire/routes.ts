/**
 * Every route of the protocol, of users and keys, and of the service itself: one line each, with its method and its path as its
 * name. Routers, OpenAPI, the calls of clients, answers to other methods, labels of counters, and checks of scope, parameters and
 * bodies derive from this table. Paths are below {@link API_PATH}, but for those of the group `service`.
 *
 * Names of parameters are in snake_case on the wire, as all names are.
 */
import { KEY_SCOPES, RUN_ACCESS } from './access-messages.ts';
import {
  ARROW_MEDIA_TYPE,
  BYTES_MEDIA_TYPE,
  EVENTS_MEDIA_TYPE,
  FRAMES_MEDIA_TYPE,
  JSON_LINES_MEDIA_TYPE,
  JSON_MEDIA_TYPE,
} from './protocol.ts';
import {
  blob,
  bytes,
  count,
  countOf,
  instantOf,
  json,
  message,
  number,
  numberOf,
  ofAccount,
  ofService,
  ofStore,
  oneOf,
  positiveOf,
  question,
  repeated,
  type Route,
  text,
  textOf,
  upload,
} from './route-parts.ts';
import { list, object, ref, type Schema } from './schemas.ts';

/** Formats of rows: one Arrow IPC stream, or JSON, one row a line. */
export const ROW_FORMATS = ['arrow', 'jsonl'] as const;

const segments = json(object({ segments: list(ref('Manifest')) }));
const run = json(object({ run: ref('Run') }));

const bounds = {
  stepMin: 'Smallest step, inclusive.',
  stepMax: 'Largest step, inclusive.',
  epochMin: 'Smallest epoch, inclusive.',
  epochMax: 'Largest epoch, inclusive.',
} as const;
const sequenceMin = 'Only what has a row at or after this sequence number.';

/** Bytes of a message about a key or a share: its names are at most 512 characters. */
const MAX_ACCOUNT_BYTES = 16 * 1024;
const access: Schema = { enum: RUN_ACCESS };
const scope: Schema = { enum: KEY_SCOPES };
const instant: Schema = { type: ['number', 'null'], description: 'UTC epoch milliseconds.' };
const ownUser: Schema = { ...text, description: 'The user of the key that asks; no other.' };

const keyFields = {
  key_id: { ...text, description: 'The public part: "qk_" and 12 characters.' },
  user: text,
  scope,
  label: text,
  created_at_ms: number,
  expires_at_ms: { ...instant, description: 'Refused from then on; null: never.' },
  revoked_at_ms: { ...instant, description: 'Refused since then; null: it was not revoked.' },
} as const;

const shareFields = { owner: text, space: text, project: text, user: text, access } as const;

/** What a request for a key may name. */
export const newKeyFields = {
  user: ownUser,
  scope: { ...scope, description: '`write` unless given.' },
  label: { ...text, description: 'What the key is for.' },
  expires_at_ms: {
    type: ['number', 'string', 'null'],
    description:
      'When it ends: epoch milliseconds or ISO 8601; null: never. With the key that asks unless given, and never later than that one.',
  },
} as const;

/** What a request for a share may name. */
export const newShareFields = {
  owner: ownUser,
  space: { ...text, description: '`default` unless given.' },
  project: text,
  user: text,
  access: { ...access, description: '`read` unless given.' },
} as const;

const ready = object({
  status: { const: 'ready' },
  layout: { ...count, description: 'Of the database.' },
});

const notReady = object(
  {
    status: { enum: ['closing', 'other_layout', 'no_database', 'no_memory_budget'] },
    layout: count,
    known: count,
    reason: text,
    bytesInFlight: count,
    requestsInFlight: count,
  },
  ['layout', 'known', 'reason', 'bytesInFlight', 'requestsInFlight'],
);

const account = object({
  user: text,
  key_id: {
    type: ['string', 'null'],
    description: 'The public part of the key, if there is one.',
  },
  scope,
  spaces: list(
    object({
      space: { ...text, description: 'For the header quark-space.' },
      owner: text,
      projects: {
        type: ['object', 'null'],
        additionalProperties: access,
        description: 'Shared projects by name; null where all of the space is open.',
      },
    }),
  ),
});

/** The table. */
export const ROUTES = {
  'GET /': ofStore('read', 'getAbout', 'What this is, which versions it speaks and what it takes', {
    answer: json(ref('About')),
  }),
  'GET /openapi.json': ofStore('read', 'getOpenapi', 'This description', {
    answer: json({ type: 'object' }),
  }),
  'GET /projects': ofStore('read', 'getProjects', 'All projects, by name', {
    answer: json(object({ projects: list(ref('Project')) })),
  }),
  'POST /projects': ofStore(
    'write',
    'postProjects',
    'The project of this name, made if there is none',
    {
      body: message(object({ project: ref('Project') })),
      answer: json(object({ project: ref('Project') })),
    },
  ),
  'GET /runs': ofStore('read', 'getRuns', 'Runs that match, newest first', {
    query: {
      project: textOf('Name of the project.'),
      startedMinMs: instantOf('Started at this instant or later: epoch milliseconds or ISO 8601.'),
      startedMaxMs: instantOf('Started at this instant or before.'),
      text: textOf('Text in the id, the project, the commit, a tag or the configuration.'),
      limit: countOf('At most 500, which is the default.'),
      offset: countOf(
        'Runs to pass over, before `text` and `config` are looked at: `next` of the page before.',
      ),
      status: repeated('Any of these.'),
      tag: repeated('Every one of these.'),
      config: repeated(
        'A value of the configuration compared with another, such as `lr<0.1` or `optimizer.name=adam`; operators = != < <= > >=.',
      ),
    },
    answer: json(
      object({
        runs: list(ref('Run')),
        next: { type: ['integer', 'null'], description: 'The `offset` of the next page.' },
      }),
    ),
  }),
  'POST /runs': ofStore(
    'write',
    'postRuns',
    'Adds a run, with revision 1; an id that is taken is refused',
    { body: message(object({ run: ref('NewRun') })), answer: run },
  ),
  'GET /runs/:runId': ofStore('read', 'getRun', 'One run', { answer: run }),
  'PUT /runs/:runId': ofStore(
    'write',
    'putRun',
    'Replaces the run if its revision is still the one given',
    {
      body: message(object({ run: ref('Run') })),
      answer: json(object({ kind: { enum: ['updated', 'conflict'] }, run: ref('Run') })),
    },
  ),
  'GET /runs/:runId/tables': ofStore(
    'read',
    'getTables',
    'The tables of a run: how far each has come, and how often it was emptied',
    { answer: json(object({ tables: list(ref('Table')) })) },
  ),
  'GET /runs/:runId/tables/:table/segments': ofStore(
    'read',
    'getSegments',
    'Manifests of the segments that may hold matching rows',
    {
      query: {
        sequenceMin: numberOf(sequenceMin),
        stepMin: numberOf(bounds.stepMin),
        stepMax: numberOf(bounds.stepMax),
        epochMin: numberOf(bounds.epochMin),
        epochMax: numberOf(bounds.epochMax),
        key: repeated('Only segments that may hold one of these keys.'),
      },
      answer: segments,
    },
  ),
  'GET /runs/:runId/tables/:table/rows': ofStore(
    'read',
    'getRows',
    'Rows that match, in the order they were persisted; any column of names is a parameter too, such as `metric_key`',
    {
      query: {
        format: oneOf(ROW_FORMATS, 'Arrow unless given.'),
        damaged: oneOf(
          ['fail', 'skip'],
          'What to do about segments that cannot be read; `fail` breaks the answer off.',
        ),
        limit: positiveOf('Only the most recent rows, at most 1,000,000.'),
        step: countOf('Exactly this step.'),
        stepMin: countOf(bounds.stepMin, number),
        stepMax: countOf(bounds.stepMax, number),
        epoch: countOf('Exactly this epoch.'),
        epochMin: countOf(bounds.epochMin, number),
        epochMax: countOf(bounds.epochMax, number),
        sequenceMin: countOf(sequenceMin, number),
      },
      hasOtherParameters: true,
      answer: { [ARROW_MEDIA_TYPE]: bytes, [JSON_LINES_MEDIA_TYPE]: text },
      sends: 'parts',
    },
  ),
  'GET /runs/:runId/curves': ofStore(
    'read',
    'getCurves',
    'Curves of metrics, thinned to what that many pixels show; all are recorded samples',
    {
      query: {
        buckets: countOf(
          'Equal parts of the steps (of the times, for samples without a step) at most; 1,000 unless given. Parts are powers of two wide. Of each part the first, lowest, highest and last sample is in the answer, and one of each kind that is not finite.',
          { ...count, minimum: 1, maximum: 4096 },
        ),
        stepMin: countOf(bounds.stepMin),
        stepMax: countOf(bounds.stepMax),
        rowsMin: countOf('With fewer rows than this, the answer has no curves.'),
        key: repeated('Only these metrics, at most 64; unless given, the first of the run.'),
      },
      answer: json(ref('Curves')),
    },
  ),
  'PUT /runs/:runId/tables/:table': ofStore(
    'write',
    'putTable',
    'Empties the table and appends these segments',
    { body: upload, answer: segments },
  ),
  'POST /runs/:runId/tables/:table/merge': ofStore(
    'write',
    'postMergeSegments',
    'Puts merged segments in the place of others, if those are still there',
    { body: upload, answer: json(object({ replaced: { type: 'boolean' } })) },
  ),
  'POST /segments': ofStore(
    'write',
    'postAppendSegments',
    'Appends segments, all or none; one that is known already is not written again',
    { body: upload, answer: segments },
  ),
  'POST /segments/read': ofStore(
    'read',
    'postReadSegments',
    'The bytes of segments; changes nothing',
    {
      body: question(object({ segments: list(ref('SegmentReference')) })),
      answer: { [FRAMES_MEDIA_TYPE]: bytes },
    },
  ),
  'GET /leases': ofStore('read', 'getLeases', 'Claims of live sessions', {
    query: { run: repeated('Of these runs; of all unless given. At most 100.') },
    answer: json(object({ leases: list(ref('Lease')) })),
  }),
  'PUT /runs/:runId/leases/:holder': ofStore('write', 'putLease', 'Takes or extends a claim', {
    body: message(object({ ttl_ms: number })),
    answer: json(object({ lease: ref('Lease') })),
  }),
  'DELETE /runs/:runId/leases/:holder': ofStore('write', 'deleteLease', 'Gives a claim back', {
    answer: json(object({})),
  }),
  'GET /events': ofStore(
    'read',
    'getEvents',
    'Live updates of runs, or of the list of runs, as server-sent events',
    {
      query: {
        run: repeated('Runs to follow, at most 16; the list of runs unless given.'),
        table: repeated('Tables of these runs to follow.'),
      },
      headers: {
        'last-event-id': textOf('The id of the last event that was seen: goes on from there.'),
      },
      answer: { [EVENTS_MEDIA_TYPE]: text },
      sends: 'stream',
    },
  ),
  'GET /runs/:runId/artifacts/:artifactId': ofStore(
    'read',
    'getArtifact',
    'The payload of an artifact',
    {
      answer: { [BYTES_MEDIA_TYPE]: bytes, [JSON_MEDIA_TYPE]: {}, 'text/plain': text },
      hasRanges: true,
      sends: 'parts',
    },
  ),
  'GET /blobs/:sha256': ofStore('read', 'getBlob', 'Bytes by their SHA-256', {
    answer: { [BYTES_MEDIA_TYPE]: bytes },
    hasRanges: true,
  }),
  'PUT /blobs/:sha256': ofStore('write', 'putBlob', 'Keeps bytes under their SHA-256', {
    body: blob,
    answer: json(object({})),
  }),
  'POST /reclaim': ofStore(
    'write',
    'postReclaim',
    'Gives space of removed segments back to the system',
    { body: message(object({})), answer: json(object({})) },
  ),
  'GET /account': ofAccount(
    'read',
    'getAccount',
    'Who the key belongs to, and what is open to them',
    { answer: { '200': { description: 'The account.', content: json(account) } } },
  ),
  'GET /keys': ofAccount(
    'admin',
    'getKeys',
    'The keys of the user, oldest first, ended and revoked ones too',
    { answer: json(object({ keys: list(object(keyFields)) })) },
  ),
  'POST /keys': ofAccount(
    'admin',
    'postKeys',
    'Makes a key of the same user; the answer shows it, and nothing else ever does',
    {
      body: message(
        object({ key: object(newKeyFields, Object.keys(newKeyFields)) }),
        MAX_ACCOUNT_BYTES,
        MAX_ACCOUNT_BYTES,
      ),
      answer: json(
        object({
          key: object({ ...keyFields, key: { ...text, description: 'The whole key, a secret.' } }),
        }),
      ),
    },
  ),
  'DELETE /keys/:keyId': ofAccount(
    'admin',
    'deleteKey',
    'Revokes a key, also the one that asks; doing it again changes nothing',
    { answer: json(object({ key: object(keyFields) })) },
  ),
  'GET /shares': ofAccount(
    'admin',
    'getShares',
    'Which projects of the user are shared, with whom',
    {
      answer: json(object({ shares: list(object({ ...shareFields, created_at_ms: number })) })),
    },
  ),
  'PUT /shares': ofAccount(
    'admin',
    'putShares',
    'Shares a project with another user, or changes what may be done with it',
    {
      body: message(
        object({ share: object(newShareFields, ['owner', 'space', 'access']) }),
        MAX_ACCOUNT_BYTES,
        MAX_ACCOUNT_BYTES,
      ),
      answer: json(object({ share: object(shareFields) })),
    },
  ),
  'DELETE /shares': ofAccount('admin', 'deleteShares', 'Takes a share back', {
    query: {
      project: textOf(undefined, true),
      user: textOf(undefined, true),
      space: textOf(),
      owner: textOf(),
    },
    answer: json(object({})),
  }),
  'GET /healthz': ofService('none', 'getHealth', 'The process is alive; no key is needed', {
    answer: {
      '200': { description: 'Alive.', content: json(object({ status: { const: 'ok' } })) },
    },
  }),
  'GET /readyz': ofService(
    'none',
    'getReadiness',
    'The service takes requests: its database answers, and it is not shutting down; no key is needed',
    {
      answer: {
        '200': { description: 'Ready.', content: json(ready) },
        '503': { description: 'Not to be asked now.', content: json(notReady) },
      },
    },
  ),
  'GET /metrics': ofService(
    'machine',
    'getMetrics',
    'Counters for Prometheus: for a key of scope `admin`, or from the machine itself',
    { answer: { '200': { description: 'The counters.', content: { 'text/plain': text } } } },
  ),
} as const satisfies Readonly<Record<string, Route>>;
