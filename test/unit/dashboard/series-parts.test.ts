import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createMemoryStore, MetricsLogger, TrainingSession, type Store } from 'quark-sdk';
import { AxisTrack, onAxis } from '../../../dashboard/charts/axis.ts';
import { EpochScaler, epochScaleOf } from '../../../dashboard/series/epoch-scale.ts';
import { splitLarge } from '../../../dashboard/charts/group.ts';
import { RunFeed } from '../../../dashboard/series/run-feed.ts';
import { SegmentWindow, windowEnd } from '../../../dashboard/series/segment-window.ts';
import { splitByMetric } from '../../../dashboard/series/series-parts.ts';
import { MetricSeries, SeriesSet, X_AXES } from '../../../dashboard/series/series.ts';
import { cachedOnAxis } from '../../../dashboard/charts/chart-data.ts';
import { runs } from '../../support/property.ts';

type Point = { key: number; value: number; step: number; epoch: number; time: number };

const place = fc.oneof(fc.integer({ min: 0, max: 12 }), fc.constant(Number.NaN));
const point: fc.Arbitrary<Point> = fc.record({
  key: fc.integer({ min: 0, max: 2 }),
  value: fc.oneof(fc.integer({ min: -5, max: 5 }), fc.constantFrom(Number.NaN, Infinity)),
  step: place,
  epoch: fc.oneof(fc.integer({ min: 0, max: 3 }), fc.constant(Number.NaN)),
  time: fc.integer({ min: 0, max: 9 }),
});
const KEYS = ['a', 'b', 'c'];

const columnsOf = (points: readonly Point[]) => ({
  rowCount: points.length,
  keys: KEYS,
  keyIndex: Int32Array.from(points, ({ key }) => key),
  values: Float64Array.from(points, ({ value }) => value),
  steps: Float64Array.from(points, ({ step }) => step),
  epochs: Float64Array.from(points, ({ epoch }) => epoch),
  timestampsMs: Float64Array.from(points, ({ time }) => time * 1000),
});

/** The points of a series on an axis in the plainest way. */
function plainly(
  series: MetricSeries,
  axis: (typeof X_AXES)[number],
  scale: ReturnType<typeof epochScaleOf>,
): { xs: number[]; ys: number[] } {
  const xs = Array.from({ length: series.length }, (_, at) => {
    const [step, epoch] = [series.steps[at] ?? NaN, series.epochs[at] ?? NaN];
    if (axis === 'step') return step;
    if (axis === 'time') return ((series.timesMs[at] ?? NaN) - 500) / 1000;
    const first = scale.firstStep.get(epoch);
    return Number.isNaN(step) || first === undefined
      ? epoch
      : epoch + Math.min(1, (step - first) / scale.stepsPerEpoch);
  });
  const order = [...xs.keys()]
    .filter((at) => !Number.isNaN(xs[at]))
    .toSorted((a, b) => (xs[a] ?? 0) - (xs[b] ?? 0) || a - b)
    .filter((at, i, all) => axis === 'time' || xs[at] !== xs[all[i + 1] ?? -1]);
  return {
    xs: order.map((at) => xs[at] ?? NaN),
    ys: order.map((at) => series.values[at] ?? NaN),
  };
}

