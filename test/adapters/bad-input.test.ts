/**
 * What a user may hand in or do that cannot be observed, on real TensorFlow.js: with errors raised it is a typed error,
 * else one warning, and in both cases the training goes on as it does without anybody watching.
 */
import { createHash } from 'node:crypto';
import * as tf from '@tensorflow/tfjs';
import { version_wasm as wasmVersion } from '@tensorflow/tfjs-backend-wasm';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { isQuarkError } from '../../src/base/errors.ts';
import { nextTask } from '../../src/base/next-task.ts';
import {
  HookEngine,
  ParameterDiagnostics,
  type HookEngineConfig,
  type ParameterDiagnosticsConfig,
} from '../../src/probes.ts';
import { openRun } from '../../src/read/run-reader.ts';
import { TrainingSession } from '../../src/session/training-session.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import { quarkCallback, tfjsModel, tfjsVariables, type TfjsSource } from '../../src/tfjs.ts';
import { registerAsyncBackend } from '../support/async-backend.ts';
import { TestClock } from '../support/clock.ts';
import { casesOf } from '../support/long.ts';

const STEPS = 6;
/** Where it happens. */
const MIDDLE = 3;

beforeAll(async () => {
  tf.enableProdMode();
  // The backend registers itself when it is loaded.
  expect(wasmVersion).toBe(tf.version['tfjs-core']);
  await registerAsyncBackend(tf, 'device');
});
afterEach(() => tf.setBackend('cpu'));
afterAll(() => tf.removeBackend('device'));

function network(units = 5): tf.Sequential {
  const made = tf.sequential({
    layers: [
      tf.layers.dense({
        name: 'a',
        units,
        activation: 'relu',
        inputShape: [3],
        kernelInitializer: tf.initializers.glorotNormal({ seed: 3 }),
      }),
      tf.layers.dense({
        name: 'b',
        units: 1,
        kernelInitializer: tf.initializers.glorotNormal({ seed: 4 }),
      }),
    ],
  });
  made.compile({ optimizer: tf.train.adam(0.05), loss: 'meanSquaredError' });
  return made;
}

type Case = {
  /** What happens before the step in the middle. */
  readonly middle?: (model: tf.Sequential) => unknown;
  /** The model that is observed, where it is another. */
  readonly source?: (model: tf.Sequential) => TfjsSource;
  readonly hooks?: HookEngineConfig;
  readonly parameters?: ParameterDiagnosticsConfig;
  /** Whether the step in the middle is left open. */
  readonly isLeftOpen?: boolean;
  readonly backend?: string;
  /** Reasons of the warnings, by instrument. */
  readonly warnings: readonly string[];
  /** What one of them says. */
  readonly words: RegExp;
  readonly units?: number;
};

const CASES: Readonly<Record<string, Case>> = {
  'a model without layers': {
    source: () => tfjsModel(tf, tf.sequential()),
    warnings: ['hook_engine no_layers', 'parameter_diagnostics no_parameters'],
    words: /no layers to observe/,
  },
  'filters that match nothing': {
    hooks: { filters: { includeTypes: ['Linear'] } },
    parameters: { includeParameterPatterns: ['decoder/*'] },
    warnings: ['hook_engine no_match', 'parameter_diagnostics no_match'],
    words: /match none of the 3 layers: no layer is observed.*a \(Dense\)/,
  },
  'an optimizer that was compiled again': {
    middle: (model) => model.compile({ optimizer: tf.train.sgd(0.05), loss: 'meanSquaredError' }),
    warnings: ['hook_engine optimizer_replaced'],
    words: /compiled with another optimizer/,
  },
  'a step that is never ended': {
    isLeftOpen: true,
    warnings: ['hook_engine step_not_ended'],
    words: /Step 3 was begun and not ended: call endStep/,
  },
  'another backend, cpu to wasm': {
    middle: () => tf.setBackend('wasm'),
    warnings: ['hook_engine backend_changed'],
    words: /switched from cpu to wasm/,
  },
  'another backend, cpu to one that reads asynchronously only': {
    middle: () => tf.setBackend('device'),
    warnings: ['hook_engine backend_changed'],
    words: /switched from cpu to device/,
  },
  'another backend, one that reads asynchronously only to cpu, with a probe under way': {
    backend: 'device',
    middle: () => tf.setBackend('cpu'),
    warnings: ['hook_engine backend_changed'],
    words: /switched from device to cpu/,
  },
  'another backend, wasm to cpu, with tensors that are still being reduced': {
    backend: 'wasm',
    units: 100_000,
    middle: () => tf.setBackend('cpu'),
    warnings: ['hook_engine backend_changed'],
    words: /switched from wasm to cpu/,
  },
};

