import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createMemoryStore, openRun, TrainingSession } from 'quark-sdk';
import {
  layoutLineage,
  readLineage,
  type LineageRun,
} from '../../../dashboard/run/facts/lineage.ts';
import { runs } from '../../support/property.ts';

const node = (id: string, parentId: string | null): LineageRun => ({
  id,
  parentId,
  name: null,
  status: 'completed',
  resumeCount: 0,
});

const tree = fc
  .array(fc.nat(), { minLength: 1, maxLength: 25 })
  .map((parents) =>
    parents.map((parent, at) => node(`r${at}`, at === 0 ? null : `r${parent % at}`)),
  );

describe('the layout of a line of runs', () => {
  it('gives each run a row, puts it below its parent, and lets no line pass through a run', () => {
    fc.assert(
      fc.property(tree, fc.nat(), (all, some) => {
        const shownId = all[some % all.length]?.id ?? 'r0';
        const nodes = layoutLineage(all, shownId);
        expect(nodes.map(({ row }) => row)).toEqual(all.map((_, row) => row));
        const byId = new Map(nodes.map((one) => [one.run.id, one]));
        for (const { column, row, run } of nodes) {
          const parent = byId.get(run.parentId ?? '');
          if (parent === undefined) continue;
          expect(row).toBeGreaterThan(parent.row);
          expect([parent.column, parent.column + 1]).toContain(column);
          const between = nodes.filter((one) => one.row > parent.row && one.row < row);
          for (const other of between) expect(other.column).toBeGreaterThan(parent.column);
        }
        expect(byId.get(shownId)?.column).toBe(0);
      }),
      runs(300),
    );
  });

  it('ends for records that say that a run is its own ancestor', () => {
    const round = [node('a', 'b'), node('b', 'a'), node('c', null), node('d', 'd')];
    expect(layoutLineage(round, 'a').map(({ run }) => run.id)).toEqual(['c']);
    expect(layoutLineage([node('a', null), node('a', 'a')], 'a')).toHaveLength(1);
  });
});

describe('the line of a run', () => {
  it('has its parents and what was started from it', async () => {
    const store = createMemoryStore();
    const record = async (parentRunId?: string): Promise<string> => {
      const session = await TrainingSession.startRun({
        project: 'line',
        storage: store,
        parentRunId,
        handleSignals: false,
      });
      await session.endRun();
      return session.runId;
    };
    const root = await record();
    const parent = await record(root);
    const shown = await record(parent);
    const sibling = await record(parent);
    const child = await record(shown);
    const grandchild = await record(child);
    const { hasMore, runs: found } = await readLineage(store, await openRun(store, shown));
    expect(found.map(({ id, parentId }) => [id, parentId])).toEqual([
      [root, null],
      [parent, root],
      [shown, parent],
      [child, shown],
      [grandchild, child],
    ]);
    expect(found.map(({ id }) => id)).not.toContain(sibling);
    expect(hasMore).toBe(false);
    await store.deleteRun(root);
    const { runs: left } = await readLineage(store, await openRun(store, shown));
    expect(left[0]).toEqual({ id: root, parentId: null, name: null, status: null, resumeCount: 0 });
  });
});
