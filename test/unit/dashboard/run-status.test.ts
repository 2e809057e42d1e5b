import { describe, expect, it } from 'vitest';
import { countBy } from '../../../dashboard/parts/maps.ts';
import { runSpanMs, shownStatus } from '../../../dashboard/parts/run-status.tsx';
import { RUNS, summaryOf } from './run-summaries.ts';

const NOW = Date.parse('2026-01-01T01:00:00Z');

describe('how runs stand', () => {
  it('calls a running run live, and one whose lease lapsed interrupted', () => {
    expect(RUNS.map((run) => shownStatus(run))).toEqual([
      'live',
      'interrupted',
      'completed',
      'failed',
    ]);
    expect(Object.fromEntries(countBy(RUNS, shownStatus))).toEqual({
      live: 1,
      interrupted: 1,
      completed: 1,
      failed: 1,
    });
  });

  it('measures a run to now, to its end, or to the last sign of life', () => {
    const startedAt = '2026-01-01T00:00:00.000Z';
    expect(runSpanMs(summaryOf('x', { startedAt, isLive: true }), NOW)).toBe(3_600_000);
    expect(runSpanMs(summaryOf('x', { startedAt, endedAt: '2026-01-01T00:00:05.000Z' }), NOW)).toBe(
      5000,
    );
    const lapsed = summaryOf('x', { startedAt, effectiveStatus: 'interrupted' });
    expect(runSpanMs(lapsed, NOW, Date.parse(startedAt) + 7000)).toBe(7000);
  });
});
