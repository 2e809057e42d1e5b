/** Maintenance applies the rules of each space once a day, and the audit log says so. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readMetricColumns } from '../../../src/read/metric-columns.ts';
import { saveRetention } from '../../../src/retention/apply.ts';
import { AuditLog } from '../../../src/service/access/audit-log.ts';
import {
  Maintenance,
  type MaintenanceReport,
} from '../../../src/service/maintenance/maintenance.ts';
import { TestClock } from '../../support/clock.ts';
import { openObjectSpaces, type ObjectSpaces } from '../../support/object-spaces.ts';
import { addRun } from '../../support/retained-runs.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const NOW_MS = 1_700_000_000_000;
const SPACE = 'user_1/a';
let clock: TestClock;
let spaces: ObjectSpaces;

beforeEach(async () => {
  clock = new TestClock(NOW_MS);
  spaces = await openObjectSpaces(clock, 500);
});
afterEach(() => spaces.close());

function maintain(): { round: () => Promise<number>; reports: MaintenanceReport[] } {
  const reports: MaintenanceReport[] = [];
  const maintenance = new Maintenance(spaces, {
    clock,
    sweepMs: 1,
    onReport: (report) => void reports.push(report),
  });
  return { round: () => maintenance.runOnce(), reports };
}

async function idsIn(space: string): Promise<string[]> {
  return (await spaces.store(space).listRuns()).map(({ id }) => id).toSorted();
}

test('of each space the rules of that space, by one process, once a day', async () => {
  for (const space of [SPACE, 'user_2/b'])
    for (const [id, days] of [
      ['run_old', 100],
      ['run_new', 89],
    ] as const)
      await addRun(spaces.store(space), {
        id,
        status: 'failed',
        endedAtMs: NOW_MS - days * DAY_MS,
      });
  await saveRetention(spaces.store(SPACE), {
    rules: [{ act: 'delete', statuses: ['failed'], olderThanDays: 90 }],
    undoDays: 3,
  });
  const first = maintain();
  const second = maintain();
  await Promise.all([first.round(), second.round()]);
  expect(await idsIn(SPACE)).toEqual(['run_new']);
  expect(await idsIn('user_2/b')).toEqual(['run_new', 'run_old']);
  expect([...first.reports, ...second.reports]).toMatchObject([
    { kind: 'applied retention', space: SPACE, deleted: 1, archived: 0, skipped: 0 },
  ]);
  expect(await spaces.store(SPACE).listDeletedRuns()).toMatchObject([
    { id: 'run_old', by: 'retention', purgeAtMs: NOW_MS + 3 * DAY_MS },
  ]);
  const lines = await new AuditLog(spaces.database, clock).list();
  expect(
    lines.map(({ action, targetId, userId }) => [action, targetId, userId]).toReversed(),
  ).toEqual([
    ['run.delete', 'run_old', null],
    ['retention.apply', 'a', null],
  ]);
  expect(lines[0]?.detail).toMatchObject({
    deleted: 1,
    rules: ['delete failed runs older than 90 days'],
  });
  clock.advance(DAY_MS / 2);
  await second.round();
  expect(await idsIn(SPACE)).toEqual(['run_new']);
  clock.advance(2 * DAY_MS);
  await second.round();
  expect(await idsIn(SPACE)).toEqual([]);
});

test('rules that cannot be read are a failure of their space, and the others are applied', async () => {
  await spaces.store('user_1/bad').notes?.write('retention/settings', '{"rules":[]}');
  await addRun(spaces.store(SPACE), { id: 'run_old', endedAtMs: NOW_MS - 100 * DAY_MS });
  await saveRetention(spaces.store(SPACE), { rules: [{ act: 'archive', olderThanDays: 1 }] });
  const { reports, round } = maintain();
  await round();
  expect(reports.map(({ kind }) => kind).toSorted()).toEqual(['applied retention', 'failed']);
  expect(await idsIn(SPACE)).toEqual(['run_old']);
  expect((await spaces.store(SPACE).findRun('run_old'))?.archivedAtMs).toBe(NOW_MS);
});

test('old runs are downsampled, and the log names them with their rows', async () => {
  const values = Array.from({ length: 300 }, (_, step) => step % 7);
  await addRun(spaces.store(SPACE), { id: 'run_old', endedAtMs: NOW_MS - 100 * DAY_MS, values });
  await addRun(spaces.store(SPACE), { id: 'run_new', endedAtMs: NOW_MS - 10 * DAY_MS, values });
  await saveRetention(spaces.store(SPACE), {
    rules: [{ act: 'thin', olderThanDays: 90, pointsPerMetric: 40 }],
  });
  const { reports, round } = maintain();
  await round();
  const rows = async (runId: string): Promise<number> =>
    (await readMetricColumns({ store: spaces.store(SPACE), runId })).rowCount;
  const left = await rows('run_old');
  expect(left).toBeLessThanOrEqual(40);
  expect(await rows('run_new')).toBe(300);
  expect(reports).toMatchObject([
    {
      kind: 'applied retention',
      archived: 0,
      deleted: 0,
      downsampled: 1,
      downsampledRows: 300 - left,
    },
  ]);
  const [line] = await new AuditLog(spaces.database, clock).list();
  expect(line).toMatchObject({
    action: 'retention.apply',
    detail: {
      rules: ['thin runs older than 90 days to 40 points a metric'],
      downsampled_runs: [`run_old: 300 to ${left} rows`],
    },
  });
  clock.advance(DAY_MS);
  await round();
  expect(await new AuditLog(spaces.database, clock).list()).toHaveLength(1);
});
