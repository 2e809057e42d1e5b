/** What a service answers beside its stores, for the description of the API: see `openapi.ts`. */
import { list, object, type Schema } from './api-schemas.ts';
import { METRICS_MEDIA_TYPE } from './metrics.ts';
import { SERVICE_ROUTES } from './service-routes.ts';

const JSON_TYPE = 'application/json';
const text: Schema = { type: 'string' };
const count: Schema = { type: 'integer', minimum: 0 };
const access: Schema = { enum: ['read', 'write'] };

const ERROR = { $ref: '#/components/responses/Error' };

function answer(description: string, type: string, schema: Schema): object {
  return { description, content: { [type]: { schema } } };
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
            status: { enum: ['closing', 'other_layout', 'no_database'] },
            layout: count,
            known: count,
          },
          ['layout', 'known'],
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
        scope: { enum: ['read', 'write', 'admin'] },
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
};
