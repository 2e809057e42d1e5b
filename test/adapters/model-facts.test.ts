/** What a training says of its model at its start, and that the analysis finds faults of the configuration in it. */
import * as tf from '@tensorflow/tfjs';
import { beforeAll, expect, test } from 'vitest';
import { createMemoryStore, openRun, TrainingSession } from 'quark-sdk';
import { AnalyzerEngine } from 'quark-sdk/analysis';
import { quarkCallback } from 'quark-sdk/tfjs';
import { modelFacts } from '../../src/adapters/tfjs/model-facts.ts';

beforeAll(async () => {
  tf.enableProdMode();
  await tf.setBackend('cpu');
});

async function train(lastActivation: 'sigmoid' | 'softmax', seed: number) {
  const network = tf.sequential({
    layers: [
      tf.layers.dense({
        inputShape: [2],
        units: 8,
        activation: 'relu',
        kernelInitializer: tf.initializers.heNormal({ seed }),
      }),
      tf.layers.dense({ units: 1, activation: lastActivation }),
    ],
  });
  network.compile({ optimizer: tf.train.adam(0.01), loss: 'binaryCrossentropy' });
  const xs = tf.randomNormal([64, 2], 0, 1, 'float32', seed);
  const ys = tf.tidy(() => xs.slice([0, 0], [64, 1]).greater(0).toFloat());
  const session = await TrainingSession.startRun({
    project: 'facts',
    storage: createMemoryStore(),
    handleSignals: false,
  });
  await network.fit(xs, ys, {
    epochs: 2,
    batchSize: 16,
    verbose: 0,
    callbacks: quarkCallback(session, tf, network),
  });
  const { alerts } = await new AnalyzerEngine(session).analyze();
  await session.endRun();
  const reader = await openRun(session.store, session.runId);
  const [started] = await reader.readEvents({ eventType: 'training_started' });
  return { alerts, payload: started?.payload };
}

test('layers, loss, optimizer and rate are told', async () => {
  const { payload, alerts } = await train('sigmoid', 1);
  expect(payload).toMatchObject({
    loss: 'binaryCrossentropy',
    optimizer: 'Adam',
    learning_rate: 0.01,
    topology: { class_name: 'Sequential' },
  });
  expect(JSON.stringify(alerts)).not.toContain('static_model_lint');
});

test('a softmax of one unit is found without a word from the user', async () => {
  const { alerts } = await train('softmax', 2);
  expect(JSON.stringify(alerts)).toContain('takes the softmax of one unit');
});

test('losses and metrics of TensorFlow.js are called by their own names', () => {
  const network = tf.sequential({ layers: [tf.layers.dense({ inputShape: [2], units: 1 })] });
  const compile = (loss: tf.ModelCompileArgs['loss'], metrics?: tf.ModelCompileArgs['metrics']) => {
    network.compile({ optimizer: 'sgd', loss, ...(metrics === undefined ? {} : { metrics }) });
    return modelFacts(network);
  };
  expect(compile(tf.losses.huberLoss, ['accuracy', tf.metrics.meanAbsoluteError])).toMatchObject({
    loss: 'huberLoss',
    metrics: ['accuracy', 'meanAbsoluteError'],
  });
  expect(compile('meanSquaredError')).not.toHaveProperty('metrics');
  network.dispose();
});
