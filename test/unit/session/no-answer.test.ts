/** Storage that does not answer: a training waits for it a while, never for ever. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  createMemoryStore,
  listRuns,
  MetricsLogger,
  openRun,
  registerStorage,
  startRun,
  TrainingSession,
  type RecordingProblem,
  type StartRunOptions,
  type Store,
} from 'quark-sdk';
import { TestClock } from '../../support/clock.ts';
import { intercept, withoutAppendsNow } from '../../support/store-proxy.ts';

const model = { weights: [1, 2, 3] };
let clock: TestClock;
let inner: Store;
let hangs: boolean;
/** Calls that were not answered. */
let late: (() => Promise<unknown>)[];
let storage: Store;
let problems: RecordingProblem[];
let lines: string[];

beforeEach(() => {
  clock = new TestClock(Date.UTC(2026, 0, 2));
  inner = createMemoryStore({ clock });
  hangs = false;
  late = [];
  storage = intercept(withoutAppendsNow(inner), async (_call, _args, work) => {
    if (!hangs) return work();
    late.push(work);
    return new Promise<never>(() => undefined);
  });
  problems = [];
  lines = [];
  vi.spyOn(console, 'warn').mockImplementation((line: string) => void lines.push(line));
});
afterEach(() => {
  vi.restoreAllMocks();
});

function options(): StartRunOptions {
  return {
    project: 'p',
    storage,
    clock,
    handleSignals: false,
    onRecordingProblem: (problem) => void problems.push(problem),
  };
}

/** What `work` comes to while time passes. The test's own limit ends it where that is never. */
async function within<T>(work: Promise<T>): Promise<T> {
  const state = { isSettled: false };
  const settled = (): void => void (state.isSettled = true);
  work.then(settled, settled);
  while (!state.isSettled) {
    await tick();
    clock.advance(1000);
  }
  return work;
}

async function tick(): Promise<void> {
  await new Promise((resolve) => {
    setTimeout(resolve, 2);
  });
}

async function isOver(): Promise<boolean> {
  const [found] = await listRuns(inner);
  return found !== undefined && found.run.status !== 'running';
}

async function expectAllStored(status: string): Promise<void> {
  // What was not answered is carried out now, beside the calls that are made again.
  hangs = false;
  for (const work of late.splice(0)) await work().catch(() => undefined);
  for (let i = 0; i < 200 && !((await isOver()) && problems.length === 2); i++) {
    clock.advance(1000);
    await tick();
  }
  expect(problems.map(({ kind }) => kind)).toEqual(['stopped', 'resumed']);
  expect(problems[0]?.error).toMatchObject({ reason: 'unreachable' });
  expect(lines[0]).toMatch(/has stopped.*The storage has not answered within 60 s/);
  const [found] = await listRuns(inner);
  const reader = await openRun(inner, found?.run.id ?? '');
  expect(reader.run.status).toBe(status);
  const columns = await reader.readMetricColumns();
  expect(Array.from(columns.values)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  const types = (await reader.readEvents()).map(({ eventType }) => eventType);
  expect(types.filter((type) => type === 'run_started')).toHaveLength(1);
  expect(types.filter((type) => type === 'run_ended')).toHaveLength(1);
}

for (const moment of ['start', 'middle', 'end'] as const)
  test(`a store that hangs from the ${moment} on does not hold the result`, async () => {
    hangs = moment === 'start';
    const run = TrainingSession.run(options(), async (session) => {
      const metrics = new MetricsLogger(session);
      for (let step = 0; step < 10; step++) {
        metrics.log('loss', step, { step });
        if (step !== 4) continue;
        if (moment === 'middle') hangs = true;
        await metrics.flush();
        await session.addTag('half');
        await session.addLog('half');
      }
      if (moment === 'end') hangs = true;
      return model;
    });
    expect(await within(run)).toBe(model);
    expect(problems.map(({ kind }) => kind)).toEqual(['stopped']);
    if (moment !== 'start') expect(problems[0]?.bufferedRows).toBeGreaterThan(0);
    await expectAllStored('completed');
  });

test('nor the error of the work', async () => {
  const thrown = new TypeError('bad shape');
  const run = TrainingSession.run(options(), (session) => {
    const metrics = new MetricsLogger(session);
    for (let step = 0; step < 10; step++) metrics.log('loss', step, { step });
    hangs = true;
    throw thrown;
  });
  await expect(within(run)).rejects.toBe(thrown);
  await expectAllStored('failed');
});

test('storage whose opening hangs is waited for once, and used when it opens after all', async () => {
  let open: (store: Store) => void = () => undefined;
  let openings = 0;
  registerStorage('hangs', () => {
    openings++;
    return new Promise((resolve) => {
      open = resolve;
    });
  });
  const starting = startRun({ ...options(), storage: 'hangs:x' });
  const session = await within(starting);
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < 10; step++) metrics.log('loss', step, { step });
  await within(session.endRun());
  const closed = within(session.close());
  expect(openings).toBe(1);
  await closed;
  open(
    new Proxy(inner, {
      get: (target, name): unknown => {
        if (name === 'close') return async () => undefined;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    }),
  );
  await expectAllStored('completed');
});

test('an answer that is slow is no failure, nor is one that came while the machine slept', async () => {
  const answers: (() => void)[] = [];
  const slow = intercept(storage, async (call, _args, work) => {
    if (call === 'appendSegments')
      await new Promise<void>((resolve) => {
        answers.push(resolve);
      });
    return work();
  });
  const asked = (): Promise<void> => vi.waitFor(() => expect(answers).not.toEqual([]));
  const starting = startRun({ ...options(), storage: slow });
  await asked();
  clock.advance(59_000);
  answers.pop()?.();
  const session = await starting;
  const metrics = new MetricsLogger(session);
  metrics.log('loss', 1, { step: 0 });
  const flushed = session.flush();
  await asked();
  clock.jump(3_600_000);
  clock.advance(0);
  answers.pop()?.();
  await flushed;
  expect(problems).toEqual([]);
  expect(await (await openRun(inner, session.runId)).readMetrics()).toHaveLength(1);
});
