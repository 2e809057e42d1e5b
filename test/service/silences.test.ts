/** Silences over HTTP: a route that a reader of the API finds, scopes, and lines in the audit log. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { AnalyzerEngine } from '../../src/analysis.ts';
import { MetricsLogger, openRun, openStorage, startRun } from '../../src/index.ts';
import type { KeyScope } from '../../src/wire/access-messages.ts';
import type { ServedService } from '../../src/service/node/serve-service.ts';
import { ask, bearer, RunningServices } from './running-service.ts';

const services = new RunningServices();
let service: ServedService;
let runId = '';

const keyOf = async (scope: KeyScope, user = 'ada'): Promise<string> =>
  (await service.access.createKey({ user, scope })).key;

const call = async (
  userKey: string,
  method: string,
  { query = '', body }: { readonly query?: string; readonly body?: object } = {},
) => {
  const { status, text } = await ask(service.port, `/api/v1/runs/${runId}/silences${query}`, {
    method,
    headers: { ...bearer(userKey), 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status, answer: JSON.parse(text === '' ? '{}' : text) };
};

beforeEach(async () => {
  service = await services.start({ storage: services.folder(), maintenance: false });
  const storage = await openStorage(service.url, { userKey: await keyOf('write') });
  const session = await startRun({ project: 'own', storage, handleSignals: false });
  ({ runId } = session);
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < 5; step++) metrics.log('train/loss', step, { step });
  await session.endRun('completed');
  await session.close();
});
afterEach(() => services.clear());

it('is said, read and taken back by anybody who can send a request', async () => {
  const key = await keyOf('write');
  const silence = { rule_id: 'plateau', metric_key: 'train/loss', reason: 'The rate is 0.' };
  const put = await call(key, 'PUT', { body: { silence: { ...silence, until: '2030-01-01' } } });
  expect(put).toMatchObject({
    status: 200,
    answer: {
      silence: {
        ...silence,
        kind: 'silence',
        module_name: null,
        by: 'ada',
        until: '2030-01-01T00:00:00.000Z',
      },
    },
  });
  expect((await call(await keyOf('read'), 'GET')).answer.silences).toEqual([put.answer.silence]);
  const taken = '?rule_id=plateau&metric_key=train%2Floss';
  expect((await call(key, 'DELETE', { query: taken })).status).toBe(200);
  expect((await call(key, 'GET')).answer.silences).toEqual([]);
});

it('asks for scope write, and refuses what is no silence by field', async () => {
  const reads = await keyOf('read');
  const body = { silence: { rule_id: 'plateau', reason: 'Known.' } };
  expect((await call(reads, 'PUT', { body })).status).toBe(403);
  expect((await call(reads, 'DELETE', { query: '?rule_id=plateau' })).status).toBe(403);
  const key = await keyOf('write');
  for (const [wrong, field] of [
    [{ rule_id: 'plateau' }, 'silence.reason'],
    [{ rule_id: '', reason: 'x' }, 'silence.ruleId'],
    [{ ...body.silence, kind: 'mute' }, 'silence.kind'],
    [{ ...body.silence, until: 'soon' }, 'silence.until'],
    [{ ...body.silence, reason: 'x'.repeat(600) }, 'silence.reason'],
  ] as const) {
    const { answer, status } = await call(key, 'PUT', { body: { silence: wrong } });
    expect([status, JSON.stringify(answer)]).toEqual([400, expect.stringContaining(field)]);
  }
  expect((await call(key, 'DELETE')).status).toBe(400);
  expect((await call(key, 'GET')).answer.silences).toEqual([]);
  const { status } = await ask(service.port, '/api/v1/runs/nobody/silences', {
    headers: bearer(key),
  });
  expect(status).toBe(404);
});

it('is in the audit log, also where a program says it', async () => {
  const store = await openStorage(service.url, { userKey: await keyOf('write') });
  const engine = new AnalyzerEngine(await openRun(store, runId));
  const silence = await engine.silence({ ruleId: 'plateau', reason: 'Known.', by: 'Ada L.' });
  expect(await engine.readSilences()).toEqual([silence]);
  await engine.unsilence({ ruleId: 'plateau' });
  expect(await engine.readSilences()).toEqual([]);
  await store.close();
  const { text } = await ask(service.port, '/api/v1/audit?action=alert&after=0', {
    headers: bearer(await keyOf('admin')),
  });
  expect(JSON.parse(text).lines).toMatchObject([
    {
      action: 'alert.silence',
      user: 'ada',
      target_id: runId,
      detail: { ruleId: 'plateau', by: 'Ada L.', reason: 'Known.' },
    },
    { action: 'alert.unsilence', target_id: runId, detail: { ruleId: 'plateau' } },
  ]);
});

it('of a project that is shared for reading is its owner’s to say', async () => {
  const guest = await keyOf('write', 'bob');
  await service.access.share({ owner: 'ada', project: 'own', user: 'bob' });
  const headers = {
    ...bearer(guest),
    'quark-space': 'ada:default',
    'content-type': 'application/json',
  };
  const path = `/api/v1/runs/${runId}/silences`;
  const body = JSON.stringify({ silence: { rule_id: 'plateau', reason: 'x' } });
  const answers = [
    await ask(service.port, path, { headers }),
    await ask(service.port, path, { method: 'PUT', headers, body }),
    await ask(service.port, `${path}?rule_id=plateau`, { method: 'DELETE', headers }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 403, 403]);
  expect((await call(await keyOf('read'), 'GET')).answer.silences).toEqual([]);
});
