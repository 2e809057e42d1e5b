/** What programs of other people showed: machines with other work, first epochs, moving averages, regressions, losses of logits. */
import { describe, expect, test } from 'vitest';
import {
  createMetricSeries,
  createRunColumns,
  type RunColumnsParts,
  type TelemetryColumns,
} from 'quark-sdk/analysis';
import {
  fallingLoss,
  findAlert,
  layer,
  metric,
  normal,
  parameter,
  random,
} from '../../../support/analysis-runs.ts';

function telemetry(
  count: number,
  numbers: Partial<
    Record<'cpuUsagePercent' | 'tensorCount' | 'heapUsedBytes', (i: number) => number>
  >,
): TelemetryColumns {
  const { telemetry: empty } = createRunColumns({});
  const column = (valueAt: (i: number) => number) =>
    Float64Array.from({ length: count }, (_, i) => valueAt(i));
  const unknown = Object.fromEntries(
    Object.entries(empty).map(([name, value]) => [
      name,
      value instanceof Float64Array ? column(() => Number.NaN) : value,
    ]),
  );
  const known = Object.entries(numbers).map(([name, valueAt]) => [name, column(valueAt)]);
  return {
    ...empty,
    ...unknown,
    rowCount: count,
    steps: column((i) => 10 * i),
    ...Object.fromEntries(known),
  };
}

/** A metric of `perEpoch` steps an epoch, each of which has its number. */
function byEpoch(key: string, count: number, perEpoch: number, valueAt: (i: number) => number) {
  const rows = Array.from({ length: count }, (_, i) => i);
  return createMetricSeries(key, {
    steps: rows,
    epochs: rows.map((i) => Math.floor(i / perEpoch)),
    values: rows.map((i) => valueAt(i)),
  });
}

/** The same at the last step of each epoch. */
function atEnds(key: string, epochs: number, perEpoch: number, valueAt: (epoch: number) => number) {
  const rows = Array.from({ length: epochs }, (_, i) => i);
  return createMetricSeries(key, {
    steps: rows.map((i) => (i + 1) * perEpoch - 1),
    epochs: rows,
    values: rows.map((i) => valueAt(i)),
  });
}

const probes = Array.from({ length: 24 }, (_, i) => i * 10);
const falling = metric('train/loss', 240, fallingLoss(240));

describe('the machine', () => {
  test('uneven steps are a remark where all processors are in use', () => {
    const next = random(1);
    const times = metric('system/runtime/step_time_ms', 100, () => 400 * (0.2 + 3 * next() ** 3));
    const judged = (percent: number) =>
      findAlert('runtime_bottleneck_risk', {
        metrics: [times],
        telemetry: telemetry(20, { cpuUsagePercent: () => percent }),
      });
    expect(judged(60)).toMatchObject({ severity: 'warning' });
    expect(judged(99.5)).toMatchObject({
      severity: 'info',
      inference: expect.stringContaining('99.5 % were in use'),
    });
  });

  test('a leak of tensors shows in a short run, one of the heap takes longer', () => {
    const leak = (count: number) => telemetry(count, { tensorCount: (i) => 200 + 20 * i });
    expect(findAlert('memory_growth', { telemetry: leak(12) })).toBeDefined();
    expect(findAlert('memory_growth', { telemetry: leak(11) })).toBeUndefined();
    const heap = telemetry(20, { heapUsedBytes: (i) => 1e9 + 1e8 * i });
    expect(findAlert('memory_growth', { telemetry: heap })).toBeUndefined();
  });
});

describe('the first epoch', () => {
  const noise = normal(4);
  const train = byEpoch(
    'train/loss',
    250,
    25,
    (i) => (0.1 + Math.exp(-i / 15)) * (1 + 0.1 * noise()),
  );

  test('validation that is worse than samples just as new is of other data', () => {
    const parts = { metrics: [train, atEnds('val/loss', 10, 25, (i) => 1.4 + 0.05 * i)] };
    const alert = findAlert('suspicious_validation', parts);
    expect(alert).toMatchObject({ severity: 'warning', stepStart: 24, stepEnd: 249 });
    expect(alert?.fact).toContain('after the first epoch');
    expect(findAlert('overfitting_onset', parts)?.inference).toContain(
      'differ from those of training',
    );
  });

  test('what parts later, comes back, or has named samples that came before is not', () => {
    const judged = (valueAt: (epoch: number) => number, more: RunColumnsParts = {}) =>
      findAlert('suspicious_validation', {
        metrics: [train, atEnds('val/loss', 10, 25, valueAt)],
        ...more,
      });
    const overfitted = (i: number) => 0.35 + 0.1 * i;
    expect(judged(overfitted)).toBeUndefined();
    expect(
      findAlert('overfitting_onset', { metrics: [train, atEnds('val/loss', 10, 25, overfitted)] })
        ?.inference,
    ).toContain('by heart');
    expect(judged((i) => (i < 4 ? 1.4 : 0.12))).toBeUndefined();
    // Twelve samples that come again and again: they may be known by heart after a few steps.
    const { batches } = createRunColumns({});
    const repeated = {
      ...batches,
      rowCount: 4,
      steps: Float64Array.from([0, 1, 2, 3]),
      sampleNames: ['a'],
      sampleIndex: Int32Array.from([0, 0, 0, 0]),
      sampleOffsets: Int32Array.from([0, 1, 2, 3, 4]),
      classOffsets: new Int32Array(5),
      metadata: [null, null, null, null],
      losses: new Float64Array(4).fill(1),
    };
    const differing = (i: number) => 1.4 + 0.01 * i;
    expect(judged(differing)).toBeDefined();
    expect(judged(differing, { batches: repeated })).toBeUndefined();
  });
});

