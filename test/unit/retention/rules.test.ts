import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  checkRetention,
  describeRule,
  parseRetention,
  type RetentionRule,
} from '../../../src/retention/rules.ts';

const failed: RetentionRule = { act: 'delete', statuses: ['failed'], olderThanDays: 90 };

describe('a rule as a sentence', () => {
  test.each<[RetentionRule, string]>([
    [failed, 'delete failed runs older than 90 days'],
    [
      {
        act: 'archive',
        project: 'digits',
        keepBest: { count: 20, metric: 'val/loss', goal: 'min' },
      },
      'of runs of "digits", keep the best 20 by val/loss (lowest) and archive the others',
    ],
    [
      {
        act: 'delete',
        statuses: ['failed', 'interrupted'],
        tags: ['sweep', 'old'],
        largerThanBytes: 1_000_000,
        olderThanDays: 1,
      },
      'delete failed or interrupted runs older than 1 day with more than 1,000,000 bytes tagged sweep and old',
    ],
    [
      { act: 'delete', keepBytes: 5_000_000_000 },
      'delete runs, the oldest first, until a project has at most 5,000,000,000 bytes',
    ],
    [
      { act: 'thin', olderThanDays: 90, pointsPerMetric: 1000 },
      'thin runs older than 90 days to 1,000 points a metric',
    ],
    [
      {
        act: 'thin',
        olderThanDays: 7,
        pointsPerMetric: 500,
        keepBest: { count: 3, metric: 'acc', goal: 'max' },
      },
      'of runs older than 7 days, keep the best 3 by acc (greatest) and thin the others to 500 points a metric',
    ],
  ])('%j', (rule, sentence) => {
    expect(describeRule(rule)).toBe(sentence);
  });
});

test('defaults are filled in', () => {
  expect(
    checkRetention({ rules: [failed, { act: 'archive', keepBest: { count: 1, metric: 'acc' } }] }),
  ).toEqual({
    rules: [failed, { act: 'archive', keepBest: { count: 1, metric: 'acc', goal: 'min' } }],
    keepTags: ['keep'],
    undoDays: 30,
  });
});

test('JSON and YAML say the same', () => {
  const yaml = `rules:
  - act: delete
    statuses: [failed]
    olderThanDays: 90
keepTags:
  - keep
  - paper
undoDays: 7
`;
  const json = JSON.stringify({ rules: [failed], keepTags: ['keep', 'paper'], undoDays: 7 });
  expect(parseRetention(yaml)).toEqual(parseRetention(json));
});

test('the example of the manual is understood, and says what its comments say', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/operations.md'), 'utf8');
  const example = /^    rules:\n(?:    .*\n)+/m.exec(page)?.[0] ?? '';
  const { rules } = parseRetention(example.replaceAll(/^ {4}/gm, ''));
  const comments = [...example.matchAll(/# ((?:delete|of|archive|thin) .*)$/gm)].map(
    ([, text]) => text,
  );
  expect(rules.map(describeRule)).toEqual(comments);
});

describe('a refusal names field and rule', () => {
  test.each<[unknown, string]>([
    [[], 'settings'],
    [{}, 'rules'],
    [{ rules: [] }, 'rules'],
    [{ rules: [failed], more: 1 }, 'settings.more'],
    [{ rules: [{}] }, 'rules[0].act'],
    [{ rules: [{ act: 'burn', olderThanDays: 1 }] }, 'rules[0].act'],
    [{ rules: [{ act: 'delete' }] }, 'rules[0]'],
    [{ rules: [{ act: 'delete', project: 'digits' }] }, 'rules[0]'],
    [{ rules: [failed, { act: 'delete', statuses: ['running'] }] }, 'rules[1].statuses[0]'],
    [{ rules: [{ act: 'delete', statuses: [] }] }, 'rules[0].statuses'],
    [{ rules: [{ act: 'delete', olderThanDays: -1 }] }, 'rules[0].olderThanDays'],
    [{ rules: [{ act: 'delete', olderThanDays: '90' }] }, 'rules[0].olderThanDays'],
    [{ rules: [{ act: 'thin', olderThanDays: 90 }] }, 'rules[0].pointsPerMetric'],
    [
      { rules: [{ act: 'thin', olderThanDays: 90, pointsPerMetric: 19 }] },
      'rules[0].pointsPerMetric',
    ],
    [
      { rules: [{ act: 'thin', statuses: ['failed'], pointsPerMetric: 100 }] },
      'rules[0].olderThanDays',
    ],
    [{ rules: [{ ...failed, pointsPerMetric: 100 }] }, 'rules[0].pointsPerMetric'],
    [
      { rules: [{ act: 'delete', keepBest: { count: 0, metric: 'loss' } }] },
      'rules[0].keepBest.count',
    ],
    [{ rules: [{ act: 'delete', keepBest: { count: 1 } }] }, 'rules[0].keepBest.metric'],
    [
      { rules: [{ act: 'delete', keepBest: { count: 1, metric: 'loss', goal: 'up' } }] },
      'rules[0].keepBest.goal',
    ],
    [
      { rules: [{ act: 'delete', keepBest: { count: 1, metric: 'loss' }, keepBytes: 1 }] },
      'rules[0].keepBytes',
    ],
    [{ rules: [{ act: 'archive', keepBytes: 1 }] }, 'rules[0].keepBytes'],
    [{ rules: [failed], keepTags: 'keep' }, 'keepTags'],
    [{ rules: [failed], undoDays: Number.NaN }, 'undoDays'],
  ])('%j: %s', (given, field) => {
    let refusal: unknown;
    try {
      checkRetention(given);
    } catch (error) {
      refusal = error;
    }
    expect(refusal).toMatchObject({ code: 'invalid_input', details: { field } });
  });

  test('a text that is neither JSON nor YAML', () => {
    expect(() => parseRetention('{ rules')).toThrow(/settings/);
  });
});
