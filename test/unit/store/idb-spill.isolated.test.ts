/** Rows that tabs and workers had not stored when they ended, on an implementation of IndexedDB in memory. */
import 'fake-indexeddb/auto';
import { randomUUID } from 'node:crypto';
import { beforeEach, expect, test, vi } from 'vitest';
import { IdbSpill } from '../../../src/store/idb/idb-spill.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import { spillTo } from '../../../src/store/storage-spill.ts';
import type { NewSegment, Store } from '../../../src/store/store.ts';
import { storageOf } from '../../support/local-storage.ts';
import { RUN_ID, runOf, segmentOf } from '../../support/segments.ts';
import { TabLocks } from '../../support/tab-locks.ts';

let name: string;
let locks: TabLocks;
let store: Store;
let storage: Storage;

type Tab = { readonly spill: IdbSpill; end(): void };

beforeEach(async () => {
  name = randomUUID();
  locks = new TabLocks();
  store = createMemoryStore();
  storage = storageOf();
  await store.createRun(runOf());
});

/** A tab or worker that has opened the store. */
async function openTab(isPage = false): Promise<Tab> {
  const tab = locks.openTab();
  const spill = new IdbSpill({
    name,
    locks: tab.locks,
    storage: isPage ? storage : undefined,
    isPage,
  });
  await spill.follow(store);
  return { spill, end: () => tab.end() };
}

async function stored(): Promise<[batchNumber: number, rowCount: number][]> {
  const live = await store.listSegments({ runId: RUN_ID, table: 'metrics' });
  return live.map(({ batchNumber, rowCount }) => [batchNumber, rowCount]);
}

test('of a worker that ended, the last version of each batch is appended, once, by one of two that start at once', async () => {
  const worker = await openTab();
  await worker.spill.begin(RUN_ID);
  worker.spill.save([segmentOf(0, { rowCount: 3 })]);
  worker.spill.save([segmentOf(0)]);
  worker.spill.save([segmentOf(1), segmentOf(2, { rowCount: 4 })]);
  // Its own append did come through before it ended, and nobody heard of it.
  await store.appendSegments([segmentOf(0)]);
  worker.end();
  const tabs = await Promise.all([openTab(), openTab()]);
  await expect.poll(stored).toEqual([
    [0, 10],
    [1, 10],
    [2, 4],
  ]);
  const [first] = tabs;
  await expect
    .poll(() => first.spill.listReports())
    .toMatchObject([{ runId: RUN_ID, recovered: { metrics: 14 }, missing: {}, gapMs: 50 }]);
  const [report] = await first.spill.listReports();
  expect(report?.savedAtMs).toBeGreaterThan(0);
  if (report !== undefined) await first.spill.removeReport(report);
  const third = await openTab();
  expect(await third.spill.listReports()).toEqual([]);
  expect(await stored()).toHaveLength(3);
});

test('of a tab that is frozen nothing is taken; when it ends, the tab that is there appends its rows', async () => {
  const frozen = await openTab();
  await frozen.spill.begin(RUN_ID);
  frozen.spill.save([segmentOf(0, { rowCount: 3 })]);
  const other = await openTab();
  expect(await stored()).toEqual([]);
  // It thaws, and its batch grows.
  frozen.spill.save([segmentOf(0)]);
  const late = await openTab();
  await late.spill.begin(RUN_ID);
  late.spill.save([segmentOf(0, { writerId: 'writer_late' })]);
  frozen.end();
  await expect.poll(stored).toEqual([[0, 10]]);
  // A worker that came after both is watched as well.
  late.end();
  await expect.poll(stored).toHaveLength(2);
  expect(await other.spill.listReports()).toHaveLength(2);
});

test('what was appended is forgotten, and a session that was closed leaves no report', async () => {
  const worker = await openTab();
  await worker.spill.begin(RUN_ID);
  worker.spill.save([segmentOf(0)]);
  worker.spill.forget([segmentOf(0), segmentOf(7)]);
  await worker.spill.end(RUN_ID);
  worker.end();
  const next = await openTab();
  expect(await stored()).toEqual([]);
  expect(await next.spill.listReports()).toEqual([]);
});

test('a run that is gone, and a segment that is damaged, keep nothing from the others', async () => {
  const worker = await openTab();
  await worker.spill.begin(RUN_ID);
  worker.spill.save([
    segmentOf(0, { runId: 'run_gone' }),
    segmentOf(1, { rowCount: -1 }),
    segmentOf(2),
  ]);
  worker.end();
  await openTab();
  expect(await stored()).toEqual([[2, 10]]);
});

test('rows whose run was never stored are removed, and the console says so once', async () => {
  const lines = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
  const worker = await openTab();
  await worker.spill.begin('run_new');
  worker.spill.save([
    segmentOf(0, { runId: 'run_new' }),
    segmentOf(1, { runId: 'run_new' }),
    segmentOf(2),
  ]);
  worker.end();
  await openTab();
  await openTab();
  expect(await stored()).toEqual([[2, 10]]);
  expect(lines.mock.calls).toEqual([[expect.stringMatching(/^Quark: 20 rows .*run_new/)]]);
  lines.mockRestore();
});

test('a store that cannot take the rows now gets them at the start after', async () => {
  const worker = await openTab();
  await worker.spill.begin(RUN_ID);
  worker.spill.save([segmentOf(0)]);
  worker.end();
  const works = store;
  store = createMemoryStore();
  await store.close();
  const next = await openTab();
  expect(await next.spill.listReports()).toEqual([]);
  store = works;
  await openTab();
  expect(await stored()).toEqual([[0, 10]]);
});

