/** The phases of real logs, against what a careful reader of them saw. */
import { expect, test } from 'vitest';
import { analyzePhases, type RunColumns } from 'quark-sdk/analysis';
import { labelledRuns, type LabelledRun } from '../../../support/labelled-runs.ts';

const labelled = labelledRuns();
/** How far a boundary may be off, as a share of the run, by how sure the reader is. */
const TOLERANCE: Readonly<Record<string, number>> = { high: 0.1, medium: 0.2 };

/** Labelled phases that are found, each by name with both ends within tolerance, and those that are not. */
async function compare(
  columns: RunColumns,
  expected: LabelledRun['expectedPhases'],
): Promise<{ readonly hits: number; readonly misses: readonly string[] }> {
  const { phases } = await analyzePhases(columns);
  const length =
    Math.max(...expected.map(({ x_to }) => x_to)) -
    Math.min(...expected.map(({ x_from }) => x_from));
  const sure = expected.filter(({ confidence }) => confidence in TOLERANCE);
  const misses = sure.filter(({ confidence, phase, x_from, x_to }) => {
    const room = (TOLERANCE[confidence] ?? 0) * length;
    return !phases.some(
      ({ phaseName, stepEnd, stepStart }) =>
        phaseName === phase &&
        Math.abs(stepStart - x_from) <= room &&
        Math.abs(stepEnd - x_to) <= room,
    );
  });
  const found = phases.map(
    ({ phaseName, stepEnd, stepStart }) => `${phaseName} ${stepStart}-${stepEnd}`,
  );
  return {
    hits: sure.length - misses.length,
    misses: misses.map(
      ({ phase, x_from, x_to }) => `${phase} ${x_from}-${x_to} not in ${found.join(', ')}`,
    ),
  };
}

test.skipIf(labelled !== undefined)(
  'labelled logs are not here: ../shared/data/runs is missing',
  () => {
    expect(labelled).toBeUndefined();
  },
);

test.skipIf(labelled === undefined)('labelled phases of real logs', async () => {
  let hits = 0;
  const misses: string[] = [];
  for (const { expectedPhases, id, load } of labelled ?? []) {
    const results = await Promise.all(
      (await load()).map((columns) => compare(columns, expectedPhases)),
    );
    // Where the same numbers lie there in several formats, one of them has the losses.
    const best = results.toSorted((a, b) => b.hits - a.hits)[0];
    hits += best?.hits ?? 0;
    misses.push(...(best?.misses ?? []).map((miss) => `${id}: ${miss}`));
  }
  if (process.env['QUARK_SHOW'] !== undefined) console.log(hits, misses);
  // A reader overlaps phases now and then, which phases never do; three quarters of them is what may be asked for.
  expect(hits / (hits + misses.length), misses.join('\n')).toBeGreaterThan(0.75);
});

test.skipIf(labelled === undefined)(
  'no run that trains well diverges, and the one that does is found',
  async () => {
    for (const { expectedPhases, id, load } of labelled ?? []) {
      const isExpected = expectedPhases.some(({ phase }) => phase === 'divergence');
      for (const columns of await load()) {
        const { phases } = await analyzePhases(columns);
        if (phases.length > 0)
          expect([id, phases.some(({ phaseName }) => phaseName === 'divergence')]).toEqual([
            id,
            isExpected,
          ]);
      }
    }
  },
);
