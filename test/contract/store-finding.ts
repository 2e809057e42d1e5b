/** Finding runs by conditions: part of the contract of stores. The same runs as by a plain filter, which is written here once more. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findRuns, type FindRunsQuery } from '../../src/read/finding/find-runs.ts';
import type { Store, StoredRun } from '../../src/store/store.ts';
import { runs as propertyRuns } from '../support/property.ts';
import { runOf } from '../support/segments.ts';
import type { LocationUnderTest } from '../../src/store/testing/location-under-test.ts';

type Seed = {
  readonly name: string | null;
  readonly groups: readonly string[];
  readonly tags: readonly string[];
  readonly lr: number | null;
  readonly optimizer: string;
  readonly layers: readonly number[];
  readonly amp: boolean;
  readonly loss: number | null;
  readonly status: string;
};

const NAMES = ['base', 'Base_2', '50%', 'größer'];
const seeds = fc.array(
  fc.record({
    name: fc.constantFrom(null, ...NAMES),
    groups: fc.subarray(['a', 'b']),
    tags: fc.subarray(['keep', 'workers=8', 'workers=10', 'note=x y']),
    lr: fc.constantFrom(null, 0.001, 0.01, 0.1, 1),
    optimizer: fc.constantFrom('adam', 'sgd'),
    layers: fc.subarray([8, 16, 32]),
    amp: fc.boolean(),
    loss: fc.constantFrom(null, 0.1, 0.5, 2),
    status: fc.constantFrom('completed', 'failed'),
  }),
  { minLength: 1, maxLength: 12 },
);

function storedOf(seed: Seed, i: number): Omit<StoredRun, 'revision'> {
  const document = {
    ...(seed.name === null ? {} : { name: seed.name }),
    groups: seed.groups,
    config: {
      optimizer: { name: seed.optimizer, ...(seed.lr === null ? {} : { lr: seed.lr }) },
      layers: seed.layers,
      amp: seed.amp,
      none: null,
    },
    metric_summaries:
      seed.loss === null
        ? { 'val/loss': { last: 'NaN', last_at_ms: 1 } }
        : { 'val/loss': { last: seed.loss, last_at_ms: 1, best: seed.loss / 2 } },
  };
  return runOf({
    id: `found_${i}`,
    status: seed.status,
    tags: seed.tags,
    startedAtMs: 1000 + i,
    document: JSON.stringify(document),
  });
}

/** A query, and the same as a plain function. */
type Case = readonly [query: FindRunsQuery, matches: (seed: Seed) => boolean];

const numbers = fc.constantFrom(0.001, 0.01, 0.05, 0.1, 1);
const order = fc.constantFrom('lt', 'lte', 'gt', 'gte');
const ORDERS = {
  lt: (a: number, b: number) => a < b,
  lte: (a: number, b: number) => a <= b,
  gt: (a: number, b: number) => a > b,
  gte: (a: number, b: number) => a >= b,
};

