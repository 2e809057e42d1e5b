/** What a comparison with the service says of rows that were deleted on one side. */
import { beforeEach, expect, test } from 'vitest';
import { deleteTable } from '../../../src/read/row-deletion.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { verifyRun, type TableComparison } from '../../../src/sync/verify.ts';
import { metricSegmentOf } from '../../support/real-segments.ts';
import { RUN_ID, runOf } from '../../support/segments.ts';

let local: Store;
let service: Store;

beforeEach(async () => {
  [local, service] = [createMemoryStore(), createMemoryStore()];
  for (const store of [local, service]) await store.createRun(runOf());
  await append(local, 0, 1, 2);
});

async function append(store: Store, ...batches: readonly number[]): Promise<void> {
  await store.appendSegments(batches.map((batch) => metricSegmentOf(batch)));
}

async function compared(): Promise<TableComparison | undefined> {
  return (await verifyRun(local, service, RUN_ID)).tables[0];
}

test('a table that was deleted here is not missing at a service that never got it', async () => {
  const { rows } = await deleteTable(local, RUN_ID, 'metrics');
  expect(rows).toBeGreaterThan(0);
  expect(await compared()).toMatchObject({
    isEqual: true,
    local: { deletedRows: rows, rows: 0 },
    remote: { rows: 0 },
    missingRemote: [],
  });
});

test('nor at one that has some of its batches, or all', async () => {
  await append(service, 0, 1);
  expect(await compared()).toMatchObject({ isEqual: false, missingRemote: [expect.any(String)] });
  await deleteTable(local, RUN_ID, 'metrics');
  expect(await compared()).toMatchObject({ isEqual: true, missingRemote: [] });
  await append(service, 2);
  expect(await compared()).toMatchObject({ isEqual: true, missingRemote: [] });
});

test('rows that came after the deletion are compared by themselves', async () => {
  await deleteTable(local, RUN_ID, 'metrics');
  await append(local, 3);
  expect(await compared()).toMatchObject({ isEqual: false, missingRemote: [expect.any(String)] });
  await append(service, 3);
  expect(await compared()).toMatchObject({ isEqual: true, missingRemote: [] });
  await append(service, 4);
  expect(await compared()).toMatchObject({ isEqual: false, missingLocal: [expect.any(String)] });
});

test('what the service has deleted need not be here', async () => {
  await append(service, 0, 1, 2, 3);
  await deleteTable(service, RUN_ID, 'metrics');
  expect(await compared()).toMatchObject({ isEqual: true, missingLocal: [], missingRemote: [] });
});
