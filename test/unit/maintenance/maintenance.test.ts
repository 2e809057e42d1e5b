import { afterEach, beforeEach, expect, test } from 'vitest';
import { readMetricColumns } from '../../../src/read/metric-columns.ts';
import {
  Maintenance,
  startMaintenance,
  type MaintenanceOptions,
  type MaintenanceReport,
} from '../../../src/service/maintenance/maintenance.ts';
import {
  claimChore,
  claimStreams,
  settleChore,
  settleStream,
} from '../../../src/store/sql/merge-queue.ts';
import { numberCell, sql, type SqlWork } from '../../../src/store/sql/sql-database.ts';
import { KEEP_LOOSE_MS, openObjectSpaces, type ObjectSpaces } from '../../support/object-spaces.ts';
import { metricSegments, ROWS, valueAt } from '../../support/metric-segments.ts';
import { TestClock } from '../../support/clock.ts';
import { runOf, segmentOf } from '../../support/segments.ts';

const HOUR_MS = 3_600_000;
const CLAIM_MS = 600_000;
let clock: TestClock;
let spaces: ObjectSpaces;

beforeEach(async () => {
  clock = new TestClock(1_700_000_000_000);
  spaces = await openObjectSpaces(clock, 500);
});
afterEach(async () => {
  await spaces.close();
});

let runCount = 0;

/** A running run with so many small segments, in a space. */
async function record(space: string, segments: number): Promise<{ readonly runId: string }> {
  const id = `run_${runCount++}`;
  const store = spaces.store(space);
  await store.createRun(runOf({ id, document: '{}' }));
  await store.renewLease(id, 'writer', 100 * HOUR_MS);
  await add(space, id, 0, segments);
  return { runId: id };
}

async function add(space: string, runId: string, from: number, count: number): Promise<void> {
  await spaces.store(space).appendSegments(metricSegments(runId, from, count));
}

async function segmentsOf(space: string, runId: string): Promise<number> {
  return (await spaces.store(space).listSegments({ runId, table: 'metrics' })).length;
}

async function valuesOf(space: string, runId: string): Promise<number[]> {
  const columns = await readMetricColumns({ store: spaces.store(space), runId });
  expect(columns.damage).toEqual([]);
  return Array.from(columns.values);
}

const expected = (segments: number): number[] =>
  Array.from({ length: segments * ROWS }, (_, i) => valueAt(i));

function maintain(options: MaintenanceOptions = {}): {
  round: () => Promise<number>;
  reports: MaintenanceReport[];
} {
  const reports: MaintenanceReport[] = [];
  const rules = {
    clock,
    claimMs: CLAIM_MS,
    onReport: (one: MaintenanceReport) => void reports.push(one),
  };
  const maintenance = new Maintenance(spaces, { ...rules, ...options });
  return { round: () => maintenance.runOnce(), reports };
}

async function queue(): Promise<readonly (readonly number[])[]> {
  return spaces.database.read(function* (): SqlWork<readonly (readonly number[])[]> {
    const rows = yield sql(
      'SELECT stream_key, due_at_ms, claimed_until_ms FROM merge_queue ORDER BY stream_key',
    );
    return rows.map((row) => [0, 1, 2].map((i) => numberCell(row, i)));
  });
}

test('a run that goes on is merged when it has many segments, and again after a rest', async () => {
  const session = await record('ada/vision', 64);
  const { round, reports } = maintain({ restMs: HOUR_MS });
  expect(await round()).toBe(1);
  expect(await segmentsOf('ada/vision', session.runId)).toBe(1);
  expect(await valuesOf('ada/vision', session.runId)).toEqual(expected(64));
  expect(reports).toMatchObject([
    { kind: 'merged', runId: session.runId, table: 'metrics', removed: 64, added: 1 },
  ]);
  // Nothing is due until the rest is over, though there is more.
  await add('ada/vision', session.runId, 64, 2);
  expect(await round()).toBe(0);
  clock.jump(HOUR_MS);
  expect(await round()).toBe(1);
  expect(await segmentsOf('ada/vision', session.runId)).toBe(1);
  expect(await valuesOf('ada/vision', session.runId)).toEqual(expected(66));
});

