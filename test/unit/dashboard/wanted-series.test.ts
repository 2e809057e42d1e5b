import { describe, expect, it, vi } from 'vitest';
import { createMemoryStore, MetricsLogger, startRun, type CurveQuery, type Store } from 'quark-sdk';
import { RunFeed } from '../../../dashboard/series/run-feed.ts';
import { windowReader, type PageSeriesQuery } from '../../../dashboard/series/series-reader.ts';
import { SeriesSet } from '../../../dashboard/series/series.ts';
import { WantedSeries } from '../../../dashboard/series/wanted-series.ts';
import { FormulaSource } from '../../../dashboard/workspace/formula-series.ts';
import { FORMULA_MARK } from '../../../dashboard/workspace/layout.ts';
import { readCurves } from '../../../src/read/curves.ts';

const POINTS = 4_000;

/** Waits for what the assertions say, on a busy machine too. */
const until = (check: () => void): Promise<void> => vi.waitFor(check, { timeout: 60_000 });

/** A store that downsamples, as a service does; what is asked of it is written down. */
function serving(
  store: Store,
  asked: CurveQuery[],
  change: (query: CurveQuery) => object = () => ({}),
): Store {
  return new Proxy(store, {
    get(target, name) {
      if (name === 'readCurves')
        return async (query: CurveQuery) => {
          asked.push(query);
          return { ...(await readCurves(store, query)), ...change(query) };
        };
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

async function recorded(metricCount: number, points: number) {
  const store = createMemoryStore();
  const session = await startRun({ project: 'wanted', storage: store, handleSignals: false });
  const metrics = new MetricsLogger(session);
  const names = Array.from({ length: metricCount }, (_, at) => `m${String(at).padStart(3, '0')}`);
  for (let step = 0; step < points; step++)
    for (const [at, name] of names.entries()) metrics.log(name, at + (step % 50), { step });
  await metrics.flush();
  return { store, session, metrics, names };
}

describe('WantedSeries', () => {
  it('reads an overview of what is asked for in one request, then all samples, and makes room again', async () => {
    const { store, session, metrics, names } = await recorded(6, POINTS);
    const asked: CurveQuery[] = [];
    const queries: PageSeriesQuery[] = [];
    const read = windowReader(store);
    const series = new SeriesSet();
    let told = 0;
    const wanted = new WantedSeries({
      store: serving(store, asked),
      runId: session.runId,
      names,
      series,
      readSeries: (query) => {
        queries.push(query);
        return read(query);
      },
      onPoints: () => {
        told += 1;
      },
      onDamage: () => undefined,
      onFailure: () => undefined,
      mostHeld: 2 * POINTS,
    });
    expect(series.keys).toEqual(names);
    const show = (...keys: string[]): void => series.lookAt(keys);
    const isWhole = (key: string): boolean =>
      series.lengthOf(key) >= POINTS && series.get(key)?.standsFor === undefined;
    // The first chart, and one of a formula.
    new FormulaSource(series).lookAt(['m001', `${FORMULA_MARK}m003 - m001`]);
    await until(() => expect(told).toBe(1));
    expect(asked.map(({ metricKeys }) => metricKeys)).toEqual([['m001', 'm003']]);
    expect(series.get('m001')?.standsFor).toEqual({ sampleCount: POINTS, nonFiniteCount: 0 });
    expect(series.lengthOf('m001')).toBeLessThan(POINTS);
    await until(() => {
      show('m001', 'm003');
      expect([isWhole('m001'), isWhole('m003')]).toEqual([true, true]);
    });
    // Nobody has looked at others, and nothing of them was read.
    expect(queries.flatMap(({ metricKeys }) => metricKeys)).toEqual(['m001', 'm003']);
    expect(series.keys).toEqual(names);

    metrics.log('m001', 7, { step: POINTS });
    metrics.log('m002', 7, { step: POINTS });
    await metrics.flush();
    show('m001', 'm003');
    await wanted.poll();
    expect(series.get('m001')?.last).toMatchObject({ value: 7, step: POINTS });
    expect(series.lengthOf('m001')).toBe(POINTS + 1);

    // Two others are shown: the first two go back to their overviews.
    await until(() => {
      show('m004', 'm005');
      expect([series.lengthOf('m004'), series.lengthOf('m005')]).toEqual([POINTS, POINTS]);
    });
    expect(series.lengthOf('m003')).toBeLessThan(POINTS);
    expect(series.get('m003')?.standsFor?.sampleCount).toBe(POINTS);
    wanted.close();
    await session.endRun();
  });

  it('tries again what could not be read', async () => {
    const { store, session, names } = await recorded(1, 100);
    let isDown = true;
    const failures: unknown[] = [];
    const series = new SeriesSet();
    const wanted = new WantedSeries({
      store: serving(store, [], () => {
        if (isDown) throw new Error('away');
        return {};
      }),
      runId: session.runId,
      names,
      series,
      readSeries: windowReader(store),
      onPoints: () => undefined,
      onDamage: () => undefined,
      onFailure: (error) => {
        failures.push(error);
        isDown = false;
      },
    });
    series.lookAt(['m000']);
    await until(() => expect(series.lengthOf('m000')).toBe(100));
    expect(failures).toHaveLength(1);
    wanted.close();
    await session.endRun();
  });
});

it('a run of many metrics and rows shows their names, and reads those that are looked at', async () => {
  const { store, session, names } = await recorded(70, 20);
  await session.endRun();
  const asked: CurveQuery[] = [];
  // The counts of a long run, which need not be recorded for it.
  const service = serving(store, asked, ({ namesOnly }) => (namesOnly ? { rowCount: 1e6 } : {}));
  const feed = await RunFeed.open(service, session.runId);
  expect(feed.series.keys).toEqual(names);
  expect([feed.series.pointCount, feed.hasMore]).toEqual([0, true]);
  await feed.poll();
  expect([feed.hasMore, feed.events.length > 0]).toEqual([false, true]);
  let told = 0;
  feed.follow(() => {
    told += 1;
  });
  feed.series.lookAt(['m042']);
  await until(() => expect(told).toBe(1));
  expect(feed.series.get('m042')?.last?.value).toBe(42 + 19);
  expect(feed.series.has('m041')).toBe(false);
  expect(asked.map(({ metricKeys, namesOnly }) => [metricKeys, namesOnly])).toEqual([
    [undefined, true],
    [['m042'], undefined],
  ]);
  feed.close();
});
