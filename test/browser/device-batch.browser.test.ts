/** Summaries made by WebGL programs against plain loops: tensors of several chunks, values that are not finite, samples. */
import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { TfDeviceBatch } from '../../src/adapters/tfjs/device-batch.ts';
import { TfTensorRef } from '../../src/adapters/tfjs/tfjs-tensor.ts';
import type { DeviceResult, ReductionRequest } from '../../src/instruments/probes/model-source.ts';
import { deadUnitsOf } from '../../src/kernel/tensor/reductions.ts';

beforeAll(async () => {
  tf.enableProdMode();
  expect(await tf.setBackend('webgl')).toBe(true);
});

/** Values that look random; every seventh row of eleven is 0, some are not finite. */
const valuesOf = (length: number, bad: number): Float32Array =>
  Float32Array.from({ length }, (_, i) => {
    if (bad > 0 && i % bad === 5) return [Number.NaN, Infinity, -Infinity][i % 3] ?? 0;
    return i % 11 === 7 ? 0 : Math.fround(3 * Math.sin(i * 12.9898) + 0.5);
  });

const ref = (x: tf.Tensor): TfTensorRef => new TfTensorRef(tf, x);

async function only(add: (batch: TfDeviceBatch) => void): Promise<DeviceResult> {
  const before = tf.memory().numTensors;
  const batch = new TfDeviceBatch(tf);
  add(batch);
  const [result] = await batch.read();
  expect(tf.memory().numTensors).toBe(before);
  if (result === undefined) throw new RangeError('one result');
  return result;
}

function near(found: number | null | undefined, wanted: number, scale = Math.abs(wanted)): void {
  expect(found).toBeTypeOf('number');
  expect(Math.abs((found ?? Number.NaN) - wanted)).toBeLessThanOrEqual(1e-4 * scale + 1e-9);
}

function check(
  { summary }: DeviceResult,
  values: Float32Array,
  shape: readonly number[],
  { epsilon, threshold, unitAxis, histogram }: ReductionRequest,
  stride = 1,
): void {
  const finite = values.filter(Number.isFinite);
  const mean = finite.reduce((sum, x) => sum + x, 0) / finite.length;
  const variance = finite.reduce((sum, x) => sum + (x - mean) ** 2, 0) / finite.length;
  const std = Math.sqrt(variance);
  expect(summary?.elementCount).toBe(values.length);
  expect(summary?.nonFiniteCount).toBe(values.length - finite.length);
  near(summary?.mean, mean, std + Math.abs(mean));
  near(summary?.variance, variance, variance + 1e-12);
  near(summary?.std, std);
  near(summary?.l2Norm, Math.sqrt(finite.reduce((sum, x) => sum + x * x, 0)));
  expect(summary?.min).toBe(finite.reduce((a, b) => Math.min(a, b)));
  expect(summary?.max).toBe(finite.reduce((a, b) => Math.max(a, b)));
  const share = (isIn: (x: number) => boolean): number =>
    finite.filter(isIn).length / finite.length;
  near(
    summary?.nearZeroRatio,
    share((x) => Math.abs(x) <= epsilon),
  );
  if (threshold === null) expect(summary?.saturatedRatio).toBeNull();
  else
    near(
      summary?.saturatedRatio,
      share((x) => Math.abs(x) >= threshold),
    );
  if (unitAxis !== null)
    expect(summary?.deadUnits).toStrictEqual(deadUnitsOf(values, shape, unitAxis, epsilon));
  if (histogram === null) return;
  const sample = values.filter((_, i) => i % stride === 0).filter(Number.isFinite);
  const found = summary?.histogram;
  expect(found?.sampleCount).toBe(sample.length);
  const [least, greatest] = [Math.min(...sample), Math.max(...sample)];
  const { bins } = histogram;
  expect(found?.counts).toHaveLength(bins);
  expect(found?.edges[0]).toBeCloseTo(least, 5);
  expect(found?.edges[bins]).toBeCloseTo(greatest, 5);
  // A value on an edge may fall to either side of it in float32.
  let below = 0;
  for (let bin = 0; bin < bins - 1; bin++) {
    below += found?.counts[bin] ?? 0;
    const edge = least + ((greatest - least) * (bin + 1)) / bins;
    expect(below).toBeGreaterThanOrEqual(sample.filter((x) => x < edge - 1e-5).length);
    expect(below).toBeLessThanOrEqual(sample.filter((x) => x < edge + 1e-5).length);
  }
}

