// Trains a network on onnxruntime-web, from a training step that is a plain ONNX graph, and records what happens in
// every layer and parameter. Run: node examples/onnx-training.mjs
// Needs: npm install onnxruntime-web
import * as ort from 'onnxruntime-web';
import { MetricsLogger, TrainingSession } from 'quark-sdk';
import { buildOnnxTraining, openOnnxTrainer } from 'quark-sdk/onnx';
import { HookEngine, ParameterDiagnostics } from 'quark-sdk/probes';

const storageDir = process.env.QUARK_STORAGE_DIR ?? 'quark-runs';
ort.env.wasm.numThreads = 1;

// Images of 8 x 8 with a bright horizontal (class 0) or vertical (class 1) bar, and noise.
function batch(count) {
  const x = new Float32Array(count * 64);
  const y = new Int32Array(count);
  for (let i = 0; i < count; i++) {
    y[i] = Math.random() < 0.5 ? 0 : 1;
    const bar = Math.floor(Math.random() * 8);
    for (let pixel = 0; pixel < 64; pixel++) {
      const line = y[i] === 0 ? Math.floor(pixel / 8) : pixel % 8;
      x[i * 64 + pixel] = (line === bar ? 1 : 0) + 0.4 * (Math.random() - 0.5);
    }
  }
  return { x, y };
}

const training = buildOnnxTraining(
  {
    inputShape: [1, 8, 8],
    layers: [
      { kind: 'conv2d', name: 'conv', filters: 8, size: 3, activation: 'relu' },
      { kind: 'batchNorm', name: 'norm', momentum: 0.9 },
      { kind: 'maxPool2d', name: 'pool', size: 2 },
      { kind: 'flatten', name: 'flat' },
      { kind: 'dense', name: 'class', units: 2 },
    ],
  },
  {
    loss: { kind: 'softmaxCrossEntropy' },
    optimizer: { kind: 'adam', learningRate: 0.01 },
  },
);

// In a page with WebGPU: import 'onnxruntime-web/webgpu' and pass { executionProviders: ['webgpu'] }; the weights
// then stay on the device.
const trainer = await openOnnxTrainer(ort, training, {
  sessionOptions: { executionProviders: ['wasm'] },
});

await TrainingSession.run({ project: 'bars', storageDir, tags: ['onnx'] }, async (session) => {
  const metrics = new MetricsLogger(session);
  const hooks = new HookEngine(session, trainer.source, { schedule: { everyNSteps: 10 } });
  const parameters = new ParameterDiagnostics(session, trainer.source, {
    schedule: { everyNSteps: 20 },
    captureDistributions: true,
    distributionTypes: ['value', 'gradient', 'update'],
  });
  for (let step = 0; step < 60; step++) {
    const loss = await hooks.step(step, {}, () => trainer.step(batch(32)));
    parameters.snapshot(step);
    metrics.log('train/loss', loss, { step });
  }
  console.log(`Run ${session.runId}, recorded in ${session.runPath}`);
});
await trainer.close();
