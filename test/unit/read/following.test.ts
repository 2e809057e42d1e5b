/** Following a run: what a program does with it, and what ends it. That rows come once and in order is part of the contract of stores. */
import { afterEach, expect, test, vi } from 'vitest';
import { SessionStoreError } from '../../../src/base/errors.ts';
import type { FollowedRows } from '../../../src/read/follow-rows.ts';
import type { RunFollowing } from '../../../src/read/following/run-following.ts';
import { openRun } from '../../../src/read/run-reader.ts';
import { EventLogger } from '../../../src/session/event-logger.ts';
import { MetricsLogger } from '../../../src/session/metrics-logger.ts';
import { TrainingSession } from '../../../src/session/training-session.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { metricSegments, ROWS } from '../../support/metric-segments.ts';
import { RUN_ID, runOf } from '../../support/segments.ts';
import { intercept } from '../../support/store-proxy.ts';

afterEach(() => vi.restoreAllMocks());

/** A run that somebody records, with five rows. */
async function recorded(): Promise<Store> {
  const store = createMemoryStore();
  await store.createRun(runOf());
  await store.renewLease(RUN_ID, 'me', 600_000);
  await store.appendSegments(metricSegments(RUN_ID, 0, 1));
  return store;
}

async function setStatus(store: Store, status: string): Promise<void> {
  const run = (await store.findRun(RUN_ID)) ?? expect.fail('no run');
  await store.updateRun({ ...run, status });
}

const fromStart = { table: 'metrics', from: 'start', pollMs: 5 } as const;
const eventually = (check: () => void) => vi.waitFor(check, 20_000);

test('bad input is refused before anything is read', async () => {
  const calls: string[] = [];
  const run = await openRun(
    intercept(await recorded(), (call, _args, work) => (calls.push(call), work())),
    RUN_ID,
  );
  calls.length = 0;
  const options: readonly (readonly [string, object])[] = [
    ['options.table', { table: 'metric_points' }],
    ['options.table', { table: undefined }],
    ['options.from', { table: 'metrics', from: -1 }],
    ['options.from', { table: 'metrics', from: Number.NaN }],
    ['options.from', { table: 'metrics', from: 'yesterday' }],
    ['options.metricKeys', { table: 'metrics', metricKeys: [] }],
    ['options.metricKeys', { table: 'events', metricKeys: ['loss'] }],
    ['options.until', { table: 'metrics', until: 'never' }],
    ['options.pollMs', { table: 'metrics', pollMs: 0 }],
    ['options.interval', { table: 'metrics', interval: 1 }],
  ];
  for (const [field, wrong] of options)
    expect(() => run.follow({ table: 'metrics', ...wrong }), field).toThrow(
      expect.objectContaining({
        code: 'invalid_input',
        details: expect.objectContaining({ field }),
      }),
    );
  const draw: unknown = 'draw';
  expect(() =>
    Reflect.apply(run.follow.bind(run), undefined, [{ table: 'metrics' }, draw]),
  ).toThrow('onRows');
  expect(calls).toEqual([]);
  // What only the store knows.
  await expect(
    run.follow({ table: 'metrics', from: ROWS + 1 }, vi.fn()).done,
  ).rejects.toMatchObject({
    code: 'invalid_input',
    details: { field: 'options.from' },
  });
});

test('a session is followed by a loop: columns of metrics, records of events, up to its end', async () => {
  const storage = createMemoryStore();
  const session = await TrainingSession.startRun({ project: 'p', storage });
  const run = await openRun(storage, session.runId);
  const losses = (async () => {
    const values: number[] = [];
    for await (const rows of run.follow({ table: 'metrics', metricKeys: ['loss'], pollMs: 5 })) {
      expect(rows).toMatchObject({ keys: ['loss'], generation: 1, damage: [] });
      values.push(...rows.values);
    }
    return values;
  })();
  const types: string[] = [];
  const events = run.follow({ table: 'events', from: 'start', pollMs: 5 }, ({ records }) => {
    types.push(...records.map(({ eventType }) => eventType));
  });
  await events.started;
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < 20; step++) {
    metrics.logMany({ loss: 1 / (step + 1), accuracy: step / 20 }, { step });
    if (step % 6 === 5) await session.flush();
  }
  new EventLogger(session).log('checkpoint_saved');
  await session.endRun('completed');
  await session.close();
  expect(await losses).toEqual(Array.from({ length: 20 }, (_, step) => 1 / (step + 1)));
  expect(await events.done).toMatchObject({ reason: 'ended', status: 'completed' });
  expect(types).toEqual(['run_started', 'checkpoint_saved', 'run_ended']);
  expect(events.nextSequence).toBe(3);
});

