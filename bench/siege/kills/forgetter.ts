/**
 * A process that makes runs and deletes, restores and purges them, backs the folder up, and sweeps blobs, until it is killed. It says
 * on stdout what it is about to do and what was done.
 */
import { writeSync } from 'node:fs';
import { isStoreError } from '../../../src/base/errors.ts';
import { backupStore } from '../../../src/backup/node/make-backup.ts';
import { sweepBlobs } from '../../../src/read/blob-sweep.ts';
import { openFileStorage } from '../../../src/store/sql/node/file-storage.ts';
import type { Store } from '../../../src/store/store.ts';
import { makeRun, segmentOf } from '../../../test/faults/rows.ts';
import { random as randomFrom } from '../../../test/support/tensors.ts';
import { addArtifact, noise } from '../scene.ts';
import { DOOMED, type ForgetPlan } from './plan.ts';

const BLOB_BYTES = 280_000;

const { storage, backup, seed, life } = JSON.parse(process.argv[2] ?? '{}') as ForgetPlan;
const random = randomFrom(seed);
const say = (line: string): void => {
  writeSync(1, `${line}\n`);
};

/** What deleted runs do not take. */
async function expectRefused(store: Store, runId: string): Promise<void> {
  const attempts = [
    () => store.appendSegments([segmentOf(DOOMED.writer, 0, DOOMED.rows, runId)]),
    () => makeRun(store, runId),
  ];
  for (const attempt of attempts)
    await attempt().then(
      () => say(`wrong ${runId} took what was sent again`),
      (error: unknown) => {
        if (!isStoreError(error, 'deleted')) say(`wrong ${runId}: ${String(error)}`);
      },
    );
}

const store = await openFileStorage(storage);
say('ready');
for (let i = 0; ; i++) {
  const runId = `doomed_${life}_${i}`;
  await makeRun(store, runId);
  await store.appendSegments(
    Array.from({ length: DOOMED.batches }, (_, batch) =>
      segmentOf(DOOMED.writer, batch, DOOMED.rows, runId),
    ),
  );
  if (i % 4 === 0) await addArtifact(store, runId, noise(random, BLOB_BYTES));
  say(`made ${runId}`);
  const draw = random();
  if (draw < 0.75) {
    say(`deleting ${runId}`);
    await store.deleteRun(runId, { keepMs: draw < 0.3 ? 0 : 3_600_000 });
    say(`deleted ${runId}`);
    await expectRefused(store, runId);
    if (draw > 0.55) {
      say(`restoring ${runId}`);
      await store.restoreRun(runId);
      say(`restored ${runId}`);
    }
  }
  if (i % 3 === 2) say(`purged ${(await store.purgeDeletedRuns()).length}`);
  if (i % 5 === 4) say(`swept ${(await sweepBlobs(store, { keepMs: 0 })).blobs}`);
  if (i % 6 === 5) {
    await backupStore(storage, backup, { keep: 2 }).then(
      ({ snapshotId }) => say(`backup ${snapshotId}`),
      (error: unknown) => {
        // One that was killed holds its lock for a while.
        if (!isStoreError(error, 'busy')) say(`wrong backup: ${String(error)}`);
      },
    );
  }
}
