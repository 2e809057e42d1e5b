/**
 * Every route of the protocol, of users and keys, and of the service itself: one line each, with its method and its path as its
 * name. Routers, OpenAPI, the calls of clients, answers to other methods, labels of counters, and checks of scope, parameters and
 * bodies derive from this table. Paths are below {@link API_PATH}, but for those of the group `service`.
 *
 * Names of parameters are in snake_case on the wire, as all names are.
 */
import { schemaOf } from '../schema/shape.ts';
import {
  KEY_SCOPES,
  keyShape,
  newKeyShape,
  newShareShape,
  RUN_ACCESS,
  shareShape,
} from './access-messages.ts';
import { newKeyFields, newQuotaFields, newShareFields } from './account-fields.ts';
import { auditLineSchema, MAX_AUDIT_LINES } from './audit-messages.ts';
import { DELETION_ROUTES } from './deletion-routes.ts';
import { REMARK_ROUTES } from './document-routes.ts';
import { QUOTA_RESOURCES } from '../store/quotas.ts';
import { quotaShape } from './quota-messages.ts';
import {
  ARROW_MEDIA_TYPE,
  BYTES_MEDIA_TYPE,
  EVENTS_MEDIA_TYPE,
  FRAMES_MEDIA_TYPE,
  JSON_LINES_MEDIA_TYPE,
  JSON_MEDIA_TYPE,
} from './protocol.ts';
import {
  account,
  admin,
  blob,
  bytes,
  count,
  conditionOf,
  countOf,
  switchOf,
  flagOf,
  instantOf,
  json,
  jsonOf,
  machine,
  message,
  next,
  number,
  numberOf,
  open,
  oneOf,
  positiveOf,
  question,
  read,
  repeated,
  text,
  textOf,
  upload,
  write,
  type RequestBody,
  type Route,
} from './route-parts.ts';
import { list, object, schemaFor, type Schema } from './schemas.ts';
import { TABLE_ROUTES } from './table-routes.ts';

/** Formats of rows: one Arrow IPC stream, or JSON, one row a line. */
export const ROW_FORMATS = ['arrow', 'jsonl'] as const;

const stored = json({ segments: ['Manifest'] });
const run = json({ run: 'Run' });
const none = json();

const bounds = {
  sequenceMin: 'Only what has a row at or after this sequence number.',
  stepMin: 'Smallest step, inclusive.',
  stepMax: 'Largest step, inclusive.',
  epochMin: 'Smallest epoch, inclusive.',
  epochMax: 'Largest epoch, inclusive.',
} as const;

/** Bytes of a message about a key or a share: its names are at most 512 characters. */
const MAX_ACCOUNT_BYTES = 16 * 1024;
const scope: Schema = { enum: KEY_SCOPES };
const access: Schema = { enum: RUN_ACCESS };
const key = schemaOf(keyShape);

function accountMessage(fields: Parameters<typeof json>[0]): RequestBody<'json'> {
  return message(json(fields), MAX_ACCOUNT_BYTES, MAX_ACCOUNT_BYTES);
}

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

