/** What a writer gives the spill of its store, and when. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createMemoryStore, MetricsLogger, startRun, type Store } from 'quark-sdk';
import type { LossReport, RowSpill } from '../../../src/store/row-spill.ts';
import type { NewSegment } from '../../../src/store/store.ts';
import { TestClock } from '../../support/clock.ts';

type Saved = [batchNumber: number, rowCount: number];

/** A spill that writes down what it is given. */
class SeenSpill implements RowSpill {
  isReady = true;
  pauseMs = 0;
  isEnding = false;
  flushWithinMs: number | null = null;
  reports: LossReport[] = [];
  readonly runs: string[] = [];
  readonly saves: Saved[][] = [];
  readonly kept = new Map<string, NewSegment>();
  readonly leaving: NewSegment[] = [];

  begin(runId: string): Promise<void> {
    this.runs.push(`begin ${runId}`);
    return Promise.resolve();
  }
  end(runId: string): Promise<void> {
    this.runs.push(`end ${runId}`);
    return Promise.resolve();
  }
  save(segments: readonly NewSegment[]): void {
    const metrics = segments.filter(({ manifest }) => manifest.table === 'metrics');
    this.saves.push(
      metrics.map(({ manifest }): Saved => [manifest.batchNumber, manifest.rowCount]),
    );
    for (const segment of segments) this.kept.set(nameOf(segment), segment);
  }
  forget(segments: readonly NewSegment[]): void {
    for (const segment of segments) this.kept.delete(nameOf(segment));
  }
  leave(segments: readonly NewSegment[]): void {
    this.leaving.push(...segments);
  }
  left(): void {
    this.runs.push('left');
  }
  listReports(): Promise<readonly LossReport[]> {
    return Promise.resolve(this.reports);
  }
  removeReport(report: LossReport): Promise<void> {
    this.reports = this.reports.filter((one) => one !== report);
    return Promise.resolve();
  }
}

const nameOf = ({ manifest }: NewSegment): string =>
  `${manifest.table}/${manifest.writerId}/${manifest.batchNumber}`;

let clock: TestClock;
let spill: SeenSpill;
let store: Store;

beforeEach(() => {
  clock = new TestClock(Date.UTC(2026, 0, 2));
  // A loaded machine takes longer over the calls of a test than a save may be late.
  vi.spyOn(performance, 'now').mockImplementation(() => clock.now());
  spill = new SeenSpill();
  const inner = createMemoryStore({ clock });
  store = new Proxy(inner, {
    get: (target, name) => {
      if (name === 'appendSegmentsNow') return undefined;
      if (name === 'spill') return spill;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
});

afterEach(() => {
  vi.restoreAllMocks();
});

test('in a worker a row is saved before `log` returns, as a version of the batch that grows, and forgotten once it is stored', async () => {
  const session = await startRun({ project: 'p', storage: store, clock });
  const metrics = new MetricsLogger(session);
  metrics.log('loss', 1, { step: 0 });
  expect(spill.saves).toEqual([[[0, 1]]]);
  metrics.logMany({ loss: 2, accuracy: 3 }, { step: 1 });
  expect(spill.saves).toEqual([[[0, 1]], [[0, 3]]]);
  expect(spill.kept.size).toBe(1);
  await metrics.flush();
  expect(spill.kept.size).toBe(0);
  metrics.log('loss', 1, { step: 2 });
  expect(spill.saves.at(-1)).toEqual([[1, 1]]);
  await session.endRun();
  expect(spill.kept.size).toBe(0);
  await session.close();
  expect(spill.runs).toEqual([`begin ${session.runId}`, `end ${session.runId}`]);
});

test('in a page all rows of 20 ms are saved at once', async () => {
  spill.pauseMs = 20;
  const session = await startRun({ project: 'p', storage: store, clock });
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < 50; step++) metrics.log('loss', 1, { step });
  expect(spill.saves).toEqual([]);
  clock.advance(20);
  expect(spill.saves).toEqual([[[0, 50]]]);
  clock.advance(200);
  expect(spill.saves).toHaveLength(1);
  await session.close();
});

test('a page that was told of its end saves each row in its call, also after slow saves: its timers may not come any more', async () => {
  spill.pauseMs = 20;
  const session = await startRun({ project: 'p', storage: store, clock });
  const metrics = new MetricsLogger(session);
  metrics.log('loss', 1, { step: 0 });
  spill.isEnding = true;
  const save = spill.save.bind(spill);
  spill.save = (segments) => {
    clock.advance(15);
    save(segments);
  };
  for (let step = 1; step < 6; step++) {
    metrics.log('loss', 1, { step });
    expect(spill.saves.at(-1)).toEqual([[0, step + 1]]);
  }
  await session.close();
});

test('a batch that is saved as a whole each time ends after some thousand rows', async () => {
  spill.pauseMs = 20;
  const session = await startRun({ project: 'p', storage: store, clock });
  const metrics = new MetricsLogger(session, { batchSize: 100_000, flushIntervalMs: 1e6 });
  for (let step = 0; step < 5000; step++) metrics.log('loss', 1, { step });
  clock.advance(20);
  metrics.log('loss', 1, { step: 5000 });
  clock.advance(20);
  expect(spill.saves).toEqual([[[0, 5000]], [[1, 1]]]);
  await session.close();
});

test('where nothing can be saved, rows are appended early', async () => {
  spill.isReady = false;
  spill.flushWithinMs = 20;
  const session = await startRun({ project: 'p', storage: store, clock });
  const metrics = new MetricsLogger(session);
  metrics.log('loss', 1, { step: 0 });
  clock.advance(20);
  await expect
    .poll(() => store.listSegments({ runId: session.runId, table: 'metrics' }))
    .toHaveLength(1);
  expect(spill.saves).toEqual([]);
  await session.close();
});

test('what is reported of an earlier session becomes events of its run, once, whoever starts', async () => {
  const session = await startRun({ project: 'p', storage: store, clock });
  const { runId } = session;
  const report: LossReport = {
    owner: 'own_1',
    runId,
    recovered: { metrics: 58 },
    missing: { events: 3 },
    savedAtMs: Date.UTC(2026, 0, 1),
    gapMs: 50,
  };
  spill.reports = [report, { ...report, runId: 'run_gone' }];
  const second = await startRun({ project: 'p', storage: store, clock });
  expect(spill.reports).toEqual([]);
  spill.reports = [report];
  const third = await startRun({ project: 'p', storage: store, clock });
  const { openRun } = await import('quark-sdk');
  const events = await (await openRun(store, runId)).readEvents();
  expect(events.map(({ eventType, payload }) => [eventType, payload])).toEqual([
    ['run_started', { project: 'p', parent_run_id: null }],
    ['records_dropped', expect.objectContaining({ table: 'events', count: 3 })],
    [
      'rows_recovered',
      expect.objectContaining({
        rows: 58,
        tables: { metrics: 58 },
        saved_at: '2026-01-01T00:00:00.000Z',
        gap_ms: 50,
      }),
    ],
  ]);
  for (const one of [session, second, third]) await one.close();
});
