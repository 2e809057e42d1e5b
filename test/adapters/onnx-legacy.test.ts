/**
 * The frozen training API. With the real one where it is at hand: artifacts in ../shared/data, and a folder with
 * onnxruntime-web 1.19.2 named by QUARK_ORT_TRAINING (`npm pack onnxruntime-web@1.19.2 onnxruntime-common@1.19.2`).
 * Always with one that does the same by hand.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as current from 'onnxruntime-web';
import { describe, expect, it } from 'vitest';
import { appendToGraph } from '../../src/adapters/onnx/watch/instrument.ts';
import { readOnnxModel } from '../../src/adapters/onnx/file/onnx-reader.ts';
import {
  modelBytes,
  nodeMessage,
  valueInfoMessage,
} from '../../src/adapters/onnx/file/onnx-writer.ts';
import type { OrtTensor, OrtValues } from '../../src/adapters/onnx/ort.ts';
import { ByteWriter } from '../../src/codecs/protobuf/writer.ts';
import {
  buildOnnxTraining,
  openLegacyOnnxTraining,
  openOnnxTrainer,
  type LegacyOrt,
  type LegacyTrainingSession,
} from '../../src/onnx.ts';
import { KeptLayers, KeptParameters } from '../support/layer-watch.ts';

const tensor = (data: readonly number[]): OrtTensor => ({
  type: 'float32',
  dims: [data.length],
  location: 'cpu',
  data: Float32Array.from(data),
  getData: async () => Float32Array.from(data),
  dispose: () => undefined,
});

/** y = w x, loss = y, as onnxruntime writes training models: gradients end in `_grad`, and accumulate. */
function trainModel(): Uint8Array<ArrayBuffer> {
  const graph = new ByteWriter()
    .part(1, nodeMessage('Mul', ['x', 'w'], ['y'], {}, '/scale/Mul'))
    .part(1, nodeMessage('ReduceSum', ['y'], ['loss'], {}, '/loss'))
    .part(1, nodeMessage('Expand', ['loss_grad', 'size'], ['y_grad'], {}, '/loss_Grad/Expand'))
    .part(1, nodeMessage('Mul', ['y_grad', 'x'], ['w_grad'], {}, '/scale_Grad/Mul'))
    .part(
      1,
      nodeMessage(
        'InPlaceAccumulatorV2',
        ['w_grad.buffer', 'w_grad', 'lazy_reset_grad'],
        ['w_grad.out'],
        {},
        'Accumulator',
      ),
    );
  graph
    .part(11, valueInfoMessage('x', 'float32', [2]))
    .part(11, valueInfoMessage('w', 'float32', [2]));
  graph.part(12, valueInfoMessage('loss', 'float32', [])).part(12, valueInfoMessage('w_grad.out'));
  return modelBytes(graph, 17, 8);
}

/** Does by hand what a session of {@link trainModel} does: SGD with a learning rate of 0.5. */
class HandSession implements LegacyTrainingSession {
  readonly trainingOutputNames: readonly string[];
  readonly fetched: unknown[] = [];
  #w = [1, 2];
  #gradient = [0, 0];
  #released = 0;
  readonly #sources = new Map<string, string>();

  constructor(bytes: Uint8Array) {
    const { nodes, outputs } = readOnnxModel(bytes);
    for (const { opType, inputs, outputs: to } of nodes)
      if (opType === 'Identity') this.#sources.set(to[0]!, inputs[0]!);
    this.trainingOutputNames = outputs
      .map(({ name }) => name)
      .filter((name) => name === 'loss' || name.startsWith('quark'));
  }

  get released(): number {
    return this.#released;
  }

