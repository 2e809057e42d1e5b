/** `quark backup` and `quark restore`. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MetricsLogger, openStorage, TrainingSession } from '../../src/index.ts';
import { findDocument, listDocuments, putDocument } from '../../src/workspace.ts';
import { quark, type Ran } from './fake-io.ts';

const folder = mkdtempSync(join(tmpdir(), 'quark-backup-cli-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

beforeAll(async () => {
  const session = await TrainingSession.startRun({
    project: 'digits',
    storageDir: join(folder, 'runs'),
    handleSignals: false,
  });
  const metrics = new MetricsLogger(session);
  metrics.log('train/loss', 0.5, { step: 1 });
  await metrics.close();
  await session.endRun('completed');
  await session.close();
});

function at(...args: readonly string[]): Promise<Ran> {
  return quark(args, { cwd: folder });
}

test('backs up, lists, verifies, prunes and restores', async () => {
  const store = await openStorage(join(folder, 'runs'));
  await putDocument(store, 'digits', { kind: 'report', id: 'r', name: 'R', body: '{"a":1}' });
  await putDocument(store, 'digits', {
    kind: 'view',
    id: 'v',
    name: 'V',
    body: '{"b":1}',
    visibility: 'private',
  });
  const documents = await listDocuments(store, 'digits');
  await store.close();
  const made = await at('backup', 'saved', '--storage-dir', 'runs');
  expect(made).toMatchObject({ code: 0, stderr: '' });
  expect(made.stdout).toMatch(/^Snapshot \S+ in .*saved: 1 run, a database of .* read back\.\n$/);
  const again = await at('backup', 'saved', '--storage-dir', 'runs', '--verify', '--json');
  expect(JSON.parse(again.stdout)).toMatchObject({
    run_count: 1,
    written_bytes: 0,
    lost_blobs: [],
    problems: [],
  });
  const listed = await at('backup', 'list', 'saved', '--json');
  expect(JSON.parse(listed.stdout).snapshots).toHaveLength(2);
  expect((await at('backup', 'list', 'saved')).stdout).toContain('SNAPSHOT');
  expect((await at('backup', 'verify', 'saved')).stdout).toContain('all whole');
  expect((await at('backup', 'tombstones', 'saved', '--storage-dir', 'runs')).stdout).toContain(
    '0 tombstones',
  );
  expect((await at('backup', 'prune', 'saved', '--keep', '1')).stdout).toContain(
    '1 snapshot removed',
  );
  const restored = await at('restore', 'saved', 'again');
  expect(restored).toMatchObject({ code: 0, stderr: '' });
  expect(restored.stdout).toContain('Restored ');
  const runs = await at('runs', '--storage-dir', 'again', '--json');
  expect(JSON.parse(runs.stdout)).toMatchObject([{ project_name: 'digits', status: 'completed' }]);
  const there = await openStorage(join(folder, 'again'));
  expect(documents).toHaveLength(2);
  expect(await listDocuments(there, 'digits')).toEqual(documents);
  expect(await findDocument(there, 'digits', 'view', 'v')).toMatchObject({ body: '{"b":1}' });
  await there.close();
});

test('says why not', async () => {
  await at('backup', 'other', '--storage-dir', 'runs');
  for (const [args, code, said] of [
    [['backup'], 2, /needs DEST/],
    [['backup', 'list'], 2, /needs the folder of a backup/],
    [['backup', 'remove', 'other'], 2, /can list, verify, prune, tombstones/],
    [['backup', 'prune', 'other'], 2, /--keep N/],
    [['backup', 'prune', 'other', '--keep', '0'], 2, /--keep N/],
    [['backup', 'list', 'nowhere'], 3, /There is no backup/],
    [['backup', 'other', '--storage-dir', 'nowhere'], 3, /There is no database/],
    [['backup', 'other', '--storage', 'postgres://a:secret@b/c'], 1, /copies stores in folders/],
    [['backup', 'runs/.quark/saved', '--storage-dir', 'runs'], 1, /a folder outside of the store/],
    [
      ['restore', 'other', 'x', '--tombstones', 'none'],
      3,
      /There is no file of tombstones at .*none/,
    ],
    [['restore', 'other', 'runs'], 1, /There is a store in/],
    [['restore', 'other', 'x', '--snapshot', '1999'], 3, /There is no snapshot/],
  ] as const) {
    const ran = await at(...args);
    expect(ran, ran.stderr).toMatchObject({ code, stderr: expect.stringMatching(said) });
    expect(ran.stderr).not.toContain('secret');
  }
});

test('the exit code says that something is damaged', async () => {
  await at('backup', 'broken', '--storage-dir', 'runs');
  const chunks = join(folder, 'broken/chunks');
  const first = readdirSync(chunks).find((name) => name.length === 2) ?? '';
  const [file = ''] = readdirSync(join(chunks, first));
  writeFileSync(join(chunks, first, file), 'x');
  const verified = await at('backup', 'verify', 'broken');
  expect(verified).toMatchObject({ code: 1, stdout: expect.stringContaining('is damaged') });
  expect((await at('restore', 'broken', 'nothing')).code).toBe(1);
});
