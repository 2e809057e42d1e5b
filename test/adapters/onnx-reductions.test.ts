/** Statistics that a graph computes where tensors lie, against the kernels; here on wasm, in a page also on WebGPU. */
import * as ort from 'onnxruntime-web';
import fc from 'fast-check';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { DeviceReductions } from '../../src/adapters/onnx/train/device-reductions.ts';
import { DeviceTensors } from '../../src/adapters/onnx/train/device-tensors.ts';
import type { OrtTensor } from '../../src/adapters/onnx/ort.ts';
import { jsKernel } from '../../src/kernel/tensor/js-kernel.ts';
import type {
  DeviceBatch,
  ReductionRequest,
  TensorSummary,
} from '../../src/instruments/probes/model-source.ts';
import { deadUnitsOf, histogramOf, summaryOf } from '../../src/kernel/tensor/reductions.ts';
import { runs } from '../support/property.ts';

beforeAll(() => {
  ort.env.wasm.numThreads = 1;
  ort.env.logLevel = 'error';
});

const NOTHING: ReductionRequest = { epsilon: 0, threshold: null, unitAxis: null, histogram: null };

function open(): {
  tensors: DeviceTensors;
  reductions: DeviceReductions;
  created: () => number;
  batch: () => DeviceBatch;
} {
  const tensors = new DeviceTensors();
  let created = 0;
  const reductions = new DeviceReductions(tensors, async (bytes) => {
    created += 1;
    return await ort.InferenceSession.create(bytes);
  });
  return {
    tensors,
    reductions,
    created: () => created,
    batch: () => reductions.openBatch((work) => work()),
  };
}

const tensorOf = (data: ArrayLike<number>, shape: readonly number[]): OrtTensor =>
  new ort.Tensor('float32', Float32Array.from(data), shape);

/** Float32 sums: 1e-5 of the size of what is added up. */
function expectClose(found: TensorSummary | null | undefined, wanted: TensorSummary): void {
  const close = (a: number | null | undefined, b: number | null, size: number): void => {
    if (b === null) expect(a).toBeNull();
    else expect(Math.abs((a ?? Number.NaN) - b)).toBeLessThanOrEqual(1e-5 * Math.max(size, 1e-30));
  };
  const size = wanted.l2Norm;
  for (const key of ['elementCount', 'nonFiniteCount', 'min', 'max', 'deadUnits'] as const)
    expect(found?.[key], key).toStrictEqual(wanted[key]);
  close(found?.mean, wanted.mean, size);
  close(found?.l2Norm, wanted.l2Norm, size);
  close(found?.std, wanted.std, size);
  close(found?.nearZeroRatio, wanted.nearZeroRatio, 1);
  close(found?.saturatedRatio, wanted.saturatedRatio, 1);
}

function wantedOf(
  data: Float32Array,
  shape: readonly number[],
  request: ReductionRequest,
): TensorSummary {
  const { epsilon, threshold, unitAxis, histogram } = request;
  const stats = jsKernel.tensorStats(data, { epsilon, threshold });
  const units = unitAxis === null ? null : deadUnitsOf(data, shape, unitAxis, epsilon);
  const bins = histogram === null ? null : histogramOf(jsKernel, data, 'float32', histogram);
  return summaryOf(stats, units, bins);
}

