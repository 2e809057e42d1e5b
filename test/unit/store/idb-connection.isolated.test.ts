/** What other tabs and the browser can do to a connection, on an implementation of IndexedDB in memory. */
import 'fake-indexeddb/auto';
import { randomUUID } from 'node:crypto';
import { forceCloseDatabase } from 'fake-indexeddb';
import { deleteDB, openDB, unwrap } from 'idb';
import { afterEach, expect, test, vi } from 'vitest';
import { RunNotFoundError } from '../../../src/base/errors.ts';
import { IdbConnection } from '../../../src/store/idb/idb-connection.ts';
import {
  IDB_LAYOUT_VERSION,
  segmentKey,
  upgradeIdb,
  type IdbLayout,
} from '../../../src/store/idb/idb-layout.ts';
import { openIdbStorage } from '../../../src/store/idb/idb-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { RUN_ID, runOf, segmentOf } from '../../support/segments.ts';

const PATIENCE = { timeout: 30_000 };
const opened: Store[] = [];

async function open(
  name: string,
  options: Parameters<typeof openIdbStorage>[1] = {},
): Promise<Store> {
  const store = await openIdbStorage(`idb:${name}`, options);
  opened.push(store);
  return store;
}

/** All connections the test made through the browser's own call. */
function spyOnConnections(): IDBDatabase[] {
  const connections: IDBDatabase[] = [];
  const original = indexedDB.open.bind(indexedDB);
  vi.spyOn(indexedDB, 'open').mockImplementation((...given) => {
    const request = original(...given);
    request.addEventListener('success', () => connections.push(request.result));
    return request;
  });
  return connections;
}

afterEach(async () => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  for (const store of opened.splice(0)) await store.close();
});

test('the name follows the scheme, stands alone, or is quark', async () => {
  expect((await openIdbStorage('idb:')).uri).toBe('idb:quark');
  expect((await openIdbStorage('my runs')).uri).toBe('idb:my runs');
  expect((await openIdbStorage('IDB:Other')).uri).toBe('idb:Other');
});

test('a connection that the browser ends is opened again', async () => {
  const connections = spyOnConnections();
  const store = await open(randomUUID());
  await store.createRun(runOf());
  forceCloseDatabase(connections[0] as never);
  expect(await store.appendSegments([segmentOf(0)])).toMatchObject([{ firstSequence: 0 }]);
  expect(connections).toHaveLength(2);
});

test('a connection that the browser ends in the middle of a write: the write is done once', async () => {
  const connections = spyOnConnections();
  const store = await open(randomUUID());
  await store.createRun(runOf());
  const call = store.appendSegments([segmentOf(0), segmentOf(1)]);
  await Promise.resolve();
  await new Promise(setImmediate);
  forceCloseDatabase(connections[0] as never);
  expect(await call).toHaveLength(2);
  expect(await store.listSegments({ runId: RUN_ID, table: 'metrics' })).toHaveLength(2);
});

test('work that throws has written nothing, and its error comes through', async () => {
  const connection = new IdbConnection(randomUUID(), 'idb:x');
  const lease = { runId: RUN_ID, holder: 'a', expiresAtMs: 1 };
  const work = connection.write(['leases'], async (tx) => {
    await tx.objectStore('leases').put(lease);
    throw new RunNotFoundError(RUN_ID, 'idb:x');
  });
  await expect(work).rejects.toMatchObject({ code: 'run_not_found' });
  const kept = await connection.read(['leases'], (tx) => tx.objectStore('leases').getAll());
  expect(kept).toEqual([]);
  await connection.close();
});

test('a tab with a newer layout is let through, and the store says what happened', async () => {
  const name = randomUUID();
  const store = await open(name);
  await store.createRun(runOf());
  const newer = await openDB(name, IDB_LAYOUT_VERSION + 1);
  await expect(store.findRun(RUN_ID)).rejects.toMatchObject({
    code: 'store_failed',
    reason: 'version',
  });
  newer.close();
});

test('a deleted database begins anew: the run is gone, and nobody is kept waiting', async () => {
  const name = randomUUID();
  const store = await open(name);
  await store.createRun(runOf());
  await deleteDB(name);
  await expect(store.appendSegments([segmentOf(0)])).rejects.toMatchObject({
    code: 'run_not_found',
  });
  await store.createRun(runOf());
  expect(await store.appendSegments([segmentOf(0)])).toHaveLength(1);
});

test('a tab that holds on to a deleted database: an error after a while, not a wait without end', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const name = randomUUID();
  const stubborn = await openDB(name, 1);
  const deleting = deleteDB(name);
  const opening = openIdbStorage(`idb:${name}`);
  const outcome = opening.catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(25_000);
  expect(await outcome).toMatchObject({ reason: 'blocked' });
  stubborn.close();
  await deleting;
});

