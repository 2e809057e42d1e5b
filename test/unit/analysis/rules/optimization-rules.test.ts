/** Each rule on a run that has its fault, and on one that looks like it and is healthy. */
import { describe, expect, test } from 'vitest';
import {
  analyzeColumns,
  createRunColumns,
  evidenceOf,
  type AnalyzerEngineConfig,
  type RuleId,
  type RunColumnsParts,
} from 'quark-sdk/analysis';
import { fallingLoss, layer, metric, normal, parameter } from '../../../support/analysis-runs.ts';

function alertsOf(parts: RunColumnsParts, config: AnalyzerEngineConfig = {}) {
  return analyzeColumns(createRunColumns(parts), config, { nowMs: 0 }).alerts;
}

function find(ruleId: RuleId, parts: RunColumnsParts, config: AnalyzerEngineConfig = {}) {
  return alertsOf(parts, config).find((alert) => alert.ruleId === ruleId);
}

const probes = Array.from({ length: 12 }, (_, i) => i * 20);
const falling = metric('train/loss', 240, fallingLoss(240));
const flat = metric(
  'train/loss',
  240,
  (
    (gauss) => () =>
      2.3 + 0.03 * gauss()
  )(normal(7)),
);

describe('non_finite', () => {
  test('names the first layer and step, in the order of the passes', () => {
    const parts: RunColumnsParts = {
      metrics: [metric('train/loss', 240, (i) => (i < 130 ? 1 / (i + 1) : Number.NaN))],
      layers: ['first', 'second', 'third'].flatMap((name, at) => [
        layer(name, 'activation', probes, {
          nonFiniteCount: (i) => (i > 6 - (at === 1 ? 1 : 0) ? 3 : 0),
        }),
        layer(name, 'gradient', probes, { nonFiniteCount: (i) => (i > 5 ? 3 : 0) }),
      ]),
    };
    const alert = find('non_finite', parts);
    expect(alert).toMatchObject({
      severity: 'critical',
      stepStart: 120,
      title: 'Non-finite numbers, first in second',
    });
    expect(alert?.fact).toContain(
      'step 120 in the output of the layer second, and train/loss at step 130',
    );
    expect(evidenceOf(alert ?? { evidence: [] }).map(({ kind, source }) => [kind, source])).toEqual(
      [
        ['layer_summary', 'second'],
        ['layer_summary', 'third'],
        ['layer_summary', 'second'],
        ['layer_summary', 'first'],
        ['metric', 'train/loss'],
        ['layer_summary', 'first'],
      ],
    );
  });

  test('tells an event from a broken run', () => {
    const lone = metric('train/loss', 100, (i) => (i === 50 ? Number.NaN : 2 * 0.97 ** i));
    expect(find('non_finite', { metrics: [lone] })).toMatchObject({
      severity: 'warning',
      stepStart: 50,
    });
    const validation = metric('val/loss', 100, (i) => (i > 80 ? Infinity : 2 * 0.97 ** i));
    expect(find('non_finite', { metrics: [falling, validation] })).toMatchObject({
      severity: 'error',
      stepStart: 81,
    });
  });

  test('lets loss scaling and masks be', () => {
    const norm = metric('train/grad_norm', 240, (i) => (i % 50 < 2 ? Infinity : 1));
    const mask = layer('attention', 'activation', probes, { nonFiniteCount: () => 64 });
    expect(alertsOf({ metrics: [falling, norm], layers: [mask] })).toEqual([]);
  });

  test('blames inputs that are broken when they come in, even if the loss was seen first', () => {
    const broken = metric('train/loss', 240, (i) => (i < 30 ? 1 / (i + 1) : Number.NaN));
    const inputs = (from: number) => ({
      ...layer('input', 'activation', probes, { nonFiniteCount: (i) => (i === from ? 1 : 0) }),
      moduleType: 'InputLayer',
    });
    const first = layer('first', 'activation', probes, { nonFiniteCount: (i) => (i > 1 ? 9 : 0) });
    const alert = find('non_finite', { metrics: [broken], layers: [inputs(4), first] });
    expect(alert?.fact).toBe(
      'NaN or infinity was seen first at step 30 in the metric train/loss; the inputs held some at step 80.',
    );
    expect(alert?.inference).toContain('the data contain NaN');
    const clean = find('non_finite', { metrics: [broken], layers: [inputs(-1), first] });
    expect(clean?.inference).not.toContain('the data contain NaN');
  });

  test('is the only alert: what is left of broken numbers says nothing', () => {
    const broken = metric('train/loss', 240, () => Number.NaN);
    const layers = [
      layer('a', 'gradient', probes, {
        norm: () => 0,
        nonFiniteCount: () => 4,
        elementCount: () => 4,
      }),
    ];
    const parameters = [
      ['a/kernel', 'weight', 512],
      ['a/bias', 'bias', 16],
    ].map(([name, parameterRole, count]) => ({
      ...parameter(`${name}`, probes, {
        valueNorm: () => 0,
        valueStd: () => 0,
        valueNonFiniteCount: () => Number(count),
        elementCount: () => Number(count),
      }),
      parameterRole: parameterRole === 'bias' ? ('bias' as const) : ('weight' as const),
    }));
    const ids = alertsOf({ metrics: [broken], layers, parameters }).map(({ ruleId }) => ruleId);
    expect(ids).toEqual(['non_finite']);
  });

  test('sees parameters', () => {
    const parameters = [
      parameter('dense/kernel', probes, {
        updateNonFiniteCount: (i) => (i === 3 ? 1 : 0),
        valueNonFiniteCount: (i) => (i >= 3 ? 9 : 0),
      }),
    ];
    expect(find('non_finite', { metrics: [falling], parameters })?.fact).toBe(
      'NaN or infinity was seen first at step 60 in the update of the parameter dense/kernel.',
    );
  });
});

