// The pages of the HTTP interface, from the description that a service answers under /api/v1/openapi.json: one a resource, and one of
// the messages.
import { join } from 'node:path';
import { runnerImport } from 'vite';
import { root } from '../pages/navigation.mjs';

const FOLDER = 'http';
const SCHEMAS = `${FOLDER}/messages.html`;
const BASE = '/api/v1';
const EXAMPLE = 'https://quark.example';

async function readDescription() {
  const load = async (file) =>
    (await runnerImport(join(root, 'src', file), { configFile: false, logLevel: 'error' })).module;
  const [{ describeApi }, { methodOf, pathOf, ROUTE_LIST }] = [
    await load('service/http/openapi.ts'),
    await load('wire/route-paths.ts'),
  ];
  const scopes = new Map(
    ROUTE_LIST.map(([name, { scope }]) => [
      `${methodOf(name)} ${pathOf(name).replaceAll(/:([A-Za-z0-9]+)/g, '{$1}')}`,
      scope,
    ]),
  );
  return { api: describeApi(false, ['store', 'account', 'service']), scopes };
}

/** What follows the base in a path, up to the next slash: `runs`. */
function resourceOf(path) {
  if (!path.startsWith(BASE)) return 'probes';
  return path.slice(BASE.length + 1).split('/')[0] || 'about';
}

const cell = (text) => String(text).replaceAll('|', '\\|').replaceAll('\n', ' ');

/** A schema in words, with links to the messages. */
function typeOf(schema) {
  if (schema === undefined) return '';
  const name = schema.$ref?.split('/').at(-1);
  if (name !== undefined) return `[${name}](site:${SCHEMAS}#${name.toLowerCase()})`;
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.enum) return schema.enum.map((value) => `\`${JSON.stringify(value)}\``).join(', ');
  const either = schema.oneOf ?? schema.anyOf;
  if (either) return either.map(typeOf).join(' or ');
  if (schema.type === 'array') return `list of ${typeOf(schema.items) || 'values'}`;
  const types = [schema.type ?? 'any'].flat().join(' or ');
  const bounds = [
    schema.minimum === undefined ? '' : `at least ${schema.minimum}`,
    schema.maximum === undefined ? '' : `at most ${schema.maximum}`,
    schema.maxLength === undefined ? '' : `at most ${schema.maxLength} characters`,
    schema.format ?? '',
  ].filter(Boolean);
  return [types, ...bounds].join(', ');
}

/** The fields of an object as a table, or its type in words. */
function fieldsOf(schema) {
  const fields = Object.entries(schema?.properties ?? {});
  if (fields.length === 0) return `${typeOf(schema)}\n`;
  const rows = fields.map(([name, field]) => {
    const needed = schema.required?.includes(name) ? 'yes' : 'no';
    return `| \`${name}\` | ${cell(typeOf(field))} | ${needed} | ${cell(field.description ?? '')} |`;
  });
  return `| field | type | required | meaning |\n| --- | --- | --- | --- |\n${rows.join('\n')}\n`;
}

const contentText = (content = {}) =>
  Object.entries(content)
    .map(([type, { schema }]) => `\`${type}\`:\n\n${fieldsOf(schema)}`)
    .join('\n');

/** A value that fits a schema, for the example. */
function sample(schema, api, depth = 0) {
  if (schema === undefined || depth > 4) return null;
  if (schema.$ref) return sample(api.components.schemas[schema.$ref.split('/').at(-1)], api, depth);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  const either = schema.oneOf ?? schema.anyOf;
  if (either) return sample(either[0], api, depth);
  const type = [schema.type].flat()[0];
  if (type === 'array') return [sample(schema.items, api, depth + 1)];
  if (type === 'object')
    return Object.fromEntries(
      (schema.required ?? []).map((name) => [
        name,
        sample(schema.properties?.[name], api, depth + 1),
      ]),
    );
  return { string: 'text', integer: 1, number: 1, boolean: true }[type] ?? null;
}

function curlOf(method, path, operation, api, scope) {
  const needed = operation.parameters.filter((one) => one.in === 'query' && one.required);
  const query = needed.map(({ name }) => `${name}=${name.toUpperCase()}`).join('&');
  const address = `${EXAMPLE}${path.replaceAll(/\{(\w+)\}/g, (_, name) => name.toUpperCase())}${query && `?${query}`}`;
  const content = operation.requestBody?.content ?? {};
  const type = Object.keys(content)[0];
  const body =
    type === 'application/json'
      ? [`-d '${JSON.stringify(sample(content[type].schema, api))}'`]
      : type
        ? ['--data-binary @FILE']
        : [];
  return [
    `curl ${method === 'GET' ? '' : `-X ${method} `}'${address}'`,
    ...(scope === 'none' ? [] : [`-H "Authorization: Bearer $QUARK_KEY"`]),
    ...(type ? [`-H 'Content-Type: ${type}'`] : []),
    ...body,
  ].join(' \\\n  ');
}

