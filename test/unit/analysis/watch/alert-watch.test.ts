import { expect, test, vi } from 'vitest';
import { longTest } from '../../../support/long.ts';
import { createMemoryStore, MetricsLogger, openRun, startRun, TrainingSession } from 'quark-sdk';
import { AnalyzerEngine, type WatchOptions } from 'quark-sdk/analysis';
import type { AlertRecord } from 'quark-sdk';
import { isFor } from '../../../../src/analysis/watch/watch-options.ts';
import { TestClock } from '../../../support/clock.ts';
import { fallingLoss, normal } from '../../../support/analysis-runs.ts';

const START = Date.UTC(2026, 0, 2);
/** Of a loaded machine. */
const PATIENCE = { timeout: 60_000 };

async function watched(options: WatchOptions = {}, config = {}) {
  const clock = new TestClock(START);
  const storage = createMemoryStore({ clock });
  const session = await startRun({ project: 'watch', storage, clock });
  const metrics = new MetricsLogger(session, { batchSize: 1_000_000 });
  const engine = new AnalyzerEngine(session, config);
  const watch = engine.watch(options);
  /** Logs values from a step on, flushing every 20. */
  const log = async (
    from: number,
    to: number,
    valueAt: (i: number) => number,
    key = 'train/loss',
  ) => {
    for (let i = from; i < to; i++) {
      metrics.log(key, valueAt(i), { step: i });
      if (i % 20 === 19 || i === to - 1) {
        clock.advance(1000);
        await session.flush();
      }
    }
  };
  return { clock, storage, session, metrics, engine, watch, log };
}

const eventsOf = async (
  session: TrainingSession,
  storage: ReturnType<typeof createMemoryStore>,
  eventType: string,
) => (await openRun(storage, session.runId)).readEvents({ eventType });

test('a NaN is told of with the flush that brought it: event, callback, stored alert', async () => {
  const told: string[] = [];
  const { engine, log, session, storage, watch } = await watched({
    onAlert: ({ ruleId }) => told.push(ruleId),
  });
  await log(0, 100, fallingLoss(400));
  expect(told).toEqual([]);
  await log(100, 120, (i) => (i < 110 ? fallingLoss(400)(i) : Number.NaN));
  expect(told).toEqual(['non_finite']);
  expect(watch.alerts[0]).toMatchObject({ severity: 'critical', stepStart: 110, sequence: 0 });
  expect(await engine.readAlerts()).toEqual(watch.alerts);
  await session.flush();
  const [event] = await eventsOf(session, storage, 'alert');
  expect(event).toMatchObject({
    severity: 'critical',
    step: 119,
    payload: { rule_id: 'non_finite', alert_id: watch.alerts[0]?.id, step_start: 110 },
  });
  // The record of a run that goes on says how many there are.
  const stored = JSON.parse((await storage.findRun(session.runId))?.document ?? '{}');
  expect(stored.findings).toEqual({ alerts: 1, by_severity: { critical: 1 } });
  // It goes on, and is not told of again.
  await log(120, 200, () => Number.NaN);
  expect(told).toEqual(['non_finite']);
  await session.close();
});

test('a divergence is told of soon after it began, and only once', async () => {
  const gauss = normal(1);
  const { log, session, watch } = await watched();
  const falling = fallingLoss(4000);
  await log(0, 3000, falling);
  expect(watch.alerts).toEqual([]);
  await log(3000, 4000, (i) => (0.25 + (i - 3000) / 100) * (1 + 0.05 * gauss()));
  const diverged = watch.alerts.filter(({ ruleId }) => ruleId === 'loss_divergence');
  expect(diverged[0]?.stepStart).toBeGreaterThan(2990);
  expect(diverged[0]?.stepEnd).toBeLessThan(3700);
  // Again only where it got worse.
  expect(new Set(diverged.map(({ severity }) => severity)).size).toBe(diverged.length);
  await session.close();
});

