import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { longTest } from '../../support/long.ts';
import { jsChange } from '../../../src/kernel/series/change/change-js.ts';
import { wasmChange } from '../../../src/kernel/series/change/change-wasm.ts';
import type {
  ChangeKernel,
  ChangePointOptions,
  ChangePoints,
} from '../../../src/kernel/series/change/change.ts';
import { compileSeries, SeriesModule } from '../../../src/kernel/series/module/module.ts';
import {
  boundedCost,
  boundedLoss,
  lineCost,
  meanCost,
  normals,
  optimalPartition,
  quickCost,
  quickOptimum,
  type SegmentCost,
} from '../../support/change-reference.ts';
import { hardSeries } from '../../support/hard-series.ts';
import { isLong, runs } from '../../support/property.ts';
import { expectAtMost } from '../../support/quick-expect.ts';

const twins: Record<string, ChangeKernel> = { js: jsChange };
beforeAll(async () => {
  twins['wasm'] = wasmChange(new SeriesModule(await compileSeries()));
});
/** Every twin in turn. */
const each = (check: (kernel: ChangeKernel, name: string) => void): void => {
  for (const [name, kernel] of Object.entries(twins)) check(kernel, name);
};
/** Relative, as stated in the documentation of the method. */
const TOLERANCE = 1e-9;
const isClose = (value: number, expected: number, what: string): void => {
  const off = Math.abs(value - expected) / Math.max(1, Math.abs(expected));
  expectAtMost(off, TOLERANCE, `${what}: ${value} is ${expected}`);
};

/** Series of the kinds that make a search go wrong: ties, steps, ramps, spikes, walks; of deviations near 1. */
const shapes: Record<string, (noise: () => number, i: number) => number> = {
  noise: (noise) => noise(),
  ties: (noise) => Math.round(noise()),
  equal: () => 2,
  steps: (noise, i) => noise() + 3 * (Math.floor(i / 13) % 3),
  'steps without noise': (_noise, i) => 4 * (Math.floor(i / 9) % 2),
  ramp: (_noise, i) => i,
  'noisy ramp': (noise, i) => 0.4 * i + noise(),
  spikes: (noise, i) => noise() + (i % 11 === 5 ? 1e4 : 0),
  'one huge value': (noise, i) => noise() + (i === 17 ? 1e8 : 0),
  tails: (noise) => noise() / noise(),
  decay: (noise, i) => 20 * Math.exp(-i / 15) + 0.3 * noise(),
  parabola: (_noise, i) => 0.05 * i * i,
  alternating: (_noise, i) => (i % 2 === 0 ? i : -i),
};
const walk = (noise: () => number, length: number): Float64Array => {
  let state = 0;
  return Float64Array.from({ length }, () => (state += noise()));
};
const made = (shape: string, seed: number, length: number): Float64Array => {
  const noise = normals(seed);
  const make = shapes[shape];
  return make === undefined
    ? walk(noise, length)
    : Float64Array.from({ length }, (_, i) => make(noise, i));
};
const series = fc
  .record({
    shape: fc.constantFrom(...Object.keys(shapes), 'walk'),
    seed: fc.integer(),
    length: fc.oneof(fc.integer({ min: 0, max: 67 }), fc.integer({ min: 68, max: 200 })),
  })
  .map(({ shape, seed, length }) => made(shape, seed, length));
const penalties = fc.double({ min: 0.5, max: 60, noNaN: true });
const fixed = { noise: 1, autocorrelation: 'ignore' } as const;

/** What the stated segments cost, from the values. */
function costOf(found: ChangePoints, segmentCost: SegmentCost, count: number): number {
  const ends = [0, ...found.indices, count];
  let cost = found.penalty * found.indices.length;
  for (let k = 1; k < ends.length; k++)
    if (count > 0) cost += segmentCost(ends[k - 1] ?? 0, ends[k] ?? 0) / found.noise ** 2;
  return cost;
}

