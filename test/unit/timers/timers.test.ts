import fc from 'fast-check';
import { afterEach, describe, expect, expectTypeOf, test } from 'vitest';
import { createMemoryStore, openRun, resumeRun, startRun, type Store } from 'quark-sdk';
import { Profiler, readTimers, Timers } from 'quark-sdk/profiler';
import { TestClock } from '../../support/clock.ts';
import { exactMoments } from '../../support/exact-moments.ts';
import { drawn } from '../../support/hard-series.ts';
import { runs } from '../../support/property.ts';

const stores: Store[] = [];
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
});

function memory(): Store {
  const store = createMemoryStore();
  stores.push(store);
  return store;
}

/** A clock that a test turns. */
function turned(): { now: () => number; pass: (ms: number) => void } {
  let ms = 0;
  return { now: () => ms, pass: (more) => (ms += more) };
}

describe('what is timed', () => {
  test('is a function: anything else is refused by its name', async () => {
    const timers = new Timers(undefined);
    const invalid = (field: string): unknown =>
      expect.objectContaining({
        code: 'invalid_input',
        details: expect.objectContaining({ field }) as unknown,
      });
    // @ts-expect-error there is no work
    expect(() => timers.time('batch')).toThrow(invalid('work'));
    // @ts-expect-error there is nothing to wait for
    await expect(timers.timeDevice('batch', () => 1)).rejects.toEqual(invalid('wait'));
    expect(timers.statistics('batch').count).toBe(0);
    const profiler = new Profiler();
    // @ts-expect-error there is no work
    expect(() => profiler.scope('batch')).toThrow(invalid('work'));
    // @ts-expect-error there is no work
    expect(() => profiler.profiled('batch')).toThrow(invalid('work'));
    expect((await profiler.close()).scopes).toEqual([]);
  });

  test('a call, sync and async, and what it returns', async () => {
    const { now, pass } = turned();
    const timers = new Timers(undefined, { now });
    const sync = timers.time('sync', () => {
      pass(3);
      return 7;
    });
    expectTypeOf(sync).toEqualTypeOf<number>();
    expect(sync).toBe(7);
    const later = timers.time('async', async () => {
      pass(2);
      await Promise.resolve();
      pass(4);
      return 'later';
    });
    expectTypeOf(later).toEqualTypeOf<Promise<string>>();
    expect(await later).toBe('later');
    expect(timers.all.map(({ meanMs, name }) => [name, meanMs])).toEqual([
      ['sync', 3],
      ['async', 6],
    ]);
  });

  test('nested timers, of one name too', () => {
    const { now, pass } = turned();
    const timers = new Timers(undefined, { now });
    timers.time('outer', () => {
      timers.time('inner', () => pass(1));
      timers.time('inner', () => {
        pass(2);
        timers.time('inner', () => pass(4));
      });
    });
    expect(timers.statistics('outer').totalMs).toBe(7);
    expect(timers.statistics('inner')).toMatchObject({ count: 3, totalMs: 11, maxMs: 6 });
  });

  test('a block, until its end, however it ends', async () => {
    const { now, pass } = turned();
    const timers = new Timers(undefined, { now });
    const load = (): void => {
      using running = timers.start('load');
      pass(5);
      if (now() > 0) throw new Error('no file');
      running.stop();
    };
    expect(load).toThrow('no file');
    const running = timers.start('load');
    pass(1);
    expect(running.stop()).toBe(1);
    pass(9);
    expect(running.stop()).toBeNaN();
    const waiting = timers.start('load');
    const ms = waiting.stopAfter(Promise.resolve().then(() => pass(2)));
    expect(await ms).toBe(2);
    expect(timers.statistics('load')).toMatchObject({ count: 3, totalMs: 8 });
  });

  test('calls that throw or reject are measured, and their errors go on', async () => {
    const { now, pass } = turned();
    const timers = new Timers(undefined, { now });
    const fail = (): never => {
      pass(1);
      throw new Error('bad batch');
    };
    expect(() => timers.time('batch', fail)).toThrow('bad batch');
    await expect(timers.time('batch', async () => fail())).rejects.toThrow('bad batch');
    expect(timers.statistics('batch').count).toBe(2);
  });

  test('the device is waited for where that is asked', async () => {
    const { now, pass } = turned();
    const timers = new Timers(undefined, { now });
    const seen: unknown[] = [];
    const result = await timers.timeDevice(
      'step',
      () => 'tensor',
      async (made) => {
        seen.push(made);
        await Promise.resolve();
        pass(10);
      },
    );
    expect(result).toBe('tensor');
    expect(seen).toEqual(['tensor']);
    expect(timers.statistics('step').meanMs).toBe(10);
  });
});

