/** Models that were exported for one sample take several, or are refused with the nodes that hold the batch. */
import * as ort from 'onnxruntime-web';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  buildOnnxTraining,
  freeOnnxBatch,
  openOnnxModel,
  openOnnxTrainer,
  type OnnxTrainingConfig,
} from '../../src/onnx.ts';
import { conv, gemm, torchFile } from '../onnx/models/images.ts';
import { frozenAttention, frozenCnn, frozenLstm } from '../onnx/models/frozen.ts';

beforeAll(() => {
  ort.env.wasm.numThreads = 1;
  ort.env.logLevel = 'error';
});

const CLASSIFY: OnnxTrainingConfig = {
  loss: { kind: 'softmaxCrossEntropy' },
  optimizer: { kind: 'sgd', learningRate: 0.1 },
};
const numbers = (count: number, seed: number): Float32Array =>
  Float32Array.from({ length: count }, (_, i) => Math.cos(i * seed));

/** Outputs of samples one by one by the first file, and at once by the second. */
async function bothRuns(
  file: Uint8Array,
  freed: Uint8Array,
  shape: readonly number[],
): Promise<[number[], number[]]> {
  const size = shape.reduce((product, n) => product * n, 1);
  const all = numbers(5 * size, 0.7);
  const [one, many] = [
    await ort.InferenceSession.create(file, { logSeverityLevel: 3 }),
    await ort.InferenceSession.create(freed, { logSeverityLevel: 3 }),
  ];
  const singles: number[] = [];
  for (let i = 0; i < 5; i += 1) {
    const x = new ort.Tensor('float32', all.slice(i * size, (i + 1) * size), [1, ...shape]);
    singles.push(...((await one.run({ input: x }))['output']?.data as Float32Array));
  }
  const outputs = await many.run({ input: new ort.Tensor('float32', all, [5, ...shape]) });
  expect(outputs['output']?.dims[0]).toBe(5);
  return [singles, Array.from(outputs['output']?.data as Float32Array)];
}

describe('freeOnnxBatch', () => {
  it.each([
    ['a convolution and a Reshape', frozenCnn, [3, 8, 8]],
    ['attention whose shapes are all constants', frozenAttention, [6, 8]],
    ['an LSTM whose length comes first', frozenLstm, [5, 4]],
  ] as const)(
    'frees %s: several samples give what each of them gives',
    async (_name, make, shape) => {
      const file = make();
      const copy = file.slice();
      const freed = await freeOnnxBatch(ort, file, { sessionOptions: { logSeverityLevel: 3 } });
      expect(file).toStrictEqual(copy);
      const [singles, together] = await bothRuns(file, freed, shape);
      expect(together).toHaveLength(singles.length);
      for (const [i, value] of singles.entries()) expect(together[i]).toBeCloseTo(value, 5);
      await (await openOnnxModel(ort, freed, { strict: true })).close();
      const trainer = await openOnnxTrainer(ort, buildOnnxTraining(freed, CLASSIFY));
      const size = shape.reduce<number>((product, n) => product * n, 1);
      const batch = { input: numbers(4 * size, 1.3), y: Int32Array.of(0, 1, 2, 3) };
      const first = await trainer.step(batch);
      for (let step = 0; step < 10; step += 1) await trainer.step(batch);
      expect(await trainer.step(batch)).toBeLessThan(first);
      await trainer.close();
    },
  );

  it('is named where a batch of several samples comes', async () => {
    const trainer = await openOnnxTrainer(ort, buildOnnxTraining(frozenCnn(), CLASSIFY));
    const batch = {
      input: new ort.Tensor('float32', numbers(384, 1), [2, 3, 8, 8]),
      y: Int32Array.of(0),
    };
    await expect(trainer.step(batch)).rejects.toThrow(
      /batch\.input must be of shape \[1, 3, 8, 8\], as the model was exported for one sample: freeOnnxBatch/,
    );
    await trainer.close();
  });

  it('gives a model whose batch is free as it is', async () => {
    const f = torchFile(13);
    f.input('input', ['batch', 6]);
    f.output(gemm(f, 'input', 'fc', [4, 6], 'output'), ['batch', 4]);
    const file = f.finish();
    expect(await freeOnnxBatch(ort, file)).toStrictEqual(file);
  });

  it('refuses a model that mixes samples, and names the nodes', async () => {
    const f = torchFile(13);
    f.input('input', [1, 3, 8, 8]);
    const y = conv(f, 'input', 'conv1', [4, 3, 3]);
    f.at('');
    const image = f.op('Squeeze', [y, f.constantInts([0])]);
    const rows = f.op('Reshape', [image, f.constantInts([4, 64])]);
    const gram = f.op('MatMul', [rows, f.op('Transpose', [rows], { perm: [1, 0] })]);
    f.output(f.op('Reshape', [gram, f.constantInts([1, 16])], {}, 'output'), [1, 16]);
    const refused = freeOnnxBatch(ort, f.finish(), { sessionOptions: { logSeverityLevel: 4 } });
    await expect(refused).rejects.toMatchObject({
      code: 'unsupported',
      details: { reason: 'frozen_batch', inputs: ['input'] },
    });
    await expect(refused).rejects.toThrow(/Squeeze "\/Squeeze_output_0".*Reshape.*dynamic batch/s);
  });

  it('refuses what is computed over the batch, though it runs', async () => {
    const f = torchFile(13);
    f.input('input', [1, 6]);
    const y = gemm(f, 'input', 'fc', [4, 6]);
    f.at('');
    const mean = f.op('ReduceMean', [y], { axes: [0], keepdims: 1 });
    f.output(f.op('Add', [y, mean], {}, 'output'), [1, 4]);
    await expect(freeOnnxBatch(ort, f.finish())).rejects.toThrow(/"output" differs/);
  });

  it('compares with the samples that it is given, two or more', async () => {
    const sample = (seed: number) => ({
      input: new ort.Tensor('float32', numbers(192, seed), [1, 3, 8, 8]),
    });
    const file = frozenCnn();
    const freed = await freeOnnxBatch(ort, file, { samples: [sample(0.3), sample(0.4)] });
    expect(freed).toStrictEqual(await freeOnnxBatch(ort, file));
    await expect(freeOnnxBatch(ort, file, { samples: [sample(1)] })).rejects.toThrow(
      /options\.samples must be two samples or more/,
    );
  });

  it('refuses bytes that are no model', async () => {
    await expect(freeOnnxBatch(ort, Uint8Array.of(1, 2, 3))).rejects.toMatchObject({
      code: 'invalid_input',
    });
  });
});
