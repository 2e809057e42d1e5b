// A training with TensorFlow.js that is killed goes on where its last saved model was, in the same run, as one curve.
// Run it twice: node examples/tfjs-resume.mjs
// The first time it kills itself in the middle of an epoch; the second time it goes on.
// Needs: npm install @tensorflow/tfjs
import { setTimeout as sleep } from 'node:timers/promises';
import * as tf from '@tensorflow/tfjs';
import { listRuns, openStorage, TrainingSession } from 'quark-sdk';
import { loadModel, MediaLogger } from 'quark-sdk/media';
import { quarkCallback } from 'quark-sdk/tfjs';

const storageDir = process.env.QUARK_STORAGE_DIR ?? 'quark-runs';
const EPOCHS = 6;
const FIT = { batchSize: 32, shuffle: false, verbose: 0 };
await tf.setBackend('cpu');

// Two classes: points inside and outside of a circle.
const points = Array.from({ length: 320 }, (_, i) => [Math.sin(i * 7.1), Math.sin(i * 3.3)]);
const xs = tf.tensor2d(points);
const ys = tf.tensor2d(points.map(([x, y]) => [x ** 2 + y ** 2 < 0.8 ? 1 : 0]));

function newModel() {
  const model = tf.sequential({
    layers: [
      tf.layers.dense({ units: 16, activation: 'tanh', inputShape: [2] }),
      tf.layers.dense({ units: 1, activation: 'sigmoid' }),
    ],
  });
  model.compile({ optimizer: tf.train.adam(0.03), loss: 'binaryCrossentropy' });
  return model;
}

/** Trains from an epoch on, and saves the model after each. The first time the process is killed in the middle of the fourth. */
async function train(session, model, initialEpoch, isFirst) {
  const media = new MediaLogger(session);
  const callback = quarkCallback(session, tf, model);
  const saving = {
    onEpochEnd: (epoch) => media.logModel('model', model, { step: callback.nextStep - 1, epoch }),
    onBatchEnd: async () => {
      if (!isFirst || callback.nextStep !== 35) return;
      await session.flush();
      process.kill(process.pid, 'SIGKILL');
    },
  };
  await model.fit(xs, ys, { ...FIT, initialEpoch, epochs: EPOCHS, callbacks: [callback, saving] });
}

/** The run that was cut off, once its lease has ended: a process that was killed cannot give it back. */
async function findUnfinished() {
  const store = await openStorage(storageDir);
  const find = async () => (await listRuns(store, { project: 'circle-resumed', limit: 1 }))[0];
  let newest = await find();
  for (; newest?.isLive; newest = await find()) await sleep(200);
  await store.close();
  return newest?.run.status === 'running' ? newest.run.id : undefined;
}

const runId = await findUnfinished();
if (runId === undefined) {
  await TrainingSession.run(
    { project: 'circle-resumed', storageDir, leaseTtlMs: 2000 },
    (session) => train(session, newModel(), 0, true),
  );
} else {
  // The run, the model with its optimizer, the training: steps and epochs go on by themselves.
  const session = await TrainingSession.resumeRun({ runId, storageDir });
  const saved = await loadModel(session, 'model');
  await train(session, await tf.loadLayersModel(saved), saved.epoch + 1, false);
  console.log(`${runId}: went on after epoch ${saved.epoch}, step ${saved.step}`);
  await session.endRun();
  await session.close();
}
tf.dispose([xs, ys]);