describe('statistics', () => {
  test('the first ones are left out, exactly as many as asked', () => {
    const timer = new Timers().timer('batch', { skip: 2 });
    for (const ms of [1000, 100, 1, 2, 3]) timer.record(ms);
    expect(timer.statistics).toMatchObject({
      count: 3,
      skipped: 2,
      meanMs: 2,
      stdMs: Math.sqrt(2 / 3),
      minMs: 1,
      maxMs: 3,
      totalMs: 6,
    });
  });

  test('of nothing there are none', () => {
    expect(new Timers().statistics('never')).toEqual({
      name: 'never',
      count: 0,
      skipped: 0,
      totalMs: 0,
      ...Object.fromEntries(
        ['meanMs', 'stdMs', 'minMs', 'maxMs', 'p50Ms', 'p90Ms', 'p99Ms'].map((one) => [one, NaN]),
      ),
    });
  });

  test('what is no duration counts for nothing', () => {
    const timer = new Timers().timer('batch');
    for (const ms of [-1, NaN, Infinity, 0]) timer.record(ms);
    expect(timer.statistics.count).toBe(1);
  });

  test('they are those of exact arithmetic, quantiles within 1 %', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(
          'uniform',
          'ten integers',
          'mean 1e6, deviation 1e-3',
          'pareto of exponent 0.1',
        ),
        fc.integer({ min: 1, max: 700 }),
        fc.nat(),
        (name, length, seed) => {
          const values = [...drawn(name, length, seed)].map((x) => Math.min(Math.abs(x), 1e9));
          const timer = new Timers().timer('any');
          for (const value of values) timer.record(value);
          const { count, maxMs, meanMs, minMs, p90Ms, stdMs } = timer.statistics;
          const { mean, std } = exactMoments(values);
          const max = Math.max(...values);
          expect([count, minMs, maxMs]).toEqual([length, Math.min(...values), max]);
          expect(Math.abs(meanMs - mean)).toBeLessThanOrEqual(mean * 2 ** -51);
          expect(Math.abs(stdMs - std)).toBeLessThanOrEqual(length * 2 ** -50 * max);
          const ranked = values.toSorted((a, b) => a - b)[Math.floor(0.9 * (length - 1))] ?? 0;
          expect(Math.abs(p90Ms - ranked)).toBeLessThanOrEqual(0.0101 * ranked + 1e-300);
        },
      ),
      runs(100),
    );
  });

  test('memory is bounded: names beyond a thousand are one timer', () => {
    const timers = new Timers();
    for (let i = 0; i < 1200; i++) timers.timer(`batch ${i}`).record(1);
    expect(timers.all).toHaveLength(1001);
    expect(timers.statistics('others').count).toBe(200);
  });
});

describe('in a run', () => {
  test('the statistics are there when the run has ended, those of a resumed run merged', async () => {
    const storage = memory();
    const session = await startRun({ project: 'timers', storage });
    const timers = new Timers(session, { skip: 1 });
    for (const ms of [50, 1, 3]) timers.timer('batch').record(ms);
    await session.endRun('interrupted');
    const resumed = await resumeRun({ runId: session.runId, storage });
    const more = new Timers(resumed);
    for (const ms of [5, 7]) more.timer('batch').record(ms);
    more.timer('load').record(2);
    await resumed.endRun();
    const [batch, load] = await readTimers(await openRun(storage, session.runId));
    expect(batch).toMatchObject({
      name: 'batch',
      count: 4,
      skipped: 1,
      meanMs: 4,
      minMs: 1,
      maxMs: 7,
      totalMs: 16,
    });
    expect(batch?.stdMs).toBeCloseTo(Math.sqrt(5), 12);
    expect(load).toMatchObject({ name: 'load', count: 1, meanMs: 2, stdMs: 0 });
  });

  test('they are stored while the run goes on, ever less often, and the last ones count', async () => {
    const clock = new TestClock();
    const storage = memory();
    const session = await startRun({ project: 'timers', storage, clock });
    const timers = new Timers(session);
    const counts: number[] = [];
    for (let i = 0; i < 40; i++) {
      timers.timer('batch').record(i);
      clock.advance(5000);
      await session.flush();
      const events = await (
        await openRun(storage, session.runId)
      ).readEvents({ eventType: 'timer_summary' });
      counts.push(events.length);
    }
    expect(counts.at(-1)).toBe(4);
    const [batch] = await readTimers({ store: storage, runId: session.runId });
    expect(batch?.count).toBe(30);
    await session.endRun();
    expect((await readTimers({ store: storage, runId: session.runId }))[0]?.count).toBe(40);
  });

  test('events of the same name that are none of a timer are passed over', async () => {
    const storage = memory();
    const session = await startRun({ project: 'timers', storage });
    await session.addLog('mine', { eventType: 'timer_summary', payload: { name: 'x' } });
    await session.addLog('mine', {
      eventType: 'timer_summary',
      payload: {
        name: 'x',
        count: 1,
        skipped: 0,
        mean_ms: 1,
        std_ms: 0,
        min_ms: 1,
        max_ms: 1,
        sketch: '?',
      },
    });
    await session.endRun();
    expect(await readTimers({ store: storage, runId: session.runId })).toEqual([]);
  });
});

test.each<[object, string]>([
  [{ skip: -1 }, 'options.skip'],
  [{ skips: 1 }, 'options.skips'],
])('%j is refused', (options, field) => {
  const refusal: unknown = expect.objectContaining({
    details: expect.objectContaining({ field }),
  });
  expect(() => new Timers(undefined, options)).toThrow(refusal);
  expect(() => new Timers().timer('batch', options)).toThrow(refusal);
});