test('few segments of a run that has ended are merged soon, and then the run is left alone', async () => {
  const store = spaces.store('a');
  await store.createRun(runOf());
  await store.appendSegments([segmentOf(0), segmentOf(1)]);
  const run = await store.findRun('run_1');
  if (run === undefined) throw new Error('There is a run.');
  const { round } = maintain();
  expect(await round()).toBe(0);
  await store.updateRun({ ...run, status: 'completed' });
  clock.jump(60_000);
  // What these segments hold cannot be read, so they stay; all the same nobody comes back to them.
  expect(await round()).toBe(1);
  expect(await queue()).toEqual([]);
});

test('a round takes as many merges as there are streams, each bounded', async () => {
  const runs = [];
  for (let i = 0; i < 3; i++) runs.push(await record(`space_${i}`, 65));
  const { round, reports } = maintain({ streams: 1, mergeSegments: 10 });
  expect(await round()).toBeGreaterThanOrEqual(3);
  const merged = reports.filter((report) => report.kind === 'merged');
  expect(merged.reduce((sum, report) => sum + report.removed, 0)).toBeGreaterThanOrEqual(3 * 65);
  for (const [i, run] of runs.entries()) {
    expect(await segmentsOf(`space_${i}`, run.runId)).toBeLessThanOrEqual(7);
    expect(await valuesOf(`space_${i}`, run.runId)).toEqual(expected(65));
  }
});

test('of several at once each takes other streams, and together they take all', async () => {
  const runs = [];
  for (let i = 0; i < 6; i++) runs.push(await record('a', 64));
  const all = [maintain({ streams: 2 }), maintain({ streams: 2 }), maintain({ streams: 2 })];
  for (let i = 0; i < 3; i++) await Promise.all(all.map(({ round }) => round()));
  const reports = all.flatMap((one) => one.reports);
  expect(reports.filter((report) => report.kind === 'failed')).toEqual([]);
  for (const run of runs) {
    expect(await segmentsOf('a', run.runId)).toBe(1);
    expect(await valuesOf('a', run.runId)).toEqual(expected(64));
  }
});

test('a claim whose holder ended is taken over once it has lapsed, and the late holder changes nothing', async () => {
  const session = await record('a', 64);
  const nowMs = clock.now();
  const untilMs = nowMs + CLAIM_MS;
  const claim = await spaces.database.transaction(() => claimStreams('dead', nowMs, untilMs, 8));
  expect(claim).toMatchObject([{ space: 'a', runId: session.runId, table: 'metrics' }]);
  const { round } = maintain();
  expect(await round()).toBe(0);
  clock.jump(CLAIM_MS);
  expect(await round()).toBe(1);
  const after = await queue();
  const [stream] = claim;
  await spaces.database.transaction(() =>
    settleStream(stream?.streamKey ?? 0, 'dead', untilMs, null),
  );
  expect(await queue()).toEqual(after);
  expect(await valuesOf('a', session.runId)).toEqual(expected(64));
});

test('a claim made by a clock that was ahead does not last', async () => {
  await record('a', 64);
  const far = clock.now() + 400 * 24 * HOUR_MS;
  await spaces.database.transaction(() => claimStreams('ahead', far, far + CLAIM_MS, 8));
  // The stream is due again with the next 64 segments of a writer; its claim no longer stands in the way.
  await spaces.database.transaction(function* () {
    yield sql('UPDATE merge_queue SET due_at_ms = ?', clock.now());
  });
  expect(await maintain().round()).toBe(1);
});