const about = object({
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
  'GET /': read(
    'getAbout',
    'What this is, which versions it speaks and what it takes',
    jsonOf(schemaFor('About')),
  ),
  'GET /openapi.json': read('getOpenapi', 'This description', jsonOf({ type: 'object' })),
  'GET /projects': read('getProjects', 'All projects, by name', json({ projects: ['Project'] })),
  'POST /projects': write(
    'postProjects',
    'The project of this name, made if there is none',
    json({ project: 'Project' }),
    { body: message(json({ project: 'Project' })) },
  ),
  'GET /runs': read('getRuns', 'Runs that match, newest first', json({ runs: ['Run'], next }), {
    query: {
      project: textOf('Name of the project.'),
      startedMinMs: instantOf('Started at this instant or later: epoch milliseconds or ISO 8601.'),
      startedMaxMs: instantOf('Started at this instant or before.'),
      archived: flagOf('Only archived runs, or only the others; both unless given.'),
      text: textOf('Text in the id, the project, the commit, a tag or the configuration.'),
      where: conditionOf(),
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
  }),
  'POST /runs': write(
    'postRuns',
    'Adds a run, with revision 1; an id that is taken is refused',
    run,
    { body: message(json({ run: 'NewRun' })) },
  ),
  'GET /runs/:runId': read('getRun', 'One run', run),
  ...DELETION_ROUTES,
  ...REMARK_ROUTES,
  ...TABLE_ROUTES,
  'PUT /runs/:runId': write(
    'putRun',
    'Replaces the run if its revision is still the one given',
    json({ kind: { enum: ['updated', 'conflict'] }, run: 'Run' }),
    { body: message(run) },
  ),
  'GET /batches': read(
    'getBatches',
    'What is stored of runs, table by table: rows, and the batches of each writer. At most 100 runs are asked for at once; what is not there is left out',
    jsonOf(
      object(
        {
          runs: list(object({ id: text, revision: count })),
          tables: ['TableBatches'],
          hidden: {
            ...list(text),
            description: 'Runs that are there and not shared with who asks any more.',
          },
        },
        ['hidden'],
      ),
    ),
    { query: { run: repeated('Of this run.') } },
  ),
  'GET /runs/:runId/tables': read(
    'getTables',
    'The tables of a run: how far each has come, and how often it was emptied',
    json({ tables: ['Table'] }),
  ),
  'GET /runs/:runId/tables/:table/segments': read(
    'getSegments',
    'Manifests of the segments that may hold matching rows',
    stored,
    {
      query: {
        sequenceMin: numberOf(bounds.sequenceMin),
        stepMin: numberOf(bounds.stepMin),
        stepMax: numberOf(bounds.stepMax),
        epochMin: numberOf(bounds.epochMin),
        epochMax: numberOf(bounds.epochMax),
        key: repeated('Only segments that may hold one of these keys.'),
        superseded: switchOf('1: superseded segments are listed, too.'),
        empty: switchOf('1: segments all of whose rows were deleted are listed, too.'),
      },
    },
  ),
  'GET /runs/:runId/tables/:table/rows': read(
    'getRows',
    'Rows that match, in the order they were persisted; any column of names is a parameter too, such as `metric_key`',
    { [ARROW_MEDIA_TYPE]: bytes, [JSON_LINES_MEDIA_TYPE]: text },
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
        sequenceMin: countOf(bounds.sequenceMin, number),
      },
      hasOtherParameters: true,
      sends: 'parts',
    },
  ),
  'GET /runs/:runId/curves': read(
    'getCurves',
    'Curves of metrics, downsampled to what that many pixels show; all are recorded samples',
    jsonOf(schemaFor('Curves')),
    {
      query: {
        buckets: countOf(
          'Equal parts of the steps (of the times, for samples without a step) at most; 1,000 unless given. Parts are powers of two wide. Of each part the first, lowest, highest and last sample is in the answer, and one of each kind that is not finite.',
          { ...count, minimum: 1, maximum: 4096 },
        ),
        stepMin: countOf(bounds.stepMin),
        stepMax: countOf(bounds.stepMax),
        rowsMin: countOf('With fewer rows than this, the answer has no curves.'),
        names: switchOf('1: no curves, but the names of all metrics, for which no row is read.'),
        key: repeated('Only these metrics, at most 64; unless given, the first of the run.'),
      },
    },
  ),
  'PUT /runs/:runId/tables/:table': write(
    'putTable',
    'Empties the table and appends these segments',
    stored,
    { body: upload },
  ),
  'POST /runs/:runId/tables/:table/merge': write(
    'postMergeSegments',
    'Puts merged segments in the place of others, if those are still there',
    json({ replaced: { type: 'boolean' } }),
    { body: upload },
  ),
  'POST /segments': write(
    'postAppendSegments',
    'Appends segments, all or none; one that is known already is not written again',
    stored,
    { body: upload },
  ),
  'POST /segments/read': read(
    'postReadSegments',
    'The bytes of segments; changes nothing',
    { [FRAMES_MEDIA_TYPE]: bytes },
    { body: question(json({ segments: ['SegmentReference'] })) },
  ),
  'GET /leases': read('getLeases', 'Claims of live sessions', json({ leases: ['Lease'] }), {
    query: { run: repeated('Of these runs; of all unless given. At most 100.') },
  }),
  'GET /runs/:runId/lapsed-leases': read(
    'getLapsedLeases',
    'Claims that have lapsed by the clock of the service: one that is renewed is live, and that clock is wrong',
    json({ leases: ['LapsedLease'] }),
  ),
  'PUT /runs/:runId/leases/:holder': write(
    'putLease',
    'Takes or extends a claim',
    json({ lease: 'Lease' }),
    { body: message(json({ ttl_ms: number })) },
  ),
  'DELETE /runs/:runId/leases/:holder': write('deleteLease', 'Gives a claim back', none),
  'GET /events': read(
    'getEvents',
    'Live updates of runs, or of the list of runs, as server-sent events',
    { [EVENTS_MEDIA_TYPE]: text },
    {
      query: {
        run: repeated('Runs to follow, at most 16; the list of runs unless given.'),
        table: repeated('Tables of these runs to follow.'),
      },
      headers: {
        'last-event-id': textOf('The id of the last event that was seen: goes on from there.'),
      },
      sends: 'stream',
    },
  ),
  'GET /runs/:runId/artifacts/:artifactId': read(
    'getArtifact',
    'The payload of an artifact',
    { [BYTES_MEDIA_TYPE]: bytes, [JSON_MEDIA_TYPE]: {}, 'text/plain': text },
    { hasRanges: true, sends: 'parts' },
  ),
  'GET /blobs/:sha256': read(
    'getBlob',
    'Bytes by their SHA-256',
    { [BYTES_MEDIA_TYPE]: bytes },
    { hasRanges: true },
  ),
  'PUT /blobs/:sha256': write('putBlob', 'Keeps bytes under their SHA-256', none, { body: blob }),
  'POST /reclaim': write(
    'postReclaim',
    'Gives space of removed segments back to the system',
    none,
    { body: message(none) },
  ),
  'GET /account': account('getAccount', 'Who the key belongs to, and what is open to them', {
    '200': { description: 'The account.', content: jsonOf(about) },
  }),
  'GET /keys': admin(
    'getKeys',
    'The keys of the user, oldest first, ended and revoked ones too',
    json({ keys: list(key) }),
  ),
  'POST /keys': admin(
    'postKeys',
    'Makes a key of the same user; the answer shows it, and nothing else ever does',
    json({ key: schemaOf(newKeyShape) }),
    { body: accountMessage({ key: object(newKeyFields, Object.keys(newKeyFields)) }) },
  ),
  'DELETE /keys/:keyId': admin(
    'deleteKey',
    'Revokes a key, also the one that asks; doing it again changes nothing',
    json({ key }),
  ),
  'GET /audit': admin(
    'getAudit',
    "What was done to what is the user's, and by the user: keys, shares, deletions, quotas, refusals",
    json({ lines: list(auditLineSchema) }),
    {
      query: {
        after: countOf('Lines after the one with this id, oldest first.'),
        before: countOf('Lines before the one with this id, newest first.'),
        action: textOf('An action such as `run.delete`, or a family such as `run`.'),
        user: textOf('Name of who acted.'),
        target: textOf('Id of what it was done to.'),
        sinceMs: instantOf('Not before this instant: epoch milliseconds or ISO 8601.'),
        untilMs: instantOf('Not after this instant.'),
        limit: positiveOf(`At most ${MAX_AUDIT_LINES}; 100 unless given.`),
      },
    },
  ),
  'GET /quotas': admin(
    'getQuotas',
    'The quota of the user, and those of projects of the user, with what is used of them',
    json({ quotas: list(schemaOf(quotaShape)) }),
  ),
  'PUT /quotas': admin(
    'putQuotas',
    'Sets the quota of a project of the user; that of a user is set at the machine of the service',
    json({ quota: schemaOf(quotaShape) }),
    {
      body: accountMessage({
        quota: object(newQuotaFields, ['user', 'space', ...QUOTA_RESOURCES]),
      }),
    },
  ),
  'GET /shares': admin(
    'getShares',
    'Which projects of the user are shared, with whom',
    json({ shares: list(schemaOf(shareShape)) }),
  ),
  'PUT /shares': admin(
    'putShares',
    'Shares a project with another user, or changes what may be done with it',
    json({ share: schemaOf(newShareShape) }),
    { body: accountMessage({ share: object(newShareFields, ['owner', 'space', 'access']) }) },
  ),
  'DELETE /shares': admin('deleteShares', 'Takes a share back', none, {
    query: {
      project: textOf(undefined, true),
      user: textOf(undefined, true),
      space: textOf(),
      owner: textOf(),
    },
  }),
  'GET /healthz': open('getHealth', 'The process is alive; no key is needed', {
    '200': { description: 'Alive.', content: json({ status: { const: 'ok' } }) },
  }),
  'GET /readyz': open(
    'getReadiness',
    'The service takes requests: its database answers, and it is not shutting down; no key is needed',
    {
      '200': { description: 'Ready.', content: jsonOf(ready) },
      '503': { description: 'Not to be asked now.', content: jsonOf(notReady) },
    },
  ),
  'GET /metrics': machine(
    'getMetrics',
    'Counters for Prometheus: for a key of scope `admin`, or from the machine itself',
    { '200': { description: 'The counters.', content: { 'text/plain': text } } },
  ),
} as const satisfies Readonly<Record<string, Route>>;
