/** The description of the API in OpenAPI 3.1, made from the table of routes. A test compares it with what is answered. */
import { VERSION } from '../../base/version.ts';
import {
  PROTOCOL_HEADER,
  REQUEST_HEADER,
  SPACE_HEADER,
  SPOKEN_VERSIONS,
} from '../../wire/protocol.ts';
import {
  changesStore,
  jsonOf,
  textOf,
  type Content,
  type Parameter,
  type Route,
  type RouteGroup,
} from '../../wire/route-parts.ts';
import { methodOf, pathOf, ROUTE_LIST } from '../../wire/route-paths.ts';
import { schemaFor, SCHEMAS } from '../../wire/schemas.ts';
import { wireName } from '../../wire/wire.ts';

const ERROR = { $ref: '#/components/responses/Error' };

const COMMON_HEADERS: readonly object[] = Object.entries({
  [PROTOCOL_HEADER]: textOf(
    `Versions of the protocol that the client speaks, newest first; the server speaks ${SPOKEN_VERSIONS.join(', ')}.`,
  ),
  [REQUEST_HEADER]: textOf(
    'Of changes: a name of its own, 16 to 64 letters, digits, "_" or "-"; the same request again gets the same answer.',
  ),
  [SPACE_HEADER]: textOf('The space that the request is about; the unnamed one unless given.'),
}).map(([name, parameter]) => describeParameter('header', name, parameter));

const RANGE_HEADER = describeParameter(
  'header',
  'range',
  textOf('One range of bytes, such as `bytes=0-1023`.'),
);

/**
 * The description.
 *
 * @param isReadOnly leaves out what changes a store
 * @param groups the routes that are there
 */
export function describeApi(
  isReadOnly: boolean,
  groups: readonly RouteGroup[] = ['store'],
): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const [name, route] of ROUTE_LIST) {
    if (!groups.includes(route.group) || (isReadOnly && changesStore(route))) continue;
    const path = pathOf(name);
    const operations = (paths[path.replaceAll(/:([A-Za-z0-9]+)/g, '{$1}')] ??= {});
    operations[methodOf(name).toLowerCase()] = describe(path, route);
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
    paths,
    components: {
      schemas: SCHEMAS,
      securitySchemes: { userKey: { type: 'http', scheme: 'bearer', bearerFormat: 'qk_...' } },
      responses: {
        Error: {
          description: 'What was wrong, and what to do. 429 and 503 may carry Retry-After.',
          content: jsonOf(schemaFor('Error')),
        },
      },
    },
  };
}

function describe(path: string, route: Route): object {
  const { id, summary, group, scope, query = {}, headers = {}, body, hasRanges = false } = route;
  const answers: Record<string, object> = {};
  for (const [status, { description, content }] of Object.entries(route.answers))
    answers[status] = { description, content: contentOf(content) };
  if (scope !== 'none') answers['default'] = ERROR;
  if (hasRanges) {
    const content = contentOf(route.answers['200']?.content ?? {});
    answers['206'] = { description: 'The range that was asked for.', content };
    answers['416'] = ERROR;
  }
  return {
    operationId: id,
    summary,
    ...(scope === 'admin' ? FOR_ADMIN : {}),
    ...(scope === 'delete' ? FOR_DELETE : {}),
    ...(scope === 'none' ? { security: [] } : {}),
    parameters: [
      ...[...path.matchAll(/:([A-Za-z0-9]+)/g)].map(([, name]) => ({
        name,
        in: 'path',
        required: true,
        schema: { type: 'string' },
      })),
      ...Object.entries(query).map(([name, rule]) => describeParameter('query', name, rule)),
      ...Object.entries(headers).map(([name, rule]) => describeParameter('header', name, rule)),
      ...(hasRanges ? [RANGE_HEADER] : []),
      ...(group === 'store' ? COMMON_HEADERS : []),
    ],
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: contentOf(body.content) } }),
    responses: answers,
  };
}

const FOR_DELETE = {
  description: 'For a key of scope `delete` or `admin`, in a space of its own user.',
  security: [{ userKey: [] }],
};

const FOR_ADMIN = {
  description: 'For a key of scope `admin`, over its own user only.',
  security: [{ userKey: [] }],
};

function describeParameter(location: string, name: string, rule: Parameter): object {
  const { schema, description, isRequired = false } = rule;
  return {
    name: wireName(name),
    in: location,
    required: isRequired,
    ...(description === undefined ? {} : { description }),
    schema,
    ...('isRepeated' in rule ? { style: 'form', explode: true } : {}),
  };
}

function contentOf(content: Content): object {
  return Object.fromEntries(Object.entries(content).map(([type, schema]) => [type, { schema }]));
}