describe('reductions in a graph', () => {
  it('agree with the kernels on tensors of any shape, with NaN and infinities', async () => {
    const value = fc.oneof(
      { weight: 8, arbitrary: fc.double({ min: -100, max: 100, noNaN: true }) },
      {
        weight: 1,
        arbitrary: fc.constantFrom(0, Number.NaN, Infinity, -Infinity, 1e-8, 1e-25, 1e30),
      },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 4 }),
        fc.infiniteStream(value),
        fc.constantFrom(0, 0.5, 1e-8),
        fc.constantFrom(null, 0.95, 50),
        async (shape, stream, epsilon, threshold) => {
          const size = shape.reduce((product, n) => product * n, 1);
          const data = Float32Array.from({ length: size }, () => stream.next().value as number).map(
            (v) => (Math.abs(v) < 1e-30 ? 0 : v),
          );
          const request = {
            epsilon: Math.fround(epsilon),
            threshold: threshold === null ? null : Math.fround(threshold),
            unitAxis: shape.length > 1 ? 1 : null,
            histogram: null,
          };
          const { tensors, batch, reductions } = open();
          const one = batch();
          one.summarize(tensors.referOnDevice(tensorOf(data, shape)), request);
          const [result] = await one.read();
          expectClose(result?.summary, wantedOf(data, shape, request));
          await reductions.close();
        },
      ),
      runs(25),
    );
  });

  it('agree on histograms, of samples and of equal values', async () => {
    const { tensors, batch, reductions } = open();
    const cases = [
      Float32Array.from({ length: 500 }, (_, i) => Math.sin(i) * 3),
      Float32Array.from({ length: 40 }, () => 2),
      Float32Array.from([Number.NaN, 1, 2, Infinity, 4]),
    ];
    const request = { ...NOTHING, histogram: { bins: 16, maxValues: 200 } };
    const one = batch();
    for (const data of cases)
      one.summarize(tensors.referOnDevice(tensorOf(data, [data.length])), request);
    const results = await one.read();
    for (const [i, data] of cases.entries()) {
      const wanted = wantedOf(data, [data.length], request).histogram!;
      const found = results[i]!.summary!.histogram!;
      expect(found.sampleCount).toBe(wanted.sampleCount);
      for (const [bin, edge] of wanted.edges.entries())
        expect(found.edges[bin]).toBeCloseTo(edge, 5);
      // A value on an edge may fall to either side of it in float32.
      const moved = found.counts.reduce(
        (total, count, bin) => total + Math.abs(count - wanted.counts[bin]!),
        0,
      );
      expect(moved).toBeLessThanOrEqual(2);
    }
    await reductions.close();
  });

  it('gives changes and angles, feeds each tensor once and keeps the session', async () => {
    const { tensors, batch, reductions, created } = open();
    const [a, b] = [Float32Array.of(1, 2, -2, 4), Float32Array.of(0.5, 2, -1, 3)];
    for (let i = 0; i < 3; i += 1) {
      const [now, was] = [
        tensors.referOnDevice(tensorOf(a, [2, 2])),
        tensors.referOnDevice(tensorOf(b, [2, 2])),
      ];
      const one = batch();
      one.summarizeChange(now, was, NOTHING);
      one.compare(now, was);
      one.summarize(was, NOTHING);
      const [change, angle, value] = await one.read();
      expectClose(
        change?.summary,
        wantedOf(
          a.map((v, at) => v - b[at]!),
          [2, 2],
          NOTHING,
        ),
      );
      expect(change?.beforeNorm).toBeCloseTo(Math.hypot(...b), 5);
      expect(angle?.cosine).toBeCloseTo((0.5 + 4 + 2 + 12) / (5 * Math.hypot(...b)), 5);
      expectClose(value?.summary, wantedOf(b, [2, 2], NOTHING));
    }
    expect(created()).toBe(1);
    const zero = batch();
    zero.compare(
      tensors.referOnDevice(tensorOf([0, 0], [2])),
      tensors.referOnDevice(tensorOf([1, 1], [2])),
    );
    expect((await zero.read())[0]?.cosine).toBeNull();
    expect(await batch().read()).toStrictEqual([]);
    expect(() =>
      batch().summarize({ shape: [1], dtype: 'float32', data: undefined }, NOTHING),
    ).toThrow(/cannot be reduced/);
    await reductions.close();
  });
});

describe('a device that fails', () => {
  it('is told from one whose tensors are all zero', async () => {
    const tensors = new DeviceTensors(true);
    const zeros = { reduced: tensorOf(new Float32Array(20), [20]) };
    const reductions = new DeviceReductions(tensors, async () => ({
      inputNames: [],
      outputNames: [],
      run: async () => zeros,
      release: async () => undefined,
    }));
    const one = reductions.openBatch((work) => work());
    one.summarize(tensors.refer(tensorOf([1, 2], [2])), NOTHING);
    await expect(one.read()).rejects.toThrow(/may have run out of a limit/);
  });
});

describe('tensors on a device', () => {
  const onDevice = () => ({
    type: 'float32',
    dims: [1],
    location: 'gpu-buffer',
    data: undefined,
    getData: async () => undefined,
    dispose: vi.fn<() => void>(),
  });

  it('are freed when the last one who holds them lets go', () => {
    const tensors = new DeviceTensors();
    const tensor = onDevice();
    tensors.hold(tensor);
    const ref = tensors.refer(tensor);
    expect(ref.data).toBeUndefined();
    const kept = ref.retain!();
    const again = kept.retain!();
    tensors.drop(tensor);
    kept.release();
    expect(tensor.dispose).not.toHaveBeenCalled();
    expect(tensors.tensorOf(again)).toBe(tensor);
    again.release();
    expect(tensor.dispose).toHaveBeenCalledTimes(1);
    expect(tensors.count).toBe(0);
    tensors.drop(tensor);
    expect(tensor.dispose).toHaveBeenCalledTimes(1);
  });

  it('are held by a batch until it is read or given up', () => {
    const { tensors, batch } = open();
    const tensor = onDevice();
    tensors.hold(tensor);
    const one = batch();
    one.summarize(tensors.refer(tensor), NOTHING);
    one.summarize(tensors.refer(tensor), NOTHING);
    tensors.drop(tensor);
    expect(tensor.dispose).not.toHaveBeenCalled();
    one.discard();
    expect(tensor.dispose).toHaveBeenCalledTimes(1);
  });
});
