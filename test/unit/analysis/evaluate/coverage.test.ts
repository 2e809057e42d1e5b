/** What was judged is said, and what was not has no score. */
import { describe, expect, test } from 'vitest';
import {
  analyzeColumns,
  createRunColumns,
  describeRules,
  groupAlerts,
  report,
  sayVerdict,
  type AnalyzerEngineConfig,
  type AnalyzerResult,
  type RunColumnsParts,
} from 'quark-sdk/analysis';
import { RULES } from '../../../../src/analysis/rules/rules.ts';
import { fallingLoss, metric } from '../../../support/analysis-runs.ts';

function analyze(parts: RunColumnsParts, config: AnalyzerEngineConfig = {}): AnalyzerResult {
  return analyzeColumns(createRunColumns(parts), config, { nowMs: 0 });
}

function overallOf({ healthScores }: AnalyzerResult) {
  return healthScores.find(({ scoreKey }) => scoreKey === 'overall');
}

/** Metrics of a run whose loss nobody knows by its name. */
const unknown = [
  metric('progress/alpha', 50, (i) => i),
  metric('progress/beta', 50, (i) => Math.sqrt(i)),
];

describe('a run is not assessed', () => {
  test('where no metric says how the training went; the likeliest is named with its option', () => {
    const result = analyze({
      metrics: [...unknown, metric('how far off', 50, fallingLoss(50))],
    });
    expect(result.coverage.headline).toBe(
      "Not assessed: no training loss was found among 3 metrics; the likeliest is how far off: --loss 'how far off'",
    );
    expect(overallOf(result)).toMatchObject({ score: null, status: 'not_assessed' });
    expect(result.healthScores.every(({ score }) => score === null)).toBe(true);
  });

  test('where no name is likelier than another', () => {
    expect(analyze({ metrics: unknown }).coverage.headline).toBe(
      'Not assessed: no training loss was found among 2 metrics; say which one it is: --loss KEY',
    );
  });

  test('where there is nothing, nothing finite, or too little', () => {
    const nan = metric('some/thing', 9, () => Number.NaN);
    const cases: readonly [RunColumnsParts, string, readonly string[]][] = [
      [{}, 'no metric was recorded', ['nothing_recorded']],
      [{ metrics: [nan] }, 'the one metric has no finite value', ['nothing_recorded']],
      [
        { metrics: [nan, metric('other', 4, () => Infinity)] },
        'none of 2 metrics has a finite value',
        ['nothing_recorded'],
      ],
      [
        { metrics: [metric('train/loss', 2, (i) => 2 - i)] },
        'train/loss (2 values): it takes 5 to judge a training',
        [],
      ],
    ];
    for (const [parts, missing, found] of cases) {
      const result = analyze(parts);
      expect(result.coverage.headline).toBe(`Not assessed: ${missing}`);
      expect(result.alerts.map(({ ruleId }) => ruleId)).toEqual(found);
      expect(overallOf(result)).toMatchObject({ score: null, status: 'not_assessed' });
    }
  });

  test('and nobody says how it ended, whatever phases there are', () => {
    const phases = [{ phaseName: 'stagnation', displayName: 'Stagnation' } as const];
    const result = analyze({ metrics: unknown });
    expect(sayVerdict({ ...result, phases })).toEqual([result.coverage.headline]);
    expect(sayVerdict({ ...result, healthScores: [], phases })).toEqual(['It was not assessed.']);
    const assessed = analyze({ metrics: [metric('train/loss', 200, fallingLoss(200))] });
    expect(sayVerdict({ ...assessed, phases }).at(-1)).toMatch(/Training ended in: stagnation\.$/u);
  });

  test('a run that has only begun has found nothing to complain of', () => {
    const begun = analyze({ run: { status: 'running', isLive: true } });
    expect(begun.alerts).toEqual([]);
    expect(overallOf(begun)?.status).toBe('not_assessed');
  });
});

test('what follows from data that are wrong is told beneath it', () => {
  const alert = (ruleId: string) => ({ ruleId, severity: 'warning' }) as const;
  const groupsOf = (...ids: readonly string[]) =>
    groupAlerts(ids.map(alert)).map(({ cause, consequences }) => [
      cause.ruleId,
      ...consequences.map(({ ruleId }) => ruleId),
    ]);
  for (const ids of [
    ['data_leakage', 'suspicious_validation'],
    ['sorted_samples', 'oscillating_loss', 'loss_spike', 'grad_spike'],
    ['unrelated_labels', 'suspicious_validation', 'overfitting_onset', 'plateau'],
    ['non_finite', 'reward_decline'],
    ['update_ratio_high', 'reward_decline'],
  ])
    expect(groupsOf(...ids)).toEqual([ids]);
  // Leaked samples flatter validation: they are no cause of overfitting.
  expect(groupsOf('data_leakage', 'overfitting_onset')).toHaveLength(2);
  expect(groupsOf('reward_decline', 'loss_spike')).toHaveLength(2);
});

