/** Backups of the store in a folder: snapshots that share their chunks, found damage, pruning, and the way back. */
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { listBackups } from '../../../src/backup/node/list-backups.ts';
import { backupStore, backupTombstones } from '../../../src/backup/node/make-backup.ts';
import { pruneBackup } from '../../../src/backup/node/prune.ts';
import { restoreBackup } from '../../../src/backup/node/restore-backup.ts';
import { tombstoneText } from '../../../src/backup/node/tombstones.ts';
import { verifyBackup } from '../../../src/backup/node/verify-backup.ts';
import { sweepBlobs } from '../../../src/read/blob-sweep.ts';
import { lockFile } from '../../../src/store/sql/node/file-lock.ts';
import { openFileSpaces, openFileStorage } from '../../../src/store/sql/node/file-storage.ts';
import { ensureIdentity } from '../../../src/store/sql/store-identity.ts';
import type { Store } from '../../../src/store/store.ts';
import { artifactSegmentOf } from '../../support/artifact-segments.ts';
import { collect } from '../../support/collect.ts';
import { bytesOf, RUN_ID, runOf, segmentOf } from '../../support/segments.ts';

const root = mkdtempSync(join(tmpdir(), 'quark-backup-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let folder: string;
let source: string;
let destination: string;
let next = 0;
beforeEach(() => {
  folder = join(root, String(next++));
  source = join(folder, 'source');
  destination = join(folder, 'backup');
});

const LARGE = 300_000;

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** A store with a run, segments of random size and a blob beside the database. */
async function fill(store: Store, from: number, count: number): Promise<void> {
  if ((await store.findRun(RUN_ID)) === undefined) await store.createRun(runOf());
  for (let i = from; i < from + count; i++)
    await store.appendSegments([segmentOf(i, {}, 20_000 + i)]);
  const bytes = bytesOf(LARGE + from, from);
  await store.putBlob(hashOf(bytes), bytes);
}

async function withSource<T>(work: (store: Store) => Promise<T>): Promise<T> {
  const store = await openFileStorage(source);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** Everything that can be read of a store. */
async function contentOf(directory: string): Promise<unknown> {
  const store = await openFileStorage(directory, { create: false });
  try {
    const filter = { runId: RUN_ID, table: 'metrics' };
    const segments = await store.listSegments(filter);
    const reads = await store.readSegments(segments);
    return {
      runs: await store.listRuns(),
      segments,
      sums: reads.map((read) => (read.kind === 'bytes' ? hashOf(read.bytes) : read.kind)),
    };
  } finally {
    await store.close();
  }
}

async function identityOf(directory: string) {
  const spaces = await openFileSpaces(directory);
  const identity = await spaces.database.transaction(() => ensureIdentity(1));
  await spaces.close();
  return identity;
}

/** Flips a bit of a file. */
function damage(path: string, at: number): void {
  const bytes = readFileSync(path);
  bytes[at % bytes.length] = (bytes[at % bytes.length] ?? 0) ^ 4;
  writeFileSync(path, bytes);
}

function filesOf(kind: 'chunks' | 'blobs'): string[] {
  const base = join(destination, kind);
  if (!existsSync(base)) return [];
  return readdirSync(base)
    .filter((name) => name.length === 2)
    .flatMap((name) => readdirSync(join(base, name)).map((file) => join(base, name, file)));
}

test('a restored store equals its source at the moment of the backup, while the source stays open and goes on', async () => {
  await identityOf(source);
  const store = await openFileStorage(source);
  await fill(store, 0, 40);
  const first = await backupStore(source, destination);
  await fill(store, 40, 5);
  const second = await backupStore(source, destination, { verifiesAll: true });
  const at45 = await contentOf(source);
  await fill(store, 45, 5);
  await store.close();
  expect(first).toMatchObject({ runCount: 1, segmentCount: 40, blobCount: 1, lostBlobs: [] });
  expect(second).toMatchObject({ segmentCount: 45, blobCount: 2 });
  // The second writes what is new, and little else.
  expect(second.writtenBytes).toBeLessThan(LARGE + 40 + 256 * 1024 * 5);
  expect(second.writtenBytes).toBeLessThan(first.writtenBytes);

  expect((await verifyBackup(destination)).problems).toEqual([]);
  const target = join(folder, 'target');
  const report = await restoreBackup(destination, target);
  expect(report).toMatchObject({ snapshotId: second.snapshotId, blobCount: 2, replacedPath: null });
  expect(await contentOf(target)).toEqual(at45);
  const restored = await openFileStorage(target);
  const bytes = bytesOf(LARGE + 40, 40);
  expect(await restored.getBlob(hashOf(bytes))).toEqual(bytes);
  await restored.close();
  expect(readdirSync(target)).toEqual(['.quark']);

  // Clients see that it may have lost something.
  const identities = await Promise.all([source, target].map(identityOf));
  expect(identities[1]?.id).toBe(identities[0]?.id);
  expect(identities[1]?.epoch).toBeGreaterThan(identities[0]?.epoch ?? 0);

  const old = join(folder, 'old');
  await restoreBackup(destination, old, { snapshotId: first.snapshotId });
  expect(JSON.stringify(await contentOf(old))).not.toContain('"batchNumber":40');
});

test('a backup without changes writes nothing, and lists as a snapshot of its own', async () => {
  await withSource((store) => fill(store, 0, 3));
  await backupStore(source, destination);
  const again = await backupStore(source, destination);
  expect(again.writtenBytes).toBe(0);
  const { snapshots, unreadable } = await listBackups(destination);
  expect(unreadable).toEqual([]);
  expect(snapshots).toHaveLength(2);
  expect(snapshots[1]).toMatchObject({ snapshotId: again.snapshotId, runCount: 1, blobCount: 1 });
});

test('a store of an earlier layout is backed up as it is, and migrated where it is restored', async () => {
  const fixture = join(import.meta.dirname, '../../fixtures');
  const old = readdirSync(fixture, { recursive: true, encoding: 'utf8' }).find((name) =>
    name.endsWith('quark.db'),
  );
  if (old === undefined) throw new Error('There is a store of an earlier layout.');
  mkdirSync(join(source, '.quark'), { recursive: true });
  cpSync(join(fixture, old), join(source, '.quark/quark.db'));
  const before = hashOf(readFileSync(join(source, '.quark/quark.db')));
  await backupStore(source, destination);
  expect(hashOf(readFileSync(join(source, '.quark/quark.db')))).toBe(before);
  await restoreBackup(destination, join(folder, 'target'));
  const store = await openFileStorage(join(folder, 'target'), { create: false });
  await store.listRuns();
  await store.close();
});

test('verification finds every damaged, shortened and missing file, and restoring refuses it', async () => {
  await withSource((store) => fill(store, 0, 30));
  await backupStore(source, destination);
  const chunks = filesOf('chunks');
  const [blob = ''] = filesOf('blobs');
  expect(chunks.length).toBeGreaterThan(2);
  for (const [i, path] of [...chunks, blob].entries()) {
    const whole = readFileSync(path);
    if (i % 3 === 0) damage(path, i * 7919);
    else if (i % 3 === 1) truncateSync(path, whole.length - 1);
    else rmSync(path);
    const { problems } = await verifyBackup(destination);
    expect(problems).toMatchObject([{ kind: path === blob ? 'blob' : 'chunk' }]);
    await expect(restoreBackup(destination, join(folder, 'target'))).rejects.toThrow(
      /is (damaged|missing) in/,
    );
    expect(readdirSync(join(folder, 'target'))).toEqual([]);
    // A backup with --verify writes it again.
    await backupStore(source, destination, { verifiesAll: true, keep: 1 });
    expect(readFileSync(path).equals(whole)).toBe(true);
  }
  expect((await verifyBackup(destination)).problems).toEqual([]);
});

test('a damaged file of a snapshot is told, left out, and stops pruning', async () => {
  await withSource((store) => fill(store, 0, 2));
  const { snapshotId } = await backupStore(source, destination);
  await backupStore(source, destination);
  damage(join(destination, 'snapshots', `${snapshotId}.json`), 40);
  expect((await listBackups(destination)).unreadable).toMatchObject([{ snapshotId }]);
  expect((await verifyBackup(destination)).problems).toMatchObject([{ kind: 'snapshot' }]);
  await expect(pruneBackup(destination, 1)).rejects.toThrow(/checksum/);
  await expect(restoreBackup(destination, join(folder, 'x'), { snapshotId })).rejects.toThrow(
    /checksum/,
  );
  await restoreBackup(destination, join(folder, 'y'));
});

test('pruning removes what only old snapshots name, and waits for nobody who is not there', async () => {
  await withSource((store) => fill(store, 0, 30));
  await backupStore(source, destination);
  await withSource(async (store) => {
    await store.notes?.forgetRun(RUN_ID);
    await store.reclaimSpace();
  });
  await withSource((store) => fill(store, 100, 2));
  const before = filesOf('chunks').length;
  const last = await backupStore(source, destination, { keep: 1 });
  expect(last.removedSnapshots).toHaveLength(1);
  expect(filesOf('chunks').length).toBeLessThan(before);
  expect((await verifyBackup(destination)).problems).toEqual([]);
  expect(await pruneBackup(destination, 1)).toEqual([]);
  await expect(pruneBackup(destination, 0)).rejects.toThrow(/keep/);
});

test('one backup at a time; readers beside it; pruning alone', async () => {
  await withSource((store) => fill(store, 0, 2));
  await backupStore(source, destination);
  const release = await lockFile(join(destination, 'lock'), 'write', 0);
  await expect(backupStore(source, destination, { waitMs: 0 })).rejects.toThrow(/lock/);
  await restoreBackup(destination, join(folder, 'target'));
  release();
  await backupStore(source, destination);
});

test('what a killed backup has left is used by the next one, or swept', async () => {
  await withSource((store) => fill(store, 0, 10));
  const { snapshotId } = await backupStore(source, destination);
  // As if it had been killed before its last step.
  rmSync(join(destination, 'snapshots', `${snapshotId}.json`));
  mkdirSync(join(destination, '.draft-abc'));
  writeFileSync(join(destination, 'chunks/incoming/half'), 'x');
  expect((await listBackups(destination)).snapshots).toEqual([]);
  const report = await backupStore(source, destination, { keep: 1 });
  expect(report.writtenBytes).toBe(0);
  expect(readdirSync(destination).sort()).toEqual(['blobs', 'chunks', 'lock', 'snapshots']);
});

test('restoring leaves a store that is there alone, unless it is to be replaced and nobody uses it', async () => {
  await withSource((store) => fill(store, 0, 4));
  await backupStore(source, destination);
  const target = join(folder, 'target');
  await restoreBackup(destination, target);
  await expect(restoreBackup(destination, target)).rejects.toMatchObject({ reason: 'rejected' });
  const user = await openFileStorage(target);
  await expect(restoreBackup(destination, target, { replaces: true })).rejects.toMatchObject({
    reason: 'busy',
  });
  await user.close();
  await collect();
  const { replacedPath } = await restoreBackup(destination, target, { replaces: true });
  expect(existsSync(join(replacedPath ?? '', 'quark.db'))).toBe(true);
  expect(await contentOf(target)).toEqual(await contentOf(source));
  // One whose database is no database any more, too.
  await collect();
  writeFileSync(join(target, '.quark/quark.db'), 'x'.repeat(5000));
  const again = await restoreBackup(destination, target, { replaces: true });
  expect(again.isOldUnreadable).toBe(true);
  expect(await contentOf(target)).toEqual(await contentOf(source));
});

test('a run that was deleted after the snapshot stays away', async () => {
  await withSource((store) => fill(store, 0, 4));
  await backupStore(source, destination);
  const file = join(folder, 'deleted');
  writeFileSync(
    file,
    tombstoneText([
      {
        kind: 'run',
        space: '',
        id: RUN_ID,
        projectName: 'digits',
        deletedAtMs: 5,
        purgeAtMs: 6,
        purgedAtMs: null,
        by: null,
      },
    ]),
  );
  const target = join(folder, 'target');
  const report = await restoreBackup(destination, target, { tombstones: [file] });
  expect(report.deletedRunIds).toEqual([RUN_ID]);
  const store = await openFileStorage(target);
  expect(await store.findRun(RUN_ID)).toBeUndefined();
  await expect(store.createRun(runOf())).rejects.toMatchObject({ reason: 'deleted' });
  await store.close();
  writeFileSync(join(destination, 'tombstones'), '{"kind":"run"\n');
  await expect(restoreBackup(destination, join(folder, 'x'))).rejects.toThrow(/Line 1/);
});

test('tombstones of the backup are those of the store: deleted, undeleted, purged', async () => {
  await withSource(async (store) => {
    await fill(store, 0, 4);
    await store.createRun(runOf({ id: 'run_2' }));
    await store.createRun(runOf({ id: 'run_3' }));
  });
  const { snapshotId } = await backupStore(source, destination);
  await withSource(async (store) => {
    for (const id of [RUN_ID, 'run_2', 'run_3']) await store.deleteRun(id, { by: 'alice' });
    await store.restoreRun('run_2');
    await store.purgeDeletedRuns(Date.now(), [RUN_ID]);
    // Known from the store alone: no snapshot has it.
    await store.createRun(runOf({ id: 'run_4' }));
    await store.deleteRun('run_4');
  });
  expect(await backupTombstones(source, destination)).toBe(3);
  const target = join(folder, 'target');
  const report = await restoreBackup(destination, target, { snapshotId });
  expect([...report.deletedRunIds].sort()).toEqual([RUN_ID, 'run_3']);
  const store = await openFileStorage(target);
  expect((await store.listRuns()).map(({ id }) => id)).toEqual(['run_2']);
  expect(
    new Map(
      (await store.listDeletedRuns()).map(({ id, purgedAtMs }) => [id, purgedAtMs === undefined]),
    ),
  ).toEqual(
    new Map([
      [RUN_ID, false],
      ['run_3', true],
      ['run_4', false],
    ]),
  );
  await store.restoreRun('run_3');
  await expect(store.createRun(runOf({ id: 'run_4' }))).rejects.toMatchObject({
    reason: 'deleted',
  });
  await store.close();
  // A purged run stays away, also where an older copy of the store is backed up to the same folder.
  await backupStore(target, destination);
  expect(readFileSync(join(destination, 'tombstones'), 'utf8')).not.toContain('run_3');
});

test('a run that a snapshot has as deleted, and that was purged after it, is purged where it is restored', async () => {
  await withSource(async (store) => {
    await fill(store, 0, 2);
    await store.deleteRun(RUN_ID);
  });
  const { snapshotId } = await backupStore(source, destination);
  await withSource((store) => store.purgeDeletedRuns(Date.now(), [RUN_ID]));
  await backupTombstones(source, destination);
  const target = join(folder, 'target');
  await restoreBackup(destination, target, { snapshotId });
  const store = await openFileStorage(target);
  expect((await store.findDeletedRun(RUN_ID))?.purgedAtMs).toBeTypeOf('number');
  await expect(store.restoreRun(RUN_ID)).rejects.toMatchObject({ reason: 'deleted' });
  await store.close();
});

test('tombstones can be written without a snapshot', async () => {
  await withSource((store) => fill(store, 0, 1));
  await expect(backupTombstones(source, destination)).rejects.toMatchObject({ reason: 'missing' });
  await backupStore(source, destination);
  expect(await backupTombstones(source, destination)).toBe(0);
});

test('a blob whose bytes the store has lost is told, and the rest is backed up', async () => {
  await withSource((store) => fill(store, 0, 2));
  const sha256 = hashOf(bytesOf(LARGE, 0));
  damage(join(source, '.quark/blobs', sha256.slice(0, 2), sha256), 5);
  const report = await backupStore(source, destination);
  expect(report).toMatchObject({ lostBlobs: [sha256], blobCount: 0 });
  expect((await verifyBackup(destination)).problems).toMatchObject([{ kind: 'lost_blob' }]);
  expect(await restoreBackup(destination, join(folder, 'target'))).toMatchObject({
    lostBlobs: [sha256],
  });
});

test('says why not, before anything is made', async () => {
  await expect(backupStore(source, destination)).rejects.toMatchObject({ reason: 'missing' });
  expect(existsSync(destination)).toBe(false);
  await withSource((store) => fill(store, 0, 1));
  mkdirSync(destination);
  writeFileSync(join(destination, 'mine.txt'), 'x');
  await expect(backupStore(source, destination)).rejects.toThrow(/is no backup/);
  expect(readdirSync(destination)).toEqual(['mine.txt']);
  await expect(restoreBackup(destination, join(folder, 'x'))).rejects.toMatchObject({
    reason: 'missing',
  });
});

test('a snapshot of a newer layout or format is refused', async () => {
  await withSource((store) => fill(store, 0, 1));
  const database = new Database(join(source, '.quark/quark.db'));
  database.exec('UPDATE quark_layout SET version = 9999');
  database.close();
  await backupStore(source, destination);
  await expect(restoreBackup(destination, join(folder, 'x'))).rejects.toMatchObject({
    reason: 'version',
  });
  expect(existsSync(join(folder, 'x'))).toBe(false);
});

test('a blob that was swept and put again is backed up under its hash, and restored as a first generation', async () => {
  const bytes = bytesOf(LARGE, 77);
  const hash = hashOf(bytes);
  const clock = { nowMs: 1_700_000_000_000, now: (): number => clock.nowMs };
  const store = await openFileStorage(source, { clock });
  await store.createRun(runOf());
  for (let round = 0; round < 2; round++) {
    await store.putBlob(hash, bytes);
    clock.nowMs += 1000;
    if (round === 0)
      expect(await sweepBlobs(store, { keepMs: 0, clock })).toMatchObject({ blobs: 1 });
  }
  expect(existsSync(join(source, '.quark', 'blobs', hash.slice(0, 2), `${hash}.1`))).toBe(true);
  await store.appendSegments([artifactSegmentOf(0, [[hash]])]);
  expect(await backupStore(source, destination)).toMatchObject({ blobCount: 1, lostBlobs: [] });
  await store.close();
  const restored = join(folder, 'restored');
  await restoreBackup(destination, restored);
  const again = await openFileStorage(restored, { clock });
  expect(hashOf((await again.getBlob(hash)) ?? bytesOf(1))).toBe(hash);
  // Blobs begin their time again.
  await again.putBlob(hash, bytes);
  clock.nowMs += 1000;
  await again.replaceTable(RUN_ID, 'artifacts', []);
  expect(await sweepBlobs(again, { keepMs: 0, clock })).toMatchObject({ blobs: 1 });
  await again.putBlob(hash, bytes);
  expect(hashOf((await again.getBlob(hash)) ?? bytesOf(1))).toBe(hash);
  await again.close();
});
