// 10^8 elements once, against compensated sums: minutes, and 2 GB of memory. `QUARK_LONG=1` runs it.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { jsKernel } from '../../src/kernel/tensor/js-kernel.ts';
import type { TensorData, TensorStats } from '../../src/kernel/kernel.ts';
import { createKernels, type Kernels } from '../../src/kernel/tensor/kernels.ts';
import { isLong } from '../support/property.ts';

const LENGTH = 1e8;
const TIMEOUT_MS = 900_000;

/** A sum with Neumaier's compensation, a value at a time. */
class Sum {
  #sum = 0;
  #lost = 0;

  add(value: number): void {
    const next = this.#sum + value;
    this.#lost +=
      Math.abs(this.#sum) >= Math.abs(value) ? this.#sum - next + value : value - next + this.#sum;
    this.#sum = next;
  }

  get total(): number {
    return this.#sum + this.#lost;
  }
}

/** Nearly normal values (a sum of twelve bits of a congruential generator each), with NaN and infinities strewn in. */
function fill<T extends Float32Array | Float64Array>(data: T, mean: number, std: number): T {
  let state = 12_345;
  for (let i = 0; i < data.length; i++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    const a = state >>> 8;
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    const b = state >>> 8;
    data[i] = mean + std * ((a + b) / 2 ** 23 - 2) * 1.2247;
  }
  for (let i = 7; i < data.length; i += 99_991)
    data[i] = [Number.NaN, Infinity, -Infinity][i % 3] ?? 0;
  return data;
}

function expectStats(actual: TensorStats, data: TensorData, isFloat32: boolean): void {
  const sum = new Sum();
  const absolutes = new Sum();
  let count = 0;
  let min = Infinity;
  let max = -Infinity;
  for (let i = 0; i < data.length; i++) {
    const x = data[i] ?? 0;
    if (!(Math.abs(x) < Infinity)) continue;
    count += 1;
    sum.add(x);
    absolutes.add(Math.abs(x));
    if (x < min) min = x;
    if (x > max) max = x;
  }
  const mean = sum.total / count;
  const rest = new Sum();
  const deviations = new Sum();
  for (let i = 0; i < data.length; i++) {
    const deviation = (data[i] ?? 0) - mean;
    if (!(Math.abs(deviation) < Infinity)) continue;
    rest.add(deviation);
    deviations.add(deviation * deviation);
  }
  const offset = rest.total / count;
  const variance = deviations.total / count - offset * offset;
  const std = Math.sqrt(variance);
  expect(actual).toMatchObject({ elementCount: LENGTH, finiteCount: count, min, max });
  const condition = 2 ** -50 * (Math.abs(mean) / std);
  const near = (value: number, wanted: number, bound: number, name: string): void =>
    expect(Math.abs(value - wanted), name).toBeLessThanOrEqual(bound);
  near(
    actual.mean,
    mean + offset,
    (isFloat32 ? 5e-6 * std : 0) + 1e-12 * Math.hypot(mean, std),
    'mean',
  );
  near(
    actual.variance,
    variance,
    ((isFloat32 ? 6.5e-5 : 1e-12) + condition) * variance,
    'variance',
  );
  near(actual.l1Norm, absolutes.total, (isFloat32 ? 2e-6 : 1e-12) * absolutes.total, 'l1Norm');
}

describe.skipIf(!isLong)('10^8 elements (runs with QUARK_LONG=1)', () => {
  let kernels: Kernels;
  let here: Kernels;
  beforeAll(async () => {
    kernels = await createKernels({ inlineBytes: 0 });
    here = await createKernels({ workers: 0 });
  });
  afterAll(async () => Promise.all([kernels.close(), here.close()]));

  test.each([
    ['float32', () => fill(new Float32Array(LENGTH), 0.5, 2), true],
    ['float32 far from zero', () => fill(new Float32Array(LENGTH), 1e6, 1), true],
    [
      'float64, mean 10^6 and deviation 10^-3',
      () => fill(new Float64Array(LENGTH), 1e6, 1e-3),
      false,
    ],
  ] as const)(
    'statistics of %s, the same bits wherever they are computed',
    async (_name, make, isFloat32) => {
      const data = make();
      const stats = await kernels.tensorStats(data);
      expectStats(stats, data, isFloat32);
      expect(await here.tensorStats(data)).toEqual(stats);
    },
    TIMEOUT_MS,
  );

  test(
    'histograms, samples and units, as plain JavaScript counts them',
    async () => {
      const data = fill(new Float32Array(LENGTH), 0.01, 1);
      for (const options of [
        { bins: 64, range: { min: -2, max: 2 } },
        { scale: 'log_magnitude', binsPerOctave: 4 },
        { bins: 64, range: { min: -2, max: 2 }, maxHistogramValues: 100_000 },
      ] as const) {
        const wanted = jsKernel.histogram(data, options);
        expect(await kernels.histogram(data, options)).toEqual(wanted);
        expect(await here.histogram(data, options)).toEqual(wanted);
      }
      for (const options of [
        { units: 100, epsilon: 0.01 },
        { units: 1, epsilon: 0.01 },
        { units: 1_000_000, epsilon: 0.01 },
        { units: 50, innerSize: 2500, epsilon: 0.01 },
      ]) {
        const { means: wanted, ...exact } = jsKernel.tensorUnitStats(data, options);
        const { means, ...found } = await kernels.tensorUnitStats(data, options);
        expect(found).toEqual(exact);
        // Both are within 1e-12 of the mean |x|, which is 0.8.
        let worst = 0;
        means.forEach((mean, unit) => {
          worst = Math.max(worst, Math.abs(mean - (wanted[unit] ?? 0)));
        });
        expect(worst).toBeLessThanOrEqual(2e-12);
      }
    },
    TIMEOUT_MS,
  );
});
