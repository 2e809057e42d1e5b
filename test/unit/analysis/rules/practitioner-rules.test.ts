/** Rules that look at what a careful practitioner looks at: inputs, targets, modes, penalties, first updates. */
import { describe, expect, test } from 'vitest';
import { createRunColumns, type BatchColumns } from 'quark-sdk/analysis';
import {
  fallingLoss,
  findAlert,
  layer,
  metric,
  normal,
  parameter,
} from '../../../support/analysis-runs.ts';

const probes = Array.from({ length: 24 }, (_, i) => i * 10);
const falling = metric('train/loss', 240, fallingLoss(240));

/** Batches of 16 with what else is said of them. */
function batches(count: number, more: Partial<BatchColumns>): BatchColumns {
  return {
    ...createRunColumns({}).batches,
    rowCount: count,
    steps: Float64Array.from({ length: count }, (_, i) => i),
    losses: new Float64Array(count).fill(1),
    batchSizes: new Float64Array(count).fill(16),
    metadata: Array.from({ length: count }, () => null),
    classOffsets: new Int32Array(count + 1),
    ...more,
  };
}

describe('input_not_normalised', () => {
  const input = (mean: (i: number) => number, std: number) =>
    layer('x', 'activation', probes, { mean, std: () => std }, { moduleType: 'InputLayer' });

  test('knows inputs that are one number everywhere, and neither single numbers nor masks', () => {
    const same = input(() => 0.7, 1e-9);
    expect(findAlert('input_not_normalised', { layers: [same] })).toMatchObject({
      severity: 'error',
      fact: 'All values of the inputs (x) are 0.7.',
    });
    expect(findAlert('input_not_normalised', { layers: [input(() => 0, 0)] })?.severity).toBe(
      'error',
    );
    // A batch of one number has no deviation; the next batch has another number.
    const single = input((i) => Math.sin(i + 1), 0);
    expect(findAlert('input_not_normalised', { layers: [single] })).toBeUndefined();
    const image = input(() => 0, 1);
    expect(findAlert('input_not_normalised', { layers: [image, same] })).toBeUndefined();
  });

  test('what the model is given is no layer of it', () => {
    const dead = layer(
      'x',
      'activation',
      probes,
      {
        mean: () => 0.001,
        std: () => 0.03,
        deadUnitRatio: () => 0.999,
        persistentDeadUnitCount: () => 700,
        unitCount: () => 784,
      },
      { moduleType: 'InputLayer' },
    );
    const hidden = layer('h', 'activation', probes, { std: () => 1, mean: () => 0 });
    const output = layer('o', 'activation', probes, { std: () => 1, mean: () => 0 });
    const parts = { metrics: [falling], layers: [dead, hidden, output] };
    expect(findAlert('dying_relu', parts)).toBeUndefined();
    expect(findAlert('activation_collapse', parts)).toBeUndefined();
    const asLayer = { ...dead, moduleType: 'Dense' };
    expect(findAlert('dying_relu', { ...parts, layers: [asLayer, hidden, output] })).toBeDefined();
  });

  test('a layer that only passes on has no dead units of its own, and half of the units is not more than half', () => {
    const reading = (persistentDead: number, zeros: number) => ({
      mean: () => 0.4,
      std: () => 1,
      deadUnitRatio: () => zeros,
      persistentDeadUnitCount: () => persistentDead,
      unitCount: () => 24,
    });
    const hidden = (dead: number) =>
      layer('hidden', 'activation', probes, reading(dead, 0.73), { moduleType: 'Dense' });
    const dropout = layer('dropout', 'activation', probes, reading(13, 0.87), {
      moduleType: 'Dropout',
    });
    const output = layer('o', 'activation', probes, { std: () => 1, mean: () => 0 });
    const healthy = { metrics: [falling], layers: [hidden(12), dropout, output] };
    expect(findAlert('dying_relu', healthy)).toBeUndefined();
    expect(findAlert('activation_collapse', healthy)).toBeUndefined();
    // The zeros of a layer like any other would be its own, where the loss does not do well without these units.
    const dense = { ...dropout, moduleName: 'dense', moduleType: 'Dense' };
    const slow = metric('train/loss', 240, fallingLoss(240, { floor: 1.6 }));
    const parts = { metrics: [slow], layers: [hidden(13), dense, dropout, output] };
    expect(findAlert('activation_collapse', parts)?.fact).toMatch(
      /^In dense: 87 % of the outputs are zero from step \d+ to \d+\.$/,
    );
    expect(findAlert('dying_relu', parts)?.fact).toMatch(
      /of hidden .* and one other layer as well\.$/,
    );
  });
});

