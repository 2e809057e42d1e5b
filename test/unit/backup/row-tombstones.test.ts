/** Rows that were deleted after a snapshot stay away, and a restored store gives time to bring deleted runs back. */
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { backupStore, backupTombstones } from '../../../src/backup/node/make-backup.ts';
import { restoreBackup } from '../../../src/backup/node/restore-backup.ts';
import { deleteArtifact, deleteTable } from '../../../src/read/row-deletion.ts';
import { thinMetrics } from '../../../src/retention/thin.ts';
import { openFileStorage } from '../../../src/store/sql/node/file-storage.ts';
import type { SegmentManifest, Store } from '../../../src/store/store.ts';
import { artifactSegmentOf } from '../../support/artifact-segments.ts';
import { metricSegmentOf } from '../../support/real-segments.ts';
import { RUN_ID, runOf } from '../../support/segments.ts';

const WEEK_MS = 7 * 24 * 3_600_000;
const HASH = 'a'.repeat(64);
let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quark-rows-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const source = (): string => join(folder, 'source');
const backup = (): string => join(folder, 'backup');

async function within<T>(directory: string, work: (store: Store) => Promise<T>): Promise<T> {
  const store = await openFileStorage(directory);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

const tableOf = (store: Store, table: string): Promise<readonly SegmentManifest[]> =>
  store.listSegments({ runId: RUN_ID, table, empty: true, superseded: true });

/** Rows that are there and rows that are gone. */
async function countsOf(store: Store): Promise<Record<string, readonly [number, number]>> {
  const counts: Record<string, readonly [number, number]> = {};
  for (const table of ['metrics', 'artifacts', 'events']) {
    const segments = await tableOf(store, table);
    counts[table] = [
      segments.reduce((sum, { rowCount }) => sum + rowCount, 0),
      segments.reduce((sum, { droppedRows = 0 }) => sum + droppedRows, 0),
    ];
  }
  return counts;
}

async function fill(store: Store): Promise<void> {
  await store.createRun(runOf({ status: 'completed' }));
  await store.appendSegments([
    ...Array.from({ length: 10 }, (_, i) => metricSegmentOf(i)),
    artifactSegmentOf(0, [[HASH], [HASH]]),
    artifactSegmentOf(1, [[HASH]]),
  ]);
}

test.each(['beside the snapshots', 'of the store that is replaced'])(
  'tables, artifacts and downsampled metrics are deleted again, by tombstones %s',
  async (where) => {
    await within(source(), fill);
    await backupStore(source(), backup());
    const after = await within(source(), async (store) => {
      await thinMetrics(store, RUN_ID, { points: 20, nowMs: 5_000 });
      await deleteArtifact(store, RUN_ID, 'art_writer_a_0_0');
      return countsOf(store);
    });
    expect(after).toEqual({ metrics: [10, 90], artifacts: [2, 1], events: [0, 0] });
    const isBeside = where === 'beside the snapshots';
    if (isBeside) expect(await backupTombstones(source(), backup())).toBe(2);
    // A copy: this process may have the database itself open until its handles are collected.
    const target = join(folder, 'target');
    if (!isBeside) cpSync(source(), target, { recursive: true });
    const report = await restoreBackup(backup(), target, { replaces: true });
    expect(report).toMatchObject({ deletedRunIds: [], deletedRows: 91 });
    await within(target, async (store) => {
      expect(await countsOf(store)).toEqual(after);
      expect((await tableOf(store, 'metrics'))[0]).toMatchObject({ downsampledTo: 20 });
      // What a client sends again is known by its batches.
      await store.appendSegments([metricSegmentOf(3), artifactSegmentOf(0, [[HASH], [HASH]])]);
      expect(await countsOf(store)).toEqual(after);
      await deleteTable(store, RUN_ID, 'metrics');
    });
    // A later deletion of more counts, and rows that came after the tombstones stay.
    await backupTombstones(target, backup());
    const third = join(folder, 'third');
    expect(await restoreBackup(backup(), third)).toMatchObject({ deletedRows: 101 });
    await within(third, async (store) => {
      expect(await countsOf(store)).toMatchObject({ metrics: [0, 100], artifacts: [2, 1] });
      await store.appendSegments([metricSegmentOf(50)]);
    });
    await backupStore(third, backup());
    expect(await restoreBackup(backup(), join(folder, 'fourth'))).toMatchObject({ deletedRows: 0 });
    await within(join(folder, 'fourth'), async (store) =>
      expect(await countsOf(store)).toMatchObject({ metrics: [10, 100] }),
    );
  },
);

test.each(['there', 'deleted'])(
  'a run that is %s in the snapshot, lost rows and was deleted comes back without these rows',
  async (state) => {
    await within(source(), async (store) => {
      await fill(store);
      if (state === 'deleted') await store.deleteRun(RUN_ID, { by: 'kim', keepMs: 9 * WEEK_MS });
    });
    await backupStore(source(), backup());
    await within(source(), async (store) => {
      if (state === 'deleted') await store.restoreRun(RUN_ID);
      await deleteTable(store, RUN_ID, 'metrics');
      await store.deleteRun(RUN_ID, { by: 'kim', keepMs: 9 * WEEK_MS });
    });
    await backupTombstones(source(), backup());
    const target = join(folder, 'target');
    expect(await restoreBackup(backup(), target)).toMatchObject({ deletedRows: 100 });
    await within(target, async (store) => {
      expect(await store.findRun(RUN_ID)).toBeUndefined();
      const [deleted] = await store.listDeletedRuns();
      expect(deleted).toMatchObject({ id: RUN_ID, by: 'kim' });
      expect(deleted?.purgeAtMs).toBeGreaterThan(Date.now() + 8 * WEEK_MS);
      await store.restoreRun(RUN_ID);
      expect(await countsOf(store)).toMatchObject({ metrics: [0, 100], artifacts: [3, 0] });
    });
  },
);

test('a damaged line of row tombstones is named, and nothing is restored without it', async () => {
  await within(source(), fill);
  await backupStore(source(), backup());
  writeFileSync(join(backup(), 'row-tombstones'), '{"kind":"rows"}\n');
  await expect(restoreBackup(backup(), join(folder, 'target'))).rejects.toMatchObject({
    reason: 'corrupt',
    details: { line: 1 },
  });
});

test('a run whose time has come since the snapshot, or that was undeleted after it, can be brought back for a week', async () => {
  const nowMs = Date.now();
  await within(source(), async (store) => {
    await fill(store);
    await store.createRun(runOf({ id: 'run_2' }));
    await store.deleteRun(RUN_ID, { keepMs: 0 });
  });
  await backupStore(source(), backup());
  await within(source(), async (store) => {
    await store.restoreRun(RUN_ID);
    await store.deleteRun('run_2', { keepMs: 0 });
  });
  await backupTombstones(source(), backup());
  const target = join(folder, 'target');
  await restoreBackup(backup(), target);
  await within(target, async (store) => {
    for (const { id, purgeAtMs } of await store.listDeletedRuns())
      expect([id, purgeAtMs >= nowMs + WEEK_MS]).toEqual([id, true]);
    expect(await store.purgeDeletedRuns()).toEqual([]);
    expect((await store.restoreRun(RUN_ID)).id).toBe(RUN_ID);
    expect(await countsOf(store)).toMatchObject({ metrics: [100, 0] });
    expect((await store.restoreRun('run_2')).id).toBe('run_2');
  });
});
