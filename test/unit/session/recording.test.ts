/** What becomes of a training while its storage is full or away: nothing. And of its records: they wait. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  createMemoryStore,
  EventLogger,
  listRuns,
  MetricsLogger,
  openRun,
  QuarkError,
  registerStorage,
  SessionStoreError,
  startRun,
  TrainingSession,
  type RecordingProblem,
  type StartRunOptions,
  type Store,
} from 'quark-sdk';
import { AnalyzerEngine } from 'quark-sdk/analysis';
import { TestClock } from '../../support/clock.ts';
import { intercept, withoutAppendsNow } from '../../support/store-proxy.ts';

const full = new SessionStoreError('full', 'The disk is full.');
const WRITES = new Set([
  'ensureProject',
  'createRun',
  'updateRun',
  'renewLease',
  'releaseLease',
  'appendSegments',
  'appendSegmentsNow',
  'replaceSegments',
  'replaceTable',
  'putBlob',
  'write',
]);

let clock: TestClock;
let inner: Store;
/** What every write of the store fails with. */
let failure: Error | undefined;
let storage: Store;
let problems: RecordingProblem[];
let lines: string[];

beforeEach(() => {
  clock = new TestClock(Date.UTC(2026, 0, 2));
  inner = createMemoryStore({ clock });
  failure = undefined;
  storage = intercept(withoutAppendsNow(inner), async (call, _args, work) => {
    if (failure !== undefined && WRITES.has(call)) throw failure;
    return work();
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
    onRecordingProblem: (problem) => void problems.push(problem),
  };
}

/** Lets time pass until everything that waits has been stored. */
async function recover(isDone: () => boolean | Promise<boolean>): Promise<void> {
  for (let i = 0; i < 100 && !(await isDone()); i++) {
    clock.advance(1000);
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
  expect(await isDone()).toBe(true);
}

async function onlyRun() {
  const runs = await listRuns(inner);
  expect(runs).toHaveLength(1);
  return openRun(inner, runs[0]?.run.id ?? '');
}

async function isOver(): Promise<boolean> {
  const [found] = await listRuns(inner);
  return found !== undefined && found.run.status !== 'running';
}

describe('TrainingSession.run returns the model', () => {
  const model = { weights: [1, 2, 3] };
  const moments = ['at the start', 'in the middle', 'at the end'] as const;
  for (const moment of moments) {
    test(`when the storage is full ${moment}, and everything arrives once there is room`, async () => {
      if (moment === 'at the start') failure = full;
      const result = await TrainingSession.run(options(), async (session) => {
        const metrics = new MetricsLogger(session, { batchSize: 4 });
        for (let step = 0; step < 20; step++) {
          metrics.log('loss', step, { step });
          if (step === 9) {
            if (moment === 'in the middle') failure = full;
            await metrics.flush();
            await session.addTag('half');
            expect((await session.addLog('half')).payload['message']).toBe('half');
          }
        }
        if (moment === 'at the end') failure = full;
        return model;
      });
      expect(result).toBe(model);
      expect(problems.map(({ kind }) => kind)).toEqual(['stopped']);
      expect(problems[0]).toMatchObject({ error: full, droppedRows: 0, lostRows: 0 });
      expect(lines).toHaveLength(1);
      expect(lines[0]).toMatch(/recording of run run_.* has stopped.*The disk is full/);
      const endedAtMs = clock.now();
      clock.advance(20_000);
      failure = undefined;
      await recover(isOver);
      const reader = await onlyRun();
      expect(reader.run.status).toBe('completed');
      expect(Date.parse(reader.run.endedAt ?? '')).toBe(endedAtMs);
      expect(reader.run.tags).toEqual(['half']);
      const metrics = await reader.readMetrics();
      expect(metrics.map(({ value }) => value)).toEqual(Array.from({ length: 20 }, (_, i) => i));
      const types = (await reader.readEvents()).map(({ eventType }) => eventType);
      const said = types.filter((type) => type !== 'runtime_error');
      expect(said).toEqual(['run_started', 'user_log', 'run_ended']);
      await recover(() => problems.length > 1);
      expect(problems.map(({ kind }) => kind)).toEqual(['stopped', 'resumed']);
      expect(problems[1]).toMatchObject({ bufferedRows: 0, sinceMs: problems[0]?.sinceMs });
      expect(lines).toHaveLength(2);
      expect(lines[1]).toMatch(/works again, after \d+ s/);
      expect(await inner.listLeases()).toEqual([]);
    });
  }

  test('and throws what the work threw, itself', async () => {
    const thrown = new TypeError('bad shape');
    const run = TrainingSession.run(options(), (session) => {
      new MetricsLogger(session).log('a', 1, { step: 0 });
      failure = full;
      throw thrown;
    });
    await expect(run).rejects.toBe(thrown);
    failure = undefined;
    await recover(isOver);
    const reader = await onlyRun();
    expect(reader.run.status).toBe('failed');
    expect((await reader.readEvents({ eventType: 'runtime_error' }))[0]?.payload).toMatchObject({
      message: 'bad shape',
      error_type: 'TypeError',
    });
  });

  test('also when somebody else has ended the run', async () => {
    const result = await TrainingSession.run(options(), async ({ runId }) => {
      const guest = await TrainingSession.attachRun({ runId, storage: inner, clock });
      await guest.endRun('failed');
      await guest.close();
      return model;
    });
    expect(result).toBe(model);
    expect((await onlyRun()).run.status).toBe('failed');
  });

  test('and errors of a store that has errors of its own do not reach it', async () => {
    const result = await TrainingSession.run(options(), (session) => {
      new MetricsLogger(session).log('a', 1, { step: 0 });
      failure = new RangeError('out of something');
      return model;
    });
    expect(result).toBe(model);
    failure = undefined;
    await recover(isOver);
  });
});

describe('without strict mode', () => {
  test('flush, endRun and close resolve, and the status says what is wrong', async () => {
    const session = await startRun(options());
    expect(session.recordingStatus()).toEqual({
      state: 'recording',
      sinceMs: null,
      error: null,
      bufferedRows: 0,
      droppedRows: 0,
      lostRows: 0,
    });
    const metrics = new MetricsLogger(session, { batchSize: 10, maxBufferedRows: 20 });
    const events = new EventLogger(session);
    const stoppedAtMs = clock.now();
    failure = full;
    for (let step = 0; step < 30; step++) metrics.log('a', step, { step });
    events.log('checkpoint_saved');
    expect(await metrics.flush()).toEqual([]);
    expect(await events.flush()).toEqual([]);
    await session.flush();
    expect(session.recordingStatus()).toEqual({
      state: 'stopped',
      sinceMs: stoppedAtMs,
      error: full,
      bufferedRows: 21,
      droppedRows: 10,
      lostRows: 0,
    });
    await metrics.close();
    await events.close();
    const context = await session.endRun('interrupted');
    expect([context.status, session.status]).toEqual(['interrupted', 'interrupted']);
    expect(context.run.endedAt).toBe(new Date(clock.now()).toISOString());
    await expect(session.endRun()).rejects.toMatchObject({ code: 'invalid_run_state' });
    await session.close();
    failure = undefined;
    await recover(isOver);
    expect(await (await onlyRun()).readMetrics()).toHaveLength(20);
    await recover(() => session.recordingStatus().state === 'recording');
    expect(session.recordingStatus()).toMatchObject({ bufferedRows: 0, droppedRows: 10 });
  });

  test('closing leaves a run that goes on, once everything is stored', async () => {
    const session = await startRun(options());
    new MetricsLogger(session).log('a', 1, { step: 0 });
    failure = full;
    await session.close();
    failure = undefined;
    await recover(async () => (await (await onlyRun()).readMetrics()).length === 1);
    await recover(async () => (await inner.listLeases()).length === 0);
    expect((await onlyRun()).run.status).toBe('running');
  });

  test('disposal resolves as well', async () => {
    const session = await startRun(options());
    new MetricsLogger(session).log('a', 1, { step: 0 });
    failure = full;
    await session[Symbol.asyncDispose]();
    failure = undefined;
    await recover(isOver);
    expect((await onlyRun()).run.status).toBe('interrupted');
  });

  test('a run that somebody has resumed meanwhile is not ended under them', async () => {
    const session = await startRun({ ...options(), leaseTtlMs: 1000 });
    new MetricsLogger(session).log('a', 1, { step: 0 });
    failure = full;
    await session.endRun();
    clock.jump(5000);
    const { runId } = session;
    const resumed = await TrainingSession.resumeRun({ runId, storage: inner, clock });
    failure = undefined;
    const listed = (superseded: boolean) =>
      inner.listSegments({ runId, table: 'metrics', superseded });
    await recover(() => session.recordingStatus().bufferedRows === 0);
    expect(session.recordingStatus().state).toBe('fenced');
    expect((await onlyRun()).run).toMatchObject({ status: 'running', resumeCount: 1 });
    // Whoever resumed it could not see the row: it is stored apart.
    expect(await listed(false)).toEqual([]);
    expect(await listed(true)).toMatchObject([{ rowCount: 1, generation: 1, superseded: true }]);
    await resumed.endRun();
    await resumed.close();
  });

  test('a callback that throws disturbs nobody', async () => {
    failure = full;
    const session = await startRun({
      ...options(),
      onRecordingProblem: () => {
        throw new Error('of the caller');
      },
    });
    failure = undefined;
    await session.endRun();
    await session.close();
    await recover(isOver);
    expect((await onlyRun()).run.status).toBe('completed');
  });

  test('storage that fails and works by turns is on the console once a minute', async () => {
    const session = await startRun(options());
    const metrics = new MetricsLogger(session);
    for (let turn = 0; turn < 10; turn++) {
      failure = full;
      metrics.log('a', turn, { step: turn });
      await metrics.flush();
      failure = undefined;
      await metrics.flush();
    }
    expect(problems.map(({ kind }) => kind)).toEqual(
      Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? 'stopped' : 'resumed')),
    );
    expect(lines).toHaveLength(2);
    await session.endRun();
    await session.close();
  });

  test('an analysis within the work is returned though it cannot be stored', async () => {
    const session = await startRun(options());
    const metrics = new MetricsLogger(session);
    for (let step = 0; step < 50; step++) metrics.log('train/loss', 2 ** step, { step });
    await session.flush();
    failure = full;
    const result = await new AnalyzerEngine(session).analyze();
    expect(result.alerts.map(({ sequence }) => sequence)).toContain(null);
    expect(session.recordingStatus().error).toBe(full);
    failure = undefined;
    const stored = await new AnalyzerEngine(session).analyze();
    expect(stored.alerts.map(({ sequence }) => sequence)).toEqual(stored.alerts.map((_, i) => i));
    await session.endRun();
    const strict = await startRun({ ...options(), strictMode: true });
    new MetricsLogger(strict).log('a', 1, { step: 0 });
    await strict.flush();
    failure = full;
    await expect(new AnalyzerEngine(strict).analyze()).rejects.toBe(full);
  });

  test('a run removed from the storage begins anew with what is in memory, and says so', async () => {
    const session = await startRun(options());
    const metrics = new MetricsLogger(session);
    for (let step = 0; step < 5; step++) metrics.log('a', step, { step });
    await session.addTag('kept');
    await session.flush();
    await inner.notes?.forgetRun(session.runId);
    for (let step = 5; step < 8; step++) metrics.log('a', step, { step });
    await session.flush();
    expect(problems.map(({ kind, lostRows }) => [kind, lostRows])).toEqual([
      // Five samples and the event of the start.
      ['storage_cleared', 6],
    ]);
    expect(lines).toHaveLength(1);
    expect(session.recordingStatus()).toMatchObject({ state: 'recording', lostRows: 6 });
    expect((await session.endRun()).status).toBe('completed');
    await session.close();
    const reader = await onlyRun();
    expect(reader.run).toMatchObject({ id: session.runId, status: 'completed', tags: ['kept'] });
    expect((await reader.readMetrics()).map(({ value }) => value)).toEqual([5, 6, 7]);
    const events = await reader.readEvents();
    expect(events.map(({ eventType }) => eventType)).toEqual(['storage_cleared', 'run_ended']);
    expect(events[0]?.payload).toMatchObject({
      lost_rows: 6,
      lost_rows_by_table: { events: 1, metrics: 5 },
    });
  });

  test('a run removed just before its end is there with its end', async () => {
    const session = await startRun(options());
    await inner.notes?.forgetRun(session.runId);
    await session.endRun('failed');
    await session.close();
    expect((await onlyRun()).run.status).toBe('failed');
    expect(problems.map(({ kind }) => kind)).toEqual(['storage_cleared']);
  });
});

describe('storage that cannot be opened', () => {
  let mayOpen = false;
  let opened = 0;

  beforeEach(() => {
    mayOpen = false;
    opened = 0;
    registerStorage('late', async () => {
      opened++;
      if (!mayOpen) throw new SessionStoreError('unreachable', 'The service is away.');
      return inner;
    });
  });

  test('is opened as soon as it can be, and then has everything', async () => {
    const session = await startRun({ ...options(), storage: 'late:x', tags: ['a'] });
    const { runId } = session;
    expect(session.store.uri).toBe('late:x');
    expect(session.recordingStatus()).toMatchObject({ state: 'stopped', bufferedRows: 1 });
    const metrics = new MetricsLogger(session);
    metrics.log('a', 1, { step: 0 });
    await session.flush();
    expect(opened).toBeGreaterThan(1);
    await expect(session.store.listRuns()).rejects.toMatchObject({ reason: 'unreachable' });
    mayOpen = true;
    await session.flush();
    expect(session.recordingStatus()).toMatchObject({ state: 'recording', bufferedRows: 0 });
    expect(session.store).toBe(inner);
    expect(session.runPath).toBe(`memory:/runs/${runId}`);
    expect(session.storageDir).toBe('memory:');
    const reader = await openRun(inner, runId);
    expect(reader.isLive).toBe(true);
    expect(reader.run).toMatchObject({ id: runId, tags: ['a'], projectName: 'p' });
    expect(reader.run.projectId).toBe((await inner.listProjects())[0]?.id);
    expect(await reader.readMetrics()).toHaveLength(1);
    await session.endRun();
    expect((await openRun(inner, runId)).run.status).toBe('completed');
    // A store that the session opened is its own to close.
    await session.close();
    await expect(inner.listRuns()).rejects.toMatchObject({ reason: 'closed' });
  });

  test('keeps the line of runs when the parent could not be looked up at first', async () => {
    const parent = await startRun({ project: 'p', storage: inner, clock });
    const child = await startRun({
      project: 'p',
      storage: inner,
      clock,
      parentRunId: parent.runId,
    });
    const late = await startRun({ ...options(), storage: 'late:x', parentRunId: child.runId });
    mayOpen = true;
    await late.flush();
    expect((await openRun(inner, late.runId)).run.lineageRootRunId).toBe(parent.runId);
  });

  test('rejects in strict mode, and for a run that has to be there', async () => {
    await expect(
      startRun({ ...options(), storage: 'late:x', strictMode: true }),
    ).rejects.toMatchObject({ reason: 'unreachable' });
    const known = { runId: 'run_1', storage: 'late:x', clock };
    for (const opening of [TrainingSession.resumeRun(known), TrainingSession.attachRun(known)])
      await expect(opening).rejects.toMatchObject({ reason: 'unreachable' });
    expect(problems).toEqual([]);
  });

  test('in a folder that is a file, training goes on; it is stored once the file has gone', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'quark-recording-'));
    try {
      const place = join(folder, 'runs');
      await writeFile(place, 'not a folder');
      const session = await startRun({ ...options(), storage: place });
      new MetricsLogger(session).log('a', 1, { step: 0 });
      await session.flush();
      expect(session.recordingStatus().error).toMatchObject({ reason: 'unwritable' });
      await rm(place);
      await session.endRun();
      const reader = await openRun(session.store, session.runId);
      expect(await reader.readMetrics()).toHaveLength(1);
      expect(reader.run.runPath).toBe(join(place, '.quark', 'runs', session.runId));
      await session.close();
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

describe('mistakes of the caller reject before anything is written', () => {
  const cases: readonly [string, () => Partial<StartRunOptions>, object][] = [
    ['an option', () => ({ project: '' }), { code: 'invalid_input' }],
    [
      'a callback that is none',
      () => ({ onRecordingProblem: 'x' as never }),
      { code: 'invalid_input', details: { field: 'onRecordingProblem' } },
    ],
    ['a scheme', () => ({ storage: 'nowhere:x' }), { reason: 'unknown_scheme' }],
    ['a parent', () => ({ parentRunId: 'run_none' }), { code: 'run_not_found' }],
    [
      'a store that only reads',
      () => {
        failure = new SessionStoreError('read_only', 'This store only reads.');
        return {};
      },
      { reason: 'read_only' },
    ],
    [
      'a key',
      () => {
        failure = new SessionStoreError('unauthorised', 'This key is not known.');
        return {};
      },
      { reason: 'unauthorised' },
    ],
    [
      'something typed that is no failure of a store',
      () => {
        failure = new QuarkError('invalid_input', 'The run must be something else.');
        return {};
      },
      { code: 'invalid_input' },
    ],
  ];
  for (const [what, change, error] of cases) {
    test(what, async () => {
      const changed = change();
      await expect(startRun({ ...options(), ...changed })).rejects.toMatchObject(error);
      let isCalled = false;
      const run = TrainingSession.run({ ...options(), ...changed }, () => {
        isCalled = true;
      });
      await expect(run).rejects.toMatchObject(error);
      expect(isCalled).toBe(false);
      failure = undefined;
      expect(await listRuns(inner)).toEqual([]);
      expect(await inner.listLeases()).toEqual([]);
      expect(problems).toEqual([]);
    });
  }
});