describe('loss_divergence', () => {
  const gauss = normal(3);
  const diverging = (i: number): number =>
    (i < 3000 ? 0.5 + 1.8 * Math.exp(-i / 500) : 0.5 + (i - 3000) * 0.002) * (1 + 0.1 * gauss());

  test('is found with its step, in long noisy series and in short ones', () => {
    const alert = find('loss_divergence', { metrics: [metric('train/loss', 4000, diverging)] });
    expect(alert?.severity).toBe('critical');
    expect(alert?.stepStart).toBeGreaterThan(3000);
    expect(alert?.stepStart).toBeLessThan(3300);
    const epochs = [2, 1.5, 1.1, 0.9, 0.8, 1.2, 1.9, 2.6, 3, 3.4];
    expect(
      find('loss_divergence', { metrics: [metric('train/loss', 10, (i) => epochs[i] ?? 0)] }),
    ).toMatchObject({
      severity: 'critical',
      stepStart: 5,
      stepEnd: 9,
    });
  });

  test('is not a spike, a restart of the learning rate, or noise at the floor', () => {
    const spiked = metric('train/loss', 4000, (i) =>
      i > 3900 && i < 3904 ? 50 : fallingLoss(4000)(i),
    );
    expect(find('loss_divergence', { metrics: [spiked] })).toBeUndefined();
    const restart = (i: number): number => fallingLoss(1000)(i % 1000) * (i < 1000 ? 1 : 0.5);
    expect(
      find('loss_divergence', { metrics: [metric('train/loss', 2000, restart)] }),
    ).toBeUndefined();
    const floor = normal(5);
    const solved = metric(
      'train/loss',
      4000,
      (i) => (i < 200 ? 2 : i < 3500 ? 1e-5 : 4e-5) * Math.exp(floor()),
    );
    expect(find('loss_divergence', { metrics: [solved] })).toBeUndefined();
  });

  test('takes losses that cross zero', () => {
    const nll = (i: number): number => (i < 300 ? 2 - i / 50 : -4 + (i - 300) / 20);
    expect(find('loss_divergence', { metrics: [metric('train/loss', 420, nll)] })?.severity).toBe(
      'error',
    );
    expect(find('loss_divergence', { metrics: [metric('train/loss', 300, nll)] })).toBeUndefined();
  });
});