describe('train_eval_mismatch', () => {
  const values = (moduleName: string, moduleType: string, scale = 1) =>
    layer(
      moduleName,
      'activation',
      probes,
      {
        norm: (i) => scale * (8 + Math.sin(i)),
        mean: (i) => scale * Math.cos(i),
        std: () => scale,
        elementCount: () => 64,
      },
      { moduleType },
    );
  const model = (...rates: number[]) => [
    { class_name: 'Dense', config: { name: 'hidden', units: 4, activation: 'relu' } },
    ...rates.map((rate, i) => ({ class_name: 'Dropout', config: { name: `drop_${i}`, rate } })),
    { class_name: 'Dense', config: { name: 'output', units: 1 } },
  ];
  const hidden = values('hidden', 'Dense');
  const idle = values('drop_0', 'Dropout');

  test('knows dropout that drops nothing in training', () => {
    const parts = { metrics: [falling], layers: [hidden, idle] };
    expect(findAlert('train_eval_mismatch', parts, { model: model(0.5) })).toMatchObject({
      severity: 'error',
      title: 'Dropout is off in training',
      stepEnd: 230,
    });
  });

  test('lets dropout be that works, that is meant to be off, or whose rate is not known', () => {
    const parts = { metrics: [falling], layers: [hidden, idle] };
    expect(findAlert('train_eval_mismatch', parts, { model: model(0) })).toBeUndefined();
    expect(findAlert('train_eval_mismatch', parts)).toBeUndefined();
    const working = { ...parts, layers: [hidden, values('drop_0', 'Dropout', 1.4)] };
    expect(findAlert('train_eval_mismatch', working, { model: model(0.5) })).toBeUndefined();
    // A part that was trained before is run in evaluation mode; the new part is not.
    const fine = { ...parts, layers: [hidden, idle, values('drop_1', 'Dropout', 1.4)] };
    expect(findAlert('train_eval_mismatch', fine, { model: model(0.5, 0.5) })).toBeUndefined();
    // Nothing but zeros says nothing.
    const zeros = {
      ...parts,
      layers: [values('hidden', 'Dense', 0), values('drop_0', 'Dropout', 0)],
    };
    expect(findAlert('train_eval_mismatch', zeros, { model: model(0.5) })).toBeUndefined();
  });
});

describe('static_model_lint', () => {
  const targets = (min: number, max: number) =>
    batches(20, {
      metadata: Array.from({ length: 20 }, () =>
        JSON.stringify({ target_min: min, target_max: max }),
      ),
    });
  const model = (activation: string) => ({
    layers: [
      { class_name: 'Dense', config: { name: 'hidden', units: 4, activation: 'relu' } },
      { class_name: 'Dense', config: { name: 'output', units: 1, activation } },
    ],
    loss: 'meanSquaredError',
  });

  test('knows outputs that cannot reach the targets', () => {
    const lint = (activation: string, min: number, max: number) =>
      findAlert('static_model_lint', { batches: targets(min, max) }, { model: model(activation) });
    expect(lint('sigmoid', -2, 3)).toMatchObject({
      severity: 'error',
      fact: 'output has a sigmoid, which cannot reach targets from -2 to 3.',
    });
    expect(lint('tanh', 0, 40)?.fact).toContain('cannot reach');
    expect(lint('relu', -1, 1)?.fact).toContain('cannot reach');
    expect(lint('sigmoid', 0, 1)).toBeUndefined();
    expect(lint('tanh', -1.02, 1.01)).toBeUndefined();
    expect(lint('relu', 0, 1e6)).toBeUndefined();
    expect(lint('linear', -5, 5)).toBeUndefined();
    expect(
      findAlert('static_model_lint', { batches: batches(20, {}) }, { model: model('sigmoid') }),
    ).toBeUndefined();
  });
});

