import { describe, expect, it } from 'vitest';
import {
  createMemoryStore,
  MetricsLogger,
  TrainingSession,
  type CurveQuery,
  type Store,
} from 'quark-sdk';
import { readCurves } from '../../../src/read/curves.ts';
import { RunFeed } from '../../../dashboard/series/run-feed.ts';

/** A store whose runs cannot be read while `isDown()`. */
function failing(store: Store, isDown: () => boolean): Store {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (name === 'findRun' && isDown()) return () => Promise.reject(new Error('down'));
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

async function started(): Promise<{
  store: Store;
  session: TrainingSession;
  metrics: MetricsLogger;
}> {
  const store = createMemoryStore();
  const session = await TrainingSession.startRun({
    project: 'feed',
    config: {},
    storage: store,
    handleSignals: false,
  });
  return { store, session, metrics: new MetricsLogger(session) };
}

describe('RunFeed', () => {
  it('tells of what a poll brought that failed half-way, and takes it in once', async () => {
    const { store, session, metrics } = await started();
    let isDown = false;
    const feed = await RunFeed.open(
      failing(store, () => isDown),
      session.runId,
    );
    metrics.log('loss', 1, { step: 0 });
    await session.flush();
    isDown = true;
    await expect(feed.poll()).rejects.toThrow('down');
    isDown = false;
    expect(await feed.poll()).toMatchObject({ metrics: true });
    expect(feed.series.get('loss')?.values).toHaveLength(1);
    expect(await feed.poll()).toMatchObject({ metrics: false });
    await session.endRun();
  });

  it('shows an overview of a long run until all of it is read, and only where the store has one', async () => {
    const { store, session, metrics } = await started();
    for (let step = 0; step < 120_000; step++)
      metrics.log('loss', step === 5 ? Number.NaN : step % 100, { step });
    await metrics.flush();
    const service = new Proxy(store, {
      get(target, name) {
        if (name === 'readCurves') return (query: CurveQuery) => readCurves(store, query);
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const feed = await RunFeed.open(service, session.runId);
    const overview = feed.series.get('loss');
    expect(overview?.standsFor).toEqual({ sampleCount: 120_000, nonFiniteCount: 1 });
    expect(overview?.length).toBeLessThan(5_000);
    expect(overview?.last?.step).toBe(119_999);
    expect([feed.hasMore, feed.readShare]).toEqual([true, 0]);
    metrics.log('val', 1, { step: 120_000 });
    await metrics.flush();
    while (feed.hasMore) expect((await feed.poll()).metrics).toBe(true);
    expect(feed.readShare).toBeUndefined();
    expect(feed.series.get('loss')?.standsFor).toBeUndefined();
    expect(feed.series.get('loss')?.length).toBe(120_000);
    expect(feed.series.get('val')?.length).toBe(1);
    metrics.log('loss', 1, { step: 120_001 });
    await metrics.flush();
    await feed.poll();
    expect(feed.series.get('loss')?.last?.step).toBe(120_001);
    await session.endRun();
    expect((await RunFeed.open(store, session.runId)).readShare).toBeUndefined();
  });

  it('knows how far the run is, whatever metric says it', async () => {
    const { store, session, metrics } = await started();
    const feed = await RunFeed.open(store, session.runId);
    expect(feed.position).toEqual({ step: Number.NaN, epoch: Number.NaN });
    metrics.log('a', 1, { step: 7 });
    metrics.log('b', 1, { step: 3, epoch: 1 });
    metrics.log('c', 1, { epoch: 2 });
    await session.flush();
    await feed.poll();
    expect(feed.position).toEqual({ step: 7, epoch: 2 });
    await session.endRun();
  });
});