describe('loss_not_decreasing', () => {
  test('is found from the loss, more surely with an accuracy', () => {
    expect(find('loss_not_decreasing', { metrics: [flat] })).toMatchObject({
      severity: 'warning',
      stepStart: 0,
      stepEnd: 239,
    });
    const gauss = normal(4);
    const chance = metric('train/accuracy', 240, () => 0.1 + 0.03 * gauss());
    expect(find('loss_not_decreasing', { metrics: [flat, chance] })?.severity).toBe('error');
    // Falls at first, to the level of chance.
    const settled = metric('train/loss', 240, (i) => 2.3 + 0.3 * Math.exp(-i / 5));
    expect(find('loss_not_decreasing', { metrics: [settled, chance] })?.severity).toBe('error');
  });

  test('is found in nothing but noise, whatever its lowest stretch is', () => {
    const found = Array.from({ length: 40 }, (_, seed) => {
      const gauss = normal(seed + 1);
      const noise = metric('train/loss', 100, () => 2.1 + 0.1 * gauss());
      return find('loss_not_decreasing', { metrics: [noise] }) !== undefined;
    });
    expect(found.filter(Boolean).length).toBeGreaterThan(31);
  });

  test('is no loss that was all gone before a twentieth of the run was over', () => {
    const gone = metric('train/loss', 2000, (i) => Math.max(0, 4000 * (1 - i / 90)));
    expect(find('loss_not_decreasing', { metrics: [gone] })).toBeUndefined();
  });

  test('is not slow learning, a solved task, or a run that goes on from another', () => {
    const slow = metric(
      'train/loss',
      2000,
      fallingLoss(2000, { start: 2.3, floor: 2.1, tau: 1500, noise: 0.05 }),
    );
    expect(alertsOf({ metrics: [slow] })).toEqual([]);
    const right = metric('train/accuracy', 240, () => 0.95);
    expect(alertsOf({ metrics: [flat, right] })).toEqual([]);
    expect(alertsOf({ metrics: [flat], run: { isContinued: true } })).toEqual([]);
    const rising = metric('train/accuracy', 240, (i) => 0.1 + i / 400);
    expect(find('loss_not_decreasing', { metrics: [flat, rising] })).toBeUndefined();
  });
});

describe('plateau', () => {
  test('is a remark on a run that has stood still, away from the floor', () => {
    const early = metric('train/loss', 1000, fallingLoss(1000, { floor: 0.9, tau: 50 }));
    expect(find('plateau', { metrics: [early] })).toMatchObject({ severity: 'info' });
    const solved = metric('train/loss', 1000, fallingLoss(1000, { floor: 0.01, tau: 50 }));
    expect(find('plateau', { metrics: [solved] })).toBeUndefined();
    const right = metric('val/accuracy', 100, () => 0.99);
    expect(find('plateau', { metrics: [early, right] })).toBeUndefined();
    expect(find('plateau', { metrics: [falling] })).toBeUndefined();
    expect(find('plateau', { metrics: [flat] })).toBeUndefined();
  });
});