const PLAIN: ReductionRequest = { epsilon: 0.25, threshold: 2.5, unitAxis: null, histogram: null };

describe.each([0, 13])('every %i-th value not finite', (bad) => {
  it.each([
    { shape: [1], request: PLAIN },
    { shape: [127], request: { ...PLAIN, threshold: null, epsilon: 0 } },
    { shape: [129], request: { ...PLAIN, histogram: { bins: 7, maxValues: 1000 } } },
    { shape: [22, 11], request: { ...PLAIN, epsilon: 0, unitAxis: 1 } },
    { shape: [3, 11, 4, 5], request: { ...PLAIN, epsilon: 4, unitAxis: 1 } },
    { shape: [300, 1000], request: { ...PLAIN, unitAxis: 1 } },
    {
      shape: [5000],
      request: { ...PLAIN, histogram: { bins: 16, maxValues: 1700 } },
      stride: 3,
    },
    { shape: [40, 5], request: { ...PLAIN, histogram: { bins: 1, maxValues: 1000 } } },
  ])('$shape', async ({ shape, request, stride = 1 }) => {
    const values = valuesOf(
      shape.reduce((product, size) => product * size, 1),
      bad,
    );
    const x = tf.tensor(values, shape);
    check(await only((batch) => batch.summarize(ref(x), request)), values, shape, request, stride);
    x.dispose();
  });

  it('a change, and the angle between two tensors', async () => {
    const a = valuesOf(3000, bad);
    const b = a.map((x, i) => Math.fround(0.5 * x + Math.cos(i)));
    const [x, y] = [tf.tensor2d(a, [30, 100]), tf.tensor2d(b, [30, 100])];
    for (const [request, stride] of [
      [{ ...PLAIN, histogram: null }, 1],
      [{ ...PLAIN, histogram: { bins: 9, maxValues: 4000 } }, 1],
      [{ ...PLAIN, histogram: { bins: 9, maxValues: 600 } }, 5],
    ] as const) {
      const result = await only((batch) => batch.summarizeChange(ref(x), ref(y), request));
      const update = a.map((value, i) => value - (b[i] ?? 0));
      check(result, update, [30, 100], request, stride);
      near(result.beforeNorm, Math.hypot(...b.filter(Number.isFinite)));
    }
    if (bad === 0) {
      const dot = a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0);
      const { cosine } = await only((batch) => batch.compare(ref(x), ref(y)));
      near(cosine, dot / Math.hypot(...a) / Math.hypot(...b), 1);
    }
    tf.dispose([x, y]);
  });
});

it('nothing but NaN has no statistics, all zero has no angle', async () => {
  const nan = tf.tensor1d(new Float32Array(200).fill(Number.NaN));
  const zero = tf.zeros([200]);
  const { summary } = await only((batch) => batch.summarize(ref(nan), PLAIN));
  expect(summary).toMatchObject({ nonFiniteCount: 200, mean: null, min: null, l2Norm: 0 });
  expect((await only((batch) => batch.compare(ref(zero), ref(zero)))).cosine).toBeNull();
  tf.dispose([nan, zero]);
});

it('a summary takes one program, with dead units and a histogram three', async () => {
  const x = tf.tensor2d(valuesOf(2000, 0), [20, 100]);
  // Onto the device, which is not the summary's doing.
  tf.add(x, 1).dispose();
  const run = vi.spyOn(
    tf.backend() as tf.KernelBackend & { compileAndRun: () => void },
    'compileAndRun',
  );
  const batch = new TfDeviceBatch(tf);
  batch.summarize(ref(x), PLAIN);
  expect(run).toHaveBeenCalledTimes(1);
  batch.summarize(ref(x), { ...PLAIN, unitAxis: 1, histogram: { bins: 8, maxValues: 4000 } });
  expect(run).toHaveBeenCalledTimes(4);
  batch.discard();
  run.mockRestore();
  x.dispose();
});
