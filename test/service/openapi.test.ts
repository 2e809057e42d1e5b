/** The description of the API against what is registered and what is asked and answered. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createService } from '../../src/service/node/create-service.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import { createStoreHandler } from '../../src/service/routes/handler.ts';
import { openHttpStorage } from '../../src/wire/http-store.ts';
import { describeApi } from '../../src/service/http/openapi.ts';
import { pathOf, routesOf } from '../../src/wire/route-paths.ts';
import { MetricsLogger } from '../../src/session/metrics-logger.ts';
import { TrainingSession } from '../../src/session/training-session.ts';
import { sha256Of, bytesOf } from './filled-store.ts';
import { recordRun, runWith } from '../support/recorded-run.ts';
import { artifactSegmentOf } from '../support/artifact-segments.ts';
import { RUN_ID, mergeOf, runOf, segmentOf } from '../support/segments.ts';

type Schema = { readonly [keyword: string]: unknown };
type Content = { readonly [type: string]: { readonly schema: Schema } };
type Operation = {
  readonly operationId: string;
  readonly parameters: readonly {
    readonly name: string;
    readonly in: string;
    readonly schema: Schema;
  }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: {
    readonly [status: string]: { readonly content?: Content; readonly $ref?: string };
  };
};
type Description = {
  readonly openapi: string;
  readonly paths: { readonly [path: string]: { readonly [method: string]: Operation } };
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
};

const API = describeApi(false) as Description;

/** What in `value` does not fit the schema: the part of JSON Schema that the description uses. */
function misfits(schema: Schema, value: unknown, at = '$'): string[] {
  const ref = schema['$ref'];
  if (typeof ref === 'string') {
    const found = API.components.schemas[ref.replace('#/components/schemas/', '')];
    return found === undefined ? [`${at}: no schema ${ref}`] : misfits(found, value, at);
  }
  const oneOf = schema['oneOf'] as Schema[] | undefined;
  if (oneOf !== undefined)
    return oneOf.filter((one) => misfits(one, value, at).length === 0).length === 1
      ? []
      : [`${at}: none of oneOf`];
  const wrong: string[] = [];
  const isType = (type: string): boolean =>
    type === 'integer'
      ? Number.isInteger(value)
      : type === 'null'
        ? value === null
        : type === 'array'
          ? Array.isArray(value)
          : type === 'object'
            ? typeof value === 'object' && value !== null && !Array.isArray(value)
            : typeof value === type;
  const types = [schema['type'] ?? []].flat() as string[];
  if (types.length > 0 && !types.some(isType)) return [`${at}: not ${types.join(' or ')}`];
  if ('const' in schema && value !== schema['const']) wrong.push(`${at}: another constant`);
  const known = schema['enum'] as unknown[] | undefined;
  if (known !== undefined && !known.includes(value)) wrong.push(`${at}: not in enum`);
  if (typeof value === 'number') {
    if (value < ((schema['minimum'] as number | undefined) ?? -Infinity))
      wrong.push(`${at}: too small`);
    if (value > ((schema['maximum'] as number | undefined) ?? Infinity))
      wrong.push(`${at}: too large`);
  }
  if (Array.isArray(value) && schema['items'] !== undefined)
    value.forEach((item, i) =>
      wrong.push(...misfits(schema['items'] as Schema, item, `${at}[${i}]`)),
    );
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    const fields = (schema['properties'] ?? {}) as Record<string, Schema>;
    for (const name of (schema['required'] ?? []) as string[])
      if (!Object.hasOwn(value, name)) wrong.push(`${at}.${name}: missing`);
    for (const [name, item] of Object.entries(value)) {
      const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
      const others = schema['additionalProperties'];
      if (field !== undefined) wrong.push(...misfits(field, item, `${at}.${name}`));
      else if (others === false) wrong.push(`${at}.${name}: unknown`);
      else if (typeof others === 'object')
        wrong.push(...misfits(others as Schema, item, `${at}.${name}`));
    }
  }
  return wrong;
}

