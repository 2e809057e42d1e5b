import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SeriesSet } from '../../../dashboard/series/series.ts';
import { downsampledRows, POINTS_A_STEP } from '../../../dashboard/series/downsampling.ts';
import { runs } from '../../support/property.ts';

function rowsLeft(values: readonly number[]): number[] {
  const steps = downsampledRows(Float64Array.from(values));
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return [...value];
  }
}

describe('points that are left of a long series', () => {
  it('have its lowest, its highest, its ends, and what is not finite', () => {
    const value = fc.oneof(
      { weight: 8, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }) },
      { weight: 1, arbitrary: fc.constant(Number.NaN) },
    );
    fc.assert(
      fc.property(fc.array(value, { minLength: 1, maxLength: 300 }), (values) => {
        const rows = rowsLeft(values);
        expect(rows).toEqual([...new Set(rows)].toSorted((a, b) => a - b));
        expect(rows[0]).toBe(0);
        expect(rows.at(-1)).toBe(values.length - 1);
        const left = rows.map((row) => values[row] ?? Number.NaN);
        for (let start = 0; start < values.length; start += 16) {
          const group = values.slice(start, start + 16);
          const some = left.filter((_y, at) => {
            const row = rows[at] ?? 0;
            return row >= start && row < start + 16;
          });
          const finite = (all: readonly number[]): number[] => all.filter((y) => !Number.isNaN(y));
          expect(Math.min(...finite(some))).toBe(Math.min(...finite(group)));
          expect(Math.max(...finite(some))).toBe(Math.max(...finite(group)));
          expect(some.some((y) => Number.isNaN(y))).toBe(group.some((y) => Number.isNaN(y)));
        }
      }),
      runs(200),
    );
  });

  it('are the same however many steps they come in', () => {
    const count = 2 * POINTS_A_STEP + 100;
    const values = Array.from({ length: count }, (_, at) => Math.sin(at * at));
    const rows = rowsLeft(values);
    const parts = [0, POINTS_A_STEP, 2 * POINTS_A_STEP].flatMap((from) =>
      rowsLeft(values.slice(from, from + POINTS_A_STEP)).map((row) => from + row),
    );
    expect(rows).toEqual(parts);
    expect(rows.at(-1)).toBe(count - 1);
  });

  it('are fewer than a page holds, and say how many they stand for', () => {
    const most = 4_000;
    const set = new SeriesSet(most);
    const readCount = 40;
    const perRead = 500;
    for (let read = 0; read < readCount; read += 1) {
      const steps = Float64Array.from({ length: perRead }, (_, at) => read * perRead + at);
      set.take({
        rowCount: 2 * perRead,
        series: ['a', 'b'].map((key) => ({
          key,
          values: steps.map((step) => (step === 1_234 ? Number.NaN : Math.sin(step * 7) + step)),
          steps: steps.slice(),
          epochs: null,
          timesMs: steps.slice(),
        })),
      });
      expect((set.get('a')?.length ?? 0) + (set.get('b')?.length ?? 0)).toBeLessThan(
        most + 2 * perRead,
      );
    }
    const all = readCount * perRead;
    const a = set.get('a');
    expect(a?.standsFor).toEqual({ sampleCount: all, nonFiniteCount: 1 });
    expect(a?.values.some((y) => Number.isNaN(y))).toBe(true);
    expect(a?.last?.step).toBe(all - 1);
    expect(set.pointCount).toBe(2 * all);
    expect(set.extent('step', 0)).toEqual({ min: 0, max: all - 1 });
    const steps = [...(a?.steps ?? [])];
    expect(steps).toEqual(steps.toSorted((x, y) => x - y));
  });
});