describe('points that come in parts', () => {
  it('are the same series as all of them at once, however they are cut', () => {
    fc.assert(
      fc.property(
        fc.array(point, { maxLength: 60 }),
        fc.integer({ min: 1, max: 20 }),
        (all, size) => {
          const whole = new SeriesSet();
          for (const { key, value, step, epoch, time } of all)
            whole.append(columnsOf([{ key, value, step, epoch, time }]));
          const cut = new SeriesSet();
          for (let at = 0; at < all.length; at += size)
            cut.append(columnsOf(all.slice(at, at + size)));
          expect(cut.keys.toSorted()).toEqual(whole.keys.toSorted());
          expect(cut.pointCount).toBe(all.length);
          for (const key of whole.keys) {
            const [one, other] = [cut.get(key), whole.get(key)];
            for (const column of ['values', 'steps', 'epochs', 'timesMs'] as const)
              expect(one?.[column]).toEqual(other?.[column]);
            expect(one?.nonFiniteCount).toBe(
              other?.values.filter((value) => !Number.isFinite(value)).length,
            );
            expect(one?.stepRange).toEqual(other?.stepRange);
          }
          expect(cut.epochScale).toEqual(epochScaleOf(whole.all()));
        },
      ),
      runs(200),
    );
  });

  it('lie on every axis as they do when looked at once', () => {
    fc.assert(
      fc.property(
        fc.array(point, { maxLength: 60 }),
        fc.integer({ min: 1, max: 20 }),
        fc.constantFrom(...X_AXES),
        (all, size, axis) => {
          const set = new SeriesSet();
          set.append(columnsOf(all));
          const scale = set.epochScale;
          const series = set.get('a');
          if (series === undefined) return;
          const growing = new MetricSeries('a');
          const track = new AxisTrack(growing, axis, 500, scale);
          let before: Float64Array = new Float64Array(0);
          for (let at = 0; at < series.length; at += 1) {
            growing.push(
              series.values[at] ?? NaN,
              series.steps[at] ?? NaN,
              series.epochs[at] ?? NaN,
              series.timesMs[at] ?? NaN,
            );
            if (at % size !== 0) continue;
            const { xs, ys, stableCount } = track.update();
            expect(xs.length).toBe(ys.length);
            expect(xs.subarray(0, stableCount)).toEqual(before.subarray(0, stableCount));
            before = xs.slice();
          }
          const grown = track.update();
          const expected = plainly(series, axis, scale);
          expect([...grown.xs]).toEqual(expected.xs);
          expect([...grown.ys]).toEqual(expected.ys);
          const { missingCount, repeatedCount } = onAxis(series, axis, 500, scale);
          expect([grown.missingCount, grown.repeatedCount]).toEqual([missingCount, repeatedCount]);
          expect(missingCount + repeatedCount + grown.xs.length).toBe(series.length);
        },
      ),
      runs(400),
    );
  });

  it('span what they say they span on an axis', () => {
    fc.assert(
      fc.property(fc.array(point, { maxLength: 40 }), fc.constantFrom(...X_AXES), (all, axis) => {
        const set = new SeriesSet();
        set.append(columnsOf(all));
        const places = set.all().flatMap((one) => [...onAxis(one, axis, 500, set.epochScale).xs]);
        const extent = set.extent(axis, 500);
        if (places.length === 0) expect(extent).toBeUndefined();
        else {
          expect(extent?.min).toBe(Math.min(...places));
          expect(extent?.max).toBe(Math.max(...places));
        }
      }),
      runs(300),
    );
  });

  it('keep the scale of epochs as long as no point moves', () => {
    const scaler = new EpochScaler();
    for (let step = 0; step < 10; step += 1) scaler.add(step, 0);
    const first = scaler.scale;
    for (let step = 10; step < 15; step += 1) scaler.add(step, 1);
    expect(scaler.scale).toBe(first);
    for (let step = 15; step < 25; step += 1) scaler.add(step, 1);
    expect(scaler.scale).not.toBe(first);
    expect(scaler.scale.stepsPerEpoch).toBe(15);
  });

  it('are drawn from the same index of blocks as long as nothing before them changes', () => {
    const series = new MetricSeries('a');
    const scale = { firstStep: new Map(), stepsPerEpoch: 1 };
    for (let at = 0; at < 100; at += 1) series.push(at, at, NaN, 0);
    const { stableCount } = cachedOnAxis(series, 'step', 0, scale);
    expect(stableCount).toBe(0);
    series.push(1, 50, NaN, 0);
    expect(cachedOnAxis(series, 'step', 0, scale).stableCount).toBe(0);
    series.push(2, 200, NaN, 0);
    expect(cachedOnAxis(series, 'step', 0, scale).stableCount).toBe(100);
  });

  it('share one buffer a metric, so that a worker hands it over as it is', () => {
    const { parts } = splitByMetric(columnsOf([{ key: 1, value: 1, step: 2, epoch: 3, time: 4 }]));
    expect(parts.map(({ key }) => key)).toEqual(['b']);
    const [part] = parts;
    expect(
      new Set([part?.values, part?.steps, part?.epochs, part?.timesMs].map((one) => one?.buffer))
        .size,
    ).toBe(1);
    expect([part?.values[0], part?.steps[0], part?.epochs[0], part?.timesMs[0]]).toEqual([
      1, 2, 3, 4000,
    ]);
  });
});

