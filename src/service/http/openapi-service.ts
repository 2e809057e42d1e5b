/** What a service answers beside its stores, for the description of the API: see `openapi.ts`. */
import { list, object, type Schema } from './api-schemas.ts';
import { KEY_SCOPES } from '../access/principal.ts';
import { METRICS_MEDIA_TYPE } from '../log/metrics.ts';
import { SERVICE_ROUTES } from '../../wire/service-routes.ts';

const JSON_TYPE = 'application/json';
const text: Schema = { type: 'string' };
const count: Schema = { type: 'integer', minimum: 0 };
const access: Schema = { enum: ['read', 'write'] };

const ERROR = { $ref: '#/components/responses/Error' };

function answer(description: string, type: string, schema: Schema): object {
  return { description, content: { [type]: { schema } } };
}

const instant: Schema = { type: ['number', 'null'], description: 'UTC epoch milliseconds.' };
const scope: Schema = { enum: [...KEY_SCOPES] };

const keyFields = {
  key_id: { ...text, description: 'The public part: "qk_" and 12 characters.' },
  user: text,
  scope,
  label: text,
  created_at_ms: { type: 'number' },
  expires_at_ms: { ...instant, description: 'Refused from then on; null: never.' },
  revoked_at_ms: { ...instant, description: 'Refused since then; null: it was not revoked.' },
} as const;

const shareFields = { owner: text, space: text, project: text, user: text, access } as const;

const FOR_ADMIN = 'For a key of scope `admin`, over its own user only.';

/** An operation of {@link SERVICE_PATHS} that takes a key of scope `admin`. */
function forAdmin(
  operationId: string,
  summary: string,
  answered: Schema,
  {
    parameters = [],
    body,
  }: { readonly parameters?: readonly object[]; readonly body?: Schema } = {},
): object {
  return {
    operationId,
    summary,
    description: FOR_ADMIN,
    parameters,
    security: [{ userKey: [] }],
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: { [JSON_TYPE]: { schema: body } } } }),
    responses: { '200': answer('Done.', JSON_TYPE, answered), default: ERROR },
  };
}

function parameter(name: string, place: 'path' | 'query', required = true): object {
  return { name, in: place, required, schema: text };
}

/** An operation without parameters. `security` is left out where a key may be needed. */
function get(
  operationId: string,
  summary: string,
  responses: Readonly<Record<string, object>>,
  security?: readonly object[],
): { readonly get: object } {
  return {
    get: {
      operationId,
      summary,
      parameters: [],
      ...(security === undefined ? {} : { security }),
      responses,
    },
  };
}

/** Paths of a service outside the protocol of stores, as OpenAPI has them. */
export const SERVICE_PATHS: Readonly<Record<string, object>> = {
  [SERVICE_ROUTES.health]: get(
    'getHealth',
    'The process is alive; no key is needed',
    { '200': answer('Alive.', JSON_TYPE, object({ status: { const: 'ok' } })) },
    [],
  ),
  [SERVICE_ROUTES.ready]: get(
    'getReadiness',
    'The service takes requests: its database answers, and it is not shutting down; no key is needed',
    {
      '200': answer(
        'Ready.',
        JSON_TYPE,
        object({
          status: { const: 'ready' },
          layout: { ...count, description: 'Of the database.' },
        }),
      ),
      '503': answer(
        'Not to be asked now.',
        JSON_TYPE,
        object(
          {
            status: { enum: ['closing', 'other_layout', 'no_database', 'no_memory_budget'] },
            layout: count,
            known: count,
            reason: { type: 'string' },
            bytesInFlight: count,
            requestsInFlight: count,
          },
          ['layout', 'known', 'reason', 'bytesInFlight', 'requestsInFlight'],
        ),
      ),
    },
    [],
  ),
  [SERVICE_ROUTES.metrics]: get(
    'getMetrics',
    'Counters for Prometheus: for a key of scope `admin`, or from the machine itself',
    {
      '200': answer('The counters.', METRICS_MEDIA_TYPE.split(';')[0] ?? '', text),
      default: ERROR,
    },
  ),
  [SERVICE_ROUTES.account]: get('getAccount', 'Who the key belongs to, and what is open to them', {
    '200': answer(
      'The account.',
      JSON_TYPE,
      object({
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
      }),
    ),
    default: ERROR,
  }),
  [SERVICE_ROUTES.keys]: {
    get: forAdmin(
      'getKeys',
      'The keys of the user, oldest first, ended and revoked ones too',
      object({ keys: list(object(keyFields)) }),
    ),
    post: forAdmin(
      'postKeys',
      'Makes a key of the same user; the answer shows it, and nothing else ever does',
      object({
        key: object({ ...keyFields, key: { ...text, description: 'The whole key, a secret.' } }),
      }),
      {
        body: object({
          key: object(
            {
              user: { ...text, description: 'The user of the key that asks; no other.' },
              scope: { ...scope, description: '`write` unless given.' },
              label: { ...text, description: 'What the key is for.' },
              expires_at_ms: {
                type: ['number', 'string', 'null'],
                description:
                  'When it ends: epoch milliseconds or ISO 8601; null: never. With the key that asks unless given, and never later than that one.',
              },
            },
            ['user', 'scope', 'label', 'expires_at_ms'],
          ),
        }),
      },
    ),
  },
  [SERVICE_ROUTES.key.replace(':keyId', '{keyId}')]: {
    delete: forAdmin(
      'deleteKey',
      'Revokes a key, also the one that asks; doing it again changes nothing',
      object({ key: object(keyFields) }),
      { parameters: [parameter('keyId', 'path')] },
    ),
  },
  [SERVICE_ROUTES.shares]: {
    get: forAdmin(
      'getShares',
      'Which projects of the user are shared, with whom',
      object({ shares: list(object({ ...shareFields, created_at_ms: { type: 'number' } })) }),
    ),
    put: forAdmin(
      'putShares',
      'Shares a project with another user, or changes what may be done with it',
      object({ share: object(shareFields) }),
      {
        body: object({
          share: object(
            {
              ...shareFields,
              owner: { ...text, description: 'The user of the key that asks; no other.' },
              space: { ...text, description: '`default` unless given.' },
              access: { ...access, description: '`read` unless given.' },
            },
            ['owner', 'space', 'access'],
          ),
        }),
      },
    ),
    delete: forAdmin('deleteShares', 'Takes a share back', object({}), {
      parameters: [
        parameter('project', 'query'),
        parameter('user', 'query'),
        parameter('space', 'query', false),
        parameter('owner', 'query', false),
      ],
    }),
  },
};
