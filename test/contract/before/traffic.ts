/** A service without a socket, what is asked of it, and the recording of both. */
import { openStorage, TrainingSession, MetricsLogger, type Store } from 'quark-sdk';
import { createService, type Service } from 'quark-sdk/service';
import { checksumOf, contentOf, record, withoutMachine, type Fixed } from './scenario.ts';

/** Address under which `fetch` of this process reaches the service. */
export const ORIGIN = 'http://127.0.0.1:4747';
const USERS = ['alice', 'bob'] as const;

/** A request and its answer; bytes that are no text are in base64. */
export type Exchange = {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Body;
  /** Of a stream: how many events are read. */
  readonly events?: number;
  readonly status: number;
  readonly answerHeaders: Readonly<Record<string, string>>;
  readonly answer: Body;
};
type Body = { readonly text: string } | { readonly base64: string } | null;

/** What services tell since then, of their database. */
const ADDED_HEADERS = new Set(['quark-store', 'quark-epoch', 'quark-durable']);

/** A service over a folder, with a user that may do everything and one that may write. */
export class TestService {
  readonly #service: Service;
  readonly #keys: ReadonlyMap<string, string>;
  readonly exchanges: Exchange[] = [];
  readonly #fetch: typeof fetch;

  private constructor(service: Service, keys: ReadonlyMap<string, string>) {
    this.#service = service;
    this.#keys = keys;
    this.#fetch = globalThis.fetch;
    globalThis.fetch = async (input, init) => this.#answer(new Request(input, init));
  }

  static async open(storage: string): Promise<TestService> {
    // The clock stands still: no budget is ever filled up again.
    const limits = {
      requestsPerSecond: 1e6,
      requestBurst: 1e6,
      processorMsPerSecond: 1e6,
      processorBurstMs: 1e9,
      bytesPerSecond: 1e9,
      byteBurst: 1e12,
    };
    const service = await createService({ storage, limits, maintenance: false });
    const keys = new Map<string, string>();
    for (const user of USERS)
      keys.set(
        user,
        (await service.access.createKey({ user, scope: user === 'alice' ? 'admin' : 'write' })).key,
      );
    return new TestService(service, keys);
  }

  key(user: (typeof USERS)[number]): string {
    return this.#keys.get(user) ?? '';
  }

  async close(): Promise<void> {
    globalThis.fetch = this.#fetch;
    await this.#service.close();
  }

