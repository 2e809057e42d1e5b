import { copyFile, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createMemoryStore,
  CURRENT_SCHEMA_VERSION,
  listRuns,
  MetricsLogger,
  migrateStore,
  openRun,
  openStorage,
  startRun,
  type Store,
} from 'quark-sdk';
import { AnalyzerEngine } from 'quark-sdk/analysis';

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

test('rows of a merged segment keep their sequence numbers', async () => {
  const store = createMemoryStore();
  const session = await startRun({ project: 'p', storage: store });
  const metrics = new MetricsLogger(session);
  // Ordered by key when they are merged, and all in one segment.
  for (let step = 0; step < 10_000; step++) metrics.logMany({ a: step, b: -step }, { step });
  const before = await metrics.readColumns();
  await session.endRun();
  await session.close();
  const [merged, ...others] = await store.listSegments({ runId: session.runId, table: 'metrics' });
  if (merged === undefined) throw new Error('there is a segment');
  expect(others).toEqual([]);
  const [read] = await store.readSegments([merged]);
  if (read?.kind !== 'bytes') throw new Error('the segment is there');
  // As if an older Quark had written it: no column of version 0 has another name here.
  const old = { manifest: { ...merged, schemaVersion: 0 }, bytes: read.bytes };
  expect(await store.replaceSegments(session.runId, 'metrics', [merged], [old])).toBe(true);
  await migrateStore(store);
  const after = await (await openRun(store, session.runId)).readMetricColumns();
  expect(after.sequences).toEqual(before.sequences);
  expect(after.values).toEqual(before.values);
});

test('what is no store and no option is refused', async () => {
  await expect(migrateStore(undefined as never)).rejects.toMatchObject({
    code: 'invalid_input',
    details: { field: 'storage' },
  });
  await expect(migrateStore(directory, null as never)).rejects.toMatchObject({
    code: 'invalid_input',
    details: { field: 'options' },
  });
});

test('the fixture is the one that was made', async () => {
  expect((await readFile(fixture)).subarray(0, 15).toString()).toBe('SQLite format 3');
});

test('scores of version 1 are read as they are, and migrated where they lie', async () => {
  const scored = fileURLToPath(new URL('../../fixtures/store-v1/quark.db', import.meta.url));
  await copyFile(scored, join(directory, '.quark', 'quark.db'));
  const scoresOf = async (store: Store) => {
    const runs = await listRuns(store);
    const lists = runs.map(async ({ run }) => {
      const found = await new AnalyzerEngine(await openRun(store, run.id)).readHealthScores();
      return [run.tags, found.map((score) => score.toDict())];
    });
    return Object.fromEntries((await Promise.all(lists)) as [string[], unknown][]) as object;
  };
  const versionsOf = async (store: Store) => {
    const tables = ['health_scores', 'alerts', 'metrics', 'phases'];
    const found = await Promise.all(
      (await listRuns(store)).flatMap(({ run }) =>
        tables.map((table) => store.listSegments({ runId: run.id, table })),
      ),
    );
    return new Set(found.flat().map((one) => `${one.table} ${one.schemaVersion}`));
  };
  const before = await openStorage(directory);
  const scores = await scoresOf(before);
  // Nothing was recorded of one of the two, and each of its scores was 100.
  expect(
    Object.values(scores).map((list) => list.map(({ score }: { score: number }) => score)),
  ).toContainEqual([100, 100, 100, 100, 100]);
  expect(await versionsOf(before)).toEqual(
    new Set(['health_scores 1', 'alerts 1', 'metrics 1', 'phases 1']),
  );
  await before.close();
  expect(await migrateStore(directory)).toBe(2);
  const after = await openStorage(directory);
  expect(await versionsOf(after)).toEqual(
    new Set(['health_scores 2', 'alerts 1', 'metrics 1', 'phases 1']),
  );
  expect(await scoresOf(after)).toEqual(scores);
  // Analysed again, the empty run has no score, and says so in the same store.
  const runs = await listRuns(after);
  const empty = runs.find(({ run }) => run.tags.includes('empty'));
  const engine = new AnalyzerEngine(await openRun(after, empty?.run.id ?? ''));
  await engine.analyze();
  const [overall] = await engine.readHealthScores();
  expect([overall?.score, overall?.status]).toEqual([null, 'not_assessed']);
  await after.close();
});
