import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createMemoryStore, MetricsLogger, TrainingSession } from 'quark-sdk';
import { CompareFeed } from '../../../dashboard/compare/compare-feed.ts';
import { ComparedRuns } from '../../../dashboard/compare/compared-runs.ts';
import { ComparedCurves } from '../../../dashboard/compare/charts/compared-curves.ts';
import { comparedCurve, curveKeys } from '../../../dashboard/compare/charts/curve-keys.ts';
import { placedOn } from '../../../dashboard/charts/chart-data.ts';
import { signal } from '@preact/signals';
import { BRUSHES, brushByKey, goesThrough, withBrush } from '../../../dashboard/compare/brushes.ts';
import { cutMiddle, quantityScale } from '../../../dashboard/compare/quantity-scale.ts';
import { runs } from '../../support/property.ts';

describe('the scale of a quantity', () => {
  it('is logarithmic where values are positive and far apart', () => {
    const scale = quantityScale([1e-4, 0.01, 0.1, null], undefined);
    expect(scale.kind).toBe('log');
    expect(scale.ticks.map(({ label }) => label)).toEqual(['1e-4', '0.01', '0.1']);
    expect(scale.at(0)).toBeUndefined();
    expect(scale.at(null)).toBeUndefined();
    expect(quantityScale([0, 10, 1000], undefined).kind).toBe('linear');
    expect(quantityScale([0, 10, 1000], true).at(0)).toBeUndefined();
    expect(quantityScale([1, 2, 3], undefined)).toMatchObject({ kind: 'linear', fitsLog: false });
  });

  it('is of categories where any value is a text', () => {
    const scale = quantityScale(['sgd', 'adam', 3, null], undefined);
    expect(scale.kind).toBe('category');
    expect(scale.ticks.map(({ label }) => label)).toEqual(['3', 'adam', 'sgd']);
    expect(scale.at('adam')).toBe(0.5);
    expect(scale.at(null)).toBeUndefined();
  });

  it('has every value on the axis, in its order', () => {
    const number = fc.double({ noNaN: true, noDefaultInfinity: true });
    fc.assert(
      fc.property(fc.array(number, { minLength: 1, maxLength: 20 }), (values) => {
        const { at } = quantityScale(values, undefined);
        const sorted = values.toSorted((a, b) => a - b).map((value) => at(value) ?? -1);
        for (const [i, share] of sorted.entries()) {
          expect(share).toBeGreaterThanOrEqual(0);
          expect(share).toBeLessThanOrEqual(1);
          expect(share).toBeGreaterThanOrEqual((sorted[i - 1] ?? 0) - 1e-9);
        }
      }),
      runs(100),
    );
  });
});

it('parts of axes are made, moved and taken away by keys', () => {
  const first = brushByKey(undefined, 'ArrowUp')?.brush;
  expect(first).toEqual({ from: 0.5, to: 1 });
  expect(brushByKey(first, 'ArrowDown')?.brush?.from).toBeCloseTo(0.45, 12);
  expect(brushByKey(first, 'ArrowUp')?.brush).toEqual({ from: 0.55, to: 1 });
  expect(brushByKey(first, '-')?.brush?.from).toBeCloseTo(0.55, 12);
  expect(brushByKey(first, 'Escape')).toEqual({ brush: undefined });
  expect(brushByKey(first, 'a')).toBeUndefined();
  const brushes = withBrush(new Map(), 'lr', { from: 0.9, to: 0.4 });
  expect(brushes.get('lr')).toEqual({ from: 0.4, to: 0.9 });
  expect(goesThrough(brushes, () => 0.4)).toBe(true);
  expect(goesThrough(brushes, () => 0.3)).toBe(false);
  expect(goesThrough(brushes, () => undefined)).toBe(false);
  expect(withBrush(brushes, 'lr', { from: 0.5, to: 0.501 }).size).toBe(0);
});

it('parts of axes are written in an address and read from one that anybody wrote', () => {
  expect(BRUSHES.write(new Map())).toBeUndefined();
  const brushes = new Map([
    ['metrics.a/b:c,d.last', { from: 0.25, to: 1 }],
    ['config.lr', { from: 0, to: 1 / 3 }],
  ]);
  const text = BRUSHES.write(brushes);
  expect(text).toBe('metrics.a%2Fb%3Ac%2Cd.last:0.25:1,config.lr:0:0.3333');
  expect(BRUSHES.read(text)).toEqual(new Map([...brushes, ['config.lr', { from: 0, to: 0.3333 }]]));
  expect(BRUSHES.read(undefined).size).toBe(0);
  expect(BRUSHES.read('a:1:0,b:x:1,c,d:0.1:0.5:1,e:0.5:0.5,f:0:9').get('f')).toEqual({
    from: 0,
    to: 1,
  });
  expect(BRUSHES.read('a:1:0,b:x:1,c,d:0.1:0.5:1,e:0.5:0.5,%:0:1')).toEqual(
    new Map([['%', { from: 0, to: 1 }]]),
  );
});

