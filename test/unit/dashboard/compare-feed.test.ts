import { describe, expect, it } from 'vitest';
import { createMemoryStore, MetricsLogger, TrainingSession, type Store } from 'quark-sdk';
import { CompareFeed } from '../../../dashboard/compare/compare-feed.ts';

async function recorded(store: Store, project: string): Promise<string> {
  const session = await TrainingSession.startRun({
    project,
    config: {},
    storage: store,
    handleSignals: false,
  });
  const metrics = new MetricsLogger(session);
  metrics.log('train/loss', 1, { step: 0 });
  await session.endRun();
  return session.runId;
}

describe('CompareFeed', () => {
  it('tells of runs that are taken out or put in another order, which bring no points', async () => {
    const store = createMemoryStore();
    const ids = await Promise.all(['a', 'b', 'c'].map((name) => recorded(store, name)));
    const feed = new CompareFeed(store);
    feed.show(ids);
    expect(await feed.poll()).toBe(true);
    expect(await feed.poll()).toBe(false);
    feed.show(ids.slice(0, 2));
    expect(await feed.poll()).toBe(true);
    expect(feed.runIds).toEqual(ids.slice(0, 2));
    feed.show(ids.slice(0, 2).toReversed());
    expect(await feed.poll()).toBe(true);
    feed.show(ids.slice(0, 2).toReversed());
    expect(await feed.poll()).toBe(false);
  });

  it('tells once of a run that is not there', async () => {
    const store = createMemoryStore();
    const feed = new CompareFeed(store);
    feed.show(['run_nowhere']);
    expect(await feed.poll()).toBe(true);
    expect([...feed.failures.keys()]).toEqual(['run_nowhere']);
    expect(feed.metric).toBeUndefined();
    expect(await feed.poll()).toBe(false);
  });
});
