import { expect, test } from 'vitest';
import { createMemoryStore, MetricsLogger, openRun, startRun } from 'quark-sdk';
import {
  AnalyzerEngine,
  analyzeColumns,
  createRunColumns,
  defineRule,
  type OwnRule,
} from 'quark-sdk/analysis';
import { fallingLoss, metric } from '../../../support/analysis-runs.ts';
import { TestClock } from '../../../support/clock.ts';

const gap = defineRule({
  id: 'validation_gap',
  category: 'generalization',
  cause: 'the training set is too small',
  advice: 'augment it',
  thresholds: { maxGap: { value: 0.5, doc: 'Most that validation may lie above training.' } },
  evaluate({ columns, signals, thresholds }) {
    const last = (key: string): number => columns.metrics.get(key)?.values.at(-1) ?? Number.NaN;
    const [loss] = signals.trainLosses;
    const distance = last('val/loss') - last(loss?.key ?? '');
    if (!(distance > thresholds.maxGap)) return [];
    return [
      {
        severity: 'error',
        title: 'A wide gap',
        fact: `Validation lies ${distance.toFixed(2)} above training.`,
        confidence: 0.8,
        to: { step: 99, epoch: null },
      },
    ];
  },
});

const columns = createRunColumns({
  metrics: [metric('train/loss', 100, fallingLoss(100)), metric('val/loss', 100, () => 1.2)],
});

test('a rule of one’s own gets the columns, signals and thresholds, and is an alert and a part of the score', () => {
  const { alerts, healthScores, problems } = analyzeColumns(columns, { rules: [gap] });
  expect(problems).toEqual([]);
  const alert = alerts.find(({ ruleId }) => ruleId === 'validation_gap');
  expect(alert).toMatchObject({ severity: 'error', category: 'generalization', stepEnd: 99 });
  expect(alert?.inference).toBe('Probably the training set is too small; first, augment it.');
  const without = analyzeColumns(columns).healthScores;
  const of = (list: typeof healthScores) =>
    list.find(({ scoreKey }) => scoreKey === 'generalization')?.score ?? 0;
  expect(of(healthScores)).toBeLessThan(of(without));
});

test('its thresholds are set and it is turned off like a rule of Quark', () => {
  const fired = (config: object): boolean =>
    analyzeColumns(columns, { rules: [gap], ...config }).alerts.some(
      ({ ruleId }) => ruleId === 'validation_gap',
    );
  expect(fired({ thresholds: { maxGap: 2 } })).toBe(false);
  expect(fired({ thresholds: { maxGap: 0.1 } })).toBe(true);
  expect(fired({ disabledRules: ['validation_gap'] })).toBe(false);
  expect(() => fired({ thresholds: { maxGpa: 2 } })).toThrow(/config\.thresholds\.maxGpa/);
});

const nothing = (): [] => [];

test.each<[string, unknown, RegExp]>([
  ['no id', { evaluate: nothing }, /rule\.id must be a lowercase letter/],
  ['no function', { id: 'mine', evaluate: 3 }, /rule\.evaluate must be a function/],
  ['a part that is unknown', { id: 'mine', evaluate: nothing, servity: 'x' }, /rule\.servity/],
  ['no such category', { id: 'mine', evaluate: nothing, category: 'x' }, /rule\.category must/],
  [
    'a threshold without words',
    { id: 'mine', evaluate: nothing, thresholds: { limit: { value: 1 } } },
    /rule\.thresholds\.limit\.doc must be a sentence on what the number means/,
  ],
  [
    'a threshold below 0',
    { id: 'mine', evaluate: nothing, thresholds: { limit: { value: -1, doc: 'x' } } },
    /rule\.thresholds\.limit\.value must be a number of at least 0; got -1/,
  ],
])('a definition with %s is refused with a sentence', (_, definition, sentence) => {
  expect(() => defineRule(definition as OwnRule)).toThrow(sentence);
});

test('ids and thresholds that are taken are refused', () => {
  const use = (...rules: OwnRule[]) => analyzeColumns(columns, { rules });
  expect(() => use({ id: 'plateau', evaluate: nothing })).toThrow(
    'config.rules[0].id must be an id that no other rule has, of Quark or in this list; got "plateau".',
  );
  expect(() => use({ id: 'user_alert', evaluate: nothing })).toThrow(/rules\[0\]\.id/);
  expect(() => use({ id: 'a', evaluate: nothing }, { id: 'a', evaluate: nothing })).toThrow(
    /rules\[1\]\.id/,
  );
  const thresholds = { lossSpikeScore: { value: 1, doc: 'x' } };
  expect(() => use({ id: 'a', thresholds, evaluate: nothing })).toThrow(
    /the rule loss_spike has a threshold of that name/,
  );
});

