/** Leases on runs that are not there: answered, kept with the run once it comes, and in no table before. */
import { afterEach, expect, it } from 'vitest';
import { openFileStorage } from '../../src/store/sql/node/file-storage.ts';
import { runOf } from '../support/segments.ts';
import { RunningServices, storeOf } from './running-service.ts';

const services = new RunningServices();
afterEach(() => services.clear());

it('a lease on a run that is not there is not kept, and is with the run once that comes', async () => {
  const storage = services.folder();
  const service = await services.start({ storage });
  const store = await storeOf(service);
  const leases = async (): Promise<readonly string[]> =>
    (await store.listLeases()).map(({ runId, holder }) => `${runId}/${holder}`);
  for (let i = 0; i < 50; i++)
    expect(await store.renewLease(`run_${i}`, 'holder', 60_000)).toMatchObject({
      runId: `run_${i}`,
    });
  expect(await leases()).toEqual([]);
  await store.createRun(runOf());
  expect(await leases()).toEqual(['run_1/holder']);
  await store.renewLease('run_1', 'other', 60_000);
  expect((await leases()).toSorted()).toEqual(['run_1/holder', 'run_1/other']);
  await store.releaseLease('run_2', 'holder');
  await store.createRun(runOf({ id: 'run_2' }));
  expect((await leases()).toSorted()).toEqual(['run_1/holder', 'run_1/other']);
  await service.close();
  // Nor does another process find one.
  const kept = await openFileStorage(storage);
  expect(await kept.listLeases()).toHaveLength(2);
  await kept.close();
});
