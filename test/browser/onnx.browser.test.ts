/** onnxruntime-web in a page: the same training on wasm and on WebGPU, weights kept on the device, observed there. */
import * as ort from 'onnxruntime-web/webgpu';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import {
  buildOnnxTraining,
  openOnnxModel,
  openOnnxTrainer,
  type OnnxLayersModel,
  type OnnxTrainer,
} from '../../src/onnx.ts';
import { HookEngine } from '../../src/instruments/probes/hook-engine.ts';
import { ParameterDiagnostics } from '../../src/instruments/probes/parameter-diagnostics.ts';
import type { LayerSummaryRecord } from '../../src/records/layer-summary.ts';
import type { ParameterSummaryRecord } from '../../src/records/parameter-summary.ts';
import { TrainingSession } from '../../src/session/training-session.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import { KeptLayers } from '../support/layer-watch.ts';
import { casesOf } from '../support/long.ts';
import { isWhole } from '../support/property.ts';

beforeAll(() => {
  ort.env.wasm.wasmPaths = new URL('/node_modules/onnxruntime-web/dist/', location.origin).href;
  ort.env.wasm.numThreads = 1;
  ort.env.logLevel = 'error';
});

type Provider = 'wasm' | 'webgpu';

const IMAGES: OnnxLayersModel = {
  inputShape: [1, 6, 6],
  layers: [
    { kind: 'conv2d', name: 'conv', filters: 4, size: 3, activation: 'relu' },
    { kind: 'batchNorm', name: 'norm' },
    { kind: 'maxPool2d', name: 'pool', size: 2 },
    { kind: 'flatten', name: 'flat' },
    { kind: 'dense', name: 'hidden', units: 8, activation: 'tanh' },
    { kind: 'layerNorm', name: 'even' },
    { kind: 'dense', name: 'out', units: 3 },
  ],
};
const DENSE: OnnxLayersModel = {
  inputShape: [36],
  layers: [
    { kind: 'dense', name: 'hidden', units: 8, activation: 'relu' },
    { kind: 'dense', name: 'out', units: 3 },
  ],
};

function batch(step: number): { x: Float32Array; y: Int32Array } {
  return {
    x: Float32Array.from({ length: 4 * 36 }, (_, i) => Math.sin(i * 0.7 + step)),
    y: Int32Array.from({ length: 4 }, (_, i) => (i + step) % 3),
  };
}

function open(model: OnnxLayersModel, provider: Provider): Promise<OnnxTrainer> {
  const training = buildOnnxTraining(model, {
    loss: { kind: 'softmaxCrossEntropy' },
    optimizer: { kind: 'adam', learningRate: 0.02 },
  });
  const sessionOptions = { executionProviders: [provider], logSeverityLevel: 3 };
  return openOnnxTrainer(ort, training, { sessionOptions });
}

async function losses(trainer: OnnxTrainer, count: number): Promise<number[]> {
  const found: number[] = [];
  for (let step = 0; step < count; step += 1) found.push(await trainer.step(batch(step)));
  return found;
}

type Observed = {
  losses: number[];
  layers: readonly LayerSummaryRecord[];
  parameters: readonly ParameterSummaryRecord[];
  warnings: number;
};

async function observe(trainer: OnnxTrainer, count: number): Promise<Observed> {
  const session = await TrainingSession.startRun({
    project: 'p',
    storage: createMemoryStore(),
    handleSignals: false,
    strictMode: true,
  });
  const hooks = new HookEngine(session, trainer.source);
  const parameters = new ParameterDiagnostics(session, trainer.source);
  const found: number[] = [];
  for (let step = 0; step < count; step += 1) {
    found.push(await hooks.step(step, {}, () => trainer.step(batch(step))));
    parameters.snapshot(step);
    await Promise.all([hooks.flush(), parameters.flush()]);
  }
  const result = {
    losses: found,
    layers: await hooks.read(),
    parameters: await parameters.readSummaries(),
    warnings: hooks.status.troubles.size + parameters.status.troubles.size,
  };
  await hooks.close();
  await parameters.close();
  await session.endRun('completed');
  return result;
}

/** Sums in another order: 1e-4 of the larger. */
function expectNear(found: number | null, wanted: number | null, what: string): void {
  const size = Math.max(Math.abs(wanted ?? 0), 1e-2);
  expect(Math.abs((found ?? Number.NaN) - (wanted ?? Number.NaN)) / size, what).toBeLessThan(1e-4);
}

