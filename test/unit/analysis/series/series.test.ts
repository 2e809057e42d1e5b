import { describe, expect, test } from 'vitest';
import {
  createMetricSeries,
  findRoleSeries,
  loadSeriesKernel,
  type MetricSeries,
} from 'quark-sdk/analysis';
import { onAxisOf } from '../../../../src/analysis/columns/align-axis.ts';
import { indexAtOrBefore } from '../../../../src/analysis/columns/sorted-search.ts';
import { finitePart } from '../../../../src/analysis/signals/finite-part.ts';
import { roleCandidates } from '../../../../src/analysis/signals/roles/loss-roles.ts';
import { CONVENTIONAL_ROLE_KEYS } from '../../../../src/analysis/signals/roles/role-keys.ts';
import {
  blockMedians,
  noiseScale,
  robustCurve,
} from '../../../../src/analysis/signals/robust-curve.ts';
import { byEpoch, byStep, stepLoss } from '../../../support/loss-curves.ts';

const kernel = await loadSeriesKernel();
const NaNs = [Number.NaN, Number.NaN];
const mapOf = (...list: readonly MetricSeries[]): ReadonlyMap<string, MetricSeries> =>
  new Map(list.map((one) => [one.key, one]));

describe('the finite part', () => {
  test('of a series with holes', () => {
    const part = finitePart(byStep('a', [Number.NaN, 1, Infinity, 2, Number.NaN, Number.NaN], 10));
    expect([...part.values]).toEqual([1, 2]);
    expect([...part.positions]).toEqual([10, 30]);
    expect(part).toMatchObject({
      rowCount: 6,
      nonFiniteCount: 4,
      first: 0,
      last: 50,
      firstNonFinite: 0,
      failedFrom: 40,
    });
  });

  test('of a whole series is the series, of nothing it is nothing', () => {
    const series = byStep('a', [1, 2]);
    expect(finitePart(series).values).toBe(series.values);
    expect(finitePart(series)).toMatchObject({
      failedFrom: Number.NaN,
      firstNonFinite: Number.NaN,
    });
    expect(finitePart(byStep('a', []))).toMatchObject({ rowCount: 0, first: Number.NaN });
    expect(finitePart(byStep('a', NaNs))).toMatchObject({ failedFrom: 0, nonFiniteCount: 2 });
  });

  test('the last place at or before another', () => {
    const places = Float64Array.of(1, 3, 3, 7);
    expect([0, 1, 3, 6, 7, 9].map((place) => indexAtOrBefore(places, place))).toEqual([
      -1, 0, 2, 2, 3, 3,
    ]);
  });
});

describe('robust curves', () => {
  test('noise is told from trend, jump and spikes', () => {
    const values = stepLoss(4000, (share) => 1 + (share > 0.5 ? 5 : 0) + share, 0);
    const noisy = stepLoss(4000, () => 1, 0.1, 7).map((value, i) => (values[i] ?? 0) + value);
    for (let i = 0; i < 4000; i += 50) noisy[i] = 1000;
    expect(noiseScale(noisy, kernel)).toBeGreaterThan(0.09);
    expect(noiseScale(noisy, kernel)).toBeLessThan(0.115);
    expect(noiseScale(Float64Array.of(1), kernel)).toBeNaN();
  });

  test('medians of blocks of equal size', () => {
    const { medians, starts } = blockMedians(Float64Array.of(1, 9, 2, 4, 4, 100, 7), 3, kernel);
    expect([...starts]).toEqual([0, 3, 6, 7]);
    expect([...medians]).toEqual([2, 4, 7]);
  });

  test('a long series becomes lines that keep its jump', () => {
    const values = stepLoss(100_000, (share) => (share < 0.4 ? 2 : 1), 0.3, 3);
    const curve = robustCurve(finitePart(byStep('a', values)), kernel);
    expect(curve.regime).toBe('step');
    expect(curve.fitted.length).toBeLessThanOrEqual(512);
    expect(curve.counts.reduce((sum, count) => sum + count, 0)).toBe(100_000);
    const at = curve.fitted.findIndex((value) => value < 1.5);
    expect(curve.positions[at]).toBeGreaterThan(39_500);
    expect(curve.positions[at]).toBeLessThan(40_500);
    expect(curve.fitted[at - 3]).toBeCloseTo(2, 1);
    expect(curve.fitted[at + 3]).toBeCloseTo(1, 1);
  });

  test('a lone spike is cut off, unless up and down are alike', () => {
    const part = finitePart(byStep('a', [5, 4, 40, 3, 2]));
    expect([...robustCurve(part, kernel).fitted]).toEqual([5, 4, 4, 3, 2]);
    expect([...robustCurve(part, kernel, { isSigned: true }).fitted]).toEqual([5, 4, 40, 3, 2]);
    const step = finitePart(byStep('a', [5, 4, 40, 41, 42]));
    expect([...robustCurve(step, kernel).fitted]).toEqual([5, 4, 40, 41, 42]);
  });
});