function parametersText(parameters) {
  const own = parameters.filter(({ name }) => !name.startsWith('quark-'));
  if (own.length === 0) return '';
  const rows = own.map(
    ({ name, in: where, required, description = '', schema }) =>
      `| \`${name}\` | ${where} | ${cell(typeOf(schema))} | ${required ? 'yes' : 'no'} | ${cell(description)} |`,
  );
  return `\n**Parameters**\n\n| name | in | type | required | meaning |\n| --- | --- | --- | --- | --- |\n${rows.join('\n')}\n`;
}

function routeText({ method, path, operation }, { api, scopes }) {
  const scope = scopes.get(`${method} ${path}`);
  const answers = Object.entries(operation.responses).map(
    ([status, { $ref, description, content }]) =>
      $ref
        ? `\n**${status === 'default' ? 'Otherwise' : status}**: an error, ${typeOf({ $ref: '#/Error' })}.\n`
        : `\n**${status}**: ${description} ${contentText(content)}`,
  );
  const body = operation.requestBody
    ? `\n**Body**, ${contentText(operation.requestBody.content)}`
    : '';
  return `## ${method} ${path}

${operation.summary}. ${operation.description ?? ''}

Scope: ${scope === 'none' ? 'no key is needed' : `\`${scope}\``}.
${parametersText(operation.parameters)}${body}
${answers.join('\n')}

\`\`\`bash
${curlOf(method, path, operation, api, scope)}
\`\`\`
`;
}

const headingAnchor = ({ method, path }) =>
  `${method} ${path}`
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, '')
    .replaceAll(' ', '-');

function overviewText({ api, scopes }, groups) {
  const rows = [...groups].flatMap(([name, routes]) =>
    routes.map(
      (route) =>
        `| [\`${route.method} ${route.path}\`](site:${FOLDER}/${name}.html#${headingAnchor(route)}) | ${cell(route.operation.summary)} | \`${scopes.get(`${route.method} ${route.path}`)}\` |`,
    ),
  );
  const [first] = Object.values(api.paths[`${BASE}/runs`]);
  const common = first.parameters.filter(({ name }) => name.startsWith('quark-'));
  return `# HTTP interface

${api.info.description} A server answers this description as OpenAPI ${api.openapi} under \`${BASE}/openapi.json\`.

## Keys and scopes

A key is sent as \`Authorization: Bearer qk_...\`. Each route names the scope that a key needs: \`read\`, \`write\`, \`delete\` or \`admin\`; \`none\` needs no key.

## Headers of every route of a store

${common.map(({ name, description }) => `- \`${name}\`: ${description}`).join('\n')}

## Routes

| route | what it does | scope |
| --- | --- | --- |
${rows.join('\n')}
`;
}

/** All pages. @param render Markdown to HTML, for a page at an address */
export async function httpPages(render) {
  const description = await readDescription();
  const { api } = description;
  const groups = new Map();
  for (const [path, operations] of Object.entries(api.paths))
    for (const [method, operation] of Object.entries(operations)) {
      const name = resourceOf(path);
      groups.set(name, [
        ...(groups.get(name) ?? []),
        { method: method.toUpperCase(), path, operation },
      ]);
    }
  const page = (address, title, text) => ({ address, title, html: render(text, address) });
  const messages = Object.entries(api.components.schemas)
    .map(([name, schema]) => `## ${name}\n\n${schema.description ?? ''}\n\n${fieldsOf(schema)}`)
    .join('\n');
  return [
    page(`${FOLDER}/index.html`, 'HTTP interface', overviewText(description, groups)),
    ...[...groups].map(([name, routes]) =>
      page(
        `${FOLDER}/${name}.html`,
        name === 'openapi.json' ? 'openapi.json' : `/${name}`,
        `# Routes of ${name}\n\n${routes.map((route) => routeText(route, description)).join('\n')}`,
      ),
    ),
    page(SCHEMAS, 'Messages', `# Messages\n\nObjects in bodies and answers.\n\n${messages}`),
  ];
}
