/** What networks that somebody trained for themselves showed: each course here stands for one that was once judged wrongly. */
import { describe, expect, test } from 'vitest';
import {
  analyzeColumns,
  createRunColumns,
  type AnalyzerEngineConfig,
  type RuleId,
  type RunColumnsParts,
} from 'quark-sdk/analysis';
import { fallingLoss, metric, normal, parameter } from '../../../support/analysis-runs.ts';

const alertsOf = (parts: RunColumnsParts, config: AnalyzerEngineConfig = {}) =>
  analyzeColumns(createRunColumns(parts), config, { nowMs: 0 }).alerts;
const find = (ruleId: RuleId, parts: RunColumnsParts, config?: AnalyzerEngineConfig) =>
  alertsOf(parts, config).find((alert) => alert.ruleId === ruleId);

const probes = Array.from({ length: 60 }, (_, i) => i * 4);
const falling = metric('train/loss', 240, fallingLoss(240));
const stuck = metric('train/loss', 240, (i) => 0.7 + 0.02 * Math.sin(i * i));

describe('a rate that is far too high for attention blocks', () => {
  // The first updates carry the weights off; then everything is saturated, and updates look small beside what the weights have become.
  const carried = (name: string, { growth = 4, first = 0.6, gradient = 1e-6 } = {}) =>
    parameter(`${name}/kernel`, probes, {
      elementCount: () => 64,
      gradientNorm: () => gradient,
      valueNorm: (i) => 3 * (1 + (growth - 1) * Math.min(1, i / 8)),
      updateRatio: (i) => (i < 8 ? first / (1 + i) : 1e-5),
    });
  // Scales of normalisation move less; there are as many of them as of biases.
  const scale = [
    parameter('norm/gamma', probes, {
      elementCount: () => 8,
      gradientNorm: () => 1e-3,
      valueNorm: () => 3,
      updateRatio: () => 1e-3,
    }),
    parameter('norm/beta', probes, { elementCount: () => 8 }, { parameterRole: 'bias' }),
  ];
  const weights = ['embed', 'query', 'key', 'value'].map((name) => carried(name));
  const output = carried('output', { gradient: 1 });

  test('the rate comes first, and what it leads to after it', () => {
    const parameters = [...weights, ...scale, output];
    const alerts = alertsOf({ metrics: [stuck], parameters });
    expect(alerts[0]).toMatchObject({
      ruleId: 'update_ratio_high',
      stepStart: 0,
      fact: expect.stringContaining('have carried embed/kernel to 4 times its first size'),
    });
    const ids = alerts.map(({ ruleId }) => ruleId);
    expect(ids).toContain('vanishing_gradients');
    // Small updates are what came of it.
    expect(ids).not.toContain('update_ratio_low');
    expect(find('update_ratio_high', { metrics: [falling], parameters })).toBeUndefined();
  });

  test('weights that begin near zero and grow beside others are adapters', () => {
    const still = ['query', 'key'].map((name) => carried(name, { growth: 1.1 }));
    const parts = { metrics: [stuck], parameters: [...still, ...scale, ...weights.slice(2)] };
    expect(find('update_ratio_high', parts)).toBeUndefined();
  });

  test('one blow to most of the weights, the scales of normalisation left out', () => {
    const blown = ['embed', 'value', 'output'].map((name) =>
      parameter(`${name}/kernel`, probes, {
        elementCount: () => 64,
        valueNorm: () => 5,
        updateRatio: (i) => (i === 0 ? 2 : 0),
      }),
    );
    const spared = carried('query', { growth: 1, first: 0 });
    const parameters = [...blown, spared, ...scale];
    expect(find('update_ratio_high', { metrics: [stuck], parameters })).toBeDefined();
    const few = [...blown.slice(0, 1), spared, carried('key', { growth: 1, first: 0 }), ...scale];
    expect(find('update_ratio_high', { metrics: [stuck], parameters: few })).toBeUndefined();
    // One weight is enough where the loss has more than doubled since.
    const gauss = normal(3);
    const thrown = metric('train/loss', 240, (i) => (i === 0 ? 0.7 : 7 + 2 * gauss()));
    const alerts = alertsOf({ metrics: [thrown], parameters: few });
    expect(alerts[0]?.ruleId).toBe('update_ratio_high');
  });
});

test('suspicious_validation compares with the same model, not with an older one', () => {
  // A step an epoch: accuracy rises within few of them, and training lags behind by one.
  const rise = (i: number): number => 0.97 - 0.9 * Math.exp(-i / 4);
  const train = metric('train/accuracy', 120, (i) => rise(i));
  const held = metric('val/accuracy', 120, (i) => rise(i + 1));
  expect(find('suspicious_validation', { metrics: [train, held] })).toBeUndefined();
  const slow = metric('train/accuracy', 120, (i) => 0.3 + 0.3 * (i / 120));
  const leaked = metric('val/accuracy', 120, () => 0.98);
  expect(find('suspicious_validation', { metrics: [slow, leaked] })).toBeDefined();
});