describe('change points and every segmentation', () => {
  it('of the mean: the least cost, and segments that have it', () => {
    fc.assert(
      fc.property(series, penalties, fc.integer({ min: 1, max: 12 }), (values, penalty, length) => {
        const segmentCost = meanCost(values);
        for (const minSegmentLength of [1, length]) {
          const options = { ...fixed, penalty, minSegmentLength };
          const best = optimalPartition(values.length, penalty, segmentCost, minSegmentLength);
          each((kernel, name) => {
            const found = kernel.changePoints(values, options);
            // Equal values have no noise and no cost.
            isClose(found.cost, best.cost, name);
            isClose(costOf(found, segmentCost, values.length), found.cost, `${name}, recomputed`);
            expect(found.isExact).toBe(true);
            const ends = [0, ...found.indices, values.length];
            for (const [k, level] of found.levels.entries()) {
              const part = values.subarray(ends[k] ?? 0, ends[k + 1] ?? 0);
              isClose(
                level,
                part.reduce((sum, value) => sum + value / part.length, 0),
                'level',
              );
            }
          });
        }
      }),
      runs(75),
    );
  });

  it('of the mean with bounded loss', () => {
    const short = fc
      .record({
        shape: fc.constantFrom(...Object.keys(shapes), 'walk'),
        seed: fc.integer(),
        length: fc.integer({ min: 1, max: 22 }),
      })
      .map(({ shape, seed, length }) => made(shape, seed, length));
    fc.assert(
      fc.property(short, penalties, (values, penalty) => {
        const best = optimalPartition(values.length, penalty, boundedCost(values, 3));
        each((kernel, name) => {
          const found = kernel.changePoints(values, { ...fixed, penalty, loss: 'biweight' });
          isClose(found.cost, best.cost, name);
          const ends = [0, ...found.indices, values.length];
          let cost = penalty * found.indices.length;
          for (const [k, level] of found.levels.entries())
            cost += boundedLoss(values.subarray(ends[k] ?? 0, ends[k + 1] ?? 0), level, 3);
          isClose(cost, found.cost, `${name}, recomputed`);
        });
      }),
      runs(60),
    );
  });

  it('of the slope', () => {
    fc.assert(
      fc.property(series, penalties, fc.integer({ min: 1, max: 12 }), (values, penalty, length) => {
        const segmentCost = lineCost(values);
        for (const minSegmentLength of [1, 3, length]) {
          const options = { ...fixed, penalty, minSegmentLength, model: 'slope' } as const;
          const best = optimalPartition(values.length, penalty, segmentCost, minSegmentLength);
          each((kernel, name) => {
            const found = kernel.changePoints(values, options);
            // The huge value alone costs up to 1e16 where it cannot stand alone.
            isClose(found.cost, best.cost, name);
            isClose(costOf(found, segmentCost, values.length), found.cost, `${name}, recomputed`);
          });
        }
      }),
      runs(40),
    );
  });

  longTest(
    'of 10,000 values',
    () => {
      const length = 10_000;
      const hard: Record<string, Float64Array> = { walk: walk(normals(9), length) };
      const long: Record<string, (noise: () => number, i: number) => number> = {
        steps: (noise, i) => noise() + ([0, 1, 0.5, 4, 3.8][Math.floor(i / 2000)] ?? 0),
        'loss curve': (noise, i) => 60 * (1 + i) ** -0.4 + noise(),
        'ramp without noise': (_noise, i) => 0.1 * i,
        'mean 1e6, deviation 1e-3': (noise, i) => 1e6 + 1e-3 * (noise() + (i > 4000 ? 1 : 0)),
        tails: (noise) => noise() / noise(),
        ties: (noise, i) => Math.round(noise() + (i > 5000 ? 0.5 : 0)),
      };
      for (const [name, make] of Object.entries(long)) {
        const noise = normals(8);
        hard[name] = Float64Array.from({ length }, (_, i) => make(noise, i));
      }
      // Quadratic in the length: some of them unless the long tests are wanted.
      const usual = new Set(['walk', 'mean 1e6, deviation 1e-3']);
      const wanted = Object.entries(hard).filter(([name]) => isLong || usual.has(name));
      for (const [shape, values] of wanted) {
        const options: ChangePointOptions = shape.startsWith('mean')
          ? { autocorrelation: 'ignore' }
          : { ...fixed, penalty: 2 * Math.log(length) };
        let best = -1;
        each((kernel, name) => {
          const found = kernel.changePoints(values, options);
          const unit = found.noise ** 2;
          if (best < 0) best = quickOptimum(values, found.penalty * unit, false);
          isClose(found.cost, best / unit, `${shape}, ${name}`);
          expect(found.isExact).toBe(true);
        });
      }
      const values = hard['loss curve'] ?? new Float64Array(0);
      const options = { ...fixed, penalty: 30, model: 'slope', exactLimit: length } as const;
      const slope = twins['wasm']?.changePoints(values, options);
      isClose(slope?.cost ?? 0, quickOptimum(values, 30, true, 3), 'slope');
      expect(slope?.isExact).toBe(true);
    },
    120_000,
  );
});

