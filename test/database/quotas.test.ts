/** UsedAmounts and quotas, on each database: counters say what is stored, and nothing is stored beyond a quota. */
import { timingSafeEqual } from 'node:crypto';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AccessBook } from '../../src/service/access/access-book.ts';
import { storedSpace } from '../../src/service/access/principal.ts';
import { openSpaces } from '../../src/store/sql/node/open-spaces.ts';
import type { StoreSpaces } from '../../src/store/sql/sql-store.ts';
import { usageByProject } from '../../src/store/sql/sql-usage.ts';
import type { Store } from '../../src/store/store.ts';
import { NO_USAGE, type QuotaUse, type UsedAmounts } from '../../src/store/quotas.ts';
import { sha256Of } from '../service/filled-store.ts';
import { DATABASES, type DatabaseLocation } from '../support/databases.ts';
import { runs } from '../support/property.ts';
import { bytesOf, mergeOf, runOf, segmentOf } from '../support/segments.ts';

describe.each(DATABASES)('on %s', (name, makeLocation) => {
  let location: DatabaseLocation;
  let spaces: StoreSpaces;
  let access: AccessBook;
  let space: string;
  let ownerId: string;
  const clock = { nowMs: 0, now: (): number => clock.nowMs };

  beforeEach(async () => {
    clock.nowMs = 1_700_000_000_000;
    location = await makeLocation();
    spaces = await openSpaces(location.uri, { clock });
    access = new AccessBook({ database: spaces.database, clock, timingSafeEqual });
    const { key } = await access.createKey({ user: 'alice' });
    ownerId = (await access.identify(key)).userId;
    space = storedSpace(ownerId, 'default');
    const store = spaces.store(space);
    for (const id of ['p1', 'p2']) await store.ensureProject({ id, name: id, createdAtMs: 1 });
  }, 120_000);
  afterEach(async () => {
    await spaces.close();
    await location.remove();
  });

  const limited = (): Store => spaces.store(space, { quotas: () => access.quotas.quotasOf(space) });
  const usage = async (): Promise<Readonly<Record<string, UsedAmounts>>> => {
    const found = await spaces.database.read(() => usageByProject(ownerId));
    return Object.fromEntries(found.map((one) => [one.projectId, one.usage]));
  };
  const run = (id: string, project = 'p1') => ({
    ...runOf({ id }),
    projectId: project,
    projectName: project,
  });

  it('every change counts in its own transaction, and a recount finds the same', async () => {
    const store = spaces.store(space);
    await store.createRun(run('r1'));
    await store.createRun(run('r2', 'p2'));
    const segments = [1, 2, 3].map((batchNumber) => segmentOf(batchNumber, { runId: 'r1' }));
    const stored = await store.appendSegments(segments);
    await store.appendSegments(segments);
    const size = segments[0]?.manifest.sizeBytes ?? 0;
    expect((await usage())['p1']).toEqual({ bytes: 3 * size, segments: 3, runs: 1 });
    expect((await usage())['p2']).toEqual({ bytes: 0, segments: 0, runs: 1 });
    const merged = mergeOf(stored);
    expect(await store.replaceSegments('r1', 'metrics', stored, [merged])).toBe(true);
    const after = { bytes: merged.manifest.sizeBytes, segments: 1, runs: 1 };
    expect((await usage())['p1']).toEqual(after);
    const bytes = bytesOf(5_000);
    await store.putBlob(await sha256Of(bytes), bytes);
    await store.putBlob(await sha256Of(bytes), bytes);
    expect((await usage())['']).toEqual({ ...NO_USAGE, bytes: 5_000 });
    // To another project.
    const found = await store.findRun('r1');
    if (found === undefined) throw new Error('The run is there.');
    await store.updateRun({ ...found, projectId: 'p2', projectName: 'p2' });
    expect((await usage())['p1']).toEqual(NO_USAGE);
    expect((await usage())['p2']).toEqual({ ...after, runs: 2 });
    await store.replaceTable('r1', 'metrics', [segments[0]!]);
    expect((await usage())['p2']).toEqual({ bytes: size, segments: 1, runs: 2 });
    const before = await usage();
    await access.quotas.recount('alice');
    expect(await usage()).toEqual(
      Object.fromEntries(Object.entries(before).filter(([id]) => id !== 'p1')),
    );
    expect(await access.listQuotas()).toMatchObject([
      { user: 'alice', bytes: null, usedBytes: size + 5_000, usedRuns: 2, usedSegments: 1 },
      { user: 'local', usedBytes: 0 },
    ]);
  });

  it('what would pass a quota is refused as a whole, and repeated requests are not', async () => {
    const store = limited();
    const size = segmentOf(1).manifest.sizeBytes;
    await access.setQuota({ user: 'alice', bytes: 3 * size, runs: 2 });
    await store.createRun(run('r1'));
    await store.createRun(run('r2'));
    await expect(store.createRun(run('r3'))).rejects.toMatchObject({
      reason: 'quota',
      details: { resource: 'runs', limit: 2, used: 2, needed: 1, of: 'user' },
    });
    expect(await store.findRun('r3')).toBeUndefined();
    const segments = [1, 2, 3, 4].map((batchNumber) => segmentOf(batchNumber, { runId: 'r1' }));
    await expect(store.appendSegments(segments)).rejects.toMatchObject({ reason: 'quota' });
    expect((await usage())['p1']).toEqual({ ...NO_USAGE, runs: 2 });
    await store.appendSegments(segments.slice(0, 3));
    // What is stored is not stored again.
    await store.appendSegments(segments.slice(0, 3));
    const blob = bytesOf(1);
    await expect(store.putBlob(await sha256Of(blob), blob)).rejects.toMatchObject({
      reason: 'quota',
      message: expect.stringContaining('quota of'),
    });
    // Runs end, and a table is replaced by what is not more.
    const found = await store.findRun('r1');
    if (found === undefined) throw new Error('The run is there.');
    await store.updateRun({ ...found, status: 'completed' });
    await store.replaceTable('r1', segments[0]!.manifest.table, [segments[3]!]);
    await store.putBlob(await sha256Of(blob), blob);
    await access.setQuota({ user: 'alice', bytes: 100 * size });
    await store.appendSegments(segments.map((one) => one).slice(0, 2));
    // Smaller than what is stored: nothing goes, nothing is added.
    await access.setQuota({ user: 'alice', bytes: 0 });
    await expect(store.appendSegments([segmentOf(9, { runId: 'r1' })])).rejects.toMatchObject({
      reason: 'quota',
    });
    await access.setQuota({ user: 'alice', bytes: null, runs: null });
    await store.appendSegments([segmentOf(9, { runId: 'r1' })]);
    await store.createRun(run('r3'));
    // A store of nobody's request, such as that of maintenance, knows no quota.
    await access.setQuota({ user: 'alice', segments: 0 });
    await spaces.store(space).appendSegments([segmentOf(1, { runId: 'r3' })]);
  });

  it('a project has a quota of its own, and a user the default of the service', async () => {
    const store = limited();
    await store.createRun(run('r1'));
    await store.createRun(run('r2', 'p2'));
    await access.setQuota({ user: 'alice', project: 'p1', segments: 1 });
    await store.appendSegments([segmentOf(1, { runId: 'r1' })]);
    await store.appendSegments(
      [1, 2].map((batchNumber) => segmentOf(batchNumber, { runId: 'r2' })),
    );
    await expect(store.appendSegments([segmentOf(2, { runId: 'r1' })])).rejects.toMatchObject({
      reason: 'quota',
      details: { of: 'project', project: 'p1' },
    });
    access.quotas.defaults = { bytes: null, runs: 3, segments: null };
    clock.nowMs += 1_000;
    await store.createRun(run('r3', 'p2'));
    await expect(store.createRun(run('r4', 'p2'))).rejects.toMatchObject({ reason: 'quota' });
    await access.setQuota({ user: 'alice', runs: 4 });
    await store.createRun(run('r4', 'p2'));
    expect(await access.listQuotas()).toMatchObject([
      { user: 'alice', project: null, runs: 4, usedRuns: 4 },
      { user: 'alice', space: 'default', project: 'p1', segments: 1, usedSegments: 1, usedRuns: 1 },
      { user: 'local', runs: 3 },
    ]);
    const actions = (await access.audit.list({ after: 0, action: 'quota' })).map(
      (line) => [line.action, line.targetKind] as const,
    );
    expect(actions).toEqual([
      ['quota.set', 'project'],
      ['quota.set', 'user'],
    ]);
  });

  it('eight writers at once pass a quota by less than one request each', async () => {
    const size = segmentOf(1, { runId: 'w0' }).manifest.sizeBytes;
    const limit = 20 * size;
    await access.setQuota({ user: 'alice', bytes: limit });
    const writers = Array.from({ length: 8 }, (_, i) => ({ id: `w${i}`, store: limited() }));
    for (const { id, store } of writers) await store.createRun(run(id));
    let refused = 0;
    await Promise.all(
      writers.map(async ({ id, store }) => {
        for (let batchNumber = 1; batchNumber <= 10; batchNumber++)
          try {
            await store.appendSegments([segmentOf(batchNumber, { runId: id })]);
          } catch (error) {
            expect(error).toMatchObject({ reason: 'quota' });
            refused++;
          }
      }),
    );
    const used = (await usage())['p1'] ?? NO_USAGE;
    expect(used.segments).toBe(80 - refused);
    expect(used.bytes).toBeGreaterThanOrEqual(limit);
    // Each saw room for its own: only requests of the same moment pass it.
    expect(used.bytes).toBeLessThan(limit + 8 * size);
    if (name === 'SQLite') expect(used.bytes).toBe(limit);
    const counted = await usage();
    await access.quotas.recount();
    expect(await usage()).toEqual(counted);
  });

  it('tells once when four fifths are used, and what is near its end', async () => {
    const told: QuotaUse[] = [];
    access.quotas.onNear = (id, use) => {
      expect(id).toBe(ownerId);
      told.push(use);
    };
    const store = limited();
    await access.setQuota({ user: 'alice', runs: 10 });
    for (let i = 1; i <= 7; i++) await store.createRun(run(`r${i}`));
    expect([told, access.quotas.nearIn(space)]).toEqual([[], []]);
    await store.createRun(run('r8'));
    await store.createRun(run('r9'));
    expect(told).toMatchObject([{ resource: 'runs', used: 8, limit: 10 }]);
    expect(access.quotas.nearIn(space)).toMatchObject([{ used: 9 }]);
    expect(access.quotas.counts).toEqual({ near: 1, usedUp: 0 });
    await store.createRun(run('r10'));
    expect(access.quotas.counts).toEqual({ near: 0, usedUp: 1 });
    await access.setQuota({ user: 'alice', runs: 100 });
    await store.createRun(run('r11'));
    expect([access.quotas.nearIn(space), told.length]).toEqual([[], 1]);
    expect(access.quotas.nearIn('other/default')).toEqual([]);
  });

  it('any changes leave counters that a recount finds again, and no quota is passed', async () => {
    const change = fc.record({
      kind: fc.constantFrom('append', 'replace', 'move', 'run', 'blob'),
      run: fc.integer({ min: 0, max: 3 }),
      count: fc.integer({ min: 1, max: 4 }),
      project: fc.constantFrom('p1', 'p2'),
    });
    let round = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(change, { maxLength: 25 }),
        fc.integer({ min: 0, max: 12 }),
        async (changes, most) => {
          const here = storedSpace(ownerId, `round${round++}`);
          const store = spaces.store(here, { quotas: () => access.quotas.quotasOf(here) });
          const used = async (): Promise<UsedAmounts> =>
            (await spaces.database.read(() => usageByProject(ownerId)))
              .filter((one) => one.space === here)
              .reduce(
                (sum, one) => ({
                  bytes: sum.bytes + one.usage.bytes,
                  runs: sum.runs + one.usage.runs,
                  segments: sum.segments + one.usage.segments,
                }),
                NO_USAGE,
              );
          for (const id of ['p1', 'p2'])
            await store.ensureProject({ id, name: id, createdAtMs: 1 });
          for (const id of ['p1', 'p2'])
            await access.setQuota({
              user: 'alice',
              space: `round${round - 1}`,
              project: id,
              segments: most,
            });
          let batch = 0;
          for (const { kind, run: at, count, project } of changes) {
            const id = `r${at}`;
            const segments = Array.from({ length: count }, () => segmentOf(++batch, { runId: id }));
            const table = segments[0]!.manifest.table;
            try {
              if (kind === 'run') await store.createRun(run(id, project));
              if (kind === 'append') await store.appendSegments(segments);
              if (kind === 'replace') await store.replaceTable(id, table, segments);
              if (kind === 'blob')
                await store.putBlob(await sha256Of(bytesOf(count)), bytesOf(count));
              const found = kind === 'move' ? await store.findRun(id) : undefined;
              if (found !== undefined)
                await store.updateRun({ ...found, projectId: project, projectName: project });
            } catch (error) {
              expect(['quota', 'rejected', 'run_not_found']).toContain(
                (error as { reason?: string }).reason ?? (error as { code?: string }).code,
              );
            }
          }
          const counted = await used();
          const stored = (
            await Promise.all(
              ['r0', 'r1', 'r2', 'r3'].map((runId) =>
                store.listSegments({ runId, table: 'metrics' }),
              ),
            )
          ).flat();
          expect(counted.segments).toBe(stored.length);
          expect(counted.runs).toBe((await store.listRuns()).length);
          // Moved runs take what they have with them.
          if (!changes.some(({ kind }) => kind === 'move'))
            expect(stored.length).toBeLessThanOrEqual(2 * most);
          await access.quotas.recount('alice');
          expect(await used()).toEqual(counted);
        },
      ),
      runs(12),
    );
  }, 120_000);

  it('a quota that makes no sense is refused, and nobody has it', async () => {
    const wrong: readonly (readonly [object, object])[] = [
      [{ user: '../a', bytes: 1 }, { code: 'invalid_input' }],
      [{ user: 'alice' }, { code: 'invalid_input' }],
      [{ user: 'alice', bytes: -1 }, { code: 'invalid_input' }],
      [{ user: 'alice', bytes: 1.5 }, { code: 'invalid_input' }],
      [{ user: 'alice', bytes: 2 ** 60 }, { code: 'invalid_input' }],
      [{ user: 'alice', runs: '5' }, { code: 'invalid_input' }],
      [{ user: 'alice', colour: 1 }, { code: 'invalid_input' }],
      [{ user: 'alice', project: '', runs: 1 }, { code: 'invalid_input' }],
      [{ user: 'alice', project: 'p1', space: 'a/b', runs: 1 }, { code: 'invalid_input' }],
      [{ user: 'nobody', runs: 1 }, { reason: 'missing' }],
      [{ user: 'alice', project: 'p9', runs: 1 }, { reason: 'missing' }],
      [{ user: 'alice', project: 'p1', space: 'other', runs: 1 }, { reason: 'missing' }],
    ];
    for (const [options, expected] of wrong)
      await expect(
        access.setQuota(options as Parameters<AccessBook['setQuota']>[0]),
      ).rejects.toMatchObject(expected);
    expect((await access.listQuotas()).map(({ runs: most }) => most)).toEqual([null, null]);
  });
});

it('what a database of before holds is counted when it is opened', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'quark-quotas-'));
  const fixture = join(import.meta.dirname, '../fixtures/layout-1/store');
  await cp(fixture, join(folder, '.quark'), { recursive: true });
  const spaces = await openSpaces(folder);
  const { database } = spaces;
  const access = new AccessBook({ database, clock: { now: () => 1_000 }, timingSafeEqual });
  const opened = await access.listQuotas();
  expect(opened[0]?.usedRuns).toBe((await spaces.store('').listRuns()).length);
  expect(opened[0]?.usedBytes).toBeGreaterThan(0);
  await access.quotas.recount();
  expect(await access.listQuotas()).toEqual(opened);
  await spaces.close();
  await rm(folder, { recursive: true, force: true });
});
