import { describe, expect, it } from 'vitest';
import {
  colorIndex,
  groupMetrics,
  legendName,
  splitMetricKey,
} from '../../../dashboard/charts/group.ts';

const titles = (keys: string[]): [string, readonly string[]][] =>
  groupMetrics(keys).map(({ title, keys: members }) => [title, members]);

describe('groupMetrics', () => {
  it('puts the splits of one metric on one chart, the telling charts first', () => {
    expect(
      titles([
        'perf/step_time_ms',
        'val/loss',
        'optimizer/lr',
        'train/accuracy',
        'train/loss',
        'val/accuracy',
      ]),
    ).toEqual([
      ['loss', ['train/loss', 'val/loss']],
      ['accuracy', ['train/accuracy', 'val/accuracy']],
      ['optimizer/lr', ['optimizer/lr']],
      ['perf/step_time_ms', ['perf/step_time_ms']],
    ]);
  });

  it('joins other metrics only where they share namespace and unit', () => {
    expect(titles(['perf/data_ms', 'perf/step_ms', 'perf/samples', 'gpu/data_ms'])).toEqual([
      ['gpu/data_ms', ['gpu/data_ms']],
      ['perf/samples', ['perf/samples']],
      ['perf (ms)', ['perf/data_ms', 'perf/step_ms']],
    ]);
  });

  it('puts a metric without a namespace beside the splits of the same name', () => {
    expect(titles(['loss', 'val/loss'])).toEqual([['loss', ['loss', 'val/loss']]]);
  });

  it('puts epoch means beside the values of the steps, last', () => {
    expect(titles(['train/epoch_loss', 'val/loss', 'train/loss'])).toEqual([
      ['loss', ['train/loss', 'val/loss', 'train/epoch_loss']],
    ]);
  });

  it('does not depend on the order of the keys', () => {
    const keys = ['b/x', 'train/loss', 'a/y', 'val/loss', 'perf/t_ms'];
    expect(groupMetrics(keys.toReversed())).toEqual(groupMetrics(keys));
  });
});

describe('names and colours', () => {
  it('splits a key at its last part', () => {
    expect(splitMetricKey('layers/conv1/norm')).toEqual({
      namespace: 'layers/conv1',
      name: 'norm',
    });
    expect(splitMetricKey('loss')).toEqual({ namespace: null, name: 'loss' });
  });

  it('says no more in a legend than its title leaves open', () => {
    expect(legendName('train/loss', 'loss')).toBe('train');
    expect(legendName('train/epoch_loss', 'loss')).toBe('train mean');
    expect(legendName('perf/data_ms', 'perf (ms)')).toBe('perf/data_ms');
    expect(legendName('optimizer/lr', 'optimizer/lr')).toBe('last');
  });

  it('gives a split the same colour everywhere', () => {
    expect(colorIndex('train/loss', 5, 8)).toBe(colorIndex('train/accuracy', 0, 8));
    expect(colorIndex('val/loss', 0, 8)).not.toBe(colorIndex('train/loss', 0, 8));
    expect(colorIndex('perf/x', 9, 8)).toBe(1);
  });
});