longTest('healthy runs raise no alarm on their way', async () => {
  for (const seed of [1, 2, 3]) {
    const { log, metrics, session, watch } = await watched();
    const falling = fallingLoss(2000, { seed, noise: 0.1 });
    const gauss = normal(seed);
    for (let epoch = 0; epoch < 10; epoch++) {
      await log(epoch * 200, (epoch + 1) * 200, falling);
      metrics.log('val/loss', (0.3 + 2 * Math.exp(-epoch / 2)) * (1 + 0.02 * gauss()), {
        step: epoch * 200 + 199,
      });
      metrics.log('train/grad_norm', Math.exp(0.3 * gauss()), { step: epoch * 200 });
    }
    await session.flush();
    expect(watch.alerts.map(({ fact }) => fact)).toEqual([]);
    expect(watch.status).toMatchObject({ rows: 2020, failedActions: 0, lastError: null });
    await session.close();
  }
});

test('a spike is told of when it has passed', async () => {
  const { log, session, watch } = await watched();
  const falling = fallingLoss(2000);
  await log(0, 2000, (i) => (i === 1500 ? 4 : falling(i)));
  expect(watch.alerts).toMatchObject([
    { ruleId: 'loss_spike', severity: 'warning', stepStart: 1500, stepEnd: 1501 },
  ]);
  await session.close();
});

test('a run that does not learn is told of while it goes on', async () => {
  const gauss = normal(4);
  const { log, session, watch } = await watched();
  await log(0, 1500, () => 2.3 + 0.05 * gauss());
  expect(watch.alerts).toMatchObject([{ ruleId: 'loss_not_decreasing' }]);
  await session.close();
});

test('silence is noticed', async () => {
  const { clock, log, session, watch } = await watched();
  await log(0, 100, fallingLoss(400));
  clock.advance(31 * 60_000);
  expect(await watch.check()).toMatchObject([]);
  expect(watch.alerts).toMatchObject([{ ruleId: 'stalled_run', stepStart: 99 }]);
  await session.close();
});

test('actions: log, callback, webhook, stop', async () => {
  const posted: { url: string; body: unknown }[] = [];
  const called: string[] = [];
  const fetch: typeof globalThis.fetch = async (url, init) => {
    if (typeof url === 'string' && typeof init?.body === 'string')
      posted.push({ url, body: JSON.parse(init.body) });
    return new Response(null, { status: 204 });
  };
  const { log, session, storage, watch } = await watched({
    fetch,
    actions: [
      { kind: 'log' },
      { kind: 'callback', callback: ({ ruleId }) => void called.push(ruleId) },
      { kind: 'callback', rules: ['loss_spike'], callback: () => void called.push('wrong') },
      { kind: 'webhook', url: 'https://hooks.test/quark' },
      { kind: 'stop' },
    ],
  });
  await log(0, 100, fallingLoss(400));
  expect(session.signal.aborted).toBe(false);
  await log(100, 120, () => Number.NaN);
  expect(session.signal.aborted).toBe(true);
  expect(session.signal.reason).toMatchObject({ name: 'AbortError' });
  expect(called).toEqual(['non_finite']);
  expect(posted).toMatchObject([
    {
      url: 'https://hooks.test/quark',
      body: { run_id: session.runId, alert: { rule_id: 'non_finite' } },
    },
  ]);
  await watch.close();
  await session.flush();
  expect(await eventsOf(session, storage, 'stop_requested')).toHaveLength(1);
  expect(await eventsOf(session, storage, 'user_log')).toMatchObject([
    { severity: 'error', payload: { message: watch.alerts[0]?.summary } },
  ]);
  expect(session.status).toBe('running');
  await session.endRun('interrupted');
});

test('a store that takes no alerts keeps nobody from being told, or from stopping', async () => {
  const told: string[] = [];
  const { log, session, storage } = await watched({
    onAlert: ({ ruleId }) => told.push(ruleId),
    actions: [{ kind: 'stop' }],
  });
  await log(0, 40, fallingLoss(400));
  const append = storage.appendSegments.bind(storage);
  vi.spyOn(storage, 'appendSegments').mockImplementation((segments) =>
    segments.some(({ manifest }) => manifest.table === 'alerts')
      ? Promise.reject(new Error('full'))
      : append(segments),
  );
  await log(40, 60, () => Number.NaN);
  expect(told).toEqual(['non_finite']);
  expect(session.signal.aborted).toBe(true);
  await session.close();
});

