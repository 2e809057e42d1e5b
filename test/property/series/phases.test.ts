/** What phases must not depend on, and what always holds of them. */
import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import {
  createMetricSeries,
  findPhases,
  findRoleSeries,
  loadSeriesKernel,
  type FoundPhase,
  type MetricSeries,
  type RoleSeries,
  type SeriesKernel,
} from 'quark-sdk/analysis';
import { byStep, noiseFrom, roles } from '../../support/loss-curves.ts';
import { runs } from '../../support/property.ts';

let kernel: SeriesKernel;
beforeAll(async () => {
  kernel = await loadSeriesKernel();
});

/** What a made-up run looks like: a fall, noise, a jump at some share of the run, spikes, NaN. */
type Shape = {
  readonly length: number;
  readonly seed: number;
  readonly noise: number;
  readonly rate: number;
  readonly floor: number;
  readonly jumpAt: number;
  readonly jump: number;
  readonly spikes: number;
  readonly nanFrom: number;
  readonly valEvery: number;
  readonly valRise: number;
};

const shape: fc.Arbitrary<Shape> = fc.record({
  length: fc.oneof(
    fc.integer({ min: 0, max: 40 }),
    fc.integer({ min: 41, max: 260 }),
    fc.integer({ min: 261, max: 3000 }),
  ),
  seed: fc.nat(),
  noise: fc.constantFrom(0, 0.001, 0.02, 0.2),
  rate: fc.constantFrom(0, 0.5, 3, 20, 100),
  floor: fc.constantFrom(-3, 0, 0.001, 0.3, 5),
  jumpAt: fc.double({ min: 0, max: 1.3, noNaN: true }),
  jump: fc.constantFrom(0, 0.05, 0.5, 3, 100),
  spikes: fc.constantFrom(0, 0.01, 0.2),
  nanFrom: fc.constantFrom(0, 0.4, 0.9, 2, 2, 2),
  valEvery: fc.constantFrom(0, 1, 7, 100),
  valRise: fc.constantFrom(0, 0.3, 2),
});

function seriesOf(one: Shape, factor = 1): RoleSeries {
  const { floor, jump, jumpAt, length, nanFrom, noise, rate, seed, spikes, valEvery, valRise } =
    one;
  const next = noiseFrom(seed);
  const train: number[] = [];
  const val: number[] = [];
  for (let i = 0; i < length; i++) {
    const share = length > 1 ? i / (length - 1) : 0;
    const base = floor + 2 * Math.exp(-rate * share);
    const risen = share > jumpAt ? base + jump : base;
    const spike = Math.abs(next()) < spikes ? 10 * Math.abs(next()) : 0;
    const value = risen + noise * next() + spike;
    train.push(factor * (share > nanFrom ? Number.NaN : value));
    if (valEvery > 0 && i % valEvery === 0)
      val.push(factor * (base + 0.2 + valRise * Math.max(0, share - 0.5) + noise * next()));
  }
  return roles({
    trainLoss: byStep('train/loss', train),
    valLoss: valEvery > 0 ? byStep('val/loss', val, valEvery) : null,
  });
}

const phasesOf = (series: RoleSeries): readonly FoundPhase[] => findPhases(series, {}, kernel);
const outline = (phases: readonly FoundPhase[]): readonly [string, number][] =>
  phases.map(({ phaseName, start }) => [phaseName, start]);

