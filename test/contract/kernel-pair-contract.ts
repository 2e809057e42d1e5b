/** What every way to the kernels has to do with two tensors, as one suite. Called by the kernel contract. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PairData, TensorPairStats } from '../../src/kernel/kernel.ts';
import { exactSum } from '../support/kernel-reference.ts';
import { runs } from '../support/property.ts';
import { anyFloat32, anyFloat64, normal, random } from '../support/tensors.ts';

/** A way to compare two tensors, synchronous or not. */
export type PairKernelUnderTest = {
  tensorPairStats(first: PairData, second: PairData): TensorPairStats | Promise<TensorPairStats>;
};

function expectPair(actual: TensorPairStats, first: PairData, second: PairData): void {
  const pairs = Array.from(first, (a, i) => [a, second[i] ?? 0] as const).filter(
    ([a, b]) => Number.isFinite(a) && Number.isFinite(b),
  );
  const norm = (of: (a: number, b: number) => number): number =>
    Math.sqrt(exactSum(pairs.map(([a, b]) => of(a, b) ** 2)));
  const wanted = {
    firstNorm: norm((a) => a),
    secondNorm: norm((_, b) => b),
    differenceNorm: norm((a, b) => a - b),
  };
  expect(actual.elementCount).toBe(first.length);
  expect(actual.finiteCount).toBe(pairs.length);
  for (const name of ['firstNorm', 'secondNorm', 'differenceNorm'] as const)
    expect(Math.abs(actual[name] - wanted[name]), name).toBeLessThanOrEqual(1e-12 * wanted[name]);
  const product = wanted.firstNorm * wanted.secondNorm;
  const dot = exactSum(pairs.map(([a, b]) => a * b));
  expect(Math.abs(actual.dot - dot), 'dot').toBeLessThanOrEqual(1e-12 * product);
  const ratio = wanted.differenceNorm / wanted.firstNorm;
  if (Number.isFinite(ratio))
    expect(Math.abs(actual.relativeDifference - ratio)).toBeLessThanOrEqual(2e-12 * ratio);
  else expect(actual.relativeDifference).toBe(ratio);
  const cosine = dot / wanted.firstNorm / wanted.secondNorm;
  if (Number.isNaN(cosine)) expect(actual.cosine).toBeNaN();
  else expect(Math.abs(actual.cosine - cosine), 'cosine').toBeLessThanOrEqual(3e-12);
}

export function describePairKernel(kernel: () => PairKernelUnderTest, share: number): void {
  describe('two tensors', () => {
    const isPair = (data: unknown): data is PairData =>
      data instanceof Float32Array || data instanceof Float64Array;
    // Of magnitudes whose squares stay normal numbers of float64.
    const isMild = (data: PairData): boolean =>
      data instanceof Float32Array || data.every((x) => x === 0 || Math.abs(x) > 1e-100);

    test('of any values are compared within the stated bounds', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.oneof(anyFloat32, anyFloat64).filter(isPair).filter(isMild),
          fc.constantFrom(0, 1e-3, 1, 100),
          fc.integer(),
          async (first, scale, seed) => {
            const next = random(seed);
            const second = first.map((x) => x * (1 + scale * (next() - 0.5)) + scale * next());
            expectPair(await kernel().tensorPairStats(first, second), first, second);
          },
        ),
        runs(100 * share),
      );
    });

    test('of every length around the block sizes, and unaligned', async () => {
      const a = normal(5000, 1, 3, 1);
      const b = normal(5000, 1, 3, 2);
      for (const length of [
        ...Array.from({ length: 68 }, (_, i) => i),
        1023,
        1024,
        1025,
        1028,
        4097,
      ]) {
        for (const [first, second] of [
          [Float32Array.from(a), Float32Array.from(b)],
          [a, b],
        ] as const) {
          const [p, q] = [first.subarray(1, 1 + length), second.subarray(3, 3 + length)];
          // oxlint-disable-next-line no-await-in-loop -- one at a time, so that a failure names its length
          expectPair(await kernel().tensorPairStats(p, q), p, q);
        }
      }
    });

    test('leave out a place where either is not finite', async () => {
      for (const value of [Number.NaN, Infinity, -Infinity]) {
        for (let at = 0; at < 40; at++) {
          const first = Float32Array.from(normal(40, 5, 1, 1));
          const second = Float32Array.from(normal(40, 5, 1, 2));
          (at % 2 === 0 ? first : second)[at] = value;
          // oxlint-disable-next-line no-await-in-loop -- one at a time, so that a failure names its position
          expectPair(await kernel().tensorPairStats(first, second), first, second);
        }
      }
    });

    test('that are equal, opposite, or zero', async () => {
      const data = Float32Array.from(normal(3000, 0, 1e-30));
      const zero = new Float32Array(3000);
      const compare = async (a: PairData, b: PairData) => kernel().tensorPairStats(a, b);
      expect(await compare(data, data)).toMatchObject({ differenceNorm: 0, relativeDifference: 0 });
      expect((await compare(data, data)).cosine).toBeCloseTo(1, 11);
      const opposite = await compare(
        data,
        data.map((x) => -x),
      );
      expect(opposite.cosine).toBeCloseTo(-1, 11);
      expect(opposite.relativeDifference).toBeCloseTo(2, 11);
      expect(await compare(zero, data)).toMatchObject({
        firstNorm: 0,
        relativeDifference: Infinity,
      });
      expect((await compare(zero, zero)).relativeDifference).toBeNaN();
      expect((await compare(data, zero)).cosine).toBeNaN();
      expect(await compare(zero.subarray(0, 0), zero.subarray(0, 0))).toMatchObject({
        elementCount: 0,
        differenceNorm: 0,
      });
    });

    test('that do not go together are refused', async () => {
      const asked = async (first: unknown, second: unknown): Promise<unknown> =>
        kernel().tensorPairStats(first as Float32Array, second as Float32Array);
      const data = new Float32Array(4);
      for (const [field, first, second] of [
        ['first', new Int32Array(4), data],
        ['first', [1], data],
        ['second', data, undefined],
        ['second', data, new Float64Array(4)],
        ['second', data, new Float32Array(5)],
      ] as const) {
        // oxlint-disable-next-line no-await-in-loop -- a failure names its field
        await expect(asked(first, second)).rejects.toMatchObject({
          code: 'invalid_input',
          details: { field },
        });
      }
    });
  });
}