test('stop leaves slow runs alone unless it is told to stop them', () => {
  const slow = { ruleId: 'runtime_bottleneck_risk', category: 'runtime', severity: 'critical' };
  const lost = { ruleId: 'non_finite', category: 'optimization', severity: 'critical' };
  expect(isFor({ kind: 'stop' }, lost as AlertRecord)).toBe(true);
  expect(isFor({ kind: 'stop' }, slow as AlertRecord)).toBe(false);
  expect(isFor({ kind: 'log' }, slow as AlertRecord)).toBe(true);
  expect(isFor({ kind: 'stop', rules: ['runtime_bottleneck_risk'] }, slow as AlertRecord)).toBe(
    true,
  );
});

test('an action that fails is counted and recorded, and stops nothing', async () => {
  const { log, session, storage, watch } = await watched({
    fetch: async () => new Response(null, { status: 500 }),
    onAlert: () => {
      throw new Error('mine');
    },
    actions: [{ kind: 'webhook', url: 'https://hooks.test/quark' }],
  });
  await log(0, 60, () => Number.NaN);
  await watch.close();
  await session.flush();
  expect(watch.alerts).toHaveLength(1);
  expect(watch.status.failedActions).toBe(2);
  expect(await eventsOf(session, storage, 'alert_action_failed')).toMatchObject([
    { payload: { message: 'mine' } },
  ]);
  await session.close();
});

test('a webhook that sends on elsewhere has failed; what is said of it is its server', async () => {
  const cancelled = vi.fn<() => void>();
  const body = new ReadableStream({ cancel: cancelled });
  const asked: (RequestInit | undefined)[] = [];
  const { log, session, storage, watch } = await watched({
    fetch: async (_url, init) => {
      asked.push(init);
      return new Response(body, { status: 302, headers: { location: 'https://other.test/' } });
    },
    actions: [{ kind: 'webhook', url: 'https://hooks.test/services/secret' }],
  });
  await log(0, 60, () => Number.NaN);
  await session.endRun('failed');
  expect(asked).toMatchObject([{ method: 'POST', redirect: 'manual' }]);
  expect(cancelled).toHaveBeenCalledTimes(1);
  expect(watch.status.failedActions).toBe(1);
  const [failed] = await eventsOf(session, storage, 'alert_action_failed');
  expect(failed?.payload).toEqual({
    message: 'The webhook at hooks.test answered with a redirect, which is not followed.',
  });
});

test('a server that is not there is named, with the reason', async () => {
  const { log, session, watch } = await watched({
    fetch: () => Promise.reject(new TypeError('fetch failed', { cause: new Error('refused') })),
    actions: [{ kind: 'webhook', url: 'https://hooks.test:81/services/secret' }],
  });
  await log(0, 60, () => Number.NaN);
  await vi.waitFor(() => expect(watch.status.failedActions).toBe(1), PATIENCE);
  expect(watch.status.lastError?.message).toBe(
    'The webhook at hooks.test:81 was not reached: refused.',
  );
  await session.close();
});

test('a callback may end the run, which then waits a moment for it and not for ever', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    let ended: Promise<unknown> | undefined;
    const { log, session } = await watched({
      // Time that is turned is not to be that of a worker.
      workerMode: 'none',
      onAlert: () => {
        ended = session.endRun('failed');
        return ended;
      },
    });
    await log(0, 20, () => Number.NaN);
    await vi.waitFor(async () => {
      await vi.advanceTimersByTimeAsync(1000);
      expect(session.status).toBe('failed');
    }, PATIENCE);
    await ended;
  } finally {
    vi.useRealTimers();
  }
});

