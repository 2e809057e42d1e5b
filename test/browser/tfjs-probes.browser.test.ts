/** Probes on the device: the same contract as in Node, where tensors are reduced by WebGL and read back asynchronously. */
import * as tf from '@tensorflow/tfjs';
import { describe, expect, it, vi } from 'vitest';
import { HookEngine, ParameterDiagnostics } from '../../src/probes.ts';
import { tfjsModel } from '../../src/tfjs.ts';
import {
  denseModel,
  lossOf,
  openSession,
  tensor,
  tfjsProbesContract,
} from '../contract/tfjs-probes-contract.ts';
import { batch } from '../support/dense-by-hand.ts';

describe('TensorFlow.js on webgl', () => {
  tfjsProbesContract({ name: 'webgl', tf, tolerance: 1e-3, isExact: false });

  it('never reads a tensor synchronously, and once a probe', async () => {
    const session = await openSession();
    const model = denseModel(tf, 'reads');
    const optimizer = tf.train.sgd(0.1);
    const { x, y } = batch(1);
    const xs = tensor(tf, x);
    const ys = tensor(tf, y);
    const loss = lossOf(tf, model, xs, ys);
    const source = tfjsModel(tf, model, optimizer);
    const hooks = new HookEngine(session, source);
    const parameters = new ParameterDiagnostics(session, source, { captureDistributions: true });
    const backend = tf.backend();
    const read = vi.spyOn(backend, 'read');
    const readSync = vi.spyOn(backend, 'readSync');
    try {
      for (let i = 0; i < 5; i++) {
        hooks.beginStep(i);
        optimizer.minimize(loss);
        hooks.endStep();
        parameters.snapshot(i);
        await session.flush();
      }
      expect(read).toHaveBeenCalledTimes(10);
      expect(readSync).not.toHaveBeenCalled();
    } finally {
      vi.restoreAllMocks();
    }
    expect(await hooks.read()).toHaveLength(20);
    expect(await parameters.readDistributions()).toHaveLength(20);
    await session.endRun();
    tf.dispose([xs, ys]);
    model.dispose();
    optimizer.dispose();
  });

  it('leaves out and counts probes that come while one is under way', async () => {
    const session = await openSession();
    const model = denseModel(tf, 'skips');
    const optimizer = tf.train.sgd(0.1);
    const { x, y } = batch(1);
    const xs = tensor(tf, x);
    const ys = tensor(tf, y);
    const loss = lossOf(tf, model, xs, ys);
    const hooks = new HookEngine(session, tfjsModel(tf, model, optimizer));
    const before = tf.memory().numTensors;
    for (let i = 0; i < 5; i++) {
      hooks.beginStep(i);
      optimizer.minimize(loss);
      hooks.endStep();
    }
    expect(hooks.status).toMatchObject({ probedSteps: 1, skippedProbes: 4 });
    expect(await hooks.read()).toHaveLength(4);
    expect(tf.memory().numTensors).toBe(before);
    await session.endRun();
    tf.dispose([xs, ys]);
    model.dispose();
    optimizer.dispose();
  });
});
