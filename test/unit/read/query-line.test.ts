/** The query line: what it means, where it is wrong, and what may be typed next. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { completeRunQuery } from '../../../src/read/finding/complete-query.ts';
import { parseRunQuery } from '../../../src/read/finding/query-condition.ts';
import type { FoundColumn } from '../../../src/records/run-question.ts';
import { runs } from '../../support/property.ts';

function conditionOf(text: string): unknown {
  const reading = parseRunQuery(text);
  if (reading.kind === 'error') return reading;
  return reading.condition === null ? null : JSON.parse(reading.condition);
}

describe('conditions', () => {
  test.each<readonly [text: string, condition: unknown]>([
    ['', null],
    ['config.lr < 1e-3', ['lt', 'config.lr', 0.001]],
    ['config.lr<=0.1', ['lte', 'config.lr', 0.1]],
    ['val/accuracy.best > 0.9', ['gt', 'metrics.val/accuracy.best', 0.9]],
    ['metrics.loss.last >= 2', ['gte', 'metrics.loss.last', 2]],
    ['tag:baseline', ['eq', 'tags', 'baseline']],
    ['tags = "two words"', ['eq', 'tags', 'two words']],
    ['tags.workers>=8', ['gte', 'tags.workers', 8]],
    ['name~base%', ['like', 'name', 'base%']],
    ['name ~ base', ['ilike', 'name', '%base%']],
    ['name !~ base', ['not', ['ilike', 'name', '%base%']]],
    ['name = 5', ['eq', 'name', '5']],
    ['config.name="3"', ['eq', 'config.name', '3']],
    ['config.flag = true', ['eq', 'config.flag', true]],
    ['config.x != 3', ['not', ['eq', 'config.x', 3]]],
    ['config.f = a(b)', ['eq', 'config.f', 'a(b)']],
    ['"metrics.loss {subset=val}".best < 1', ['lt', 'metrics.loss {subset=val}.best', 1]],
    ['has config.seed', ['exists', 'config.seed']],
    ['status:failed', ['or', ['eq', 'status', 'failed']]],
    ['duration > 10m', ['gt', 'durationMs', 600_000]],
    ['durationMs > 5', ['gt', 'durationMs', 5]],
    ['duration <= 1h30m', ['lte', 'durationMs', 5_400_000]],
    ['started > 2026-11-01', ['gte', 'startedAt', Date.UTC(2026, 10, 2)]],
    ['started <= 2026-11-01', ['lt', 'startedAt', Date.UTC(2026, 10, 2)]],
    [
      'started = 2026-11-01',
      [
        'and',
        ['gte', 'startedAt', Date.UTC(2026, 10, 1)],
        ['lt', 'startedAt', Date.UTC(2026, 10, 2)],
      ],
    ],
    ['ended < 2026-11-01T10:00', ['lt', 'endedAt', Date.UTC(2026, 10, 1, 10)]],
    ['Base run', ['and', ['like', 'text', '%base%'], ['like', 'text', '%run%']]],
    ['"two words"', ['like', 'text', '%two words%']],
    ['config.a in (1, b)', ['or', ['eq', 'config.a', 1], ['eq', 'config.a', 'b']]],
    ['name not in (a, b)', ['not', ['or', ['eq', 'name', 'a'], ['eq', 'name', 'b']]]],
    ['has', ['like', 'text', '%has%']],
  ])('%s', (text, condition) => {
    expect(conditionOf(text)).toEqual(condition);
  });

  test('"and" binds more tightly than "or", "not" more than both; words side by side are joined by "and"', () => {
    const [a, b, c] = ['a', 'b', 'c'].map((word) => ['like', 'text', `%${word}%`]);
    expect(conditionOf('a or b and c')).toEqual(['or', a, ['and', b, c]]);
    expect(conditionOf('(a OR b) c')).toEqual(['and', ['or', a, b], c]);
    expect(conditionOf('not a and b')).toEqual(['and', ['not', a], b]);
    expect(conditionOf('not (a or b)')).toEqual(['not', ['or', a, b]]);
  });

  test('a name that says neither configuration nor metric stands for both', () => {
    expect(conditionOf('lr < 0.1')).toEqual([
      'or',
      ['lt', 'config.lr', 0.1],
      ['lt', 'metrics.lr.last', 0.1],
      ['lt', 'summary.lr', 0.1],
      ['lt', 'metadata.lr', 0.1],
    ]);
  });
});

describe('errors', () => {
  test.each<readonly [text: string, from: number, to: number, expected: string]>([
    ['config.lr < abc', 12, 15, 'a value'],
    ['config.lr <', 11, 11, 'a value'],
    ['(a or b', 7, 7, ')'],
    ['a and', 5, 5, 'a condition'],
    ['status:broken', 7, 13, 'failed'],
    ['name > 3', 0, 4, '='],
    ['a )', 2, 3, 'the end'],
    ['name in (a, ', 12, 12, 'a text'],
    ['started > someday', 10, 17, '7d'],
    ['name = "open', 7, 12, '"'],
    ['= 3', 0, 1, 'a condition'],
  ])('%s', (text, from, to, expected) => {
    const reading = parseRunQuery(text);
    expect(reading).toMatchObject({ kind: 'error', from, to });
    expect(reading.kind === 'error' && reading.expected).toContain(expected);
  });

  test('whatever is typed is read or refused with a position in the line', () => {
    const parts = fc.constantFrom(
      'and',
      'or',
      'not',
      'has',
      'in',
      '(',
      ')',
      ',',
      '"',
      "'",
      '<',
      '>=',
      '=',
      ':',
      '~',
      '!',
      'config.lr',
      'tag',
      'status',
      'failed',
      '1e-3',
      'started',
      '7d',
      '\\',
      '%',
      '😀',
      ' ',
    );
    fc.assert(
      fc.property(fc.array(parts, { maxLength: 24 }), (words) => {
        const text = words.join(words.length % 2 === 0 ? ' ' : '');
        const reading = parseRunQuery(text);
        if (reading.kind === 'query') return;
        expect(reading.from).toBeGreaterThanOrEqual(0);
        expect(reading.to).toBeGreaterThanOrEqual(reading.from);
        expect(reading.to).toBeLessThanOrEqual(text.length);
        expect(reading.expected.length).toBeGreaterThan(0);
      }),
      runs(500),
    );
  });

  test('parentheses without end are refused, not followed', () => {
    expect(parseRunQuery('('.repeat(5000))).toMatchObject({ kind: 'error' });
    expect(parseRunQuery('not '.repeat(5000))).toMatchObject({ kind: 'error' });
    expect(parseRunQuery('word '.repeat(5000))).toMatchObject({ kind: 'error' });
  });
});

describe('completion', () => {
  const column = (path: string, kind: FoundColumn['kind'], ...examples: string[]): FoundColumn => ({
    path,
    kind,
    runs: 3,
    distinct: examples.length,
    examples,
  });
  const columns = [
    column('config.lr', 'number'),
    column('config.optimizer', 'text', 'adam', 'two words', '3'),
    column('metrics.val/loss', 'metric'),
    column('tags', 'text', 'baseline', 'keep'),
  ];
  const at = (text: string): readonly string[] => {
    const { from, to, suggestions } = completeRunQuery(text, text.length, columns);
    return suggestions.map((one) => text.slice(0, from) + one.text + text.slice(to));
  };

  test.each<readonly [text: string, next: string]>([
    ['config.l', 'config.lr '],
    ['val', 'val/loss.best '],
    ['config.lr < 3 and sta', 'config.lr < 3 and status '],
    ['config.lr ', 'config.lr < '],
    ['name ', 'name ~ '],
    ['config.optimizer = ', 'config.optimizer = adam '],
    ['config.optimizer = tw', 'config.optimizer = "two words" '],
    ['config.optimizer = 3', 'config.optimizer = "3" '],
    ['tag:', 'tag:baseline '],
    ['tag:ke', 'tag:keep '],
    ['status in (fai', 'status in (failed '],
    ['status = failed ', 'status = failed and '],
    ['(tag:keep) a', '(tag:keep) alerts '],
  ])('%s', (text, next) => {
    expect(at(text)).toContain(next);
  });

  test('a text has no order, and the values of one name are not those of another', () => {
    expect(at('name ')).not.toContain('name < ');
    expect(at('tag:')).not.toContain('tag:adam ');
  });

  test('what stands after the caret stays', () => {
    const { from, to } = completeRunQuery('config.l < 3', 8, columns);
    expect([from, to]).toEqual([0, 8]);
  });
});
