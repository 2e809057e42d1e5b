/** Probes on a backend whose tensors can be read asynchronously only, which is what WebGPU is. */
import * as tf from '@tensorflow/tfjs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { HookEngine, ParameterDiagnostics } from '../../src/probes.ts';
import { readLayerSummaries } from '../../src/read/tables.ts';
import { readParameterDistributions } from '../../src/read/tables.ts';
import { openRun } from '../../src/read/run-reader.ts';
import { quarkCallback, tfjsModel } from '../../src/tfjs.ts';
import { registerAsyncBackend, type AsyncReads } from '../support/async-backend.ts';
import { batch } from '../support/dense-by-hand.ts';
import {
  denseModel,
  lossOf,
  openSession,
  tensor,
  tfjsProbesContract,
} from './tfjs-probes-contract.ts';

describe('TensorFlow.js on a backend with asynchronous reads only', () => {
  let reads: AsyncReads;
  let allow: () => void;

  beforeAll(async () => {
    reads = await registerAsyncBackend(tf, 'webgpu');
  });
  beforeEach(() => {
    allow = reads.forbidSync();
  });
  afterEach(() => allow());
  afterAll(() => tf.setBackend('cpu'));

  tfjsProbesContract({ name: 'webgpu', tf, tolerance: 1e-3, isExact: true });

  it('is a backend on which a synchronous read fails', async () => {
    const x = tf.tensor1d([1, 2]);
    expect(() => x.dataSync()).toThrow('read synchronously');
    expect([...(await x.data())]).toStrictEqual([1, 2]);
    x.dispose();
  });

  it('reads once a probe, and never waits for it', async () => {
    const session = await openSession();
    const model = denseModel(tf, 'reads');
    const optimizer = tf.train.adam(0.1);
    const { x, y } = batch(1);
    const [xs, ys] = [tensor(tf, x), tensor(tf, y)];
    const loss = lossOf(tf, model, xs, ys);
    const source = tfjsModel(tf, model, optimizer);
    const hooks = new HookEngine(session, source);
    const parameters = new ParameterDiagnostics(session, source, { captureDistributions: true });
    const before = reads.count;
    for (let step = 0; step < 4; step++) {
      hooks.beginStep(step);
      optimizer.minimize(loss);
      hooks.endStep();
      parameters.snapshot(step);
    }
    // Nothing was waited for: the first probe of each is still under way.
    expect(hooks.status).toMatchObject({ probedSteps: 1, skippedProbes: 3 });
    expect(parameters.status).toMatchObject({ probedSteps: 1, skippedProbes: 3 });
    await session.flush();
    expect(reads.count - before).toBe(2);
    expect(hooks.status.troubles.size + parameters.status.troubles.size).toBe(0);
    expect(await hooks.read()).toHaveLength(5);
    expect(await parameters.readDistributions()).toHaveLength(4);
    await session.endRun();
    tf.dispose([xs, ys]);
    model.dispose();
    optimizer.dispose();
  });

  it('goes along with fit, with everything on', async () => {
    const session = await openSession();
    const model = denseModel(tf, 'fitted');
    model.compile({ optimizer: tf.train.adam(0.05), loss: 'meanSquaredError' });
    const { x, y } = batch(1);
    const [xs, ys] = [tensor(tf, x), tensor(tf, y)];
    const schedule = { everyNSteps: 1 };
    await model.fit(xs, ys, {
      epochs: 5,
      shuffle: false,
      validationData: [xs, ys],
      callbacks: quarkCallback(session, tf, model, {
        hooks: { schedule, captureEvaluation: true },
        parameters: {
          schedule,
          captureDistributions: true,
          distributionTypes: ['value', 'gradient', 'update'],
        },
      }),
    });
    await session.endRun();
    const { store, run } = await openRun(session.store, session.runId);
    const reader = await openRun(store, run.id);
    expect(await reader.readEvents({ severity: 'warning' })).toStrictEqual([]);
    const layers = (await readLayerSummaries({ store, runId: run.id })).records;
    const distributions = (await readParameterDistributions({ store, runId: run.id })).records;
    expect(layers.length).toBeGreaterThan(0);
    expect(new Set(distributions.map((one) => one.distributionType))).toStrictEqual(
      new Set(['value', 'gradient', 'update']),
    );
    tf.dispose([xs, ys]);
    model.optimizer.dispose();
    model.dispose();
  });
});
