/** Backups and restores on a disk that becomes full: nothing half-made counts, and they go on with room. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { listBackups } from '../../src/backup/node/list-backups.ts';
import { backupStore } from '../../src/backup/node/make-backup.ts';
import { pruneBackup } from '../../src/backup/node/prune.ts';
import { restoreBackup } from '../../src/backup/node/restore-backup.ts';
import { verifyBackup } from '../../src/backup/node/verify-backup.ts';
import { openFileStorage } from '../../src/store/sql/node/file-storage.ts';
import { collect } from '../support/collect.ts';
import { RUN_ID, runOf, segmentOf } from '../support/segments.ts';

const DISK_MB = 24;
const root = mkdtempSync(join(tmpdir(), 'quark-full-backup-'));
const source = join(root, 'source');
const disk = mkdtempSync(join(tmpdir(), 'quark-full-disk-'));
let isMounted: boolean;

beforeAll(async () => {
  isMounted =
    process.platform === 'linux' &&
    spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MB}m`, 'tmpfs', disk]).status === 0;
  const store = await openFileStorage(source);
  await store.createRun(runOf());
  await append(store, 0, 40);
  await store.close();
});
afterAll(() => {
  if (isMounted) spawnSync('umount', ['-l', disk]);
  for (const folder of [root, disk]) rmSync(folder, { recursive: true, force: true });
});

async function append(
  store: Awaited<ReturnType<typeof openFileStorage>>,
  from: number,
  count: number,
): Promise<void> {
  for (let i = from; i < from + count; i++) {
    const segment = segmentOf(i, {}, 60_000);
    crypto.getRandomValues(segment.bytes);
    await store.appendSegments([segment]);
  }
}

/** Leaves so many bytes free. */
async function fill(leaveBytes: number): Promise<void> {
  // What was verified is released, so that nothing becomes free later.
  await collect();
  const { bavail, bsize } = statfsSync(disk);
  writeFileSync(join(disk, 'filler'), new Uint8Array(Math.max(0, bavail * bsize - leaveBytes)));
}

test('a full disk', async (context) => {
  if (!isMounted) context.skip('a small file system could not be mounted here');
  const destination = join(disk, 'backup');
  const first = await backupStore(source, destination);
  const store = await openFileStorage(source);
  await append(store, 40, 60);
  await fill(1_000_000);
  await expect(backupStore(source, destination)).rejects.toMatchObject({ reason: 'full' });
  expect((await listBackups(destination)).snapshots).toMatchObject([
    { snapshotId: first.snapshotId },
  ]);
  rmSync(join(disk, 'filler'));
  expect((await verifyBackup(destination)).problems).toEqual([]);
  const second = await backupStore(source, destination);
  await store.close();
  expect((await verifyBackup(destination)).problems).toEqual([]);
  expect(await pruneBackup(destination, 1)).toEqual([first.snapshotId]);

  const target = join(disk, 'target');
  await fill(1_000_000);
  await expect(restoreBackup(destination, target)).rejects.toMatchObject({ reason: 'full' });
  expect(readdirSync(target)).toEqual([]);
  rmSync(join(disk, 'filler'));
  expect(await restoreBackup(destination, target)).toMatchObject({
    snapshotId: second.snapshotId,
  });
  expect(existsSync(join(target, '.quark/quark.db'))).toBe(true);
  const restored = await openFileStorage(target);
  expect(await restored.listSegments({ runId: RUN_ID, table: 'metrics' })).toHaveLength(100);
  await restored.close();
}, 60_000);

test('pruning beside a backup that is under way waits for it, and takes nothing that it names', async () => {
  const destination = join(root, 'backup');
  await backupStore(source, destination);
  const store = await openFileStorage(source);
  for (let round = 0; round < 5; round++) {
    await append(store, 1000 + round * 10, 5);
    const [made] = await Promise.all([
      backupStore(source, destination),
      pruneBackup(destination, 1),
    ]);
    expect((await verifyBackup(destination, made.snapshotId)).problems).toEqual([]);
  }
  await store.close();
}, 60_000);
