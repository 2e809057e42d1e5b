/** What a person may get wrong: each is refused with field, value and rule, before anything is written. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  addLog,
  addTag,
  createMemoryStore,
  endRun,
  EventLogger,
  listRuns,
  MetricsLogger,
  openRun,
  startRun,
  type Store,
  type TrainingSession,
} from 'quark-sdk';
import { systemClock } from '../../../src/base/clock.ts';

let storage: Store;
let session: TrainingSession;

beforeEach(async () => {
  storage = createMemoryStore();
  session = await startRun({ project: 'p', storage });
});
afterEach(() => session.close());

function invalid(field: string): unknown {
  return expect.objectContaining({
    code: 'invalid_input',
    details: expect.objectContaining({ field }) as unknown,
  });
}

async function recorded(): Promise<readonly string[]> {
  await session.flush();
  const reader = await openRun(storage, session.runId);
  const metrics = await reader.readMetrics();
  const events = await reader.readEvents();
  return [
    ...metrics.map((record) => record.metricKey),
    ...events.map((record) => record.eventType),
  ];
}

test('a name that controls a terminal is escaped in the message, and a cycle has no endless name', async () => {
  const metrics = new MetricsLogger(session);
  expect(() => metrics.log('a', 1, { step: 1, context: { 'b\u001b[31m': 1 } })).toThrow(
    String.raw`"context.b\u001b[31m" must be`,
  );
  const config: Record<string, unknown> = {};
  config['self'] = config;
  const refused = startRun({ project: 'p', storage, config: config as never });
  await expect(refused).rejects.toThrow(/^config\.self\.self[.self]{30,60}\.\.\. must be JSON of/);
});

describe('metrics', () => {
  test.each<[string, (metrics: MetricsLogger) => void]>([
    ['values', (m) => m.logMany(new Map([['a', 1]]) as never, { step: 0 })],
    ['values', (m) => m.logMany([1, 2] as never, { step: 0 })],
    ['values', (m) => m.logMany(null as never, { step: 0 })],
    ['value of b', (m) => m.logMany({ a: 1, b: '2' as never }, { step: 0 })],
    ['values', (m) => m.logColumns('a', [1], undefined as never)],
    ['values', (m) => m.logColumns('a', [1], 3 as never)],
    ['steps.length', (m) => m.logColumns('a', [1], [1, 2])],
    ['steps[1]', (m) => m.logColumns('a', [1, Number.NaN], [1, 2])],
    ['value of a[1]', (m) => m.logColumns('a', [1, 2], [1, 'x'] as never)],
    ['options', (m) => m.logColumns('a', [1], [1], null as never)],
    ['options.metadta', (m) => m.log('a', 1, { step: 0, metadta: { x: 1 } } as never)],
    ['options.eppoch', (m) => m.logMany({ a: 1 }, { step: 0, eppoch: 1 } as never)],
  ])('%s', async (field, act) => {
    const metrics = new MetricsLogger(session);
    expect(() => act(metrics)).toThrow(invalid(field));
    expect(await recorded()).toEqual(['run_started']);
  });

  test('a closed logger notices nothing', async () => {
    const metrics = new MetricsLogger(session);
    await metrics.close();
    expect(() => metrics.log('a', Number.NaN, { step: 0 })).toThrow(/closed/);
    expect(() => metrics.logColumns('a', [0], [Number.NaN])).toThrow(/closed/);
    expect(metrics.nonFiniteCounts.size).toBe(0);
    expect(await recorded()).toEqual(['run_started']);
  });

  test('options of the logger', () => {
    expect(() => new MetricsLogger(session, null as never)).toThrow(invalid('options'));
    expect(() => new EventLogger(session, null as never)).toThrow(invalid('options'));
    expect(() => new MetricsLogger(session, { bachSize: 3 } as never)).toThrow(/nonFinite/);
    const promise = Promise.resolve(session) as never;
    expect(() => new MetricsLogger(promise)).toThrow(/await/);
  });
});

describe('events', () => {
  test.each<[string, (events: EventLogger) => void]>([
    ['options', (e) => e.log('x', null as never)],
    ['options.sevrity', (e) => e.log('x', { sevrity: 'error' } as never)],
    ['options', (e) => e.addLog('x', null as never)],
    ['severity', (e) => e.addLog('x', { severity: 'loud' as never })],
    ['payload', (e) => e.addLog('x', { payload: 'abc' as never })],
    ['payload', (e) => e.addLog('x', { payload: [1] as never })],
    ['payload', (e) => e.addLog('x', { payload: new Map() as never })],
    ['payload', (e) => e.log('x', { payload: [1] as never })],
    ['payload.a', (e) => e.log('x', { payload: { a: Number.NaN } })],
    ['status', (e) => e.log('x', { status: 5 as never })],
  ])('%s', async (field, act) => {
    const events = new EventLogger(session);
    expect(() => act(events)).toThrow(invalid(field));
    expect(await recorded()).toEqual(['run_started']);
  });
});

describe('sessions', () => {
  test('a promise is no session', async () => {
    const promise = Promise.resolve(session) as never;
    for (const result of [endRun(promise), addTag(promise, 'a'), addLog(promise, 'm')])
      await expect(result).rejects.toMatchObject({ code: 'invalid_input' });
    await expect(endRun(promise)).rejects.toThrow(/await/);
    await expect(addTag(undefined as never, 'a')).rejects.toThrow(invalid('session'));
  });

  test('null is no storage', async () => {
    await expect(startRun({ project: 'p', storage: null as never })).rejects.toThrow(
      invalid('storage'),
    );
    expect(await listRuns(storage)).toHaveLength(1);
  });

  test('a directory or a promise is no open store', async () => {
    await expect(listRuns('runs' as never)).rejects.toThrow(invalid('store'));
    await expect(openRun('runs' as never, session.runId)).rejects.toThrow(/openStorage/);
    await expect(openRun(Promise.resolve(storage) as never, 'r')).rejects.toThrow(/await/);
  });

  test('the name of the project is at hand', () => {
    expect(session.projectName).toBe('p');
  });
});

test('a delay that timers cannot hold does not fire at once', () => {
  const timer = vi.spyOn(globalThis, 'setTimeout');
  systemClock.after(Number.MAX_SAFE_INTEGER, () => undefined)();
  expect(timer).toHaveBeenCalledWith(expect.any(Function), 2 ** 31 - 1);
  timer.mockRestore();
});