describe('train_eval_mismatch', () => {
  const parts = (keptMean: number, keptSpread: number, valLoss: number) => {
    const size = { elementCount: () => 320, mean: () => 0 };
    return {
      metrics: [falling, atEnds('val/loss', 10, 24, () => valLoss)],
      layers: [
        // Units with means that lie 2 apart (standard deviation) and variances of 1: 5 in all.
        layer('dense', 'activation', probes, { ...size, std: () => Math.sqrt(5) }),
        layer(
          'norm',
          'activation',
          probes,
          { ...size, std: () => 1 },
          { moduleType: 'BatchNormalization' },
        ),
        layer('out', 'activation', probes, { ...size, std: () => 1 }),
      ],
      parameters: [
        parameter('norm/moving_mean', probes, { valueMean: () => 0, valueStd: () => keptSpread }),
        parameter('norm/moving_variance', probes, {
          valueMean: () => keptMean,
          valueStd: () => 0.1,
        }),
      ].map((one) => ({ ...one, parameterRole: 'other', isFrozen: true })),
    };
  };

  test('moving averages must come to the variance of the batches, units and their means together', () => {
    expect(findAlert('train_eval_mismatch', parts(1, 0, 2.5))).toMatchObject({
      title: 'Moving averages do not fit the data',
      fact: expect.stringContaining(
        'norm evaluates with a variance of 1, while that of its values in training is 5',
      ),
    });
    expect(findAlert('train_eval_mismatch', parts(1, 2, 2.5))).toBeUndefined();
    // Nothing suffers: the loss is no worse, or the answers are as good.
    expect(findAlert('train_eval_mismatch', parts(1, 0, 0.21))).toBeUndefined();
    const judged = (held: number) => {
      const { metrics, ...more } = parts(1, 0, 2.5);
      const accuracies = [
        metric('train/accuracy', 240, () => 0.98),
        atEnds('val/accuracy', 10, 24, () => held),
      ];
      return findAlert('train_eval_mismatch', { ...more, metrics: [...metrics, ...accuracies] });
    };
    expect(judged(0.97)).toBeUndefined();
    expect(judged(0.6)).toBeDefined();
  });
});

describe('a regression', () => {
  /** Targets have a variance of 1 around a mean of 4: the loss falls from 17 to what the answers leave. */
  const parts = (spread: number, loss: string, floor: number) => {
    const noise = normal(7);
    const fall = (i: number) => floor + 16 * Math.exp(-i / 12);
    return {
      run: { config: { loss } },
      metrics: [
        metric('train/loss', 300, (i) => fall(i) * (1 + 0.1 * noise())),
        atEnds('val/loss', 15, 20, (i) => fall((i + 1) * 20)),
      ],
      layers: [
        layer('hidden', 'activation', probes, { std: () => 1, mean: () => 0.5 }),
        layer('price', 'activation', probes, {
          std: () => spread,
          mean: () => 4,
          unitCount: () => 1,
          elementCount: () => 32,
        }),
      ],
    };
  };
  const model = (loss: string) => ({
    model: {
      loss,
      layers: [
        { className: 'Dense', config: { name: 'hidden', units: 8, activation: 'relu' } },
        { className: 'Dense', config: { name: 'price', units: 1 } },
      ],
    },
  });
  const judged = (spread: number, loss: string, floor: number) =>
    findAlert('loss_not_decreasing', parts(spread, loss, floor), model(loss));

  test('that gives nearly the same answer for all samples has learned the mean, however far its loss fell', () => {
    expect(judged(0.2, 'meanSquaredError', 0.96)).toMatchObject({
      severity: 'warning',
      title: 'Nearly the same answer for every sample',
      fact: expect.stringContaining('The answers of price differ by 0.2 from sample to sample'),
    });
    expect(judged(0.2, 'meanAbsoluteError', 0.8)).toBeDefined();
    expect(judged(0.2, 'huberLoss', 0.45)).toBeDefined();
    // Half of the variance is explained, and nearly all of it.
    expect(judged(0.7, 'meanSquaredError', 0.5)).toBeUndefined();
    expect(judged(0.95, 'meanSquaredError', 0.9)).toBeUndefined();
    expect(judged(0.2, 'somethingElse', 0.96)).toBeUndefined();
  });

  test('whose loss goes on falling has not come to its end', () => {
    const early = parts(0.2, 'mse', 0.96);
    const metrics = [
      metric('train/loss', 300, (i) => 3 - i / 200),
      atEnds('val/loss', 15, 20, (i) => 3 - i / 10),
    ];
    expect(findAlert('loss_not_decreasing', { ...early, metrics }, model('mse'))).toBeUndefined();
  });
});

