/**
 * A process that makes runs and deletes, restores and purges them, until it is killed. In a folder it backs up and sweeps blobs, too;
 * over HTTP it applies rules of retention. It says on stdout what it is about to do and what was done.
 */
import { writeSync } from 'node:fs';
import { isStoreError } from '../../../src/base/errors.ts';
import { backupStore } from '../../../src/backup/node/make-backup.ts';
import { sweepBlobs } from '../../../src/read/blob-sweep.ts';
import { applyRetention } from '../../../src/retention/apply.ts';
import { openFileStorage } from '../../../src/store/sql/node/file-storage.ts';
import type { Store } from '../../../src/store/store.ts';
import { openHttpStorage } from '../../../src/wire/http-store.ts';
import { insist } from '../../../test/faults/clients.ts';
import { makeRun, prepareRun, segmentOf } from '../../../test/faults/rows.ts';
import { endedRun } from '../../../test/support/retained-runs.ts';
import { random as randomFrom } from '../../../test/support/tensors.ts';
import { addArtifact, noise } from '../scene.ts';
import { DOOMED, type ForgetPlan } from './plan.ts';

const BLOB_BYTES = 280_000;

const { storage, backup, seed, life } = JSON.parse(process.argv[2] ?? '{}') as ForgetPlan;
const random = randomFrom(seed);
const say = (line: string): void => {
  writeSync(1, `${line}\n`);
};

const isRemote = storage.startsWith('http:');
const STALE = 'stale';

/** What a call comes to; over HTTP it is made again until the service, which is killed as well, answers. */
function call<T>(work: () => Promise<T>): Promise<T> {
  return isRemote ? insist(work, () => undefined) : work();
}

/** What deleted runs do not take. */
async function expectRefused(store: Store, runId: string): Promise<void> {
  const attempts = [
    () => store.appendSegments([segmentOf(DOOMED.writer, 0, DOOMED.rows, runId)]),
    () => makeRun(store, runId),
  ];
  for (const attempt of attempts)
    await call(attempt).then(
      () => say(`wrong ${runId} took what was sent again`),
      (error: unknown) => {
        if (!isStoreError(error, 'deleted')) say(`wrong ${runId}: ${String(error)}`);
      },
    );
}

/** Runs that a rule is about are deleted by it. */
async function applyRule(store: Store, runId: string): Promise<void> {
  const run = await call(() => store.findRun(runId));
  if (run === undefined) return say(`wrong ${runId} is lost`);
  // Sent again after an answer that was lost, it is a conflict: then the run has changed already.
  const { projectId, projectName: project, revision, startedAtMs: endedAtMs } = run;
  const ended = endedRun({ id: runId, project, projectId, endedAtMs, tags: [STALE] });
  await call(() => store.updateRun({ ...ended, revision }));
  say(`deleting ${runId}`);
  const rules = [{ act: 'delete' as const, tags: [STALE] }];
  const { done, skipped } = await call(() => applyRetention(store, { rules, undoDays: 1 }));
  // A run whose deletion was not answered is gone when the rule is applied again.
  const isThere = (await call(() => store.findRun(runId))) !== undefined;
  if (isThere) say(`wrong ${runId} was left by the rule: ${JSON.stringify({ done, skipped })}`);
  else say(`retained ${runId}`);
}

async function forget(store: Store, runId: string): Promise<void> {
  const draw = random();
  if (isRemote && draw < 0.25) {
    await applyRule(store, runId);
    await expectRefused(store, runId);
    return;
  }
  if (draw >= 0.75) return;
  say(`deleting ${runId}`);
  await call(() => store.deleteRun(runId, { keepMs: draw < 0.3 ? 0 : 3_600_000 }));
  say(`deleted ${runId}`);
  await expectRefused(store, runId);
  if (draw <= 0.55) return;
  say(`restoring ${runId}`);
  await call(() => store.restoreRun(runId));
  say(`restored ${runId}`);
}

async function backUp(): Promise<void> {
  await backupStore(storage, backup, { keep: 2 }).then(
    ({ snapshotId }) => say(`backup ${snapshotId}`),
    (error: unknown) => {
      // One that was killed has its lock for a while.
      if (!isStoreError(error, 'busy')) say(`wrong backup: ${String(error)}`);
    },
  );
}

const store = await call(() => (isRemote ? openHttpStorage(storage) : openFileStorage(storage)));
say('ready');
for (let i = 0; ; i++) {
  const runId = `doomed_${life}_${i}`;
  await call(() => prepareRun(store, runId));
  const segments = Array.from({ length: DOOMED.batches }, (_, batch) =>
    segmentOf(DOOMED.writer, batch, DOOMED.rows, runId),
  );
  await call(() => store.appendSegments(segments));
  if (!isRemote && i % 4 === 0) await addArtifact(store, runId, noise(random, BLOB_BYTES));
  say(`made ${runId}`);
  await forget(store, runId);
  if (i % 3 === 2) say(`purged ${(await call(() => store.purgeDeletedRuns())).length}`);
  if (isRemote) continue;
  if (i % 5 === 4) say(`swept ${(await sweepBlobs(store, { keepMs: 0 })).blobs}`);
  if (i % 6 === 5) await backUp();
}
