import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { jsKernel } from '../../../src/kernel/tensor/js-kernel.ts';
import { histogramEdges, mergeHistograms } from '../../../src/kernel/tensor/histogram-bins.ts';
import { mergeTensorStats } from '../../../src/kernel/tensor/results.ts';
import { expectWithinBounds } from '../../support/kernel-reference.ts';
import { runs } from '../../support/property.ts';
import { anyFloat64, normal } from '../../support/tensors.ts';

const cuts = fc.array(fc.nat({ max: 3000 }), { maxLength: 6 });

function split(data: Float64Array, at: readonly number[]): Float64Array[] {
  const edges = [
    0,
    ...at.filter((edge) => edge < data.length).toSorted((a, b) => a - b),
    data.length,
  ];
  return edges.slice(1).map((end, i) => data.subarray(edges[i], end));
}

describe('merging', () => {
  test('the statistics of parts gives those of the whole', () => {
    fc.assert(
      fc.property(anyFloat64, cuts, (tensor, at) => {
        const data = Float64Array.from(tensor);
        const parts = split(data, at).map((part) =>
          jsKernel.tensorStats(part, { epsilon: 0.5, threshold: 1 }),
        );
        expectWithinBounds(mergeTensorStats(parts), data, 0.5, 1);
      }),
      runs(150),
    );
  });

  test('the histograms of parts gives that of the whole, exactly', () => {
    fc.assert(
      fc.property(anyFloat64, cuts, (tensor, at) => {
        const data = Float64Array.from(tensor);
        const options = { bins: 9, range: { min: -1, max: 2 } };
        const parts = split(data, at).map((part) => jsKernel.histogram(part, options));
        expect(mergeHistograms(parts)).toEqual(jsKernel.histogram(data, options));
      }),
      runs(100),
    );
  });

  test('the histograms of magnitudes of parts gives that of the whole, exactly', () => {
    fc.assert(
      fc.property(anyFloat64, cuts, (tensor, at) => {
        const data = Float64Array.from(tensor);
        const options = { scale: 'log_magnitude', binsPerOctave: 4 } as const;
        const parts = split(data, at).map((part) => jsKernel.histogram(part, options));
        expect(mergeHistograms(parts)).toEqual(jsKernel.histogram(data, options));
      }),
      runs(100),
    );
  });

  test('samples count with what was looked at', () => {
    const options = { maxHistogramValues: 10, range: { min: -9, max: 9 } };
    const parts = [normal(100), normal(5)].map((part) => jsKernel.histogram(part, options));
    expect(mergeHistograms(parts)).toMatchObject({ elementCount: 105, sampledCount: 15 });
  });

  test('leaves the parts as they are', () => {
    const data = normal(100);
    const options = { bins: 4, range: { min: -1, max: 1 } };
    const part = jsKernel.histogram(data, options);
    const before = part.counts.slice();
    mergeHistograms([part, part]);
    expect(part.counts).toEqual(before);
  });

  test('refuses nothing and what does not fit together', () => {
    const data = normal(10);
    expect(() => mergeTensorStats([])).toThrow(/one part or more/);
    expect(() => mergeHistograms([])).toThrow(/one part or more/);
    expect(() =>
      mergeTensorStats([jsKernel.tensorStats(data), jsKernel.tensorStats(data, { epsilon: 1 })]),
    ).toThrow(/epsilon/);
    expect(() =>
      mergeTensorStats([jsKernel.tensorStats(data), jsKernel.tensorStats(data, { threshold: 1 })]),
    ).toThrow(/threshold/);
    const range = { min: 0, max: 1 };
    expect(() =>
      mergeHistograms([
        jsKernel.histogram(data, { range }),
        jsKernel.histogram(data, { range, bins: 2 }),
      ]),
    ).toThrow(/same bins/);
    const scale = 'log_magnitude';
    const log = jsKernel.histogram(data, { scale, magnitudes: { min: 0.25, max: 4 } });
    for (const other of [
      jsKernel.histogram(data, { scale, magnitudes: { min: 0.5, max: 4 }, binsPerOctave: 2 }),
      jsKernel.histogram(data, { scale, magnitudes: { min: 2, max: 4 }, binsPerOctave: 4 }),
      jsKernel.histogram(data, { bins: log.counts.length, range: { min: -4, max: 4 } }),
    ])
      expect(() => mergeHistograms([log, other])).toThrow(/same bins/);
  });
});

test('the edges of a histogram run from end to end', () => {
  const found = jsKernel.histogram(Float64Array.of(0, 0.1, 0.3), { bins: 3 });
  const edges = histogramEdges(found);
  expect(edges).toHaveLength(4);
  expect([edges[0], edges[3]]).toEqual([0, 0.3]);
  expect(edges[1]).toBeCloseTo(0.1, 15);
});

test('the edges of magnitudes mirror each other', () => {
  const found = jsKernel.histogram(Float64Array.of(0, 0.1, 3), {
    scale: 'log_magnitude',
    magnitudes: { min: 0.5, max: 2 },
    binsPerOctave: 2,
  });
  expect([...histogramEdges(found)]).toEqual([-2, -1.5, -1, -0.75, -0.5, 0.5, 0.75, 1, 1.5, 2]);
  expect([...found.counts]).toEqual([0, 0, 0, 0, 2, 0, 0, 0, 0]);
  expect(found).toMatchObject({ min: -2, max: 2, overflowCount: 1, zeroCount: 1 });
});
