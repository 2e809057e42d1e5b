/** Curves over HTTP: against a reference that looks at all samples, however they were cut into segments, merged or not. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { readMetricColumns, type MetricColumns } from '../../src/read/metric-columns.ts';
import { openHttpStorage } from '../../src/wire/http-store.ts';
import { MetricsLogger } from '../../src/session/metrics-logger.ts';
import { TrainingSession } from '../../src/session/training-session.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import type { Store } from '../../src/store/store.ts';
import { runs } from '../support/property.ts';
import { handlerOf } from './filled-store.ts';

type Sample = {
  readonly key: string;
  readonly value: number;
  readonly step: number | null;
  readonly isFlushed: boolean;
};

const sample = fc.record({
  key: fc.constantFrom('train/loss', 'val/loss', 'lr'),
  value: fc.oneof(
    { weight: 8, arbitrary: fc.integer({ min: -5, max: 5 }) },
    fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY),
  ),
  step: fc.option(fc.nat(30), { freq: 6 }),
  isFlushed: fc.boolean(),
});

/** Calls back while the run is open, its segments being as they were written; or once it has ended and they are merged. */
async function withRun(
  samples: readonly Sample[],
  isOpen: boolean,
  work: (store: Store, runId: string, metrics: MetricsLogger) => Promise<void>,
): Promise<void> {
  const store = createMemoryStore();
  const options = { project: 'curves', storage: store, handleSignals: false };
  const session = await TrainingSession.startRun(options);
  const metrics = new MetricsLogger(session);
  for (const { key, value, step, isFlushed } of samples) {
    metrics.log(key, value, step === null ? { epoch: 1 } : { step });
    if (isFlushed) await metrics.flush();
  }
  await metrics.flush();
  if (!isOpen) await session.endRun();
  await work(store, session.runId, metrics);
  await session.close();
}

const remoteOf = (store: Store): Promise<Store> =>
  openHttpStorage('http://127.0.0.1', { fetch: handlerOf(store) });

/** The smallest power of two that divides an axis into no more than so many parts; nothing recorded here lies closer than 2^-10. */
function partWidth(min: number, max: number, buckets: number): number {
  let width = 2 ** 40;
  while (
    width > 2 ** -10 &&
    Math.floor(max / (width / 2)) - Math.floor(min / (width / 2)) < buckets
  )
    width /= 2;
  return width;
}

/** Rows to keep of one metric, by the definition: of each part first, lowest, highest, last, and one of each kind of no number. */
function expected(
  { keys, keyIndex, steps, timesMs, values }: MetricColumns,
  key: string,
  buckets: number,
): { kept: number[]; count: number } {
  const all = [...values.keys()];
  const places = (hasStep: boolean): number[] =>
    all.filter((row) => Number.isNaN(steps[row]) !== hasStep);
  const kept: number[] = [];
  let count = 0;
  for (const hasStep of [false, true]) {
    const place = (row: number): number => (hasStep ? steps : timesMs)[row] ?? 0;
    // The axis is that of all metrics; manifests tell its ends: of steps where there are any, of times always.
    const axis = (hasStep ? places(true) : all).map(place);
    const width = partWidth(Math.min(...axis), Math.max(...axis), buckets);
    const parts = new Map<number, number[]>();
    for (const row of places(hasStep)) {
      if (keys[keyIndex[row] ?? -1] !== key) continue;
      count += 1;
      const part = Math.floor(place(row) / width);
      parts.set(part, [...(parts.get(part) ?? []), row]);
    }
    const found = new Set<number>();
    for (const rows of parts.values()) {
      const value = (row: number): number => values[row] ?? 0;
      const finite = rows.filter((row) => Number.isFinite(value(row)));
      const best = (list: number[], isBetter: (a: number, b: number) => boolean): void => {
        const [first, ...others] = list;
        if (first !== undefined)
          found.add(others.reduce((a, b) => (isBetter(b, a) ? b : a), first));
      };
      best(finite, (a, b) => place(a) < place(b));
      best(finite, (a, b) => value(a) < value(b));
      best(finite, (a, b) => value(a) > value(b));
      best(finite, (a, b) => place(a) >= place(b));
      for (const kind of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])
        best(
          rows.filter((row) => Object.is(value(row), kind)),
          (a, b) => place(a) < place(b),
        );
    }
    kept.push(...[...found].sort((a, b) => a - b));
  }
  return { kept, count };
}