  async runTrainStep(feeds: OrtValues, asked?: readonly string[] | object): Promise<OrtValues> {
    this.fetched.push(asked);
    const fetches = Array.isArray(asked) || asked === undefined ? asked : Object.keys(asked);
    const x = Array.from(feeds['x']?.data as Float32Array);
    const y = x.map((v, i) => v * this.#w[i]!);
    const values: Record<string, number[]> = {
      y,
      loss: [y[0]! + y[1]!],
      y_grad: [1, 1],
      w_grad: x,
    };
    this.#gradient = this.#gradient.map((g, i) => g + x[i]!);
    return Object.fromEntries(
      (fetches ?? this.trainingOutputNames).map((name) => [
        name,
        tensor(values[this.#sources.get(name) ?? name]!),
      ]),
    );
  }

  async runOptimizerStep(): Promise<void> {
    this.#w = this.#w.map((v, i) => v - 0.5 * this.#gradient[i]!);
  }

  async lazyResetGrad(): Promise<void> {
    this.#gradient = [0, 0];
  }

  async getContiguousParameters(): Promise<OrtTensor> {
    return tensor(this.#w);
  }

  async release(): Promise<void> {
    this.#released += 1;
  }
}

async function open(filters = {}) {
  const sessions: HandSession[] = [];
  const ort = {
    TrainingSession: {
      create: async ({
        trainModel: bytes,
      }: {
        trainModel: Uint8Array;
      }): Promise<LegacyTrainingSession> => {
        sessions.push(new HandSession(bytes));
        return sessions[0]!;
      },
    },
  };
  const training = await openLegacyOnnxTraining(
    ort as LegacyOrt & typeof ort,
    { checkpointState: new Uint8Array(1), trainModel: trainModel() },
    { filters },
  );
  return { training, hand: sessions[0]! };
}

const feeds = { x: tensor([3, 5]) };

describe('openLegacyOnnxTraining', () => {
  it('shows activations, gradients and updates, and hides its own outputs from the caller', async () => {
    const { training, hand } = await open();
    expect(training.source.layers.map(({ name, type }) => [name, type])).toStrictEqual([
      ['/scale/Mul', 'Mul'],
      ['/loss', 'ReduceSum'],
    ]);
    expect(training.source.parameters).toStrictEqual([
      {
        name: 'w',
        moduleName: '/scale/Mul',
        role: 'bias',
        shape: [2],
        dtype: 'float32',
        optimizerGroup: 'default',
      },
    ]);
    expect(training.session.trainingOutputNames).toStrictEqual(['loss']);
    const [layers, parameters] = [
      new KeptLayers(training.source),
      new KeptParameters(training.source),
    ];
    const outputs = await training.session.runTrainStep(feeds);
    expect(Object.keys(outputs)).toStrictEqual(['loss']);
    expect(outputs['loss']?.data).toStrictEqual(Float32Array.of(13));
    await training.session.runOptimizerStep();
    expect(
      Object.fromEntries([...layers.seen].map(([name, { data }]) => [name, data])),
    ).toStrictEqual({
      '/scale/Mul forward': [3, 10],
      '/scale/Mul backward': [1, 1],
      '/loss forward': [13],
    });
    expect(
      Object.fromEntries([...parameters.seen].map(([name, { data }]) => [name, data])),
    ).toStrictEqual({ 'w gradient': [3, 5], 'w before': [1, 2] });
    expect(training.source.readParameter(0).data).toStrictEqual(Float32Array.of(-0.5, -0.5));
    await training.session.release();
    await training.close();
    expect(hand.released).toBe(1);
  });

  it('fetches nothing of its own while nobody looks', async () => {
    const { training, hand } = await open();
    const layers = new KeptLayers(training.source);
    const parameters = new KeptParameters(training.source);
    layers.isActive = false;
    parameters.isActive = false;
    await training.session.runTrainStep(feeds);
    await training.session.runOptimizerStep();
    expect(hand.fetched).toStrictEqual([['loss']]);
    expect(layers.seen.size + parameters.seen.size).toBe(0);
    expect(() => training.source.readParameter(0)).toThrow(/after an optimizer step/);
  });

  it('passes on what the caller asks for as it is', async () => {
    const { training, hand } = await open({ includeTypes: ['Mul'] });
    const layers = new KeptLayers(training.source);
    const own = tensor([0]);
    const captured = [null, null].map((_, i) => `quark_captured_${i}`);
    await training.session.runTrainStep(feeds, { loss: own });
    await training.session.runTrainStep(feeds, { loss: null }, { tag: 'mine' });
    await training.session.runTrainStep(feeds, { tag: 'mine' });
    expect(hand.fetched.splice(0)).toStrictEqual([
      { loss: own, ...Object.fromEntries(captured.map((name) => [name, null])) },
      ['loss', ...captured],
      ['loss', ...captured],
    ]);
    // What onnxruntime throws at reaches it unchanged.
    for (const wrong of [null, [], ['nothing'], 'loss', own])
      await training.session.runTrainStep(feeds, wrong).catch(() => undefined);
    expect(hand.fetched).toStrictEqual([null, [], ['nothing'], 'loss', own]);
    expect(layers.troubles).toStrictEqual([]);
  });

  it('does not pass one of several accumulated gradients off as their sum', async () => {
    const { training } = await open({ includeTypes: ['Mul'] });
    expect(training.source.layers).toHaveLength(1);
    const parameters = new KeptParameters(training.source);
    await training.session.runTrainStep(feeds);
    await training.session.runTrainStep(feeds);
    await training.session.runOptimizerStep();
    expect([...parameters.seen.keys()]).toStrictEqual(['w before']);
    expect(parameters.troubles[0]?.reason).toBe('gradients_accumulated');
    await training.session.lazyResetGrad();
    await training.session.runTrainStep(feeds);
    await training.session.runOptimizerStep();
    expect(parameters.seen.get('w gradient')?.data).toStrictEqual([3, 5]);
  });

  it('refuses a module without the API, and models that train nothing', async () => {
    const artifacts = { checkpointState: '', trainModel: trainModel() };
    await expect(openLegacyOnnxTraining({} as never, artifacts)).rejects.toThrow(
      /1.17 to 1.19.*buildOnnxTraining/,
    );
    const { training } = await open();
    await training.close();
    const inference = modelBytes(
      new ByteWriter().part(1, nodeMessage('Relu', ['x'], ['y'])).part(12, valueInfoMessage('y')),
      17,
      8,
    );
    const ort = { TrainingSession: { create: () => Promise.reject(new Error('not reached')) } };
    await expect(
      openLegacyOnnxTraining(ort, { ...artifacts, trainModel: inference }),
    ).rejects.toThrow(/without gradients/);
    await expect(
      openLegacyOnnxTraining(ort, { ...artifacts, trainModel: trainModel().subarray(0, 90) }),
    ).rejects.toThrow(/complete ONNX file/);
    // Where a parameter begins follows from the sizes of those before it.
    const shapeless = new ByteWriter().part(11, valueInfoMessage('w', 'float32', ['n']));
    const unknown = appendToGraph(trainModel(), shapeless);
    await expect(
      openLegacyOnnxTraining(ort, { ...artifacts, trainModel: unknown }),
    ).rejects.toThrow(/states the shapes of its parameters; got "w"/);
  });
});

const artifactsFolder = new URL(
  '../../../shared/data/onnx-training-seizureguard/',
  import.meta.url,
);
const folder = process.env['QUARK_ORT_TRAINING'];
const modulePath = folder === undefined ? '' : join(folder, 'dist', 'ort.training.wasm.min.mjs');

type OldModule = LegacyOrt & {
  env: { wasm: { numThreads: number }; logLevel: string };
  Tensor: new (type: string, data: unknown, dims: readonly number[]) => OrtTensor;
};

async function oldModule(): Promise<OldModule> {
  const ort = (await import(/* @vite-ignore */ pathToFileURL(modulePath).href)) as OldModule;
  ort.env.wasm.numThreads = 1;
  ort.env.logLevel = 'error';
  return ort;
}

const file = (name: string): Uint8Array =>
  new Uint8Array(readFileSync(new URL(name, artifactsFolder)));

const artifacts = () => ({
  checkpointState: file('checkpoint'),
  trainModel: file('training_model.onnx'),
  evalModel: file('eval_model.onnx'),
  optimizerModel: file('optimizer_model.onnx'),
});

describe.skipIf(!existsSync(artifactsFolder) || !existsSync(modulePath))(
  'onnxruntime-web 1.19.2 on real artifacts (skipped unless QUARK_ORT_TRAINING and ../shared are there)',
  () => {
    it('trains the same to the bit, observed and not', async () => {
      const ort = await oldModule();
      // Noise of two strengths.
      let state = 7;
      const next = (): number => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647 - 0.5;
      const batches = Array.from({ length: 6 }, () => {
        const labels = Array.from({ length: 4 }, () => (next() > 0 ? 1 : 0));
        const input = Float32Array.from(
          { length: 4 * 18 * 1024 },
          (_, i) => next() * (labels[Math.floor(i / 18_432)] === 1 ? 0.02 : 0.01),
        );
        return {
          input: new ort.Tensor('float32', input, [4, 18, 1024]),
          labels: new ort.Tensor('int64', BigInt64Array.from(labels, BigInt), [4]),
        };
      });
      const train = async (session: LegacyTrainingSession): Promise<number[]> => {
        const losses: number[] = [];
        for (const batch of batches) {
          const outputs = await session.runTrainStep(batch);
          losses.push(Number((outputs[session.trainingOutputNames[0]!]!.data as Float32Array)[0]));
          await session.runOptimizerStep();
          await session.lazyResetGrad();
        }
        return losses;
      };
      const plainSession = (await ort.TrainingSession.create(
        artifacts() as never,
      )) as LegacyTrainingSession;
      const plain = await train(plainSession);
      await plainSession.release();
      const training = await openLegacyOnnxTraining(ort, artifacts());
      const [layers, parameters] = [
        new KeptLayers(training.source),
        new KeptParameters(training.source),
      ];
      const observed = await train(training.session as LegacyTrainingSession);
      expect(observed).toStrictEqual(plain);
      expect(training.source.parameters.map(({ name, role }) => [name, role])).toStrictEqual([
        ['classifier.0.weight', 'weight'],
        ['classifier.0.bias', 'bias'],
        ['classifier.1.weight', 'weight'],
        ['classifier.1.bias', 'bias'],
      ]);
      expect(layers.seen.get('/relu1/Relu forward')?.data.every((value) => value >= 0)).toBe(true);
      expect(layers.seen.has('/classifier/classifier.0/Conv backward')).toBe(true);
      // AdamW moves every weight by about the learning rate, against its gradient.
      const [before, gradient] = ['before', 'gradient'].map(
        (kind) => parameters.seen.get(`classifier.1.weight ${kind}`)!.data,
      );
      const after = training.source.readParameter(2).data!;
      expect(gradient).toHaveLength(after.length);
      const moved = [...after].map((value, i) => value - before![i]!);
      expect(moved.some((value) => value !== 0)).toBe(true);
      await training.close();
    }, 120_000);

    it('gives the gradients that our own training graph gives on the current version', async () => {
      const ort = await oldModule();
      const input = Float32Array.from(
        { length: 2 * 18 * 1024 },
        (_, i) => Math.sin(i * 0.37) / 100,
      );
      const session = await openLegacyOnnxTraining(ort, artifacts());
      const [layers, parameters] = [
        new KeptLayers(session.source),
        new KeptParameters(session.source),
      ];
      const batch = {
        input: new ort.Tensor('float32', input, [2, 18, 1024]),
        labels: new ort.Tensor('int64', BigInt64Array.of(0n, 1n), [2]),
      };
      const legacy = session.session as LegacyTrainingSession;
      const outputs = await legacy.runTrainStep(batch);
      await legacy.runOptimizerStep();
      const training = buildOnnxTraining(file('inference.onnx'), {
        loss: { kind: 'softmaxCrossEntropy' },
        optimizer: { kind: 'sgd' },
        isTrainable: (name) => name.startsWith('classifier'),
      });
      current.env.wasm.numThreads = 1;
      const trainer = await openOnnxTrainer(current, training);
      await trainer.loadWeights(
        Object.fromEntries(
          session.source.parameters.map(({ name }) => [
            name,
            Float32Array.from(parameters.seen.get(`${name} before`)!.data),
          ]),
        ),
      );
      const ours = new KeptParameters(trainer.source);
      const oursLayers = new KeptLayers(trainer.source);
      const loss = await trainer.step({ input, y: Int32Array.of(0, 1) });
      const wanted = Number((outputs[legacy.trainingOutputNames[0]!]!.data as Float32Array)[0]);
      expect(Math.abs(loss - wanted) / Math.max(1, wanted)).toBeLessThan(1e-5);
      const compare = (found: readonly number[], other: readonly number[], what: string): void => {
        const size = other.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-6);
        expect(found, what).toHaveLength(other.length);
        expect(
          found.reduce((most, value, i) => Math.max(most, Math.abs(value - other[i]!)), 0) / size,
          what,
        ).toBeLessThan(1e-4);
      };
      for (const { name } of session.source.parameters)
        compare(
          ours.seen.get(`${name} gradient`)!.data,
          parameters.seen.get(`${name} gradient`)!.data,
          name,
        );
      for (const [name, { data }] of layers.seen) {
        const other = oursLayers.seen.get(name)?.data;
        if (other !== undefined) compare(other, data, name);
      }
      expect(
        [...layers.seen.keys()].filter((name) => oursLayers.seen.has(name)).length,
      ).toBeGreaterThan(8);
      await trainer.close();
      await session.close();
    }, 120_000);
  },
);
