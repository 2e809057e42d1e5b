import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { longTest } from '../../support/long.ts';
import {
  createMemoryStore,
  defaultSeverity,
  EventLogger,
  type AddLogOptions,
  MetricsLogger,
  openRun,
  SessionStoreError,
  startRun,
  TrainingSession,
  validateRecord,
  type NewSegment,
  type SegmentManifest,
  type Store,
} from 'quark-sdk';
import { metricTable } from '../../../src/records/metric.ts';
import { compactTable } from '../../../src/segment/compact.ts';
import { TestClock } from '../../support/clock.ts';

/** A memory store whose appends can be made to fail or to wait. */
class FailingStore {
  readonly store: Store;
  failure: Error | undefined;
  updateFailure: Error | undefined;
  gate: Promise<void> | undefined;
  appends = 0;

  constructor(clock: TestClock) {
    const inner = createMemoryStore({ clock });
    this.store = new Proxy(inner, {
      get: (target, name) => {
        if (name === 'appendSegmentsNow') return undefined;
        if (name === 'appendSegments')
          return (segments: readonly NewSegment[]) => this.#append(inner, segments);
        if (name === 'updateRun' && this.updateFailure !== undefined)
          return () => Promise.reject(this.updateFailure);
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  }

  async #append(
    inner: Store,
    segments: readonly NewSegment[],
  ): Promise<readonly SegmentManifest[]> {
    this.appends++;
    await this.gate;
    if (this.failure !== undefined) throw this.failure;
    return inner.appendSegments(segments);
  }
}

let clock: TestClock;
let failing: FailingStore;
let session: TrainingSession;

beforeEach(async () => {
  clock = new TestClock(Date.UTC(2026, 0, 2));
  failing = new FailingStore(clock);
  session = await startRun({ project: 'p', storage: failing.store, clock, leaseTtlMs: 3_600_000 });
});
afterEach(async () => {
  failing.failure = undefined;
  failing.gate = undefined;
  await session.close();
});

/** Lets promises that are ready run. */
async function settle(): Promise<void> {
  for (let i = 0; i < 50; i++) await Promise.resolve();
}

describe('flushing', () => {
  test('starts at batchSize rows, and after flushIntervalMs for fewer', async () => {
    const metrics = new MetricsLogger(session, { batchSize: 3, flushIntervalMs: 500 });
    const before = failing.appends;
    metrics.log('a', 1, { step: 0 });
    metrics.log('a', 2, { step: 1 });
    await settle();
    expect(failing.appends).toBe(before);
    metrics.log('a', 3, { step: 2 });
    await settle();
    expect(failing.appends).toBe(before + 1);
    metrics.log('a', 4, { step: 3 });
    clock.advance(499);
    await settle();
    expect(failing.appends).toBe(before + 1);
    clock.advance(1);
    await settle();
    expect(failing.appends).toBe(before + 2);
    expect(metrics.status).toEqual({ bufferedRows: 0, droppedRows: 0, lastError: null });
  });

  test('returns exactly the records it made durable', async () => {
    const metrics = new MetricsLogger(session);
    metrics.log('a', 1, { step: 0, metadata: { x: [1, null] }, description: 'first' });
    metrics.log('loss', 2, {
      epoch: 3,
      namespace: 'val/in',
      timestamp: '2026-03-04T05:06:07.008Z',
    });
    const records = await metrics.flush();
    expect(records.map((record) => record.toDict())).toEqual([
      {
        run_id: session.runId,
        sequence: 0,
        timestamp: '2026-01-02T00:00:00.000Z',
        metric_key: 'a',
        namespace: null,
        metric_name: 'a',
        value: 1,
        step: 0,
        epoch: null,
        description: 'first',
        metadata: { x: [1, null] },
      },
      {
        run_id: session.runId,
        sequence: 1,
        timestamp: '2026-03-04T05:06:07.008Z',
        metric_key: 'val/in/loss',
        namespace: 'val/in',
        metric_name: 'loss',
        value: 2,
        step: null,
        epoch: 3,
        description: null,
        metadata: null,
      },
    ]);
    for (const record of records) validateRecord(record);
    expect(await metrics.flush()).toEqual([]);
  });

  test('rows that come while an append is under way go into the next one', async () => {
    let release = (): void => undefined;
    failing.gate = new Promise((resolve) => {
      release = resolve;
    });
    const metrics = new MetricsLogger(session, { batchSize: 2 });
    for (let step = 0; step < 9; step++) {
      metrics.log('a', step, { step });
      await settle();
    }
    release();
    await metrics.close();
    const segments = await session.store.listSegments({ runId: session.runId, table: 'metrics' });
    expect(segments.map((segment) => segment.rowCount)).toEqual([2, 7]);
  });

  test('waits for the rows that are there, not for those that come meanwhile', async () => {
    const metrics = new MetricsLogger(session);
    metrics.log('a', 0, { step: 0 });
    const flushed = metrics.flush();
    let loggedAfter = 0;
    void flushed.then(() => (loggedAfter = step));
    let step = 1;
    for (; step < 3000; step++) {
      metrics.log('a', step, { step });
      await Promise.resolve();
    }
    expect(loggedAfter).toBeGreaterThan(0);
    expect(loggedAfter).toBeLessThan(100);
    expect((await flushed).map((record) => record.step)).toEqual([0]);
    await metrics.close();
    expect(await metrics.read()).toHaveLength(step);
  });

  test('two flushes at once return every record once', async () => {
    let release = (): void => undefined;
    failing.gate = new Promise((resolve) => {
      release = resolve;
    });
    const metrics = new MetricsLogger(session, { batchSize: 2 });
    metrics.log('a', 0, { step: 0 });
    metrics.log('a', 1, { step: 1 });
    metrics.log('a', 2, { step: 2 });
    const flushes = [metrics.flush(), metrics.flush()];
    release();
    const [first, second] = await Promise.all(flushes);
    expect([first, second].map((records) => records?.map((record) => record.step))).toEqual([
      [2],
      [],
    ]);
  });

  longTest('rows with long texts are cut into segments that stores take', async () => {
    const metrics = new MetricsLogger(session, { batchSize: 1000 });
    const text = 'x'.repeat(1_000_000);
    for (let step = 0; step < 70; step++) metrics.log('a', step, { step, metadata: { text } });
    await metrics.flush();
    const segments = await session.store.listSegments({ runId: session.runId, table: 'metrics' });
    expect(segments.length).toBeGreaterThan(4);
    expect(Math.max(...segments.map((segment) => segment.sizeBytes))).toBeLessThan(17 << 20);
    const columns = await metrics.readColumns();
    expect(Array.from(columns.values)).toEqual(Array.from({ length: 70 }, (_, i) => i));
  });

  test('names that are no keys are mapped on request, and their originals are events', async () => {
    const strict = new MetricsLogger(session);
    expect(() => strict.log('Loss (val): %', 1, { step: 0 })).toThrow(/segments joined by/);
    const metrics = new MetricsLogger(session, { names: 'map' });
    for (const step of [0, 1]) {
      metrics.log('Loss (val): %', step, { step });
      metrics.log('top 5', step, { step, namespace: 'my eval', context: { subset: 'val' } });
      metrics.log('train/loss_', step, { step });
    }
    // A second name of a key would be another series in the same one.
    expect(() => metrics.log('Loss [val]', 1, { step: 2 })).toThrow(
      /another name than Loss \(val\): %/,
    );
    for (const nothing of ['(%)', ''])
      expect(() => metrics.log(nothing, 1, { step: 2 })).toThrow(
        expect.objectContaining({ code: 'invalid_input' }),
      );
    await session.flush();
    const records = await metrics.read();
    expect(new Set(records.map(({ metricKey }) => metricKey))).toEqual(
      new Set(['Loss_val', 'my_eval/top_5 {subset=val}', 'train/loss_']),
    );
    const reader = await openRun(session.store, session.runId);
    const renamed = await reader.readEvents({ eventType: 'metric_renamed' });
    expect(renamed.map(({ payload }) => [payload['metric_key'], payload['name']])).toEqual([
      ['Loss_val', 'Loss (val): %'],
      ['my_eval/top_5', 'my eval/top 5'],
    ]);
  });

  test('a closed logger refuses, and an ended run too', async () => {
    const metrics = new MetricsLogger(session);
    metrics.log('a', 1, { step: 0 });
    await metrics.close();
    expect(() => metrics.log('a', 1, { step: 1 })).toThrow(
      expect.objectContaining({
        code: 'writer_closed',
        message: expect.stringContaining('takes a new one while it is open'),
      }),
    );
    expect(await metrics.read()).toHaveLength(1);
    const { context } = session;
    const late = new MetricsLogger(session);
    await session.endRun();
    // No session of an ended run takes another writer.
    expect(() => late.log('a', 1, { step: 1 })).toThrow(
      expect.objectContaining({
        code: 'writer_closed',
        message: expect.stringMatching(
          /^This writer of metrics is closed\. Run \S+ has ended as "completed".* parentRunId\.$/,
        ),
      }),
    );
    expect(() => new MetricsLogger(session)).toThrow(
      expect.objectContaining({ code: 'invalid_run_state' }),
    );
    // A completed run cannot be resumed: nobody is told to.
    expect(() => new EventLogger(context)).toThrow(/ended as "completed".* parentRunId\.$/);
    expect(() => metrics.log('a', 1, { step: 2 })).toThrow(/ended as "completed"/);
    await expect(session.endRun()).rejects.toMatchObject({ code: 'invalid_run_state' });
    await expect(session.addTag('late')).rejects.toMatchObject({ code: 'invalid_run_state' });
    await expect(session.addLog('late')).rejects.toMatchObject({ code: 'invalid_run_state' });
  });
});

describe('a store that fails', () => {
  const full = new SessionStoreError('full', 'The disk is full.');

  test('does not disturb training; everything is written once when it works again', async () => {
    const metrics = new MetricsLogger(session, { batchSize: 2 });
    failing.failure = full;
    for (let step = 0; step < 10; step++) metrics.log('a', step, { step });
    await settle();
    expect(metrics.status.lastError).toBe(full);
    expect(await metrics.flush()).toEqual([]);
    expect(metrics.status.bufferedRows).toBe(10);
    failing.failure = undefined;
    clock.advance(30_000);
    await settle();
    expect(metrics.status).toEqual({ bufferedRows: 0, droppedRows: 0, lastError: null });
    await session.endRun();
    const reader = await openRun(session.store, session.runId);
    expect((await reader.readMetrics()).map((record) => record.value)).toEqual([
      0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
    ]);
    expect(
      (await reader.readEvents({ eventType: 'runtime_error' })).map((event) => event.payload),
    ).toMatchObject([{ source: 'metrics', reason: 'full' }]);
  });

  test('beyond the bound rows are counted, and the count is recorded', async () => {
    const metrics = new MetricsLogger(session, { batchSize: 4, maxBufferedRows: 8 });
    failing.failure = full;
    for (let step = 0; step < 20; step++) {
      metrics.log('a', step, { step });
      await settle();
    }
    expect(metrics.status).toMatchObject({ bufferedRows: 8, droppedRows: 12, lastError: full });
    failing.failure = undefined;
    await session.endRun();
    const reader = await openRun(session.store, session.runId);
    expect((await reader.readMetrics()).map((record) => record.value)).toEqual([
      0, 1, 2, 3, 4, 5, 6, 7,
    ]);
    expect(
      (await reader.readEvents({ eventType: 'records_dropped' })).map((event) => [
        event.severity,
        event.payload,
      ]),
    ).toEqual([['error', { table: 'metrics', count: 12, max_buffered_rows: 8 }]]);
  });

  test('is not asked for every row once the buffer is full', async () => {
    let attempts = 0;
    const spy = new Proxy(session.store, {
      get(target, name): unknown {
        if (name === 'appendSegmentsNow')
          return () => {
            attempts++;
            throw full;
          };
        return name === 'appendSegments' ? () => Promise.reject(full) : Reflect.get(target, name);
      },
    });
    const guest = await TrainingSession.attachRun({ runId: session.runId, storage: spy, clock });
    const metrics = new MetricsLogger(guest, { batchSize: 4, maxBufferedRows: 8 });
    for (let step = 0; step < 1000; step++) metrics.log('a', step, { step });
    expect(metrics.status.droppedRows).toBe(992);
    expect(attempts).toBe(1);
    await settle();
    clock.jump(60_000);
    metrics.log('a', 0, { step: 0 });
    expect(attempts).toBe(2);
    await guest.close();
    expect(guest.recordingStatus()).toMatchObject({ state: 'stopped', error: full });
  });

  test('an append that was done although it seemed to fail is not written twice', async () => {
    const metrics = new MetricsLogger(session);
    const append = session.store.appendSegments.bind(session.store);
    let hasFailed = false;
    const spy = new Proxy(session.store, {
      get(target, name): unknown {
        if (name !== 'appendSegments') return Reflect.get(target, name);
        return async (segments: readonly NewSegment[]) => {
          const manifests = await append(segments);
          if (hasFailed) return manifests;
          hasFailed = true;
          throw new SessionStoreError('unreachable', 'The answer was lost.');
        };
      },
    });
    metrics.log('a', 1, { step: 0 });
    await metrics.close();
    const guest = await TrainingSession.attachRun({ runId: session.runId, storage: spy, clock });
    const late = new MetricsLogger(guest);
    late.log('a', 2, { step: 1 });
    expect(await late.flush()).toEqual([]);
    expect(late.status.lastError).toMatchObject({ reason: 'unreachable' });
    await compactTable(session.store, metricTable, session.runId, 'merge_1');
    // The merged segment starts with another row: these are no records of this call.
    expect(await late.flush()).toEqual([]);
    await guest.close();
    expect(
      (await (await openRun(session.store, session.runId)).readMetrics()).map(
        (record) => record.value,
      ),
    ).toEqual([1, 2]);
  });

  longTest('bounds rows with long texts by their bytes', async () => {
    const metrics = new MetricsLogger(session, { batchSize: 1000, flushIntervalMs: 3_600_000 });
    failing.failure = full;
    const text = 'x'.repeat(1_000_000);
    for (let step = 0; step < 200; step++) metrics.log('a', step, { step, metadata: { text } });
    expect(metrics.status.droppedRows).toBeGreaterThan(50);
    expect(metrics.status.bufferedRows).toBeGreaterThan(100);
    failing.failure = undefined;
    const { bufferedRows, droppedRows } = metrics.status;
    await session.endRun();
    const reader = await openRun(session.store, session.runId);
    expect((await reader.readMetricColumns()).rowCount).toBe(bufferedRows);
    expect((await reader.readEvents({ eventType: 'records_dropped' }))[0]?.payload['count']).toBe(
      droppedRows,
    );
  });

  test('in strict mode ends the run only when everything is stored', async () => {
    session = await startRun({ project: 'p', storage: failing.store, clock, strictMode: true });
    const metrics = new MetricsLogger(session);
    metrics.log('a', 1, { step: 0 });
    failing.failure = full;
    await expect(session.endRun()).rejects.toBe(full);
    failing.failure = undefined;
    expect((await session.endRun()).status).toBe('completed');
    expect(await (await openRun(session.store, session.runId)).readMetrics()).toHaveLength(1);
  });

  test('in strict mode records the end once, however often ending was tried', async () => {
    session = await startRun({ project: 'p', storage: failing.store, clock, strictMode: true });
    failing.updateFailure = full;
    await expect(session.endRun()).rejects.toBe(full);
    failing.updateFailure = undefined;
    await session.endRun();
    const reader = await openRun(session.store, session.runId);
    expect(await reader.readEvents({ eventType: 'run_ended' })).toHaveLength(1);
  });
});

describe('bad input', () => {
  const cases: readonly [string, (metrics: MetricsLogger) => unknown, string][] = [
    ['an empty name', (m) => m.log('', 1, { step: 0 }), 'metric'],
    ['a leading dot', (m) => m.log('.a', 1, { step: 0 }), 'metric'],
    ['an empty segment', (m) => m.log('a//b', 1, { step: 0 }), 'metric'],
    ['a bad namespace', (m) => m.log('a', 1, { step: 0, namespace: '-x' }), 'namespace'],
    ['a negative step', (m) => m.log('a', 1, { step: -1 }), 'step'],
    ['a fractional step', (m) => m.log('a', 1, { step: 0.5 }), 'step'],
    ['a step beyond 2^53', (m) => m.log('a', 1, { step: 2 ** 53 }), 'step'],
    ['a NaN step', (m) => m.log('a', 1, { step: Number.NaN }), 'step'],
    ['a fractional epoch', (m) => m.log('a', 1, { epoch: 1.5 }), 'epoch'],
    ['neither step nor epoch', (m) => m.log('a', 1, {}), 'step'],
    [
      'metadata with a function',
      (m) => m.log('a', 1, { step: 0, metadata: { f: (() => 1) as never } }),
      'metadata.f',
    ],
    [
      'metadata with NaN',
      (m) => m.log('a', 1, { step: 0, metadata: { n: [Number.NaN] } }),
      'metadata.n[0]',
    ],
    [
      'metadata that is a list',
      (m) => m.log('a', 1, { step: 0, metadata: [] as never }),
      'metadata',
    ],
    [
      'metadata of more than a million characters',
      (m) => m.log('a', 1, { step: 0, metadata: { t: 'x'.repeat(1 << 20) } }),
      'metadata.length',
    ],
    ['a time that is none', (m) => m.log('a', 1, { step: 0, timestamp: 'yesterday' }), 'timestamp'],
    ['text as value', (m) => m.log('a', '1' as never, { step: 0 }), 'value of a'],
    ['columns of other lengths', (m) => m.logColumns('a', [0, 1], [1]), 'steps.length'],
    ['a bad step in columns', (m) => m.logColumns('a', [0, -2], [1, 2]), 'steps[1]'],
    [
      'one bad value of many',
      (m) => m.logMany({ a: 1, b: 'x' as never }, { step: 0 }),
      'value of b',
    ],
  ];
  test.each(cases)('%s is refused and nothing is recorded', async (_what, act, field) => {
    const metrics = new MetricsLogger(session);
    let error: unknown;
    try {
      act(metrics);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toMatchObject({ code: 'invalid_input', details: { field } });
    expect(await metrics.read()).toEqual([]);
  });

  test('options and filters that do not exist are named', async () => {
    expect(() => new MetricsLogger(session, { batchsize: 3 } as never)).toThrow(
      /options\.batchsize/,
    );
    expect(() => new MetricsLogger(session, { batchSize: 0 })).toThrow(
      /batchSize must be a positive integer/,
    );
    const metrics = new MetricsLogger(session);
    await expect(metrics.read({ stepMn: 3 } as never)).rejects.toThrow(/filter\.stepMn/);
    await expect(metrics.read({ stepMin: 5, stepMax: 4 })).rejects.toThrow(
      /stepMin must be at most stepMax/,
    );
    await expect(metrics.read({ limit: 0 })).rejects.toThrow(/limit/);
  });

  test('a message takes a severity, from which its identifier follows unless it is given', () => {
    const events = new EventLogger(session);
    const kindOf = (options: AddLogOptions): readonly unknown[] => {
      const { severity, payload } = events.addLog('m', options);
      return [severity, payload['identifier']];
    };
    expect(kindOf({})).toEqual(['info', 'Info']);
    expect(kindOf({ severity: 'error' })).toEqual(['error', 'Error']);
    expect(kindOf({ severity: 'critical' })).toEqual(['critical', 'Error']);
    expect(kindOf({ severity: 'warning' })).toEqual(['warning', 'Warning']);
    expect(kindOf({ severity: 'debug' })).toEqual(['debug', 'Info']);
    expect(kindOf({ identifier: 'Error' })).toEqual(['error', 'Error']);
    expect(kindOf({ severity: 'critical', identifier: 'Warning' })).toEqual([
      'critical',
      'Warning',
    ]);
  });

  test('event types, severities, identifiers and reserved keys are checked', () => {
    const events = new EventLogger(session);
    const error = { code: 'invalid_input' };
    expect(() => events.log('Upper')).toThrow(expect.objectContaining(error));
    expect(() => events.log('ok', { severity: 'fatal' as never })).toThrow(
      expect.objectContaining(error),
    );
    expect(() => events.addLog('m', { identifier: 'Debug' as never })).toThrow(
      expect.objectContaining(error),
    );
    expect(() => events.addLog('m', { payload: { message: 'x' } })).toThrow(/reserved/);
    expect(() => events.addLog('m', { payload: { identifier: 'x' } })).toThrow(/reserved/);
    expect(() => events.log('ok', { step: -1 })).toThrow(expect.objectContaining(error));
    expect(() => events.log('ok', { payload: { d: new Date() as never } })).toThrow(/payload\.d/);
  });
});

describe('non-finite values', () => {
  test('are stored as they are, counted, and reported once a key', async () => {
    const metrics = new MetricsLogger(session);
    metrics.log('a', Number.NaN, { step: 0 });
    metrics.log('a', Number.POSITIVE_INFINITY, { step: 1 });
    metrics.log('b', Number.NEGATIVE_INFINITY, { step: 2 });
    metrics.logColumns('c', [3, 4], [1, Number.NaN]);
    expect([...metrics.nonFiniteCounts]).toEqual([
      ['a', 2],
      ['b', 1],
      ['c', 1],
    ]);
    expect((await metrics.read()).map((record) => record.value)).toEqual([
      Number.NaN,
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
      1,
      Number.NaN,
    ]);
    await session.flush();
    const events = await (
      await openRun(session.store, session.runId)
    ).readEvents({ eventType: 'non_finite_metric' });
    expect(events.map((event) => [event.payload['metric_key'], event.step])).toEqual([
      ['a', 0],
      ['b', 2],
      ['c', 4],
    ]);
  });

  test('are refused in strict mode', async () => {
    const strict = await startRun({
      project: 'p',
      storage: failing.store,
      clock,
      strictMode: true,
    });
    const metrics = new MetricsLogger(strict);
    expect(() => metrics.log('a', Number.NaN, { step: 0 })).toThrow(/finite/);
    await strict.close();
  });
});

describe('reading', () => {
  test('late, repeated and out-of-order steps are kept in the order they came', async () => {
    const metrics = new MetricsLogger(session);
    for (const step of [5, 3, 3, 9, 0]) metrics.log('a', step, { step });
    expect((await metrics.read()).map((record) => record.step)).toEqual([5, 3, 3, 9, 0]);
    expect((await metrics.read({ stepMin: 3, stepMax: 5 })).map((record) => record.step)).toEqual([
      5, 3, 3,
    ]);
    expect((await metrics.read({ limit: 2 })).map((record) => record.step)).toEqual([9, 0]);
    const columns = await metrics.readColumns({ sequenceMin: 3 });
    expect([Array.from(columns.values), columns.lastSequence]).toEqual([[9, 0], 4]);
    const latest = await metrics.readColumns({ sequenceMin: columns.lastSequence + 1 });
    expect([latest.rowCount, latest.lastSequence]).toEqual([0, 4]);
  });

  test('a limit takes the most recent samples of all segments, also once they are merged', async () => {
    const metrics = new MetricsLogger(session);
    for (let step = 0; step < 9000; step++) metrics.logMany({ a: step, b: -step }, { step });
    await session.endRun();
    const reader = await openRun(session.store, session.runId);
    const last = await reader.readMetrics({ limit: 3 });
    expect(last.map((record) => [record.metricKey, record.value])).toEqual([
      ['b', -8998],
      ['a', 8999],
      ['b', -8999],
    ]);
    const columns = await reader.readMetricColumns({ limit: 3 });
    expect(Array.from(columns.values)).toEqual([-8998, 8999, -8999]);
  });

  test('keys of JSON are data, whatever they are called', async () => {
    const metrics = new MetricsLogger(session);
    const metadata = JSON.parse('{"__proto__": {"polluted": 1}, "constructor": 2}');
    const record = metrics.log('a', 1, { step: 0, metadata });
    expect(JSON.stringify(record.metadata)).toBe(JSON.stringify(metadata));
    expect(JSON.stringify((await metrics.read())[0]?.metadata)).toBe(JSON.stringify(metadata));
    const event = await session.addLog('m', { payload: metadata });
    expect(Object.keys(event.payload)).toContain('__proto__');
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
  });

  test('instants beyond the year 9999 are records like others', () => {
    const metrics = new MetricsLogger(session);
    const record = metrics.log('a', 1, { step: 0, timestamp: 8.64e15 });
    expect(record.timestamp).toBe('+275760-09-13T00:00:00.000Z');
    validateRecord(record);
    expect(new EventLogger(session).log('far', { timestamp: record.timestamp }).timestamp).toBe(
      record.timestamp,
    );
  });

  test('events are filtered by type and severity', async () => {
    const events = new EventLogger(session, { batchSize: 2 });
    for (let step = 0; step < 6; step++)
      events.log(step % 2 === 0 ? 'even' : 'odd_error', { step });
    expect(
      (await events.read({ eventTypes: ['even', 'none'] })).map((event) => event.step),
    ).toEqual([0, 2, 4]);
    expect(
      (await events.read({ severity: 'error', stepMin: 2 })).map((event) => event.step),
    ).toEqual([3, 5]);
    expect(await events.read({ eventType: 'even', eventTypes: ['odd_error'] })).toEqual([]);
    expect((await events.flush()).length).toBe(0);
  });

  test('severities have defaults', () => {
    expect(
      [
        'run_started',
        'runtime_error',
        'oom_error',
        'disk_warning',
        'x',
        'constructor',
        'job_failed',
      ].map(defaultSeverity),
    ).toEqual(['info', 'error', 'error', 'warning', 'info', 'info', 'error']);
  });
});