function operationOf(
  method: string,
  path: string,
): { name: string; operation: Operation } | undefined {
  const matches = Object.entries(API.paths)
    .filter(([template]) =>
      new RegExp(`^${template.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`).test(path),
    )
    .toSorted(([a], [b]) => a.split('{').length - b.split('{').length);
  for (const [template, methods] of matches) {
    const operation = methods[method.toLowerCase()];
    if (operation !== undefined) return { name: `${method} ${template}`, operation };
  }
  return undefined;
}

/** A handler whose every request and answer is compared with the description. */
function checkedHandler(): { fetch: (request: Request) => Promise<Response>; asked: Set<string> } {
  const store = createMemoryStore();
  const handler = createStoreHandler({ writable: true, feedPollMs: 5 });
  const asked = new Set<string>();
  const fetch = async (request: Request): Promise<Response> => {
    const url = new URL(request.url);
    const found = operationOf(request.method, url.pathname.replace(/\/$/, ''));
    expect(found, `${request.method} ${url.pathname}`).toBeDefined();
    const { name, operation } = found!;
    const parameters = operation.parameters
      .filter((one) => one.in === 'query')
      .map((one) => one.name);
    for (const parameter of url.searchParams.keys())
      if (!((name.endsWith('/rows') && parameter === 'metric_key') || parameter === 'bad'))
        expect(parameters, name).toContain(parameter);
    const type = request.headers.get('content-type');
    if (type !== null)
      expect(Object.keys(operation.requestBody?.content ?? {}), name).toContain(type);
    if (type === 'application/json') {
      const schema = operation.requestBody?.content[type]?.schema;
      if (schema !== undefined && request.headers.get('content-encoding') === null) {
        const body: unknown = JSON.parse(await request.clone().text());
        if (url.searchParams.get('bad') === 'run')
          expect(misfits(schema, body), name).not.toEqual([]);
        else if (url.searchParams.get('bad') === null)
          expect(misfits(schema, body), name).toEqual([]);
      }
    }
    const response = await handler.handle(request, { store });
    const answerType = response.headers.get('content-type') ?? '';
    if (!response.ok) {
      expect(
        misfits(API.components.schemas['Error']!, await response.clone().json()),
        name,
      ).toEqual([]);
      return response;
    }
    asked.add(name);
    const content = operation.responses[String(response.status)]?.content ?? {};
    expect(Object.keys(content), name).toContain(answerType.split(';')[0]);
    if (answerType === 'application/json')
      expect(misfits(content[answerType]!.schema, await response.clone().json()), name).toEqual([]);
    return response;
  };
  return { fetch, asked };
}

