/** The rules on data, validation, the machine and the model: each on its fault and on what only looks like it. */
import { describe, expect, test } from 'vitest';
import {
  analyzeColumns,
  createRunColumns,
  evidenceOf,
  type AnalyzerEngineConfig,
  type BatchColumns,
  type RuleId,
  type RunColumnsParts,
  type TelemetryNumber,
} from 'quark-sdk/analysis';
import {
  fallingLoss,
  layer,
  metric,
  normal,
  parameter,
  random,
} from '../../../support/analysis-runs.ts';

const NOW = Date.UTC(2026, 0, 2);

function alertsOf(parts: RunColumnsParts, config: AnalyzerEngineConfig = {}, nowMs = NOW) {
  return analyzeColumns(createRunColumns(parts), config, { nowMs }).alerts;
}

function find(ruleId: RuleId, parts: RunColumnsParts, config: AnalyzerEngineConfig = {}) {
  return alertsOf(parts, config).find((alert) => alert.ruleId === ruleId);
}

const probes = Array.from({ length: 12 }, (_, i) => i * 20);
const falling = metric('train/loss', 240, fallingLoss(240));

function telemetry(
  count: number,
  numbers: Partial<Record<TelemetryNumber, (i: number) => number>>,
) {
  const empty = createRunColumns({}).telemetry;
  const column = (valueAt: (i: number) => number) =>
    Float64Array.from({ length: count }, (_, i) => valueAt(i));
  const none = Object.fromEntries(
    Object.keys(empty).map((name) => [name, column(() => Number.NaN)]),
  );
  const given = Object.fromEntries(
    Object.entries(numbers).map(([name, valueAt]) => [name, column(valueAt)]),
  );
  return {
    ...empty,
    ...none,
    rowCount: count,
    steps: column((i) => i),
    timesMs: column((i) => NOW + i),
    ...given,
  };
}

describe('class_imbalance', () => {
  /** Batches of 16, one in ten with one sample of a rare class whose loss is `rareLoss`. */
  function batches(rareLoss: number, rarity = 10): BatchColumns {
    const gauss = normal(1);
    const count = 200;
    const rows = Array.from({ length: count }, (_, i) => (i % rarity === 0 ? 1 : 0));
    return {
      ...createRunColumns({}).batches,
      rowCount: count,
      steps: Float64Array.from(rows, (_, i) => i),
      losses: Float64Array.from(
        rows,
        (rare) => (rare * rareLoss + (16 - rare) * 0.1) / 16 + 0.005 * gauss(),
      ),
      batchSizes: new Float64Array(count).fill(16),
      classNames: ['common', 'rare'],
      classOffsets: Int32Array.from({ length: count + 1 }, (_, i) => 2 * i),
      classIndex: Int32Array.from({ length: 2 * count }, (_, i) => i % 2),
      classCounts: Float64Array.from({ length: 2 * count }, (_, i) => {
        const rare = rows[i >> 1] ?? 0;
        return i % 2 === 0 ? 16 - rare : rare;
      }),
    };
  }

  test('is a warning where the rare class is not learned, and a remark elsewhere', () => {
    const lost = find('class_imbalance', { batches: batches(3) });
    expect(lost).toMatchObject({ severity: 'warning', title: 'Class rare is rare', stepEnd: 199 });
    expect(lost?.fact).toContain('times the loss of the others');
    expect(find('class_imbalance', { batches: batches(0.1) })?.severity).toBe('info');
    expect(
      find(
        'class_imbalance',
        { batches: batches(3) },
        { thresholds: { classImbalanceRatio: 1000 } },
      ),
    ).toBeUndefined();
  });
});

