import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { onAxis } from '../../../dashboard/charts/plot/axis.ts';
import { curveOf } from '../../../dashboard/charts/chart-data.ts';
import type { ShownCurve } from '../../../dashboard/charts/legend.tsx';
import { placeTooltip } from '../../../dashboard/charts/plot/place-tooltip.ts';
import { nextPointX, tooltipRows } from '../../../dashboard/charts/tooltip-rows.ts';
import { SampleSeries } from '../../../dashboard/series/series.ts';
import { runs } from '../../support/property.ts';

const bounds = { left: 0, top: 0, right: 800, bottom: 400 };

describe('the tooltip', () => {
  it('never covers the line of the pointer where there is room on a side', () => {
    fc.assert(
      fc.property(
        fc.record({
          left: fc.integer({ min: 0, max: 800 }),
          top: fc.integer({ min: 0, max: 400 }),
        }),
        fc.array(
          fc.record({
            left: fc.integer({ min: 0, max: 800 }),
            top: fc.integer({ min: 0, max: 400 }),
          }),
          { maxLength: 60 },
        ),
        fc.integer({ min: 60, max: 380 }),
        fc.integer({ min: 30, max: 300 }),
        (pointer, curves, width, height) => {
          const spot = placeTooltip({ pointer, curves, width, height, bounds });
          const coversPointer = spot.left <= pointer.left && spot.left + width >= pointer.left;
          expect(coversPointer).toBe(false);
          expect(spot.left).toBeGreaterThanOrEqual(0);
          expect(spot.left + width).toBeLessThanOrEqual(800);
          expect(spot.top).toBeGreaterThanOrEqual(0);
          expect(spot.top + height).toBeLessThanOrEqual(400);
        },
      ),
      runs(200),
    );
  });

  it('goes to the side where no curve is', () => {
    const curves = Array.from({ length: 40 }, (_, at) => ({ left: 400 + at * 8, top: 200 }));
    const room = { pointer: { left: 400, top: 200 }, width: 150, height: 80, bounds };
    expect(placeTooltip({ ...room, curves }).left).toBeLessThan(400 - 150);
    expect(
      placeTooltip({ ...room, curves: curves.map(({ left, top }) => ({ left: 800 - left, top })) })
        .left,
    ).toBeGreaterThan(400);
  });

  it('stays on its side while that is as good', () => {
    const room = { pointer: { left: 400, top: 200 }, width: 150, height: 80, bounds, curves: [] };
    const left = { left: 200, top: 160 };
    expect(placeTooltip({ ...room, before: left }).left).toBeLessThan(400);
    expect(placeTooltip(room).left).toBeGreaterThan(400);
  });
});

const frame = {
  left: 0,
  top: 0,
  width: 100,
  height: 100,
  x: { min: 0, max: 99, isLog: false },
  y: { min: 0, max: 100, isLog: false },
};

function curve(key: string, ys: readonly number[], isHidden = false): ShownCurve {
  const series = new SampleSeries(key);
  for (const [at, y] of ys.entries()) series.push(y, at, Number.NaN, at);
  const points = onAxis(series, 'step', 0, { firstStep: new Map(), stepsPerEpoch: 1 });
  const made = curveOf(key, '#000', points, undefined);
  return { ...made, style: { color: 0, dash: 0 }, isHidden, series };
}

describe('what the tooltip tells', () => {
  it('is sorted by value, with what is no number last', () => {
    const curves = [
      curve('a', [1, 2]),
      curve('b', [5, Number.NaN]),
      curve('c', [3, 9]),
      curve('d', [8, 8], true),
    ];
    const { rows, hiddenCount } = tooltipRows(curves, frame, { x: 1, top: undefined }, 8);
    expect(rows.map(({ curve: { key } }) => key)).toEqual(['c', 'a', 'b']);
    expect(hiddenCount).toBe(0);
  });

  it('is of many curves those nearest to the pointer, and how many more there are', () => {
    const curves = Array.from({ length: 30 }, (_, at) => curve(`c${at}`, [at * 3, at * 3]));
    const { rows, hiddenCount } = tooltipRows(curves, frame, { x: 0, top: 100 - 31 }, 4);
    expect(rows.map(({ value }) => value)).toEqual([36, 33, 30, 27]);
    expect(hiddenCount).toBe(26);
  });

  it('says nothing of a curve where it has no point', () => {
    expect(tooltipRows([curve('a', [1, 2])], frame, { x: 50, top: 0 }, 8).rows).toEqual([]);
  });

  it('says from where to where the points of a pixel go', () => {
    const ys = Array.from({ length: 10_000 }, (_, at) => at % 7);
    const wide = { ...frame, x: { min: 0, max: 9_999, isLog: false } };
    const [row] = tooltipRows([curve('a', ys)], wide, { x: 5_000, top: 0 }, 8).rows;
    expect(row?.pixel).toMatchObject({ min: 0, max: 6 });
    expect(row?.pixel?.count).toBeGreaterThan(90);
    const [single] = tooltipRows([curve('a', [1, 2, 3])], frame, { x: 1, top: 0 }, 8).rows;
    expect(single?.pixel).toBeUndefined();
  });

  it('goes to the next point of any curve, at least a pixel further, and not out of sight', () => {
    const curves = [curve('a', [0, 1, 2, 3, 4, 5])];
    expect(nextPointX(curves, frame, 2, 1)).toBe(3);
    expect(nextPointX(curves, frame, 2, -1)).toBe(1);
    expect(nextPointX(curves, frame, 5, 1)).toBeUndefined();
    const close = { ...frame, x: { min: 0, max: 2, isLog: false } };
    expect(nextPointX(curves, close, 2, 1)).toBeUndefined();
  });
});
