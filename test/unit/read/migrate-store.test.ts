import { copyFile, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CURRENT_SCHEMA_VERSION, migrateStore, openRun, openStorage, type Store } from 'quark-sdk';

const fixture = fileURLToPath(new URL('../../fixtures/store-v0/quark.db', import.meta.url));
let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'quark-migrate-'));
  await mkdir(join(directory, '.quark'));
  await copyFile(fixture, join(directory, '.quark', 'quark.db'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

async function dicts(store: Store): Promise<unknown[]> {
  const reader = await openRun(store, 'run_v0');
  return (await reader.readMetrics()).map((record) => record.toDict());
}

const EXPECTED = [0, 1, 2, 3, 4].flatMap((step) =>
  [
    { name: 'train', value: 1 / (step + 1) },
    { name: 'val', value: step === 3 ? Number.NaN : 2 / (step + 1) },
  ].map(({ name, value }, i) => ({
    run_id: 'run_v0',
    sequence: 2 * step + i,
    timestamp: new Date(Date.UTC(2025, 2, 1, 12) + 500 * step).toISOString(),
    metric_key: `${name}/loss`,
    namespace: name,
    metric_name: 'loss',
    value,
    step,
    epoch: null,
    description: null,
    metadata: null,
  })),
);

test('metrics of version 0 are read as they are', async () => {
  const store = await openStorage(directory);
  expect(await dicts(store)).toEqual(EXPECTED);
  await store.close();
});

test('a store of version 0 is migrated once, and reads the same', async () => {
  expect(await migrateStore(directory, { generatedAt: '2026-05-07T00:00:00Z' })).toBe(
    CURRENT_SCHEMA_VERSION,
  );
  const store = await openStorage(directory);
  const segments = await store.listSegments({ runId: 'run_v0', table: 'metrics' });
  expect(
    segments.map((segment) => [segment.writerId, segment.batchNumber, segment.schemaVersion]),
  ).toEqual([
    ['wrt_v0', 0, 1],
    ['wrt_v0', 1, 1],
  ]);
  expect(await dicts(store)).toEqual(EXPECTED);
  const events = await (await openRun(store, 'run_v0')).readEvents();
  expect(events.map((event) => [event.eventType, event.timestamp, event.payload])).toEqual([
    [
      'schema_migrated',
      '2026-05-07T00:00:00.000Z',
      { table: 'metrics', segments: 2, schema_version: 1 },
    ],
  ]);
  await store.close();

  await migrateStore(directory);
  const again = await openStorage(directory);
  expect(await (await openRun(again, 'run_v0')).readEvents()).toHaveLength(1);
  await again.close();
});

test('a damaged segment stops the migration before anything is changed', async () => {
  const store = await openStorage(directory);
  const [first, second] = await store.listSegments({ runId: 'run_v0', table: 'metrics' });
  if (first === undefined || second === undefined) throw new Error('the fixture has two segments');
  const [read] = await store.readSegments([second]);
  if (read?.kind !== 'bytes') throw new Error('the segment is there');
  const bytes = read.bytes.slice();
  bytes[100] = (bytes[100] ?? 0) ^ 1;
  expect(
    await store.replaceSegments(
      'run_v0',
      'metrics',
      [second],
      [{ manifest: { ...second, sources: [] }, bytes }],
    ),
  ).toBe(true);
  await expect(migrateStore(store)).rejects.toMatchObject({
    code: 'schema_migration',
    details: { writerId: 'wrt_v0', batchNumber: 1 },
  });
  expect(
    (await store.listSegments({ runId: 'run_v0', table: 'metrics' })).map(
      (segment) => segment.schemaVersion,
    ),
  ).toEqual([0, 0]);
  await store.close();
});

test('the fixture is the one that was made', async () => {
  expect((await readFile(fixture)).subarray(0, 15).toString()).toBe('SQLite format 3');
});
