/** A profile of a real training: what is in it by itself, and that the training does not notice it. */
import * as tf from '@tensorflow/tfjs';
import { beforeAll, expect, test, vi } from 'vitest';
import { AnalyzerEngine } from '../../src/analysis.ts';
import { exportQuark } from '../../src/exchange.ts';
import { createMemoryStore, openRun, startRun, TrainingSession } from '../../src/index.ts';
import { createKernels } from '../../src/kernels.ts';
import {
  profileFindings,
  profilerOf,
  ProfileStep,
  readProfiles,
  readProgress,
  startProfiler,
  type Profile,
} from '../../src/profiler.ts';
import { quarkCallback } from '../../src/tfjs.ts';
import { data, model, weights } from './small-training.ts';

beforeAll(async () => {
  tf.enableProdMode();
  await tf.setBackend('cpu');
});

/** Kernels are loaded in the background, at a moment of their own. */
const tree = ({ scopes }: Profile): string[] =>
  scopes
    .filter(({ name }) => name !== ProfileStep.KERNEL_START)
    .map(({ depth, hasFailed, name }) => `${'  '.repeat(depth)}${name}${hasFailed ? '!' : ''}`);

async function train(session: TrainingSession | undefined): Promise<tf.Sequential> {
  const network = model();
  const { xs, ys } = data();
  const callbacks = session === undefined ? [] : [quarkCallback(session, tf, network)];
  await network.fit(xs, ys, {
    epochs: 3,
    batchSize: 8,
    shuffle: false,
    validationData: [xs, ys],
    callbacks,
    verbose: 0,
  });
  tf.dispose(network.evaluate(xs, ys, { batchSize: 8 }));
  tf.dispose([xs, ys]);
  return network;
}

test('epochs, the first step, evaluation, kernels, analysis and export are in it by themselves', async () => {
  const storage = createMemoryStore();
  const session = await startRun({
    project: 'profile',
    storage,
    profile: (started) => startProfiler(started, { captureGpu: false }),
  });
  const profiler = profilerOf(session);
  const network = await train(session);
  network.compile({ optimizer: 'sgd', loss: 'meanSquaredError' });
  await (await createKernels({ workers: 0 })).close();
  const reader = await openRun(storage, session.runId);
  await session.flush();
  await new AnalyzerEngine(reader).analyze({ persist: false });
  for await (const chunk of exportQuark(reader)) expect(chunk.byteLength).toBeGreaterThan(0);
  await session.endRun();
  const [profile] = await readProfiles(reader);
  expect(profile?.id).toBe(profiler?.id);
  const epoch = (inside: string[]): string[] => ['  Epoch', ...inside, '    Model Evaluation'];
  expect(tree(profile ?? expect.fail())).toEqual([
    'Training',
    ...epoch(['    First Step']),
    ...epoch([]),
    ...epoch([]),
    'Model Evaluation',
    'Model Compile',
    'Analysis',
    'Export',
  ]);
  expect(profile?.scopes.some(({ name }) => name === ProfileStep.KERNEL_START)).toBe(true);
  expect(profile?.scopes.every(({ isAutomatic }) => isAutomatic)).toBe(true);
  const last = profile?.checkpoints.findLast(({ name }) => name === 'Training End')?.values;
  expect(last?.['tensor_count']).toBeGreaterThan(0);
  const kinds = profileFindings(profile ?? expect.fail()).map(({ kind }) => kind);
  expect(kinds).toContain('peak');
  expect(kinds).toContain('not_training');
  expect(profile?.summary['total_seconds']).toBeGreaterThan(0);
  // The model is as it was.
  expect(Object.hasOwn(network, 'testLoop') || Object.hasOwn(network, 'compile')).toBe(false);
  network.dispose();
  await storage.close();
});

test('a training with a profile has the same weights, and leaves no tensor behind', async () => {
  const plain = await train(undefined);
  const expected = weights(plain);
  plain.dispose();
  const before = tf.memory().numTensors;
  const storage = createMemoryStore();
  const session = await startRun({ project: 'profile', storage, profile: true });
  const profiled = await train(session);
  expect(weights(profiled)).toEqual(expected);
  await session.endRun();
  profiled.dispose();
  // Of the two trainings, Adam keeps the same.
  expect(tf.memory().numTensors).toBeLessThanOrEqual(before + 1);
  await storage.close();
});

