/** Principal components against their definition, and both twins against each other. */
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { jsProject } from '../../../src/kernel/series/project/project-js.ts';
import type { ProjectKernel } from '../../../src/kernel/series/project/project.ts';
import { loadWasmSeriesKernel } from '../../../src/kernel/series/series-kernel.ts';
import { runs } from '../../support/property.ts';
import { normal } from '../../support/tensors.ts';

let wasm: ProjectKernel;

beforeAll(async () => {
  wasm = await loadWasmSeriesKernel();
});

const table = fc
  .record({
    count: fc.integer({ min: 1, max: 24 }),
    dimensions: fc.integer({ min: 1, max: 11 }),
    components: fc.integer({ min: 1, max: 4 }),
    scale: fc.constantFrom(1e-150, 1, 1e6, 1e150),
  })
  .chain(({ count, dimensions, ...rest }) =>
    fc
      .array(fc.integer({ min: -20, max: 20 }), {
        minLength: count * dimensions,
        maxLength: count * dimensions,
      })
      .map((numbers) => ({ ...rest, count, dimensions, numbers })),
  );

/** The covariance matrix, by its definition. */
function covariance(values: ArrayLike<number>, dimensions: number): number[][] {
  const count = values.length / dimensions;
  const at = (i: number, d: number): number => values[i * dimensions + d] ?? Number.NaN;
  const rows = Array.from({ length: count }, (_, i) => i);
  const means = Array.from(
    { length: dimensions },
    (_, d) => rows.reduce((sum, i) => sum + at(i, d), 0) / count,
  );
  return means.map((first, a) =>
    means.map(
      (second, b) =>
        rows.reduce((sum, i) => sum + (at(i, a) - first) * (at(i, b) - second), 0) / count,
    ),
  );
}

describe('principal components', () => {
  test('are eigenvectors of the covariance at right angles, the largest first', () => {
    fc.assert(
      fc.property(table, ({ components, dimensions, numbers, scale }) => {
        const values = numbers.map((value) => value * scale);
        const found = wasm.principalComponents(values, { dimensions, components });
        expect(found.componentCount).toBe(Math.min(components, dimensions));
        // At the scale of the integers: products of the others would overflow.
        const matrix = covariance(numbers, dimensions);
        const total = matrix.reduce((sum, row, i) => sum + (row[i] ?? 0), 0);
        expect(Math.abs(found.totalVariance / scale ** 2 - total)).toBeLessThan(1e-9 * (1 + total));
        let before = Infinity;
        for (let j = 0; j < found.componentCount; j++) {
          const vector = found.directions.subarray(j * dimensions, (j + 1) * dimensions);
          const variance = (found.variances[j] ?? Number.NaN) / scale ** 2;
          expect(variance).toBeLessThanOrEqual(before + 1e-7 * (1 + total));
          before = variance;
          for (const [a, row] of matrix.entries()) {
            const image = row.reduce((sum, value, b) => sum + value * (vector[b] ?? 0), 0);
            expect(Math.abs(image - variance * (vector[a] ?? 0))).toBeLessThan(2e-3 * (1 + total));
          }
          for (let i = 0; i <= j; i++) {
            const other = found.directions.subarray(i * dimensions, (i + 1) * dimensions);
            const product = vector.reduce((sum, value, d) => sum + value * (other[d] ?? 0), 0);
            expect(Math.abs(product - (i === j ? 1 : 0))).toBeLessThan(1e-9);
          }
        }
      }),
      runs(250),
    );
  });

  test('take all of the variance with as many of them as there are numbers', () => {
    const values = normal(200 * 5, 3, 2);
    const { totalVariance, variances } = wasm.principalComponents(values, {
      dimensions: 5,
      components: 5,
    });
    expect(variances.reduce((sum, value) => sum + value, 0)).toBeCloseTo(totalVariance, 9);
  });

  test('put rows where they lie along the directions', () => {
    // A line in three dimensions: two thirds of the way along (2, 1, 2).
    const values = [-1, 0, 1].flatMap((along) => [5 + 2 * along, 1 + along, 2 * along]);
    const found = wasm.principalComponents(values, { dimensions: 3, components: 2 });
    expect(Array.from(found.means, (mean) => Math.round(mean * 1e9) / 1e9)).toEqual([5, 1, 0]);
    for (const [d, wanted] of [2 / 3, 1 / 3, 2 / 3].entries())
      expect(found.directions[d]).toBeCloseTo(wanted, 9);
    for (const [i, along] of [-3, 0, 3].entries()) {
      expect(found.positions[2 * i]).toBeCloseTo(along, 9);
      expect(found.positions[2 * i + 1]).toBeCloseTo(0, 9);
    }
    expect(found.variances[0]).toBeCloseTo(6, 9);
  });

  test('are the same to the last bit in both twins', () => {
    fc.assert(
      fc.property(table, ({ components, dimensions, numbers, scale }) => {
        const values = numbers.map((value) => value * scale);
        const options = { dimensions, components };
        expect(wasm.principalComponents(values, options)).toEqual(
          jsProject.principalComponents(values, options),
        );
      }),
      runs(200),
    );
    const values = Float32Array.from(normal(300 * 67, 0, 1));
    expect(wasm.principalComponents(values, { dimensions: 67 })).toEqual(
      jsProject.principalComponents(values, { dimensions: 67 }),
    );
  });

  test('of rows that are all the same have no variance', () => {
    const found = wasm.principalComponents([4, 2, 4, 2], { dimensions: 2 });
    expect([...found.variances]).toEqual([0, 0]);
    expect(found.totalVariance).toBe(0);
    expect([...found.positions].every((value) => value === 0)).toBe(true);
  });

  test('refuse what is no table of finite numbers, naming the field', () => {
    for (const [values, options, field] of [
      [[1, 2, 3], { dimensions: 2 }, 'values.length'],
      [[], { dimensions: 2 }, 'values.length'],
      [[1, Number.NaN], { dimensions: 2 }, 'values[1]'],
      [[1, Infinity], { dimensions: 1 }, 'values[1]'],
      [[1, 2], { dimensions: 0 }, 'options.dimensions'],
      [[1, 2], { dimensions: 2, components: 17 }, 'options.components'],
    ] as const)
      for (const kernel of [wasm, jsProject])
        expect(() => kernel.principalComponents(values, options)).toThrow(
          expect.objectContaining({
            code: 'invalid_input',
            details: expect.objectContaining({ field }),
          }),
        );
  });
});
