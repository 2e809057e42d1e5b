import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exposureRows, reasonText } from '../../../dashboard/run/batches/batch-text.ts';
import { formatBytes, formatMetric } from '../../../dashboard/parts/format.ts';
import { groupMetrics, isMachineMetric, legendName } from '../../../dashboard/charts/group.ts';
import { histogramGrid, spread } from '../../../dashboard/media/distribution/histogram-grid.ts';
import { EMPTY_SHADE } from '../../../dashboard/charts/heat/layer-grid.ts';
import { costText, probeCost } from '../../../dashboard/run/layers/probe-cost.ts';
import { runs } from '../../support/property.ts';

const histogram = (step: number | null, binEdges: number[], counts: number[]) => ({
  step,
  binEdges,
  counts,
});

describe('histograms over time', () => {
  it('come onto one axis, the largest values on top', () => {
    const grid = histogramGrid(
      [histogram(5, [0, 1, 2], [3, 1]), histogram(1, [1, 2, 3], [2, 2])],
      3,
      10,
    );
    expect(grid?.columns.map(({ firstStep }) => firstStep)).toEqual([1, 5]);
    expect([...(grid?.edges ?? [])]).toEqual([3, 2, 1, 0]);
    expect([...(grid?.shares ?? [])]).toEqual([0.5, 0, 0.5, 0.25, 0, 0.75]);
    expect(grid?.maxShare).toBe(0.75);
    expect(grid?.shades[1]).toBe(EMPTY_SHADE);
    expect(grid?.shades[5]).toBe(255);
  });

  it('average the steps of a column', () => {
    const grid = histogramGrid(
      [histogram(1, [0, 1, 2], [1, 0]), histogram(2, [0, 1, 2], [0, 1])],
      2,
      1,
    );
    expect(grid?.columns).toEqual([{ firstStep: 1, lastStep: 2, endStep: 3, stepCount: 2 }]);
    expect([...(grid?.shares ?? [])]).toEqual([0.5, 0.5]);
  });

  it('do without a step or a finite edge, and with equal values', () => {
    expect(histogramGrid([histogram(null, [0, 1], [1])], 4, 4)).toBeUndefined();
    expect(histogramGrid([histogram(1, [], [])], 4, 4)).toBeUndefined();
    const same = histogramGrid([histogram(1, [2, 2], [7])], 4, 4);
    expect(same?.shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 12);
  });

  it('lose no element and make none', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.double({ min: 0.001, max: 10, noNaN: true }), fc.nat(50)), {
          minLength: 1,
          maxLength: 20,
        }),
        fc.integer({ min: 1, max: 60 }),
        fc.double({ min: 0, max: 5, noNaN: true }),
        (bins, rowCount, room) => {
          const edges = [-3];
          for (const [width] of bins) edges.push((edges.at(-1) ?? 0) + width);
          const counts = bins.map(([, count]) => count);
          const shares = spread(
            histogram(0, edges, counts),
            -3 - room,
            (edges.at(-1) ?? 0) + room,
            rowCount,
          );
          const total = counts.some((count) => count > 0) ? 1 : 0;
          expect(shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(total, 9);
          expect(shares.every((share) => share >= 0)).toBe(true);
        },
      ),
      runs(100),
    );
  });
});

describe('what probes cost', () => {
  it('is the median of probed steps beside that of the others', () => {
    const steps = Float64Array.from({ length: 31 }, (_, step) => step);
    const values = steps.map((step) => (step === 0 ? 900 : step % 3 === 0 ? 13 : 10));
    const probed = new Set([...steps].filter((step) => step % 3 === 0));
    const cost = probeCost({ steps, values }, probed);
    expect(cost).toMatchObject({ plainMs: 10, probedMs: 13, plainCount: 20, probedCount: 10 });
    expect(cost?.averageMs).toBeCloseTo(11, 12);
    expect(cost && costText(cost)).toBe(
      'A step takes 10 ms, one with probes 13 ms (medians): +10.0 % over all steps.',
    );
    expect(probeCost({ steps, values }, new Set([3]))).toBeUndefined();
    expect(probeCost(undefined, probed)).toBeUndefined();
  });
});

describe('batches in words', () => {
  it('lists classes in their order, with their shares', () => {
    expect(exposureRows({ classCounts: { 10: 1, 2: 2, 1: 1 } })).toEqual([
      { name: '1', count: 1, share: 0.25, width: 0.5 },
      { name: '2', count: 2, share: 0.5, width: 1 },
      { name: '10', count: 1, share: 0.25, width: 0.5 },
    ]);
    expect(exposureRows({ classCounts: {} })).toEqual([]);
  });

  it('says every reason, one that it does not know too', () => {
    expect(reasonText('loss_iqr')).toBe('loss far above the usual range');
    expect(reasonText('some_rule')).toBe('some rule');
  });

  it('says bytes in the unit that suits them', () => {
    expect(formatMetric('system/ram/used_bytes', 2_721_000_000)).toBe('2.72 GB');
    expect(formatMetric('kilobytes', 1234)).toBe('1.23 kB');
    expect(formatMetric('train/loss', 1234)).toBe('1,234');
    expect(formatBytes(0)).toBe('0 B');
    expect(formatBytes(-5e6)).toBe('−5 MB');
    expect(formatMetric('x_bytes', Number.NaN)).toBe('NaN');
  });

  it('puts what is one picture of the machine on one chart', () => {
    const groups = groupMetrics([
      'system/cpu/usage_percent',
      'system/ram/usage_percent',
      'system/process/rss_bytes',
      'system/runtime/step_time_ms',
      'system/tensors/count',
    ]);
    expect(groups.map(({ title, keys }) => [title, keys.length])).toEqual([
      ['load (percent)', 2],
      ['step time (ms)', 1],
      ['memory of the program', 1],
      ['system/tensors/count', 1],
    ]);
    expect(legendName('system/cpu/usage_percent', 'load (percent)')).toBe('cpu usage');
    expect(legendName('system/process/rss_bytes', 'memory of the program')).toBe('rss');
  });

  it('knows metrics of the machine', () => {
    expect(isMachineMetric('system/cpu/usage_percent')).toBe(true);
    expect(isMachineMetric('system_loss')).toBe(false);
  });
});