/** Trains, observed where there is a session; returns losses, weights and the errors that were raised. */
async function train(
  given: Case,
  session?: TrainingSession,
): Promise<{ losses: readonly number[]; weights: string; errors: readonly unknown[] }> {
  await tf.setBackend(given.backend ?? 'cpu');
  const model = network(given.units);
  const errors: unknown[] = [];
  const attempt = <T>(work: () => T): T | undefined => {
    try {
      return work();
    } catch (error) {
      errors.push(error);
      return undefined;
    }
  };
  const source = given.source?.(model) ?? tfjsModel(tf, model);
  const hooks = session && attempt(() => new HookEngine(session, source, given.hooks));
  const parameters =
    session && attempt(() => new ParameterDiagnostics(session, source, given.parameters));
  const xs = tf.tensor2d([0.1, -0.2, 0.3, 0.4, 0.5, -0.6], [2, 3]);
  const ys = tf.tensor2d([1, -1], [2, 1]);
  const losses: number[] = [];
  for (let step = 0; step < STEPS; step++) {
    if (step === MIDDLE) await given.middle?.(model);
    attempt(() => hooks?.beginStep(step));
    losses.push(Number(await model.trainOnBatch(xs, ys)));
    if (step !== MIDDLE || given.isLeftOpen !== true) attempt(() => hooks?.endStep());
    attempt(() => parameters?.snapshot(step));
  }
  const digest = createHash('sha256');
  for (const weight of model.getWeights()) digest.update(Float32Array.from(await weight.data()));
  await hooks?.close();
  await parameters?.close();
  for (const layer of model.layers) expect(Object.hasOwn(layer, 'call')).toBe(false);
  expect(Object.hasOwn(model.optimizer, 'applyGradients')).toBe(false);
  tf.dispose([xs, ys]);
  model.dispose();
  return { losses, weights: digest.digest('hex'), errors };
}

function start(strictMode: boolean, clock?: TestClock): Promise<TrainingSession> {
  return TrainingSession.startRun({
    project: 'p',
    storage: createMemoryStore(),
    handleSignals: false,
    strictMode,
    ...(clock === undefined ? {} : { clock }),
  });
}

async function warningsOf({ store, runId }: TrainingSession): Promise<readonly string[][]> {
  const reader = await openRun(store, runId);
  const events = await reader.readEvents({ severity: 'warning' });
  return events.map(({ payload: { instrument, reason, message } }) =>
    [`${JSON.stringify(instrument)} ${JSON.stringify(reason)}`, JSON.stringify(message)].map(
      (text) => text.replaceAll('"', ''),
    ),
  );
}

describe.each(casesOf(Object.entries(CASES), -1))('%s', (_, given) => {
  it('is one warning, and the training is what it is without', async () => {
    const plain = await train(given);
    const session = await start(false);
    const observed = await train(given, session);
    await session.endRun();
    expect(observed).toStrictEqual(plain);
    const warnings = await warningsOf(session);
    expect(warnings.map(([reason]) => reason)).toStrictEqual(given.warnings);
    expect(warnings[0]?.[1]).toMatch(given.words);
  });

  it('is a typed error where errors are raised, and the training goes on', async () => {
    const plain = await train(given);
    const session = await start(true);
    const observed = await train(given, session);
    await session.endRun();
    expect({ ...observed, errors: [] }).toStrictEqual(plain);
    const raised = observed.errors.map((error) =>
      isQuarkError(error, 'probe_failed')
        ? `${String(error.details['instrument'])} ${String(error.details['reason'])}`
        : String(error),
    );
    expect(raised).toStrictEqual(given.warnings);
    expect(await warningsOf(session)).toStrictEqual([]);
  });
});