test('a training that was stopped ends as interrupted, one that was through before as completed', async () => {
  const statusOf = async (isEarly: boolean) => {
    const storage = createMemoryStore();
    let inner: TrainingSession | undefined;
    await TrainingSession.run({ project: 'watch', storage }, async (session) => {
      inner = session;
      new AnalyzerEngine(session).watch({ actions: [{ kind: 'stop' }] });
      new MetricsLogger(session).log('train/loss', Number.NaN, { step: 0 });
      if (isEarly) await session.flush();
      expect(session.signal.aborted).toBe(isEarly);
    });
    return inner?.status;
  };
  expect(await statusOf(true)).toBe('interrupted');
  expect(await statusOf(false)).toBe('completed');
});

test('without a cool-down the same is told of with each flush that brings more of it, once', async () => {
  const { log, session, watch } = await watched({ cooldownMs: 0 });
  await log(0, 60, () => Number.NaN);
  await watch.check();
  await watch.check();
  expect(watch.alerts.map(({ stepEnd }) => stepEnd)).toEqual([19, 39, 59]);
  await session.close();
});

test('after the cool-down a rule is heard again', async () => {
  const { clock, log, session, watch } = await watched({ cooldownMs: 60_000 });
  await log(0, 100, () => Number.NaN);
  clock.advance(61_000);
  await log(100, 120, () => Number.NaN);
  expect(watch.alerts.map(({ ruleId }) => ruleId)).toEqual(['non_finite', 'non_finite']);
  await session.close();
});

test('what is written at the very end is looked at, and nothing after it was closed', async () => {
  const { metrics, session, watch } = await watched();
  metrics.log('train/loss', Number.NaN, { step: 0 });
  await session.endRun();
  expect(watch.alerts).toHaveLength(1);
  expect(watch.status.rows).toBe(1);
});

test('looks are not more often than asked for', async () => {
  const { clock, metrics, session, watch } = await watched({ minIntervalMs: 10_000 });
  clock.advance(10_000);
  await watch.check();
  const { looks } = watch.status;
  for (let i = 0; i < 10; i++) {
    metrics.log('train/loss', 1, { step: i });
    await metrics.flush();
    clock.advance(500);
  }
  expect(watch.status.looks).toBe(looks);
  clock.advance(10_000);
  await watch.check();
  expect(watch.status.rows).toBe(10);
  await session.close();
});

test('a run of somebody else is watched from the store', async () => {
  const { log, session, storage } = await watched();
  await log(0, 60, () => Number.NaN);
  const other = new AnalyzerEngine(await openRun(storage, session.runId), {
    // The clock of the machine is not that of the run.
    disabledRules: ['stalled_run'],
  }).watch({
    persist: false,
    actions: [{ kind: 'stop' }, { kind: 'log' }],
  });
  expect(await other.check()).toMatchObject([{ ruleId: 'non_finite' }]);
  await other.close();
  await session.close();
});

test.each([
  ['an unknown option', { onAlerts: () => undefined }, 'options.onAlerts'],
  ['no callback', { onAlert: 1 }, 'options.onAlert'],
  ['an unknown action', { actions: [{ kind: 'mail' }] }, 'options.actions[0].kind'],
  ['an unknown rule', { actions: [{ kind: 'log', rules: ['x'] }] }, 'options.actions[0].rules'],
  ['no URL', { actions: [{ kind: 'webhook', url: 'file:///x' }] }, 'options.actions[0].url'],
  ['no address', { actions: [{ kind: 'webhook', url: 'http://' }] }, 'options.actions[0].url'],
  [
    'no header',
    { actions: [{ kind: 'webhook', url: 'http://x.test', headers: { 'a b': 'c' } }] },
    'options.actions[0].headers',
  ],
  ['no function', { actions: [{ kind: 'callback' }] }, 'options.actions[0].callback'],
  ['a negative time', { cooldownMs: -1 }, 'options.cooldownMs'],
])('options are refused by name: %s', async (_what, options, field) => {
  const { engine, session, watch } = await watched();
  expect(() => engine.watch(options as never)).toThrow(field);
  await watch.close();
  await session.close();
});
