/** Whatever the store does and in whatever order things happen: what was taken is there once and in order. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  createMemoryStore,
  MetricsLogger,
  openRun,
  SessionStoreError,
  startRun,
  TrainingSession,
  type NewSegment,
  type Store,
} from 'quark-sdk';
import { metricTable } from '../../src/records/metric.ts';
import { compactTable } from '../../src/segment/compact.ts';
import { TestClock } from '../support/clock.ts';
import { runs } from '../support/property.ts';

type Answer = 'works' | 'fails' | 'is lost';
type Step =
  | { readonly kind: 'log'; readonly rows: number }
  | { readonly kind: 'store'; readonly answer: Answer }
  | { readonly kind: 'wait'; readonly ticks: number }
  | { readonly kind: 'advance'; readonly ms: number }
  | { readonly kind: 'flush' | 'read' | 'merge' | 'whole merge' };

const steps = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('log' as const), rows: fc.integer({ min: 1, max: 9 }) }),
    fc.record({
      kind: fc.constant('store' as const),
      answer: fc.constantFrom<Answer>('works', 'works', 'fails', 'is lost'),
    }),
    fc.record({ kind: fc.constant('wait' as const), ticks: fc.integer({ min: 0, max: 12 }) }),
    fc.record({ kind: fc.constant('advance' as const), ms: fc.integer({ min: 1, max: 3000 }) }),
    fc.record({
      kind: fc.constantFrom(
        'flush' as const,
        'read' as const,
        'merge' as const,
        'whole merge' as const,
      ),
    }),
  ),
  { minLength: 5, maxLength: 60 },
);

const failure = new SessionStoreError('failed', 'The store fails.');

async function play(script: readonly Step[], maxBufferedRows: number): Promise<void> {
  const clock = new TestClock(Date.UTC(2026, 0, 2));
  const inner = createMemoryStore({ clock });
  let answer: Answer = 'works';
  const append = (write: () => unknown): unknown => {
    if (answer === 'fails') throw failure;
    const result = write();
    if (answer === 'is lost') throw failure;
    return result;
  };
  const storage: Store = new Proxy(inner, {
    get(target, name): unknown {
      if (name === 'appendSegments')
        return async (segments: readonly NewSegment[]) => {
          await Promise.resolve();
          const manifests = answer === 'fails' ? [] : await inner.appendSegments(segments);
          if (answer !== 'works') throw failure;
          return manifests;
        };
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      if (name === 'appendSegmentsNow')
        return (segments: readonly NewSegment[]) => append(() => value.call(target, segments));
      return value.bind(target);
    },
  });
  const session = await startRun({ project: 'p', storage, clock, leaseTtlMs: 1e9 });
  const metrics = new MetricsLogger(session, { batchSize: 4, maxBufferedRows });
  let next = 0;
  const taken: number[] = [];
  const under: Promise<unknown>[] = [];
  const flushed = new Map<number, number | null>();
  let flushedCount = 0;
  for (const [at, step] of script.entries()) {
    if (step.kind === 'log') {
      for (let i = 0; i < step.rows; i++, next++) {
        const dropped = metrics.status.droppedRows;
        metrics.log(next % 3 === 0 ? 'a' : 'b', next, { step: next });
        if (metrics.status.droppedRows === dropped) taken.push(next);
      }
    } else if (step.kind === 'store') {
      answer = step.answer;
    } else if (step.kind === 'wait') {
      for (let i = 0; i < step.ticks; i++) await Promise.resolve();
    } else if (step.kind === 'advance') {
      clock.advance(step.ms);
    } else if (step.kind === 'flush') {
      const flush = metrics.flush().then((records) => {
        for (const record of records) flushed.set(record.value, record.sequence);
        flushedCount += records.length;
      });
      under.push(flush.catch(() => undefined));
    } else if (step.kind === 'read') {
      under.push(metrics.read().catch(() => undefined));
    } else {
      const merge = compactTable(inner, metricTable, session.runId, `merge_${at}`);
      under.push(merge);
      if (step.kind === 'whole merge') await merge;
    }
  }
  answer = 'works';
  await Promise.all(under);
  const guest = await TrainingSession.attachRun({ runId: session.runId, storage: inner, clock });
  await Promise.all([session.endRun(), guest.close()]);
  const reader = await openRun(inner, session.runId);
  const columns = await reader.readMetricColumns();
  expect(Array.from(columns.values)).toEqual(taken);
  expect(Array.from(columns.sequences)).toEqual(taken.map((_, i) => i));
  expect(flushed.size).toBe(flushedCount);
  for (const [value, sequence] of flushed) expect(taken[sequence ?? -1]).toBe(value);
  const drops = await reader.readEvents({ eventType: 'records_dropped' });
  const counted = drops.reduce((sum, event) => sum + Number(event.payload['count']), 0);
  expect(counted).toBe(next - taken.length);
  expect(metrics.status).toMatchObject({ bufferedRows: 0, lastError: null });
  await session.close();
}

test('a writer keeps every row once, and counts those it could not take', async () => {
  await fc.assert(fc.asyncProperty(steps, fc.constantFrom(8, 1000), play), runs(200));
});
