/** What a service, or a proxy before it, asks for with `Retry-After` is what the uploader does; and nothing is lost or doubled by it. */
import { randomUUID } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import type { ServiceLimits } from '../../src/service/limits/limits.ts';
import { openHttpStorage } from '../../src/wire/http-store.ts';
import { openMemoryStorage } from '../../src/store/memory/memory-store.ts';
import { openOutbox } from '../../src/sync/open-outbox.ts';
import type { OutboxStore } from '../../src/sync/outbox-store.ts';
import { compareRows, makeRun, segmentOf } from '../faults/rows.ts';
import { TestClock } from '../support/clock.ts';
import { RunningServices } from './running-service.ts';

const SEGMENTS = 3;
const ROWS = 20;
const RUN_ID = 'run_retried';
/** Longest pause that an uploader adds by itself after a first failure. */
const FIRST_RETRY_MS = 500;
const PATIENCE = { timeout: 20_000, interval: 5 };

const services = new RunningServices();
const opened: OutboxStore[] = [];
afterEach(async () => {
  for (const outbox of opened.splice(0)) await outbox.close();
  await services.clear();
});

/** A recording whose requests go through `send`, and whose clock the test turns. */
async function record(
  send: (request: Request) => Promise<Response>,
  limits: Partial<ServiceLimits> = {},
): Promise<{
  readonly clock: TestClock;
  readonly outbox: OutboxStore;
  /** `more`: rows of other writers that were appended since. */
  readonly check: (more?: Readonly<Record<string, number>>) => Promise<void>;
}> {
  const clock = new TestClock(1_700_000_000_000);
  const service = await services.start({ keyless: 'always', limits, clock });
  const outbox = openOutbox(await openMemoryStorage(`memory:${randomUUID()}`), {
    url: service.url,
    space: 'default',
    timeoutMs: 15_000,
    clock,
    fetch: send,
  });
  opened.push(outbox);
  await makeRun(outbox, RUN_ID);
  for (let i = 0; i < SEGMENTS; i++) await outbox.appendSegments([segmentOf('w', i, ROWS, RUN_ID)]);
  return {
    clock,
    outbox,
    check: async (more = {}) => {
      const status = await outbox.sync.status();
      expect(status).toMatchObject({ pendingRuns: 0, pendingRows: 0, refusedSegments: [] });
      // Its own comparisons would count for the limit as well.
      await outbox.close();
      // Under the limit: one request after the other, and time passes between them.
      let last: Promise<unknown> = Promise.resolve();
      const slowly = (request: Request): Promise<Response> => {
        const answer = last.then(() => {
          clock.advance(600_000);
          return fetch(request);
        });
        last = answer.catch(() => undefined);
        return answer;
      };
      const store = await openHttpStorage(service.url, { space: 'default', fetch: slowly });
      const progress = Object.entries({ w: SEGMENTS * ROWS, ...more }).map(
        ([writer, rows]) => [writer, { acknowledged: rows, tried: rows }] as const,
      );
      expect(await compareRows(store, new Map(progress), RUN_ID)).toEqual([]);
      await store.close();
    },
  };
}

/** Lets time pass until all was sent. */
async function finish(outbox: OutboxStore, clock: TestClock, stepMs = 1_000): Promise<void> {
  await expect
    .poll(async () => {
      clock.advance(stepMs);
      return (await outbox.sync.status()).pendingRuns;
    }, PATIENCE)
    .toBe(0);
}

test.each([
  [503, 'seconds', () => '120'],
  [429, 'seconds', () => '120'],
  [503, 'a date', () => new Date(Date.now() + 120_000).toUTCString()],
  [429, 'a date', () => new Date(Date.now() + 120_000).toUTCString()],
])(
  'a proxy answers %i with Retry-After in %s: an append is sent again then, not before',
  async (status, _form, retryAfter) => {
    let refusals = 0;
    let requests = 0;
    const { clock, outbox, check } = await record(async (request) => {
      requests += 1;
      const isAppend = request.method === 'POST' && request.url.endsWith('/segments');
      if (!isAppend || refusals > 0) return fetch(request);
      refusals += 1;
      return new Response('<h1>Later</h1>', { status, headers: { 'retry-after': retryAfter() } });
    });
    await expect
      .poll(async () => {
        if (refusals === 0) clock.advance(100);
        return (await outbox.sync.status()).state;
      }, PATIENCE)
      .toBe('waiting');
    const { lastError, nextAttemptAtMs } = await outbox.sync.status();
    expect(lastError?.reason).toBe('busy');
    const waitMs = (nextAttemptAtMs ?? 0) - clock.now();
    // A date has no milliseconds, and the clock of the machine went on.
    expect(waitMs).toBeGreaterThan(60_000);
    expect(waitMs).toBeLessThanOrEqual(120_000 + FIRST_RETRY_MS);
    const before = requests;
    clock.advance(waitMs - 1);
    await new Promise((resolve) => setImmediate(resolve));
    expect(requests).toBe(before);
    await finish(outbox, clock);
    expect(refusals).toBe(1);
    await check();
  },
);

test.each(['/deleted-runs', '/batches'])(
  'a proxy answers a GET of %s with Retry-After: nothing is sent before',
  async (path) => {
    let isArmed = false;
    let refusals = 0;
    let requests = 0;
    const { clock, outbox, check } = await record(async (request) => {
      requests += 1;
      if (!isArmed || refusals > 0 || !request.url.includes(path)) return fetch(request);
      refusals += 1;
      return new Response('Later', { status: 503, headers: { 'retry-after': '120' } });
    });
    await finish(outbox, clock);
    isArmed = true;
    // The interval of both.
    clock.advance(60_000);
    await outbox.appendSegments([segmentOf('late', 0, ROWS, RUN_ID)]);
    await expect
      .poll(async () => {
        if (refusals === 0) clock.advance(100);
        return (await outbox.sync.status()).state;
      }, PATIENCE)
      .toBe('waiting');
    expect(refusals).toBe(1);
    const { nextAttemptAtMs } = await outbox.sync.status();
    const waitMs = (nextAttemptAtMs ?? 0) - clock.now();
    expect(waitMs).toBeGreaterThanOrEqual(120_000);
    const before = requests;
    clock.advance(waitMs - 1);
    await new Promise((resolve) => setImmediate(resolve));
    expect(requests).toBe(before);
    await finish(outbox, clock);
    await check({ late: ROWS });
  },
);

test('a service over the limit of the key says when there is room, and is asked then', async () => {
  const pauses: { readonly askedMs: number; readonly waitedMs: number }[] = [];
  let refusedAtMs: number | undefined;
  let askedMs = 0;
  const { clock, outbox, check } = await record(
    async (request) => {
      if (refusedAtMs !== undefined) pauses.push({ askedMs, waitedMs: clock.now() - refusedAtMs });
      const response = await fetch(request);
      refusedAtMs = response.status === 429 ? clock.now() : undefined;
      if (refusedAtMs === undefined) return response;
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
      const { details } = (await response.clone().json()) as { details: { retryAfterMs: number } };
      askedMs = details.retryAfterMs;
      return response;
    },
    { requestsPerSecond: 1, requestBurst: 1 },
  );
  await finish(outbox, clock, 50);
  expect(pauses.length).toBeGreaterThan(0);
  for (const { askedMs: asked, waitedMs } of pauses) expect(waitedMs).toBeGreaterThanOrEqual(asked);
  await check();
});
