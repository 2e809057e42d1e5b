/** Maintenance removes the blobs that nothing names, in all spaces, once a day. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  Maintenance,
  type MaintenanceReport,
} from '../../../src/service/maintenance/maintenance.ts';
import { sha256Hex } from '../../../src/store/blob-rules.ts';
import { artifactSegmentOf } from '../../support/artifact-segments.ts';
import { TestClock } from '../../support/clock.ts';
import { openObjectSpaces, type ObjectSpaces } from '../../support/object-spaces.ts';
import { bytesOf, runOf } from '../../support/segments.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
let clock: TestClock;
let spaces: ObjectSpaces;

beforeEach(async () => {
  clock = new TestClock(1_700_000_000_000);
  spaces = await openObjectSpaces(clock, 500);
});
afterEach(() => spaces.close());

async function put(space: string, size: number, seed: number): Promise<string> {
  const bytes = bytesOf(size, seed);
  const hash = (await sha256Hex(bytes)) ?? '';
  await spaces.store(space).putBlob(hash, bytes);
  return hash;
}

const has = async (space: string, hash: string): Promise<boolean> =>
  (await spaces.store(space).getBlob(hash)) !== undefined;

function maintain(): { round: () => Promise<number>; reports: MaintenanceReport[] } {
  const reports: MaintenanceReport[] = [];
  const maintenance = new Maintenance(spaces, {
    clock,
    sweepMs: 1,
    onReport: (report) => void reports.push(report),
  });
  return { round: () => maintenance.runOnce(), reports };
}

const swept = (reports: readonly MaintenanceReport[]): readonly MaintenanceReport[] =>
  reports.filter(({ kind }) => kind === 'swept blobs');

test('of each space what its runs do not name goes after seven days, and bytes stay while another space has them', async () => {
  const shared = await put('user_1/a', 300_000, 1);
  expect(await put('user_2/b', 300_000, 1)).toBe(shared);
  const own = await put('user_1/a', 100, 2);
  const store = spaces.store('user_2/b');
  await store.createRun(runOf({ status: 'completed' }));
  await store.appendSegments([artifactSegmentOf(0, [[shared]])]);
  const { reports, round } = maintain();
  await round();
  clock.advance(7 * DAY_MS - 1);
  await round();
  expect(swept(reports)).toEqual([]);
  clock.advance(DAY_MS);
  await round();
  expect(swept(reports)).toEqual([
    { kind: 'swept blobs', space: 'user_1/a', blobs: 2, bytes: 300_100 },
  ]);
  expect([await has('user_1/a', shared), await has('user_1/a', own)]).toEqual([false, false]);
  expect(await has('user_2/b', shared)).toBe(true);
});

test('one process of several sweeps, once a day', async () => {
  const first = maintain();
  const second = maintain();
  await first.round();
  await put('', 100, 3);
  clock.advance(8 * DAY_MS);
  await Promise.all([first.round(), second.round()]);
  const all = (): readonly MaintenanceReport[] => swept([...first.reports, ...second.reports]);
  expect(all()).toHaveLength(1);
  await put('', 100, 4);
  clock.advance(8 * DAY_MS);
  await second.round();
  await first.round();
  expect(all()).toHaveLength(2);
});

test('a space whose artifacts cannot be read is left as it is, and the others are swept', async () => {
  const store = spaces.store('damaged');
  await store.createRun(runOf());
  const segment = artifactSegmentOf(0, [['0'.repeat(64)]]);
  await store.appendSegments([{ ...segment, manifest: { ...segment.manifest, checksum: 1 } }]);
  const [here, there] = [await put('damaged', 100, 5), await put('sound', 100, 6)];
  const { reports, round } = maintain();
  clock.advance(8 * DAY_MS);
  await round();
  expect(reports).toMatchObject([
    { kind: 'failed', what: 'sweep the blobs of space "damaged"' },
    { kind: 'swept blobs', space: 'sound' },
  ]);
  expect([await has('damaged', here), await has('sound', there)]).toEqual([true, false]);
});
