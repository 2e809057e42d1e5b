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

describe('frozen layers', () => {
  const zeros = {
    elementCount: () => 8,
    valueMean: () => 0,
    valueStd: () => 0,
    valueNorm: () => 0,
  };
  const still = {
    elementCount: () => 64,
    valueMean: () => 0.1,
    valueStd: () => 0.3,
    valueNorm: () => 2.5,
  };
  const frozenWeight = (name: string, more = {}) =>
    parameter(name, probes, { ...still, ...more }, { isFrozen: true });
  const frozenBias = (name: string, norm = 0) =>
    parameter(
      name,
      probes,
      { ...zeros, valueNorm: () => norm, valueStd: () => norm / 3 },
      { isFrozen: true, parameterRole: 'bias' },
    );
  const trained = (name: string, role = 'weight', count = 32) =>
    parameter(
      name,
      probes,
      {
        elementCount: () => count,
        valueNorm: (i) => (role === 'bias' ? 0.01 * (1 + i) : 3 + 0.01 * i),
        updateNorm: () => 0.01,
        updateRatio: () => 0.004,
      },
      { parameterRole: role },
    );
  const head = [trained('head/kernel'), trained('head/bias', 'bias', 4)];
  const judge = (...parameters: ReturnType<typeof parameter>[]) =>
    find('unchanged_parameters', { metrics: [falling], parameters: [...parameters, ...head] });

  test('a layer of random numbers that is frozen is told', () => {
    expect(judge(frozenWeight('hidden/kernel'), frozenBias('hidden/bias'))).toMatchObject({
      severity: 'warning',
      title: 'hidden is frozen, and was never trained',
      stepStart: 0,
      stepEnd: 236,
    });
    const two = ['a', 'b'].flatMap((name) => [
      frozenWeight(`${name}/kernel`),
      frozenBias(`${name}/bias`),
    ]);
    expect(judge(...two)?.fact).toContain('a and one other layer are set not to be trained');
  });

  test('so is an LSTM, whose forget gate begins with ones; its weights are one layer', () => {
    const gates = (forget: number) =>
      parameter(
        'rnn/bias',
        probes,
        {
          elementCount: () => 32,
          valueMean: () => forget / 4,
          valueStd: () => (forget * Math.sqrt(3)) / 4,
          valueNorm: () => forget * Math.sqrt(8),
        },
        { isFrozen: true, parameterRole: 'bias' },
      );
    const weights = [frozenWeight('rnn/kernel'), frozenWeight('rnn/recurrent_kernel')];
    expect(judge(...weights, gates(1))?.fact).toContain('rnn is set not to be trained');
    expect(judge(...weights, gates(1.02))).toBeUndefined();
  });

  test('a base that was trained before is not', () => {
    expect(judge(frozenWeight('hidden/kernel'), frozenBias('hidden/bias', 0.02))).toBeUndefined();
  });

  test('what another optimizer trains is not: two networks against each other', () => {
    const moving = frozenWeight('judge/kernel', { valueNorm: (i: number) => 2.5 + 0.01 * i });
    expect(judge(moving, frozenBias('judge/bias'))).toBeUndefined();
  });

  test('without biases of its own, the normalisation behind it tells', () => {
    const convolution = frozenWeight('conv/kernel');
    const fresh = [trained('norm/gamma', 'weight', 8), trained('norm/beta', 'bias', 8)];
    expect(judge(convolution, ...fresh)?.title).toContain('conv is frozen');
    const known = [
      frozenWeight('norm/gamma', { elementCount: () => 8 }),
      frozenBias('norm/beta', 0.1),
    ];
    expect(judge(convolution, ...known)).toBeUndefined();
    // Vectors that were loaded, and what was put behind them.
    expect(judge(frozenWeight('words/embeddings'), ...fresh)).toBeUndefined();
    // Nothing tells.
    expect(judge(convolution)).toBeUndefined();
  });

  test('two snapshots tell nothing, and neither does a run in which nothing moves', () => {
    const few = [
      parameter('hidden/kernel', [0, 10], still, { isFrozen: true }),
      parameter('hidden/bias', [0, 10], zeros, { isFrozen: true, parameterRole: 'bias' }),
    ];
    expect(judge(...few)).toBeUndefined();
    const parameters = [frozenWeight('hidden/kernel'), frozenBias('hidden/bias')];
    expect(find('unchanged_parameters', { metrics: [falling], parameters })).toBeUndefined();
  });

  test('without parameters, the configuration tells of frozen layers behind trained ones, as a remark', () => {
    const model = (...trainable: boolean[]) =>
      trainable.map((is, i) => ({
        class_name: 'Dense',
        config: {
          name: `d${i}`,
          units: 4,
          trainable: is,
          ...(i < trainable.length - 1 ? { activation: 'relu' } : {}),
        },
      }));
    const lint = (...trainable: boolean[]) =>
      find('static_model_lint', { metrics: [falling] }, { model: model(...trainable) });
    expect(lint(true, false, true)).toMatchObject({
      severity: 'info',
      fact: 'd1 is set not to be trained, and layers before it are.',
    });
    expect(lint(false, false, true)).toBeUndefined();
    const known = { metrics: [falling], parameters: head };
    expect(find('static_model_lint', known, { model: model(true, false, true) })).toBeUndefined();
  });
});