describe('class_imbalance', () => {
  test('takes rare classes together, where each alone is too rare to tell', () => {
    const gauss = normal(3);
    // Three rare classes; each is in three of the batches of the second half.
    const rareOf = (i: number) => (i % 11 === 0 ? 1 + ((i / 11) % 3) : 0);
    const build = (rareLoss: number) =>
      batches(200, {
        losses: Float64Array.from(
          { length: 200 },
          (_, i) => (rareOf(i) > 0 ? (rareLoss + 15 * 0.1) / 16 : 0.1) + 0.005 * gauss(),
        ),
        classNames: ['a', 'b', 'c', 'd'],
        classOffsets: Int32Array.from({ length: 201 }, (_, i) => 4 * i),
        classIndex: Int32Array.from({ length: 800 }, (_, i) => i % 4),
        classCounts: Float64Array.from({ length: 800 }, (_, i) => {
          const rare = rareOf(i >> 2);
          if (i % 4 === 0) return rare > 0 ? 15 : 16;
          return i % 4 === rare ? 1 : 0;
        }),
      });
    expect(findAlert('class_imbalance', { batches: build(3) })?.severity).toBe('warning');
    expect(findAlert('class_imbalance', { batches: build(0.1) })?.severity).toBe('info');
  });

  test('a validation of other shares, or beside a single batch, is worse than chance with the right labels', () => {
    const gauss = normal(7);
    const train = metric('train/loss', 120, (i) => 0.02 + 1.4 * Math.exp(-i / 8));
    const validation = metric('val/loss', 120, (i) => 1.5 + i / 60 + 0.01 * gauss());
    const model = {
      layers: [{ class_name: 'Dense', config: { name: 'o', units: 4, activation: 'softmax' } }],
      loss: 'categoricalCrossentropy',
    };
    // Every other batch has one of the first class instead of one of the second.
    const swap = [1, -1, 0, 0];
    const saidOf = (counts: readonly number[], isRepeated = false) =>
      findAlert(
        'unrelated_labels',
        {
          metrics: [train, validation],
          batches: batches(120, {
            classNames: ['a', 'b', 'c', 'd'],
            classOffsets: Int32Array.from({ length: 121 }, (_, i) => 4 * i),
            classIndex: Int32Array.from({ length: 480 }, (_, i) => i % 4),
            classCounts: Float64Array.from({ length: 480 }, (_, i) => {
              const swapped = isRepeated || i % 8 < 4 ? 0 : (swap[i % 4] ?? 0);
              return (counts[i % 4] ?? 0) + swapped;
            }),
          }),
        },
        { model },
      );
    expect(saidOf([4, 4, 4, 4])?.severity).toBe('error');
    expect(saidOf([7, 3, 3, 3])?.severity).toBe('error');
    expect(saidOf([61, 1, 1, 1])).toBeUndefined();
    // The same sixteen samples in every batch are learned by heart with the right labels.
    expect(saidOf([4, 4, 4, 4], true)).toBeUndefined();
  });
});

describe('loss_not_decreasing', () => {
  // The penalty on the weights falls, and then nothing more happens.
  const gauss = normal(5);
  const penalised = metric(
    'train/loss',
    240,
    (i) => 1.386 + 8 * Math.exp(-i / 12) + 0.004 * gauss(),
  );
  const labels = batches(240, {
    classNames: ['a', 'b', 'c', 'd'],
    classOffsets: Int32Array.from({ length: 241 }, (_, i) => 4 * i),
    classIndex: Int32Array.from({ length: 960 }, (_, i) => i % 4),
    classCounts: new Float64Array(960).fill(4),
  });
  const accuracy = (level: number) =>
    metric('train/accuracy', 240, () => Math.min(1, level + 0.05 * gauss()));

  test('knows an accuracy that always naming one class gives, however far the loss fell', () => {
    const parts = { metrics: [penalised, accuracy(0.25)], batches: labels };
    expect(findAlert('loss_not_decreasing', parts)?.severity).toBe('error');
    // Better than that, or the labels are not known: a loss that fell this far has been learned.
    const better = { metrics: [penalised, accuracy(0.6)], batches: labels };
    expect(findAlert('loss_not_decreasing', better)).toBeUndefined();
    expect(
      findAlert('loss_not_decreasing', { metrics: [penalised, accuracy(0.25)] }),
    ).toBeUndefined();
    // It still falls.
    const going = metric('train/loss', 240, (i) => 1.386 + 8 * Math.exp(-i / 90));
    expect(
      findAlert('loss_not_decreasing', { metrics: [going, accuracy(0.25)], batches: labels }),
    ).toBeUndefined();
  });
});