describe('layers', () => {
  test('an output of a ReLU that is zero for every sample is dead, one that is mostly zero is not', () => {
    const output = (norm: number) =>
      layer('price', 'activation', probes, {
        std: () => norm,
        norm: () => norm,
        mean: () => 0,
        persistentDeadUnitCount: () => 1,
        deadUnitCount: () => 1,
        unitCount: () => 1,
      });
    const hidden = layer('hidden', 'activation', probes, { std: () => 1, mean: () => 0.5 });
    const judged = (norm: number, activation?: string) =>
      findAlert(
        'dying_relu',
        { metrics: [falling], layers: [hidden, output(norm)] },
        activation === undefined
          ? {}
          : { model: [{ className: 'Dense', config: { name: 'price', units: 1, activation } }] },
      );
    expect(judged(0)?.fact).toContain('price, the output, has given zero');
    expect(judged(0, 'relu')).toBeDefined();
    // A sigmoid that says no to every sample is another matter.
    expect(judged(0, 'sigmoid')).toBeUndefined();
    expect(judged(0.01)).toBeUndefined();
  });

  test('a frozen weight is the same however it was summed', () => {
    const trained = parameter('out/kernel', probes, {
      updateRatio: () => 0.01,
      valueNorm: () => 2,
    });
    const weight = (drift: number) =>
      parameter(
        'hidden/kernel',
        probes,
        {
          elementCount: () => 256,
          valueNorm: (i) => 4 * (1 + drift * i),
          valueMean: (i) => 0.01 * (1 + drift * i),
          valueStd: (i) => 0.25 * (1 + drift * i),
        },
        { isFrozen: true },
      );
    const bias = parameter(
      'hidden/bias',
      probes,
      { valueNorm: () => 0, valueMean: () => 0, valueStd: () => 0, elementCount: () => 16 },
      { isFrozen: true, parameterRole: 'bias' },
    );
    const judged = (drift: number) =>
      findAlert('unchanged_parameters', {
        metrics: [falling],
        parameters: [weight(drift), bias, trained],
      });
    expect(judged(1e-9)?.title).toBe('hidden is frozen, and was never trained');
    expect(judged(1e-4)).toBeUndefined();
  });

  test('no rate is blamed for updates of nothing', () => {
    const flat = metric('train/loss', 240, () => 1);
    const kernel = parameter('a/kernel', probes, { updateRatio: () => 0, valueNorm: () => 1 });
    const alert = findAlert('update_ratio_low', { metrics: [flat], parameters: [kernel] });
    expect(alert?.inference).toContain('no gradient reaches these weights');
    expect(alert?.inference).not.toContain('learning rate');
  });
});

describe('static_model_lint', () => {
  const dense = (units: number, activation = 'linear') => ({
    className: 'Dense',
    config: { units, activation, name: `dense_${units}` },
  });
  const lint = (model: object) => findAlert('static_model_lint', {}, { model });

  test.each([
    [
      'sigmoidCrossEntropy',
      'sigmoid',
      3,
      'error',
      'takes the sigmoid of outputs that went through a sigmoid',
    ],
    [
      'softmaxCrossEntropy',
      'softmax',
      3,
      'error',
      'takes the softmax of outputs that went through a softmax',
    ],
    ['binaryCrossentropy', 'softmax', 3, 'warning', 'judges each output of dense_3 by itself'],
  ])('%s behind a %s', (loss, activation, units, severity, text) => {
    const found = lint({ loss, layers: [dense(8, 'relu'), dense(units, activation)] });
    expect(found).toMatchObject({ severity, fact: expect.stringContaining(text) });
    expect(lint({ loss, layers: [dense(8, 'relu'), dense(2)] })?.fact ?? '').not.toContain(text);
  });

  test('two outputs are one probability and its rest', () => {
    const model = { loss: 'binaryCrossentropy', layers: [dense(8, 'relu'), dense(2, 'softmax')] };
    expect(lint(model)).toBeUndefined();
  });

  test('a layer that only applies a linear activation makes nothing nonlinear', () => {
    const activation = (name: string) => ({
      className: 'Activation',
      config: { activation: name, name: 'act' },
    });
    const model = (name: string) => ({ layers: [dense(16), activation(name), dense(8, 'relu')] });
    expect(lint(model('linear'))?.fact).toContain('dense_16 has no activation');
    expect(lint(model('relu'))).toBeUndefined();
  });

  test('a narrow linear layer between wide ones is a bottleneck', () => {
    const model = { layers: [dense(64, 'relu'), dense(8), dense(32, 'relu')] };
    expect(lint(model)).toMatchObject({
      severity: 'info',
      inference: expect.stringContaining('bottleneck'),
    });
  });
});
