/** What is recorded of models of every build, and what happens when a model is not as it should be. */
import * as tf from '@tensorflow/tfjs';
import { version_wasm as wasmVersion } from '@tensorflow/tfjs-backend-wasm';
import { beforeAll, describe, expect, it } from 'vitest';
import { isQuarkError } from '../../src/base/errors.ts';
import { HookEngine, ParameterDiagnostics } from '../../src/probes.ts';
import { openRun } from '../../src/read/run-reader.ts';
import type { EventRecord } from '../../src/records/event.ts';
import type { LayerSummaryRecord } from '../../src/records/layer-summary.ts';
import { TrainingSession } from '../../src/session/training-session.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import { tfjsModel, tfjsVariables } from '../../src/tfjs.ts';

beforeAll(async () => {
  tf.enableProdMode();
  await tf.setBackend('cpu');
});

const open = (strictMode = false): Promise<TrainingSession> =>
  TrainingSession.startRun({
    project: 'p',
    storage: createMemoryStore(),
    handleSignals: false,
    strictMode,
  });

const events = async (
  session: TrainingSession,
  eventType: string,
): Promise<readonly EventRecord[]> => {
  await session.flush();
  return (await openRun(session.store, session.runId)).readEvents({ eventType });
};

/** `name direction#call:output` of each record, in order. */
const names = (records: readonly LayerSummaryRecord[]): string[] =>
  records.map(({ moduleName, hookDirection, callIndex, metadata }) => {
    const output = metadata?.['output_index'];
    return `${moduleName} ${hookDirection}#${callIndex}${output === undefined ? '' : `:${Number(output)}`}`;
  });

