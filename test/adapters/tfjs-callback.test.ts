/** The callback on real TensorFlow.js (cpu): what it records, and that training does not notice it. */
import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import type { MetricColumns } from '../../src/read/metric-columns.ts';
import { readLayerSummaries } from '../../src/read/tables.ts';
import { readTelemetry } from '../../src/read/tables.ts';
import { readParameterDistributions, readParameterSummaries } from '../../src/read/tables.ts';
import { openRun, type RunReader } from '../../src/read/run-reader.ts';
import type { EventRecord } from '../../src/records/event.ts';
import { TrainingSession } from '../../src/session/training-session.ts';
import type { Store } from '../../src/store/store.ts';
import { DataDiagnostics } from '../../src/instruments/diagnostics/data-diagnostics.ts';
import { data, model, weights } from './small-training.ts';
import { quarkCallback, type QuarkCallback, type QuarkCallbackOptions } from '../../src/tfjs.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';

beforeAll(async () => {
  tf.enableProdMode();
  await tf.setBackend('cpu');
});

const FIT = { epochs: 3, batchSize: 8, shuffle: false } as const;

async function recorded(
  work: (
    callback: QuarkCallback,
    session: TrainingSession,
    network: tf.Sequential,
  ) => Promise<unknown>,
  options: { network?: tf.Sequential; callback?: QuarkCallbackOptions; strictMode?: boolean } = {},
): Promise<{ reader: RunReader; store: Store }> {
  const store = createMemoryStore();
  const network = options.network ?? model();
  const session = await TrainingSession.startRun({
    project: 'p',
    storage: store,
    handleSignals: false,
    strictMode: options.strictMode ?? false,
  });
  await work(quarkCallback(session, tf, network, options.callback), session, network);
  await session.endRun('completed');
  return { reader: await openRun(store, session.runId), store };
}

function points(columns: MetricColumns): [step: number, epoch: number, value: number][] {
  return Array.from({ length: columns.rowCount }, (_, row) => [
    columns.steps[row] ?? -1,
    columns.epochs[row] ?? -1,
    columns.values[row] ?? Number.NaN,
  ]);
}

const read = async (reader: RunReader, metricKey: string) =>
  points(await reader.readMetricColumns({ metricKey }));
const events = (reader: RunReader, eventType: string): Promise<readonly EventRecord[]> =>
  reader.readEvents({ eventType });

