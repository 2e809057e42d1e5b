import { afterEach, describe, expect, it } from 'vitest';
import { createMemoryStore, MetricsLogger, openRun, TrainingSession } from 'quark-sdk';
import { AnalyzerEngine, groupAlerts, type Silence } from 'quark-sdk/analysis';
import {
  changeNotice,
  dismissNotice,
  makeChanges,
  undoChanges,
} from '../../../dashboard/changes/page-changes.ts';
import {
  isAcknowledged,
  sayingCount,
  sayingOf,
  takingBack,
  type AlertsOfCause,
} from '../../../dashboard/run/analysis/alert-changes.ts';
import { runOutcome } from '../../../dashboard/run/header/run-outcome.ts';
import { RunFeed } from '../../../dashboard/series/run-feed.ts';

afterEach(dismissNotice);

async function failedRun(): Promise<{
  feed: RunFeed;
  group: AlertsOfCause;
  engine: AnalyzerEngine;
}> {
  const store = createMemoryStore();
  const session = await TrainingSession.startRun({
    project: 'acked',
    storage: store,
    handleSignals: false,
  });
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < 50; step += 1) metrics.log('train/loss', 1 / (step + 1), { step });
  await session.endRun('failed');
  const engine = new AnalyzerEngine(await openRun(store, session.runId));
  const { alerts } = await engine.analyze({ persist: false });
  const group = groupAlerts(alerts).find(({ cause }) => cause.ruleId === 'run_end');
  if (group === undefined) throw new Error('The failed run has no alert.');
  return { feed: await RunFeed.open(store, session.runId), group, engine };
}

const acknowledgement = {
  kind: 'acknowledge',
  reason: 'The disk was full.',
  by: 'ada',
  until: null,
  isOfAll: true,
} as const;

describe('what is said of alerts', () => {
  it('is undone by what was said before, or by taking it back', async () => {
    const { engine, feed, group } = await failedRun();
    await makeChanges([sayingOf(feed, group, [], acknowledgement)]);
    expect(changeNotice.value?.text).toBe('Acknowledged "The run failed"');
    const [said] = await engine.readSilences();
    expect(said).toMatchObject({
      kind: 'acknowledge',
      by: 'ada',
      reason: 'The disk was full.',
      until: null,
    });
    await undoChanges();
    expect(await engine.readSilences()).toEqual([]);
    // One that was silenced, and is then acknowledged, is silenced again.
    await makeChanges([sayingOf(feed, group, [], { ...acknowledgement, kind: 'silence' })]);
    dismissNotice();
    const before = await engine.readSilences();
    await makeChanges([sayingOf(feed, group, before, acknowledgement)]);
    expect((await engine.readSilences()).map(({ kind }) => kind)).toEqual(['acknowledge']);
    await undoChanges();
    expect((await engine.readSilences()).map(({ kind, reason }) => [kind, reason])).toEqual([
      ['silence', 'The disk was full.'],
    ]);
    await makeChanges([takingBack(feed, group, before)]);
    expect(await engine.readSilences()).toEqual([]);
    await undoChanges();
    expect((await engine.readSilences()).map(({ kind }) => kind)).toEqual(['silence']);
    await feed.poll();
    expect(sayingCount(feed.events)).toBeGreaterThan(4);
  });

  it('folds a group whose alerts are all acknowledged, and no other', async () => {
    const { group } = await failedRun();
    const silence: Silence = {
      ruleId: group.cause.ruleId,
      moduleName: null,
      metricKey: null,
      kind: 'acknowledge',
      reason: 'known',
      by: null,
      until: null,
      atMs: 1,
    };
    const later = { ...group.cause, id: 'later', ruleId: 'later' };
    const both = { ...group, consequences: [later] };
    expect(isAcknowledged(group, new Map())).toBe(false);
    expect(
      isAcknowledged({ ...group, consequences: [] }, new Map([[group.cause.id, silence]])),
    ).toBe(true);
    expect(isAcknowledged(both, new Map([[group.cause.id, silence]]))).toBe(false);
    const all = new Map([
      [group.cause.id, silence],
      [later.id, silence],
    ]);
    expect(isAcknowledged(both, all)).toBe(true);
    const silenced = new Map([...all, [later.id, { ...silence, kind: 'silence' as const }]]);
    expect(isAcknowledged(both, silenced)).toBe(false);
  });
});

describe('how a run ended', () => {
  const event = (eventType: string, message: unknown, step: number | null) => ({
    eventType,
    severity: 'error' as const,
    step,
    payload: { message: message as string },
  });

  it('is said of one that did not complete, with what the program said of it', () => {
    const of = (
      status: Parameters<typeof runOutcome>[0]['status'],
      events: Parameters<typeof runOutcome>[0]['events'],
      step: number,
      statusReason: string | null = null,
    ) => runOutcome({ status, run: { statusReason }, events, position: { step } });
    expect(of('completed', [], 3)).toBeUndefined();
    expect(of('running', [event('runtime_error', 'x', 1)], 3)).toBeUndefined();
    expect(of('failed', [event('runtime_error', 'CUDA out of memory\nat train', 12)], 20)).toEqual({
      text: 'Failed at step 12',
      reason: 'CUDA out of memory',
      isFailure: true,
    });
    // The record is the one that every other view shows.
    expect(of('failed', [event('runtime_error', 'of the event', 12)], 20, 'of the record')).toEqual(
      {
        text: 'Failed at step 12',
        reason: 'of the record',
        isFailure: true,
      },
    );
    expect(of('interrupted', [], 1500, 'signal SIGTERM')?.reason).toBe('signal SIGTERM');
    expect(of('interrupted', [], 1500)).toEqual({
      text: 'Interrupted at step 1,500',
      reason: undefined,
      isFailure: false,
    });
    expect(of('failed', [event('user_log', 'not about it', 1)], Number.NaN)).toEqual({
      text: 'Failed',
      reason: undefined,
      isFailure: true,
    });
    const long = of('failed', [event('run_failed', 'y'.repeat(5000), null)], 1);
    expect(long?.reason?.length).toBe(300);
    expect(of('failed', [event('runtime_error', 7, null)], 1)?.reason).toBeUndefined();
  });
});
