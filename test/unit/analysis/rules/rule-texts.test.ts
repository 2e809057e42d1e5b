/** What each rule says, read as sentences: what it found, the likely cause, the first thing to try. */
import { expect, test } from 'vitest';
import { analyzeColumns, createRunColumns, describeRules, evidenceOf } from 'quark-sdk/analysis';
import { fallingLoss, metric } from '../../../support/analysis-runs.ts';

/** The end of one sentence and the begin of the next one. */
const NEXT_SENTENCE = /[.!?] +[A-Z]/;
/** What somebody reads in one go. */
const MAX_CHARS = 220;

const rules = describeRules();

test.each(rules.map((rule) => [rule.id, rule] as const))('%s speaks in sentences', (_, rule) => {
  const { advice, cause, detects } = rule;
  expect(detects).toMatch(/^[A-Z].*\.$/);
  for (const clause of [cause, advice]) {
    expect(clause).toMatch(/^[a-z0-9].*[^.!?,;: ]$/);
    expect(clause.length).toBeLessThanOrEqual(MAX_CHARS);
  }
  for (const text of [detects, cause, advice]) {
    expect(text).not.toMatch(NEXT_SENTENCE);
    expect(text).not.toMatch(/ {2}|undefined|\[object/);
  }
  // As an alert says it: one sentence of two clauses, each of which a semicolon must not cut.
  expect(`Probably ${cause}; first, ${advice}.`.split('; first, ')).toHaveLength(2);
});

test('what alerts of made runs say is a fact in one sentence, and an inference in one', () => {
  const courses: readonly ((i: number) => number)[] = [
    fallingLoss(300),
    (i) => (i < 200 ? fallingLoss(300)(i) : Number.NaN),
    (i) => 0.5 + (i > 150 ? (i - 150) / 20 : 150 / (i + 1)),
    () => 2.3,
    (i) => (i % 2 === 0 ? 2 : 0.5),
    (i) => (i === 200 ? 50 : 1 / (1 + i / 30)),
  ];
  const said = new Set<string>();
  for (const train of courses)
    for (const val of courses) {
      const metrics = [metric('train/loss', 300, train), metric('val/loss', 300, val)];
      const { alerts } = analyzeColumns(createRunColumns({ metrics }), {
        rules: [{ metric: '*/loss', above: 1, id: 'high' }],
      });
      for (const alert of alerts) {
        const { fact, inference, ruleId, title } = alert;
        said.add(ruleId);
        for (const sentence of [fact, inference]) {
          expect(sentence, ruleId).toMatch(/\.$/);
          expect(sentence, ruleId).not.toMatch(NEXT_SENTENCE);
          expect(sentence, ruleId).not.toMatch(/undefined|\[object/);
        }
        expect(title, ruleId).not.toMatch(/[.!?]$/);
        for (const { summary } of evidenceOf(alert)) expect(summary, ruleId).toMatch(/\.$/);
      }
    }
  expect(said.size).toBeGreaterThan(6);
});
