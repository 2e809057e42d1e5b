import { SMOOTHING_KINDS } from 'quark-sdk/workspace';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  gaussianWidth,
  meanWidth,
  smooth as smoothBy,
} from '../../../dashboard/charts/smoothing/smooth.ts';
import { runs } from '../../support/property.ts';

const smooth = (xs: Float64Array, ys: Float64Array, amount: number, extent: number): Float64Array =>
  smoothBy(xs, ys, { kind: 'exponential', amount }, extent);

/** Points one unit of the screen apart: each counts `weight` as much as the one after it. */
const evenly = (ys: readonly number[], weight: number): number[] => {
  const xs = Float64Array.from(ys, (_, at) => at);
  return [...smooth(xs, Float64Array.from(ys), weight, 500)];
};

describe('smooth', () => {
  it('changes nothing at weight 0', () => {
    expect(evenly([3, 1, 2], 0)).toEqual([3, 1, 2]);
  });

  it('starts at the first value, and keeps a constant exactly', () => {
    expect(evenly([8, 1], 0.9)[0]).toBe(8);
    expect(evenly(new Array<number>(500).fill(0.001), 0.8)).toEqual(new Array(500).fill(0.001));
  });

  it('is the weighted mean of what came before', () => {
    expect(evenly([2, 4], 0.5)[1]).toBeCloseTo((0.5 * 2 + 4) / 1.5, 12);
    expect(evenly([2, 4, 6], 0.5)[2]).toBeCloseTo((0.25 * 2 + 0.5 * 4 + 6) / 1.75, 12);
  });

  it('leaves points alone that lie far apart, and joins those that lie near', () => {
    const ys = Float64Array.of(1, 2, 3);
    const far = smooth(Float64Array.of(0, 250, 500), ys, 0.9, 500);
    for (const [at, y] of far.entries()) expect(y).toBeCloseTo(ys[at] ?? 0, 9);
    const near = smooth(Float64Array.of(0, 0.001, 0.002), ys, 0.9, 500);
    expect(near[2]).toBeCloseTo(2, 3);
  });

  it('smooths alike however many points the same curve has', () => {
    const jump = (count: number): number => {
      const xs = Float64Array.from({ length: count }, (_, at) => (at / count) * 1000);
      const ys = xs.map((x) => (x < 500 ? 0 : 1));
      const out = smooth(xs, ys, 0.95, 1000);
      return out[Math.floor(count * 0.51)] ?? Number.NaN;
    };
    expect(jump(100_000)).toBeCloseTo(jump(10_000), 2);
  });

  it('leaves non-finite values where they are and out of the mean', () => {
    const out = evenly([2, Number.NaN, 2, Number.POSITIVE_INFINITY, 2], 0.9);
    expect(out).toEqual([2, Number.NaN, 2, Number.POSITIVE_INFINITY, 2]);
  });

  it('bears an axis without length', () => {
    expect([...smooth(Float64Array.of(5), Float64Array.of(7), 0.9, 0)]).toEqual([7]);
  });
});

/** Uneven steps, with a jump, noise and values that are not finite. */
const curve = fc
  .array(
    fc.tuple(
      fc.double({ min: 0, max: 20, noNaN: true }),
      fc.oneof(
        { weight: 9, arbitrary: fc.double({ min: -100, max: 100, noNaN: true }) },
        { weight: 1, arbitrary: fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY) },
      ),
    ),
    { minLength: 1, maxLength: 80 },
  )
  .map((points) => {
    let x = 0;
    const xs = Float64Array.from(points, ([gap]) => (x += gap));
    return { xs, ys: Float64Array.from(points, ([, y]) => y) };
  });
const amounts = fc.double({ min: 0.05, max: 0.99, noNaN: true });

/** The mean of all finite points, weighted by their distances: the definition of a smoother, point by point. */
function weighted(
  xs: Float64Array,
  ys: Float64Array,
  weight: (distance: number) => number,
): number[] {
  return Array.from(ys, (y, at) => {
    if (!Number.isFinite(y)) return y;
    let sum = 0;
    let total = 0;
    for (const [other, value] of ys.entries()) {
      if (!Number.isFinite(value)) continue;
      const share = weight((xs[other] ?? 0) - (xs[at] ?? 0));
      sum += share * value;
      total += share;
    }
    return sum / total;
  });
}