it('keep of each part of the axis what a picture shows, and tell what they stand for', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(sample, { minLength: 1, maxLength: 80 }),
      fc.integer({ min: 1, max: 12 }),
      fc.boolean(),
      async (samples, buckets, isOpen) =>
        withRun(samples, isOpen, async (store, runId) => {
          const all = await readMetricColumns({ store, runId });
          const found = await (await remoteOf(store)).readCurves?.({ runId, buckets });
          expect(found).toMatchObject({
            rowCount: samples.length,
            damagedCount: 0,
            leftOutCount: 0,
          });
          expect(new Set(found?.curves.map((one) => one.metricKey))).toEqual(
            new Set(samples.map(({ key }) => key)),
          );
          for (const curve of found?.curves ?? []) {
            const { kept, count } = expected(all, curve.metricKey, buckets);
            expect(curve.sampleCount).toBe(count);
            expect(curve.values).toEqual(Float64Array.from(kept, (row) => all.values[row] ?? 0));
            expect(curve.steps).toEqual(Float64Array.from(kept, (row) => all.steps[row] ?? 0));
            expect(curve.timesMs).toEqual(Float64Array.from(kept, (row) => all.timesMs[row] ?? 0));
          }
        }),
    ),
    runs(30),
  );
}, 60_000);

const line = (count: number, key = 'loss'): Sample[] =>
  Array.from({ length: count }, (_, step) => ({ key, value: step, step, isFlushed: false }));

it('of a part of the steps, of some metrics, or of none where there is little', async () => {
  await withRun([...line(100), ...line(50, 'lr')], false, async (store, runId) => {
    const remote = await remoteOf(store);
    const part = await remote.readCurves?.({
      runId,
      buckets: 2,
      metricKeys: ['loss'],
      stepMin: 10,
      stepMax: 20,
    });
    expect(part?.curves.map(({ metricKey, steps }) => [metricKey, [...steps]])).toEqual([
      ['loss', [10, 15, 16, 20]],
    ]);
    expect((await remote.readCurves?.({ runId, buckets: 2, rowsMin: 151 }))?.curves).toEqual([]);
    await expect(remote.readCurves?.({ runId: 'run_nobody', buckets: 2 })).rejects.toMatchObject({
      code: 'run_not_found',
    });
    for (const [query, field] of [
      ['buckets=0', 'buckets'],
      ['buckets=4097', 'buckets'],
      ['step_min=9&step_max=8', 'stepMin'],
      ['rows_min=x', 'rows_min'],
      ['bucket=3', 'bucket'],
      [`buckets=4096&${'key=a&'.repeat(33)}`, 'metricKeys'],
    ]) {
      const answer = await handlerOf(store)(
        new Request(`http://127.0.0.1/api/v1/runs/${runId}/curves?${query}`),
      );
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({ details: { field } });
    }
  });
});

it('are worked out once for the same segments, and again when there are more', async () => {
  await withRun(line(20), true, async (store, runId, metrics) => {
    let readings = 0;
    const watched = new Proxy(store, {
      get(target, name) {
        if (name === 'readSegments') readings += 1;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const remote = await remoteOf(watched);
    const ask = () => remote.readCurves?.({ runId, buckets: 3 });
    const [first, second] = await Promise.all([ask(), ask()]);
    expect(second).toEqual(first);
    expect(await ask()).toEqual(first);
    expect(readings).toBe(1);
    metrics.log('loss', -7, { step: 20 });
    await metrics.flush();
    expect((await ask())?.curves[0]?.values.at(-1)).toBe(-7);
  });
});