describe('input_not_normalised', () => {
  const input = (mean: number, std: number) =>
    layer(
      'x',
      'activation',
      probes,
      { mean: () => mean, std: () => std },
      { moduleType: 'InputLayer' },
    );

  test('knows raw pixels, and normalisation done twice', () => {
    expect(find('input_not_normalised', { layers: [input(33, 78)] })?.severity).toBe('warning');
    expect(find('input_not_normalised', { layers: [input(0.0005, 0.001)] })?.severity).toBe(
      'warning',
    );
    expect(alertsOf({ layers: [input(0.13, 0.31)] })).toEqual([]);
    expect(alertsOf({ layers: [input(0, 1)] })).toEqual([]);
    const embedding = layer(
      'e',
      'activation',
      probes,
      { mean: () => 0, std: () => 1 },
      { moduleType: 'Embedding' },
    );
    expect(alertsOf({ layers: [input(5000, 3000), embedding] })).toEqual([]);
  });

  test('is estimated from what the first layer makes of the inputs', () => {
    const from = (size: number, moduleType = 'Dense') => ({
      layers: [
        layer(
          'h',
          'activation',
          probes,
          { norm: () => size * 10, elementCount: () => 100, std: () => size },
          { moduleType },
        ),
      ],
      parameters: [
        parameter('h/kernel', probes, {
          valueNorm: () => 2,
          valueStd: () => 0.5,
          elementCount: () => 16,
        }),
        parameter(
          'h/bias',
          probes,
          { valueNorm: () => 0, elementCount: () => 4 },
          { parameterRole: 'bias' },
        ),
      ],
    });
    // The rows of the kernel have norm 1 for each of the four units: outputs are as large as inputs.
    expect(find('input_not_normalised', from(80))?.fact).toContain('standard deviation 80');
    expect(find('input_not_normalised', from(0.004))?.title).toBe('Inputs are very small');
    expect(find('input_not_normalised', from(1))).toBeUndefined();
    expect(find('input_not_normalised', from(80, 'LSTM'))).toBeUndefined();
    expect(find('input_not_normalised', from(80, 'Flatten'))).toBeUndefined();
  });

  test('reads metrics and the metadata of batches', () => {
    const metrics = [metric('input/mean', 5, () => 120), metric('input/std', 5, () => 60)];
    expect(find('input_not_normalised', { metrics })?.fact).toContain('mean 120');
    const batches = {
      ...createRunColumns({}).batches,
      rowCount: 1,
      steps: Float64Array.of(3),
      metadata: ['{"input_mean":120,"input_std":60}'],
    };
    expect(find('input_not_normalised', { batches })?.stepStart).toBe(3);
  });
});

describe('suspicious_validation', () => {
  test('knows training loss in disguise', () => {
    const same = metric('val/loss', 24, (i) => falling.values[i * 10] ?? 0, 10);
    expect(find('suspicious_validation', { metrics: [falling, same] })).toMatchObject({
      severity: 'warning',
      stepStart: 0,
      stepEnd: 230,
    });
  });

  test('knows a validation of another model', () => {
    const stuck = metric('val/loss', 24, () => 2.31, 10);
    expect(find('suspicious_validation', { metrics: [falling, stuck] })?.fact).toContain(
      'exactly 2.31',
    );
    const still = metric('train/loss', 240, () => 1);
    expect(find('suspicious_validation', { metrics: [still, stuck] })).toBeUndefined();
  });

  test('knows leaked samples, and lets dropout be', () => {
    const train = metric('train/accuracy', 240, (i) => 0.3 + i / 500);
    const leaked = metric('val/accuracy', 24, () => 0.98, 10);
    expect(find('suspicious_validation', { metrics: [train, leaked] })?.severity).toBe('warning');
    const ahead = metric('val/accuracy', 24, (i) => 0.4 + i / 50, 10);
    expect(find('suspicious_validation', { metrics: [train, ahead] })).toBeUndefined();
  });
});

test('train_eval_mismatch compares losses of the same batches, and layers', () => {
  const evaluated = metric('train_eval/loss', 24, (i) => 3 * (falling.values[i * 10] ?? 0), 10);
  expect(find('train_eval_mismatch', { metrics: [falling, evaluated] })?.severity).toBe('error');
  const validation = metric('val/loss', 24, () => 2.5, 10);
  const norm = (isEvaluation: boolean, size: number) =>
    layer(
      'bn',
      'activation',
      probes,
      { norm: () => size * 10, elementCount: () => 100, std: () => size },
      { isEvaluation },
    );
  const parts = (size: number) => ({
    metrics: [falling, validation],
    layers: [norm(false, 1), norm(true, size)],
  });
  expect(find('train_eval_mismatch', parts(8))?.fact).toContain('bn are 8 times as large');
  expect(find('train_eval_mismatch', parts(1.4))).toBeUndefined();
});

