import { describe, expect, it } from 'vitest';
import { createMemoryStore, openRun, TrainingSession } from 'quark-sdk';
import { DataDiagnostics } from 'quark-sdk/probes';
import { BatchSketch, sketchTensor } from '../../../src/instruments/diagnostics/batch-sketch.ts';
import { normal, random } from '../../support/analysis-runs.ts';

const tensor = (samples: readonly (readonly number[])[]) => ({
  shape: [samples.length, samples[0]?.length ?? 0],
  data: Float32Array.from(samples.flat()),
});

/** Rows of `width` normal numbers. */
function rows(count: number, width: number, seed: number): number[][] {
  const gauss = normal(seed);
  return Array.from({ length: count }, () => Array.from({ length: width }, () => gauss()));
}

describe('BatchSketch', () => {
  it('counts classes of one-hot rows and of whole numbers, and tells the spread of others', () => {
    const inputs = [tensor(rows(3, 2, 1))];
    const target = (data: readonly (readonly number[])[]) =>
      new BatchSketch().train(inputs, tensor(data), 0);
    expect(
      target([
        [0, 1],
        [1, 0],
        [0, 1],
      ]).classCounts,
    ).toStrictEqual({ 0: 1, 1: 2 });
    expect(target([[2], [0], [2]]).classCounts).toStrictEqual({ 0: 1, 2: 2 });
    const spread = target([[1.5], [0.5], [2.5]]);
    expect(spread.classCounts).toBeNull();
    expect(spread.targets).toStrictEqual({ min: 0.5, max: 2.5, mean: 1.5, std: Math.sqrt(2 / 3) });
    // A distribution is no class, and a number that is not finite says nothing.
    expect(
      target([
        [0.2, 0.8],
        [1, 0],
        [0, 1],
      ]).classCounts,
    ).toBeNull();
    expect(target([[Number.NaN], [0.5], [1.5]]).targets?.mean).toBe(1);
  });

  it('compares every input with the target as the formula of Pearson does, over all batches', () => {
    const sketch = new BatchSketch();
    const all = rows(120, 3, 2);
    const gauss = normal(3);
    const targets = all.map(([, b = 0]) => 2 * b + 0.5 * gauss());
    for (let from = 0; from < 120; from += 40)
      sketch.train(
        [tensor(all.slice(from, from + 40))],
        tensor(targets.slice(from, from + 40).map((value) => [value])),
        0,
      );
    const found = sketch.correlation();
    const x = all.map((row) => Math.fround(row[1] ?? 0));
    const y = targets.map(Math.fround);
    const mean = (list: readonly number[]) => list.reduce((a, b) => a + b, 0) / list.length;
    const along = (a: readonly number[], b: readonly number[]) =>
      a.reduce((sum, value, i) => sum + (value - mean(a)) * ((b[i] ?? 0) - mean(b)), 0);
    expect(found?.input).toBe(1);
    expect(found?.correlation).toBeCloseTo(along(x, y) / Math.sqrt(along(x, x) * along(y, y)), 10);
    expect(found).toMatchObject({ inputCount: 3, sampleCount: 120 });
  });

  it('says nothing of a single input, of series, of what is to be given back, and of inputs that never change', () => {
    const values = rows(30, 2, 4);
    const first = tensor(values.map(([a = 0]) => [a]));
    const same = tensor(values);
    const series = { shape: [30, 2, 1], data: same.data };
    for (const [input, target] of [
      [first, first],
      [same, same],
      [series, first],
      [tensor(values.map(() => [1, 0])), first],
    ] as const) {
      const sketch = new BatchSketch();
      sketch.train([input], target, 0);
      expect(sketch.correlation()).toBeUndefined();
    }
  });

  it('finds the samples that come again in the validation, whatever the batches', () => {
    const next = random(5);
    const samples = rows(200, 70, 6);
    const others = rows(50, 70, 7);
    const sketch = new BatchSketch();
    for (let from = 0; from < 200; from += 33)
      sketch.train([tensor(samples.slice(from, from + 33))], undefined, 0);
    sketch.train([tensor(others)], undefined, 1);
    const known = Array.from({ length: 30 }, () => samples[Math.floor(200 * next())] ?? []);
    sketch.validate([tensor([...known, ...rows(90, 70, 8)])]);
    expect(sketch.takeOverlap()).toStrictEqual({ validation: 0.25, repeated: 0 });
    // Each validation by itself.
    expect(sketch.takeOverlap()).toBeUndefined();
  });

  it('tells how often samples are alike by themselves', () => {
    const sketch = new BatchSketch();
    sketch.train(
      [
        tensor([
          [1, 2],
          [1, 2],
          [3, 4],
          [1, 2],
        ]),
      ],
      undefined,
      0,
    );
    sketch.validate([
      tensor([
        [1, 2],
        [9, 9],
      ]),
    ]);
    expect(sketch.takeOverlap()).toStrictEqual({ validation: 0.5, repeated: 0.5 });
  });

  it('refuses what is no tensor on the host', () => {
    for (const [value, field] of [
      [[1, 2], 'inputs'],
      [{ shape: [], data: [] }, 'inputs.shape'],
      [{ shape: [2, 2], data: [1, 2] }, 'inputs.data'],
      [{ shape: [1], data: ['a'] }, 'inputs.data'],
    ] as const)
      expect(() => sketchTensor('inputs', value)).toThrow(
        expect.objectContaining({
          code: 'invalid_input',
          details: expect.objectContaining({ field }),
        }),
      );
  });
});

describe('DataDiagnostics with inputs and targets', () => {
  it('records classes and spreads with the batch, and metrics after the epoch', async () => {
    const store = createMemoryStore();
    const session = await TrainingSession.startRun({
      project: 'sketch',
      storage: store,
      handleSignals: false,
    });
    const batches = new DataDiagnostics(session);
    const inputs = tensor([
      [1, 5],
      [2, 1],
      [3, 2],
    ]);
    const targets = tensor([[1.5], [2.5], [3.5]]);
    const record = batches.logBatch(0.5, {
      step: 0,
      epoch: 0,
      inputs,
      targets,
      metadata: { target_min: 0, note: 1 },
    });
    expect(record.batchSize).toBe(3);
    expect(record.metadata).toStrictEqual({
      target_min: 0,
      target_max: 3.5,
      target_mean: 2.5,
      target_std: Math.sqrt(2 / 3),
      note: 1,
    });
    expect(() => batches.logBatch(0.5, { inputs: { shape: [2, 2], data: [1] } })).toThrow(
      /inputs\.data/,
    );
    batches.addValidation([
      tensor([
        [1, 5],
        [7, 7],
      ]),
    ]);
    batches.logEpoch({ step: 0, epoch: 0 });
    await batches.close();
    await session.endRun();
    const keys = (await (await openRun(store, session.runId)).metricKeys()).toSorted();
    expect(keys).toStrictEqual([
      'data/input_target_correlation',
      'data/most_correlated_input',
      'data/repeated_samples',
      'data/validation_overlap',
    ]);
  });
});
