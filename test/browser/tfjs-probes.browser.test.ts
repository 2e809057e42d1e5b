/** Probes on the device: the same contract as in Node, where tensors are reduced by WebGL and read back asynchronously. */
import * as tf from '@tensorflow/tfjs';
import { describe, expect, it, vi } from 'vitest';
import { isQuarkError } from '../../src/base/errors.ts';
import { HookEngine, ParameterDiagnostics } from '../../src/probes.ts';
import { openRun } from '../../src/read/run-reader.ts';
import { TrainingSession } from '../../src/session/training-session.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
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
    expect(await hooks.read()).toHaveLength(25);
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
    expect(await hooks.read()).toHaveLength(5);
    expect(tf.memory().numTensors).toBe(before);
    await session.endRun();
    tf.dispose([xs, ys]);
    model.dispose();
    optimizer.dispose();
  });
});

describe('a backend that is switched in the middle of a training', () => {
  const STEPS = 6;
  const MIDDLE = 3;

  /** Trains, and switches; returns losses and weights. */
  const train = async (
    from: string,
    to: string,
    observe?: (model: tf.LayersModel) => {
      begin(step: number): void;
      end(step: number): Promise<void>;
    },
  ): Promise<number[]> => {
    await tf.setBackend(from);
    const model = denseModel(tf, 'switched');
    model.compile({ optimizer: tf.train.adam(0.05), loss: 'meanSquaredError' });
    const observer = observe?.(model);
    const { x, y } = batch(1);
    const [xs, ys] = [tensor(tf, x), tensor(tf, y)];
    const numbers: number[] = [];
    for (let step = 0; step < STEPS; step++) {
      if (step === MIDDLE) await tf.setBackend(to);
      observer?.begin(step);
      numbers.push(Number(await model.trainOnBatch(xs, ys)));
      await observer?.end(step);
    }
    for (const weight of model.getWeights()) numbers.push(...(await weight.data()));
    tf.dispose([xs, ys]);
    model.optimizer.dispose();
    model.dispose();
    return numbers;
  };

  it.each([
    ['cpu', 'webgl', false],
    ['cpu', 'webgl', true],
    ['webgl', 'cpu', false],
    ['webgl', 'cpu', true],
  ] as const)('from %s to %s is told once (strict: %s)', async (from, to, strictMode) => {
    const plain = await train(from, to);
    const before = tf.memory().numTensors;
    const session = await TrainingSession.startRun({
      project: 'probes',
      storage: createMemoryStore(),
      handleSignals: false,
      strictMode,
    });
    const errors: unknown[] = [];
    let hooks: HookEngine | undefined;
    let parameters: ParameterDiagnostics | undefined;
    const attempt = (work: () => unknown): void => {
      try {
        work();
      } catch (error) {
        errors.push(isQuarkError(error, 'probe_failed') ? error.details['reason'] : error);
      }
    };
    const observed = await train(from, to, (model) => {
      const source = tfjsModel(tf, model);
      hooks = new HookEngine(session, source);
      parameters = new ParameterDiagnostics(session, source, { captureDistributions: true });
      return {
        begin: (step) => attempt(() => hooks?.beginStep(step)),
        end: async (step) => {
          attempt(() => hooks?.endStep());
          attempt(() => parameters?.snapshot(step));
          // The probes before the switch are still under way when it comes.
          if (step !== MIDDLE - 1) await session.flush();
        },
      };
    });
    observed.forEach((number, i) => expect(number).toBeCloseTo(plain[i] ?? Number.NaN, 3));
    expect(observed).toHaveLength(plain.length);
    expect(errors).toStrictEqual(strictMode ? ['backend_changed'] : []);
    const layers = await hooks?.read();
    expect(new Set(layers?.map(({ step }) => step)).has(STEPS - 1)).toBe(true);
    const values = await parameters?.readSummaries({ parameterName: 'hidden/kernel' });
    expect(values?.at(-1)).toMatchObject({
      step: STEPS - 1,
      gradientNorm: expect.any(Number) as number,
    });
    const { store, runId } = session;
    await session.endRun();
    expect(tf.memory().numTensors).toBe(before);
    const warnings = await (await openRun(store, runId)).readEvents({ severity: 'warning' });
    expect(warnings.map(({ payload }) => payload['reason'])).toStrictEqual(
      strictMode ? [] : ['backend_changed'],
    );
  });
});