test('a page that was told of its end leaves no gap, and says what found no room', async () => {
  const sizes = [500, 40_000, 40_000, 500];
  const segments: NewSegment[] = sizes.map((size, i) => segmentOf(i, {}, size));
  storage = storageOf(undefined, 5_000);
  const page = await openTab(true);
  await page.spill.begin(RUN_ID);
  // The database is not there any more.
  await page.spill.close();
  page.spill.leave(segments);
  page.end();
  const next = await openTab(true);
  await expect
    .poll(() => next.spill.listReports())
    .toMatchObject([{ runId: RUN_ID, recovered: {}, missing: { metrics: 20 }, gapMs: 0 }]);
  expect(await stored()).toEqual([
    [0, 10],
    [3, 10],
  ]);
});

test('a page that was told of its end, and whose database took all, leaves no report', async () => {
  storage = storageOf(undefined, 0);
  const page = await openTab(true);
  await page.spill.begin(RUN_ID);
  page.spill.save([segmentOf(0, { rowCount: 2 })]);
  page.spill.leave([segmentOf(0), segmentOf(1)]);
  page.spill.left();
  page.end();
  const next = await openTab(true);
  expect(await stored()).toEqual([
    [0, 10],
    [1, 10],
  ]);
  expect(await next.spill.listReports()).toEqual([]);
});

test('without Web Locks nothing is saved, and a worker is told to flush early', async () => {
  const spill = new IdbSpill({ name, locks: undefined, storage: undefined, isPage: false });
  await spill.follow(store);
  await spill.begin(RUN_ID);
  expect(spill.isReady).toBe(false);
  expect(spill.flushWithinMs).toBe(20);
  spill.save([segmentOf(0)]);
  spill.leave([segmentOf(0)]);
  await openTab();
  expect(await stored()).toEqual([]);
});

test('where rows are left to appends, the end of a session is reported all the same', async () => {
  const worker = locks.openTab();
  const parts = { name, locks: worker.locks, storage: undefined, isPage: false, savesRows: false };
  const spill = new IdbSpill(parts);
  await spill.follow(store);
  await spill.begin(RUN_ID);
  expect([spill.isReady, spill.flushWithinMs]).toEqual([false, null]);
  spill.save([segmentOf(0)]);
  worker.end();
  const next = await openTab();
  expect(await stored()).toEqual([]);
  expect(await next.spill.listReports()).toMatchObject([{ recovered: {}, gapMs: 1000 }]);
});

test('what a page saved and what it put aside are joined: in order, and of each batch the version with more rows', async () => {
  const page = await openTab(true);
  await page.spill.begin(RUN_ID);
  page.spill.save([segmentOf(0), segmentOf(1, { rowCount: 4 })]);
  // The last transaction of the page does not arrive, as in Firefox and WebKit.
  spillTo(storage, name, [segmentOf(10), segmentOf(2), segmentOf(1)]);
  // A tab that opens before the page has ended.
  const other = await openTab(true);
  expect(await stored()).toEqual([]);
  page.end();
  await expect.poll(stored).toEqual([
    [0, 10],
    [1, 10],
    [2, 10],
    [10, 10],
  ]);
  await expect.poll(() => storage.length).toBe(0);
  expect(await other.spill.listReports()).toMatchObject([{ recovered: { metrics: 40 } }]);
});

test('the next start ends the run of a page that was closed, and gives its leases back', async () => {
  const run = await store.findRun(RUN_ID);
  if (run === undefined) throw new Error('The run is gone.');
  const page = await openTab(true);
  await page.spill.begin(RUN_ID, 'ses_page');
  await store.renewLease(RUN_ID, 'ses_page', 75_000);
  await store.renewLease(RUN_ID, 'ses_worker', 75_000);
  page.spill.leave([segmentOf(0)]);
  page.spill.left({ ...run, status: 'interrupted' });
  page.end();
  const [one] = await Promise.all([openTab(true), openTab(true)]);
  await expect.poll(async () => (await store.findRun(RUN_ID))?.status).toBe('interrupted');
  expect((await store.listLeases([RUN_ID])).map(({ holder }) => holder)).toEqual(['ses_worker']);
  expect(await stored()).toEqual([[0, 10]]);
  expect(await one.spill.listReports()).toEqual([]);
});

test('a worker that ended leaves no lease; a run that was changed since stays as it is', async () => {
  const run = await store.findRun(RUN_ID);
  if (run === undefined) throw new Error('The run is gone.');
  const worker = await openTab();
  await worker.spill.begin(RUN_ID, 'ses_worker');
  await store.renewLease(RUN_ID, 'ses_worker', 75_000);
  worker.end();
  const page = await openTab(true);
  expect(await store.listLeases([RUN_ID])).toEqual([]);
  await page.spill.begin(RUN_ID, 'ses_page');
  page.spill.left({ ...run, status: 'interrupted' });
  await store.updateRun({ ...run, generation: 2 });
  page.end();
  await openTab();
  expect(await store.findRun(RUN_ID)).toMatchObject({ status: run.status, generation: 2 });
});

test('without Web Locks the note in localStorage ends the run', async () => {
  const run = await store.findRun(RUN_ID);
  if (run === undefined) throw new Error('The run is gone.');
  const open = async (): Promise<IdbSpill> => {
    const spill = new IdbSpill({ name, locks: undefined, storage, isPage: true });
    await spill.follow(store);
    return spill;
  };
  const page = await open();
  await page.begin(RUN_ID, 'ses_page');
  await store.renewLease(RUN_ID, 'ses_page', 75_000);
  // Into the back/forward cache: it may come back.
  page.left();
  await open();
  expect(await store.findRun(RUN_ID)).toMatchObject({ status: run.status });
  page.left({ ...run, status: 'interrupted' });
  await open();
  expect(await store.findRun(RUN_ID)).toMatchObject({ status: 'interrupted' });
  expect(await store.listLeases([RUN_ID])).toEqual([]);
});
