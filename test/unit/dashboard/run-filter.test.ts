import { describe, expect, it } from 'vitest';
import { countBy } from '../../../dashboard/parts/maps.ts';
import { runSpanMs, shownStatus } from '../../../dashboard/parts/run-status.tsx';
import { filterRuns, sortRuns, type RunQuery } from '../../../dashboard/runs/run-filter.ts';
import { RUNS, summaryOf } from './run-summaries.ts';

const ids = (runs: readonly { run: { id: string } }[]): string[] => runs.map(({ run }) => run.id);
const query = (part: Partial<RunQuery>): RunQuery => ({
  text: '',
  statuses: new Set(),
  tags: new Set(),
  ...part,
});
const NOW = Date.parse('2026-01-01T01:00:00Z');

describe('the run list', () => {
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

  it('filters by any of the statuses, all of the tags and every word', () => {
    expect(ids(filterRuns(RUNS, query({})))).toHaveLength(4);
    expect(ids(filterRuns(RUNS, query({ statuses: new Set(['live', 'failed']) })))).toEqual([
      'a',
      'd',
    ]);
    expect(ids(filterRuns(RUNS, query({ tags: new Set(['base', 'adam']) })))).toEqual(['c']);
    expect(ids(filterRuns(RUNS, query({ text: ' SPEECH  base ' })))).toEqual(['b']);
    expect(ids(filterRuns(RUNS, query({ text: 'nothing' })))).toEqual([]);
  });

  it('sorts by loss with the unknown ones last in both directions, newest first among equals', () => {
    const losses = new Map([
      ['a', 0.5],
      ['b', 0.5],
      ['c', 0.1],
      ['d', Number.NaN],
    ]);
    const lossOf = (id: string): number | undefined => losses.get(id);
    expect(ids(sortRuns(RUNS, { column: 'loss', descending: false }, NOW, lossOf))).toEqual([
      'c',
      'a',
      'b',
      'd',
    ]);
    expect(ids(sortRuns(RUNS, { column: 'loss', descending: true }, NOW, lossOf))).toEqual([
      'a',
      'b',
      'c',
      'd',
    ]);
  });

  it('sorts by start, project and duration', () => {
    const order = (column: 'started' | 'project' | 'duration', descending: boolean): string[] =>
      ids(sortRuns(RUNS.toReversed(), { column, descending }, NOW, () => undefined));
    expect(order('started', true)).toEqual(['a', 'b', 'c', 'd']);
    expect(order('project', false)).toEqual(['a', 'c', 'd', 'b']);
    expect(order('duration', true)[0]).toBe('d');
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
