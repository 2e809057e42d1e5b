// Trains a small network with TensorFlow.js and records it with one line. Run: node examples/tfjs-node.mjs
// Needs: npm install @tensorflow/tfjs
import * as tf from '@tensorflow/tfjs';
import { TrainingSession } from 'quark-sdk';
import { quarkCallback } from 'quark-sdk/tfjs';

const storageDir = process.env.QUARK_STORAGE_DIR ?? 'quark-runs';
await tf.setBackend('cpu');

// Two classes: points inside and outside of a circle.
const points = Array.from({ length: 400 }, () => [Math.random() * 2 - 1, Math.random() * 2 - 1]);
const xs = tf.tensor2d(points);
const ys = tf.tensor2d(points.map(([x, y]) => [x ** 2 + y ** 2 < 0.5 ? 1 : 0]));

const model = tf.sequential({
  layers: [
    tf.layers.dense({ units: 16, activation: 'tanh', inputShape: [2] }),
    tf.layers.dense({ units: 1, activation: 'sigmoid' }),
  ],
});
model.compile({
  optimizer: tf.train.adam(0.03),
  loss: 'binaryCrossentropy',
  metrics: ['accuracy'],
});

await TrainingSession.run({ project: 'circle', storageDir, tags: ['tfjs'] }, async (session) => {
  await model.fit(xs, ys, {
    epochs: 5,
    batchSize: 32,
    validationSplit: 0.2,
    verbose: 0,
    callbacks: quarkCallback(session, tf, model),
  });
  console.log(`Run ${session.runId}, recorded in ${session.runPath}`);
});
tf.dispose([xs, ys]);
