/** Several calls of fit, such as one an epoch: what is recorded is what one fit would have given. */
import * as tf from '@tensorflow/tfjs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createKernels, type Kernels } from '../../src/kernel/tensor/kernels.ts';
import { readLayerSummaries } from '../../src/read/tables.ts';
import { readParameterSummaries } from '../../src/read/tables.ts';
import { openRun } from '../../src/read/run-reader.ts';
import { TrainingSession } from '../../src/session/training-session.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import type { Store } from '../../src/store/store.ts';
import { quarkCallback, tfjsModel, type QuarkCallbackOptions } from '../../src/tfjs.ts';
import { registerAsyncBackend } from '../support/async-backend.ts';
import { data, model, weights, type Data } from './small-training.ts';

const EPOCHS = 12;
const FIT = { batchSize: 8, shuffle: false } as const;

let store: Store;
let session: TrainingSession;
let examples: Data;
let kernels: Kernels;

beforeAll(async () => {
  // While they are being loaded, plain JavaScript does what they do, but for the last place of a sum.
  kernels = await createKernels();
  tf.enableProdMode();
  await tf.setBackend('cpu');
});
afterAll(() => kernels.close());
beforeEach(async () => {
  store = createMemoryStore();
  session = await start();
  examples = data();
});
afterEach(async () => {
  if (session.status === 'running') await session.endRun();
  tf.dispose([examples.xs, examples.ys]);
});

function start(strictMode = false): Promise<TrainingSession> {
  return TrainingSession.startRun({
    project: 'p',
    storage: store,
    handleSignals: false,
    strictMode,
  });
}

/** Times that come out the same however the epochs are dealt out, and a probe that is dear enough to need a budget. */
function options(): QuarkCallbackOptions {
  const clock = (): (() => number) => {
    let ms = 0;
    return () => (ms += 1);
  };
  const budget = { schedule: { everyNSteps: 1 }, overheadBudget: 0.5, kernels };
  return {
    telemetry: false,
    hooks: { ...budget, deadUnitEpsilon: 0.35, deadUnitProbes: 3, now: clock() },
    parameters: { ...budget, now: clock() },
  };
}

/** Everything of the run but its times; layers are called by their numbers. */
async function recordsOf(
  runId: string,
  { layers: own }: tf.Sequential,
): Promise<Readonly<Record<string, readonly unknown[]>>> {
  const reader = await openRun(store, runId);
  const losses = await reader.readMetricColumns({ metricKey: 'train/loss' });
  const cadences = await reader.readEvents({ eventType: 'probe_cadence_chosen' });
  const plain = (record: { toDict(): Readonly<Record<string, unknown>> }): unknown => {
    const { timestamp: _timestamp, run_id: _runId, ...rest } = record.toDict();
    return JSON.parse(
      own.reduce((json, { name }, i) => json.replaceAll(name, `layer ${i}`), JSON.stringify(rest)),
    );
  };
  const layers = (await readLayerSummaries({ store, runId })).records;
  const parameters = (await readParameterSummaries({ store, runId })).records;
  return {
    steps: [...losses.steps],
    epochs: [...losses.epochs],
    losses: [...losses.values],
    cadences: cadences.map(({ step, epoch, payload }) => ({ step, epoch, payload })),
    layers: layers.map(plain),
    persistent: layers.map(({ persistentDeadUnitCount }) => persistentDeadUnitCount),
    parameters: parameters.map(plain),
    cosines: parameters.map(({ gradientCosine }) => gradientCosine),
    warnings: await reader.readEvents({ eventType: 'probe_warning' }),
  };
}