describe('a window of segments', () => {
  const segment = (firstSequence: number, lastSequence: number) => ({
    rowCount: lastSequence - firstSequence + 1,
    firstSequence,
    lastSequence,
  });

  it('ends where nothing of the rest belongs before its last row', () => {
    const apart = [segment(0, 9), segment(10, 19), segment(20, 29)];
    expect(windowEnd(apart, 10)).toBe(1);
    expect(windowEnd(apart, 11)).toBe(2);
    expect(windowEnd(apart, 1000)).toBe(3);
    expect(windowEnd([], 10)).toBe(0);
    const across = [segment(0, 25), segment(1, 12), segment(13, 30), segment(31, 40)];
    expect(windowEnd(across, 10)).toBe(3);
  });

  const filled = async (batches: number): Promise<{ store: Store; runId: string }> => {
    const store = createMemoryStore();
    const session = await TrainingSession.startRun({
      project: 'long',
      config: {},
      storage: store,
      handleSignals: false,
    });
    const metrics = new MetricsLogger(session);
    for (let batch = 0; batch < batches; batch += 1) {
      for (let at = 0; at < 10; at += 1) metrics.log('loss', batch, { step: batch * 10 + at });
      await session.flush();
    }
    return { store, runId: session.runId };
  };

  it('shows the next rows of a table and says where it ends', async () => {
    const { store, runId } = await filled(5);
    const window = new SegmentWindow(store, 20);
    const shown = await window.store.listSegments({ runId, table: 'metrics' });
    expect(shown.map(({ lastSequence }) => lastSequence)).toEqual([9, 19]);
    expect(window.endOf(runId, 'metrics')).toBe(19);
    await window.store.listSegments({ runId, table: 'metrics', sequenceMin: 40 });
    expect(window.endOf(runId, 'metrics')).toBeUndefined();
    expect(await window.store.findRun(runId)).toBeDefined();
  });

  it('lets a long run come in several polls, every point once', async () => {
    const { store, runId } = await filled(0);
    const session = await TrainingSession.startRun({
      project: 'long',
      config: {},
      storage: store,
      handleSignals: false,
    });
    const metrics = new MetricsLogger(session, { batchSize: 30_000 });
    for (let at = 0; at < 130_000; at += 1) {
      metrics.log('loss', at, { step: at });
      if (at % 30_000 === 29_999) await session.flush();
    }
    await session.flush();
    const feed = await RunFeed.open(store, session.runId);
    expect(feed.hasMore).toBe(true);
    expect(feed.series.get('loss')?.length).toBe(60_000);
    let polls = 0;
    while (feed.hasMore) {
      await feed.poll();
      polls += 1;
    }
    expect(polls).toBeGreaterThan(0);
    const { values = new Float64Array() } = feed.series.get('loss') ?? {};
    expect(values).toEqual(Float64Array.from({ length: 130_000 }, (_, at) => at));
    expect(await feed.poll()).toMatchObject({ metrics: false });
    expect(runId).not.toBe(session.runId);
    await session.endRun();
  });
});

describe('charts of many curves', () => {
  it('are cut into several', () => {
    const keys = Array.from({ length: 70 }, (_, at) => `layer${at}/norm`);
    const groups = splitLarge(
      [
        { id: 'x', title: 'x', keys: ['x'] },
        { id: 'norm', title: 'norm', keys },
      ],
      32,
    );
    expect(groups.map(({ id, keys: { length } }) => [id, length])).toEqual([
      ['x', 1],
      ['norm#1', 32],
      ['norm#2', 32],
      ['norm#3', 6],
    ]);
    expect(groups.slice(1).flatMap((group) => group.keys)).toEqual(keys);
  });
});
