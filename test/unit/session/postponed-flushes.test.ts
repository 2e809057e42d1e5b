/** Full batches that wait, where flushes are to take a share of the thread's time only. */
import { afterEach, describe, expect, it } from 'vitest';
import { threadTime } from '../../../src/base/thread/thread-time.ts';
import { openRun } from '../../../src/read/run-reader.ts';
import { MetricsLogger } from '../../../src/session/metrics-logger.ts';
import { TrainingSession } from '../../../src/session/training-session.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';

afterEach(() => {
  threadTime.flushShare = undefined;
});

describe('a full batch', () => {
  it.each([
    ['waits where a flush costs more than its share', 1e-9, true],
    ['is written at once where nobody has set a budget', undefined, false],
  ])('%s, and no row is lost', async (_, share, isPostponed) => {
    const store = createMemoryStore();
    const session = await TrainingSession.startRun({
      project: 'p',
      storage: store,
      handleSignals: false,
    });
    const metrics = new MetricsLogger(session, { batchSize: 2, flushIntervalMs: 60_000 });
    const segments = async (): Promise<number> =>
      (await store.listSegments({ runId: session.runId, table: 'metrics' })).length;
    const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    let step = 0;
    const log = async (count: number): Promise<void> => {
      for (let i = 0; i < count; i++) metrics.log('loss', step, { step: step++ });
      await turn();
      await turn();
    };
    // The first flush tells what one costs.
    await log(2);
    threadTime.flushShare = share;
    const first = await segments();
    await log(2);
    await log(2);
    expect((await segments()) > first).toBe(!isPostponed);
    // So many rows do not wait for anything.
    await log(4096);
    expect(await segments()).toBeGreaterThan(first);
    await session.endRun();
    const { steps } = await (await openRun(store, session.runId)).readMetricColumns();
    expect([...steps]).toStrictEqual(Array.from({ length: step }, (__, i) => i));
  });
});