function expectNear(found: Float64Array, wanted: readonly number[], within: number): void {
  for (const [at, value] of wanted.entries()) {
    const own = found[at] ?? Number.NaN;
    if (Number.isFinite(value)) expect(Math.abs(own - value)).toBeLessThan(within);
    else expect(own).toBe(value);
  }
}

describe('the exponential mean', () => {
  it('is that of TensorBoard on a curve of one point a unit', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: -10, max: 10, noNaN: true }), { minLength: 1, maxLength: 60 }),
        amounts,
        (values, weight) => {
          let last = 0;
          const tensorBoard = values.map((value, at) => {
            last = last * weight + (1 - weight) * value;
            return last / (1 - weight ** (at + 1));
          });
          expectNear(Float64Array.from(evenly(values, weight)), tensorBoard, 1e-9);
        },
      ),
      runs(100),
    );
  });

  it('is that of W&B, weighted by time, on uneven steps', () => {
    fc.assert(
      fc.property(curve, amounts, ({ xs, ys }, weight) => {
        const finite = ys.map((y) => (Number.isFinite(y) ? y : 0));
        const extent = 100;
        let last = 0;
        let debias = 0;
        const wandb = Array.from(finite, (y, at) => {
          const gap = (((xs[at] ?? 0) - (xs[Math.max(0, at - 1)] ?? 0)) / extent) * 1000;
          const adjusted = Math.sqrt(weight) ** gap;
          last = last * adjusted + y;
          debias = debias * adjusted + 1;
          return last / debias;
        });
        expectNear(smooth(xs, finite, weight, extent), wandb, 1e-6);
      }),
      runs(100),
    );
  });
});

describe('the running mean and the Gaussian', () => {
  it('are what their definitions say, on uneven steps', () => {
    fc.assert(
      fc.property(curve, amounts, ({ xs, ys }, amount) => {
        const extent = 400;
        const unit = extent / 500;
        const half = (meanWidth(amount) * unit) / 2;
        const mean = weighted(xs, ys, (distance) => (Math.abs(distance) <= half ? 1 : 0));
        expectNear(smoothBy(xs, ys, { kind: 'mean', amount }, extent), mean, 1e-9);
        const deviation = gaussianWidth(amount) * unit;
        const gaussian = weighted(xs, ys, (distance) =>
          Math.exp(-0.5 * (distance / deviation) ** 2),
        );
        const found = smoothBy(xs, ys, { kind: 'gaussian', amount }, extent);
        // Values are up to 200 apart.
        expectNear(found, gaussian, 1);
      }),
      runs(100),
    );
  });

  it('take as much noise away as the exponential mean', () => {
    let seed = 1;
    const noise = (): number => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed / 2_147_483_647 - 0.5;
    };
    const xs = Float64Array.from({ length: 20_000 }, (_, at) => at);
    const ys = xs.map(noise);
    const variance = (all: Float64Array): number =>
      all.reduce((sum, y) => sum + y * y, 0) / all.length;
    for (const amount of [0.5, 0.9]) {
      const [exponential = 0, ...others] = SMOOTHING_KINDS.map((kind) =>
        variance(smoothBy(xs, ys, { kind, amount }, 500)),
      );
      expect(exponential / variance(ys)).toBeCloseTo(1 / meanWidth(amount), 1);
      for (const other of others) expect(Math.abs(other / exponential - 1)).toBeLessThan(0.2);
    }
  });

  it('forget a value of any size once it is out of reach', () => {
    const xs = Float64Array.from({ length: 500 }, (_, at) => at);
    const ys = xs.map((x) => (x === 100 ? 1e30 : 1));
    for (const kind of ['mean', 'gaussian'] as const) {
      const out = smoothBy(xs, ys, { kind, amount: 0.8 }, 500);
      expect(out[100]).toBeGreaterThan(1e28);
      expect(out[300]).toBeCloseTo(1, 12);
    }
  });

  it('are fast for a million points', () => {
    const xs = Float64Array.from({ length: 1_000_000 }, (_, at) => at);
    const ys = xs.map((x) => Math.sin(x / 1e5));
    for (const kind of SMOOTHING_KINDS) {
      const out = smoothBy(xs, ys, { kind, amount: 0.9 }, 1e6);
      expect(out[500_000]).toBeCloseTo(Math.sin(5), 1);
    }
  });

  it('leave a single point and a curve on one line alone', () => {
    for (const kind of SMOOTHING_KINDS) {
      const one = smoothBy(Float64Array.of(5), Float64Array.of(7), { kind, amount: 0.9 }, 0);
      expect([...one]).toEqual([7]);
    }
  });
});
