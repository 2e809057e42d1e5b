import { beforeEach, describe, expect, test } from 'vitest';
import {
  createMemoryStore,
  listRuns,
  MetricsLogger,
  openRun,
  SessionStoreError,
  startRun,
  TrainingSession,
  type Store,
} from 'quark-sdk';
import { browserPlatform, type Platform } from '../../../src/session/platforms/platform.ts';
import { SessionCore } from '../../../src/session/session-core.ts';
import { TestClock } from '../../support/clock.ts';

const full = new SessionStoreError('full', 'The disk is full.');
let clock: TestClock;
let inner: Store;
let overrides: Partial<Record<keyof Store, unknown>>;
let storage: Store;

beforeEach(() => {
  clock = new TestClock(Date.UTC(2026, 0, 2));
  inner = createMemoryStore({ clock });
  overrides = {};
  storage = new Proxy(inner, {
    get(target, name): unknown {
      if (Object.hasOwn(overrides, name)) return Reflect.get(overrides, name);
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
});

async function settle(): Promise<void> {
  for (let i = 0; i < 50; i++) await Promise.resolve();
}

async function eventTypes(runId: string): Promise<readonly string[]> {
  const reader = await openRun(inner, runId);
  return (await reader.readEvents()).map((event) => event.eventType);
}

/** A session's inside on a platform whose signals the test sends. */
async function interruptible(): Promise<{
  core: SessionCore;
  interrupt: (reason: string) => Promise<void>;
}> {
  const session = await startRun({ project: 'p', storage, clock });
  let interrupt: (reason: string) => Promise<void> = () => Promise.resolve();
  const platform: Platform = {
    ...browserPlatform,
    onInterrupt(listener) {
      interrupt = listener;
      return () => undefined;
    },
  };
  const { run } = session.context;
  const core = new SessionCore({
    store: storage,
    isStoreOwned: false,
    platform,
    clock,
    holder: 'ses_2',
    run,
    options: {},
  });
  await core.start();
  await session.close();
  return { core, interrupt };
}

describe('an interruption', () => {
  test('while the run ends waits for that end', async () => {
    const { core, interrupt } = await interruptible();
    let release = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    overrides = {
      appendSegments: async (...args: Parameters<Store['appendSegments']>) => {
        await gate;
        return inner.appendSegments(...args);
      },
    };
    const ending = core.end('completed', false);
    let isOver = false;
    const interrupted = interrupt('SIGINT').then(() => {
      isOver = true;
    });
    await settle();
    expect(isOver).toBe(false);
    release();
    expect((await ending).status).toBe('completed');
    await interrupted;
    expect(core.signal.aborted).toBe(true);
    expect(await eventTypes(core.runId)).toEqual(['run_started', 'run_ended']);
  });
});

describe('an end', () => {
  test('of a run that another session ended says nothing of itself', async () => {
    const host = await startRun({ project: 'p', storage, clock });
    const guest = await TrainingSession.attachRun({ runId: host.runId, storage, clock });
    const metrics = new MetricsLogger(guest);
    metrics.log('a', 1, { step: 0 });
    await host.endRun();
    await expect(guest.endRun('failed')).rejects.toMatchObject({ code: 'invalid_run_state' });
    await guest.close();
    const reader = await openRun(inner, host.runId);
    expect(reader.run.status).toBe('completed');
    expect((await reader.readEvents({ eventType: 'run_ended' })).map((e) => e.status)).toEqual([
      'completed',
    ]);
    expect(await reader.readMetrics()).toHaveLength(1);
  });

  test('lets no new writer in', async () => {
    const session = await startRun({ project: 'p', storage, clock });
    const ending = session.endRun();
    expect(() => new MetricsLogger(session)).toThrow(
      expect.objectContaining({ code: 'invalid_run_state' }),
    );
    await ending;
    await session.close();
  });
});

test('closing lets no new writer in, and can be tried again in strict mode', async () => {
  const session = await startRun({ project: 'p', storage, clock, strictMode: true });
  const metrics = new MetricsLogger(session);
  metrics.log('a', 1, { step: 0 });
  overrides = { appendSegments: () => Promise.reject(full) };
  const closing = session.close();
  expect(() => new MetricsLogger(session)).toThrow(/closing/);
  await expect(closing).rejects.toBe(full);
  overrides = {};
  await session.close();
  expect(await (await openRun(inner, session.runId)).readMetrics()).toHaveLength(1);
  expect(await inner.listLeases()).toEqual([]);
});

describe('TrainingSession.run', () => {
  test('in strict mode throws what the work threw, and that the store refused everything after it', async () => {
    const options = { project: 'p', storage, clock, strictMode: true };
    const run = TrainingSession.run(options, (session) => {
      new MetricsLogger(session).log('a', 1, { step: 0 });
      overrides = { appendSegments: () => Promise.reject(full) };
      throw new TypeError('bad shape');
    });
    await expect(run).rejects.toThrow(/bad shape.*The disk is full/);
  });

  test('records errors with endless messages', async () => {
    const run = TrainingSession.run({ project: 'p', storage, clock }, () => {
      throw new TypeError(`bad shape ${'7,'.repeat(2_000_000)}`);
    });
    // Not with toThrow, which prints the whole message when it fails.
    const message = await run.catch((error: unknown) => String(error).slice(0, 20));
    expect(message).toBe('TypeError: bad shape');
    const [summary] = await listRuns(inner);
    expect(summary?.run.status).toBe('failed');
    expect(await eventTypes(summary?.run.id ?? '')).toEqual([
      'run_started',
      'runtime_error',
      'run_ended',
    ]);
  });

  test('starts nothing without work', async () => {
    await expect(
      TrainingSession.run({ project: 'p', storage, clock }, undefined as never),
    ).rejects.toMatchObject({ code: 'invalid_input', details: { field: 'work' } });
    expect(await listRuns(inner)).toEqual([]);
  });
});

test('a session that could not be opened leaves no sign of life', async () => {
  overrides = { appendSegments: () => Promise.reject(full) };
  await expect(startRun({ project: 'p', storage, clock, strictMode: true })).rejects.toBe(full);
  overrides = {};
  clock.advance(300_000);
  await settle();
  expect(await inner.listLeases()).toEqual([]);
  expect((await listRuns(inner)).map((summary) => summary.effectiveStatus)).toEqual([
    'interrupted',
  ]);
});

test('what was noticed is recorded once the store works again, without anybody asking', async () => {
  const session = await startRun({ project: 'p', storage, clock });
  const metrics = new MetricsLogger(session);
  overrides = { appendSegments: () => Promise.reject(full) };
  metrics.log('a', Number.NaN, { step: 3 });
  clock.advance(10);
  await settle();
  overrides = {};
  clock.advance(60_000);
  await settle();
  const reader = await openRun(inner, session.runId);
  const [event, ...others] = await reader.readEvents({ eventType: 'non_finite_metric' });
  expect(others).toEqual([]);
  expect([event?.step, event?.timestamp]).toEqual([3, '2026-01-02T00:00:00.000Z']);
  await session.close();
});

// Node, workerd and jsdom have no IndexedDB.
test('without the storage that was asked for, a session ends and closes as with a full disk', async () => {
  const problems: string[] = [];
  const session = await startRun({
    project: 'p',
    storage: 'idb:nowhere',
    clock,
    onRecordingProblem: ({ kind }) => problems.push(kind),
  });
  new MetricsLogger(session).log('a', 1, { step: 0 });
  await session.endRun('completed');
  expect(session.recordingStatus()).toMatchObject({
    state: 'stopped',
    error: { code: 'unsupported' },
  });
  await session.close();
  expect(problems).toEqual(['stopped']);
});

test('in strict mode, the missing storage is an error of the start', async () => {
  await expect(
    startRun({ project: 'p', storage: 'idb:nowhere', clock, strictMode: true }),
  ).rejects.toMatchObject({ code: 'unsupported' });
});
