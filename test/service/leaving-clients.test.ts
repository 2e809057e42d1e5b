/**
 * Clients that leave: on every route, and in every phase of a request. What the request held is given back, and nobody
 * else notices.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { ServedService } from '../../src/service/node/serve-service.ts';
import { eventTable } from '../../src/records/event.ts';
import { createSegment } from '../../src/segment/manifest.ts';
import { describeApi } from '../../src/service/http/openapi.ts';
import { sha256Hex } from '../../src/store/blob-rules.ts';
import type { NewSegment } from '../../src/store/store.ts';
import { RUN_ID, runOf } from '../support/segments.ts';
import { ask, RunningServices, storeOf } from './running-service.ts';
import { casesOf } from '../support/long.ts';
import { rounds } from '../support/property.ts';

const MIB = 1024 * 1024;
/** Less than a few of the requests below hold together. */
const BUDGET_BYTES = 72 * MIB;
const PATIENCE = { timeout: 30_000, interval: 50 };
const UNLIMITED = { requestsPerSecond: 1e6, requestBurst: 1e6, refusalsPerMinute: 1e6 };

const services = new RunningServices();
afterEach(async () => services.clear());

/** One event with a long text. */
function longEvent(batchNumber: number, bytes: number): NewSegment {
  const identity = { runId: RUN_ID, table: 'events', writerId: 'writer_a', batchNumber };
  return createSegment(eventTable, identity, {
    rowCount: 1,
    columns: new Map([
      ['timestamp', { kind: 'number', values: Float64Array.of(1e12) }],
      ['event_type', { kind: 'key', dictionary: ['user_log'], indices: new Int32Array(1) }],
      ['severity', { kind: 'key', dictionary: ['info'], indices: new Int32Array(1) }],
      ['payload', { kind: 'text', values: [`{"a":"${'x'.repeat(bytes)}"}`] }],
    ]),
  });
}

async function start(): Promise<{ service: ServedService; blob: string; connections: number }> {
  const service = await services.start({
    limits: { ...UNLIMITED, maxBytesInFlight: BUDGET_BYTES, streamsPerKey: 1e6 },
    maintenance: false,
  });
  const store = await storeOf(service);
  await store.createRun(runOf());
  for (let batch = 0; batch < 6; batch++) await store.appendSegments([longEvent(batch, 2 * MIB)]);
  const bytes = new Uint8Array(2 * MIB).fill(7);
  const blob = (await sha256Hex(bytes)) ?? '';
  await store.putBlob(blob, bytes);
  // Those of the store stay open for a while.
  return { service, blob, connections: await gauge(service, 'quark_open_connections') };
}

type Route = { readonly method: string; readonly path: string; readonly type: string | undefined };

/** Every operation of the description, about things that are there. */
function routesOf(blob: string): readonly Route[] {
  const values: Readonly<Record<string, string>> = {
    runId: RUN_ID,
    table: 'events',
    holder: 'somebody',
    sha256: blob,
    artifactId: 'nothing',
    keyId: 'nothing',
  };
  const { paths } = describeApi(false, ['store', 'account', 'service']) as {
    paths: Record<string, Record<string, { requestBody?: { content: object } }>>;
  };
  return Object.entries(paths).flatMap(([template, methods]) =>
    Object.entries(methods).map(([method, { requestBody }]) => ({
      method: method.toUpperCase(),
      path: template.replaceAll(/\{(\w+)\}/g, (_all, name: string) => values[name] ?? name),
      type: Object.keys(requestBody?.content ?? {})[0],
    })),
  );
}

/** The head of a request; a body is announced where the route takes one. */
function headOf({ method, path, type }: Route, bodyBytes: number): string {
  const body =
    type === undefined ? '' : `content-type: ${type}\r\ncontent-length: ${bodyBytes}\r\n`;
  return `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${body}\r\n`;
}