describe('spikes', () => {
  const spiky = (at: number, height: number, seed = 2) => {
    const course = fallingLoss(2000, { seed });
    return metric('train/loss', 2000, (i) => (i === at ? height : course(i)));
  };

  test('a jump of the loss is told of with its step, and is a warning when it is high', () => {
    expect(find('loss_spike', { metrics: [spiky(1500, 0.6)] })).toMatchObject({
      severity: 'info',
      stepStart: 1500,
    });
    expect(find('loss_spike', { metrics: [spiky(1500, 5)] })).toMatchObject({
      severity: 'warning',
      stepStart: 1500,
      stepEnd: 1501,
    });
  });

  test('the batch of the step is named', () => {
    const parts: RunColumnsParts = {
      metrics: [spiky(1500, 5)],
      batches: {
        ...createRunColumns({}).batches,
        rowCount: 1,
        steps: Float64Array.of(1500),
        losses: Float64Array.of(5),
        classNames: ['eel'],
        classOffsets: Int32Array.of(0, 1),
        classIndex: Int32Array.of(0),
        classCounts: Float64Array.of(8),
      },
    };
    const batch = evidenceOf(find('loss_spike', parts) ?? { evidence: [] }).find(
      ({ kind }) => kind === 'batch_diagnostic',
    );
    expect(batch?.summary).toContain('eel (8)');
  });

  test('a loss of margins has hard samples up to what it cost at the start, and spikes above that', () => {
    const hinge = (peak: number, floor: number) =>
      metric('train/loss', 400, (i) => {
        if (i === 300) return peak;
        return i % 30 === 29 ? floor : 0.02 + 0.18 * Math.exp(-i / 30) + 0.003 * Math.sin(1.7 * i);
      });
    expect(find('loss_spike', { metrics: [hinge(0.18, 0)] })).toBeUndefined();
    expect(find('loss_spike', { metrics: [hinge(2, 0)] })?.stepStart).toBe(300);
    // A loss that is never exactly zero costs no whole margin for one sample.
    expect(find('loss_spike', { metrics: [hinge(0.18, 1e-3)] })?.stepStart).toBe(300);
  });

  test('heavy tails are not spikes', () => {
    const gauss = normal(6);
    const tails = metric(
      'train/loss',
      4000,
      (i) => fallingLoss(4000)(i) * Math.exp(Math.abs(gauss()) ** 3 / 5),
    );
    expect(find('loss_spike', { metrics: [tails] })).toBeUndefined();
  });

  test('a jump of the gradient is a remark, and a warning when the loss follows', () => {
    const gauss = normal(8);
    const norm = metric('train/grad_norm', 2000, (i) => (i === 1498 ? 40 : 1 + 0.1 * gauss()));
    expect(find('grad_spike', { metrics: [falling, norm] })).toMatchObject({
      severity: 'info',
      stepStart: 1498,
    });
    expect(find('grad_spike', { metrics: [spiky(1500, 5), norm] })?.severity).toBe('warning');
    const small = metric('train/grad_norm', 2000, (i) => (i === 1498 ? 4 : 1 + 0.1 * gauss()));
    expect(find('grad_spike', { metrics: [small] })).toBeUndefined();
  });
});

test('oscillating_loss is alternation, not noise', () => {
  const swinging = metric('train/loss', 200, (i) => 1 + Math.exp(-i / 20) + (i % 2) * 0.5);
  expect(find('oscillating_loss', { metrics: [swinging] })).toMatchObject({
    severity: 'warning',
    stepEnd: 199,
  });
  const gauss = normal(9);
  const noisy = metric('train/loss', 200, (i) => 1 + Math.exp(-i / 20) + 0.5 * gauss());
  expect(find('oscillating_loss', { metrics: [noisy] })).toBeUndefined();
  const settling = metric('train/loss', 200, (i) => 1 + (i % 2) * Math.exp(-i / 25));
  expect(find('oscillating_loss', { metrics: [settling] })).toBeUndefined();
});