describe('a run that was assessed', () => {
  const loss = metric('train/loss', 200, fallingLoss(200));

  test('says which questions were asked, of what, and which were not and why', () => {
    const { coverage, healthScores } = analyze({ metrics: [loss] });
    expect(coverage.headline).toBeNull();
    expect(coverage.asked.length + coverage.open.length).toBe(describeRules().length);
    expect(coverage.asked.find(({ ruleId }) => ruleId === 'loss_spike')?.on).toEqual([
      'train/loss (200 values)',
    ]);
    expect(coverage.open.find(({ ruleId }) => ruleId === 'memory_growth')?.why).toBe(
      'the run has no memory in use',
    );
    const [overall] = healthScores;
    expect(overall?.evidence).toEqual([
      expect.objectContaining({
        kind: 'coverage',
        metadata: expect.objectContaining({
          decided_by: ['train/loss (200 values)'],
          missing: null,
        }),
      }),
    ]);
    for (const { askedCount, openCount, scoreKey } of coverage.scores.slice(1)) {
      const own = describeRules().filter(({ category }) => category === scoreKey);
      expect(askedCount + openCount).toBe(own.length);
    }
  });

  test('a question that takes more values says so, one that is off as well', () => {
    const short = metric('train/loss', 5, fallingLoss(5));
    const { open } = analyze({ metrics: [short] }, { disabledRules: ['loss_spike'] }).coverage;
    expect(open.find(({ ruleId }) => ruleId === 'loss_not_decreasing')?.why).toBe(
      'train/loss has 5 values, and it takes 10',
    );
    expect(open.find(({ ruleId }) => ruleId === 'loss_spike')?.why).toBe('the rule is disabled');
  });

  test('every rule says what it needs', () => {
    expect(RULES.filter(({ needs }) => needs === undefined).map(({ id }) => id)).toEqual([]);
  });

  test('its overall score is of what was assessed', () => {
    const result = analyze({ metrics: [loss] });
    expect(result.healthScores.map(({ scoreKey, score }) => [scoreKey, score])).toEqual([
      ['overall', 100],
      ['optimization', 100],
      ['representation', null],
      ['generalization', null],
      ['runtime', null],
    ]);
  });

  test('with the rules of abiotic-quark alone, there are no scores of what was not assessed, and no coverage', () => {
    const config = { compatibility: 'abiotic-quark' } as const;
    const empty = analyze({}, config);
    expect(empty.healthScores).toEqual([]);
    expect(Object.keys(empty.toDict())).not.toContain('coverage');
    const scored = analyze({ metrics: [loss] }, config);
    expect(scored.healthScores.map(({ score, scoreKey }) => [scoreKey, score])).toEqual([
      ['overall', 100],
      ['optimization', 100],
    ]);
    expect(scored.healthScores.map(({ evidence }) => evidence)).toEqual([[], []]);
  });
});

describe('how a run ended belongs to its health', () => {
  const metrics = [metric('train/loss', 200, fallingLoss(200))];
  const events = {
    rowCount: 1,
    eventTypes: ['runtime_error'],
    severities: ['error'],
    steps: Float64Array.of(Number.NaN),
    timesMs: Float64Array.of(0),
    payloads: [JSON.stringify({ message: 'CUDA out of memory. Tried to allocate 2 GiB\nat x' })],
  };

  test.each([
    ['failed', { status: 'failed' }, 'critical', 'The run failed'],
    ['interrupted', { status: 'interrupted' }, 'warning', 'The run was interrupted'],
    ['gone', { status: 'running', isLive: false }, 'error', 'The process of the run is gone'],
  ] as const)('%s: never healthy', async (_, run, severity, title) => {
    const result = analyze({ metrics, run });
    expect(result.alerts).toMatchObject([{ ruleId: 'run_end', severity, title, stepEnd: 199 }]);
    expect(overallOf(result)?.status).not.toBe('healthy');
    expect(overallOf(result)?.score).toBeLessThan(85);
    const { html, markdown } = await report(createRunColumns({ metrics, run }));
    expect(markdown).toContain(title);
    expect(html).not.toMatch(/verdict healthy/u);
  });

  test('out of memory is named', () => {
    const [alert] = analyze({ metrics, run: { status: 'failed' }, events }).alerts;
    expect(alert?.title).toBe('The run ran out of memory');
    expect(alert?.fact).toBe(
      'The run failed after step 199: CUDA out of memory. Tried to allocate 2 GiB.',
    );
  });

  test('completed, and live: nothing to say', () => {
    expect(analyze({ metrics, run: { status: 'completed' } }).alerts).toEqual([]);
    const timesMs = Float64Array.from({ length: 200 }, () => 0);
    const live = metrics.map((one) => ({ ...one, timesMs }));
    expect(analyze({ metrics: live, run: { status: 'running', isLive: true } }).alerts).toEqual([]);
  });
});