describe.runIf(isWhole)('training in a page', () => {
  it('of every kind of layer gives the losses of wasm on WebGPU', async () => {
    const wasm = await open(IMAGES, 'wasm');
    const expected = await losses(wasm, 4);
    await wasm.close();
    const gpu = await open(IMAGES, 'webgpu');
    const found = await losses(gpu, 4);
    for (const [i, loss] of found.entries()) expectNear(loss, expected[i]!, `step ${i}`);
    expect(gpu.source.readParameter(0).data).toBeUndefined();
    await gpu.close();
  }, 180_000);

  it.each(
    casesOf<readonly [string, OnnxLayersModel]>(
      [
        [
          'grouped, dilated and strided convolutions and mean pools',
          {
            inputShape: [2, 6, 3],
            layers: [
              {
                kind: 'conv2d',
                filters: 4,
                size: [3, 2],
                groups: 2,
                padding: 'same',
                activation: 'silu',
              },
              {
                kind: 'conv2d',
                filters: 3,
                size: 2,
                dilations: [2, 1],
                strides: [2, 1],
                activation: 'gelu',
              },
              { kind: 'averagePool2d', size: 2, strides: 1, padding: 'same' },
              { kind: 'globalAveragePool2d' },
              { kind: 'dense', units: 3 },
            ],
          },
        ],
        [
          'piecewise activations',
          {
            inputShape: [36],
            layers: (
              [
                'elu',
                'hardSigmoid',
                'hardSwish',
                'leakyRelu',
                'relu6',
                'selu',
                'softmax',
                'softplus',
                'sigmoid',
              ] as const
            )
              .map((activation) => ({ kind: 'dense', units: 5, activation }) as const)
              .concat([{ kind: 'dense', units: 3 } as never]),
          },
        ],
      ],
      0,
    ),
  )(
    'through %s gives the losses of wasm on WebGPU',
    async (_name, model) => {
      const [wasm, gpu] = [await open(model, 'wasm'), await open(model, 'webgpu')];
      const [expected, found] = [await losses(wasm, 3), await losses(gpu, 3)];
      for (const [i, loss] of found.entries()) expectNear(loss, expected[i]!, `step ${i}`);
      const [a, b] = [await wasm.readWeights(), await gpu.readWeights()];
      for (const [name, values] of Object.entries(a)) {
        if (name.includes('moment')) continue;
        const size = Math.max(...values.map(Math.abs), 1e-2);
        expect(
          Math.max(...values.map((value, i) => Math.abs(value - b[name]![i]!))) / size,
          name,
        ).toBeLessThan(1e-2);
      }
      await wasm.close();
      await gpu.close();
    },
    180_000,
  );

  it('through an embedding gives the losses of wasm on WebGPU', async () => {
    const model: OnnxLayersModel = {
      inputShape: [6],
      inputType: 'int32',
      layers: [
        { kind: 'embedding', vocabulary: 9, dimensions: 4 },
        { kind: 'flatten' },
        { kind: 'dense', units: 3 },
      ],
    };
    const run = async (provider: Provider): Promise<number[]> => {
      const trainer = await open(model, provider);
      const found: number[] = [];
      const x = Int32Array.from({ length: 24 }, (_, i) => (i * i) % 9);
      for (let step = 0; step < 3; step += 1) found.push(await trainer.step({ x, y: batch(0).y }));
      await trainer.close();
      return found;
    };
    const expected = await run('wasm');
    for (const [i, loss] of (await run('webgpu')).entries())
      expectNear(loss, expected[i]!, `step ${i}`);
  }, 180_000);

  it('is observed on the device without changing it', async () => {
    const gpu = await open(DENSE, 'webgpu');
    const plain = await losses(gpu, 4);
    await gpu.close();
    const [observed, wanted] = [
      await observe(await open(DENSE, 'webgpu'), 4),
      await observe(await open(DENSE, 'wasm'), 4),
    ];
    expect(observed.losses).toStrictEqual(plain);
    expect(observed.warnings).toBe(0);
    expect(observed.layers).toHaveLength(wanted.layers.length);
    const layer = (all: Observed, like: LayerSummaryRecord): LayerSummaryRecord | undefined =>
      all.layers.find(
        ({ moduleName, step, hookDirection }) =>
          moduleName === like.moduleName &&
          step === like.step &&
          hookDirection === like.hookDirection,
      );
    for (const like of wanted.layers) {
      const found = layer(observed, like);
      const what = `${like.moduleName} ${like.hookDirection} ${like.step}`;
      for (const key of ['mean', 'std', 'norm', 'deadUnitRatio'] as const)
        if (like[key] !== null) expectNear(found?.[key] ?? null, like[key], `${what} ${key}`);
    }
    for (const like of wanted.parameters) {
      const found = observed.parameters.find(
        ({ parameterName, step }) => parameterName === like.parameterName && step === like.step,
      );
      const what = `${like.parameterName} ${like.step}`;
      for (const key of ['valueNorm', 'gradientNorm', 'valueMean', 'valueMax'] as const)
        expectNear(found?.[key] ?? null, like[key], `${what} ${key}`);
      expectNear(found?.updateNorm ?? null, like.updateNorm, `${what} update`);
    }
  }, 180_000);
});

describe('an inference session on WebGPU', () => {
  it('gives its own outputs, compared at every probe, and its layers', async () => {
    const { predictBytes, parameters, prediction } = buildOnnxTraining(DENSE, {
      loss: { kind: 'meanSquaredError' },
      optimizer: { kind: 'sgd' },
    });
    const feeds: Record<string, ort.Tensor> = { x: new ort.Tensor('float32', batch(1).x, [4, 36]) };
    for (const { name, initial, shape } of parameters)
      feeds[name] = new ort.Tensor('float32', initial, shape);
    const sessionOptions = { executionProviders: ['webgpu'], logSeverityLevel: 3 };
    const plain = await ort.InferenceSession.create(predictBytes, {
      executionProviders: ['webgpu'],
    });
    const wanted = (await plain.run(feeds))[prediction]!.data;
    const create = vi.spyOn(ort.InferenceSession, 'create');
    const model = await openOnnxModel(ort, predictBytes, { sessionOptions, strict: true });
    const own = vi.spyOn((await create.mock.results[0]!.value) as ort.InferenceSession, 'run');
    create.mockRestore();
    const watch = new KeptLayers(model.source);
    for (let i = 0; i < 2; i += 1)
      expect((await model.session.run(feeds))[prediction]!.data).toStrictEqual(wanted);
    expect(own).toHaveBeenCalledTimes(2);
    expect(watch.troubles).toStrictEqual([]);
    expect(watch.seen.get('hidden/relu forward')?.data.every((value) => value >= 0)).toBe(true);
    await model.close();
  }, 120_000);
});
