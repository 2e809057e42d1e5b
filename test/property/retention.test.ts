/** Plans of retention against a naive reading of the rules. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { applyRetention } from '../../src/retention/apply.ts';
import { planRetention } from '../../src/retention/plan.ts';
import type { RetentionRule, RetentionSettings } from '../../src/retention/rules.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import type { Store } from '../../src/store/store.ts';
import { runs } from '../support/property.ts';
import { addRun } from '../support/retained-runs.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const NOW_MS = 1_700_000_000_000;
const clock = { now: () => NOW_MS };

type ModelRun = {
  readonly id: string;
  readonly project: string;
  readonly status: 'completed' | 'failed' | 'interrupted' | 'running';
  readonly days: number;
  readonly tags: readonly string[];
  readonly values: readonly number[];
  readonly isLive: boolean;
};

const modelRun = fc.record({
  project: fc.constantFrom('p', 'q'),
  status: fc.constantFrom('completed', 'failed', 'interrupted', 'running'),
  days: fc.integer({ min: 0, max: 12 }),
  tags: fc.uniqueArray(fc.constantFrom('keep', 'x', 'y'), { maxLength: 2 }),
  values: fc.array(fc.constantFrom(1, 2, 3, 4, Number.NaN, Number.POSITIVE_INFINITY), {
    maxLength: 4,
  }),
  isLive: fc.boolean(),
});

const rule: fc.Arbitrary<RetentionRule> = fc
  .record(
    {
      act: fc.constantFrom('archive', 'delete'),
      project: fc.constantFrom('p', 'q'),
      statuses: fc.uniqueArray(fc.constantFrom('completed', 'failed', 'interrupted'), {
        minLength: 1,
      }),
      olderThanDays: fc.integer({ min: 0, max: 12 }),
      tags: fc.uniqueArray(fc.constantFrom('x', 'y'), { minLength: 1 }),
      largerThanBytes: fc.constantFrom(0, 500, 1500, 3000),
      keepBest: fc.record({
        count: fc.integer({ min: 1, max: 3 }),
        metric: fc.constantFrom('val/loss', 'other'),
        goal: fc.constantFrom('min', 'max'),
      }),
      keepBytes: fc.constantFrom(0, 1000, 4000),
    },
    { requiredKeys: ['act'] },
  )
  .filter((one) => Object.keys(one).some((name) => name !== 'act' && name !== 'project'))
  .filter(
    (one) => one.keepBytes === undefined || (one.keepBest === undefined && one.act === 'delete'),
  )
  .map((one) => one as RetentionRule);

const settings: fc.Arbitrary<RetentionSettings> = fc.record({
  rules: fc.array(rule, { minLength: 1, maxLength: 4 }),
});

async function fill(store: Store, all: readonly ModelRun[]): Promise<Map<string, number>> {
  const bytes = new Map<string, number>();
  for (const run of all) {
    await addRun(store, { ...run, endedAtMs: NOW_MS - run.days * DAY_MS });
    if (run.isLive) await store.renewLease(run.id, 'h', 10 ** 9);
    const found = await store.listSegments({ runId: run.id, table: 'metrics' });
    bytes.set(
      run.id,
      found.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    );
  }
  return bytes;
}

/** The run ids that the rules would delete and archive, by trying each rule on each run in the plainest way. */
function oracle(
  all: readonly ModelRun[],
  bytes: ReadonlyMap<string, number>,
  { rules }: RetentionSettings,
): { deleted: string[]; archived: string[] } {
  const deleted = new Set<string>();
  const archived = new Set<string>();
  const sizeOf = ({ id }: ModelRun): number => bytes.get(id) ?? 0;
  const mayTouch = (run: ModelRun): boolean =>
    !run.isLive && !run.tags.includes('keep') && !(run.status === 'running' && run.days < 7);
  const bestOf = (
    { values }: ModelRun,
    goal: 'min' | 'max',
    metric: string,
  ): number | undefined => {
    const finite = metric === 'val/loss' ? values.filter(Number.isFinite) : [];
    if (finite.length === 0) return undefined;
    return goal === 'max' ? Math.max(...finite) : Math.min(...finite);
  };
  for (const one of rules) {
    const here = all.filter((run) => !deleted.has(run.id));
    const matching = here.filter((run) => {
      const status = run.status === 'running' ? 'interrupted' : run.status;
      return (
        mayTouch(run) &&
        (one.project ?? run.project) === run.project &&
        (one.statuses === undefined || one.statuses.includes(status)) &&
        (one.olderThanDays === undefined || run.days > one.olderThanDays) &&
        (one.tags ?? []).every((tag) => run.tags.includes(tag)) &&
        sizeOf(run) > (one.largerThanBytes ?? -1)
      );
    });
    for (const run of matching) {
      const sameProject = matching.filter(({ project }) => project === run.project);
      const isOlder = (a: ModelRun, b: ModelRun): boolean =>
        a.days > b.days || (a.days === b.days && a.id < b.id);
      let acts = true;
      if (one.keepBest !== undefined) {
        const { count, goal = 'min', metric } = one.keepBest;
        const own = bestOf(run, goal, metric);
        const better = sameProject.filter((other) => {
          const value = bestOf(other, goal, metric);
          if (value === undefined || own === undefined || other === run) return false;
          if (value !== own) return goal === 'max' ? value > own : value < own;
          return other.days < run.days || (other.days === run.days && other.id < run.id);
        });
        acts = own !== undefined && better.length >= count;
      }
      if (one.keepBytes !== undefined) {
        // What the project would have once all older ones are gone.
        const gone = new Set(sameProject.filter((other) => isOlder(other, run)));
        const left = here
          .filter((other) => other.project === run.project && !gone.has(other))
          .reduce((sum, other) => sum + sizeOf(other), 0);
        acts = left > one.keepBytes;
      }
      if (!acts) continue;
      if (one.act === 'delete') deleted.add(run.id);
      else archived.add(run.id);
    }
  }
  return {
    deleted: [...deleted].toSorted(),
    archived: [...archived].filter((id) => !deleted.has(id)).toSorted(),
  };
}

test('a plan has the steps that a naive reading finds; once applied, nothing more is planned', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(modelRun, { maxLength: 9 }), settings, async (given, rules) => {
      const all = given.map((run, i): ModelRun => ({ ...run, id: `run_${i}` }));
      const store = createMemoryStore({ clock });
      const bytes = await fill(store, all);
      const expected = oracle(all, bytes, rules);
      const plan = await planRetention(store, rules, { clock });
      const ids = (act: string): string[] =>
        plan.steps.flatMap((step) => (step.act === act ? [step.runId] : [])).toSorted();
      expect({ deleted: ids('delete'), archived: ids('archive') }).toEqual(expected);
      expect(plan.deletedBytes).toBe(
        expected.deleted.reduce((sum, id) => sum + (bytes.get(id) ?? 0), 0),
      );
      const { done, skipped } = await applyRetention(store, rules, { clock });
      expect([done.length, skipped]).toEqual([plan.steps.length, []]);
      const left = await store.listRuns();
      expect(left.map(({ id }) => id).toSorted()).toEqual(
        all
          .map(({ id }) => id)
          .filter((id) => !expected.deleted.includes(id))
          .toSorted(),
      );
      expect(
        left.flatMap((run) => (run.archivedAtMs === undefined ? [] : [run.id])).toSorted(),
      ).toEqual(expected.archived);
      expect((await planRetention(store, rules, { clock })).steps).toEqual([]);
    }),
    runs(400),
  );
}, 120_000);
