/** Tables of runs: part of the contract of stores. Orders, pages, columns, facets and groups as plain functions give them. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  findRunColumns,
  findRunFacets,
  findRunGroups,
  findRunIds,
  findRunRows,
  type RunTableQuery,
} from '../../src/read/finding/run-table.ts';
import { AnalyzerEngine } from '../../src/analysis/engine/analyzer-engine.ts';
import { openRun } from '../../src/read/run-reader.ts';
import { readSparklines } from '../../src/read/finding/sparklines.ts';
import type { AlertRecord } from '../../src/records/alert.ts';
import { MetricsLogger } from '../../src/session/metrics-logger.ts';
import { TrainingSession } from '../../src/session/training-session.ts';
import type { FoundRun } from '../../src/records/run-question.ts';
import type { LocationUnderTest } from '../../src/store/testing/location-under-test.ts';
import type { Store, StoredRun } from '../../src/store/store.ts';
import { runs as propertyRuns } from '../support/property.ts';
import { runOf } from '../support/segments.ts';

type Seed = {
  readonly name: string | undefined;
  readonly lr: number | string | boolean | undefined;
  readonly seed: number;
  readonly loss: number | string | undefined;
  readonly tags: readonly string[];
  readonly status: string;
};

const seeds = fc.array(
  fc.record({
    name: fc.constantFrom(undefined, 'base', 'Base', 'größer', '😀', 'z'.repeat(200)),
    lr: fc.constantFrom(undefined, 0.1, 0.01, 1, 'auto', true, false),
    seed: fc.nat({ max: 3 }),
    loss: fc.constantFrom(undefined, 0.25, 0.5, -1, 'NaN', 'Infinity'),
    tags: fc.subarray(['keep', 'workers=8', 'x y']),
    status: fc.constantFrom('completed', 'failed', 'running'),
  }),
  { minLength: 9, maxLength: 16 },
);

function storedOf(
  { loss, lr, name, seed, status, tags }: Seed,
  i: number,
): Omit<StoredRun, 'revision'> {
  const losses = { last: loss, last_at_ms: 1, last_step: 10 + i };
  const best = typeof loss === 'number' ? { best: loss, best_step: i } : {};
  const document = {
    ...(name === undefined ? {} : { name }),
    config: { seed, ...(lr === undefined ? {} : { lr }), layers: [i % 2, 7] },
    environment: { hostname: `host${i % 2}` },
    ...(loss === undefined ? {} : { metric_summaries: { 'val/loss': { ...losses, ...best } } }),
  };
  return runOf({
    id: `row_${i}`,
    status,
    tags,
    // Some begin at the same instant.
    startedAtMs: 1000 + (i >> 1),
    document: JSON.stringify(document),
  });
}

const ORDERS = [
  'config.lr',
  'config.seed',
  'val/loss',
  'name',
  'status',
  'startedAt',
  'host',
  'tags',
];

/** A value by which a row comes before another: rank, then number or text. */
type Key = readonly [rank: number, value: number | string];

function keyOf(row: FoundRun, by: string): Key {
  const own: Readonly<Record<string, unknown>> = {
    name: row.name ?? undefined,
    status: row.status,
    startedAt: row.startedAtMs,
    tags: row.tags[0],
  };
  const value = by in own ? own[by] : row.values[by];
  if (value === undefined) return [9, 0];
  if (typeof value === 'number') return Number.isNaN(value) ? [8, 0] : [1, value];
  return typeof value === 'string' ? [2, value] : [3, Number(value)];
}

function compare(a: FoundRun, b: FoundRun, orderBy: RunTableQuery['orderBy'] = []): number {
  for (const { by, direction } of orderBy) {
    const [left, right] = [keyOf(a, by), keyOf(b, by)];
    if (left[0] !== right[0]) return left[0] - right[0];
    if (left[1] !== right[1])
      return (left[1] < right[1] ? -1 : 1) * (direction === 'descending' ? -1 : 1);
  }
  return b.startedAtMs - a.startedAtMs || (a.id < b.id ? 1 : -1);
}

async function addAll(store: Store, all: readonly Seed[]): Promise<void> {
  for (const [i, seed] of all.entries()) await store.createRun(storedOf(seed, i));
  await store.renewLease('row_1', 'me', 60_000);
}

const idsOf = (rows: readonly FoundRun[]): readonly string[] => rows.map(({ id }) => id);