it('names are cut in the middle', () => {
  expect(cutMiddle('digits-lr0.001-seed-7', 11)).toBe('digit…eed-7');
  expect(cutMiddle('😀😀😀😀', 3)).toBe('😀…😀');
});

describe('compared runs', () => {
  it('have records, names and how they ended; curves of groups are means on the axis', async () => {
    const store = createMemoryStore();
    const ids: string[] = [];
    for (let seed = 0; seed < 2; seed += 1) {
      const session = await TrainingSession.startRun({
        project: 'p',
        storage: store,
        name: `s${seed}`,
        config: { seed },
        handleSignals: false,
      });
      const metrics = new MetricsLogger(session);
      for (let step = 0; step < 5; step += 1) {
        metrics.log('train/loss', seed * 2 + step, { step: step * 2 });
        metrics.log('val/loss', step, { step });
        metrics.log('tokens', step * 100 * (seed + 1), { step: step * 2 });
      }
      await session.endRun();
      ids.push(session.runId);
    }
    const records = new ComparedRuns(store, [...ids, 'run_none', ids[0] ?? '']);
    expect(await records.poll()).toBe(true);
    expect(await records.poll()).toBe(false);
    expect(records.runIds).toEqual([...ids, 'run_none']);
    expect(records.summaries.map(({ run }) => run.name)).toEqual(['s0', 's1']);

    const feed = new CompareFeed(store);
    feed.show(ids);
    feed.want(new Set());
    await feed.poll();
    expect(feed.isRead('train/loss')).toBe(false);
    feed.want(new Set(['train/loss']));
    await feed.poll();
    expect(feed.isRead('train/loss')).toBe(true);
    expect(feed.get(ids[0] ?? '', 'val/loss')).toBeUndefined();
    const state: ConstructorParameters<typeof ComparedCurves>[0] = {
      feed,
      grouping: signal(undefined),
      band: signal('range'),
    };
    const curves = new ComparedCurves(state);
    const columns = ids.map((id, at) => ({ key: id, name: `s${at}`, runIds: [id] }));
    curves.show(columns);
    const [first = '', second = ''] = curveKeys(['train/loss'], ids);
    expect(curves.get(first, 'step')).toBe(feed.get(ids[0] ?? '', 'train/loss'));
    expect(curves.nameOf(second)).toBe('s1');
    expect(curves.extentOf('step', [first])).toEqual({ min: 0, max: 8 });
    const [, , other = ''] = curveKeys(['train/loss', '= val/loss * 2'], ids);
    expect(comparedCurve(other)).toEqual({ owner: ids[0], metric: '= val/loss * 2', at: 1 });
    expect(curves.nameOf(other)).toBe('s0 · val/loss * 2');
    expect(curves.metricsOf(['= val/loss * 2'])).toEqual(['val/loss']);
    feed.want(new Set(['train/loss', 'val/loss', 'tokens']));
    await feed.poll();
    expect([...(curves.get(other, 'step')?.values ?? [])]).toEqual([0, 2, 4, 6, 8]);

    // Groups: the mean with its band, on any axis.
    state.grouping.value = 'config';
    curves.show([{ key: 'g', name: 'all', runIds: ids }]);
    const [key = ''] = curveKeys(['train/loss'], ['g']);
    const mean = curves.get(key, 'step');
    expect([...(mean?.steps ?? [])]).toEqual([0, 2, 4, 6, 8]);
    expect([...(mean?.values ?? [])]).toEqual([1, 2, 3, 4, 5]);
    expect([...(curves.spreadOf(key, 'step')?.high ?? [])]).toEqual([2, 3, 4, 5, 6]);
    expect(curves.get(key, 'step')).toBe(mean);
    expect(curves.get(curveKeys(['none'], ['g'])[0] ?? '', 'step')).toBeUndefined();
    // The loss of the first run is tokens / 100, that of the second 2 + tokens / 200.
    const series = curves.get(key, 'metric:tokens');
    const by = curves.axisMetricOf(key, 'tokens');
    if (series === undefined) throw new Error('There is no mean.');
    const placed = placedOn('metric:tokens', { series, by, ...curves.originOf(key) });
    const at200 = placed?.xs.indexOf(200) ?? -1;
    expect(placed?.ys[at200]).toBe((2 + 3) / 2);
    expect(placed?.xs.at(-1)).toBe(800);
    await store.close();
  });
});