test('QUARK_PROFILING=1 asks for one, nothing else does', async () => {
  const storage = createMemoryStore();
  for (const [value, isProfiled] of [
    ['1', true],
    ['0', false],
    ['true', false],
  ] as const) {
    vi.stubEnv('QUARK_PROFILING', value);
    const session = await startRun({ project: 'profile', storage });
    expect(profilerOf(session) !== undefined).toBe(isProfiled);
    const refused = await startRun({ project: 'profile', storage, profile: false });
    expect(profilerOf(refused)).toBeUndefined();
    await session.endRun();
    await refused.endRun();
  }
  vi.unstubAllEnvs();
  await storage.close();
});

test('a fit that throws ends its scopes as failed when the next one begins', async () => {
  const storage = createMemoryStore();
  const session = await startRun({ project: 'profile', storage, profile: true });
  const network = model();
  const { xs, ys } = data();
  const fit = (onBatchEnd: () => void): Promise<unknown> =>
    network.fit(xs, ys, {
      epochs: 1,
      batchSize: 8,
      verbose: 0,
      callbacks: [quarkCallback(session, tf, network), { onBatchEnd: async () => onBatchEnd() }],
    });
  await expect(
    fit(() => {
      throw new Error('out of memory');
    }),
  ).rejects.toThrow('out of memory');
  await fit(() => undefined);
  await session.endRun();
  const [profile] = await readProfiles(await openRun(storage, session.runId));
  expect(tree(profile ?? expect.fail())).toEqual([
    'Training!',
    '  Epoch!',
    '    First Step',
    'Training',
    '  Epoch',
  ]);
  tf.dispose([xs, ys]);
  network.dispose();
  await storage.close();
});

test('the callback says how long the training is', async () => {
  const storage = createMemoryStore();
  const session = await startRun({ project: 'progress', storage });
  const network = await train(session);
  const reader = await openRun(storage, session.runId);
  await session.flush();
  const { xs, ys } = data();
  const steps = Math.ceil((xs.shape[0] ?? 0) / 8);
  expect(await readProgress(reader)).toMatchObject({
    steps: 3 * steps,
    totalSteps: 3 * steps,
    totalEpochs: 3,
    share: 1,
    remainingMs: 0,
  });
  // Behind a callback of TensorFlow.js it is told in another way, and counts on.
  const onTrainBegin = (): void => undefined;
  await network.fitDataset(
    tf.data
      .zip({ xs: tf.data.array([...tf.unstack(xs)]), ys: tf.data.array([...tf.unstack(ys)]) })
      .repeat()
      .batch(8),
    {
      epochs: 2,
      batchesPerEpoch: 2,
      verbose: 0,
      callbacks: [new tf.CustomCallback({ onTrainBegin }), quarkCallback(session, tf, network)],
    },
  );
  await session.endRun();
  expect(await readProgress(reader)).toMatchObject({
    totalSteps: 3 * steps + 4,
    totalEpochs: 5,
    share: 1,
  });
  network.dispose();
  await storage.close();
});

test('a fit of a resumed run counts its total from the steps that the run has', async () => {
  const storage = createMemoryStore();
  const first = await startRun({ project: 'progress', storage });
  const network = model();
  const { xs, ys } = data();
  const steps = Math.ceil((xs.shape[0] ?? 0) / 8);
  const fit = async (session: TrainingSession, initialEpoch: number): Promise<void> => {
    await network.fit(xs, ys, {
      epochs: 3,
      initialEpoch,
      batchSize: 8,
      verbose: 0,
      callbacks: [
        quarkCallback(session, tf, network),
        {
          // Cut off in the second epoch.
          onEpochBegin: async (epoch: number) => {
            if (session === first && epoch === 1) network.stopTraining = true;
          },
        },
      ],
    });
  };
  await fit(first, 0);
  await first.endRun('interrupted');
  const done = (await readProgress(await openRun(storage, first.runId)))?.steps ?? expect.fail();
  expect(done).toBeGreaterThanOrEqual(steps);
  const session = await TrainingSession.resumeRun({ runId: first.runId, storage });
  await fit(session, 1);
  await session.endRun();
  const total = done + 2 * steps;
  expect(await readProgress(await openRun(storage, first.runId))).toMatchObject({
    steps: total,
    totalSteps: total,
  });
  tf.dispose([xs, ys]);
  network.dispose();
  await storage.close();
});