describe('overfitting_onset', () => {
  test('knows validation that never improves while training does', () => {
    const stuck = metric(
      'val/loss',
      24,
      (
        (gauss) => () =>
          2.4 + 0.01 * gauss()
      )(normal(2)),
      10,
    );
    expect(find('overfitting_onset', { metrics: [falling, stuck] })?.fact).toContain(
      'did not get better',
    );
  });

  test('measures the gap from where it was, once validation has overtaken a harder training', () => {
    const slow = metric('train/loss', 40, (i) => 1.2 - 0.01 * i);
    const held = (rise: number): ReturnType<typeof metric> =>
      metric('val/loss', 40, (i) => (i < 10 ? 0.8 - 0.04 * i : 0.44 + rise * (i - 10)));
    const alert = find('overfitting_onset', { metrics: [slow, held(0.014)] });
    expect(alert).toMatchObject({ severity: 'critical', stepStart: 10 });
    expect(evidenceOf(alert ?? { evidence: [] })[0]?.summary).toMatch(
      /^Parted from train\/loss by/u,
    );
    // It still lies below: worth knowing, and no more.
    expect(find('overfitting_onset', { metrics: [slow, held(0.008)] })?.severity).toBe('info');
  });

  test('knows samples learned by heart, and lets early learners and steady accuracies be', () => {
    const train = metric('train/loss', 240, (i) => 2 * Math.exp(-i / 12));
    const stopped = metric('val/loss', 24, (i) => 1 + Math.exp(-i / 2), 10);
    expect(find('overfitting_onset', { metrics: [train, stopped] })?.severity).toBe('critical');
    const early = metric('val/loss', 24, (i) => 0.2 + 0.001 * (i % 2), 10);
    expect(find('overfitting_onset', { metrics: [falling, early] })).toBeUndefined();
    const rising = metric('val/loss', 24, (i) => (i < 6 ? 1 - i / 10 : 0.5 + (i - 6) * 0.006), 10);
    const steady = metric('val/accuracy', 24, (i) => Math.min(0.9, 0.3 + i / 8), 10);
    expect(find('overfitting_onset', { metrics: [train, rising] })?.severity).not.toBe('info');
    expect(find('overfitting_onset', { metrics: [train, rising, steady] })?.severity).toBe('info');
  });

  test('is not a gap that stays, a noisy validation, or a rise that passes', () => {
    const gap = metric('val/loss', 24, (i) => 0.6 + 2 * Math.exp(-i / 4), 10);
    const gauss = normal(3);
    const noisy = metric('val/loss', 24, (i) => 0.6 + 2 * Math.exp(-i / 4) + 0.15 * gauss(), 10);
    const passing = metric(
      'val/loss',
      24,
      (i) => 0.6 + 2 * Math.exp(-i / 4) + (i > 9 && i < 14 ? 0.5 : 0),
      10,
    );
    for (const validation of [gap, noisy, passing])
      expect(find('overfitting_onset', { metrics: [falling, validation] })).toBeUndefined();
  });
});

