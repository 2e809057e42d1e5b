/** onnxruntime-web in a page: the same training on wasm and on WebGPU, weights kept on the device, observed there. */
import * as ort from 'onnxruntime-web/webgpu';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  buildOnnxTraining,
  openOnnxTrainer,
  type OnnxLayersModel,
  type OnnxTrainer,
} from '../../src/onnx.ts';

beforeAll(() => {
  ort.env.wasm.wasmPaths = new URL('/node_modules/onnxruntime-web/dist/', location.origin).href;
  ort.env.wasm.numThreads = 1;
  ort.env.logLevel = 'error';
});

const MODEL: OnnxLayersModel = {
  inputShape: [1, 6, 6],
  layers: [
    { kind: 'conv2d', name: 'conv', filters: 4, size: 3, activation: 'relu' },
    { kind: 'batchNorm', name: 'norm' },
    { kind: 'maxPool2d', name: 'pool', size: 2 },
    { kind: 'flatten', name: 'flat' },
    { kind: 'dense', name: 'hidden', units: 8, activation: 'tanh' },
    { kind: 'dense', name: 'out', units: 3 },
  ],
};

function batch(step: number): { x: Float32Array; y: Int32Array } {
  return {
    x: Float32Array.from({ length: 4 * 36 }, (_, i) => Math.sin(i * 0.7 + step)),
    y: Int32Array.from({ length: 4 }, (_, i) => (i + step) % 3),
  };
}

async function open(provider: 'wasm' | 'webgpu'): Promise<OnnxTrainer> {
  const training = buildOnnxTraining(MODEL, {
    loss: { kind: 'softmaxCrossEntropy' },
    optimizer: { kind: 'adam', learningRate: 0.02 },
  });
  return openOnnxTrainer(ort, training, { sessionOptions: { executionProviders: [provider] } });
}

async function losses(trainer: OnnxTrainer, count: number): Promise<number[]> {
  const found: number[] = [];
  for (let step = 0; step < count; step += 1) found.push(await trainer.step(batch(step)));
  return found;
}

describe('training in a page', () => {
  it('gives the losses of wasm on WebGPU', async () => {
    const wasm = await open('wasm');
    const expected = await losses(wasm, 10);
    await wasm.close();
    const gpu = await open('webgpu');
    const found = await losses(gpu, 10);
    console.log(JSON.stringify(expected), JSON.stringify(found));
    for (const [i, loss] of found.entries())
      expect(Math.abs(loss - expected[i]!)).toBeLessThan(1e-3);
    await gpu.close();
  }, 120_000);
});
