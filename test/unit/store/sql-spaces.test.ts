/** Spaces: stores of many users over one database, none of which sees another. */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openFileSpaces, openFileStorage } from '../../../src/store/sql/node/file-storage.ts';
import { sha256Hex } from '../../../src/store/blob-rules.ts';
import type { StoreSpaces } from '../../../src/store/sql/sql-store.ts';
import { bytesOf, RUN_ID, runOf, segmentOf } from '../../support/segments.ts';

let directory: string;
let spaces: StoreSpaces;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'quark-spaces-'));
  spaces = await openFileSpaces(directory);
});
afterEach(async () => {
  await spaces.close();
  await rm(directory, { recursive: true, force: true });
});

test('the same ids and names in two spaces are two things', async () => {
  const [a, b] = [spaces.store('ann/digits'), spaces.store('ben/digits')];
  const project = { id: 'project_1', name: 'digits', createdAtMs: 1 };
  await a.ensureProject(project);
  await b.ensureProject({ ...project, createdAtMs: 2 });
  await a.createRun(runOf({ tags: ['shared', 'a'] }));
  await b.createRun(runOf({ tags: ['shared'], status: 'failed' }));
  await a.renewLease(RUN_ID, 'holder', 1000);
  await a.appendSegments([segmentOf(0), segmentOf(1)]);
  await b.appendSegments([segmentOf(0, {}, 10)]);

  expect(await b.listProjects()).toEqual([{ ...project, createdAtMs: 2 }]);
  expect(await a.listRuns({ tags: ['shared'], statuses: ['failed'] })).toEqual([]);
  expect(await b.listRuns({ tags: ['shared'] })).toEqual([
    { ...runOf({ tags: ['shared'], status: 'failed' }), revision: 1 },
  ]);
  expect(await b.listRuns({ tags: ['a'] })).toEqual([]);
  expect(await b.listLeases()).toEqual([]);
  expect(await b.listLeases([RUN_ID])).toEqual([]);
  expect(await a.listLeases([RUN_ID])).toHaveLength(1);
  await b.releaseLease(RUN_ID, 'holder');
  expect(await a.listLeases()).toHaveLength(1);
  const filter = { runId: RUN_ID, table: 'metrics' };
  expect(await a.listSegments(filter)).toHaveLength(2);
  const [only] = await b.listSegments(filter);
  expect(only?.sizeBytes).toBe(10);
  expect(only === undefined ? [] : await b.readSegments([only])).toMatchObject([{ kind: 'bytes' }]);
  expect(await b.readSegments([{ ...filter, writerId: 'writer_a', batchNumber: 1 }])).toEqual([
    { kind: 'gone' },
  ]);
  await b.replaceTable(RUN_ID, 'metrics', []);
  expect(await a.listSegments(filter)).toHaveLength(2);

  const run = await b.findRun(RUN_ID);
  if (run === undefined) throw new Error('It was made above.');
  await b.updateRun({ ...run, tags: ['b'], status: 'completed' });
  expect((await a.findRun(RUN_ID))?.status).toBe('running');
  expect(await a.listRuns({ tags: ['a'] })).toHaveLength(1);
});

test('a space that was never written to has no runs, and appends to another space’s run are refused', async () => {
  await spaces.store('ann').createRun(runOf());
  const other = spaces.store('ann/other');
  expect(await other.listRuns()).toEqual([]);
  expect(await other.findRun(RUN_ID)).toBeUndefined();
  await expect(other.appendSegments([segmentOf(0)])).rejects.toMatchObject({
    code: 'run_not_found',
  });
  await expect(other.updateRun({ ...runOf(), revision: 1 })).rejects.toMatchObject({
    code: 'run_not_found',
  });
});

test.each([1000, 300_000])(
  'a blob of %i bytes is seen where it was put, and only there',
  async (size) => {
    const bytes = bytesOf(size);
    const hash = (await sha256Hex(bytes)) ?? '';
    const [a, b] = [spaces.store('ann'), spaces.store('ben')];
    await a.putBlob(hash, bytes);
    expect((await a.getBlob(hash))?.byteLength).toBe(size);
    expect(await b.getBlob(hash)).toBeUndefined();
    await b.putBlob(hash, bytes);
    expect((await b.getBlob(hash))?.byteLength).toBe(size);
  },
);

test('a store opened by itself is the space without a name', async () => {
  await spaces.store('').createRun(runOf());
  const alone = await openFileStorage(directory);
  expect(await alone.listRuns()).toHaveLength(1);
  await alone.close();
});

test('closing the store of a space leaves the others open; runs have folders of their own', async () => {
  const [a, b] = [spaces.store('ann/x'), spaces.store('ann')];
  await a.createRun(runOf());
  await a.close();
  await expect(a.listRuns()).rejects.toMatchObject({ reason: 'closed' });
  await b.createRun(runOf({ id: 'run_2' }));
  const root = join(directory, '.quark', 'spaces');
  expect((await readdir(root)).sort()).toEqual(['ann', 'ann+x']);
  expect(await readdir(join(root, 'ann+x', 'runs'))).toEqual([RUN_ID]);
});

test.each(['..', 'a/../b', '/a', 'a/', 'a//b', '.', 'ä', 'a b', 'a\u0000', 'a'.repeat(201), 'a+b'])(
  'the name %j is refused',
  (name) => {
    expect(() => spaces.store(name)).toThrowError(
      expect.objectContaining({
        code: 'invalid_input',
        details: expect.objectContaining({ field: 'space' }) as object,
      }) as Error,
    );
  },
);