describe('one fit an epoch', () => {
  it.each([
    ['with one callback', false],
    ['with a callback made for each', true],
  ])('records what one fit of all epochs records, %s', async (_, isMadeAnew) => {
    const { xs, ys } = examples;
    const whole = model();
    await whole.fit(xs, ys, {
      ...FIT,
      epochs: EPOCHS,
      callbacks: quarkCallback(session, tf, whole, options()),
    });
    await session.endRun();
    const wanted = await recordsOf(session.runId, whole);
    // The case tells nothing unless each kind of memory is at work.
    expect(wanted['cadences']?.length).toBeGreaterThan(1);
    expect(wanted['persistent']?.some((count) => Number(count) > 0)).toBe(true);
    expect(
      wanted['cosines']?.filter((cosine) => typeof cosine === 'number').length,
    ).toBeGreaterThan(8);

    session = await start();
    const dealt = model();
    const given = options();
    const settings = (): QuarkCallbackOptions => ({ ...given, hooks: { ...Object(given.hooks) } });
    const first = quarkCallback(session, tf, dealt, settings());
    for (let epoch = 0; epoch < EPOCHS; epoch++) {
      const callbacks = isMadeAnew ? quarkCallback(session, tf, dealt, settings()) : first;
      await dealt.fit(xs, ys, { ...FIT, epochs: 1, callbacks });
      expect(Object.hasOwn(dealt.optimizer, 'applyGradients')).toBe(false);
      for (const layer of dealt.layers) expect(Object.hasOwn(layer, 'call')).toBe(false);
    }
    await session.endRun();
    expect(await recordsOf(session.runId, dealt)).toStrictEqual(wanted);
    expect(weights(dealt)).toStrictEqual(weights(whole));
  });

  it.each([
    ['that was ended', async () => session.endRun('interrupted')],
    ['that was left', async () => session.close()],
  ])('goes on behind what is recorded of a run %s and resumed', async (_name, leave) => {
    const { xs, ys } = examples;
    const steps = async (): Promise<readonly (readonly number[])[]> => {
      const { epochs, steps: all } = await (
        await openRun(store, session.runId)
      ).readMetricColumns({ metricKey: 'train/loss' });
      return [...all].map((step, i) => [step, epochs[i] ?? -1]);
    };
    await model().fit(xs, ys, {
      ...FIT,
      epochs: 2,
      callbacks: quarkCallback(session, tf, model(), { telemetry: false }),
    });
    // Cut off in the middle of an epoch.
    const cut = model();
    const own = quarkCallback(session, tf, cut, { telemetry: false });
    await cut.fit(xs, ys, {
      ...FIT,
      epochs: 1,
      callbacks: [own, { onBatchEnd: (batch: number) => void (cut.stopTraining = batch === 0) }],
    });
    await leave();
    const { runId } = session;
    session = await TrainingSession.resumeRun({ runId, storage: store, handleSignals: false });
    const before = await steps();
    const resumed = model();
    const callback = quarkCallback(session, tf, resumed, { telemetry: false });
    await resumed.fit(xs, ys, { ...FIT, epochs: 1, callbacks: callback });
    await resumed.fit(xs, ys, {
      ...FIT,
      epochs: 1,
      callbacks: quarkCallback(session, tf, model(), { telemetry: false }),
    });
    await session.flush();
    const all = await steps();
    expect(all.map(([step]) => step)).toStrictEqual(all.map((_step, i) => i));
    const lastEpoch = before.at(-1)?.[1] ?? 0;
    expect(all.slice(before.length).map(([, epoch]) => epoch)).toStrictEqual(
      [1, 1, 1, 2, 2, 2].map((n) => lastEpoch + n),
    );
    // A session that is told where to begin begins there.
    const told = quarkCallback(session, tf, model(), {
      telemetry: false,
      initialStep: 500,
      initialEpoch: 9,
    });
    await resumed.fit(xs, ys, { ...FIT, epochs: 1, callbacks: told });
    expect(told.nextStep).toBe(503);
  });

  it('goes on counting where the session has got to, unless it is told where to begin', async () => {
    const { xs, ys } = examples;
    const network = model();
    const fit = (settings: QuarkCallbackOptions, of = network, more = {}): Promise<unknown> =>
      of.fit(xs, ys, {
        ...FIT,
        epochs: 1,
        ...more,
        callbacks: quarkCallback(session, tf, of, { telemetry: false, hooks: false, ...settings }),
      });
    await fit({});
    await fit({ parameters: false }); // other options: another callback
    await fit({}, model()); // another model
    await fit({}, network, { initialEpoch: 7, epochs: 8 });
    await fit({ initialStep: 100, initialEpoch: 20 });
    await fit({ initialStep: 100, initialEpoch: 20 });
    await fit({});
    await fit({ initialStep: 300 });
    const reader = await openRun(store, session.runId);
    const columns = await reader.readMetricColumns({ metricKey: 'train/epoch_loss' });
    expect([...columns.steps]).toStrictEqual([2, 5, 8, 11, 102, 105, 108, 302]);
    expect([...columns.epochs]).toStrictEqual([0, 1, 2, 7, 20, 21, 22, 23]);
  });

  it('is another callback once it has been closed, which has forgotten the gradients', async () => {
    const { xs, ys } = examples;
    const network = model();
    const settings: QuarkCallbackOptions = {
      telemetry: false,
      hooks: false,
      parameters: { schedule: { everyNSteps: 3 } },
    };
    const first = quarkCallback(session, tf, network, settings);
    expect(quarkCallback(session, tf, network, { ...settings })).toBe(first);
    expect(quarkCallback(session, tf, network, { ...settings, hooks: {} })).not.toBe(first);
    expect(quarkCallback(session, tf, model(), settings)).not.toBe(first);
    await network.fit(xs, ys, { ...FIT, epochs: 2, callbacks: first });
    await first.close();
    const second = quarkCallback(session, tf, network, settings);
    expect(second).not.toBe(first);
    await network.fit(xs, ys, { ...FIT, epochs: 2, callbacks: second });
    const { records } = await readParameterSummaries(
      { store, runId: session.runId },
      {
        parameterName: `${network.layers[0]?.name}/kernel`,
      },
    );
    expect(
      records.map(({ step, gradientCosine }) => [step, gradientCosine === null]),
    ).toStrictEqual([
      [0, true],
      [3, false],
      [6, true],
      [9, false],
    ]);
  });

  it('observes a model that was changed between two fits as it is now', async () => {
    const { xs, ys } = examples;
    const network = model();
    const callback = quarkCallback(session, tf, network, {
      telemetry: false,
      hooks: { schedule: { everyNSteps: 1 } },
      parameters: { schedule: { everyNSteps: 1 } },
    });
    await network.fit(xs, ys, { ...FIT, epochs: 1, callbacks: callback });
    const names = [...network.inputLayers, ...network.layers].map(({ name }) => name);
    const [hidden] = network.layers;
    if (hidden !== undefined) hidden.trainable = false;
    network.add(tf.layers.dense({ name: 'added', units: 1, activation: 'sigmoid' }));
    network.compile({ optimizer: tf.train.adam(0.01), loss: 'binaryCrossentropy' });
    await network.fit(xs, ys, { ...FIT, epochs: 1, callbacks: callback });
    const layers = (
      await readLayerSummaries({ store, runId: session.runId }, { hookDirection: 'forward' })
    ).records;
    const layersAt = (step: number): readonly string[] =>
      layers.flatMap((record) => (record.step === step ? [record.moduleName] : []));
    expect(layersAt(2)).toStrictEqual(names);
    expect(layersAt(3)).toStrictEqual([...names, 'added']);
    const parameters = (await readParameterSummaries({ store, runId: session.runId })).records;
    const groupsAt = (step: number): readonly (string | null)[] =>
      parameters.flatMap((record) => (record.step === step ? [record.optimizerGroup] : []));
    expect(groupsAt(2)).toStrictEqual(Array(4).fill('SGD'));
    expect(groupsAt(3)).toStrictEqual([null, null, ...Array<string>(4).fill('Adam')]);
    expect(Object.hasOwn(network.optimizer, 'applyGradients')).toBe(false);
    for (const layer of network.layers) expect(Object.hasOwn(layer, 'call')).toBe(false);
    await session.endRun();
    const reader = await openRun(store, session.runId);
    expect(await reader.readEvents({ eventType: 'probe_warning' })).toStrictEqual([]);
  });

  it('keeps one gradient a parameter between fits, and none after close()', async () => {
    // On a device they are tensors; on a host they are arrays of ours.
    await registerAsyncBackend(tf, 'device');
    await tf.setBackend('device');
    try {
      const { xs, ys } = data();
      const network = model();
      await network.fit(xs, ys, { ...FIT, epochs: 1 });
      const before = tf.memory().numTensors;
      const callback = quarkCallback(session, tf, network, {
        telemetry: false,
        parameters: { schedule: { everyNSteps: 1 } },
      });
      for (let fit = 0; fit < 5; fit++) {
        await network.fit(xs, ys, { ...FIT, epochs: 1, callbacks: callback });
        expect(tf.memory().numTensors).toBe(before + 4);
      }
      await callback.close();
      expect(tf.memory().numTensors).toBe(before);
      tf.dispose([xs, ys]);
    } finally {
      await tf.setBackend('cpu');
    }
  });

  it('holds on to a few models only, of which the others begin anew', async () => {
    const { xs, ys } = examples;
    const settings: QuarkCallbackOptions = {
      telemetry: false,
      hooks: false,
      parameters: { schedule: { everyNSteps: 3 } },
    };
    const models = Array.from({ length: 9 }, () => model());
    const callbacks = models.map((network) => quarkCallback(session, tf, network, settings));
    const [first, second] = models;
    if (first === undefined || second === undefined) throw new RangeError('no models');
    // The ninth took the place of the first, which can be used all the same.
    expect(quarkCallback(session, tf, second, settings)).toBe(callbacks[1]);
    expect(quarkCallback(session, tf, first, settings)).not.toBe(callbacks[0]);
    await first.fit(xs, ys, { ...FIT, epochs: 1, callbacks: callbacks[0] as never });
    const { records } = await readParameterSummaries({ store, runId: session.runId }, { step: 0 });
    expect(records).toHaveLength(4);
    await session.endRun();
    const reader = await openRun(store, session.runId);
    expect(await reader.readEvents({ severity: 'warning' })).toStrictEqual([]);
  });

  it('takes up where a fit that threw left off, with taps given by the user', async () => {
    const { xs, ys } = examples;
    const network = model();
    const source = tfjsModel(tf, network);
    const callback = quarkCallback(session, tf, network, {
      telemetry: false,
      source,
      hooks: false,
      parameters: { schedule: { everyNSteps: 1 } },
    });
    const fail = {
      onBatchEnd: (batch: number) =>
        batch === 1 ? Promise.reject(new Error('stop')) : Promise.resolve(),
    };
    await expect(
      network.fit(xs, ys, { ...FIT, epochs: 1, callbacks: [callback, fail] }),
    ).rejects.toThrow('stop');
    await network.fit(xs, ys, { ...FIT, epochs: 1, callbacks: callback });
    const { records } = await readParameterSummaries(
      { store, runId: session.runId },
      {
        parameterName: `${network.layers[0]?.name}/bias`,
      },
    );
    expect(
      records.map(({ step, gradientCosine }) => [step, gradientCosine === null]),
    ).toStrictEqual([0, 1, 2, 3, 4].map((step) => [step, step === 0]));
    expect(Object.hasOwn(network.optimizer, 'applyGradients')).toBe(false);
  });

  it('tells what cannot be observed once, not with every fit, and raises it where the run is strict', async () => {
    const { xs, ys } = examples;
    const settings: QuarkCallbackOptions = {
      telemetry: false,
      hooks: { filters: { includeNames: ['nobody'] } },
      parameters: false,
    };
    const network = model();
    for (let epoch = 0; epoch < 3; epoch++) {
      const callbacks = quarkCallback(session, tf, network, settings);
      await network.fit(xs, ys, { ...FIT, epochs: 1, callbacks });
    }
    await session.endRun();
    const reader = await openRun(store, session.runId);
    const warnings = await reader.readEvents({ eventType: 'probe_warning' });
    expect(warnings.map(({ payload }) => payload['reason'])).toStrictEqual(['no_match']);
    const strict = await start(true);
    const callbacks = quarkCallback(strict, tf, network, settings);
    await expect(network.fit(xs, ys, { ...FIT, epochs: 1, callbacks })).rejects.toMatchObject({
      code: 'probe_failed',
    });
    await strict.endRun();
  });
});
