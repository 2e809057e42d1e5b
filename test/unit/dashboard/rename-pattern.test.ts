import { describe, expect, it } from 'vitest';
import type { FoundRun } from 'quark-sdk/workspace';
import { patternFields, renamingBy } from '../../../dashboard/runs/model/rename-pattern.ts';

function row(id: string, name: string | null, values: FoundRun['values'], at: number): FoundRun {
  return {
    id,
    project: 'digits',
    name,
    status: 'completed',
    isLive: false,
    startedAtMs: at,
    endedAtMs: null,
    updatedAtMs: null,
    archivedAtMs: null,
    tags: [],
    groups: [],
    values,
    steps: {},
  };
}

const ROWS = [
  row('run_c', 'base $& lr', { 'config.lr': 0.1, 'config.layers': [8, 16] }, 3),
  row('run_a', null, { 'config.lr': 1e-7 }, 1),
  row('run_b', 'base base', {}, 2),
];

function names(find: string, write: string): readonly string[] {
  return renamingBy({ find, write }, ROWS).changes.map(({ after }) => after);
}

describe('renaming by a pattern', () => {
  it('writes the values of each run, and numbers them, the oldest first', () => {
    expect(names('', '{name} {n} {config.lr}')).toEqual([
      'digits 1 1e-7',
      'base base 2',
      'base $& lr 3 0.1',
    ]);
    expect(names('', '{ config.layers }-{n}')).toEqual(['-1', '-2', '8, 16-3']);
    expect(patternFields('{name}/{config.lr}{n}{ val/loss.best }{config.lr}{}{{x}}')).toEqual([
      'config.lr',
      'val/loss.best',
      'x',
    ]);
  });

  it('replaces a text wherever a name has it, by text and not by a pattern of its own', () => {
    expect(renamingBy({ find: 'base', write: '{n}$1' }, ROWS)).toEqual({
      changes: [
        { runId: 'run_b', before: 'base base', after: '2$1 2$1' },
        { runId: 'run_c', before: 'base $& lr', after: '3$1 $& lr' },
      ],
      refused: 0,
      repeated: 0,
    });
    expect(names('$&', '{name}')).toEqual(['base base $& lr lr']);
  });

  it('leaves names that cannot be stored, and counts those that are given twice', () => {
    expect(renamingBy({ find: '', write: '{config.lr}' }, ROWS)).toMatchObject({
      refused: 1,
      changes: [{ after: '1e-7' }, { after: '0.1' }],
    });
    expect(renamingBy({ find: '', write: 'x'.repeat(513) }, ROWS).refused).toBe(3);
    expect(renamingBy({ find: '', write: 'a\nb' }, ROWS).refused).toBe(3);
    expect(renamingBy({ find: '', write: ' same ' }, ROWS)).toMatchObject({ repeated: 1 });
    expect(renamingBy({ find: '', write: '{name}' }, ROWS).changes).toEqual([]);
  });
});
