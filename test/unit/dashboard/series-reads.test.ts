import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import {
  createMemoryStore,
  MetricsLogger,
  RunReader,
  TrainingSession,
  type SeriesRead,
  type Store,
} from 'quark-sdk';
import { AxisTrack, onAxis } from '../../../dashboard/charts/plot/axis.ts';
import { EpochScaler } from '../../../dashboard/series/epoch-scale.ts';
import { epochScaleOf } from './epoch-scales.ts';
import { splitLarge } from '../../../dashboard/charts/group.ts';
import { RunFeed } from '../../../dashboard/series/run-feed.ts';
import { SegmentWindow, windowEnd } from '../../../dashboard/series/segment-window.ts';
import { SampleSeries, SeriesSet, X_AXES } from '../../../dashboard/series/series.ts';
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

/** The points as a reader returns them: one series a key, without a column that nothing was recorded in. */
const readOf = (points: readonly Point[]) => {
  const keys = [...new Set(points.map(({ key }) => key))];
  return {
    rowCount: points.length,
    series: keys.map((index) => {
      const own = points.filter(({ key }) => key === index);
      const orNull = (column: Float64Array<ArrayBuffer>) =>
        column.every((value) => Number.isNaN(value)) ? null : column;
      return {
        key: KEYS[index] ?? '',
        values: Float64Array.from(own, ({ value }) => value),
        steps: orNull(Float64Array.from(own, ({ step }) => step)),
        epochs: orNull(Float64Array.from(own, ({ epoch }) => epoch)),
        timesMs: Float64Array.from(own, ({ time }) => time * 1000),
      };
    }),
  };
};