describe('change points of series that are reduced first', () => {
  it('cost no more than the stated bound, and what their segments cost', () => {
    fc.assert(
      fc.property(series, penalties, (values, penalty) => {
        const segmentCost = meanCost(values);
        const best = optimalPartition(values.length, penalty, segmentCost);
        each((kernel, name) => {
          const found = kernel.changePoints(values, { ...fixed, penalty, exactLimit: 1 });
          const slack = TOLERANCE * Math.max(1, best.cost);
          expect(found.cost, name).toBeGreaterThanOrEqual(best.cost - slack);
          expect(found.cost, name).toBeLessThanOrEqual(
            best.cost + 12 * penalty * best.changes.length + slack,
          );
          isClose(costOf(found, segmentCost, values.length), found.cost, name);
        });
      }),
      runs(75),
    );
  });

  it('are the best ones on steps with noise', () => {
    for (const seed of [1, 2]) {
      const noise = normals(seed);
      const values = Float64Array.from(
        { length: 120_000 },
        (_, i) => noise() + 0.7 * (Math.floor(i / 9173) % 3),
      );
      each((kernel, name) => {
        const found = kernel.changePoints(values);
        const best = kernel.changePoints(values, { exactLimit: values.length });
        expect(found.isExact).toBe(false);
        expect(best.isExact).toBe(true);
        expect(found.indices, name).toEqual(best.indices);
        isClose(found.cost, best.cost, name);
      });
    }
  });

  it('are all found, as near as noise allows, among a million', () => {
    const noise = normals(11);
    const count = 1_000_000;
    const places = Array.from({ length: 20 }, (_, k) => 43_117 + k * 47_000);
    const jumps = places.map((_, k) => (k % 2 === 0 ? 1 : -1) * (0.3 + 0.05 * k));
    const levels = jumps.map((_, k) => jumps.slice(0, k + 1).reduce((sum, jump) => sum + jump, 0));
    let k = 0;
    const values = Float64Array.from({ length: count }, (_, i) => {
      if (i === places[k]) k++;
      return (k === 0 ? 0 : (levels[k - 1] ?? 0)) + noise();
    });
    const found = twins['wasm']?.changePoints(values);
    expect(found?.indices).toHaveLength(20);
    for (const [n, place] of places.entries())
      expect(Math.abs((found?.indices[n] ?? 0) - place)).toBeLessThan(25 / (jumps[n] ?? 1) ** 2);
  });

  it('see a short excursion within one run', () => {
    const noise = normals(12);
    const values = Float64Array.from({ length: 1_000_000 }, (_, i) =>
      i >= 499_992 && i < 500_008 ? 2.5 : noise(),
    );
    const { indices } = twins['wasm']?.changePoints(values) ?? { indices: new Uint32Array(0) };
    expect(indices).toHaveLength(2);
    expect(Math.abs((indices[0] ?? 0) - 499_992)).toBeLessThan(4);
    expect(Math.abs((indices[1] ?? 0) - 500_008)).toBeLessThan(4);
  });

  it('of the slope cost no more than the best ones at block ends', () => {
    for (const seed of [1, 2, 3]) {
      const noise = normals(seed);
      const count = 20_000;
      const values = Float64Array.from(
        { length: count },
        (_, i) => noise() + 0.01 * Math.abs((i % 6007) - 2000) + (i > 11_111 ? 5 : 0),
      );
      const penalty = 3 * Math.log(count);
      const places = Array.from({ length: 2048 }, (_, i) => Math.floor((i * count) / 2048));
      const segmentCost = quickCost(values, true);
      const best = optimalPartition(count, penalty, segmentCost, 3, places);
      each((kernel, name) => {
        const found = kernel.changePoints(values, { ...fixed, penalty, model: 'slope' });
        expect(found.isExact).toBe(false);
        expect(found.cost, name).toBeLessThanOrEqual(best.cost * (1 + TOLERANCE));
        expect(found.indices.length).toBe(best.changes.length);
        isClose(costOf(found, segmentCost, count), found.cost, name);
        expect([...found.indices]).toContain(11_111 + 1);
      });
    }
  });

  it('give up candidates rather than time, and say so', () => {
    const values = Float64Array.from({ length: 100_000 }, (_, i) => 1e-3 * i * i);
    for (const loss of ['squared', 'biweight'] as const) {
      const options = { ...fixed, penalty: 1e15, loss };
      const found = twins['wasm']?.changePoints(values, options);
      expect(found?.isExact).toBe(false);
      expect(found?.cost).toBeGreaterThan(0);
    }
    const ramp = Float64Array.from({ length: 60_000 }, (_, i) => i);
    const found = twins['wasm']?.changePoints(ramp, { ...fixed, penalty: 1e11 });
    expect(found?.isExact).toBe(false);
    isClose(costOf(found ?? never(), meanCost(ramp), ramp.length), found?.cost ?? 0, 'ramp');
  });
});

