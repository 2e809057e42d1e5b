/**
 * Requests that something on the way repeats or holds back, and that meet another process of the service: what came after
 * them stays.
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { openFileStorage } from '../../src/store/sql/node/file-storage.ts';
import { createStoreHandler } from '../../src/service/routes/handler.ts';
import { openHttpStorage } from '../../src/wire/http-store.ts';
import type { Store } from '../../src/store/store.ts';
import { makeSchema, openSpace, type TestSchema } from '../support/postgres.ts';
import { RUN_ID, runOf, segmentOf } from '../support/segments.ts';

let directory: string;
let schema: TestSchema;
const stores: Store[] = [];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'quark late '));
  schema = await makeSchema();
}, 120_000);
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
});
afterAll(async () => {
  await rm(directory, { recursive: true, force: true });
  await schema.remove();
});

/** Two processes of a service over one database, as far as a request can tell. */
async function openService(
  open: () => Promise<Store>,
): Promise<readonly ((request: Request) => Promise<Response>)[]> {
  return Promise.all(
    [0, 1].map(async () => {
      const store = await open();
      stores.push(store);
      const handler = createStoreHandler({ writable: true });
      return (request: Request) => handler.handle(request, { store });
    }),
  );
}

describe.each([
  ['SQLite', (name: string) => () => openFileStorage(join(directory, name))],
  ['PostgreSQL', (name: string) => () => openSpace(schema.uri, `late/${name}`)],
])('over %s', (_database, opener) => {
  /** A client whose requests can be held back, and whose next ones go to the first process. */
  async function connect(): Promise<{
    readonly store: Store;
    readonly held: Request[];
    readonly sent: Request[];
    hold(isHeld: boolean): void;
    readonly deliver: (request: Request) => Promise<Response>;
  }> {
    const [first, second] = await openService(opener(randomUUID()));
    if (first === undefined || second === undefined) throw new Error('There are two.');
    const held: Request[] = [];
    const sent: Request[] = [];
    let isHolding = false;
    const store = await openHttpStorage('http://quark.example', {
      fetch: async (request) => {
        if (isHolding && request.method !== 'GET') {
          held.push(request);
          throw new TypeError('The connection was lost.');
        }
        sent.push(request.clone());
        return first(request);
      },
    });
    stores.push(store);
    await store.createRun(runOf());
    return {
      store,
      held,
      sent,
      hold(isHeld) {
        isHolding = isHeld;
      },
      deliver: second,
    };
  }

  async function batches(store: Store): Promise<readonly number[]> {
    const kept = await store.listSegments({ runId: RUN_ID, table: 'metrics' });
    return kept.map(({ batchNumber }) => batchNumber);
  }

  test('an older replacement of a table does not win over a newer one', async () => {
    const client = await connect();
    client.hold(true);
    await expect(
      client.store.replaceTable(RUN_ID, 'metrics', [segmentOf(1)]),
    ).rejects.toMatchObject({ reason: 'unreachable' });
    client.hold(false);
    await client.store.replaceTable(RUN_ID, 'metrics', [segmentOf(2)]);
    const [late] = client.held;
    expect(late === undefined ? undefined : (await client.deliver(late)).status).toBe(409);
    expect(await batches(client.store)).toEqual([2]);
    // Who was refused by it looks, and goes on.
    await client.store.replaceTable(RUN_ID, 'metrics', [segmentOf(3)]);
    expect(await batches(client.store)).toEqual([3]);
  });

  test('a replacement that arrives twice does not take away what was appended since', async () => {
    const client = await connect();
    await client.store.replaceTable(RUN_ID, 'metrics', [segmentOf(1)]);
    const again = client.sent.find(
      ({ method, url }) => method === 'PUT' && url.includes('/tables/'),
    );
    await client.store.appendSegments([segmentOf(2)]);
    expect(again === undefined ? undefined : (await client.deliver(again)).status).toBe(409);
    expect(await batches(client.store)).toEqual([1, 2]);
  });

  test('rows from before a table was computed anew do not come back', async () => {
    const client = await connect();
    client.hold(true);
    await expect(client.store.appendSegments([segmentOf(1)])).rejects.toMatchObject({
      reason: 'unreachable',
    });
    client.hold(false);
    await client.store.appendSegments([segmentOf(1)]);
    await client.store.replaceTable(RUN_ID, 'metrics', [segmentOf(2)]);
    const [late] = client.held;
    expect(late === undefined ? undefined : (await client.deliver(late)).status).toBe(409);
    expect(await batches(client.store)).toEqual([2]);
  });

  test('a client that does not know that somebody else emptied a table asks, and its rows arrive', async () => {
    const client = await connect();
    await client.store.appendSegments([segmentOf(0)]);
    const other = await openHttpStorage('http://quark.example', { fetch: client.deliver });
    stores.push(other);
    await other.replaceTable(RUN_ID, 'metrics', [segmentOf(1)]);
    await client.store.appendSegments([segmentOf(2)]);
    expect(await batches(client.store)).toEqual([1, 2]);
  });
});
