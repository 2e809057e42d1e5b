/** Reductions of probes against the plain way, and the choice of a cadence. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DeadUnits } from '../../src/instruments/probes/layer-rows.ts';
import { OverheadBudget } from '../../src/instruments/probes/overhead-budget.ts';
import { DeadUnitSearch, deadUnitsOf, differenceOf } from '../../src/kernel/tensor/reductions.ts';
import { runs } from '../support/property.ts';
import { normal } from '../support/tensors.ts';

const sizes = fc.integer({ min: 1, max: 5 });
const value = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(0, -0, 0.25) },
  { weight: 1, arbitrary: fc.constantFrom(1, -2, Number.NaN, Number.POSITIVE_INFINITY) },
);

describe('dead units', () => {
  it('are those whose every element is near zero, on any axis', () => {
    fc.assert(
      fc.property(
        sizes,
        sizes,
        sizes,
        fc.nat(2),
        fc.infiniteStream(value),
        (a, b, c, axis, stream) => {
          const shape = [a, b, c];
          const data = Float32Array.from(stream.take(a * b * c));
          const dead = deadUnitsOf(data, shape, axis, 0.25);
          const plain = Array.from({ length: shape[axis] ?? 0 }, () => 1);
          data.forEach((x, i) => {
            const at = [Math.floor(i / (b * c)), Math.floor(i / c) % b, i % c][axis] ?? 0;
            if (!(Math.abs(x) <= 0.25)) plain[at] = 0;
          });
          expect([...dead]).toStrictEqual(plain);
          const search = new DeadUnitSearch(shape, axis, 0.25);
          for (let from = 0; from < data.length; from += search.stride)
            search.look(data, from, from + search.stride);
          expect([...search.found]).toStrictEqual(plain);
        },
      ),
      runs(300),
    );
  });

  it('are persistent after so many probes in a row', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 4 }),
        fc.array(fc.uint8Array({ minLength: 3, maxLength: 3, max: 1 }), { maxLength: 12 }),
        (probes, history) => {
          const dead = new DeadUnits(probes);
          history.forEach((flags, i) => {
            const found = dead.add('layer', flags);
            expect(found.now).toBe(flags.reduce((sum, flag) => sum + flag, 0));
            const last = history.slice(Math.max(0, i - probes + 1), i + 1);
            const persistent = [0, 1, 2].filter(
              (unit) => last.length === probes && last.every((probe) => probe[unit] === 1),
            );
            expect(found.persistent).toBe(persistent.length);
          });
        },
      ),
      runs(200),
    );
  });
});

describe('differences', () => {
  it('are those of float64, rounded once, for any stretch', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.float({ noNaN: true }), fc.float({ noNaN: true })), { maxLength: 50 }),
        fc.nat(50),
        fc.nat(50),
        (pairs, x, y) => {
          const after = Float32Array.from(pairs, ([a]) => a);
          const before = Float32Array.from(pairs, ([, b]) => b);
          const [from, to] = [Math.min(x, y), Math.max(x, y)].map((i) => Math.min(i, pairs.length));
          const { update, beforeSquares } = differenceOf(after, before, from ?? 0, to ?? 0);
          const part = pairs.slice(from, to);
          expect([...update]).toStrictEqual(part.map(([a, b]) => Math.fround(a - b)));
          const squares = part.map(([, b]) => b * b).filter(Number.isFinite);
          // Added in another order: 50 terms, none negative, each addition right to half a unit in the last place.
          const expected = squares.reduce((sum, square) => sum + square, 0);
          expect(Math.abs(beforeSquares - expected)).toBeLessThanOrEqual(2e-14 * expected);
        },
      ),
      runs(200),
    );
  });
});

describe('norms before an update', () => {
  it('leave out what is not finite, and nothing else', () => {
    const before = Float64Array.of(3, Number.NaN, 4, Number.POSITIVE_INFINITY);
    expect(differenceOf(before, before, 0, 4).beforeSquares).toBe(25);
    // Finite, with a square that is not: the sum is too large to be told, not that of the others.
    const large = Float64Array.of(3, 1e200);
    expect(differenceOf(large, large, 0, 2).beforeSquares).toBe(Number.POSITIVE_INFINITY);
  });
});

describe('the overhead budget', () => {
  /** Trains so many steps with a probe where the cadence has one; returns the share of time it took. */
  function train(
    budget: OverheadBudget,
    { steps, stepMs, probeMs, ownMs }: Record<'steps' | 'stepMs' | 'probeMs' | 'ownMs', number>,
  ): { readonly share: number; readonly choices: number } {
    let probes = 0;
    let choices = 0;
    for (let step = 0; step < steps; step++) {
      if (step % budget.slowdown !== 0) budget.plainStep(stepMs);
      else {
        probes += 1;
        if (budget.probedStep(stepMs + probeMs, ownMs) !== undefined) choices += 1;
      }
    }
    return { share: (probes * probeMs) / (steps * stepMs), choices };
  }

  it('is kept to, and not by probing less than it has to', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.01, max: 0.5, noNaN: true }),
        fc.double({ min: 0.1, max: 100, noNaN: true }),
        fc.double({ min: 0.01, max: 3, noNaN: true }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (share, stepMs, ratio, known) => {
          const budget = new OverheadBudget(share, 1);
          const probeMs = stepMs * ratio;
          const cost = { stepMs, probeMs, ownMs: probeMs * known };
          train(budget, { steps: 20_000, ...cost });
          const settled = train(budget, { steps: 20_000, ...cost });
          expect(settled.choices).toBe(0);
          expect(settled.share).toBeLessThanOrEqual(share * 1.3);
          if (budget.slowdown > 1) expect(settled.share).toBeGreaterThan(share / 4);
        },
      ),
      runs(60),
    );
  });

  it('is chosen once where steps differ by more than a probe takes', () => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const budget = new OverheadBudget(0.03, 1);
        const noise = normal(4_000, 0, 0.15, seed);
        let choices = 0;
        for (let step = 0; step < 4_000; step++) {
          // Wanted is a probe every 14th step; the times of steps spread by three times its cost.
          const stepMs = 0.5 * Math.exp(noise[step] ?? 0);
          if (step % budget.slowdown !== 0) budget.plainStep(stepMs);
          else if (budget.probedStep(stepMs + 0.2, 0.15) !== undefined) choices += 1;
        }
        expect(choices).toBeLessThan(12);
        expect(budget.slowdown).toBeGreaterThan(6);
        expect(budget.slowdown).toBeLessThan(28);
      }),
      runs(30),
    );
  });

  it('is not led astray by a machine that is busy now and then', () => {
    const budget = new OverheadBudget(0.03, 1);
    const most: number[] = [];
    for (let step = 0; step < 6_000; step++) {
      // Wanted is a probe every 14th step, however slow the machine is.
      const slow = Math.floor(step / 101) % 3 === 0 ? 6 : 1;
      if (step % budget.slowdown !== 0) budget.plainStep(0.5 * slow);
      else budget.probedStep(0.7 * slow, 0.15 * slow);
      most.push(budget.slowdown);
    }
    expect(Math.max(...most)).toBeLessThan(150);
  });

  it('is told at the first choice, also where that is what there was', () => {
    const budget = new OverheadBudget(0.1, 10);
    const choices = Array.from({ length: 40 }, () => budget.probedStep(1, 0.01)).filter(Boolean);
    expect(choices).toStrictEqual([
      {
        slowdown: 1,
        probeMs: expect.closeTo(0.01, 9),
        stepMs: expect.closeTo(0.99, 9),
        budget: 0.1,
      },
    ]);
  });

  it('probes more often again when probes have become cheap', () => {
    const budget = new OverheadBudget(0.05, 1);
    train(budget, { steps: 2_000, stepMs: 1, probeMs: 2, ownMs: 2 });
    expect(budget.slowdown).toBe(40);
    train(budget, { steps: 20_000, stepMs: 1, probeMs: 0.09, ownMs: 0.09 });
    expect(budget.slowdown).toBe(2);
  });
});