function never(): never {
  throw new Error('nothing found');
}

describe('change points of the same series told otherwise', () => {
  const noisy = fc
    .record({ seed: fc.integer(), length: fc.integer({ min: 2, max: 600 }) })
    .map(({ seed, length }) => {
      const noise = normals(seed);
      // Multiples of 2^-20, so that adding and multiplying below is exact.
      return Float64Array.from(
        { length },
        (_, i) => Math.round((noise() + 2 * (Math.floor(i / 70) % 3)) * 2 ** 20) / 2 ** 20,
      );
    });
  const every: ChangePointOptions[] = [
    {},
    { minSegmentLength: 5 },
    { loss: 'biweight' },
    { model: 'slope' },
    { exactLimit: 1 },
    { maxChanges: 2 },
  ];

  it('are where they were when values are multiplied, mirrored or moved', () => {
    fc.assert(
      fc.property(noisy, fc.constantFrom(...every), (values, options) => {
        each((kernel, name) => {
          const plain = kernel.changePoints(values, options);
          for (const factor of [2 ** 40, 2 ** -40, -1, 3, -1e-7]) {
            const found = kernel.changePoints(
              values.map((value) => value * factor),
              options,
            );
            expect(found.indices, `${name} times ${factor}`).toEqual(plain.indices);
            isClose(found.cost, plain.cost, `${name} times ${factor}`);
            isClose(found.noise / Math.abs(factor), plain.noise, 'noise');
          }
          for (const added of [1024, -1_000_000]) {
            const found = kernel.changePoints(
              values.map((value) => value + added),
              options,
            );
            expect(found.indices, `${name} plus ${added}`).toEqual(plain.indices);
            isClose(found.cost, plain.cost, `${name} plus ${added}`);
          }
        });
      }),
      runs(30),
    );
  });

  it('cost the same backwards', () => {
    fc.assert(
      fc.property(noisy, fc.constantFrom(...every.slice(0, 4)), (values, options) => {
        const { length } = values;
        each((kernel, name) => {
          const whole = { ...options, exactLimit: 2048 };
          const plain = kernel.changePoints(values, whole);
          const found = kernel.changePoints(values.toReversed(), whole);
          isClose(found.cost, plain.cost, name);
          // A value beyond the bound costs the same in either of two segments: where they meet is open then.
          if ('loss' in options && options.loss === 'biweight') return;
          expect([...found.indices].map((index) => length - index).toReversed()).toEqual([
            ...plain.indices,
          ]);
        });
      }),
      runs(30),
    );
  });

  it('are those of the finite values, whatever stands between them', () => {
    fc.assert(
      fc.property(hardSeries, fc.constantFrom(...every), (values, options) => {
        const kept = [...values.keys()].filter((i) => Number.isFinite(values[i]));
        const finite = Float64Array.from(kept, (i) => values[i] ?? 0);
        each((kernel, name) => {
          const found = kernel.changePoints(values, options);
          const plain = kernel.changePoints(finite, options);
          expect(found, name).toEqual({
            ...plain,
            indices: plain.indices.map((index) => kept[index] ?? 0),
          });
          expect(found.count).toBe(kept.length);
          expect(Number.isNaN(found.cost), `cost ${found.cost}`).toBe(false);
          expect(found.levels.every((level) => !Number.isNaN(level))).toBe(true);
        });
      }),
      runs(50),
    );
  });

  it('are the same in both twins and in every run', () => {
    fc.assert(
      fc.property(noisy, fc.constantFrom(...every), (values, options) => {
        const js = twins['js']?.changePoints(values, options);
        const wasm = twins['wasm']?.changePoints(values, options);
        expect(wasm?.indices).toEqual(js?.indices);
        isClose(wasm?.cost ?? 0, js?.cost ?? 0, 'cost');
        each((kernel) => {
          const found = kernel.changePoints(values, options);
          expect(kernel.changePoints(values, options)).toEqual(found);
        });
      }),
      runs(30),
    );
  });
});
