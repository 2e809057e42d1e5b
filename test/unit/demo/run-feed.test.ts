import { describe, expect, it } from 'vitest';
import { createMemoryStore, MetricsLogger, TrainingSession, type Store } from 'quark-sdk';
import { RunFeed } from '../../../demo/dashboard/model/run-feed.ts';

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
