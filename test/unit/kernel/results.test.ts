import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { jsKernel } from '../../../src/kernel/js-kernel.ts';
import { histogramEdges, mergeHistograms, mergeTensorStats } from '../../../src/kernel/results.ts';
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
  });
});

test('the edges of a histogram run from end to end', () => {
  const found = jsKernel.histogram(Float64Array.of(0, 0.1, 0.3), { bins: 3 });
  const edges = histogramEdges(found);
  expect(edges).toHaveLength(4);
  expect([edges[0], edges[3]]).toEqual([0, 0.3]);
  expect(edges[1]).toBeCloseTo(0.1, 15);
});
