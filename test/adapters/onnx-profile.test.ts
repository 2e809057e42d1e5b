/** What a profile has of a training on onnxruntime-web by itself. */
import * as ort from 'onnxruntime-web';
import { beforeAll, expect, test } from 'vitest';
import { createMemoryStore, startRun } from '../../src/index.ts';
import { buildOnnxTraining, openOnnxTrainer } from '../../src/onnx.ts';
import { Profiler, ProfileStep } from '../../src/profiler.ts';

beforeAll(() => {
  ort.env.wasm.numThreads = 1;
  ort.env.logLevel = 'error';
});

test('loading, the first step alone and the export are in it; a step that is refused has failed', async () => {
  const training = buildOnnxTraining(
    { inputShape: [2], layers: [{ kind: 'dense', name: 'output', units: 1 }] },
    { loss: { kind: 'meanSquaredError' }, optimizer: { kind: 'sgd', learningRate: 0.1 } },
  );
  const storage = createMemoryStore();
  const session = await startRun({ project: 'onnx', storage, handleSignals: false });
  const profiler = new Profiler(session, { captureGpu: false });
  const trainer = await openOnnxTrainer(ort, training);
  const batch = { x: Float32Array.of(1, 2), y: Float32Array.of(3) };
  await expect(trainer.step({ x: batch.x })).rejects.toThrow(/y/);
  for (let step = 0; step < 3; step += 1)
    expect(Number.isFinite(await trainer.step(batch))).toBe(true);
  expect((await trainer.exportModel()).length).toBeGreaterThan(0);
  await trainer.close();
  const { scopes } = await profiler.close();
  expect(scopes.map(({ name, hasFailed }) => [name, hasFailed])).toEqual([
    [ProfileStep.MODEL_LOADING, false],
    [ProfileStep.FIRST_STEP, true],
    [ProfileStep.FIRST_STEP, false],
    [ProfileStep.MODEL_SAVING, false],
  ]);
  await session.endRun();
  await storage.close();
});