  /** Asks as a client would: `user` in place of a key. */
  async ask(
    asked: Pick<Exchange, 'method' | 'path' | 'headers' | 'body' | 'events'>,
  ): Promise<Exchange> {
    const { method, path, headers, body, events } = asked;
    const request = new Request(new URL(path, ORIGIN), {
      method,
      headers: Object.entries(headers).map(([name, value]): [string, string] => [
        name,
        this.#withKeys(value),
      ]),
      body: bytesOf(body) ?? null,
    });
    const answer = await this.#service(request, { remoteAddress: '127.0.0.1' });
    const bytes =
      events === undefined
        ? new Uint8Array(await answer.arrayBuffer())
        : await readEvents(answer, events);
    return {
      ...asked,
      status: answer.status,
      answerHeaders: Object.fromEntries(
        [...answer.headers]
          .filter(([name]) => !ADDED_HEADERS.has(name))
          .map(([name, value]) => [name, this.#withoutKeys(value)]),
      ),
      answer: this.#bodyOf(bytes),
    };
  }

  async #answer(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const body = this.#bodyOf(new Uint8Array(await request.arrayBuffer()));
    const headers = Object.fromEntries(
      [...request.headers].map(([name, value]) => [name, this.#withoutKeys(value)]),
    );
    const exchange = await this.ask({
      method: request.method,
      path: url.pathname + url.search,
      headers,
      body,
    });
    this.exchanges.push(exchange);
    const hasBody = ![101, 204, 205, 304].includes(exchange.status);
    return new Response(hasBody ? (bytesOf(exchange.answer) ?? null) : null, {
      status: exchange.status,
      headers: exchange.answerHeaders,
    });
  }

  #withKeys(text: string): string {
    return text.replaceAll(/<key of (\w+)>/g, (_, user: string) => this.#keys.get(user) ?? '');
  }

  #withoutKeys(text: string): string {
    let out = text;
    for (const [user, key] of this.#keys) out = out.replaceAll(key, `<key of ${user}>`);
    return out.replaceAll(/qk_[0-9A-Za-z]{12,}/g, '<a key>');
  }

  #bodyOf(bytes: Uint8Array): Body {
    if (bytes.length === 0) return null;
    try {
      return { text: this.#withoutKeys(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) };
    } catch {
      return { base64: Buffer.from(bytes).toString('base64') };
    }
  }
}

/** A body as bytes. */
export function bytesOf(body: Body): Uint8Array<ArrayBuffer> | undefined {
  if (body === null) return undefined;
  return new Uint8Array(
    'text' in body ? Buffer.from(body.text) : Buffer.from(body.base64, 'base64'),
  );
}

/** What an exchange is about. */
export type Named = Pick<Exchange, 'method' | 'path'>;

/** An upload without the generations that live sessions name since then: a head in JSON, and what follows it. */
function withoutLive(upload: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  if (new TextDecoder().decode(upload.subarray(0, 4)) !== 'QSU1') return upload;
  const end = 8 + new DataView(upload.buffer).getUint32(4, true);
  const { live: _live, ...head } = JSON.parse(
    new TextDecoder().decode(upload.subarray(8, end)),
  ) as Readonly<Record<string, unknown>>;
  const bytes = new TextEncoder().encode(JSON.stringify(head));
  const short = new Uint8Array([...upload.subarray(0, 8), ...bytes, ...upload.subarray(end)]);
  new DataView(short.buffer).setUint32(4, bytes.byteLength, true);
  return short;
}

/** An exchange with checksums in place of long bodies. */
export function inShort(exchange: Exchange): Named {
  const short = (body: Body): unknown => {
    const given = bytesOf(body);
    const bytes = given === undefined ? undefined : withoutLive(given);
    return bytes === undefined || bytes.length < 200 ? body : checksumOf(bytes);
  };
  const { body, answer, ...rest } = exchange;
  const shortened = { body: short(body), answer: short(answer) };
  return { ...rest, ...shortened };
}

/** The first events of a stream. */
async function readEvents({ body }: Response, count: number): Promise<Uint8Array> {
  if (body === null) return new Uint8Array();
  const reader = body.getReader();
  // The timers of a service do not keep a process alive.
  const awake = setInterval(() => undefined, 1_000);
  let text = '';
  while ((text.match(/^event: /gm)?.length ?? 0) < count) {
    const { done, value } = await reader.read();
    if (done) break;
    text += new TextDecoder().decode(value);
  }
  clearInterval(awake);
  await reader.cancel();
  return new TextEncoder().encode(text);
}

/** A recording of two runs, straight into the service, and the reading of all of it. */
export async function recordAndRead(
  service: TestService,
  fixed: Fixed,
): Promise<readonly string[]> {
  const store = await openStorage(`${ORIGIN}/`, { userKey: service.key('alice') });
  const runIds = await record(store, fixed);
  await contentOf(store, runIds);
  await store.renewLease(runIds[0] ?? '', 'somebody', 60_000);
  await store.listLeases(runIds);
  await store.readCurves?.({ runId: runIds[0] ?? '', buckets: 4 });
  await store.close();
  return runIds;
}

/** A run that goes through the outbox of a local store. */
export async function recordThroughOutbox(
  service: TestService,
  fixed: Fixed,
  local: Store,
): Promise<void> {
  const session = await TrainingSession.startRun({
    project: 'sent later',
    storage: withoutMachine(local),
    persistenceUrl: `${ORIGIN}/`,
    userKey: service.key('bob'),
    clock: fixed.clock,
    handleSignals: false,
  });
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < 10; step++) metrics.log('train/loss', 1 / (1 + step), { step });
  await metrics.flush();
  await session.endRun('completed');
}

type Asked = Pick<Exchange, 'method' | 'path' | 'headers' | 'body' | 'events'>;

/** Requests of every route, good and bad, about what {@link recordAndRead} has left. */
export function questions([first = '', second = '']: readonly string[]): readonly Asked[] {
  const alice = { authorization: 'Bearer <key of alice>', 'quark-protocol': '1' };
  const bob = { authorization: 'Bearer <key of bob>', 'quark-protocol': '1' };
  const get = (path: string, headers: Readonly<Record<string, string>> = alice): Asked => ({
    method: 'GET',
    path,
    headers,
    body: null,
  });
  const send = (
    method: string,
    path: string,
    body: unknown,
    headers: Readonly<Record<string, string>> = alice,
  ): Asked => ({
    method,
    path,
    headers: { ...headers, 'content-type': 'application/json' },
    body: { text: typeof body === 'string' ? body : JSON.stringify(body) },
  });
  const run = `/api/v1/runs/${first}`;
  return [
    get('/healthz', {}),
    get('/readyz', {}),
    get('/quark.json', {}),
    get('/api/v1'),
    get('/api/v1/projects'),
    get('/api/v1/runs'),
    get('/api/v1/runs?status=completed&tag=all&limit=1'),
    get('/api/v1/runs?text=gr%C3%B6%C3%9Fer&config=lr%3C0.15'),
    get('/api/v1/runs?limit=1&offset=1'),
    get('/api/v1/runs?status=nonsense'),
    get('/api/v1/runs?limit=0'),
    get('/api/v1/runs?unknown=1'),
    get(run),
    get('/api/v1/runs/run_nobody'),
    get('/api/v1/runs/..%2Fx'),
    get(`${run}/tables`),
    get(`${run}/tables/metrics/segments`),
    get(`${run}/tables/metrics/segments?step_min=20&step_max=30&key=train%2Floss`),
    get(`${run}/tables/nonsense/segments`),
    get(`${run}/tables/metrics/rows?format=jsonl&metric_key=val%2Faccuracy`),
    get(`${run}/tables/metrics/rows?format=arrow&limit=5`),
    get(`${run}/tables/events/rows?format=jsonl&limit=2`),
    get(`${run}/tables/events/rows?format=xml`),
    get(`${run}/tables/metrics/rows?format=jsonl&limit=-1`),
    get(`${run}/curves?buckets=4`),
    get(`${run}/curves?buckets=3&key=train%2Floss&key=train%2Fodd&step_min=10&step_max=70`),
    get(`${run}/curves?buckets=none`),
    get('/api/v1/leases'),
    get(`/api/v1/leases?run=${first}&run=${second}`),
    send('PUT', `${run}/leases/h_1`, { ttl_ms: 60_000 }),
    send('PUT', `${run}/leases/h_1`, { ttl_ms: -1 }),
    { method: 'DELETE', path: `${run}/leases/h_1`, headers: alice, body: null },
    send('POST', '/api/v1/projects', { project: { id: 'prj_x', name: 'extra', created_at_ms: 1 } }),
    send('POST', '/api/v1/projects', { project: { id: '', name: 'extra' } }),
    send('POST', '/api/v1/runs', '{"run": '),
    send('POST', '/api/v1/runs', { run: { id: 'run_x' } }),
    send('POST', '/api/v1/segments/read', { segments: [] }),
    send('POST', '/api/v1/segments/read', {
      segments: [{ run_id: first, table: 'metrics', writer_id: 'nobody', batch_number: 0 }],
    }),
    send('POST', '/api/v1/segments', {}),
    get(`/api/v1/blobs/${'0'.repeat(64)}`),
    get('/api/v1/blobs/short'),
    get(`${run}/artifacts/art_nobody`),
    send('POST', '/api/v1/reclaim', {}),
    get('/api/v1/account'),
    get('/api/v1/account', bob),
    get('/api/v1/keys', bob),
    send('POST', '/api/v1/keys', {
      key: { scope: 'read', label: 'for the page', expires_at_ms: 1_800_000_000_000 },
    }),
    send('POST', '/api/v1/keys', { key: { scope: 'everything' } }),
    { method: 'DELETE', path: '/api/v1/keys/qk_nobody', headers: alice, body: null },
    send('PUT', '/api/v1/shares', {
      share: { space: 'default', project: 'extra', user: 'bob', access: 'read' },
    }),
    get('/api/v1/shares'),
    get('/api/v1/runs', { ...bob, 'quark-space': 'alice:default' }),
    get('/api/v1/runs', { ...bob, 'quark-space': 'alice:other' }),
    get('/api/v1/runs', { ...bob, 'quark-space': '../x' }),
    {
      method: 'DELETE',
      path: '/api/v1/shares?space=default&project=extra&user=bob',
      headers: alice,
      body: null,
    },
    get('/api/v1/runs', { 'quark-protocol': '1' }),
    get('/api/v1/runs', { ...alice, authorization: 'Bearer qk_wrong' }),
    get('/api/v1/runs', { ...alice, 'quark-protocol': '99' }),
    get('/api/v1/nothing/here'),
    send('PATCH', '/api/v1/runs', {}),
    { ...get(`/api/v1/events?run=${first}&table=metrics`), events: 2 },
    { ...get('/api/v1/events'), events: 1 },
    get('/api/v1/events?table=metrics'),
    { method: 'HEAD', path: run, headers: alice, body: null },
    {
      method: 'OPTIONS',
      path: run,
      headers: { origin: 'http://elsewhere.test', 'access-control-request-method': 'GET' },
      body: null,
    },
  ];
}
