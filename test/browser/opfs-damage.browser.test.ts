/** What the store in files says where a file of it is gone, empty or short: never that all is well. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createId } from '../../src/base/ids.ts';
import { sha256Hex } from '../../src/store/blob-rules.ts';
import { opfsFileName } from '../../src/store/opfs/opfs-files.ts';
import { openOpfsStorage } from '../../src/store/opfs/opfs-store.ts';
import type { Store } from '../../src/store/store.ts';
import { RUN_ID, runOf, segmentOf } from '../support/segments.ts';

let name = '';

beforeEach(() => {
  name = createId('damage', Date.now());
});
afterEach(async () => {
  const root = await navigator.storage.getDirectory();
  const stores = await root.getDirectoryHandle('quark-sdk');
  await stores.removeEntry(opfsFileName(name), { recursive: true });
});

const open = (): Promise<Store> => openOpfsStorage(`opfs:${name}`);

async function folderOf(...path: readonly string[]): Promise<FileSystemDirectoryHandle> {
  const root = await navigator.storage.getDirectory();
  let folder = await root.getDirectoryHandle('quark-sdk');
  for (const part of [name, ...path]) folder = await folder.getDirectoryHandle(opfsFileName(part));
  return folder;
}

async function filesOf(folder: FileSystemDirectoryHandle): Promise<FileSystemFileHandle[]> {
  const found: FileSystemFileHandle[] = [];
  for await (const entry of folder.values()) if (entry.kind === 'file') found.push(entry);
  return found;
}

async function cut(file: FileSystemFileHandle, bytes: number): Promise<void> {
  const writable = await file.createWritable({ keepExistingData: true });
  await writable.truncate(bytes);
  await writable.close();
}

/** Makes a run with segments 0 to 3: the first two in one file, the others in another. */
async function makeRun(): Promise<FileSystemFileHandle[]> {
  const a = await open();
  await a.createRun(runOf());
  await a.appendSegments([segmentOf(0)]);
  await a.appendSegments([segmentOf(1)]);
  const b = await open();
  await b.appendSegments([segmentOf(2)]);
  await b.appendSegments([segmentOf(3)]);
  await a.close();
  await b.close();
  return filesOf(await folderOf('runs', RUN_ID));
}

async function readAll(store: Store): Promise<string[]> {
  const listed = await store.listSegments({ runId: RUN_ID, table: 'metrics' });
  const reads = await store.readSegments(listed);
  return listed.map(({ batchNumber }, i) => {
    const read = reads[i];
    return read?.kind === 'damaged' ? read.reason : `${batchNumber} ${read?.kind}`;
  });
}

const LOST = (changes: number, files: number): string =>
  `${changes} changes of the run are missing between those that are there, and ${files} of its files`;

test('a run whose only file is gone lists what is damaged, and goes on', async () => {
  const store = await open();
  await store.createRun(runOf());
  await store.appendSegments([segmentOf(0)]);
  await store.close();
  const folder = await folderOf('runs', RUN_ID);
  for (const { name: file } of await filesOf(folder)) await folder.removeEntry(file);
  const next = await open();
  expect(await readAll(next)).toEqual([LOST(0, 1)]);
  await next.appendSegments([segmentOf(7)]);
  expect(await readAll(next)).toEqual([LOST(0, 1), '7 bytes']);
  await next.close();
  const last = await open();
  expect(await readAll(last)).toEqual([LOST(0, 1), '7 bytes']);
  await last.close();
});

test.each([0, 100])(
  'a file that has %i bytes left: changes are missed, the rest reads',
  async (bytes) => {
    const files = await makeRun();
    expect(files).toHaveLength(2);
    const sizes = await Promise.all(files.map(async (file) => (await file.getFile()).size));
    expect(Math.min(...sizes)).toBeGreaterThan(100);
    const first = await Promise.all(
      files.map(async (file) => ({ file, text: await (await file.getFile()).text() })),
    ).then((all) => all.find(({ text }) => text.includes('"order":1,'))?.file);
    if (first === undefined) throw new Error('No file has the first change.');
    await cut(first, bytes);
    const store = await open();
    expect(await readAll(store)).toEqual([LOST(2, 0), '2 bytes', '3 bytes']);
    // A merge writes the run anew, and what was lost is not forgotten.
    await store.replaceTable(RUN_ID, 'alerts', []);
    expect(await readAll(store)).toEqual([LOST(2, 0), '2 bytes', '3 bytes']);
    await store.close();
  },
);

test('a run that was forgotten and is recorded again misses no file', async () => {
  await makeRun();
  const store = await open();
  const run = await store.findRun(RUN_ID);
  const expected = await store.notes?.survey(RUN_ID);
  if (run === undefined || expected === undefined) throw new Error('The run is there.');
  expect(await store.notes?.forgetRun(RUN_ID, { runs: [run], streams: expected.streams })).toBe(
    true,
  );
  await store.createRun(runOf());
  await store.appendSegments([segmentOf(5)]);
  await store.close();
  const next = await open();
  expect(await readAll(next)).toEqual(['5 bytes']);
  await next.close();
});

test.each([0, 3, undefined])(
  'a blob of which %s bytes are left is damaged, and can be put again',
  async (bytes) => {
    const store = await open();
    const content = Uint8Array.of(1, 2, 3, 4, 5);
    const sha256 = (await sha256Hex(content)) ?? '';
    await store.putBlob(sha256, content);
    const folder = await folderOf('blobs');
    if (bytes === undefined) await folder.removeEntry(sha256);
    else await cut(await folder.getFileHandle(sha256), bytes);
    await expect(store.getBlob(sha256)).rejects.toMatchObject({
      code: 'store_failed',
      details: { reason: 'corrupt' },
    });
    await store.putBlob(sha256, content);
    expect(await store.getBlob(sha256)).toEqual(content);
    await store.close();
  },
);
