import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  metricQuantity,
  paretoFront,
  runQuantity,
  summarizedMetrics,
  varyingSettings,
} from 'quark-sdk/analysis';
import { runs } from '../../../support/property.ts';

const better = { x: 'lower', y: 'higher' } as const;

it('has the pairs that no other beats, the best x first', () => {
  const pairs = [
    { x: 3, y: 0.9 },
    { x: 1, y: 0.5 },
    { x: 2, y: 0.4 },
    { x: 2, y: 0.8 },
    { x: 3, y: 0.9 },
    { x: null, y: 1 },
    { x: Number.NaN, y: 1 },
  ];
  expect(paretoFront(pairs, better)).toEqual([1, 3, 0, 4]);
  expect(paretoFront([], better)).toEqual([]);
});

it('is what every pair compared with every other gives', () => {
  const small = fc.integer({ min: -4, max: 4 });
  const direction = fc.constantFrom('lower' as const, 'higher' as const);
  fc.assert(
    fc.property(
      fc.array(fc.record({ x: small, y: small }), { maxLength: 30 }),
      fc.record({ x: direction, y: direction }),
      (pairs, directions) => {
        const gain = (a: number, b: number, way: string): number =>
          way === 'lower' ? b - a : a - b;
        const isBeaten = (one: { x: number; y: number }): boolean =>
          pairs.some((other) => {
            const [x, y] = [gain(other.x, one.x, directions.x), gain(other.y, one.y, directions.y)];
            return x >= 0 && y >= 0 && (x > 0 || y > 0);
          });
        const wanted = [...pairs.keys()].filter((at) => {
          const pair = pairs[at];
          return pair !== undefined && !isBeaten(pair);
        });
        expect(paretoFront(pairs, directions).toSorted((a, b) => a - b)).toEqual(wanted);
      },
    ),
    runs(200),
  );
});

it('quantities are settings and statistics of metrics, one value a run', () => {
  const summary = { last: 'NaN', last_at_ms: 1, best: 0.25, min: 0.25, max: 2 };
  const all = [
    {
      id: 'a',
      config: { lr: 0.1, net: { act: 'relu' }, seed: 1 },
      metricSummaries: { 'val/loss': summary },
    },
    { id: 'b', config: { lr: 0.01, net: { act: 'relu' }, layers: [1, 2] }, metricSummaries: {} },
  ];
  expect(varyingSettings(all)).toEqual(['layers', 'lr', 'seed']);
  expect(runQuantity(all, 'config.net.act')?.values).toEqual(['relu', 'relu']);
  expect(runQuantity(all, 'config.layers')?.values).toEqual([null, '[1,2]']);
  expect(runQuantity(all, 'metrics.val/loss.best')).toMatchObject({
    name: 'val/loss',
    statistic: 'best',
    direction: 'lower',
    values: [0.25, null],
  });
  expect(metricQuantity(all, 'val/loss', 'last').values).toEqual([null, null]);
  expect(runQuantity(all, 'val/loss')).toBeUndefined();
  expect(summarizedMetrics(all)).toEqual(['val/loss']);
});
