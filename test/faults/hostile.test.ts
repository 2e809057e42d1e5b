/** 5,000 requests that no service may take, sent to a real one: each is refused clearly, and nothing else happens. */
import { timingSafeEqual } from 'node:crypto';
import { Agent, request as httpRequest } from 'node:http';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ERROR_CODES } from '../../src/base/errors.ts';
import { openSpaces } from '../../src/store/sql/node/open-spaces.ts';
import { AccessBook } from '../../src/service/access/access-book.ts';
import type { NewKeyOptions } from '../../src/wire/access-messages.ts';
import { UPLOAD_MEDIA_TYPE } from '../../src/wire/protocol.ts';
import { openHttpStorage } from '../../src/wire/http-store.ts';
import { rounds, seedOfRun } from '../support/property.ts';
import {
  anyHeavyRequest,
  anyHostileRequest,
  type HostileKeys,
  type HostileRequest,
} from './hostile-requests.ts';
import { buildProgram, startService, type Child, type Program } from './processes.ts';
import { compareRows, prepareRun, segmentOf } from './rows.ts';

const REQUESTS = 2_000;
const AT_ONCE = 8;
const HEAVY_SHARE = 0.002;
/** The service rests at some 100 MB, a bomb may unpack to 66 MiB before it is refused, and garbage is collected later. */
const MAX_RESIDENT_BYTES = 640 * 1024 * 1024;

let program: Program;
let directory: string;
let service: Child;
let port: number;
const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });

let keys: HostileKeys;

beforeAll(async () => {
  program = await buildProgram('fault-program.ts');
  directory = await mkdtemp(join(tmpdir(), 'quark-faults-'));
  keys = await makeKeys(directory);
  service = startService(program, { storage: directory });
  port = Number(await service.line('listening'));
}, 120_000);

afterAll(async () => {
  agent.destroy();
  await service.stop();
  await program.remove();
  await rm(directory, { recursive: true, force: true });
});

test(`${REQUESTS} hostile requests: each gets a 4xx that says why; memory is bounded and what is there stays`, async () => {
  const store = await openHttpStorage(`http://127.0.0.1:${port}/`, { userKey: keys.good });
  await prepareRun(store);
  await store.appendSegments([segmentOf('good', 0, 40), segmentOf('good', 1, 40)]);
  const good = new Map([['good', { acknowledged: 80, tried: 80 }]]);
  const before = await everything();

  const parameters = { numRuns: rounds(REQUESTS), seed: seedOfRun() };
  const seed = parameters.seed;
  const count = parameters.numRuns;
  const heavy = fc.sample(anyHeavyRequest(keys), { numRuns: Math.ceil(count * HEAVY_SHARE), seed });
  const light = fc.sample(anyHostileRequest(keys), { numRuns: count - heavy.length, seed });
  const requests = light.flatMap((one, i) =>
    i % 500 === 250 ? [one, ...heavy.splice(0, 1)] : [one],
  );
  const wrong = new Map<string, string>();
  let highest = 0;
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < requests.length && wrong.size < 100) {
      const i = next++;
      const one = requests[i];
      if (one === undefined) return;
      const found = judge(one, await sendUntilRoom(one));
      if (found !== undefined)
        wrong.set(`${one.wrong} (${one.method} ${one.path.slice(0, 80)})`, found);
      if (i % 50 === 0) highest = Math.max(highest, (await service.residentBytes()) ?? 0);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));

  expect([...wrong], `QUARK_SEED=${seed}`).toEqual([]);
  expect(service.isRunning, service.problems).toBe(true);
  expect(highest).toBeLessThan(MAX_RESIDENT_BYTES);
  expect(await everything()).toEqual(before);
  expect(await compareRows(store, good)).toEqual([]);
  await store.close();
}, 300_000);