/** The points of a series on an axis in the plainest way. */
function plainly(
  series: SampleSeries,
  axis: (typeof X_AXES)[number],
  scale: ReturnType<typeof epochScaleOf>,
): { xs: number[]; ys: number[] } {
  const xs = Array.from({ length: series.length }, (_, at) => {
    const [step, epoch] = [series.steps[at] ?? NaN, series.epochs[at] ?? NaN];
    if (axis === 'step') return step;
    if (axis === 'time') return ((series.timesMs[at] ?? NaN) - 500) / 1000;
    if (axis === 'wall') return (series.timesMs[at] ?? NaN) / 1000;
    const first = scale.firstStep.get(epoch);
    return Number.isNaN(step) || first === undefined
      ? epoch
      : epoch + Math.min(1, (step - first) / scale.stepsPerEpoch);
  });
  const order = [...xs.keys()]
    .filter((at) => !Number.isNaN(xs[at]))
    .toSorted((a, b) => (xs[a] ?? 0) - (xs[b] ?? 0) || a - b)
    .filter((at, i, all) => axis === 'time' || axis === 'wall' || xs[at] !== xs[all[i + 1] ?? -1]);
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
            whole.push(KEYS[key] ?? '', value, step, epoch, time * 1000);
          const cut = new SeriesSet();
          for (let at = 0; at < all.length; at += size) cut.take(readOf(all.slice(at, at + size)));
          expect(cut.keys.toSorted()).toEqual(whole.keys.toSorted());
          expect(cut.pointCount).toBe(all.length);
          for (const key of whole.keys) {
            const [one, other] = [cut.get(key), whole.get(key)];
            for (const column of ['values', 'steps', 'epochs', 'timesMs'] as const)
              expect(one?.[column]).toEqual(other?.[column]);
            expect(one?.nonFiniteCount).toBe(
              other?.values.filter((value) => !Number.isFinite(value)).length,
            );
            expect(one?.rangeOn('step')).toEqual(other?.rangeOn('step'));
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
          set.take(readOf(all));
          const scale = set.epochScale;
          const series = set.get('a');
          if (series === undefined) return;
          const growing = new SampleSeries('a');
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
          for (const [at, y] of grown.ys.entries())
            expect(series.values[grown.rows?.[at] ?? at]).toBe(y);
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
        set.take(readOf(all));
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
    const series = new SampleSeries('a');
    const scale = { firstStep: new Map(), stepsPerEpoch: 1 };
    for (let at = 0; at < 100; at += 1) series.push(at, at, NaN, 0);
    const { stableCount } = cachedOnAxis(series, 'step', 0, scale);
    expect(stableCount).toBe(0);
    series.push(1, 50, NaN, 0);
    expect(cachedOnAxis(series, 'step', 0, scale).stableCount).toBe(0);
    series.push(2, 200, NaN, 0);
    expect(cachedOnAxis(series, 'step', 0, scale).stableCount).toBe(100);
  });

  it('become the series as they are, and later ones are copied once', () => {
    const column = (first: number) => Float64Array.from({ length: 300 }, (_, at) => first + at);
    const columns = (first: number) => ({
      key: 'a',
      values: column(first),
      steps: column(first),
      epochs: null,
      timesMs: column(first),
    });
    const set = new SeriesSet();
    const read = columns(0);
    set.take({ rowCount: 300, series: [read] });
    const series = set.get('a');
    expect(series?.values.buffer).toBe(read.values.buffer);
    expect(series?.steps.buffer).toBe(read.steps.buffer);
    expect(series?.timesMs.buffer).toBe(read.timesMs.buffer);
    set.take({ rowCount: 300, series: [columns(300)] });
    const grown = series?.values.buffer;
    set.take({
      rowCount: 300,
      series: [
        {
          ...columns(600),
          steps: null,
          values: column(600).subarray(0, 0),
          timesMs: column(0).subarray(0, 0),
        },
      ],
    });
    expect(series?.values.buffer).toBe(grown);
    expect(series?.values).toEqual(Float64Array.from({ length: 600 }, (_, at) => at));
    expect(series?.epochs.every((epoch) => Number.isNaN(epoch))).toBe(true);
  });

  it('come unmixed from the bytes of the segments, with one copy each', async () => {
    const store = createMemoryStore();
    const session = await TrainingSession.startRun({
      project: 'copies',
      config: {},
      storage: store,
      handleSignals: false,
    });
    const metrics = new MetricsLogger(session);
    for (let step = 0; step < 1_000; step += 1)
      for (const key of ['a', 'b']) metrics.log(key, step, { step });
    await session.flush();
    const mixed = vi.spyOn(RunReader.prototype, 'readMetricColumns');
    const spy = vi.spyOn(RunReader.prototype, 'readSeries');
    const readsSoFar = (): Promise<readonly SeriesRead[]> =>
      Promise.all(spy.mock.results.map(({ value }) => value as Promise<SeriesRead>));
    try {
      const feed = await RunFeed.open(store, session.runId);
      expect(mixed).not.toHaveBeenCalled();
      const reads = await readsSoFar();
      expect(reads).toHaveLength(1);
      // What the reader wrote from the bytes is what the charts draw from.
      for (const { key, steps, timesMs, values } of reads[0]?.series ?? []) {
        const series = feed.series.get(key);
        expect(series?.length).toBe(1_000);
        expect(series?.values.buffer).toBe(values.buffer);
        expect(series?.steps.buffer).toBe(steps?.buffer);
        expect(series?.timesMs.buffer).toBe(timesMs.buffer);
      }
      // A poll reads the new rows alone, and each column of them is copied behind the others, once.
      for (let step = 1_000; step < 1_010; step += 1) metrics.log('a', step, { step });
      await session.flush();
      const copies = vi.spyOn(Float64Array.prototype, 'set');
      await feed.poll();
      const added = (await readsSoFar()).at(-1)?.series.find(({ key }) => key === 'a');
      const copied = copies.mock.calls.filter(([source]) => source === added?.values);
      copies.mockRestore();
      expect(added?.values).toEqual(Float64Array.from({ length: 10 }, (_, at) => 1_000 + at));
      expect(copied).toHaveLength(1);
      expect(mixed).not.toHaveBeenCalled();
      expect(feed.series.get('a')?.length).toBe(1_010);
    } finally {
      mixed.mockRestore();
      spy.mockRestore();
      await session.endRun();
    }
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
