// A training loop of one's own with TensorFlow.js: what happens in the layers and to the parameters is recorded.
// Run: node examples/tfjs-loop.mjs     Needs: npm install @tensorflow/tfjs
import * as tf from '@tensorflow/tfjs';
import { MetricsLogger, TrainingSession } from 'quark-sdk';
import { HookEngine, ParameterDiagnostics } from 'quark-sdk/probes';
import { tfjsModel } from 'quark-sdk/tfjs';

const storageDir = process.env.QUARK_STORAGE_DIR ?? 'quark-runs';
await tf.setBackend('cpu');

const xs = tf.randomNormal([64, 4]);
const ys = tf.tidy(() => tf.sum(tf.square(xs), 1, true));
const model = tf.sequential({
  layers: [
    tf.layers.dense({ name: 'hidden', units: 16, activation: 'relu', inputShape: [4] }),
    tf.layers.dense({ name: 'output', units: 1 }),
  ],
});
const optimizer = tf.train.adam(0.02);

await TrainingSession.run({ project: 'loop', storageDir, tags: ['tfjs'] }, async (session) => {
  const metrics = new MetricsLogger(session);
  const source = tfjsModel(tf, model, optimizer);
  const hooks = new HookEngine(session, source, { schedule: { everyNSteps: 5 } });
  const parameters = new ParameterDiagnostics(session, source, {
    schedule: { everyNSteps: 5 },
    captureDistributions: true,
  });

  for (let step = 0; step < 60; step += 1) {
    hooks.beginStep(step);
    const loss = optimizer.minimize(
      () => tf.losses.meanSquaredError(ys, model.apply(xs, { training: true })),
      true,
    );
    hooks.endStep();
    parameters.snapshot(step);
    metrics.log('train/loss', (await loss.data())[0], { step });
    loss.dispose();
  }

  const [latest] = await hooks.read({ moduleName: 'hidden', summaryType: 'activation', limit: 1 });
  console.log(`Run ${session.runId}: ${(100 * latest.deadUnitRatio).toFixed(0)} % of the hidden`);
  console.log('activations are zero at the end.');
});
tf.dispose([xs, ys]);