describe('the description of the API', () => {
  it.each([true, false])(
    'has every route that is answered, and no other (writable: %s)',
    async (writable) => {
      const handler = createStoreHandler({ writable });
      const paths = (describeApi(!writable) as Description).paths;
      const described = Object.entries(paths).flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
      );
      const answered: string[] = [];
      for (const path of Object.keys(API.paths))
        for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH']) {
          const url = `http://127.0.0.1${path.replaceAll(/\{[^}]+\}/g, 'x')}`;
          const store = createMemoryStore();
          const answer = await handler.handle(new Request(url, { method }), { store });
          const text = answer.status >= 400 ? await answer.text() : '';
          await answer.body?.cancel().catch(() => undefined);
          const isNoRoute = answer.status === 405 || text.includes('nothing at this address');
          if (!isNoRoute) answered.push(`${method} ${path}`);
        }
      handler.close();
      expect(described.toSorted()).toEqual(answered.toSorted());
      expect(described.length).toBeGreaterThan(10);
    },
  );

  it('is whole: references lead somewhere, parameters of paths are there, names are taken once', () => {
    expect(API.openapi).toBe('3.1.0');
    const refs = [...JSON.stringify(API).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(
      ([, path]) => path ?? '',
    );
    for (const path of refs) {
      let found: unknown = API;
      for (const name of path.split('/')) found = (found as Record<string, unknown>)[name];
      expect(found, path).toBeDefined();
    }
    const operations = Object.values(API.paths).flatMap((methods) => Object.values(methods));
    expect(new Set(operations.map((one) => one.operationId)).size).toBe(operations.length);
    for (const [path, methods] of Object.entries(API.paths))
      for (const { parameters } of Object.values(methods))
        expect(parameters.filter((one) => one.in === 'path').map((one) => one.name)).toEqual(
          [...path.matchAll(/\{([^}]+)\}/g)].map(([, name]) => name),
        );
  });

  it('fits what is asked and answered', async () => {
    const { fetch, asked } = checkedHandler();
    const remote = await openHttpStorage('http://127.0.0.1', { fetch });
    const get = (path: string): Promise<Response> =>
      fetch(new Request(`http://127.0.0.1/api/v1${path}`));
    const send = (method: string, path: string, body: unknown): Promise<Response> =>
      fetch(
        new Request(`http://127.0.0.1/api/v1${path}?bad=${path === '/runs' ? 'run' : ''}`, {
          method,
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        }),
      );
    const described = await (await get('/openapi.json')).json();
    expect(described).toEqual(JSON.parse(JSON.stringify(API)));

    await remote.ensureProject({ id: 'project_1', name: 'digits', createdAtMs: 5 });
    await remote.listProjects();
    const run = await remote.createRun(runOf({ tags: ['a'] }));
    await remote.updateRun(run);
    expect((await remote.updateRun(run)).kind).toBe('conflict');
    await remote.listRuns({
      projectName: 'digits',
      statuses: ['running'],
      tags: ['a'],
      startedMinMs: 1,
      startedMaxMs: 2e12,
      limit: 5,
      offset: 0,
    });
    await get('/runs?text=digits&config=lr%3C1');
    await remote.renewLease(RUN_ID, 'holder', 1_000);
    await remote.listLeases([RUN_ID]);
    await remote.releaseLease(RUN_ID, 'holder');
    const placed = await remote.appendSegments([
      segmentOf(0, { keys: null }),
      segmentOf(1, { stepMin: null, stepMax: null }),
    ]);
    await remote.listSegments({ runId: RUN_ID, table: 'metrics', stepMin: 1, keys: ['a'] });
    await remote.readSegments(placed);
    await remote.replaceSegments(RUN_ID, 'metrics', placed, [mergeOf(placed)]);
    await remote.listSegments({ runId: RUN_ID, table: 'metrics' });
    await remote.replaceTable(RUN_ID, 'metrics', [segmentOf(5)]);
    await remote.listStreams?.(RUN_ID);
    const blob = bytesOf(1, 100);
    const hash = await sha256Of(blob);
    await remote.putBlob(hash, blob);
    await remote.getBlob(hash);
    const ranged = await fetch(
      new Request(`http://127.0.0.1/api/v1/blobs/${hash}`, { headers: { range: 'bytes=1-2' } }),
    );
    expect(ranged.status).toBe(206);
    await remote.reclaimSpace();
    const about = { ruleId: 'plateau', moduleName: null, metricKey: 'val/loss' };
    const said = { ...about, kind: 'silence', reason: 'Known.', by: 'kim', until: null } as const;
    expect(await remote.silenceAlerts?.(RUN_ID, said)).toBeGreaterThan(0);
    const { silences } = await (await get(`/runs/${RUN_ID}/silences`)).json();
    expect(silences).toMatchObject([{ rule_id: 'plateau', metric_key: 'val/loss', by: 'kim' }]);
    expect(await remote.unsilenceAlerts?.(RUN_ID, about)).toBeGreaterThan(0);
    const ids = await remote.askRuns?.({ kind: 'ids', limit: 5 });
    expect(ids).toEqual({ kind: 'ids', ids: [RUN_ID], total: 1 });
    const by = ['status'];
    const facets = await remote.askRuns?.({ kind: 'facets', by, limit: 5 });
    expect(facets).toMatchObject({ facets: [{ path: 'status', more: 0, missing: 0 }] });
    const orderBy = [{ path: 'id', isDescending: false }];
    const page = { orderBy, columns: by, limit: 5, offset: 0, after: '' };
    const rows = await remote.askRuns?.({ kind: 'rows', ...page });
    expect(rows).toMatchObject({ rows: [{ id: RUN_ID }], total: 1 });
    const document = { kind: 'report', id: 'one', name: 'One', body: '{}' };
    expect(await remote.putDocument?.('digits', document, 0)).toMatchObject({ kind: 'updated' });
    expect(await remote.putDocument?.('digits', document, 0)).toMatchObject({ kind: 'conflict' });
    expect(await remote.listDocuments?.('digits', 'report')).toMatchObject([{ id: 'one' }]);
    expect(await remote.findDocument?.('digits', 'report', 'one')).toMatchObject(document);
    expect(await remote.findDocument?.('digits', 'report', 'two')).toBeUndefined();
    expect(await remote.deleteDocument?.('digits', 'report', 'one', 1)).toBe(true);
    await remote.archiveRun(RUN_ID);
    await remote.listRuns({ archived: true });
    const deleted = await remote.deleteRun(RUN_ID, { keepMs: 1_000, by: 'kim' });
    expect(await remote.findDeletedRun(RUN_ID)).toEqual(deleted);
    expect(await remote.listDeletedRuns()).toEqual([deleted]);
    expect(await remote.purgeDeletedRuns(5, [])).toEqual([]);
    await remote.restoreRun(RUN_ID);
    const live = await get(`/events?run=${RUN_ID}&table=metrics`);
    await live.body?.cancel();

    await recordRun([], remote, runWith({ id: 'run_two' }));
    await get('/runs/run_two/tables/metrics/rows?format=jsonl&step_min=0&limit=3&metric_key=a');
    await get('/batches?run=run_two&run=run_nobody');
    await get('/runs/run_two/tables/metrics/rows');
    await remote.renewLease(RUN_ID, 'gone', 0.001);
    await expect
      .poll(() => remote.lapsedLeases?.(RUN_ID), { interval: 2 })
      .toMatchObject([{ holder: 'gone' }]);
    const session = await TrainingSession.startRun({ project: 'digits', storage: remote });
    new MetricsLogger(session).log('loss', Number.NaN, { step: 1 });
    await session.endRun();
    const query = { runId: session.runId, buckets: 4, rowsMin: 1, stepMin: 0, stepMax: 9 };
    expect((await remote.readCurves?.(query))?.curves.length).toBe(1);
    const small = { runIds: [session.runId], metricKey: 'loss' };
    expect(await remote.readSparklines?.(small)).toMatchObject([{ positions: [1] }]);
    const { runId } = session;
    await remote.appendSegments([artifactSegmentOf(0, [['1'.repeat(64)]], { runId })]);
    expect(await remote.deleteArtifact?.(runId, 'a0')).toMatchObject({ rows: 1 });
    expect(await remote.deleteTable?.(runId, 'metrics')).toMatchObject({ rows: 1 });
    const listed = await remote.listSegments({ runId, table: 'metrics', empty: true });
    expect(listed).toMatchObject([{ rowCount: 0, droppedRows: 1 }]);

    expect(await remote.deleteProject?.('digits', { running: true, keepMs: 5 })).toMatchObject({
      name: 'digits',
    });

    // Errors have their form too.
    for (const [method, path, body] of [
      ['POST', '/runs', { run: 3 }],
      ['POST', '/runs', { run: { ...runOf(), tags: 'a' } }],
      ['PUT', `/runs/${RUN_ID}/leases/h`, { ttl_ms: -1 }],
      ['POST', '/projects', []],
      ['PUT', `/runs/${RUN_ID}/silences`, { silence: { rule_id: 'plateau' } }],
    ] as const)
      expect((await send(method, path, body)).status).toBe(400);
    expect((await get('/runs/nobody')).status).toBe(404);
    expect((await get('/runs/nobody/artifacts/none')).status).toBe(404);

    const all = Object.entries(API.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    // Payloads of artifacts have tests of their own.
    expect(all.filter((name) => !asked.has(name))).toEqual([
      'GET /api/v1/runs/{runId}/artifacts/{artifactId}',
    ]);
  });

  it('of a service has its own routes too, as they are asked and answered', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'quark-openapi-'));
    const service = await createService({
      storage: folder,
      maintenance: false,
      keyless: 'always',
    });
    const at = { remoteAddress: '127.0.0.1' };
    const describedAt = new Set<string>();
    let described: Description = API;
    let key: string | undefined;
    const fits = async (
      method: string,
      path: string,
      status: number,
      { template = path.split('?')[0] ?? '', body }: { template?: string; body?: unknown } = {},
    ): Promise<unknown> => {
      const response = await service(
        new Request(`http://127.0.0.1${path}`, {
          method,
          headers: {
            ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
            ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        }),
        at,
      );
      expect(response.status, path).toBe(status);
      const operation = described.paths[template]?.[method.toLowerCase()];
      const json = operation?.requestBody?.content['application/json']?.schema;
      expect(json === undefined, path).toBe(body === undefined);
      if (json !== undefined) expect(misfits(json, body), path).toEqual([]);
      for (const name of new URL(`http://x${path}`).searchParams.keys())
        expect(
          operation?.parameters.map((one) => one.name),
          path,
        ).toContain(name);
      describedAt.add(`${method} ${template}`);
      const content = operation?.responses[String(status)]?.content ?? {};
      const [type = ''] = (response.headers.get('content-type') ?? '').split(';');
      expect(Object.keys(content), path).toEqual([type]);
      if (type !== 'application/json') return undefined;
      const answer: unknown = await response.json();
      expect(misfits(content[type]!.schema, answer), path).toEqual([]);
      return answer;
    };
    described = (await fits('GET', '/api/v1/openapi.json', 200)) as Description;
    try {
      const own = [...new Set([...routesOf('account'), ...routesOf('service')].map(pathOf))].map(
        (path) => path.replace(/:([A-Za-z]+)/g, '{$1}'),
      );
      expect(own.length).toBeGreaterThan(6);
      expect(Object.keys(described.paths).toSorted()).toEqual(
        [...Object.keys(API.paths), ...own].toSorted(),
      );
      for (const path of ['/healthz', '/readyz', '/metrics', '/api/v1/account'])
        await fits('GET', path, 200);
      key = (await service.access.createKey({ user: 'alice', scope: 'admin' })).key;
      await service.access.createKey({ user: 'bob' });
      const project = { id: 'p', name: 'digits', created_at_ms: 1 };
      await fits('POST', '/api/v1/projects', 200, { body: { project } });
      const share = { project: 'digits', user: 'bob' };
      await fits('PUT', '/api/v1/shares', 200, { body: { share } });
      await fits('GET', '/api/v1/shares', 200);
      await fits('GET', '/api/v1/account', 200);
      await fits('DELETE', `/api/v1/shares?project=digits&user=bob`, 200);
      const wanted = { scope: 'read', expires_at_ms: '2999-01-01' };
      const made = (await fits('POST', '/api/v1/keys', 200, { body: { key: wanted } })) as {
        readonly key: { readonly key_id: string };
      };
      await fits('GET', '/api/v1/keys', 200);
      const quota = { project: 'digits', runs: 10 };
      await fits('PUT', '/api/v1/quotas', 200, { body: { quota } });
      await fits('GET', '/api/v1/quotas', 200);
      await fits('DELETE', '/api/v1/spaces/default?dry_run=yes', 200, {
        template: '/api/v1/spaces/{space}',
      });
      await fits('DELETE', '/api/v1/account?user=alice&dry_run=yes', 200);
      await fits('GET', '/api/v1/audit?action=key&limit=5', 200);
      await fits('DELETE', `/api/v1/keys/${made.key.key_id}`, 200, {
        template: `/api/v1/keys/{keyId}`,
      });
      const all = own.flatMap((path) =>
        Object.keys(described.paths[path] ?? {}).map((method) => `${method.toUpperCase()} ${path}`),
      );
      expect(all.filter((one) => !describedAt.has(one))).toEqual([]);
      await service.drain(0);
      await fits('GET', '/readyz', 503);
    } finally {
      await service.close();
      await rm(folder, { recursive: true, force: true });
    }
  });
});