const leaf: fc.Arbitrary<Case> = fc.oneof(
  fc
    .tuple(order, numbers)
    .map(([kind, value]): Case => [
      { config: { optimizer: { lr: { [kind]: value } } } },
      ({ lr }) => lr !== null && ORDERS[kind](lr, value),
    ]),
  fc
    .tuple(order, numbers)
    .map(([kind, value]): Case => [
      { metrics: { 'val/loss': { best: { [`$${kind}`]: value } } } },
      ({ loss }) => loss !== null && ORDERS[kind](loss / 2, value),
    ]),
  numbers.map((value): Case => [{ config: { 'optimizer.lr': value } }, ({ lr }) => lr === value]),
  numbers.map((value): Case => [
    { config: { 'optimizer.lr': { ne: value } } },
    ({ lr }) => lr !== value,
  ]),
  fc
    .boolean()
    .map((exists): Case => [
      { config: { optimizer: { lr: { exists } } } },
      ({ lr }) => (lr !== null) === exists,
    ]),
  fc.boolean().map((amp): Case => [{ config: { amp } }, (seed) => seed.amp === amp]),
  fc
    .constantFrom(8, 16, 64)
    .map((units): Case => [{ config: { layers: units } }, ({ layers }) => layers.includes(units)]),
  fc
    .subarray(['a', 'b'])
    .map((groups): Case => [
      { groups },
      (seed) => groups.every((group) => seed.groups.includes(group)),
    ]),
  fc
    .subarray(['a', 'b'])
    .map((groups): Case => [
      { groups: { nin: groups } },
      (seed) => !groups.some((group) => seed.groups.includes(group)),
    ]),
  fc
    .constantFrom(8, 9, 10)
    .map((workers): Case => [
      { tags: { workers: { gte: workers } } },
      ({ tags }) =>
        tags.some((tag) => tag.startsWith('workers=') && Number(tag.slice(8)) >= workers),
    ]),
  fc.constant<Case>([{ tags: ['keep'] }, ({ tags }) => tags.includes('keep')]),
  fc.constant<Case>([{ tags: { note: 'x y' } }, ({ tags }) => tags.includes('note=x y')]),
  fc.constantFrom<Case>(
    [{ name: { like: '%as%' } }, ({ name }) => name?.includes('as') === true],
    [{ name: { ilike: 'BASE%' } }, ({ name }) => name?.toLowerCase().startsWith('base') === true],
    [{ name: { like: 'base' } }, ({ name }) => name === 'base'],
    [{ name: { like: '___e%' } }, ({ name }) => name?.at(3) === 'e'],
    [{ name: { like: 'gr_ßer' } }, ({ name }) => name === 'größer'],
    [{ name: null }, ({ name }) => name === null],
    [{ name: ['base', '50%'] }, ({ name }) => name === 'base' || name === '50%'],
    [{ metrics: { 'val/loss': { exists: true } } }, () => true],
    [{ metrics: { 'val/loss': { lt: 1 } } }, ({ loss }) => loss !== null && loss < 1],
    [{ status: { ne: 'failed' } }, ({ status }) => status !== 'failed'],
  ),
);

const { tree } = fc.letrec<{ readonly tree: Case }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    leaf,
    tie('tree').map(([query, matches]): Case => [{ not: query }, (seed) => !matches(seed)]),
    fc
      .array(tie('tree'), { maxLength: 3 })
      .map((cases): Case => [
        { and: cases.map(([query]) => query) },
        (seed) => cases.every(([, matches]) => matches(seed)),
      ]),
    fc
      .array(tie('tree'), { maxLength: 3 })
      .map((cases): Case => [
        { or: cases.map(([query]) => query) },
        (seed) => cases.some(([, matches]) => matches(seed)),
      ]),
  ),
}));

const idsOf = (found: readonly { readonly run: { readonly id: string } }[]): readonly string[] =>
  found.map(({ run }) => run.id);

async function addAll(store: Store, all: readonly Seed[]): Promise<void> {
  for (const [i, seed] of all.entries()) await store.createRun(storedOf(seed, i));
}