describe('through quarkCallback', () => {
  it.each([true, false])('filters that match nothing (strict: %s)', async (strict) => {
    const session = await start(strict);
    const model = network();
    const xs = tf.ones([8, 3]);
    const ys = tf.ones([8, 1]);
    const fit = model.fit(xs, ys, {
      epochs: 3,
      callbacks: quarkCallback(session, tf, model, {
        hooks: { filters: { includeNames: ['nobody'] } },
        parameters: false,
        telemetry: false,
      }),
    });
    if (strict) {
      await expect(fit).rejects.toMatchObject({
        code: 'probe_failed',
        details: { reason: 'no_match' },
      });
    } else {
      await fit;
    }
    await session.endRun();
    expect((await warningsOf(session)).map(([reason]) => reason)).toStrictEqual(
      strict ? [] : ['hook_engine no_match'],
    );
    tf.dispose([xs, ys]);
  });
});

it.each([true, false])('a tensor that was disposed (strict: %s)', async (strict) => {
  const run = async (session?: TrainingSession): Promise<unknown> => {
    const w = tf.variable(tf.tensor1d([1, 2, 3]));
    const unused = tf.variable(tf.tensor1d([4]));
    const optimizer = tf.train.sgd(0.1);
    const parameters =
      session &&
      new ParameterDiagnostics(
        session,
        tfjsVariables(tf, { variables: { 'a/w': w, 'a/unused': unused }, optimizer }),
      );
    const errors: string[] = [];
    for (let step = 0; step < STEPS; step++) {
      if (step === MIDDLE) unused.dispose();
      optimizer.minimize(() => tf.sum(tf.square(w)), false, [w]);
      try {
        parameters?.snapshot(step);
      } catch (error) {
        errors.push(isQuarkError(error, 'probe_failed') ? error.message : String(error));
      }
    }
    if (session !== undefined) {
      expect(errors).toStrictEqual(
        strict
          ? [MIDDLE, MIDDLE + 1, MIDDLE + 2].map(() =>
              expect.stringContaining('The value of a/unused is gone'),
            )
          : [],
      );
      const records = await parameters?.readSummaries({ parameterName: 'a/w' });
      expect(records).toHaveLength(STEPS);
    }
    const values = [...(await w.data())];
    tf.dispose([w]);
    return values;
  };
  const plain = await run();
  const session = await start(strict);
  expect(await run(session)).toStrictEqual(plain);
  await session.endRun();
  expect((await warningsOf(session)).map(([reason]) => reason)).toStrictEqual(
    strict ? [] : ['parameter_diagnostics tensor_disposed'],
  );
});

describe('a probe whose numbers never come', () => {
  it.each([true, false])(
    'is given up, and does not keep the run from its end (strict: %s)',
    async (strict) => {
      await tf.setBackend('device');
      const clock = new TestClock();
      const session = await start(strict, clock);
      const model = network();
      const source = tfjsModel(tf, model);
      const hooks = new HookEngine(session, source, { probeTimeoutMs: 1000 });
      const xs = tf.ones([2, 3]);
      const ys = tf.ones([2, 1]);
      const backend = tf.backend();
      const optimizer = tf.train.sgd(0.1);
      const step = (at: number): void => {
        hooks.beginStep(at);
        optimizer.minimize(() => {
          const output = model.apply(xs, { training: true });
          return tf.losses.meanSquaredError(ys, output as tf.Tensor);
        });
        hooks.endStep();
      };
      const reads = vi.spyOn(backend, 'read');
      reads.mockReturnValueOnce(new Promise(() => undefined));
      step(0);
      step(1);
      expect(hooks.status).toMatchObject({ probedSteps: 1, skippedProbes: 1 });
      clock.advance(1000);
      await nextTask();
      if (strict)
        expect(() => step(2)).toThrow(
          expect.objectContaining({
            code: 'probe_failed',
            details: expect.objectContaining({ reason: 'timed_out' }),
          }),
        );
      else step(2);
      step(3);
      await session.endRun();
      expect(reads.mock.calls.length).toBeGreaterThan(1);
      vi.restoreAllMocks();
      const warnings = await warningsOf(session);
      expect(warnings.map(([reason]) => reason)).toStrictEqual(
        strict ? [] : ['hook_engine timed_out'],
      );
      tf.dispose([xs, ys]);
      model.dispose();
      optimizer.dispose();
    },
  );

  it('of a step that never ends is given up when the run ends', async () => {
    const session = await start(false);
    const model = network();
    const hooks = new HookEngine(session, tfjsModel(tf, model));
    void hooks.step(0, {}, () => new Promise(() => undefined));
    await session.endRun();
    for (const layer of model.layers) expect(Object.hasOwn(layer, 'call')).toBe(false);
    expect(session.status).toBe('completed');
    model.dispose();
  });
});
