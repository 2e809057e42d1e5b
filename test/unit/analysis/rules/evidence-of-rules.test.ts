/** What a careful reader of a curve asks before a rule speaks: each rule on a made run that has it, and on one that only looks like it. */
import { describe, expect, test } from 'vitest';
import {
  analyzeColumns,
  createRunColumns,
  type BatchColumns,
  type RunColumnsParts,
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

const STEPS = 240;
const probes = Array.from({ length: 24 }, (_, i) => i * 10);
const falling = metric('train/loss', STEPS, fallingLoss(STEPS));

/** A loss that hardly moves: it loses `share` of 2.3 in a straight line. */
const straight = (share: number, key = 'train/loss', noise = 0.0002) => {
  const gauss = normal(3);
  return metric(key, STEPS, (i) => 2.3 * (1 - (share * i) / STEPS) + noise * gauss());
};

describe('update_ratio_low', () => {
  const weights = (ratio: number, cosine = 0.1) => [
    parameter('hidden/kernel', probes, {
      updateRatio: () => ratio,
      valueNorm: () => 4,
      gradientCosine: () => cosine,
    }),
  ];
  const said = (parts: RunColumnsParts) => findAlert('update_ratio_low', parts);

  test('adds up what the updates of the whole run can have moved', () => {
    const alert = said({ metrics: [straight(0.005)], parameters: weights(2e-4) });
    expect(alert?.severity).toBe('warning');
    expect(alert?.fact).toContain('move them by more than about 4.6 % in the whole run');
    // The same updates, in a run that learned, and in one of four times as many steps.
    expect(said({ metrics: [falling], parameters: weights(2e-4) })).toBeUndefined();
    const long = Array.from({ length: 24 }, (_, i) => i * 40);
    const slow = parameter('hidden/kernel', long, {
      updateRatio: () => 2e-4,
      valueNorm: () => 4,
    });
    const flat = metric('train/loss', 4 * STEPS, fallingLoss(STEPS, { floor: 2.3 }));
    expect(said({ metrics: [flat], parameters: [slow] })).toBeUndefined();
  });

  test('says nothing of a run of a few steps', () => {
    const few = Array.from({ length: 10 }, (_, i) => i * 2);
    const weight = parameter('hidden/kernel', few, { updateRatio: () => 5e-4, valueNorm: () => 4 });
    const loss = metric('train/loss', 20, (i) => 2.3 - 0.0001 * i);
    expect(said({ metrics: [loss], parameters: [weight] })).toBeUndefined();
  });

  test('takes no luck of a noisy reward for learning', () => {
    const gauss = normal(8);
    // The last values happen to be higher than the first, by less than the noise.
    const reward = metric('train/mean_return', 70, (i) => 20 + 5 * gauss() + (i > 60 ? 3 : 0));
    const steps = Array.from({ length: 23 }, (_, i) => i * 3);
    const weight = (ratio: number) =>
      parameter('logit/kernel', steps, { updateRatio: () => ratio, valueNorm: () => 2 });
    expect(said({ metrics: [reward], parameters: [weight(1.2e-4)] })?.severity).toBe('warning');
    expect(said({ metrics: [reward], parameters: [weight(1e-2)] })).toBeUndefined();
  });

  test('sees a straight line of a loss that has lost little, where weights begin near zero', () => {
    const val = metric('val/loss', 12, (i) => 0.76 - 0.0015 * i, 20);
    const noisy = straight(0.02, 'train/loss', 0.3);
    const parts = (ratio: number, cosine?: number) => ({
      metrics: [noisy, val],
      parameters: weights(ratio, cosine),
    });
    expect(said(parts(1.1e-3))?.fact).toContain('in a straight line to the end');
    // Updates of the usual size beside a loss most of which is a floor.
    expect(said(parts(8e-3))).toBeUndefined();
    // A fall that slows down is one that comes to its end.
    const slowing = metric('val/loss', 12, (i) => 0.74 + 0.02 * Math.exp(-i / 2), 20);
    expect(said({ metrics: [noisy, slowing], parameters: weights(1.1e-3) })).toBeUndefined();
  });
});

describe('activation_collapse', () => {
  const hidden = layer('hidden', 'activation', probes, { mean: () => 0.3, std: () => 0.5 });
  const output = (stdAt: (i: number) => number) =>
    layer('tags', 'activation', probes, {
      mean: () => 1 / 3,
      std: stdAt,
      unitCount: () => 3,
      elementCount: () => 90,
    });
  const run = (stdAt: (i: number) => number) => ({
    metrics: [straight(0.003)],
    layers: [hidden, output(stdAt)],
  });

  test('an output that is as even as at first has not collapsed, one that has become so has', () => {
    expect(
      findAlert(
        'activation_collapse',
        run(() => 0.0025),
      ),
    ).toBeUndefined();
    expect(
      findAlert(
        'activation_collapse',
        run((i) => 0.2 * 0.5 ** i),
      )?.title,
    ).toBe('The outputs of tags have collapsed');
  });
});

describe('losses of margins', () => {
  /** Triplets: most batches cost nothing, some a little. */
  function margins(scale: number) {
    const next = random(5);
    return metric('train/loss', STEPS, (i) => {
      const cost = i < 12 ? 0.15 + 0.2 * next() : next() < 0.6 ? 0 : scale * next();
      return cost;
    });
  }
  const validation = metric('val/loss', 12, (i) => 0.045 + 0.05 * Math.exp(-i / 3), 20);

  test('validation lies beside the mean of the batches, not beside a median of zero', () => {
    expect(findAlert('overfitting_onset', { metrics: [margins(0.2), validation] })).toBeUndefined();
    // A rise from next to nothing to little.
    const back = metric('val/loss', 12, (i) => 0.042 + 0.05 * Math.exp(-i / 2) + 0.001 * i, 20);
    expect(findAlert('overfitting_onset', { metrics: [margins(0.1), back] })?.severity).not.toBe(
      'critical',
    );
    const high = metric('val/loss', 12, () => 0.2, 20);
    expect(
      findAlert('overfitting_onset', { metrics: [margins(0.005), high] })?.severity,
    ).toBeDefined();
  });
});

describe('loss_spike', () => {
  const settled = (at: (i: number) => number | undefined, noise = 0.02) => {
    const gauss = normal(7);
    return metric('train/loss', 400, (i) => {
      const level = 0.7 + 0.7 * Math.exp(-i / 20);
      return at(i) ?? level * (1 + noise * gauss());
    });
  };
  const said = (at: (i: number) => number | undefined) =>
    findAlert('loss_spike', { metrics: [settled(at)] });

  test('one batch that cost what all did at the start is worth a remark, more than that a warning', () => {
    expect(said((i) => (i === 250 ? 1.3 : undefined))?.severity).toBe('info');
    expect(said((i) => (i === 250 ? 9 : undefined))?.severity).toBe('warning');
    expect(said((i) => (i >= 250 && i < 254 ? 1.3 : undefined))?.severity).toBe('warning');
  });

  test('the highest of many is the end of a tail', () => {
    const tail = new Map([
      [215, 2.2],
      [232, 2.4],
      [270, 2.1],
      [281, 2.3],
    ]);
    expect(said((i) => (i === 250 ? 9 : tail.get(i)))).toBeUndefined();
  });
});

describe('sorted_samples', () => {
  /** Ten classes of 36 samples, batches of 25: `classAt` gives the class of each of 360 samples. */
  function batches(classAt: (i: number) => number): BatchColumns {
    const sizes = Array.from({ length: 28 }, () => 25);
    const rows = sizes.map((size, row) => {
      const counts = new Map<number, number>();
      for (let i = 0; i < size; i++) {
        const name = classAt((row * 25 + i) % 360);
        counts.set(name, (counts.get(name) ?? 0) + 1);
      }
      return [...counts];
    });
    const offsets = [0];
    for (const row of rows) offsets.push((offsets.at(-1) ?? 0) + row.length);
    return {
      ...createRunColumns({}).batches,
      rowCount: rows.length,
      steps: Float64Array.from(rows, (_, i) => i),
      batchSizes: Float64Array.from(sizes),
      losses: new Float64Array(rows.length).fill(1),
      classNames: Array.from({ length: 10 }, (_, i) => String(i)),
      classOffsets: Int32Array.from(offsets),
      classIndex: Int32Array.from(rows.flat(), ([name]) => name),
      classCounts: Float64Array.from(rows.flat(), ([, count]) => count),
    };
  }

  test('knows batches of one class or two by themselves, where the next one has others', () => {
    const alert = findAlert('sorted_samples', { batches: batches((i) => Math.floor(i / 36)) });
    expect(alert?.fact).toMatch(/^Two samples of one batch are of one class in/);
    const next = random(2);
    const drawn = Array.from({ length: 360 }, () => Math.floor(10 * next()));
    expect(findAlert('sorted_samples', { batches: batches((i) => drawn[i] ?? 0) })).toBeUndefined();
  });
});

describe('dying_relu', () => {
  const hidden = (dead: number) =>
    layer('hidden', 'activation', probes, {
      mean: () => 0.4,
      std: () => 1,
      deadUnitRatio: () => dead / 20,
      persistentDeadUnitCount: () => dead,
      deadUnitCount: () => dead,
      unitCount: () => 20,
    });
  const output = layer('o', 'activation', probes, { std: () => 1, mean: () => 0 });
  const severityOf = (dead: number, floor: number) =>
    findAlert('dying_relu', {
      metrics: [metric('train/loss', STEPS, fallingLoss(STEPS, { floor }))],
      layers: [hidden(dead), output],
    })?.severity;

  test('units that live are enough where the loss has lost most of its start', () => {
    expect(severityOf(13, 0.4)).toBe('info');
    expect(severityOf(13, 1.5)).toBe('warning');
    expect(severityOf(17, 0.4)).toBe('error');
  });

  test('some dead units are not why nothing at all is learned', () => {
    expect(severityOf(13, 2.29)).toBe('info');
    expect(severityOf(17, 2.29)).toBe('error');
  });

  test('initial weights that are far too small are named where they have cost units, however well the rest learns', () => {
    const kernel = parameter('hidden/kernel', probes, {
      elementCount: () => 400,
      valueStd: () => 0.001,
      valueNorm: () => 0.02,
      valueNormBefore: () => 0.02,
    });
    const bias = parameter(
      'hidden/bias',
      probes,
      { elementCount: () => 20 },
      { parameterRole: 'bias' },
    );
    const run = (dead: number) => ({
      metrics: [metric('train/loss', STEPS, fallingLoss(STEPS, { floor: 0.3 }))],
      layers: [hidden(dead), output],
      parameters: [kernel, bias],
    });
    expect(findAlert('poor_initialization', run(13))?.severity).toBe('warning');
    expect(findAlert('poor_initialization', run(0))).toBeUndefined();
  });
});

describe('reward_decline', () => {
  /** Won now and then until `until`, and never after; episodes of four steps. */
  const games = (until: number) =>
    metric('train/episode_return', 260, (i) => {
      const episode = Math.floor(i / 4);
      return episode % 5 === 1 && i < until ? 0.2 + 0.1 * (episode % 3) : -1.25;
    });

  test('a return that was better now and then, and is at its lowest for good, is lost', () => {
    const alert = findAlert('reward_decline', { metrics: [games(100)] });
    expect(alert).toMatchObject({ severity: 'warning' });
    expect(alert?.fact).toMatch(/at its lowest, about -1\.25, since step \d+; before that/);
    expect(findAlert('reward_decline', { metrics: [games(260)] })).toBeUndefined();
  });

  test('a policy that has not moved has not got worse', () => {
    const weight = (ratio: number) =>
      parameter('online/kernel', probes, { updateRatio: () => ratio, valueNorm: () => 3 });
    const run = (ratio: number) => ({ metrics: [games(100)], parameters: [weight(ratio)] });
    expect(findAlert('reward_decline', run(4e-5))).toBeUndefined();
    expect(findAlert('update_ratio_low', run(4e-5))).toBeDefined();
    expect(findAlert('reward_decline', run(5e-3))).toBeDefined();
  });
});

describe('loss_not_decreasing', () => {
  const gauss = normal(4);
  const noisy = metric('train/loss', STEPS, () => Math.abs(1.2 + 0.5 * gauss()));
  const validation = metric('val/loss', 7, (i) => 1.18 + 0.01 * (i % 2), 34);
  const answers = (std: number) =>
    layer('output', 'activation', probes, {
      mean: () => 0,
      std: () => std,
      unitCount: () => 1,
      elementCount: () => 16,
    });
  const batches: BatchColumns = {
    ...createRunColumns({}).batches,
    rowCount: 3,
    steps: Float64Array.from([0, 1, 2]),
    losses: Float64Array.from([1, 1, 1]),
    batchSizes: Float64Array.from([16, 16, 16]),
    classOffsets: new Int32Array(4),
    metadata: ['{"target_min":-2,"target_max":1.6}', '{"target_min":-1.9,"target_max":1.8}', null],
  };

  test('answers that are one and the same are seen by the targets, where the loss has no name', () => {
    const said = (std: number) =>
      findAlert('loss_not_decreasing', {
        metrics: [noisy, validation],
        layers: [answers(std)],
        batches,
      });
    expect(said(0.03)?.title).toBe('Nearly the same answer for every sample');
    expect(said(0.03)?.fact).toContain('the targets by 0.608 or more');
    expect(said(0.5)?.title).not.toBe('Nearly the same answer for every sample');
  });
});

test('inputs that are not normalised come before the overflow they led to', () => {
  const { alerts } = analyzeColumns(
    createRunColumns({
      metrics: [metric('train/loss', 60, (i) => (i < 5 ? 10 ** (6 * i) : Number.NaN))],
      layers: [
        layer(
          'x',
          'activation',
          probes,
          { mean: () => 189, std: () => 79 },
          { moduleType: 'InputLayer' },
        ),
      ],
    }),
    {},
    { nowMs: 0 },
  );
  const ids = alerts.map(({ ruleId }) => ruleId);
  expect(ids.slice(0, 2)).toEqual(['input_not_normalised', 'non_finite']);
});

test('a validation that creeps on far above a training that has nothing left to lose is overfitted', () => {
  const train = metric('train/loss', 168, (i) => 1.8 * Math.exp(-i / 10) + 0.002);
  const validation = (gain: number) =>
    metric('val/loss', 168, (i) => 0.415 + gain * (1 - i / 168) + 1.1 * Math.exp(-i / 12));
  const right = metric('train/accuracy', 168, (i) => Math.min(1, 0.3 + i / 20));
  const valRight = metric('val/accuracy', 168, (i) => Math.min(0.83, 0.3 + i / 60));
  const said = (gain: number) =>
    findAlert('overfitting_onset', { metrics: [train, validation(gain), right, valRight] });
  expect(said(0.06)?.severity).not.toBe('info');
  expect(said(0.06)).toBeDefined();
  // Validation that goes on falling at this rate has not stopped.
  expect(said(0.6)).toBeUndefined();
});

test('a rule that takes more values than there are was not asked', () => {
  const short = createRunColumns({ metrics: [metric('train/loss', 10, fallingLoss(10))] });
  const { coverage } = analyzeColumns(short, {}, { nowMs: 0 });
  const whyOf = (id: string) => coverage.open.find(({ ruleId }) => ruleId === id)?.why;
  expect(whyOf('loss_spike')).toBe('train/loss has 10 values, and it takes 24');
  expect(whyOf('plateau')).toBe('train/loss has 10 values, and it takes 20');
  expect(coverage.asked.some(({ ruleId }) => ruleId === 'loss_divergence')).toBe(true);
});