export function describeFinding(place: LocationUnderTest): void {
  describe('finding runs', () => {
    test('conditions find the runs that a plain filter finds', async () => {
      const [all = []] = fc.sample(
        seeds.filter((one) => one.length >= 8),
        { numRuns: 1, seed: 7 },
      );
      await addAll(place.store, all);
      await place.store.deleteRun('found_1');
      const left = [...all.entries()].filter(([i]) => i !== 1).toReversed();
      await fc.assert(
        fc.asyncProperty(
          tree,
          fc.nat({ max: 4 }),
          fc.nat({ max: 3 }),
          async (one, limit, offset) => {
            const [query, matches] = one;
            const ids = left.filter(([, seed]) => matches(seed)).map(([i]) => `found_${i}`);
            const own = { and: [query, { time: { lt: 1_000_000 } }] };
            expect(idsOf(await findRuns(place.store, own))).toEqual(ids);
            const page = await findRuns(place.store, own, { limit: limit + 1, offset });
            expect(idsOf(page)).toEqual(ids.slice(offset, offset + limit + 1));
          },
        ),
        propertyRuns(60),
      );
    });

    test('a change of a run is found at once, and by another store as well', async () => {
      const other = await place.openAnother();
      const query = { config: { lr: { lt: 1 } } };
      const document = (lr: number): string => JSON.stringify({ config: { lr } });
      const run = await place.store.createRun(runOf({ id: 'run_x', document: document(2) }));
      expect(idsOf(await findRuns(other, query))).toEqual([]);
      await place.store.updateRun({ ...run, document: document(0.5) });
      expect(idsOf(await findRuns(other, query))).toEqual(['run_x']);
      await other.archiveRun('run_x');
      expect(idsOf(await findRuns(place.store, query))).toEqual([]);
      expect(idsOf(await findRuns(place.store, query, { archived: 'any' }))).toEqual(['run_x']);
      await other.deleteRun('run_x');
      expect(idsOf(await findRuns(place.store, query, { archived: 'any' }))).toEqual([]);
      await other.restoreRun('run_x');
      await place.reopen();
      expect(idsOf(await findRuns(place.store, query, { archived: 'any' }))).toEqual(['run_x']);
    });

    test('the status that is asked for is the effective one', async () => {
      await place.store.createRun(runOf({ id: 'run_live', status: 'running' }));
      await place.store.createRun(runOf({ id: 'run_left', status: 'running' }));
      await place.store.createRun(runOf({ id: 'run_done', status: 'completed' }));
      await place.store.renewLease('run_live', 'me', 60_000);
      const named = { id: { like: 'run_%' } };
      const found = async (query: FindRunsQuery): Promise<readonly string[]> =>
        idsOf(await findRuns(place.store, { and: [named, query] })).toSorted();
      expect(await found({ status: 'running' })).toEqual(['run_live']);
      expect(await found({ status: 'interrupted' })).toContain('run_left');
      expect(await found({ status: { nin: ['interrupted'] } })).toEqual(['run_done', 'run_live']);
      place.clock.nowMs += 61_000;
      expect(await found({ status: 'running' })).toEqual([]);
    });

    test('what a document holds of a run harms no search', async () => {
      const odd = { config: { 'a\u0000b': 'x\u0000\ud800', long: 'y'.repeat(9000), many: {} } };
      const many = Object.fromEntries(Array.from({ length: 6000 }, (_, i) => [`k${i}`, i]));
      odd.config.many = many;
      await place.store.createRun(runOf({ id: 'run_odd', document: JSON.stringify(odd) }));
      await place.store.createRun(runOf({ id: 'run_bad', document: 'no JSON' }));
      await place.store.createRun(runOf({ id: 'run_list', document: '[1]' }));
      const found = async (query: FindRunsQuery): Promise<readonly string[]> =>
        idsOf(await findRuns(place.store, query));
      expect(await found({ config: { 'a\u0000b': 'x\u0000\ud800' } })).toEqual(['run_odd']);
      expect(await found({ config: { long: { like: 'y%' } } })).toEqual(['run_odd']);
      expect(await found({ config: { many: { k5: 5 } } })).toEqual(['run_odd']);
      expect((await found({ id: ['run_bad', 'run_list'] })).toSorted()).toEqual([
        'run_bad',
        'run_list',
      ]);
    });

    test('a condition that no store knows is refused before anything is read', async () => {
      for (const where of [
        '',
        '{}',
        '["regex","name","a"]',
        '["lt","config.lr","a"]',
        '["eq","a"]',
      ])
        await expect(place.store.listRuns({ where }), where).rejects.toMatchObject({
          code: 'invalid_input',
        });
    });
  });
}
