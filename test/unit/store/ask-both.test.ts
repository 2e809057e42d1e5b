import fc from 'fast-check';
import { expect, test } from 'vitest';
import { answerFromRuns } from '../../../src/store/find/ask-runs.ts';
import { askBoth, type BothStores } from '../../../src/store/find/ask-both.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { runs as propertyRuns } from '../../support/property.ts';
import { runOf } from '../../support/segments.ts';

const seeds = fc.array(
  fc.record({
    /** `forgotten` is there, and known here as a run that is not to be looked for. */
    side: fc.constantFrom('here', 'there', 'both', 'forgotten'),
    name: fc.constantFrom(undefined, 'base', 'größer'),
    lr: fc.constantFrom(undefined, 0.1, 1, 'auto', true),
    loss: fc.constantFrom(undefined, 0.5, 'NaN', 'Infinity'),
    tags: fc.subarray(['keep', 'old']),
  }),
  { minLength: 4, maxLength: 14 },
);
type Seeds = typeof seeds extends fc.Arbitrary<infer T> ? T : never;

const order = fc.record({
  path: fc.constantFrom('name', 'config.lr', 'metrics.val/loss.last', 'startedAt', 'tags'),
  isDescending: fc.boolean(),
});

/** The two stores, and one with what is to be found in both. */
async function storesOf(all: Seeds): Promise<{ both: BothStores; joint: Store }> {
  const [here, there, joint] = [createMemoryStore(), createMemoryStore(), createMemoryStore()];
  const known = new Set<string>();
  for (const [i, { loss, lr, name, side, tags }] of all.entries()) {
    const document = JSON.stringify({
      ...(name === undefined ? {} : { name }),
      ...(lr === undefined ? {} : { config: { lr } }),
      ...(loss === undefined
        ? {}
        : { metric_summaries: { 'val/loss': { last: loss, last_at_ms: 1 } } }),
    });
    const run = runOf({ id: `run_${i}`, tags, document, startedAtMs: 1000 + (i >> 1) });
    if (side === 'here' || side === 'both') await here.createRun(run);
    if (side !== 'here') await there.createRun(run);
    if (side !== 'forgotten') await joint.createRun(run);
    if (side !== 'there') known.add(run.id);
  }
  const tryThere: BothStores['tryThere'] = (work) => work(there);
  return { both: { here, tryThere, known: async () => known }, joint };
}

test('two stores answer as one that has the runs of both', async () => {
  await fc.assert(
    fc.asyncProperty(
      seeds,
      fc.array(order, { minLength: 1, maxLength: 2 }),
      fc.constantFrom(undefined, '["eq","tags","keep"]', '["exists","config.lr"]'),
      fc.integer({ min: 1, max: 5 }),
      async (all, orderBy, where, limit) => {
        const { both, joint } = await storesOf(all);
        const scope = where === undefined ? {} : { where };
        const columns = ['config.lr', 'metrics.val/loss.last'];
        let after = '';
        let offset = 0;
        for (;;) {
          const page = { ...scope, kind: 'rows', orderBy, columns, limit } as const;
          const found = await askBoth(both, { ...page, after, offset: 0 });
          const wanted = await answerFromRuns(joint, { ...page, after, offset: 0 });
          expect(found).toEqual(wanted);
          expect(await askBoth(both, { ...page, after: '', offset })).toEqual(wanted);
          if (wanted.kind !== 'rows' || wanted.cursor === null) break;
          after = wanted.cursor;
          offset += limit;
        }
        const by = ['tags', 'config.lr', 'name'];
        for (const question of [
          { ...scope, kind: 'ids', limit: 100 },
          { ...scope, kind: 'facets', by, limit },
        ] as const)
          expect(await askBoth(both, question)).toEqual(await answerFromRuns(joint, question));
      },
    ),
    propertyRuns(60),
  );
});

test('where the other store has nothing of its own, or is away, the first one answers everything', async () => {
  const [all = []] = fc.sample(seeds, { numRuns: 1, seed: 3 });
  const { both } = await storesOf(all.map((one) => ({ ...one, side: 'both' })));
  const away: BothStores = { ...both, tryThere: async () => undefined };
  const groups = { kind: 'groups', by: ['tags'], of: ['config.lr'], limit: 9 } as const;
  for (const question of [groups, { kind: 'columns', limit: 99 }] as const) {
    const wanted = await answerFromRuns(both.here, question);
    expect(await askBoth(both, question)).toEqual(wanted);
    expect(await askBoth(away, question)).toEqual(wanted);
  }
  // Means of two stores cannot be put together from two lists of groups: the records are read.
  const { both: apart } = await storesOf(all.map((one) => ({ ...one, side: 'there' })));
  expect(await askBoth(apart, groups)).toBeUndefined();
});