test.each<[string, () => unknown, string, RegExp]>([
  [
    'throws',
    () => {
      throw new Error('no val/f1');
    },
    'threw',
    /mine threw: no val\/f1/,
  ],
  ['returns nothing', () => undefined, 'invalid_result', /a list of findings/],
  ['is asynchronous', async () => [], 'invalid_result', /got "a promise"/],
  [
    'has no such severity',
    () => [{ severity: 'bad', title: 'x', fact: 'x' }],
    'invalid_result',
    /severity/,
  ],
  ['has no fact', () => [{ severity: 'info', title: 'x' }], 'invalid_result', /finding 1\.fact/],
  [
    'has no such confidence',
    () => [{ severity: 'info', title: 'x', fact: 'x', confidence: 7 }],
    'invalid_result',
    /from 0 to 1/,
  ],
])(
  'a rule that %s is a problem with its name, and the others are asked',
  (_, evaluate, reason, sentence) => {
    const bad = { id: 'mine', evaluate: evaluate as OwnRule['evaluate'] };
    const { alerts, problems, toDict } = analyzeColumns(columns, { rules: [bad, gap] });
    expect(problems).toEqual([
      { ruleId: 'mine', reason, message: expect.stringMatching(sentence) as string },
    ]);
    expect(alerts.map(({ ruleId }) => ruleId)).toContain('validation_gap');
    expect(toDict()['problems']).toMatchObject([{ rule_id: 'mine', reason }]);
  },
);

test('a rule says by itself what it cannot judge', () => {
  const rule = defineRule({
    id: 'needs_layers',
    evaluate({ columns: { layers }, unjudged }) {
      if (layers.length === 0) unjudged('no layer was recorded.');
      return [];
    },
  });
  expect(analyzeColumns(columns, { rules: [rule] }).problems).toEqual([
    {
      ruleId: 'needs_layers',
      reason: 'no_data',
      message: 'needs_layers could not be judged: no layer was recorded.',
    },
  ]);
});

async function recorded(rules: readonly OwnRule[]) {
  const clock = new TestClock(Date.UTC(2026, 0, 2));
  const storage = createMemoryStore({ clock });
  const session = await startRun({ project: 'own', storage, clock });
  const metrics = new MetricsLogger(session);
  const engine = new AnalyzerEngine(session, { rules });
  return { clock, engine, metrics, session, storage };
}

test('a watch asks it from the first values on, acts on it, and names one that fails', async () => {
  const { clock, engine, metrics, session, storage } = await recorded([
    {
      id: 'too_high',
      evaluate: ({ columns: { metrics: all } }) =>
        (all.get('score')?.values.at(-1) ?? 0) > 3
          ? [{ severity: 'critical', title: 'Too high', fact: 'It is above 3.' }]
          : [],
    },
    {
      id: 'broken',
      evaluate: () => {
        throw new Error('Oh.');
      },
    },
  ]);
  const watch = engine.watch({ actions: [{ kind: 'stop', rules: ['too_high'] }] });
  expect(() => engine.watch({ actions: [{ kind: 'stop', rules: ['too_low'] }] })).toThrow(/rules/);
  for (const value of [1, 2, 3, 4]) {
    metrics.log('score', value, { step: value });
    clock.advance(1000);
    await session.flush();
    expect(session.signal.aborted).toBe(value === 4);
  }
  expect(watch.alerts.map(({ ruleId }) => ruleId)).toEqual(['too_high']);
  expect(watch.status.workerMode).toBe('none');
  expect(watch.status.ruleProblems).toMatchObject([{ ruleId: 'broken', reason: 'threw' }]);
  await session.endRun('completed');
  const reader = await openRun(storage, session.runId);
  const events = await reader.readEvents({ eventType: 'rule_failed' });
  expect(events.map(({ payload }) => payload)).toMatchObject([
    { rule_id: 'broken', reason: 'threw' },
  ]);
});

test('a rule without code is judged in the worker of the watch', async () => {
  const clock = new TestClock(Date.UTC(2026, 0, 2));
  const storage = createMemoryStore({ clock });
  const session = await startRun({ project: 'own', storage, clock });
  const metrics = new MetricsLogger(session);
  const engine = new AnalyzerEngine(session, {
    rules: [{ metric: 'val/*', above: 2, for: '3 values', severity: 'error' }],
  });
  const watch = engine.watch();
  for (let step = 0; step < 6; step++) {
    metrics.log('val/loss', step < 3 ? 1 : 3, { step });
    metrics.log('val/error', 3, { step });
    clock.advance(1000);
    await session.flush();
  }
  expect(watch.alerts.map(({ title }) => title)).toEqual([
    'val/error: above 2 for 3 values',
    'val/loss: above 2 for 3 values',
  ]);
  expect(watch.status.workerMode).not.toBe('none');
  await session.endRun('completed');
});
