/** Calls that are committed together: what is refused of them takes nothing back but itself, and leaves a store that is whole. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { examineStore } from '../../../src/doctor/node/diagnose.ts';
import { deleteTable } from '../../../src/read/row-deletion.ts';
import { openFileStorage } from '../../../src/store/sql/node/file-storage.ts';
import { metricSegmentOf } from '../../support/real-segments.ts';
import { endedRun } from '../../support/retained-runs.ts';

const directory = mkdtempSync(join(tmpdir(), 'quark-refused-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const ENDED_MS = 1_700_000_000_000;

test('deletions, fenced rows and rows of others at the same moment', async () => {
  const store = await openFileStorage(directory);
  const ids = ['run_a', 'run_b', 'run_c'];
  for (const id of ids) await store.createRun(endedRun({ id, endedAtMs: ENDED_MS }));
  const taken = await store.findRun('run_b');
  if (taken === undefined) throw new Error('It was made.');
  await store.updateRun({ ...taken, generation: 2 });
  const append = (runId: string, batch: number) =>
    store.appendSegments([metricSegmentOf(batch, { runId })]);
  const calls: [name: string, call: Promise<unknown>][] = [];
  const call = (name: string, work: Promise<unknown>): void => {
    calls.push([name, work]);
  };
  for (let batch = 0; batch < 20; batch++) {
    call('ok', append('run_c', batch));
    call(batch < 10 ? 'ok' : 'deleted', append('run_a', batch));
    call(
      'fenced',
      store.appendSegments([metricSegmentOf(batch, { runId: 'run_b' })], undefined, [
        { runId: 'run_b', generation: 1 },
      ]),
    );
    const { bytes, manifest } = metricSegmentOf(100 + batch, { runId: 'run_b' });
    const late = { bytes, manifest: { ...manifest, generation: 1 } };
    call('ok', store.appendSegments([late, metricSegmentOf(200 + batch, { runId: 'run_b' })]));
    // All or none: the rows of the run that is there are not stored either.
    const both = [300 + batch].flatMap((one) => [
      metricSegmentOf(one, { runId: 'run_c' }),
      metricSegmentOf(one, { runId: 'run_a' }),
    ]);
    if (batch >= 10) call('deleted', store.appendSegments(both));
    if (batch === 9) call('ok', store.deleteRun('run_a'));
  }
  const outcomes = await Promise.all(
    calls.map(([, work]) =>
      work.then(
        () => 'ok',
        (error: unknown) => String(Reflect.get(Object(error), 'reason')),
      ),
    ),
  );
  expect(outcomes).toEqual(calls.map(([name]) => name));
  const count = async (runId: string, superseded = false): Promise<number> =>
    (await store.listSegments({ runId, table: 'metrics', superseded })).length;
  expect([await count('run_c'), await count('run_b'), await count('run_b', true)]).toEqual([
    20, 20, 40,
  ]);
  await store.restoreRun('run_a');
  expect(await count('run_a')).toBe(10);
  for (const runId of ['run_a', 'run_b']) await deleteTable(store, runId, 'metrics');
  await store.deleteRun('run_c');
  await store.purgeDeletedRuns(undefined, ['run_c']);
  await append('run_a', 0);
  await store.close();
  expect((await examineStore(directory)).findings).toEqual([]);
});