describe('which metrics are the losses', () => {
  const keysOf = (...list: readonly MetricSeries[]): readonly (string | undefined)[] => {
    const { trainAccuracy, trainLoss, valAccuracy, valLoss } = findRoleSeries(mapOf(...list));
    return [trainLoss?.key, valLoss?.key, trainAccuracy?.key, valAccuracy?.key];
  };

  test('the conventional ones go first, those of NaN last', () => {
    expect(
      keysOf(byStep('train/loss', [1]), byStep('train/aux_loss', [2]), byStep('val/acc', [1])),
    ).toEqual(['train/loss', undefined, undefined, 'val/acc']);
    expect(keysOf(byStep('train/loss', NaNs), byStep('training/loss', [1]))[0]).toBe(
      'training/loss',
    );
    expect(keysOf(byStep('train/loss', NaNs))[0]).toBe('train/loss');
    expect(keysOf(byStep('loss', [1]), byStep('test/loss', [1]))).toEqual([
      'loss',
      'test/loss',
      undefined,
      undefined,
    ]);
  });

  test('parts are added up where all have a value, with the same parts on both sides', () => {
    const { trainLoss, valLoss } = findRoleSeries(
      mapOf(
        byEpoch('train/box_loss', [1, 2, 3]),
        byEpoch('train/cls_loss', [10, 20]),
        byEpoch('train/aux_loss', [100, 100, 100]),
        byEpoch('val/box_loss', [4]),
        byEpoch('val/cls_loss', [5]),
      ),
    );
    expect([trainLoss?.key, [...(trainLoss?.values ?? [])]]).toEqual([
      'train/box_loss + train/cls_loss',
      [11, 22],
    ]);
    expect([valLoss?.key, [...(valLoss?.values ?? [])]]).toEqual([
      'val/box_loss + val/cls_loss',
      [9],
    ]);
  });

  test('of several validation sets the mean counts', () => {
    const { valLoss } = findRoleSeries(
      mapOf(byStep('train/loss', [1]), byStep('val/a_loss', [2, 4]), byStep('val/b_loss', [4, 8])),
    );
    expect([valLoss?.key, [...(valLoss?.values ?? [])]]).toEqual([
      'mean of val/a_loss, val/b_loss',
      [3, 6],
    ]);
  });

  test('the loss of single steps goes before a few means of epochs, and stands in for them', () => {
    const many = (key: string): MetricSeries =>
      byStep(
        key,
        Array.from({ length: 200 }, () => 1),
      );
    const means = byStep('train/loss', [3, 2, 1], 100);
    expect(keysOf(means, many('train/loss_step'))[0]).toBe('train/loss_step');
    expect(keysOf(means, byStep('train/loss_step', [3, 2, 1]))[0]).toBe('train/loss');
    expect(keysOf(many('train/loss'), many('train/loss_step'))[0]).toBe('train/loss');
    expect(keysOf(means, many('train/aux_loss_step'))[0]).toBe('train/loss');
    expect(keysOf(many('train_loss_step'), many('val/loss_step')).slice(0, 2)).toEqual([
      'train_loss_step',
      'val/loss_step',
    ]);
    expect(roleCandidates(['lr', 'train_loss_step'])).toEqual(['train_loss_step']);
    // What somebody chose stays.
    const chosen = { ...CONVENTIONAL_ROLE_KEYS, trainLoss: ['train/loss'] };
    const found = findRoleSeries(mapOf(means, many('train/loss_step')), chosen);
    expect(found.trainLoss?.key).toBe('train/loss');
  });

  test('of two networks against each other the generator counts', () => {
    const list = ['d_X_loss', 'd_Y_loss', 'g_loss'].map((key) => byStep(key, [1, 2]));
    expect(keysOf(...list)[0]).toBe('g_loss');
    expect(keysOf(byStep('Disc_Loss', [1]), byStep('Gen_Loss', [1]))[0]).toBe('Gen_Loss');
    expect(keysOf(byStep('d_loss', [1]))[0]).toBe('d_loss');
  });

  test('errors where nothing is called a loss, of one side where they differ', () => {
    const of = (...keys: readonly string[]): readonly (string | undefined)[] =>
      keysOf(...keys.map((key) => byStep(key, [2, 1]))).slice(0, 2);
    expect(of('train/mse_scaled', 'val/mae', 'val/rmse')).toEqual(['train/mse_scaled', undefined]);
    expect(of('train/mae', 'val/mae')).toEqual(['train/mae', 'val/mae']);
    expect(of('val/rmse')).toEqual([undefined, 'val/rmse']);
    expect(of('train/mse', 'train/loss')).toEqual(['train/loss', undefined]);
  });

  test('pairs without the word, but no measures of quality', () => {
    const list = ['train/box', 'val/box', 'train/map50', 'val/map50', 'train/only'].map((key) =>
      byStep(key, [1, 2]),
    );
    expect(keysOf(...list)).toEqual(['train/box', 'val/box', undefined, undefined]);
    expect(keysOf(byStep('a', [1]), byStep('optimizer/lr', [1]))).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });

  test('what has to be read for it', () => {
    const all = ['train/loss', 'val/x_loss', 'optimizer/lr', 'val/accuracy', 'train/grad_norm'];
    expect(roleCandidates(all)).toEqual(['train/loss', 'val/x_loss', 'val/accuracy']);
    expect(roleCandidates(['train/box', 'val/box', 'val/map'], CONVENTIONAL_ROLE_KEYS)).toEqual([
      'train/box',
      'val/box',
    ]);
  });
});