describe('models', () => {
  it('shared layers by call, nested models by path, several inputs and outputs', async () => {
    const session = await open();
    const [a, b] = [tf.input({ shape: [3] }), tf.input({ shape: [3] })];
    const shared = tf.layers.dense({ name: 'shared', units: 2, activation: 'tanh' });
    const inner = tf.sequential({
      name: 'inner',
      layers: [tf.layers.dense({ name: 'deep', units: 2, inputShape: [4] })],
    });
    const joined = tf.layers
      .concatenate({ name: 'join' })
      .apply([shared.apply(a), shared.apply(b)] as tf.SymbolicTensor[]);
    const z = inner.apply(joined) as tf.SymbolicTensor;
    const model = tf.model({
      inputs: [a, b],
      outputs: [
        tf.layers.dense({ name: 'one', units: 1 }).apply(z) as tf.SymbolicTensor,
        tf.layers
          .dense({ name: 'two', units: 3, activation: 'softmax' })
          .apply(z) as tf.SymbolicTensor,
      ],
    });
    model.compile({ optimizer: 'sgd', loss: ['meanSquaredError', 'categoricalCrossentropy'] });
    const source = tfjsModel(tf, model);
    const hooks = new HookEngine(session, source);
    const all = new HookEngine(session, source, {
      filters: { leafModulesOnly: false },
      captureBackward: false,
    });
    expect(hooks.instrumentedModuleNames).toStrictEqual([
      'shared',
      'join',
      'inner/deep',
      'one',
      'two',
    ]);
    expect(all.instrumentedModuleNames).toContain('inner');
    const xs = [tf.randomNormal([4, 3]), tf.randomNormal([4, 3])];
    const ys = [
      tf.randomNormal([4, 1]),
      tf.oneHot(tf.tensor1d([0, 1, 2, 0], 'int32'), 3).toFloat(),
    ];
    hooks.beginStep(0);
    await model.trainOnBatch(xs, ys);
    hooks.endStep();
    const records = await hooks.read();
    expect(names(records).toSorted()).toStrictEqual([
      'inner/deep backward#0',
      'inner/deep forward#0',
      'join backward#0',
      'join forward#0',
      'one backward#0',
      'one forward#0',
      'shared backward#0',
      'shared backward#1',
      'shared forward#0',
      'shared forward#1',
      'two backward#0',
      'two forward#0',
    ]);
    // The two calls saw different inputs; their gradients are their own halves of that of the joint.
    const gradients = records.filter(
      ({ moduleName, summaryType }) => moduleName === 'shared' && summaryType === 'gradient',
    );
    const joint = records.find(
      ({ moduleName, summaryType }) => moduleName === 'join' && summaryType === 'gradient',
    );
    expect(Math.hypot(...gradients.map(({ norm }) => norm ?? 0))).toBeCloseTo(joint?.norm ?? -1, 6);
    expect(records.find(({ moduleName }) => moduleName === 'shared')).toMatchObject({
      saturationRatio: expect.any(Number),
    });
    expect(records.find(({ moduleName }) => moduleName === 'join')?.saturationRatio).toBeNull();
    expect(
      source.parameters.map(({ name, moduleName, role }) => [name, moduleName, role]),
    ).toStrictEqual([
      ['shared/kernel', 'shared', 'weight'],
      ['shared/bias', 'shared', 'bias'],
      ['inner/deep/kernel', 'inner/deep', 'weight'],
      ['inner/deep/bias', 'inner/deep', 'bias'],
      ['one/kernel', 'one', 'weight'],
      ['one/bias', 'one', 'bias'],
      ['two/kernel', 'two', 'weight'],
      ['two/bias', 'two', 'bias'],
    ]);
    await session.endRun();
  });

  it('recurrent layers, wrappers, embeddings and normalisation; by name, type and pattern', async () => {
    const session = await open();
    const model = tf.sequential({
      layers: [
        tf.layers.embedding({ name: 'words', inputDim: 9, outputDim: 4, inputLength: 3 }),
        tf.layers.bidirectional({
          name: 'both',
          layer: tf.layers.lstm({ units: 2, returnSequences: true }),
          mergeMode: 'concat',
        }),
        tf.layers.timeDistributed({
          name: 'each',
          layer: tf.layers.dense({ name: 'd', units: 2 }),
        }),
        tf.layers.batchNormalization({ name: 'norm' }),
        tf.layers.flatten({ name: 'flat' }),
        tf.layers.dense({ name: 'out', units: 1 }),
      ],
    });
    model.compile({ optimizer: tf.train.rmsprop(0.01), loss: 'meanSquaredError' });
    const source = tfjsModel(tf, model);
    const xs = tf.tensor2d([1, 2, 3, 4, 5, 6], [2, 3], 'int32');
    const ys = tf.tensor2d([0, 1], [2, 1]);
    const hooks = new HookEngine(session, source);
    const each = new HookEngine(session, source, {
      filters: { leafModulesOnly: false, includeNamePatterns: ['/d$'] },
      captureBackward: false,
    });
    const parameters = new ParameterDiagnostics(session, source);
    const before = names(await hooks.read());
    expect(before).toStrictEqual([]);
    hooks.beginStep(0);
    each.beginStep(0);
    await model.trainOnBatch(xs, ys);
    hooks.endStep();
    each.endStep();
    parameters.snapshot(0);
    const leaves = ['words', 'both', 'each', 'norm', 'flat', 'out'];
    expect(hooks.instrumentedModuleNames).toStrictEqual(leaves);
    await session.flush();
    const records = await hooks.read({ step: 0 });
    for (const leaf of leaves) {
      expect(names(records)).toContain(`${leaf} forward#0`);
      expect(names(records)).toContain(`${leaf} backward#0`);
    }
    // What a wrapper holds is called once a time step.
    expect(records.filter(({ moduleName }) => moduleName === 'each/d')).toHaveLength(3);
    const roles = (await parameters.readSummaries()).map(
      ({ parameterName, parameterRole, optimizerGroup }) => [
        parameterName,
        parameterRole,
        optimizerGroup,
      ],
    );
    expect(roles).toContainEqual(['words/embeddings', 'weight', 'RMSProp']);
    expect(roles).toContainEqual(['norm/gamma', 'weight', 'RMSProp']);
    expect(roles).toContainEqual(['norm/moving_mean', 'other', null]);
    expect(roles.filter(([name]) => name?.startsWith('both/'))).toHaveLength(6);
    expect(roles).toContainEqual(['each/d/kernel', 'weight', 'RMSProp']);
    await session.endRun();
  });

  it('models of variables through taps, and hand-written steps', async () => {
    const session = await open();
    const kernel = tf.variable(tf.randomNormal([3, 2]), true, 'tap_kernel');
    const bias = tf.variable(tf.zeros([2]), true);
    const optimizer = tf.train.sgd(0.5);
    const source = tfjsVariables(tf, {
      variables: { 'hidden/kernel': kernel, 'hidden/bias': bias },
      taps: { hidden: 'Dense' },
      optimizer,
    });
    expect(source.parameters).toMatchObject([
      { moduleName: 'hidden', role: 'weight', optimizerGroup: 'SGD' },
      { moduleName: 'hidden', role: 'bias' },
    ]);
    const hooks = new HookEngine(session, source);
    const parameters = new ParameterDiagnostics(session, source);
    const xs = tf.randomNormal([4, 3]);
    const loss = (): tf.Scalar =>
      source.tap('hidden', tf.relu(tf.add(tf.matMul(xs, kernel as tf.Tensor2D), bias))).mean();
    hooks.beginStep(0);
    const { value, grads } = tf.variableGrads(loss);
    optimizer.applyGradients(grads);
    hooks.endStep();
    parameters.snapshot(0);
    expect(names(await hooks.read())).toStrictEqual(['hidden forward#0', 'hidden backward#0']);
    const [record] = await parameters.readSummaries({ parameterName: 'hidden/kernel' });
    const gradient = Number(tf.norm(grads['tap_kernel'] ?? xs).dataSync()[0]);
    expect(record?.gradientNorm).toBeCloseTo(gradient, 6);
    expect(record?.updateNorm).toBeCloseTo(gradient / 2, 6);
    expect(() => source.tap('nothing', xs)).toThrow('one of the taps: hidden');
    tf.dispose([value, grads]);
    await session.endRun();
  });

  it('frozen layers have values and no gradients; several optimizer steps count as the last', async () => {
    const session = await open();
    const model = tf.sequential({
      layers: [
        tf.layers.dense({ name: 'frozen', units: 2, inputShape: [2], trainable: false }),
        tf.layers.dense({ name: 'live', units: 1 }),
      ],
    });
    model.compile({ optimizer: 'adam', loss: 'meanSquaredError' });
    const parameters = new ParameterDiagnostics(session, tfjsModel(tf, model), {
      includeParameterRoles: ['weight'],
    });
    const [xs, ys] = [tf.randomNormal([4, 2]), tf.randomNormal([4, 1])];
    await model.trainOnBatch(xs, ys);
    await model.trainOnBatch(xs, ys);
    parameters.snapshot(0);
    parameters.snapshot(1);
    const records = await parameters.readSummaries();
    expect(
      records.map(({ step, parameterName, gradientNorm, updateNorm, optimizerGroup }) => [
        step,
        parameterName,
        gradientNorm === null,
        updateNorm === null,
        optimizerGroup,
      ]),
    ).toStrictEqual([
      [0, 'frozen/kernel', true, true, null],
      [0, 'live/kernel', false, false, 'Adam'],
      // No optimizer step since the last snapshot.
      [1, 'frozen/kernel', true, true, null],
      [1, 'live/kernel', true, true, 'Adam'],
    ]);
    await session.endRun();
  });

  it('tells validation from training', async () => {
    const session = await open();
    const model = tf.sequential({
      layers: [tf.layers.dense({ name: 'a', units: 1, inputShape: [2] })],
    });
    model.compile({ optimizer: 'sgd', loss: 'meanSquaredError' });
    const source = tfjsModel(tf, model);
    const training = new HookEngine(session, source);
    const both = new HookEngine(session, source, { captureEvaluation: true });
    const [xs, ys] = [tf.randomNormal([4, 2]), tf.randomNormal([4, 1])];
    for (const hooks of [training, both]) {
      hooks.beginStep(hooks === training ? 0 : 1);
      await model.trainOnBatch(xs, ys);
      tf.dispose(model.evaluate(xs, ys));
      hooks.endStep();
    }
    expect(names(await training.read({ step: 0 }))).toStrictEqual([
      'a_input forward#0',
      'a forward#0',
      'a backward#0',
    ]);
    const records = await both.read({ step: 1 });
    expect(records.map(({ metadata, callIndex }) => [metadata?.['pass'], callIndex])).toStrictEqual(
      [
        [undefined, 0],
        [undefined, 0],
        [undefined, 0],
        ['evaluation', 1],
        ['evaluation', 1],
      ],
    );
    await session.endRun();
  });

  it('shows what a model is given, each input once, and neither names of tokens nor inputs it cannot tell apart', async () => {
    const session = await open();
    const input = (name: string, dtype: 'float32' | 'int32' = 'float32'): tf.SymbolicTensor =>
      tf.input({ name, shape: [2], dtype });
    const [left, right, twice] = [input('left'), input('right'), input('twice')];
    const [words, ids] = [input('words'), input('ids', 'int32')];
    const shared = tf.layers.dense({ name: 'shared', units: 2 });
    const apply = (layer: tf.layers.Layer, ...inputs: tf.SymbolicTensor[]): tf.SymbolicTensor =>
      layer.apply(inputs.length === 1 ? (inputs[0] ?? inputs) : inputs) as tf.SymbolicTensor;
    const embedded = apply(tf.layers.embedding({ inputDim: 5, outputDim: 2 }), words);
    const flat = apply(tf.layers.flatten(), embedded);
    const masked = apply(tf.layers.activation({ activation: 'linear' }), ids);
    const model = tf.model({
      inputs: [left, right, twice, words, ids],
      outputs: apply(
        tf.layers.dense({ name: 'out', units: 1 }),
        apply(
          tf.layers.concatenate(),
          // The second goes to two layers, of which the first tells of it.
          apply(tf.layers.multiply({ name: 'both' }), left, right),
          apply(tf.layers.dense({ name: 'own', units: 2 }), right),
          apply(shared, twice),
          apply(shared, left),
          flat,
          masked,
        ),
      ),
    });
    model.compile({ optimizer: 'sgd', loss: 'meanSquaredError' });
    const hooks = new HookEngine(session, tfjsModel(tf, model), {
      filters: { includeTypes: ['InputLayer'] },
    });
    expect(hooks.instrumentedModuleNames).toStrictEqual(['left', 'right']);
    hooks.beginStep(0);
    const constant = (value: number, dtype: 'float32' | 'int32' = 'float32'): tf.Tensor =>
      tf.ones([4, 2]).mul(value).cast(dtype);
    const xs = [constant(3), constant(-5), constant(1), constant(2), constant(4, 'int32')];
    await model.trainOnBatch(xs, tf.zeros([4, 1]));
    hooks.endStep();
    const records = await hooks.read();
    expect(
      records
        .map(({ moduleName, moduleType, summaryType, mean, elementCount }) => [
          moduleName,
          moduleType,
          summaryType,
          mean,
          elementCount,
        ])
        .toSorted((a, b) => String(a).localeCompare(String(b))),
    ).toStrictEqual([
      ['left', 'InputLayer', 'activation', 3, 8],
      ['right', 'InputLayer', 'activation', -5, 8],
    ]);
    await session.endRun();
  });

  it('leaves losses of the second order as they are', async () => {
    const train = async (isObserved: boolean): Promise<number[]> => {
      const session = await open();
      const model = tf.sequential({
        layers: [
          tf.layers.dense({
            name: 'a',
            units: 3,
            inputShape: [2],
            activation: 'tanh',
            kernelInitializer: tf.initializers.glorotNormal({ seed: 1 }),
          }),
          tf.layers.dense({
            name: 'b',
            units: 1,
            kernelInitializer: tf.initializers.glorotNormal({ seed: 2 }),
          }),
        ],
      });
      const optimizer = tf.train.sgd(0.1);
      const hooks = isObserved
        ? new HookEngine(session, tfjsModel(tf, model, optimizer))
        : undefined;
      const xs = tf.tensor2d([1, 2, -1, 0.5, 0.3, -2], [3, 2]);
      const forward = (x: tf.Tensor): tf.Tensor => model.apply(x, { training: true }) as tf.Tensor;
      const losses: number[] = [];
      for (let i = 0; i < 4; i++) {
        hooks?.beginStep(i);
        const loss = optimizer.minimize(() => {
          const penalty = tf
            .grad((x) => forward(x).sum())(xs)
            .square()
            .sum();
          return forward(xs).square().mean().add(penalty).asScalar();
        }, true);
        hooks?.endStep();
        losses.push(Number(loss?.dataSync()[0]));
      }
      if (hooks !== undefined) {
        // Two calls, each with the gradient of its output.
        expect(names(await hooks.read({ step: 0, moduleName: 'a' })).toSorted()).toStrictEqual([
          'a backward#0',
          'a backward#1',
          'a forward#0',
          'a forward#1',
        ]);
      }
      await session.endRun();
      return losses;
    };
    expect(await train(true)).toStrictEqual(await train(false));
  });
});