describe('quarkCallback', () => {
  it('tells what fitDataset waits for its batches, and that fit waits for none', async () => {
    const { xs, ys } = data();
    let clock = 0;
    const batches = tf.data.generator(function* () {
      for (let i = 0; i < 4; i++) {
        clock += 30;
        yield { xs: xs.slice([0, 0], [8, -1]), ys: ys.slice([0, 0], [8, -1]) };
      }
    });
    const compute = { onBatchEnd: async () => void (clock += 10) };
    const times = async (isDataset: boolean) => {
      const { reader } = await recorded(
        (callback, _session, network) =>
          isDataset
            ? network.fitDataset(batches, { epochs: 2, verbose: 0, callbacks: [compute, callback] })
            : network.fit(xs, ys, { ...FIT, callbacks: [compute, callback] }),
        { callback: { telemetry: { sampleEveryNSteps: 1 }, now: () => clock } },
      );
      const { records } = await readTelemetry(reader);
      return records.map(({ stepTimeMs, dataTimeMs }) => [stepTimeMs, dataTimeMs]);
    };
    expect(await times(true)).toStrictEqual(Array.from({ length: 8 }, () => [40, 30]));
    expect(await times(false)).toStrictEqual(Array.from({ length: 9 }, () => [10, null]));
    tf.dispose([xs, ys]);
  });

  it('samples the machine every 10th step, or as it is told, or not at all', async () => {
    const { xs, ys } = data();
    const steps = async (telemetry: QuarkCallbackOptions['telemetry']): Promise<number[]> => {
      const { reader } = await recorded(
        (callback, _session, network) => network.fit(xs, ys, { ...FIT, callbacks: callback }),
        telemetry === undefined ? {} : { callback: { telemetry } },
      );
      const { records } = await readTelemetry(reader);
      for (const { stepTimeMs, tensorCount, boundary } of records) {
        expect(boundary).toBe('step');
        expect(stepTimeMs).toBeGreaterThan(0);
        expect(tensorCount).toBeGreaterThan(0);
      }
      return records.map(({ step }) => step ?? -1);
    };
    const all = await steps({ sampleEveryNSteps: 1, captureGpu: false });
    expect(all).toStrictEqual(all.map((_, step) => step));
    expect(await steps(undefined)).toStrictEqual(all.filter((step) => step % 10 === 0));
    expect(await steps(false)).toStrictEqual([]);
  });

  it('measures what it takes of the thread, and thins all but metrics to keep to its budget', async () => {
    const { xs, ys } = data();
    const train = async (overheadBudget: number | null) => {
      let clock = 0;
      const found: QuarkCallback[] = [];
      const { reader, store } = await recorded(
        async (callback, _session, network) => {
          found.push(callback);
          expect(callback.diagnostics().overhead?.trainingMs ?? 0).toBe(0);
          await network.fit(xs, ys, { ...FIT, epochs: 40, callbacks: callback });
        },
        { callback: { overheadBudget, now: () => (clock += 5) } },
      );
      const rows = async (table: string): Promise<number> =>
        (await store.listSegments({ runId: reader.run.id, table })).reduce(
          (sum, one) => sum + one.rowCount,
          0,
        );
      return {
        losses: await read(reader, 'train/loss'),
        telemetry: (await readTelemetry(reader)).records.length,
        batches: await rows('batch_diagnostics'),
        told: await events(reader, 'overhead_measured'),
        overhead: found[0]?.diagnostics().overhead ?? null,
      };
    };
    const free = await train(null);
    expect(free.overhead).toBe(null);
    expect(free.told).toStrictEqual([]);
    expect(free.telemetry).toBe(12);
    const strict = await train(1e-6);
    expect(strict.losses).toStrictEqual(free.losses);
    expect(strict.telemetry).toBeLessThan(free.telemetry);
    expect(strict.batches).toBeLessThan(free.batches);
    const { overhead } = strict;
    for (const part of ['callback', 'log', 'flush', 'batches', 'telemetry', 'probes'] as const)
      expect(overhead?.spentMs[part]).not.toBe(0);
    expect(overhead?.telemetrySlowdown).toBeGreaterThan(1);
    expect(strict.told.at(-1)?.payload).toMatchObject({
      overhead_budget: 1e-6,
      telemetry_slowdown: overhead?.telemetrySlowdown,
      spent_ms: { callback: expect.any(Number), probes: expect.any(Number) },
    });
    tf.dispose([xs, ys]);
  });

  it('leaves the batches to a program that records them itself, and records them where none does', async () => {
    const { xs, ys } = data();
    const rowsOf = async (ownDiagnostics: boolean): Promise<number> => {
      const { reader, store } = await recorded(async (callback, session, network) => {
        const own = ownDiagnostics ? new DataDiagnostics(session) : undefined;
        const spy = { onBatchEnd: async () => void own?.logBatch(1) };
        await network.fit(xs, ys, { ...FIT, callbacks: [spy, callback] });
      });
      const filter = { runId: reader.run.id, table: 'batch_diagnostics' };
      return (await store.listSegments(filter)).reduce((sum, one) => sum + one.rowCount, 0);
    };
    const batches = Math.ceil((xs.shape[0] ?? 0) / FIT.batchSize) * FIT.epochs;
    expect(await rowsOf(true)).toBe(batches);
    expect(await rowsOf(false)).toBeGreaterThan(0);
  });

  it('records batches and epochs under the conventional keys, with the numbers that fit reports', async () => {
    const { xs, ys } = data();
    const network = model();
    const batchLosses: number[] = [];
    let history: tf.History | undefined;
    const { reader } = await recorded(
      async (callback) => {
        const spy = {
          onBatchEnd: async (_batch: number, logs?: tf.Logs) =>
            void batchLosses.push(logs?.['loss'] ?? Number.NaN),
        };
        history = await network.fit(xs, ys, {
          ...FIT,
          validationData: [xs, ys],
          callbacks: [callback, spy],
        });
      },
      { network },
    );
    const keys = await reader.metricKeys();
    expect(keys.filter((key) => !key.startsWith('system/'))).toStrictEqual([
      'data/input_target_correlation',
      'data/most_correlated_input',
      'data/repeated_samples',
      'data/validation_overlap',
      'optimizer/lr',
      'perf/step_time_ms',
      'train/accuracy',
      'train/epoch_accuracy',
      'train/epoch_loss',
      'train/loss',
      'val/accuracy',
      'val/loss',
    ]);
    const losses = await read(reader, 'train/loss');
    expect(losses.map(([step, epoch]) => [step, epoch])).toStrictEqual(
      [0, 1, 2, 3, 4, 5, 6, 7, 8].map((step) => [step, Math.floor(step / 3)]),
    );
    expect(losses.map(([, , value]) => value)).toStrictEqual(batchLosses);
    expect(await read(reader, 'optimizer/lr')).toStrictEqual(
      losses.map(([step, epoch]) => [step, epoch, 0.25]),
    );
    const expected = (name: string) =>
      (history?.history[name] ?? []).map((value, epoch) => [epoch * 3 + 2, epoch, value]);
    expect(await read(reader, 'val/loss')).toStrictEqual(expected('val_loss'));
    expect(await read(reader, 'val/accuracy')).toStrictEqual(expected('val_acc'));
    expect(await read(reader, 'train/epoch_loss')).toStrictEqual(expected('loss'));
    expect(await read(reader, 'train/epoch_accuracy')).toStrictEqual(expected('acc'));
    tf.dispose([xs, ys]);
  });

  it('gives the times of steps, but not of those in which fit validates', async () => {
    const { xs, ys } = data();
    let nowMs = 0;
    const now = (): number => (nowMs += 7);
    const network = model();
    const validated = await recorded(
      (callback) => network.fit(xs, ys, { ...FIT, validationSplit: 0.25, callbacks: callback }),
      {
        network,
        callback: { now },
      },
    );
    const times = await read(validated.reader, 'perf/step_time_ms');
    expect(times.map(([step]) => step)).toStrictEqual(
      [0, 1, 3, 4, 6, 7].filter((step) => step % 3 !== 2),
    );
    expect(new Set(times.map(([, , ms]) => ms))).toStrictEqual(new Set([7]));
    const plain = await recorded((callback, _session, own) =>
      own.fit(xs, ys, { ...FIT, callbacks: callback }),
    );
    expect((await read(plain.reader, 'perf/step_time_ms')).map(([step]) => step)).toStrictEqual([
      0, 1, 2, 3, 4, 5, 6, 7, 8,
    ]);
    tf.dispose([xs, ys]);
  });

  it('tells the end of each epoch and the start of the training once', async () => {
    const { xs, ys } = data();
    const { reader } = await recorded(async (callback, _session, network) => {
      await network.fit(xs, ys, { ...FIT, epochs: 1, callbacks: callback });
      await network.fit(xs, ys, { ...FIT, epochs: 1, callbacks: callback });
    });
    const ended = await events(reader, 'epoch_ended');
    expect(ended.map(({ step, epoch }) => [step, epoch])).toStrictEqual([
      [2, 0],
      [5, 1],
    ]);
    expect(ended[0]?.payload).toMatchObject({
      batch_count: 3,
      loss: expect.any(Number) as number,
      duration_ms: expect.any(Number) as number,
    });
    const started = await events(reader, 'training_started');
    expect(started.map(({ payload }) => payload)).toStrictEqual([
      {
        framework: 'tfjs',
        framework_version: tf.version.tfjs,
        backend: 'cpu',
        model: 'small',
        parameter_count: 21,
        topology: expect.objectContaining({ class_name: 'Sequential' }) as object,
        loss: expect.any(String) as string,
        metrics: ['accuracy'],
        optimizer: expect.any(String) as string,
        learning_rate: expect.any(Number) as number,
      },
    ]);
    tf.dispose([xs, ys]);
  });

  it.each([
    ['counts on over several fits', {}, [{}, {}], [0, 3], [0, 1]],
    [
      'follows the epochs of fit',
      {},
      [
        { initialEpoch: 4, epochs: 5 },
        { initialEpoch: 7, epochs: 8 },
      ],
      [0, 3],
      [4, 7],
    ],
    [
      'continues after a resume',
      { initialStep: 100, initialEpoch: 10 },
      [{}, {}],
      [100, 103],
      [10, 11],
    ],
    [
      'continues after a resume that fit knows of, too',
      { initialStep: 100, initialEpoch: 10 },
      [{ initialEpoch: 10, epochs: 11 }],
      [100],
      [10],
    ],
  ])('%s', async (_name, callback, fits, steps, epochs) => {
    const { xs, ys } = data();
    const { reader } = await recorded(
      async (recorder, _session, network) => {
        for (const fit of fits)
          await network.fit(xs, ys, { ...FIT, epochs: 1, ...fit, callbacks: recorder });
      },
      { callback },
    );
    const losses = await read(reader, 'train/loss');
    expect(losses.filter((_, at) => at % 3 === 0).map(([step]) => step)).toStrictEqual(steps);
    expect(losses.filter((_, at) => at % 3 === 0).map(([, epoch]) => epoch)).toStrictEqual(epochs);
    tf.dispose([xs, ys]);
  });

  it('works on fitDataset, alone, in lists with plain objects, and behind a tf.Callback', async () => {
    const { xs, ys } = data();
    class Other extends tf.Callback {}
    const dataset = tf.data
      .zip({ xs: tf.data.array(await xs.array()), ys: tf.data.array(await ys.array()) })
      .batch(8);
    const expected = await read(
      (await recorded((own, _s, network) => network.fit(xs, ys, { ...FIT, callbacks: own })))
        .reader,
      'train/loss',
    );
    const ways: ((own: QuarkCallback, network: tf.Sequential) => Promise<unknown>)[] = [
      (own, network) => network.fitDataset(dataset, { epochs: 3, callbacks: own }),
      (own, network) => network.fit(xs, ys, { ...FIT, callbacks: [own, {}] }),
      (own, network) => network.fit(xs, ys, { ...FIT, callbacks: [{}, own] }),
      (own, network) => network.fit(xs, ys, { ...FIT, callbacks: [new Other(), own] }),
      (own, network) => network.fit(xs, ys, { ...FIT, callbacks: [own, new Other()] as never }),
    ];
    for (const way of ways) {
      const { reader } = await recorded((own, _session, network) => way(own, network));
      expect(await read(reader, 'train/loss')).toStrictEqual(expected);
      expect((await read(reader, 'train/epoch_loss')).length).toBe(3);
    }
    tf.dispose([xs, ys]);
  });

  it('leaves every number of the training as it was', async () => {
    const { xs, ys } = data();
    const bare = model();
    const bareLosses = (await bare.fit(xs, ys, { ...FIT, validationData: [xs, ys] })).history;
    const watched = model();
    let watchedLosses = {};
    await recorded(
      async (callback) =>
        (watchedLosses = (
          await watched.fit(xs, ys, { ...FIT, validationData: [xs, ys], callbacks: callback })
        ).history),
      {
        network: watched,
      },
    );
    expect(watchedLosses).toStrictEqual(bareLosses);
    expect(weights(watched)).toStrictEqual(weights(bare));
    tf.dispose([xs, ys]);
  });

  it('makes no tensor without probes, and leaves none with them', async () => {
    const { xs, ys } = data();
    const network = model();
    await network.fit(xs, ys, { ...FIT, epochs: 1 }); // fills the optimizer's slots
    await recorded(
      async (callback, session) => {
        const counts: number[] = [];
        const count = { onBatchEnd: async () => void counts.push(tf.memory().numTensors) };
        await network.fit(xs, ys, { ...FIT, epochs: 4, callbacks: [count] });
        counts.splice(0);
        const before = tf.memory().numTensors;
        await network.fit(xs, ys, { ...FIT, epochs: 4, callbacks: [callback, count] });
        expect(new Set(counts).size).toBe(1);
        expect(counts).toHaveLength(12);
        expect(tf.memory().numTensors).toBe(before);
        const probed = quarkCallback(session, tf, network);
        await network.fit(xs, ys, { ...FIT, epochs: 4, callbacks: probed });
        expect(tf.memory().numTensors).toBe(before);
      },
      { network, callback: { hooks: false, parameters: false } },
    );
    tf.dispose([xs, ys]);
  });

  it('summarises layers and parameters, and takes its probes off after each fit', async () => {
    const { xs, ys } = data();
    const network = model();
    const taps = (): boolean[] => [
      ...network.layers.map((layer) => Object.hasOwn(layer, 'call')),
      Object.hasOwn(network.optimizer, 'applyGradients'),
    ];
    const seen: boolean[][] = [];
    const { store, reader } = await recorded(
      async (callback) => {
        const look = { onBatchEnd: async () => void seen.push(taps()) };
        await network.fit(xs, ys, {
          ...FIT,
          validationData: [xs, ys],
          callbacks: [callback, look],
        });
        expect(taps()).toStrictEqual([false, false, false]);
        await network.fit(xs, ys, { ...FIT, epochs: 1, callbacks: callback });
      },
      {
        network,
        callback: {
          hooks: { schedule: { everyNSteps: 4 } },
          parameters: { schedule: { everyNSteps: 6 }, captureDistributions: true },
        },
      },
    );
    expect(seen[0]).toStrictEqual([true, true, true]);
    const layers = (await readLayerSummaries({ store, runId: reader.run.id })).records;
    // Steps 0, 4 and 8, and one fit later 9, 10, 11; the validation inside step 8 is no training.
    expect(
      layers.map(({ step, epoch, moduleName, hookDirection }) => ({
        step,
        epoch,
        moduleName,
        hookDirection,
      })),
    ).toStrictEqual(
      [0, 4, 8].flatMap((step) =>
        (
          [
            [network.inputLayers[0], 'forward'],
            [network.layers[0], 'forward'],
            [network.layers[1], 'forward'],
            [network.layers[1], 'backward'],
            [network.layers[0], 'backward'],
          ] as const
        ).map(([layer, hookDirection]) => ({
          step,
          epoch: Math.floor(step / 3),
          moduleName: layer?.name,
          hookDirection,
        })),
      ),
    );
    const parameters = (await readParameterSummaries({ store, runId: reader.run.id })).records;
    expect(parameters.map(({ step }) => step)).toStrictEqual([0, 0, 0, 0, 6, 6, 6, 6]);
    for (const { gradientNorm, updateNorm, updateRatio } of parameters) {
      expect(gradientNorm).toBeGreaterThan(0);
      // The learning rate of plain gradient descent.
      expect((updateNorm ?? 0) / (gradientNorm ?? 1)).toBeCloseTo(0.25, 4);
      expect(updateRatio === null || updateRatio > 0).toBe(true);
    }
    expect(
      (await readParameterDistributions({ store, runId: reader.run.id })).records,
    ).toHaveLength(8);
    tf.dispose([xs, ys]);
  });

  it('takes its probes off when the run ends after a fit that threw', async () => {
    const { xs, ys } = data();
    const network = model();
    await recorded(
      async (callback, session) => {
        const fail = { onBatchEnd: () => Promise.reject(new Error('stop')) };
        await expect(network.fit(xs, ys, { ...FIT, callbacks: [callback, fail] })).rejects.toThrow(
          'stop',
        );
        await session.flush();
        await network.fit(xs, ys, { ...FIT, epochs: 1, callbacks: callback });
        expect(Object.hasOwn(network.optimizer, 'applyGradients')).toBe(false);
        await expect(network.fit(xs, ys, { ...FIT, callbacks: [callback, fail] })).rejects.toThrow(
          'stop',
        );
      },
      { network },
    );
    expect(Object.hasOwn(network.optimizer, 'applyGradients')).toBe(false);
    for (const layer of network.layers) expect(Object.hasOwn(layer, 'call')).toBe(false);
    tf.dispose([xs, ys]);
  });

  it('names what the keys cannot hold and what fit abbreviates', async () => {
    const { xs, ys } = data();
    const network = model(['accuracy', 'mse']);
    const { reader } = await recorded(
      (callback) =>
        network.fit(xs, ys, {
          ...FIT,
          epochs: 1,
          callbacks: [callback, {}],
        }),
      { network },
    );
    expect(await reader.metricKeys()).toEqual(
      expect.arrayContaining(['train/accuracy', 'train/mse']),
    );
    const { reader: odd } = await recorded(async (callback) => {
      await callback.onEpochBegin(0);
      await callback.onBatchBegin();
      await callback.onBatchEnd(0, { batch: 0, size: 8, out_acc: 0.5, 'my loss%': 1, _hidden: 2 });
    });
    expect(await odd.metricKeys()).toEqual(
      expect.arrayContaining(['train/out_accuracy', 'train/my_loss_', 'train/m_hidden']),
    );
    tf.dispose([xs, ys]);
  });

  it('records every n-th step only, where asked to', async () => {
    const { xs, ys } = data();
    const { reader } = await recorded(
      (callback, _session, network) => network.fit(xs, ys, { ...FIT, callbacks: callback }),
      {
        callback: { everySteps: 4 },
      },
    );
    expect((await read(reader, 'train/loss')).map(([step]) => step)).toStrictEqual([0, 4, 8]);
    expect((await read(reader, 'perf/step_time_ms')).map(([step]) => step)).toStrictEqual([
      0, 4, 8,
    ]);
    expect(await read(reader, 'train/epoch_loss')).toHaveLength(3);
    tf.dispose([xs, ys]);
  });

  it('stores losses that are no numbers, and tells it in the event', async () => {
    const { reader } = await recorded(async (callback) => {
      await callback.onTrainBegin();
      await callback.onEpochBegin(0);
      await callback.onBatchBegin();
      await callback.onBatchEnd(0, { loss: Number.NaN });
      await callback.onEpochEnd(0, { loss: Number.POSITIVE_INFINITY });
    });
    expect(await read(reader, 'train/loss')).toStrictEqual([[0, 0, Number.NaN]]);
    expect((await events(reader, 'epoch_ended'))[0]?.payload['loss']).toBe('Infinity');
  });

  it('keeps what was recorded when fit throws', async () => {
    const { xs, ys } = data();
    const store = createMemoryStore();
    let runId = '';
    const boom = {
      onBatchEnd: async (batch: number) => {
        if (batch === 1) throw new Error('boom');
      },
    };
    const training = TrainingSession.run(
      { project: 'p', storage: store, handleSignals: false },
      async (session) => {
        runId = session.runId;
        const network = model();
        await network.fit(xs, ys, {
          ...FIT,
          callbacks: [quarkCallback(session, tf, network), boom],
        });
      },
    );
    await expect(training).rejects.toThrow('boom');
    const reader = await openRun(store, runId);
    expect(reader.run.status).toBe('failed');
    expect((await read(reader, 'train/loss')).map(([step]) => step)).toStrictEqual([0, 1]);
    tf.dispose([xs, ys]);
  });

  it('stops the training when the session is interrupted, and records nothing after that', async () => {
    const { xs, ys } = data();
    const controller = new AbortController();
    const batches: number[] = [];
    const { reader } = await recorded(async (_callback, session, network) => {
      Object.defineProperty(session, 'signal', { value: controller.signal });
      const stop = {
        onBatchEnd: async (batch: number): Promise<void> => {
          batches.push(batch);
          if (batch === 1) controller.abort();
        },
      };
      await network.fit(xs, ys, { ...FIT, callbacks: [stop, quarkCallback(session, tf, network)] });
    });
    expect(batches).toStrictEqual([0, 1]);
    expect((await read(reader, 'train/loss')).map(([step]) => step)).toStrictEqual([0]);
    expect(await events(reader, 'epoch_ended')).toStrictEqual([]);
    tf.dispose([xs, ys]);
  });

  it('lets training go on when the run has ended under it, unless the run is strict', async () => {
    const { xs, ys } = data();
    for (const strictMode of [false, true]) {
      const session = await TrainingSession.startRun({
        project: 'p',
        storage: createMemoryStore(),
        handleSignals: false,
        strictMode,
      });
      const network = model();
      const callback = quarkCallback(session, tf, network);
      await session.endRun();
      const fit = network.fit(xs, ys, { ...FIT, callbacks: callback });
      if (strictMode)
        await expect(fit).rejects.toMatchObject({ name: expect.any(String) as string });
      else expect((await fit).epoch).toHaveLength(3);
    }
    tf.dispose([xs, ys]);
  });

  it('throws what its probes are told to raise, also where the run is not strict', async () => {
    const { xs, ys } = data();
    await recorded(async (_callback, session, network) => {
      const nothing = { filters: { includeNames: ['nothing'] } };
      const fit = (callback: QuarkCallback): Promise<unknown> =>
        network.fit(xs, ys, { ...FIT, epochs: 1, callbacks: callback });
      await fit(quarkCallback(session, tf, network, { hooks: nothing }));
      await expect(
        fit(quarkCallback(session, tf, network, { hooks: { ...nothing, raiseOnError: true } })),
      ).rejects.toThrow('match none of the');
    });
    tf.dispose([xs, ys]);
  });

  it('stops a list whose order makes a callback call itself, and takes the order that it asks for', async () => {
    let calls = 0;
    class Counted extends tf.CustomCallback {
      override async onTrainBegin(logs?: Parameters<tf.CustomCallback['onTrainBegin']>[0]) {
        if (++calls > 5000) throw new Error('without end');
        await super.onTrainBegin(logs);
      }
    }
    const { xs, ys } = data();
    await recorded(async (callback, _session, network) => {
      const fit = (callbacks: object[]): Promise<unknown> =>
        network.fit(xs, ys, { ...FIT, epochs: 1, callbacks: callbacks as tf.CustomCallback[] });
      const ended: number[] = [];
      const onEpochEnd = async () => void ended.push(calls);
      await expect(fit([callback, new Counted({ onEpochEnd })])).rejects.toMatchObject({
        code: 'invalid_input',
        details: { field: 'callbacks' },
      });
      calls = 0;
      await fit([new Counted({ onEpochEnd }), callback]);
      await fit([callback, { onEpochEnd }]);
      expect(ended).toEqual([1, 1]);
    });
    tf.dispose([xs, ys]);
  });

  it('refuses wrong arguments before training starts', async () => {
    await recorded(async (_callback, session, network) => {
      expect(() => quarkCallback(session, {} as never, network)).toThrow('tf must be');
      expect(() => quarkCallback(session, tf, {} as never)).toThrow('model must be');
      expect(() => quarkCallback({} as never, tf, network)).toThrow('session must be');
      for (const options of [
        { initialStep: -1 },
        { initialEpoch: 0.5 },
        { everySteps: 0 },
        { every: 3 },
        { hooks: { every: 3 } },
        { hooks: { schedule: { everyNSteps: 0 } } },
        { parameters: { histogramBins: 0 } },
      ]) {
        expect(() => quarkCallback(session, tf, network, options as never)).toThrow('must be');
      }
    });
  });
});
