/** What only the browser's own IndexedDB shows: site data cleared away, workers, how bytes are stored. */
import { deleteDB, openDB } from 'idb';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { cdp } from 'vitest/browser';
import { createId } from '../../src/base/ids.ts';
import { openIdbStorage } from '../../src/store/idb/idb-store.ts';
import type { Store } from '../../src/store/store.ts';
import { bytesOf, runOf, segmentOf } from '../support/segments.ts';

/** What of the debugging protocol is used here. */
type Protocol = { send(method: string, parameters: object): Promise<unknown> };

let name: string;
let store: Store;

beforeEach(async () => {
  name = createId('browser', Date.now());
  store = await openIdbStorage(`idb:${name}`);
  await store.createRun(runOf());
});
afterEach(async () => {
  await store.close();
  await deleteDB(name);
});

test('site data cleared away under an open store: the run is gone, the store goes on', async () => {
  await (cdp() as unknown as Protocol).send('Storage.clearDataForOrigin', {
    origin: location.origin,
    storageTypes: 'indexeddb',
  });
  await expect(store.appendSegments([segmentOf(0)])).rejects.toMatchObject({
    code: 'run_not_found',
  });
  await store.createRun(runOf());
  expect(await store.appendSegments([segmentOf(0)])).toHaveLength(1);
});

test('a view is stored alone, without the buffer behind it; shared memory is copied', async () => {
  const large = bytesOf(100_000);
  const view = large.subarray(500, 564);
  const shared = new Uint8Array(new SharedArrayBuffer(64)) as unknown as Uint8Array<ArrayBuffer>;
  shared.set(view);
  const placed = await store.appendSegments([
    { ...segmentOf(0), bytes: view },
    { ...segmentOf(1), bytes: shared },
  ]);
  const database = await openDB(name);
  const kept: Uint8Array[] = await database.getAll('bytes');
  database.close();
  expect(kept.map((bytes) => bytes.buffer.byteLength)).toEqual([64, 64]);
  const wanted = { kind: 'bytes', bytes: view.slice() };
  expect(await store.readSegments(placed)).toEqual([wanted, wanted]);
});

test('a worker has a store of its own', async () => {
  const worker = new Worker(new URL('./store-worker.ts', import.meta.url), { type: 'module' });
  const place = `${name}-worker`;
  const answer = await new Promise((resolve, reject) => {
    worker.addEventListener('message', (event) => resolve(event.data));
    worker.addEventListener('error', (event) => reject(new Error(event.message)));
    worker.postMessage(place);
  });
  worker.terminate();
  expect(answer).toEqual(['bytes', 'bytes']);
  await deleteDB(place);
});