async function open(service: ServedService): Promise<Socket> {
  const socket = connect(service.port, '127.0.0.1').on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

const turn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

type Phase = (service: ServedService, route: Route) => Promise<void>;

const PHASES: Readonly<Record<string, Phase>> = {
  'while its headers arrive': async (service, route) => {
    const socket = await open(service);
    socket.write(headOf(route, 10).slice(0, -8), () => socket.resetAndDestroy());
    await once(socket, 'close');
  },
  'while its body arrives': async (service, route) => {
    const socket = await open(service);
    socket.write(headOf(route, MIB));
    socket.write(Buffer.alloc(MIB / 2, 32), () => socket.resetAndDestroy());
    await once(socket, 'close');
  },
  'while it is worked on': async (service, route) => {
    // From the look at the key to the first bytes of the answer: later by a turn of this process each time.
    for (let turns = 0; turns < 12; turns++) {
      const socket = await open(service);
      socket.write(`${headOf(route, 2)}${route.type === undefined ? '' : '{}'}`);
      for (let i = 0; i < turns; i++) await turn();
      socket.resetAndDestroy();
    }
  },
  'while its answer is sent': async (service, route) => {
    const socket = await open(service);
    socket.write(`${headOf(route, 2)}${route.type === undefined ? '' : '{}'}`);
    await Promise.race([once(socket, 'data'), once(socket, 'close')]);
    socket.resetAndDestroy();
  },
  'in the middle of many on one connection': async (service, route) => {
    const socket = await open(service);
    const one = `${headOf(route, 2)}${route.type === undefined ? '' : '{}'}`;
    socket.write(one.repeat(200));
    await Promise.race([once(socket, 'data'), once(socket, 'close')]);
    socket.resetAndDestroy();
  },
};

async function gauge(service: ServedService, name: string): Promise<number> {
  const { text } = await ask(service.port, '/metrics', { headers: { connection: 'close' } });
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN);
}

/** Waits until nothing is held by anybody but the request that asks. */
async function expectNothingHeld(service: ServedService, connections: number): Promise<void> {
  await vi.waitFor(async () => {
    expect(await gauge(service, 'quark_bytes_in_flight')).toBe(0);
    expect(await gauge(service, 'quark_http_requests_in_flight')).toBe(1);
    expect(await gauge(service, 'quark_open_streams')).toBe(0);
    expect(await gauge(service, 'quark_open_connections')).toBeLessThanOrEqual(connections);
  }, PATIENCE);
  expect((await ask(service.port, '/readyz')).status).toBe(200);
  const rows = await ask(service.port, `/api/v1/runs/${RUN_ID}/tables/events/rows?format=jsonl`);
  expect(rows.status).toBe(200);
}

describe('a client that leaves', () => {
  it.each(casesOf(Object.keys(PHASES), 3))(
    '%s holds nothing afterwards, on any route',
    async (name) => {
      const { service, blob, connections } = await start();
      const phase = PHASES[name];
      const routes = routesOf(blob);
      expect(routes.length).toBeGreaterThan(20);
      for (const route of routes)
        await Promise.all([phase?.(service, route), phase?.(service, route)]);
      await expectNothingHeld(service, connections);
      // Whose client has gone is no failure of the service, and none of the store.
      expect(services.lines.filter(({ level }) => level === 'error')).toEqual([]);
    },
    120_000,
  );

  it('again and again while rows are sent leaves room for everybody else', async () => {
    const { service, connections } = await start();
    const path = `/api/v1/runs/${RUN_ID}/tables/events/rows?format=arrow`;
    for (let round = 0; round < rounds(20); round++)
      await Promise.all(
        Array.from({ length: 10 }, async (_, i) => {
          const socket = await open(service);
          socket.write(headOf({ method: 'GET', path, type: undefined }, 0));
          for (let turns = 0; turns < i * 3; turns++) await turn();
          socket.resetAndDestroy();
        }),
      );
    await expectNothingHeld(service, connections);
  }, 120_000);

  it('in the middle of large uploads leaves room for everybody else', async () => {
    const { service, connections } = await start();
    const type = 'application/vnd.quark.upload';
    for (let i = 0; i < 4; i++) {
      const socket = await open(service);
      socket.write(headOf({ method: 'POST', path: '/api/v1/segments', type }, 60 * MIB));
      socket.write(Buffer.alloc(20 * MIB), () => socket.resetAndDestroy());
      await once(socket, 'close');
    }
    await expectNothingHeld(service, connections);
  }, 120_000);
});