describe('validation that does not go along', () => {
  const gauss = normal(5);
  const train = metric('train/loss', 240, (i) => 1.3 * Math.exp(-i / 18) + 0.001);
  const held = (valueAt: (i: number) => number) =>
    metric('val/loss', 48, (i) => valueAt(i) * (1 + 0.01 * gauss()), 5);
  const judge = (...more: ReturnType<typeof metric>[]) =>
    find('overfitting_onset', { metrics: [train, ...more] });

  test('training went to next to nothing, and validation stopped at a third of the start', () => {
    const stopped = held((i) => 0.35 + 0.5 * Math.exp(-i / 3));
    const alert = judge(stopped);
    expect(['warning', 'error']).toContain(alert?.severity);
    expect(alert?.fact).toMatch(/did not get better than 0\.3\d+ while train\/loss fell to 0\.001/);
    // What is left is little; accuracies agree; or it is still on its way.
    expect(judge(held((i) => 0.08 + 0.8 * Math.exp(-i / 3)))).toBeUndefined();
    const accurate = metric('val/accuracy', 48, (i) => 0.95 - 0.6 * Math.exp(-i / 3), 5);
    expect(judge(stopped, accurate)).toBeUndefined();
    expect(judge(held((i) => 0.3 + 0.5 * Math.exp(-i / 30)))).toBeUndefined();
  });

  // Labels that do not belong to their samples: the loss falls a little, as samples are learned by heart.
  const memorising = metric(
    'train/loss',
    480,
    (i) => 1.16 + 0.27 * Math.exp(-i / 200) + 0.08 * gauss(),
  );
  const model = [
    { class_name: 'Dense', config: { name: 'hidden', units: 32, activation: 'relu' } },
    { class_name: 'Dense', config: { name: 'output', units: 4, activation: 'softmax' } },
  ];
  const asked = { model: { layers: model, loss: 'categoricalCrossentropy' } };
  const atChance = metric('val/loss', 15, (i) => 1.38 + 0.004 * i + 0.02 * gauss(), 32);
  const accuracies = [
    metric('train/accuracy', 480, (i) => 0.25 + 0.25 * (i / 480) + 0.1 * gauss()),
    metric('val/accuracy', 15, () => 0.24 + 0.03 * gauss(), 32),
  ];

  test('labels that are shuffled, learned by heart a little', () => {
    const parts = { metrics: [memorising, atChance, ...accuracies] };
    expect(find('overfitting_onset', parts, asked)).toMatchObject({
      severity: 'warning',
      fact: expect.stringContaining('no better than chance (1.39)'),
      inference: expect.stringContaining('where labels do not belong to their samples'),
    });
    // Accuracies alone will do, and so will the level of chance.
    expect(find('overfitting_onset', parts)).toBeDefined();
    const losses = { metrics: [memorising, atChance] };
    expect(find('overfitting_onset', losses, asked)).toBeDefined();
    expect(find('overfitting_onset', losses)).toBeUndefined();
  });

  test('what holds for other samples is no such thing, however small it is', () => {
    const better = metric('val/loss', 15, (i) => 1.38 - 0.012 * i + 0.01 * gauss(), 32);
    expect(find('overfitting_onset', { metrics: [memorising, better] }, asked)).toBeUndefined();
    const [own] = accuracies;
    const near = metric('val/accuracy', 15, (i) => 0.25 + 0.012 * i + 0.02 * gauss(), 32);
    const parts = { metrics: [memorising, atChance, ...(own === undefined ? [] : [own]), near] };
    expect(find('overfitting_onset', parts, asked)).toBeUndefined();
  });

  test('a loss that falls to chance and rests there has learned nothing', () => {
    const settled = (level: number, drift = 0) =>
      metric(
        'train/loss',
        200,
        (i) => level + 1.2 * Math.exp(-i / 15) - drift * i + 0.04 * gauss(),
      );
    // The first values lie far below chance: accuracy seems to be gained.
    const gained = metric(
      'train/accuracy',
      200,
      (i) => 0.3 - 0.2 * Math.exp(-i / 10) + 0.05 * gauss(),
    );
    const judgeLoss = (loss: ReturnType<typeof metric>, config: AnalyzerEngineConfig = asked) =>
      find('loss_not_decreasing', { metrics: [loss, gained] }, config);
    expect(judgeLoss(settled(1.37))?.fact).toContain('which is chance (1.39)');
    expect(judgeLoss(settled(1.37), {})).toBeUndefined();
    expect(judgeLoss(settled(1.1))).toBeUndefined();
    // It leaves the level of chance, slowly.
    expect(judgeLoss(settled(1.5, 0.001))).toBeUndefined();
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
