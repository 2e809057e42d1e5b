/** Groups of runs, rows of values and rows of settings. */
import { describe, expect, it } from 'vitest';
import { compareSettings, compareValues, groupRuns } from 'quark-sdk/analysis';

describe('groups of runs', () => {
  const all = [
    {
      id: 'a',
      config: { lr: 0.1, seed: 1 },
      tags: ['x', 'y'],
      groups: ['sweep'],
      jobType: 'train',
    },
    { id: 'b', config: { lr: 0.01, seed: 1 }, tags: ['y', 'x'], groups: [], jobType: null },
    { id: 'c', config: { lr: 0.1, seed: 2 }, tags: [], groups: ['sweep'], jobType: 'train' },
    { id: 'd', config: { net: { lr: 1 } } },
  ];
  const named = (by: Parameters<typeof groupRuns>[1]): unknown =>
    groupRuns(all, by).map(({ name, runIds }) => [name, runIds.join('')]);

  it('are of the same configuration but for seeds', () => {
    expect(named(undefined)).toEqual([
      ['lr=0.1', 'ac'],
      ['lr=0.01', 'b'],
      ['net.lr=1', 'd'],
    ]);
    expect(groupRuns(all.slice(0, 1))[0]?.name).toBe('all runs');
  });

  it('are of one setting, tags, groups and types of jobs', () => {
    expect(named('config.lr')).toEqual([
      ['lr=0.1', 'ac'],
      ['lr=0.01', 'b'],
      ['without lr', 'd'],
    ]);
    expect(named('tag')).toEqual([
      ['x, y', 'ab'],
      ['without tags', 'cd'],
    ]);
    expect(named('group')).toEqual([
      ['sweep', 'ac'],
      ['in no group', 'bd'],
    ]);
    expect(named('job_type')).toEqual([
      ['train', 'ac'],
      ['without a type', 'bd'],
    ]);
    // @ts-expect-error -- a caller without types
    expect(() => groupRuns(all, 'lr')).toThrow('config.PATH');
  });
});

describe('rows of values', () => {
  it('have differences to the baseline, the best one, and what chance may do', () => {
    const row = compareValues(
      'val/loss',
      [[0.4, 0.42, 0.41], [0.2, 0.21, 0.19], [0.41, 0.4, 0.39], []],
      {
        baseline: 0,
      },
    );
    expect(row.direction).toBe('lower');
    expect(row.best).toEqual([1]);
    const [base, better, same, none] = row.cells;
    expect(base).toMatchObject({ count: 3, difference: null, adjustedPValue: null });
    expect(better?.difference).toBeCloseTo(-0.21, 12);
    expect(better?.share).toBeCloseTo(-0.21 / 0.41, 12);
    expect(better?.isSignificant).toBe(true);
    expect(same?.isSignificant).toBe(false);
    expect(none).toMatchObject({ count: 0, difference: null, share: null, isSignificant: null });
  });

  it('of single runs know no chance, and name no best where nobody knows which way is better', () => {
    const row = compareValues('grad_norm_of_x', [[1], [2], [Number.NaN]], { baseline: 1 });
    expect(row.best).toEqual([]);
    expect(row.cells[0]).toMatchObject({ difference: -1, share: -0.5, isSignificant: null });
    expect(row.cells[2]).toMatchObject({ count: 0, difference: null });
    expect(compareValues('x', [[1], [2]], { direction: 'higher' }).best).toEqual([1]);
    expect(compareValues('loss', [[1], [1]]).best).toEqual([]);
    expect(compareValues('loss', [[0], [1]], { baseline: 0 }).cells[1]).toMatchObject({
      difference: 1,
      share: null,
    });
    expect(() => compareValues('loss', [[1]], { baseline: 1 })).toThrow('baseline');
  });
});

it('rows of settings say which of them differ', () => {
  const rows = compareSettings([
    { lr: 0.1, net: { width: 64 }, layers: [{ a: 1, b: 2 }] },
    { lr: 0.1, net: { width: 32 }, layers: [{ b: 2, a: 1 }] },
    { lr: 0.1 },
  ]);
  expect(rows.map(({ isDifferent, path }) => [path, isDifferent])).toEqual([
    ['layers', true],
    ['lr', false],
    ['net.width', true],
  ]);
  expect(rows[2]?.values).toEqual([64, 32, undefined]);
  const twice = compareSettings([{ layers: [{ a: 1, b: 2 }] }, { layers: [{ b: 2, a: 1 }] }]);
  expect(twice[0]?.isDifferent).toBe(false);
});