/** Without the runs that other tests of a location may have. */
const OWN = 'id ~ row_%';

export function describeTables(place: LocationUnderTest): void {
  describe('tables of runs', () => {
    const recorded = async (): Promise<readonly Seed[]> => {
      const [all = []] = fc.sample(seeds, { numRuns: 1, seed: 11 });
      await addAll(place.store, all);
      return all;
    };

    test('pages follow each other in any order, by cursor and by offset, and have the values that were asked for', async () => {
      const all = await recorded();
      const columns = [
        'config.lr',
        'config.seed',
        'val/loss',
        'host',
        'val/loss.best',
        'config.layers',
      ];
      const order = fc.record({
        by: fc.constantFrom(...ORDERS),
        direction: fc.constantFrom('ascending' as const, 'descending' as const),
      });
      const { rows } = await findRunRows(place.store, { where: OWN, columns });
      expect(rows.map(({ id }) => id).toSorted()).toEqual(all.map((_, i) => `row_${i}`).toSorted());
      for (const row of rows) {
        const i = Number(row.id.slice(4));
        const { loss, lr, seed, status, tags, name } = all[i] ?? expect.fail('no such run');
        const isLive = status === 'running' && i === 1;
        expect(row).toMatchObject({
          name: name ?? null,
          isLive,
          status: status === 'running' && !isLive ? 'interrupted' : status,
          tags,
        });
        expect(row.values).toEqual({
          'config.seed': seed,
          'config.layers': [i % 2, 7],
          host: `host${i % 2}`,
          ...(lr === undefined ? {} : { 'config.lr': lr }),
          ...(loss === undefined ? {} : { 'val/loss': Number(loss) }),
          ...(typeof loss === 'number' ? { 'val/loss.best': loss } : {}),
        });
        expect(row.steps).toEqual({
          ...(loss === undefined ? {} : { 'val/loss': 10 + i }),
          ...(typeof loss === 'number' ? { 'val/loss.best': i } : {}),
        });
      }
      await fc.assert(
        fc.asyncProperty(
          fc.array(order, { minLength: 1, maxLength: 3 }),
          fc.integer({ min: 1, max: 7 }),
          async (orderBy, limit) => {
            const wanted = idsOf(rows.toSorted((a, b) => compare(a, b, orderBy)));
            const found: string[] = [];
            let after: string | null = '';
            while (after !== null) {
              const page = await findRunRows(place.store, { where: OWN, orderBy, limit, after });
              expect(page.total).toBe(all.length);
              expect(page.rows.length).toBeLessThanOrEqual(limit);
              const { length: offset } = found;
              const same = await findRunRows(place.store, { where: OWN, orderBy, limit, offset });
              expect(idsOf(same.rows)).toEqual(idsOf(page.rows));
              found.push(...idsOf(page.rows));
              after = page.cursor;
            }
            expect(found).toEqual(wanted);
          },
        ),
        propertyRuns(24),
      );
    });

    test('columns, facets, groups and ids are those of the runs that match', async () => {
      const all = await recorded();
      const seen = await findRunColumns(place.store, { where: `${OWN} and config.seed in (1, 2)` });
      const chosen = all.filter(({ seed }) => seed === 1 || seed === 2);
      expect([seen.runs, seen.looked]).toEqual([chosen.length, chosen.length]);
      const columnOf = (path: string) => seen.columns.find((one) => one.path === path);
      expect(columnOf('config.seed')).toMatchObject({
        kind: 'number',
        runs: chosen.length,
        distinct: new Set(chosen.map(({ seed }) => seed)).size,
      });
      const losses = chosen.flatMap(({ loss }) => (loss === undefined ? [] : [Number(loss)]));
      expect(columnOf('metrics.val/loss')).toMatchObject({
        kind: 'metric',
        runs: losses.length,
        distinct: new Set(losses).size,
      });
      expect(columnOf('metrics.val/loss.best')).toBeUndefined();

      const by = ['status', 'tags', 'config.lr'];
      const [status, tags, lrs] = await findRunFacets(place.store, { where: OWN, by });
      const count = <T>(values: readonly T[]): Map<T, number> => {
        const counts = new Map<T, number>();
        for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
        return counts;
      };
      const effective = all.map((one, i) =>
        one.status === 'running' && i !== 1 ? 'interrupted' : one.status,
      );
      const asMap = (facet: typeof status) =>
        new Map(facet?.values.map(({ value, runs }) => [value, runs]));
      expect(asMap(status)).toEqual(count(effective));
      expect(asMap(tags)).toEqual(count(all.flatMap((one) => one.tags)));
      expect(tags?.missing).toBe(all.filter((one) => one.tags.length === 0).length);
      expect(asMap(lrs)).toEqual(count(all.flatMap(({ lr }) => (lr === undefined ? [] : [lr]))));
      const [few] = await findRunFacets(place.store, { where: OWN, by: ['config.lr'], limit: 1 });
      expect(few).toMatchObject({
        values: lrs?.values.slice(0, 1),
        more: (lrs?.values.length ?? 0) - 1,
      });

      const { groups, total } = await findRunGroups(place.store, {
        where: OWN,
        by: ['config.lr', 'status'],
        of: ['val/loss'],
      });
      const names = all.map(({ lr }, i) => JSON.stringify([lr ?? null, effective[i]]));
      expect(total).toBe(new Set(names).size);
      expect(new Map(groups.map((group) => [JSON.stringify(group.by), group.runs]))).toEqual(
        count(names),
      );
      for (const group of groups) {
        const values = all.flatMap(({ loss }, i) =>
          names[i] === JSON.stringify(group.by) && typeof loss === 'number' ? [loss] : [],
        );
        const [sums] = group.of;
        expect(sums).toMatchObject({ path: 'val/loss', runs: values.length });
        if (values.length === 0) expect(sums?.mean).toBeNull();
        else {
          const mean = values.reduce((sum, one) => sum + one, 0) / values.length;
          const squares = values.reduce((sum, one) => sum + (one - mean) ** 2, 0);
          expect(sums?.mean).toBeCloseTo(mean, 12);
          expect([sums?.min, sums?.max]).toEqual([Math.min(...values), Math.max(...values)]);
          if (values.length > 1)
            expect(sums?.deviation).toBeCloseTo(Math.sqrt(squares / (values.length - 1)), 12);
          else expect(sums?.deviation).toBeNull();
        }
      }
      const { ids, total: kept } = await findRunIds(place.store, { where: OWN, text: 'KEEP row_' });
      const keeping = all.flatMap((one, i) => (one.tags.includes('keep') ? [`row_${i}`] : []));
      expect([ids.toSorted(), kept]).toEqual([keeping.toSorted(), keeping.length]);
    });

    test('a change, an archive and a deletion are in the next answer', async () => {
      const run = await place.store.createRun(
        storedOf({ name: 'old', lr: 1, seed: 1, loss: 1, tags: [], status: 'completed' }, 1),
      );
      const names = async (list?: 'archived'): Promise<readonly (string | null)[]> => {
        const { rows } = await findRunRows(place.store, { where: OWN, ...(list && { list }) });
        return rows.map(({ name }) => name);
      };
      expect(await names()).toEqual(['old']);
      const other = await place.openAnother();
      await other.updateRun({ ...run, document: JSON.stringify({ name: 'new' }) });
      expect(await names()).toEqual(['new']);
      await other.archiveRun(run.id);
      expect([await names(), await names('archived')]).toEqual([[], ['new']]);
      await other.restoreRun(run.id);
      await other.deleteRun(run.id);
      expect(await names()).toEqual([]);
    });

    test('how a run ended and what was found in it are in its record, and runs are found by both', async () => {
      const { store } = place;
      const storage = { storage: store };
      const session = await TrainingSession.startRun({ project: 'judged', ...storage });
      const { runId } = session;
      const metrics = new MetricsLogger(session);
      for (let step = 0; step < 200; step++)
        metrics.log('train/loss', step < 150 ? 2 - step / 100 : 1 + step * 20, { step });
      const reason = `out of \u202ememory\u0000 \ud83d${'x'.repeat(400)}\nat line 7`;
      await session.endRun('failed', new Error(reason));
      await session.close();
      const { run } = await openRun(store, runId);
      expect(run.statusReason).toMatch(/^out of memory \ufffdx+…$/u);
      expect(run.statusReason).toHaveLength(300);
      expect(run.findings).toEqual({});

      const engine = new AnalyzerEngine(await openRun(store, runId));
      const { alerts, healthScores } = await engine.analyze();
      const health = healthScores.find(({ scoreKey }) => scoreKey === 'overall')?.score;
      const worst = alerts[0] ?? expect.fail('nothing was found');
      const columns = ['health', 'alerts', `alerts.${worst.severity}`, 'statusReason'];
      const found = async (): Promise<FoundRun | undefined> => {
        const where = `id = ${runId} and alerts >= 0 and health < 101 and reason ~ "out of%"`;
        return (await findRunRows(store, { where, columns })).rows[0];
      };
      const equal = (one: AlertRecord): boolean => one.severity === worst.severity;
      expect((await found())?.values).toEqual({
        health,
        alerts: alerts.length,
        [`alerts.${worst.severity}`]: alerts.filter(equal).length,
        statusReason: run.statusReason,
      });
      const { revision } = (await store.findRun(runId)) ?? expect.fail('no run');
      await engine.analyze();
      expect((await store.findRun(runId))?.revision).toBe(revision);

      // What is silenced later is not counted from the next analysis on.
      await engine.silence({ ruleId: worst.ruleId, reason: 'it is known' });
      await engine.analyze();
      const heard = alerts.filter(({ ruleId }) => ruleId !== worst.ruleId).length;
      expect((await found())?.values['alerts']).toBe(heard);

      const resumed = await TrainingSession.resumeRun({ runId, ...storage });
      expect((await openRun(store, runId)).run.statusReason).toBeNull();
      await expect(resumed.endRun('completed', 'why')).rejects.toMatchObject({
        code: 'invalid_input',
      });
      await resumed.endRun('completed');
      await resumed.close();
      expect((await openRun(store, runId)).run.statusReason).toBeNull();
    });

    test('small curves of many runs are those of their samples, whatever each run recorded', async () => {
      const { store } = place;
      const record = async (log: (metrics: MetricsLogger) => void): Promise<string> => {
        const session = await TrainingSession.startRun({ project: 'drawn', storage: store });
        log(new MetricsLogger(session));
        await session.endRun();
        await session.close();
        return session.runId;
      };
      const long = await record((metrics) => {
        for (let step = 0; step < 3000; step++) metrics.log('train/loss', 9 / (1 + step), { step });
        metrics.log('train/loss', 77, { step: 1500 });
      });
      const few = await record((metrics) => {
        for (const [step, value] of [3, Number.NaN, 1].entries())
          metrics.log('val/loss', value, { step });
        metrics.log('accuracy', 0.5, { step: 2 });
      });
      const timed = await record((metrics) => metrics.log('accuracy', 0.25, { position: 'none' }));
      const runIds = [few, 'run_nobody', timed, long];

      const losses = await readSparklines(store, { runIds, points: 16 });
      expect(losses.map(({ runId, metricKey }) => [runId, metricKey])).toEqual([
        [few, 'val/loss'],
        [long, 'train/loss'],
      ]);
      expect(losses[0]).toMatchObject({
        axis: 'step',
        positions: [0, 1, 2],
        values: [3, Number.NaN, 1],
      });
      const { positions = [], values = [] } = losses[1] ?? {};
      expect([values[0], values.at(-1), Math.max(...values)]).toEqual([9, 9 / 3000, 77]);
      expect(positions.toSorted((a, b) => a - b)).toEqual(positions);
      expect(positions.length).toBeLessThanOrEqual(20);

      const accuracies = await readSparklines(store, { runIds, metricKey: 'accuracy' });
      expect(accuracies).toMatchObject([
        { runId: few, axis: 'step', positions: [2], values: [0.5] },
        { runId: timed, axis: 'time', positions: [expect.any(Number)], values: [0.25] },
      ]);
      expect(await readSparklines(store, { runIds: [] })).toEqual([]);
      for (const [field, wrong] of [
        ['runIds', { runIds: Array.from({ length: 201 }, (_, i) => `run_${i}`) }],
        ['points', { runIds, points: 3 }],
        ['metricKey', { runIds, metricKey: '' }],
      ] as const)
        await expect(readSparklines(store, wrong), field).rejects.toMatchObject({
          code: 'invalid_input',
          details: { field },
        });
    });

    test('what is no question is refused before it is asked', async () => {
      const refused = (query: object) =>
        expect(findRunRows(place.store, query)).rejects.toMatchObject({ code: 'invalid_input' });
      await refused({ limit: 0 });
      await refused({ limit: 100_000 });
      await refused({ after: 'nonsense' });
      await refused({ orderBy: [{ by: '' }] });
      await refused({ columns: Array.from({ length: 65 }, (_, i) => `config.k${i}`) });
      await refused({ where: 'config.lr < abc' });
      await refused({ other: 1 });
    });
  });
}