test('nothing is read while a callback is under way, and what it throws ends it', async () => {
  const calls: string[] = [];
  const store = await recorded();
  const run = await openRun(
    intercept(store, (call, _args, work) => (calls.push(call), work())),
    RUN_ID,
  );
  let release: () => void = () => undefined;
  const seen: number[] = [];
  const following = run.follow(fromStart, async ({ rowCount }) => {
    seen.push(rowCount);
    await new Promise<void>((resolve) => (release = resolve));
    if (seen.length === 2) throw new RangeError('the chart is gone');
  });
  await eventually(() => expect(seen).toEqual([ROWS]));
  calls.length = 0;
  for (const batch of [1, 2, 3]) await store.appendSegments(metricSegments(RUN_ID, batch, 1));
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect([calls, following.nextSequence]).toEqual([[], 0]);
  release();
  await eventually(() => expect(seen).toEqual([ROWS, 3 * ROWS]));
  expect(following.nextSequence).toBe(ROWS);
  const { done } = following;
  release();
  await expect(done).rejects.toThrow('the chart is gone');
  await following.close();
  expect(following.nextSequence).toBe(ROWS);
});

test('an error that nobody asks for is a line on the console, and no unhandled rejection', async () => {
  const lines: unknown[] = [];
  vi.spyOn(console, 'warn').mockImplementation((line) => void lines.push(line));
  const run = await openRun(await recorded(), RUN_ID);
  run.follow(fromStart, () => {
    throw new RangeError('the chart is gone');
  });
  await eventually(() => expect(lines).toEqual([expect.stringContaining('the chart is gone')]));
});

test('it is closed by close, by a signal, by leaving a loop and by its scope; what was under way does not come', async () => {
  const run = await openRun(await recorded(), RUN_ID);
  const onRows = vi.fn();
  const aborted = run.follow({ ...fromStart, signal: AbortSignal.abort() }, onRows);
  expect(await aborted.done).toEqual({ reason: 'closed', status: null, nextSequence: null });
  expect(await aborted.started).toBeNull();

  const controller = new AbortController();
  const byLoop = run.follow({ ...fromStart, signal: controller.signal });
  const rows: number[] = [];
  for await (const { rowCount } of byLoop) {
    rows.push(rowCount);
    controller.abort();
  }
  expect(await byLoop.done).toMatchObject({ reason: 'closed', status: 'running' });

  const left = run.follow(fromStart);
  for await (const { rowCount } of left) {
    rows.push(rowCount);
    break;
  }
  expect(await left.done).toMatchObject({ reason: 'closed' });
  expect(rows).toEqual([ROWS, ROWS]);
  await expect(left[Symbol.asyncIterator]().next()).rejects.toMatchObject({
    code: 'invalid_input',
  });

  const inScope = run.follow(fromStart, onRows);
  await inScope.started;
  {
    await using scoped = inScope;
    await eventually(() => expect(onRows).toHaveBeenCalledOnce());
    // Closing it within its callback does not wait for the callback.
    const own: RunFollowing<FollowedRows<'metrics'>> = run.follow(fromStart, () => own.close());
    expect(await own.done).toMatchObject({ reason: 'closed', nextSequence: 0 });
    expect(scoped.problem).toBeUndefined();
  }
  expect(await inScope.done).toMatchObject({ reason: 'closed', nextSequence: ROWS });
  const unread = run.follow(fromStart);
  await unread.close();
  expect(await unread.done).toMatchObject({ reason: 'closed' });
});

test('a store that fails for a while is asked again, and rows come once', async () => {
  const store = await recorded();
  const failing = new Set(['listSegments', 'readSegments', 'findRun', 'listStreams']);
  let failures = 0;
  let isUnsteady = false;
  const unsteady = intercept(store, async (call, _args, work) => {
    if (!isUnsteady || !failing.has(call) || failures++ % 4 >= 2) return work();
    throw new SessionStoreError(failures % 2 === 0 ? 'busy' : 'unreachable', 'away');
  });
  const run = await openRun(unsteady, RUN_ID);
  isUnsteady = true;
  const sequences: number[] = [];
  const follow = run.follow({ ...fromStart, pollMs: 1 }, (rows) => {
    sequences.push(...rows.sequences);
  });
  await store.appendSegments(metricSegments(RUN_ID, 1, 2));
  await setStatus(store, 'failed');
  expect(await follow.done).toMatchObject({ status: 'failed', nextSequence: 3 * ROWS });
  expect(sequences).toEqual(Array.from({ length: 3 * ROWS }, (_, i) => i));
});