describe('the machine', () => {
  test('runtime_bottleneck_risk lets long and even steps be', () => {
    const next = random(1);
    // Other work of the system, beside steps of few milliseconds.
    expect(
      alertsOf({
        metrics: [metric('system/runtime/step_time_ms', 300, () => 2 + 20 * next() ** 4)],
      }),
    ).toEqual([]);
    const times = (valueAt: (i: number) => number) => ({
      metrics: [metric('system/runtime/step_time_ms', 100, valueAt)],
    });
    expect(alertsOf(times((i) => 900 + (i % 5)))).toEqual([]);
    expect(
      find(
        'runtime_bottleneck_risk',
        times((i) => 900 + 12 * i + next()),
      )?.fact,
    ).toContain('steps get slower');
    expect(
      find(
        'runtime_bottleneck_risk',
        times(() => 400 * (0.2 + 3 * next() ** 3)),
      ),
    ).toMatchObject({ category: 'runtime' });
    // Other work on the machine: steps of a second and more, as uneven as can be, and nothing else that speaks for a fault.
    const loaded = times(() => 2000 * (0.2 + 3 * next() ** 3));
    expect(find('runtime_bottleneck_risk', loaded)).toMatchObject({ severity: 'warning' });
    expect(find('runtime_bottleneck_risk', loaded, { compatibility: 'reference' })?.severity).toBe(
      'critical',
    );
    expect(
      find(
        'runtime_bottleneck_risk',
        times(() => 90_000),
      )?.severity,
    ).toBe('critical');
  });

  test('data_loading_bottleneck names the stretch', () => {
    const parts = {
      metrics: [
        metric('system/runtime/step_time_ms', 100, () => 100),
        metric('system/runtime/data_time_ms', 100, (i) => (i < 50 ? 5 : 70)),
      ],
    };
    const alert = find('data_loading_bottleneck', parts);
    expect(alert?.severity).toBe('error');
    expect(alert?.stepStart).toBeGreaterThanOrEqual(50);
    expect(alert?.stepStart).toBeLessThan(55);
    const table = telemetry(40, { stepTimeMs: () => 100, dataTimeMs: () => 80 });
    expect(find('data_loading_bottleneck', { telemetry: table })?.severity).toBe('critical');
    const fine = telemetry(40, {
      stepTimeMs: () => 100,
      dataTimeMs: (i) => (i % 10 === 0 ? 90 : 5),
    });
    expect(alertsOf({ telemetry: fine })).toEqual([]);
  });

  test('step_time_outlier counts what outliers cost', () => {
    const next = random(2);
    const parts = (cost: number) => ({
      metrics: [
        metric('system/runtime/step_time_ms', 300, (i) => (i % 20 === 19 ? cost : 10 + next())),
      ],
    });
    expect(find('step_time_outlier', parts(300))?.severity).toBe('warning');
    expect(find('step_time_outlier', parts(80))?.severity).toBe('info');
    expect(find('step_time_outlier', parts(15))).toBeUndefined();
  });

  test('memory_growth is a leak, not a cache that fills or a saw of the collector', () => {
    expect(
      find('memory_growth', { telemetry: telemetry(60, { tensorCount: (i) => 100 + 2 * i }) }),
    ).toMatchObject({ severity: 'warning', stepEnd: 59 });
    expect(
      alertsOf({ telemetry: telemetry(60, { tensorCount: (i) => (i < 5 ? 20 * i : 100) }) }),
    ).toEqual([]);
    expect(
      alertsOf({ telemetry: telemetry(60, { heapUsedBytes: (i) => 1e8 + (i % 7) * 1e7 }) }),
    ).toEqual([]);
    expect(
      find('memory_growth', {
        telemetry: telemetry(60, { heapUsedBytes: (i) => 1e8 + (i % 7) * 1e7 + i * 5e6 }),
      })?.title,
    ).toContain('heap');
    // A short run in a young process: the collector has not looked at all of the heap once.
    expect(
      alertsOf({ telemetry: telemetry(60, { heapUsedBytes: (i) => 3.6e7 + i * 8e5 }) }),
    ).toEqual([]);
    expect(
      alertsOf({
        telemetry: telemetry(60, { processRssBytes: (i) => 1e8 * (1 - Math.exp(-i / 8)) + 1e8 }),
      }),
    ).toEqual([]);
  });

  test('stalled_run knows a silent run and a series that stops', () => {
    const recent = (status: 'running' | 'completed', agoMs: number) => {
      const last = NOW - agoMs;
      const loss = { ...falling, timesMs: falling.steps.map((step) => last - (239 - step) * 1000) };
      return { metrics: [loss], run: { status, isLive: agoMs < 600_000 } };
    };
    expect(find('stalled_run', recent('running', 3_600_000))).toMatchObject({
      severity: 'error',
      stepStart: 239,
    });
    expect(alertsOf(recent('running', 60_000))).toEqual([]);
    expect(alertsOf(recent('completed', 3_600_000))).toEqual([]);
    const validation = metric('val/loss', 10, (i) => 2 * 0.9 ** i, 10);
    expect(find('stalled_run', { metrics: [falling, validation] })).toMatchObject({
      severity: 'info',
      stepStart: 90,
    });
    const sparse = metric('val/loss', 3, (i) => 2 * 0.9 ** i, 80);
    expect(alertsOf({ metrics: [falling, sparse] })).toEqual([]);
  });
});