test('what becomes due while it is merged stays due', async () => {
  const session = await record('a', 64);
  const nowMs = clock.now();
  const untilMs = nowMs + CLAIM_MS;
  const [stream] = await spaces.database.transaction(() => claimStreams('me', nowMs, untilMs, 8));
  await add('a', session.runId, 64, 64);
  await spaces.database.transaction(() =>
    settleStream(stream?.streamKey ?? 0, 'me', untilMs, null),
  );
  expect(await queue()).toMatchObject([[stream?.streamKey, nowMs, 0]]);
});

test('a merge that fails is reported and tried again later; others go on', async () => {
  const broken = await record('a', 64);
  const { round, reports } = maintain();
  spaces.objects.fault = () => {
    throw new Error('no line');
  };
  expect(await round()).toBe(1);
  expect(reports).toMatchObject([{ kind: 'failed', message: 'no line' }]);
  expect(await segmentsOf('a', broken.runId)).toBe(64);
  spaces.objects.fault = undefined;
  const fine = await record('b', 64);
  expect(await round()).toBe(1);
  expect(await segmentsOf('b', fine.runId)).toBe(1);
  clock.jump(HOUR_MS / 4);
  expect(await round()).toBe(1);
  expect(await segmentsOf('a', broken.runId)).toBe(1);
  expect(await valuesOf('a', broken.runId)).toEqual(expected(64));
});

test('objects that were merged away go in the end, by any process', async () => {
  const session = await record('a', 64);
  const { round, reports } = maintain({ sweepMs: 1 });
  await round();
  await add('a', session.runId, 64, 64);
  await round();
  expect(spaces.objects.objects.size).toBe(2);
  clock.jump(KEEP_LOOSE_MS);
  await maintain({ sweepMs: 1 }).round();
  expect(spaces.objects.objects.size).toBe(1);
  expect(await valuesOf('a', session.runId)).toEqual(expected(128));
  expect(reports.filter((report) => report.kind === 'failed')).toEqual([]);
});

test('one process of all looks through all objects, once in a while', async () => {
  const nowMs = clock.now();
  const claim = (holder: string, atMs: number): Promise<boolean> =>
    spaces.database.transaction(() => claimChore('look', holder, atMs, atMs + CLAIM_MS, HOUR_MS));
  expect(await claim('a', nowMs)).toBe(true);
  expect(await claim('b', nowMs)).toBe(false);
  expect(await claim('b', nowMs + CLAIM_MS)).toBe(true);
  await spaces.database.transaction(() => settleChore('look', 'b', nowMs + CLAIM_MS));
  expect(await claim('a', nowMs + CLAIM_MS + HOUR_MS - 1)).toBe(false);
  expect(await claim('a', nowMs + CLAIM_MS + HOUR_MS)).toBe(true);
});

test('it runs by itself until it is stopped, and gives back what it has not begun', async () => {
  const session = await record('a', 64);
  let merged = (): void => undefined;
  const isMerged = new Promise<void>((resolve) => {
    merged = resolve;
  });
  const maintenance = startMaintenance(spaces, {
    clock,
    intervalMs: 1000,
    onReport: (report) => {
      if (report.kind === 'merged') merged();
    },
  });
  expect(await maintenance.countBacklog()).toBe(1);
  clock.advance(1500);
  await isMerged;
  await maintenance.stop();
  expect(await maintenance.countBacklog()).toBe(0);
  expect(maintenance.status).toMatchObject({ mergedSegments: 64, writtenSegments: 1, failures: 0 });
  expect(await segmentsOf('a', session.runId)).toBe(1);
  const second = await record('b', 64);
  expect(await maintenance.runOnce()).toBe(0);
  expect(await segmentsOf('b', second.runId)).toBe(64);
});

test('options that do not exist or make no sense are refused', () => {
  expect(() => new Maintenance(spaces, Object.assign({ interval: 1 }, { streams: 1 }))).toThrow(
    'interval',
  );
  expect(() => new Maintenance(spaces, { streams: 0 })).toThrow('maintenance.streams');
});