describe('regularisation_overwhelms', () => {
  const gauss = normal(7);
  const flat = metric('train/loss', 240, (i) => 1.386 + 8 * Math.exp(-i / 12) + 0.004 * gauss());
  const weights = (end: number) =>
    ['one', 'two'].map((name) =>
      parameter(`${name}/kernel`, probes, {
        valueNorm: (i) => 5 * Math.max(end, Math.exp(-i / 3)),
        valueStd: () => 0.1,
        elementCount: () => 64,
      }),
    );

  test('knows weights that shrink away while nothing is learned', () => {
    const alert = findAlert('regularisation_overwhelms', {
      metrics: [flat],
      parameters: weights(0.05),
    });
    expect(alert).toMatchObject({ severity: 'error', stepEnd: 230 });
    expect(alert?.fact).toContain('5 % of what it was');
  });

  test('lets weights be that stay, that a normalisation follows, or with which the model learns', () => {
    const shrunk = { metrics: [flat], parameters: weights(0.05) };
    expect(
      findAlert('regularisation_overwhelms', { ...shrunk, parameters: weights(0.6) }),
    ).toBeUndefined();
    const norm = layer('n', 'activation', probes, {}, { moduleType: 'BatchNormalization' });
    expect(findAlert('regularisation_overwhelms', { ...shrunk, layers: [norm] })).toBeUndefined();
    const going = metric('train/loss', 240, (i) => 2 - i / 200);
    expect(findAlert('regularisation_overwhelms', { ...shrunk, metrics: [going] })).toBeUndefined();
    const known = metric('train/accuracy', 240, () => 0.95);
    expect(
      findAlert('regularisation_overwhelms', { ...shrunk, metrics: [flat, known] }),
    ).toBeUndefined();
    const [first] = weights(0.05);
    const one = first === undefined ? [] : [first, ...weights(0.9).slice(1)];
    expect(findAlert('regularisation_overwhelms', { ...shrunk, parameters: one })).toBeUndefined();
  });
});

describe('update ratios', () => {
  const blown = (name: string, first = 3) =>
    parameter(`${name}/kernel`, probes, {
      valueNorm: () => 4,
      updateRatio: (i) => (i === 0 ? first : 1e-6),
    });
  // The first update throws the loss up, and most of that comes back.
  const gauss = normal(9);
  const thrown = metric('train/loss', 240, (i) =>
    i === 0 ? 1.4 : 1.35 + 12 * Math.exp(-i / 40) + 0.01 * gauss(),
  );

  test('a single blow counts where it hits all weights, and is not taken for a rate that is too low', () => {
    const parts = { metrics: [thrown], parameters: [blown('a'), blown('b')] };
    expect(findAlert('update_ratio_high', parts)).toMatchObject({ stepStart: 0 });
    const stuck = metric('train/loss', 240, (i) => 1.4 + 0.01 * Math.sin(i * i));
    const calm = { metrics: [stuck], parameters: [blown('a', 1e-6), blown('b', 1e-6)] };
    expect(findAlert('update_ratio_low', calm)).toBeDefined();
    expect(findAlert('update_ratio_low', { ...parts, metrics: [stuck] })).toBeUndefined();
    const one = { metrics: [thrown], parameters: [blown('a'), blown('b', 0.02)] };
    expect(findAlert('update_ratio_high', one)).toBeUndefined();
    // A loss that ends far below where it began was not harmed.
    expect(findAlert('update_ratio_high', { ...parts, metrics: [falling] })).toBeUndefined();
  });
});