describe('static_model_lint', () => {
  const dense = (units: number, activation = 'linear', more = {}) => ({
    className: 'Dense',
    config: { name: `dense_${units}`, units, activation, ...more },
  });
  const lint = (model: unknown) => find('static_model_lint', {}, { model });

  test.each<[string, unknown, string, string]>([
    [
      'softmax of one unit',
      { layers: [dense(8, 'relu'), dense(1, 'softmax')], loss: 'binaryCrossentropy' },
      'error',
      'softmax of one unit',
    ],
    [
      'a missing softmax',
      { layers: [dense(8, 'relu'), dense(10)], loss: 'categoricalCrossentropy' },
      'error',
      'expects probabilities',
    ],
    [
      'one unit for classes',
      { layers: [dense(8, 'relu'), dense(1, 'sigmoid')], loss: 'sparseCategoricalCrossentropy' },
      'error',
      'one unit',
    ],
    [
      'a missing sigmoid',
      { layers: [dense(8, 'relu'), dense(1)], loss: 'binary_crossentropy' },
      'error',
      'expects probabilities',
    ],
    [
      'a double softmax',
      {
        layers: [
          dense(8, 'relu'),
          dense(10, 'softmax'),
          { className: 'Softmax', config: { name: 's' } },
        ],
      },
      'error',
      's takes the softmax of what went through one in',
    ],
    [
      'a softmax in the middle',
      { layers: [dense(8, 'softmax'), dense(10, 'softmax')] },
      'warning',
      'in the middle',
    ],
    [
      'linear hidden layers',
      { layers: [dense(8), dense(4), dense(10, 'softmax')] },
      'warning',
      'no activation',
    ],
    [
      'constant weights',
      {
        layers: [
          dense(8, 'relu', { kernelInitializer: { className: 'Zeros', config: {} } }),
          dense(10, 'softmax'),
        ],
      },
      'error',
      'all alike',
    ],
    [
      'squared error for classes',
      { layers: [dense(8, 'relu'), dense(10, 'softmax')], loss: 'meanSquaredError' },
      'warning',
      'softmax outputs',
    ],
    [
      'too much dropout',
      {
        layers: [
          dense(8, 'relu'),
          { className: 'Dropout', config: { name: 'd', rate: 0.8 } },
          dense(10, 'softmax'),
        ],
      },
      'info',
      'd drops 0.8',
    ],
    [
      'too high a rate',
      {
        layers: [dense(8, 'relu'), dense(10, 'softmax')],
        optimizer: { className: 'Adam', config: { learningRate: 0.3 } },
      },
      'warning',
      'learning rate of adam',
    ],
  ])('%s', (_what, model, severity, words) => {
    const alert = lint(model);
    expect(alert?.severity).toBe(severity);
    expect(alert?.fact).toContain(words);
    const [evidence] = evidenceOf(alert ?? { evidence: [] });
    const isLayer = evidence?.source !== 'the optimizer';
    expect(Object(evidence?.metadata)['module_name']).toBe(isLayer ? evidence?.source : undefined);
  });

  test.each<[string, unknown]>([
    [
      'a classifier',
      {
        layers: [dense(8, 'relu'), dense(10, 'softmax')],
        loss: 'categoricalCrossentropy',
        optimizer: { className: 'Adam', config: { learningRate: 0.001 } },
      },
    ],
    ['a regression', { layers: [dense(8, 'relu'), dense(1)], loss: 'meanSquaredError' }],
    [
      'activations as layers',
      {
        layers: [
          dense(8),
          { className: 'BatchNormalization', config: { name: 'b' } },
          { className: 'ReLU', config: { name: 'r' } },
          dense(10),
          { className: 'Activation', config: { name: 'a', activation: 'softmax' } },
        ],
        loss: 'categoricalCrossentropy',
      },
    ],
    ['no model', { layers: [64, 32] }],
    ['nothing', undefined],
    ['nonsense', { config: { layers: [{}, null, 'x'] } }],
  ])('says nothing of %s', (_what, model) => {
    // What batch normalisation makes of biases is a remark, not a fault.
    expect([undefined, 'info']).toContain(lint(model)?.severity);
  });

  test('reads what tfjs writes, and the configuration of the run', () => {
    const topology = {
      modelTopology: {
        class_name: 'Model',
        config: {
          name: 'm',
          layers: [
            { class_name: 'InputLayer', name: 'in', inbound_nodes: [], config: { name: 'in' } },
            {
              class_name: 'Dense',
              name: 'one',
              inbound_nodes: [[['in', 0, 0, {}]]],
              config: { name: 'one', units: 8, activation: 'linear' },
            },
            {
              class_name: 'Dense',
              name: 'two',
              inbound_nodes: [[['one', 0, 0, {}]]],
              config: { name: 'two', units: 3, activation: 'softmax' },
            },
          ],
        },
      },
    };
    expect(lint(topology)?.fact).toContain('one has no activation');
    expect(find('static_model_lint', { run: { config: { model: topology } } })?.fact).toContain(
      'one has no activation',
    );
  });
});
