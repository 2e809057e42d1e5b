// A training that never ends by itself, for a test that interrupts it: node interrupted-training.mjs DIR
import * as tf from '@tensorflow/tfjs';
import { TrainingSession } from 'quark-sdk';
import { quarkCallback } from 'quark-sdk/tfjs';

tf.enableProdMode();
await tf.setBackend('cpu');
const xs = tf.randomNormal([256, 8]);
const ys = tf.randomUniform([256, 1]);
const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [8] })] });
model.compile({ optimizer: 'sgd', loss: 'meanSquaredError' });

await TrainingSession.run({ project: 'endless', storageDir: process.argv[2] }, async (session) => {
  const callback = quarkCallback(session, tf, model);
  const tell = {
    onEpochEnd: async () => console.log(`${session.runId} step ${callback.nextStep}`),
  };
  await model.fit(xs, ys, { epochs: 1e6, callbacks: [callback, tell] });
  console.log('fit returned');
});