describe('gradients and updates', () => {
  const deep = (factor: number) =>
    ['a', 'b', 'c', 'd'].map((name, at) =>
      parameter(`${name}/kernel`, probes, {
        gradientNorm: () => 0.01 * factor ** (3 - at) * 10,
        elementCount: () => 100,
      }),
    );

  test('gradient_depth_ratio needs a loss that suffers', () => {
    expect(find('gradient_depth_ratio', { metrics: [flat], parameters: deep(0.05) })).toMatchObject(
      { severity: 'warning' },
    );
    expect(find('gradient_depth_ratio', { metrics: [flat], parameters: deep(10) })?.title).toBe(
      'Gradients grow with depth',
    );
    expect(alertsOf({ metrics: [falling], parameters: deep(0.05) })).toEqual([]);
    expect(
      find('gradient_depth_ratio', { metrics: [flat], parameters: deep(0.5) }),
    ).toBeUndefined();
  });

  test('exploding_gradients need harm or growth that lasts', () => {
    const norm = (valueAt: (i: number) => number) => [
      layer('dense', 'gradient', probes, { norm: valueAt, elementCount: () => 10 }),
    ];
    const rising = metric('train/loss', 240, (i) => (i < 100 ? 2 : 2 + (i - 100) / 20));
    expect(
      find('exploding_gradients', { metrics: [rising], layers: norm((i) => (i < 6 ? 2 : 30)) }),
    ).toMatchObject({
      severity: 'error',
      stepStart: 120,
      stepEnd: 220,
    });
    expect(
      find('exploding_gradients', { metrics: [falling], layers: norm((i) => 2 * 1.6 ** i) })
        ?.severity,
    ).toBe('critical');
    // A wide layer, a warm-up, a spike.
    expect(alertsOf({ metrics: [falling], layers: norm(() => 60) })).toEqual([]);
    expect(alertsOf({ metrics: [falling], layers: norm((i) => (i < 4 ? 60 : 1)) })).toEqual([]);
    expect(alertsOf({ metrics: [falling], layers: norm((i) => (i === 6 ? 60 : 1)) })).toEqual([]);
  });

  test('vanishing_gradients need something left to learn', () => {
    const layers = [layer('a', 'gradient', probes, { norm: () => 1e-6, elementCount: () => 4 })];
    expect(find('vanishing_gradients', { metrics: [flat], layers })).toMatchObject({
      severity: 'critical',
    });
    const solved = metric('train/loss', 240, fallingLoss(240, { floor: 0.001, tau: 20 }));
    expect(alertsOf({ metrics: [solved], layers })).toEqual([]);
    // Units that cut NaN off give zeros to those before them.
    const broken = metric('train/loss', 240, (i) => (i < 30 ? 2 : Number.NaN));
    expect(find('vanishing_gradients', { metrics: [broken], layers })).toBeUndefined();
  });

  test('stagnant_layers are behind the others', () => {
    const names = ['a', 'b', 'c', 'd'];
    const layers = names.map((name) =>
      layer(name, 'gradient', probes, {
        norm: (i) => (name === 'b' && i > 6 ? 1e-7 : 0.1),
        elementCount: () => 16,
      }),
    );
    expect(find('stagnant_layers', { metrics: [falling], layers })).toMatchObject({
      severity: 'error',
      stepStart: 140,
      title: 'b gets no gradient',
    });
    const small = names.map((name) =>
      layer(name, 'gradient', probes, { norm: () => 5e-5, elementCount: () => 16 }),
    );
    expect(find('stagnant_layers', { metrics: [falling], layers: small })).toBeUndefined();
  });

  const updates = (ratio: number) =>
    ['a', 'b'].map((name) => parameter(`${name}/kernel`, probes, { updateRatio: () => ratio }));

  test('update ratios count where the loss agrees', () => {
    const rising = metric('train/loss', 240, (i) => (i < 100 ? 2 : 2 + (i - 100) / 20));
    expect(
      find('update_ratio_high', { metrics: [rising], parameters: updates(0.5) })?.severity,
    ).toBe('error');
    expect(alertsOf({ metrics: [falling], parameters: updates(0.5) })).toEqual([]);
    expect(find('update_ratio_low', { metrics: [flat], parameters: updates(1e-5) })?.severity).toBe(
      'warning',
    );
    expect(alertsOf({ metrics: [falling], parameters: updates(1e-5) })).toEqual([]);
    expect(
      find('update_ratio_low', { metrics: [flat], parameters: updates(1e-3) }),
    ).toBeUndefined();
  });

  test('updates as large as the weights are blows, also when what follows is calm', () => {
    const blown = parameter('a/kernel', probes, {
      updateRatio: (i) => (i < 2 ? 5 : 1e-3),
      valueNorm: () => 1,
    });
    const alert = find('update_ratio_high', { metrics: [flat], parameters: [blown] });
    expect(alert?.fact).toContain('The largest of some updates of a/kernel is 5 of its weights');
    expect(find('update_ratio_high', { metrics: [falling], parameters: [blown] })).toBeUndefined();
    const zeros = parameter('a/kernel', probes, {
      updateRatio: (i) => (i < 2 ? 5 : 1e-3),
      valueNorm: (i) => i,
    });
    expect(find('update_ratio_high', { metrics: [flat], parameters: [zeros] })).toBeUndefined();
  });

  test('update_ratio_low knows a run that crawls: gradients keep their direction, the loss falls to the end', () => {
    const crawling = (cosine: number) => [
      parameter('a/kernel', probes, { updateRatio: () => 4e-4, gradientCosine: () => cosine }),
    ];
    const linear = metric('train/loss', 240, (i) => 1.5 - i / 1000);
    expect(
      find('update_ratio_low', { metrics: [linear], parameters: crawling(0.8) })?.fact,
    ).toContain('cosine 0.8');
    expect(
      find('update_ratio_low', { metrics: [linear], parameters: crawling(0.1) }),
    ).toBeUndefined();
    expect(
      find('update_ratio_low', { metrics: [falling], parameters: crawling(0.8) }),
    ).toBeUndefined();
  });

  test('unchanged_parameters are not frozen ones', () => {
    const moving = parameter('a/kernel', probes, { updateRatio: () => 0.01 });
    const still = (isFrozen: boolean) =>
      parameter(
        'b/kernel',
        probes,
        { updateRatio: (i) => (i < 5 ? 0.01 : 0), gradientNorm: () => 0.5 },
        { isFrozen },
      );
    const alert = find('unchanged_parameters', { parameters: [moving, still(false)] });
    expect(alert).toMatchObject({ severity: 'warning', stepStart: 100 });
    expect(alert?.inference).toContain('the optimizer does not have these parameters');
    expect(alertsOf({ parameters: [moving, still(true)] })).toEqual([]);
    expect(alertsOf({ parameters: [still(false)] })).toEqual([]);
    const lost = parameter('b/kernel', probes, {
      updateRatio: () => 0,
      gradientNorm: () => 1e-9,
      valueNorm: () => 1,
    });
    const inference = find('unchanged_parameters', { parameters: [moving, lost] })?.inference;
    expect(inference).toContain('lost in rounding');
  });
});

