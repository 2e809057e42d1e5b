/** On WebGL the callback reads no batch, and losses are the same to the last bit with and without it. */
import * as tf from '@tensorflow/tfjs';
import { expect, it } from 'vitest';
import { openRun } from '../../src/read/run-reader.ts';
import { readBatchDiagnostics } from '../../src/read/tables.ts';
import { TrainingSession } from '../../src/session/training-session.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import { quarkCallback } from '../../src/tfjs.ts';

const EPOCHS = 3;
const ROWS = 64;

async function lossesOf(backend: string, batches: boolean) {
  expect(await tf.setBackend(backend)).toBe(true);
  const storage = createMemoryStore();
  const session = await TrainingSession.startRun({ project: 'p', storage, handleSignals: false });
  const model = tf.sequential({
    layers: [16, 4].map((units, i) =>
      tf.layers.dense({
        units,
        activation: i === 0 ? 'relu' : 'softmax',
        kernelInitializer: tf.initializers.glorotUniform({ seed: 3 + i }),
        ...(i === 0 ? { inputShape: [8] } : {}),
      }),
    ),
  });
  model.compile({ optimizer: tf.train.sgd(0.1), loss: 'categoricalCrossentropy' });
  const xs = tf.randomNormal([ROWS, 8], 0, 1, 'float32', 7);
  const classes = Int32Array.from({ length: ROWS }, (_, i) => i % 4);
  const ys = tf.tidy(() => tf.oneHot(tf.tensor1d(classes, 'int32'), 4).toFloat());
  const losses: number[] = [];
  await model.fit(xs, ys, {
    epochs: EPOCHS,
    batchSize: 8,
    shuffle: false,
    verbose: 0,
    callbacks: [
      quarkCallback(session, tf, model, { telemetry: false, batches }),
      { onBatchEnd: (_batch: number, logs?: tf.Logs) => void losses.push(logs?.['loss'] ?? 0) },
    ],
  });
  const { runId } = session;
  await session.endRun();
  tf.dispose([xs, ys]);
  model.dispose();
  const { records } = await readBatchDiagnostics(await openRun(storage, runId));
  return { losses, rows: records.length };
}

it.each([
  ['webgl', false],
  ['cpu', true],
] as const)('%s', async (backend, isRead) => {
  const without = await lossesOf(backend, false);
  const read = await lossesOf(backend, true);
  expect(without.losses).toHaveLength(EPOCHS * (ROWS / 8));
  expect(read.losses).toEqual(without.losses);
  expect(without.rows).toBe(0);
  expect(read.rows > 0).toBe(isRead);
});
