/** What is marked in the charts of a run, and where it leads. */
import { describe, expect, it } from 'vitest';
import type { EventRecord } from 'quark-sdk';
import { runMarks } from '../../../dashboard/annotations/run-marks.ts';
import { isMeant } from '../../../dashboard/run/analysis/alert-list.tsx';
import type { RunFindings } from '../../../dashboard/worker/run-analysis.ts';

function event(given: Partial<EventRecord>): EventRecord {
  return {
    runId: 'run_1',
    sequence: 0,
    timestamp: '2026-01-01T00:00:00.000Z',
    eventType: 'checkpoint',
    severity: 'info',
    step: 10,
    epoch: null,
    status: null,
    payload: {},
    toDict: () => ({}),
    ...given,
  };
}

const alert = {
  id: 'alr_1',
  ruleId: 'plateau',
  severity: 'warning',
  title: 'No more improvement',
  fact: 'val/loss has not improved since step 40.',
  stepStart: 40,
} as const;
const findings: RunFindings = { alerts: [alert], phases: [], phaseAxis: 'step' };
const watched = event({
  eventType: 'alert',
  step: 90,
  payload: {
    rule_id: 'plateau',
    title: alert.title,
    fact: alert.fact,
    step_start: 40,
    step_end: 90,
  },
});

describe('the marks of a run', () => {
  const of = (given: Partial<Parameters<typeof runMarks>[0]>) =>
    runMarks({ runId: 'run_1', events: [], notes: [], findings: undefined, ...given });

  it('lead from a stored alert to its evidence, and its event says it no second time', () => {
    expect(of({ findings, events: [watched] })).toEqual([
      {
        kind: 'alert',
        title: alert.title,
        step: 40,
        text: 'No more improvement: val/loss has not improved since step 40.',
        href: '#/runs/run_1?view=analysis&alert=plateau:40',
      },
    ]);
    // Without a stored one, the event of the watch does.
    expect(of({ events: [watched] })).toMatchObject([
      { kind: 'alert', step: 40, href: '#/runs/run_1?view=analysis&alert=plateau:40' },
    ]);
    // An alert about the whole run has no step.
    const whole = { ...findings, alerts: [{ ...alert, stepStart: null }] };
    expect(of({ findings: whole })).toEqual([]);
  });

  it('are of the kinds that events have, and notes', () => {
    const events = [
      event({}),
      event({
        eventType: 'runtime_error',
        severity: 'error',
        payload: { message: 'x'.repeat(999) },
      }),
      event({ eventType: 'step_note' }),
      event({ step: null }),
    ];
    const note = { id: 'n', step: 5, text: 'Rate halved', by: 'kim', atMs: 0 };
    const marks = of({ events, notes: [note] });
    expect(marks.map(({ kind, href }) => [kind, href])).toEqual([
      ['alert', undefined],
      ['event', undefined],
      ['note', undefined],
    ]);
    expect(marks[0]?.text).toHaveLength(240);
    expect(marks[2]?.text).toBe('Rate halved (kim)');
  });

  it('are the latest two thousand of each kind', () => {
    const events = Array.from({ length: 2500 }, (_, step) => event({ step }));
    const marks = of({ events: [watched, ...events] });
    expect(marks).toHaveLength(2001);
    expect(marks.at(-1)?.step).toBe(2499);
  });
});

it('an address means an alert by its rule, or by its rule and first step', () => {
  const group = {
    cause: { id: 'a', ruleId: 'plateau', stepStart: 40 },
    consequences: [{ id: 'b', ruleId: 'overfitting', stepStart: 50 }],
    severity: 'warning' as const,
  };
  expect(isMeant(group, 'plateau')).toBe(true);
  expect(isMeant(group, 'plateau:40')).toBe(true);
  expect(isMeant(group, 'overfitting:50')).toBe(true);
  expect(isMeant(group, 'plateau:41')).toBe(false);
  expect(isMeant(group, '')).toBe(false);
});