test('phases cover the run, in order, without gap or overlap, and are sure by 0 to 1', () => {
  fc.assert(
    fc.property(shape, (one) => {
      const series = seriesOf(one);
      const found = phasesOf(series);
      const { trainLoss, valLoss } = series;
      const places = [trainLoss, valLoss].flatMap((each) => [...(each?.steps ?? [])]);
      expect(found.length === 0).toBe(places.length === 0);
      if (places.length === 0) return;
      expect(found[0]?.start).toBe(Math.min(...places));
      expect(found.at(-1)?.end).toBe(Math.max(...places));
      found.forEach((phase, i) => {
        expect(phase.end).toBeGreaterThanOrEqual(phase.start);
        if (i > 0) {
          expect(phase.start).toBe((found[i - 1]?.end ?? 0) + 1);
          expect(phase.phaseName).not.toBe(found[i - 1]?.phaseName);
        }
        expect(phase.confidence).toBeGreaterThanOrEqual(0);
        expect(phase.confidence).toBeLessThanOrEqual(1);
        expect(phase.evidence.length).toBeGreaterThan(0);
        expect(phase.summary).not.toMatch(/undefined|NaN %|Infinity/);
      });
    }),
    runs(200),
  );
});

test('the unit of the loss does not matter', () => {
  fc.assert(
    fc.property(shape, fc.constantFrom(2 ** -20, 0.5, 1024), (one, factor) => {
      expect(outline(phasesOf(seriesOf(one, factor)))).toEqual(outline(phasesOf(seriesOf(one))));
    }),
    runs(100),
  );
});

test('a unit that is no power of two moves a boundary at most where a value lies on a threshold', () => {
  let same = 0;
  let all = 0;
  fc.assert(
    fc.property(shape, fc.double({ min: 1e-6, max: 1e6, noNaN: true }), (one, factor) => {
      fc.pre(one.noise > 0);
      all++;
      const a = outline(phasesOf(seriesOf(one, factor)));
      const b = outline(phasesOf(seriesOf(one)));
      if (JSON.stringify(a) === JSON.stringify(b)) same++;
    }),
    runs(100),
  );
  expect(same / all).toBeGreaterThan(0.97);
});

test('the numbering of steps does not matter', () => {
  fc.assert(
    fc.property(shape, fc.integer({ min: 2, max: 1000 }), (one, factor) => {
      const series = seriesOf(one);
      const renumber = (each: MetricSeries | null): MetricSeries | null =>
        each === null ? null : { ...each, steps: each.steps.map((step) => step * factor) };
      const renumbered = roles({
        trainLoss: renumber(series.trainLoss),
        valLoss: renumber(series.valLoss),
      });
      expect(outline(phasesOf(renumbered))).toEqual(
        outline(phasesOf(series)).map(([name, start]) => [name, start * factor]),
      );
    }),
    runs(100),
  );
});

test('other metrics and the order of arrival do not matter', () => {
  fc.assert(
    fc.property(shape, fc.nat(), (one, seed) => {
      const { trainLoss, valLoss } = seriesOf(one);
      const next = noiseFrom(seed);
      const late = (each: MetricSeries | null): readonly MetricSeries[] => {
        if (each === null) return [];
        const order = Array.from(each.values, (_, i) => ({ i, at: i + 5 * Math.abs(next()) }))
          .toSorted((a, b) => a.at - b.at)
          .map(({ i }) => i);
        return [
          createMetricSeries(each.key, {
            steps: order.map((i) => each.steps[i] ?? 0),
            values: order.map((i) => each.values[i] ?? 0),
          }),
        ];
      };
      const noise = byStep('train/grad_norm', Array.from({ length: 50 }, next), 3);
      const metrics = [noise, ...late(valLoss), byStep('test/loss', [9, 8]), ...late(trainLoss)];
      const found = findRoleSeries(new Map(metrics.map((each) => [each.key, each])));
      const whole = roles({
        trainLoss: trainLoss?.values.length === 0 && valLoss === null ? null : trainLoss,
        valLoss,
      });
      fc.pre((whole.trainLoss?.values.some(Number.isFinite) ?? true) && one.length > 0);
      expect(phasesOf(found)).toEqual(phasesOf(whole));
    }),
    runs(75),
  );
});

test('the twin in plain JavaScript finds the same', () => {
  fc.assert(
    fc.property(shape, (one) => {
      const series = seriesOf(one);
      expect(outline(findPhases(series))).toEqual(outline(phasesOf(series)));
    }),
    runs(30),
  );
});
