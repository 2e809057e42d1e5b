import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { createMemoryStore, MetricsLogger, openRun, startRun, TrainingSession } from 'quark-sdk';
import type { JsonObject } from '../../../src/base/json.ts';
import { joinSummaries, MetricSummaries } from '../../../src/records/metric-summaries.ts';
import { TestClock } from '../../support/clock.ts';
import { runs } from '../../support/property.ts';

type Row = {
  readonly key: string;
  readonly value: number;
  readonly step: number;
  readonly timeMs: number;
};

const KEYS = ['train/loss', 'val/accuracy', 'lr', 'loss {subset=val}'];
const BETTER: Readonly<Record<string, 'higher' | 'lower'>> = {
  'train/loss': 'lower',
  'val/accuracy': 'higher',
  'loss {subset=val}': 'lower',
};

function summariesOf(rows: readonly Row[]): JsonObject {
  const summaries = new MetricSummaries();
  KEYS.forEach((key, id) => summaries.addSeries(id, key));
  summaries.addRows({
    rowCount: rows.length,
    series: Int32Array.from(rows, ({ key }) => KEYS.indexOf(key)),
    values: Float64Array.from(rows, ({ value }) => value),
    steps: Float64Array.from(rows, ({ step }) => step),
    timesMs: Float64Array.from(rows, ({ timeMs }) => timeMs),
  });
  return summaries.toJson();
}

/** The same by the definition, slowly. */
function expected(rows: readonly Row[]): JsonObject {
  return Object.fromEntries(
    KEYS.flatMap((key) => {
      const own = rows.filter((row) => row.key === key);
      const last = own.toSorted((a, b) => a.timeMs - b.timeMs || a.step - b.step).at(-1);
      if (last === undefined) return [];
      const finite = own.filter(({ value }) => Number.isFinite(value));
      const values = finite.map(({ value }) => value);
      const sign = BETTER[key] === 'lower' ? 1 : -1;
      const best =
        BETTER[key] === undefined
          ? undefined
          : finite.toSorted((a, b) => sign * (a.value - b.value) || a.step - b.step)[0];
      const summary = {
        last: Number.isFinite(last.value) ? last.value : String(last.value),
        last_at_ms: last.timeMs,
        last_step: last.step,
        ...(values.length === 0 ? {} : { min: Math.min(...values), max: Math.max(...values) }),
        ...(best === undefined ? {} : { best: best.value, best_step: best.step }),
      };
      return [[key, summary]];
    }),
  );
}

/** Samples of one series have a time and a step of their own each. */
const rowsOf = fc
  .array(
    fc.record({
      key: fc.constantFrom(...KEYS),
      value: fc.oneof(fc.integer({ min: -5, max: 5 }), fc.constantFrom(Number.NaN, Infinity)),
      timeMs: fc.integer({ min: 0, max: 20 }),
    }),
    { maxLength: 40 },
  )
  .map((rows) => rows.map((row, step) => ({ ...row, step })));

test('summaries are those of the definition, however the rows are divided', () => {
  fc.assert(
    fc.property(rowsOf, fc.array(fc.nat({ max: 3 })), (rows, owners) => {
      const parts = [0, 1, 2, 3].map((owner) =>
        summariesOf(rows.filter((_, i) => (owners[i] ?? 0) === owner)),
      );
      const whole = expected(rows);
      expect(summariesOf(rows)).toEqual(whole);
      const joined = parts.reduce((a, b) => joinSummaries(a, b), {});
      expect(joined).toEqual(whole);
      // In the other order, and twice.
      const again = parts
        .toReversed()
        .reduce((a, b) => joinSummaries(b, joinSummaries(a, b)), joined);
      expect(again).toEqual(whole);
    }),
    runs(300),
  );
});

test('what is no summary is left out and harms nothing', () => {
  const good = { last: 1, last_at_ms: 5 };
  const bad = {
    a: null,
    b: 3,
    c: { last: true, last_at_ms: 1 },
    d: { last: 1, last_at_ms: 1, min: 'x' },
  };
  expect(joinSummaries({ ...bad, e: good }, bad)).toEqual({ e: good });
});

test('a program that flushes all the time has its record written once a second', async () => {
  const clock = new TestClock(Date.UTC(2026, 0, 2));
  const store = createMemoryStore({ clock });
  const update = vi.spyOn(store, 'updateRun');
  const session = await startRun({ project: 'p', storage: store, clock, handleSignals: false });
  const metrics = new MetricsLogger(session);
  const last = async () =>
    (await openRun(store, session.runId)).run.metricSummaries['loss'] ?? { last: undefined };
  for (let step = 0; step < 50; step++) {
    metrics.log('loss', step, { step });
    await session.flush();
  }
  expect(update).toHaveBeenCalledTimes(1);
  expect(await last()).toMatchObject({ last: 0 });
  clock.advance(1000);
  await expect.poll(last).toMatchObject({ last: 49 });
  expect(update).toHaveBeenCalledTimes(2);
  metrics.log('loss', 99, { step: 99 });
  await session.flush();
  await session.close();
  expect(await last()).toMatchObject({ last: 99 });
});

test('a run remembers its metrics: at the end, after a flush, and while it goes on', async () => {
  const clock = new TestClock(Date.UTC(2026, 0, 2));
  const store = createMemoryStore({ clock });
  const options = { project: 'p', storage: store, clock, strictMode: true };
  const session = await startRun(options);
  const metrics = new MetricsLogger(session, { batchSize: 2 });
  const summaries = async () => (await openRun(store, session.runId)).run.metricSummaries;
  metrics.log('loss', 3, { step: 0 });
  await metrics.flush();
  expect(await summaries()).toEqual({});
  await session.flush();
  expect(await summaries()).toMatchObject({ loss: { last: 3, min: 3, best: 3 } });
  clock.advance(31_000);
  metrics.log('loss', 1, { step: 1 });
  metrics.log('loss', 2, { step: 2 });
  await expect.poll(summaries).toMatchObject({ loss: { last: 2, min: 1, max: 3, best_step: 1 } });

  const other = await TrainingSession.attachRun({ storage: store, runId: session.runId, clock });
  const more = new MetricsLogger(other, { nonFinite: 'store' });
  more.log('cost', 3.2, { position: 'none' });
  more.log('loss', Number.NaN, { step: 3, timestamp: clock.now() + 5 });
  await other.close();
  metrics.log('loss', 0.5, { step: 4, context: { subset: 'val' } });
  await session.endRun();
  const found = await summaries();
  expect(Object.keys(found)).toEqual(['loss', 'cost', 'loss {subset=val}']);
  expect(found).toMatchObject({
    loss: { last: 'NaN', last_step: 3, min: 1, max: 3, best: 1, best_step: 1 },
    cost: { last: 3.2, min: 3.2, max: 3.2 },
    'loss {subset=val}': { best: 0.5 },
  });
  expect(found['cost']).not.toHaveProperty('last_step');
  await session.close();
});