describe('one axis for two series', () => {
  const train = createMetricSeries('train/loss', {
    steps: [0, 10, 20, 30, 40, 50],
    epochs: [0, 0, 0, 1, 1, 1],
    timesMs: [100, 110, 120, 130, 140, 150],
    values: [6, 5, 4, 3, 2, 1],
  });

  test('by the epochs of both: the last step of each', () => {
    expect([...onAxisOf(byEpoch('val/loss', [2, 1]), train).steps]).toEqual([20, 50]);
    expect(onAxisOf(train, train)).toBe(train);
  });

  test('by time, where only one has epochs', () => {
    const bare = { ...train, epochs: new Float64Array(6).fill(Number.NaN) };
    const val = { ...byEpoch('val/loss', [2, 1]), timesMs: Float64Array.of(125, 151) };
    expect([...onAxisOf(val, bare).steps]).toEqual([20, 50]);
  });

  test('spread evenly, where nothing is known', () => {
    const bare = byStep('train/loss', [5, 4, 3, 2, 1], 10);
    expect([...onAxisOf(byEpoch('val/loss', [3, 2, 1]), bare).steps]).toEqual([0, 20, 40]);
    expect([...onAxisOf(bare, byEpoch('val/loss', [3, 2, 1])).epochs]).toEqual([0, 1, 1, 2, 2]);
  });
});