describe('what cannot be observed', () => {
  const model = (): tf.Sequential => {
    const made = tf.sequential({
      layers: [
        tf.layers.dense({ name: 'a', units: 2, inputShape: [2] }),
        tf.layers.dense({ name: 'b', units: 1 }),
      ],
    });
    made.compile({ optimizer: 'sgd', loss: 'meanSquaredError' });
    return made;
  };
  const train = async (network: tf.LayersModel): Promise<number> => {
    const [xs, ys] = [tf.ones([2, 2]), tf.ones([2, 1])];
    const loss = Number(await network.trainOnBatch(xs, ys));
    tf.dispose([xs, ys]);
    return loss;
  };
  const reasons = async (session: TrainingSession): Promise<unknown[]> =>
    (await events(session, 'probe_warning')).map(({ payload }) => payload['reason']);

  it.each([true, false])(
    'a model without layers, filters that match nothing (strict: %s)',
    async (strict) => {
      const session = await open(strict);
      const empty = (): HookEngine => new HookEngine(session, tfjsModel(tf, tf.sequential()));
      const filtered = (): HookEngine =>
        new HookEngine(session, tfjsModel(tf, model()), { filters: { includeTypes: ['Linear'] } });
      const unmatched = (): ParameterDiagnostics =>
        new ParameterDiagnostics(session, tfjsModel(tf, model()), {
          includeParameterPatterns: [/^nothing/],
        });
      if (strict) {
        for (const make of [empty, filtered, unmatched]) {
          expect(make).toThrow(expect.objectContaining({ code: 'probe_failed' }));
        }
        expect(filtered).toThrow(
          'match none of the 3 layers: no layer is observed. The first ones are a_input (InputLayer), a (Dense)',
        );
      } else {
        for (const hooks of [empty(), filtered()]) {
          expect(hooks.beginStep(0)).toBe(false);
          hooks.endStep();
        }
        expect(unmatched().snapshot(0)).toBe(false);
        expect(await reasons(session)).toStrictEqual(['no_layers', 'no_match', 'no_match']);
      }
      await session.endRun();
    },
  );

  it.each([true, false])('an optimizer that was recompiled (strict: %s)', async (strict) => {
    const session = await open(strict);
    const network = model();
    const parameters = new ParameterDiagnostics(session, tfjsModel(tf, network));
    const first = network.optimizer;
    await train(network);
    parameters.snapshot(0);
    network.compile({ optimizer: tf.train.adam(0.1), loss: 'meanSquaredError' });
    await train(network);
    if (strict) {
      expect(() => parameters.snapshot(1)).toThrow('compiled with another optimizer');
    } else {
      parameters.snapshot(1);
      expect(await reasons(session)).toStrictEqual(['optimizer_replaced']);
    }
    expect(Object.hasOwn(first, 'applyGradients')).toBe(false);
    await train(network);
    parameters.snapshot(2);
    const records = await parameters.readSummaries({ parameterName: 'a/kernel' });
    expect(
      records.map(({ step, gradientNorm, optimizerGroup }) => [
        step,
        gradientNorm === null,
        optimizerGroup,
      ]),
    ).toStrictEqual([
      [0, false, 'SGD'],
      [1, true, 'Adam'],
      [2, false, 'Adam'],
    ]);
    await session.endRun();
    expect(Object.hasOwn(network.optimizer, 'applyGradients')).toBe(false);
  });

  it.each([true, false])('a disposed tensor (strict: %s)', async (strict) => {
    const session = await open(strict);
    const network = model();
    const parameters = new ParameterDiagnostics(session, tfjsModel(tf, network));
    network.layers[1]?.dispose();
    if (strict) expect(() => parameters.snapshot(0)).toThrow('b/kernel is gone');
    else {
      parameters.snapshot(0);
      parameters.snapshot(1);
      expect(await reasons(session)).toStrictEqual(['tensor_disposed']);
      expect(
        (await parameters.readSummaries({ step: 1 })).map((r) => r.parameterName),
      ).toStrictEqual(['a/kernel', 'a/bias']);
    }
    await session.endRun();
  });

  it.each([true, false])('a step that never ends (strict: %s)', async (strict) => {
    const session = await open(strict);
    const network = model();
    const hooks = new HookEngine(session, tfjsModel(tf, network));
    hooks.beginStep(0);
    await train(network);
    if (strict) {
      expect(() => hooks.beginStep(1)).toThrow('Step 0 was begun and not ended');
    } else {
      expect(hooks.beginStep(1)).toBe(true);
      await train(network);
      hooks.endStep();
      expect(await reasons(session)).toStrictEqual(['step_not_ended']);
      expect(new Set((await hooks.read()).map(({ step }) => step))).toStrictEqual(new Set([0, 1]));
    }
    await session.endRun();
  });

  it.each([true, false])('another backend (strict: %s)', async (strict) => {
    const session = await open(strict);
    const network = model();
    const source = tfjsModel(tf, network);
    const parameters = new ParameterDiagnostics(session, source);
    const hooks = new HookEngine(session, source);
    await train(network);
    parameters.snapshot(0);
    expect(wasmVersion).toBeTypeOf('string');
    expect(await tf.setBackend('wasm')).toBe(true);
    try {
      // The hooks are told first, and the parameters have to know of it all the same.
      if (strict) expect(() => hooks.beginStep(1)).toThrow('switched from cpu to wasm');
      else hooks.beginStep(1);
      await train(network);
      hooks.endStep();
      parameters.snapshot(1);
      await train(network);
      parameters.snapshot(2);
      if (!strict) expect(await reasons(session)).toStrictEqual(['backend_changed']);
      const records = await parameters.readSummaries({ parameterName: 'a/kernel' });
      expect(
        records.map((r) => [r.step, r.gradientNorm !== null, r.gradientCosine !== null]),
      ).toStrictEqual([
        [0, true, false],
        [1, true, false],
        [2, true, true],
      ]);
    } finally {
      await tf.setBackend('cpu');
    }
    await session.endRun();
  });

  it('a model that is not the one that trains', async () => {
    const session = await open();
    const hooks = new HookEngine(session, tfjsModel(tf, model()));
    hooks.beginStep(0);
    await train(model());
    hooks.endStep();
    expect(await reasons(session)).toStrictEqual(['nothing_captured']);
    await session.endRun();
  });

  it('refuses what is no model', async () => {
    const session = await open();
    const bad = [
      () => tfjsModel(undefined as never, model()),
      () => tfjsModel(tf, {} as never),
      () => tfjsModel(tf, model(), {} as never),
      () => tfjsVariables(tf, { variables: { a: tf.ones([1]) } }),
      () => new HookEngine(session, model() as never),
    ];
    for (const make of bad) {
      let error: unknown;
      try {
        make();
      } catch (caught) {
        error = caught;
      }
      expect(isQuarkError(error, 'invalid_input')).toBe(true);
    }
    await session.endRun();
  });
});