test('loss_not_decreasing looks at validation where single batches are too noisy', () => {
  const gauss = normal(11);
  const noisy = metric('train/loss', 240, () => 1.2 * (1 + 0.4 * gauss()));
  const held = metric('val/loss', 12, () => 1.2 * (1 + 0.01 * gauss()), 20);
  // Nobody knows of noise alone whether it falls: that is a remark.
  expect(find('loss_not_decreasing', { metrics: [noisy] })?.severity).toBe('info');
  expect(find('loss_not_decreasing', { metrics: [noisy, held] })?.title).toBe(
    'val/loss does not fall',
  );
  // Learned before the first validation.
  const low = metric('val/loss', 12, () => 0.2 * (1 + 0.01 * gauss()), 20);
  expect(find('loss_not_decreasing', { metrics: [noisy, low] })?.severity).toBe('info');
});

describe('activations and initial weights', () => {
  test('dying_relu counts the same units, not sparse outputs', () => {
    const of = (dead: (i: number) => number) => [
      layer('relu', 'activation', probes, {
        persistentDeadUnitCount: dead,
        unitCount: () => 32,
        deadUnitRatio: () => 0.9,
        std: () => 1,
      }),
      layer('out', 'activation', probes, { std: () => 1 }),
    ];
    const alert = find('dying_relu', { metrics: [falling], layers: of((i) => (i < 4 ? 2 : 28)) });
    expect(alert).toMatchObject({ severity: 'error', stepStart: 80 });
    expect(alert?.fact).toContain('87.5 % of the 32 units of relu');
    expect(alertsOf({ metrics: [falling], layers: of(() => 3) })).toEqual([]);
  });

  test('dying_relu: what was silent in the first probes has been dead from the start', () => {
    const layers = [
      layer('relu', 'activation', probes, {
        persistentDeadUnitCount: (i) => (i < 2 ? 0 : 32),
        deadUnitCount: () => 32,
        unitCount: () => 32,
        std: () => 1,
      }),
      layer('out', 'activation', probes, { std: () => 1 }),
    ];
    const alert = find('dying_relu', { metrics: [falling], layers });
    expect(alert?.stepStart).toBe(0);
    expect(alert?.fact).not.toContain('before');
  });

  test('activation_collapse leaves the output layer alone', () => {
    const saturated = layer('tanh', 'activation', probes, {
      saturationRatio: () => 0.98,
      std: () => 1,
      mean: () => 0,
    });
    const out = layer('out', 'activation', probes, {
      saturationRatio: () => 0.999,
      std: () => 0.5,
      mean: () => 0.5,
    });
    expect(
      find('activation_collapse', { metrics: [flat], layers: [saturated, out] }),
    ).toMatchObject({ severity: 'error', title: 'The outputs of tanh have collapsed' });
    expect(alertsOf({ metrics: [falling], layers: [out] })).toEqual([]);
    const shrunk = layer('h', 'activation', probes, {
      std: (i) => (i < 4 ? 1 : 0.005),
      mean: () => 0,
    });
    expect(find('activation_collapse', { layers: [shrunk, out] })?.severity).toBe('error');
    const small = layer('h', 'activation', probes, { std: () => 0.03, mean: () => 0.001 });
    expect(alertsOf({ layers: [small, out] })).toEqual([]);
  });

  const net = (size: number, std = size) => [
    parameter('dense/kernel', probes, {
      valueStd: () => std,
      valueNorm: () => size * 64,
      valueMean: () => 0,
      elementCount: () => 4096,
    }),
    parameter(
      'dense/bias',
      probes,
      { valueMean: () => 0, elementCount: () => 64 },
      { parameterRole: 'bias' },
    ),
  ];

  test('poor_initialization knows the scale that suits a width', () => {
    expect(find('poor_initialization', { metrics: [flat], parameters: net(1.5) })).toMatchObject({
      severity: 'warning',
      stepStart: 0,
    });
    expect(find('poor_initialization', { metrics: [flat], parameters: net(0.002) })?.severity).toBe(
      'warning',
    );
    expect(find('poor_initialization', { metrics: [flat], parameters: net(0.15) })).toBeUndefined();
    expect(find('poor_initialization', { metrics: [flat], parameters: net(0.02) })).toBeUndefined();
  });

  test('poor_initialization names the first layer of numbers that began alike, be it after an update', () => {
    const judge = (...parameters: ReturnType<typeof net>) =>
      find('poor_initialization', { metrics: [falling], parameters });
    const head = parameter('head/kernel', probes, { valueStd: () => 0.1, elementCount: () => 64 });
    expect(judge(...net(0.1, 0), head)).toMatchObject({ severity: 'error' });
    // A last layer that begins with zeros does no harm.
    expect(judge(head, ...net(0, 0))).toBeUndefined();
    const moved = (spread: number, mean: number) => {
      const count = 48;
      const first = parameter('first/kernel', probes, {
        elementCount: () => count,
        valueMean: () => mean,
        valueStd: () => spread,
        valueNorm: () => Math.sqrt(count * (mean ** 2 + spread ** 2)),
        updateNorm: () => 0.01 * Math.sqrt(count),
      });
      const bias = parameter(
        'first/bias',
        probes,
        { elementCount: () => 24 },
        { parameterRole: 'bias' },
      );
      return judge(first, bias, ...net(0.1, 0), head)?.fact;
    };
    expect(moved(0.005, 0.1)).toContain('elements of first/kernel');
    // Wider than the update, or no farther from zero than it: drawn at random.
    expect(moved(0.02, 0.1)).toContain('elements of dense/kernel');
    expect(moved(0.005, 0.01)).toContain('elements of dense/kernel');
  });
});

test('a rule that is off says nothing, and a threshold that is changed counts', () => {
  const parts = { metrics: [flat] };
  expect(alertsOf(parts, { disabledRules: ['loss_not_decreasing'] })).toEqual([]);
  // That nothing shows any learning is a remark then.
  const limits = { thresholds: { lossNotDecreasingMinPoints: 1000 } };
  expect(alertsOf(parts, limits).map(({ ruleId, severity }) => [ruleId, severity])).toEqual([
    ['loss_not_decreasing', 'info'],
  ]);
});
