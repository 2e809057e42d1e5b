/** What the page of a run says of rows that its curves do not show. */
import { expect, test } from 'vitest';
import { readStoredRows } from '../../../dashboard/run/facts/stored-rows.ts';
import { createMemoryStore, MetricsLogger, openRun, TrainingSession } from '../../../src/index.ts';
import { thinMetrics } from '../../../src/retention/thin.ts';
import { TestClock } from '../../support/clock.ts';

const TTL_MS = 30_000;

test('a run that nobody took over or downsampled has nothing to say', async () => {
  const store = createMemoryStore();
  const session = await TrainingSession.startRun({ project: 'p', storage: store });
  await session.endRun();
  expect(await readStoredRows(await openRun(store, session.runId))).toEqual({});
  await session.close();
});

test('rows of an earlier session, and a run that was downsampled', async () => {
  const clock = new TestClock(1_700_000_000_000);
  const store = createMemoryStore({ clock });
  const options = { storage: store, clock, leaseTtlMs: TTL_MS, handleSignals: false };
  const frozen = await TrainingSession.startRun({ ...options, project: 'p' });
  const { runId } = frozen;
  const early = new MetricsLogger(frozen);
  early.log('loss', 0, { step: 0 });
  clock.jump(TTL_MS + 1_000);
  const session = await TrainingSession.resumeRun({ ...options, runId });
  await early.flush();
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < 1_000; step++) metrics.log('loss', Math.sin(step), { step });
  await metrics.flush();
  await session.endRun();
  for (const one of [frozen, session]) await one.close();
  await thinMetrics(store, runId, { points: 20, nowMs: clock.now() });
  const { downsampled, superseded } = await readStoredRows(await openRun(store, runId));
  expect(superseded).toMatch(/^1 row of an earlier session/);
  expect(downsampled).toMatch(/at most 20 points a metric since .*: 20 of 1,000 rows are left$/);
});
