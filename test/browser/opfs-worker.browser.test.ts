/** The worker of the store in files of the browser: it ends with the last store, however that one ends or fails to open. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createId } from '../../src/base/ids.ts';
import { opfsFileName } from '../../src/store/opfs/opfs-files.ts';
import { openOpfsStorage, type FollowTabs } from '../../src/store/opfs/opfs-store.ts';
import { RUN_ID, runOf, segmentOf } from '../support/segments.ts';

let name = '';
let address = '';
let begun = 0;
let ended = 0;

beforeEach(() => {
  name = createId('worker', Date.now());
  address = `opfs:${name}`;
  begun = ended = 0;
  const { Worker: Plain } = globalThis;
  vi.stubGlobal(
    'Worker',
    class extends Plain {
      constructor(url: string | URL, options?: WorkerOptions) {
        super(url, options);
        begun++;
      }
      override terminate(): void {
        ended++;
        super.terminate();
      }
    },
  );
});

afterEach(async () => {
  vi.unstubAllGlobals();
  const root = await navigator.storage.getDirectory();
  const stores = await root.getDirectoryHandle('quark-sdk', { create: true });
  await stores.removeEntry(opfsFileName(name), { recursive: true }).catch(() => undefined);
});

const spillThatDoesNotClose: FollowTabs = async () => ({
  isReady: false,
  pauseMs: 0,
  flushWithinMs: null,
  begin: async () => undefined,
  end: async () => undefined,
  save: () => undefined,
  forget: () => undefined,
  leave: () => undefined,
  left: () => undefined,
  listReports: async () => [],
  removeReport: async () => undefined,
  close: async () => {
    throw new Error('no end of the spill');
  },
});

test('where following other tabs fails, opening fails, and the worker ends', async () => {
  const fails: FollowTabs = async () => {
    throw new Error('no spill');
  };
  await expect(openOpfsStorage(address, {}, fails)).rejects.toThrow('no spill');
  await vi.waitFor(() => expect([begun, ended]).toEqual([1, 1]));
});

test('a spill that does not close leaves no worker', async () => {
  const store = await openOpfsStorage(address, {}, spillThatDoesNotClose);
  await store.createRun(runOf());
  await expect(store.close()).rejects.toThrow('no end of the spill');
  await vi.waitFor(() => expect([begun, ended]).toEqual([1, 1]));
});

test('a store that is lacking leaves no worker, and the next one opens', async () => {
  await expect(openOpfsStorage(address, { create: false })).rejects.toThrow('no store');
  await vi.waitFor(() => expect([begun, ended]).toEqual([1, 1]));
  const store = await openOpfsStorage(address);
  await store.createRun(runOf());
  await store.close();
  await vi.waitFor(() => expect([begun, ended]).toEqual([2, 2]));
});

test('a store that is closed in the middle of a call leaves no file open to a store beside it', async () => {
  const stays = await openOpfsStorage(address);
  await stays.createRun(runOf());
  const goes = await openOpfsStorage(address);
  const appending = Array.from({ length: 5 }, (_, i) =>
    goes.appendSegments([segmentOf(i, { runId: RUN_ID }, 1000)]),
  );
  await Promise.all([goes.close(), ...appending]);
  expect(await stays.listSegments({ runId: RUN_ID, table: 'metrics' })).toHaveLength(5);
  const folder = await (
    await navigator.storage.getDirectory()
  )
    .getDirectoryHandle('quark-sdk')
    .then((all) => all.getDirectoryHandle(opfsFileName(name)))
    .then((store) => store.getDirectoryHandle('runs'));
  // What somebody has open cannot be removed.
  await folder.removeEntry(opfsFileName(RUN_ID), { recursive: true });
  expect(ended).toBe(0);
  await stays.close();
  await vi.waitFor(() => expect(ended).toBe(1));
});