test('the database of another program is refused and left as it is', async () => {
  const name = randomUUID();
  const other = await openDB(name, 1, {
    upgrade: (database) => void database.createObjectStore('notes'),
  });
  other.close();
  await expect(open(name)).rejects.toMatchObject({ code: 'store_failed', reason: 'corrupt' });
  const again = await openDB(name);
  expect(again.version).toBe(1);
  expect([...unwrap(again).objectStoreNames]).toEqual(['notes']);
  again.close();
});

test('a database of the first layout is brought up to date with what it holds', async () => {
  const name = randomUUID();
  const first = await openDB<IdbLayout>(name, 1, {
    upgrade: (database) => upgradeIdb(database, 0, 1),
  });
  expect([...unwrap(first).objectStoreNames]).not.toContain('notes');
  const { manifest, bytes } = segmentOf(0);
  const placed = { ...manifest, firstSequence: 0, lastSequence: 9 };
  await first.put('runs', { ...runOf(), revision: 3 });
  await first.put('manifests', placed);
  await first.put('bytes', bytes, segmentKey(placed));
  await first.put('counters', 10, [RUN_ID, 'metrics']);
  first.close();
  const store = await open(name);
  expect(await store.findRun(RUN_ID)).toEqual({ ...runOf(), revision: 3 });
  expect(await store.listSegments({ runId: RUN_ID, table: 'metrics' })).toEqual([placed]);
  expect(await store.readSegments([placed])).toEqual([{ kind: 'bytes', bytes }]);
  expect(await store.appendSegments([segmentOf(0), segmentOf(1)])).toMatchObject([
    { firstSequence: 0 },
    { firstSequence: 10 },
  ]);
  await store.replaceTable(RUN_ID, 'alerts', []);
  expect((await store.notes?.survey(RUN_ID))?.streams).toHaveLength(2);
});

test('a database from a newer version is refused', async () => {
  const name = randomUUID();
  (await openDB(name, 99)).close();
  await expect(open(name)).rejects.toMatchObject({ reason: 'version' });
});

test('a database that must be there is not made', async () => {
  const name = randomUUID();
  await expect(open(name, { create: false })).rejects.toMatchObject({ reason: 'missing' });
  const names = (await indexedDB.databases()).map((database) => database.name);
  expect(names).not.toContain(name);
  await open(name);
  await open(name, { create: false });
});

test('no IndexedDB at all', async () => {
  const kept = globalThis.indexedDB;
  Reflect.deleteProperty(globalThis, 'indexedDB');
  try {
    await expect(openIdbStorage('idb:x')).rejects.toMatchObject({ code: 'unsupported' });
  } finally {
    globalThis.indexedDB = kept;
  }
});

// What a new log is good for: test/kill/idb-kill.test.ts.
test('in Chromium a database is made and deleted to begin a new log, once for a page', async () => {
  const deleted = vi.spyOn(indexedDB, 'deleteDatabase');
  const names = [randomUUID(), randomUUID()];
  await openInPage('Chrome/153.0.0.0 Safari/537.36', names);
  await vi.waitFor(() => expect(deleted).toHaveBeenCalled(), PATIENCE);
  await vi.waitFor(async () => {
    const left = (await indexedDB.databases()).map(({ name }) => name);
    expect(left).toEqual(expect.arrayContaining(names));
    expect(left).not.toContain(deleted.mock.calls[0]?.[0]);
  }, PATIENCE);
  expect(deleted).toHaveBeenCalledTimes(1);
});

test('other browsers need no new log', async () => {
  const made = vi.spyOn(indexedDB, 'open');
  const name = randomUUID();
  await openInPage('Gecko/20100101 Firefox/140.0', [name]);
  expect(made.mock.calls.map(([one]) => one)).toEqual([name]);
});

test('where no further database can be made the store opens all the same', async () => {
  const original = indexedDB.open.bind(indexedDB);
  const name = randomUUID();
  const made = vi.spyOn(indexedDB, 'open').mockImplementation((wanted, version) => {
    if (wanted !== name) throw new DOMException('There is no room.', 'QuotaExceededError');
    return original(wanted, version);
  });
  await openInPage('Chrome/153.0.0.0 Safari/537.36', [name]);
  await vi.waitFor(() => expect(made).toHaveBeenCalledTimes(2), PATIENCE);
});

/** Opens and closes stores in a page that has not done anything yet. */
async function openInPage(userAgent: string, names: readonly string[]): Promise<void> {
  vi.stubGlobal('navigator', { userAgent });
  vi.resetModules();
  const page = await import('../../../src/store/idb/idb-store.ts');
  for (const name of names) await (await page.openIdbStorage(name)).close();
}