test('what is no HTTP, or breaks its rules, gets a 4xx or nothing; slow senders keep nobody waiting', async () => {
  const authorization = `authorization: Bearer ${keys.good}`;
  const host = `host: 127.0.0.1:${port}`;
  const get = 'GET /api/v1/runs HTTP/1.1';
  const upload = `POST /api/v1/segments HTTP/1.1\r\n${host}\r\n${authorization}\r\ncontent-type: ${UPLOAD_MEDIA_TYPE}`;
  const slow = Array.from({ length: 40 }, () => {
    const socket = connect(port, '127.0.0.1', () =>
      socket.write(`${upload}\r\ncontent-length: 60000\r\n\r\nQ`),
    );
    socket.on('error', () => undefined);
    return socket;
  });
  const answers = await Promise.all(
    [
      'GARBAGE\r\n\r\n',
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003\r\n\r\n',
      `GET /api/v1/runs HTTP/9.9\r\n${host}\r\n\r\n`,
      'GET /api/v1/runs\r\n\r\n',
      `${get}\r\n\r\n`,
      `${get}\r\n${host}\r\n${host}\r\n\r\n`,
      `${get}\r\n${host}\r\nbad header: 1\r\n\r\n`,
      `${get}\r\n${host}\r\nx\u0000y: 1\r\n\r\n`,
      `${get}\r\n${host}\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`,
      `${get}\r\n${host}\r\n${authorization}\r\n${authorization.replace('qk_', 'qk_x')}\r\n\r\n`,
      `GET http://evil.example/api/v1/runs HTTP/1.1\r\nhost: evil.example\r\n\r\n`,
      `GET /../../../../etc/passwd HTTP/1.1\r\n${host}\r\n\r\n`,
      `GET /api/v1/runs/%2e%2e/%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\n${host}\r\n${authorization}\r\n\r\n`,
      `GET /.quark/quark.db HTTP/1.1\r\n${host}\r\n\r\n`,
      `GET /api/v1/runs\u0000 HTTP/1.1\r\n${host}\r\n\r\n`,
      `OPTIONS * HTTP/1.1\r\n${host}\r\n\r\n`,
      `CONNECT evil.example:443 HTTP/1.1\r\nhost: evil.example\r\n\r\n`,
      `${upload}\r\ncontent-length: -5\r\n\r\n`,
      `${upload}\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nQSU1ab`,
      `${upload}\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
      `${upload}\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nQSU1\r\n0\r\n\r\n`,
      `${upload}\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff\r\nQSU1`,
      `${upload}\r\ntransfer-encoding: gzip\r\n\r\nQSU1`,
      `${upload}\r\ncontent-length: 100\r\n\r\nQSU1`,
      `${upload}\r\ncontent-length: 4\r\nexpect: the-worst\r\n\r\nQSU1`,
    ].map(async (text) => [text.slice(0, 60), await sendRaw(text)] as const),
  );
  const wrong = answers.filter(([, answer]) => answer !== '' && !/^HTTP\/1\.1 4\d\d /.test(answer));
  expect(wrong).toEqual([]);
  // The rest is answered by Node itself, or is no question to the API.
  const told = answers.filter(([, answer]) => /\r\n\r\n.*"code":/s.test(answer));
  expect(told.length).toBeGreaterThan(15);
  // Forty senders that never get on: the others do not notice.
  const store = await openHttpStorage(`http://127.0.0.1:${port}/`, { userKey: keys.good });
  expect(await store.listRuns()).toHaveLength(1);
  await store.close();
  for (const socket of slow) socket.destroy();
  expect(service.isRunning, service.problems).toBe(true);
});

/** What comes back until the other end closes, or has been silent for a while. */
function sendRaw(text: string): Promise<string> {
  return new Promise((resolve) => {
    let answer = '';
    const socket = connect(port, '127.0.0.1', () => socket.end(text, 'latin1'));
    socket.setTimeout(20_000, () => socket.destroy());
    socket.on('data', (data) => {
      answer += data.toString('latin1');
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(answer));
  });
}

/** Keys of two users. They were made an hour ago, so that one of them has ended. */
async function makeKeys(storage: string): Promise<HostileKeys> {
  const spaces = await openSpaces(storage);
  const clock = { now: () => Date.now() - 3_600_000 };
  const access = new AccessBook({ database: spaces.database, clock, timingSafeEqual });
  const make = async (options: NewKeyOptions): Promise<string> =>
    (await access.createKey(options)).key;
  const revoked = await access.createKey({ user: 'owner' });
  await access.revokeKey(revoked.keyId);
  const made = {
    good: await make({ user: 'owner' }),
    readOnly: await make({ user: 'owner', scope: 'read' }),
    foreign: await make({ user: 'somebody' }),
    bad: {
      'a key that was revoked': revoked.key,
      'a key that has ended': await make({ user: 'owner', expiresAt: Date.now() - 1_800_000 }),
    },
  };
  await spaces.close();
  return made;
}

/** All that somebody can see of the service, as text. */
async function everything(): Promise<string[]> {
  const texts: string[] = [];
  for (const path of ['/projects', '/runs', '/leases', '/runs/run_faults/tables/metrics/segments'])
    texts.push(
      (
        await send({
          wrong: '',
          method: 'GET',
          path: `/api/v1${path}`,
          headers: { authorization: `Bearer ${keys.good}` },
        })
      ).text,
    );
  return texts;
}

type Answer = {
  readonly status: number;
  readonly type: string;
  readonly text: string;
  readonly retryAfter?: string | undefined;
};

/** What is wrong with the answer, if anything is. */
function judge({ method }: HostileRequest, { status, type, text }: Answer): string | undefined {
  if (status < 400 || status > 499) return `status ${status}: ${text.slice(0, 200)}`;
  if ([keys.good, keys.foreign, keys.readOnly].some((key) => text.includes(key)))
    return `the answer holds a key: ${text}`;
  if (text.includes(directory)) return `the answer names a folder of the server: ${text}`;
  if (method === 'HEAD') return text === '' ? undefined : 'a body for HEAD';
  if (!type.startsWith('application/json'))
    return `${status} of type ${type}: ${text.slice(0, 80)}`;
  const { code, message, details } = JSON.parse(text) as Record<string, unknown>;
  if (!ERROR_CODES.some((known) => known === code)) return `code ${String(code)}`;
  if (typeof message !== 'string' || message.length < 10 || message.length > 1_000)
    return `message ${JSON.stringify(message)?.slice(0, 200)}`;
  if (typeof details !== 'object' || details === null) return 'no details';
  const needsField =
    code === 'invalid_input' ||
    (code === 'store_failed' &&
      'reason' in details &&
      (details.reason === 'rejected' || details.reason === 'too_large'));
  if (needsField && !('field' in details && 'rule' in details))
    return `neither field nor rule: ${text.slice(0, 300)}`;
  return undefined;
}

/**
 * Several bombs at once use up what requests may hold together. The service then says 503 and when to come back, before
 * it has looked at the request, which must get its 4xx once there is room.
 */
async function sendUntilRoom(one: HostileRequest): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    const answer = await send(one);
    const isFull = answer.status === 503 && answer.text.includes('"reason":"busy"');
    if (!isFull || answer.retryAfter === undefined || attempt === 20) return answer;
    await sleep(1_000 * Number(answer.retryAfter));
  }
}

/** Bodies that a service need not read to the end before it answers. */
const LARGE_BYTES = 256 * 1024;

function send(one: HostileRequest, isAgain = false): Promise<Answer> {
  const { method, path, headers, body } = one;
  if ((body?.byteLength ?? 0) > LARGE_BYTES) return sendLarge(one);
  return new Promise((resolve) => {
    const outgoing = httpRequest({
      agent,
      host: '127.0.0.1',
      port,
      method,
      path,
      headers: body === undefined ? headers : { ...headers, 'content-length': body.byteLength },
    });
    outgoing.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (piece: string) => {
        text += piece;
      });
      response.on('end', () => {
        const { statusCode: status = 0, headers: given } = response;
        const retryAfter = given['retry-after'];
        resolve({ status, type: given['content-type'] ?? '', text, retryAfter });
      });
    });
    outgoing.on('error', (error) => {
      // The service may close a connection that rests, at the moment when it is used again.
      if (outgoing.reusedSocket && !isAgain) resolve(send(one, true));
      else resolve({ status: 0, type: '', text: error.message });
    });
    outgoing.end(body);
  });
}

async function sendLarge({ method, path, headers, body }: HostileRequest): Promise<Answer> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers,
      body: new Uint8Array(body ?? []),
    });
    const type = response.headers.get('content-type') ?? '';
    const retryAfter = response.headers.get('retry-after') ?? undefined;
    return { status: response.status, type, text: await response.text(), retryAfter };
  } catch (error) {
    return { status: 0, type: '', text: String(error instanceof Error ? error.cause : error) };
  }
}
