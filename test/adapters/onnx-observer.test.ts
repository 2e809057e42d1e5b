/** The observer on real onnxruntime-web (wasm), which trains a small network through a graph of its own. */
import * as ort from 'onnxruntime-web';
import { beforeAll, describe, expect, it } from 'vitest';
import { openRun, type RunReader } from '../../src/read/run-reader.ts';
import { TrainingSession } from '../../src/session/training-session.ts';
import { observeOnnxSession, type OnnxObserverOptions } from '../../src/onnx.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import { trainingStepModel, weightShapes } from '../support/onnx-model.ts';

const INPUTS = 2;
const HIDDEN = 8;
const CLASSES = 2;
const ROWS = 32;

beforeAll(() => {
  ort.env.wasm.numThreads = 1;
});

const random = (seed: number): (() => number) => {
  let state = seed;
  return () => (state = (state * 16_807) % 2_147_483_647) / 2_147_483_647 - 0.5;
};

type Feeds = Record<string, ort.Tensor>;

/** Points in four quadrants; those of equal signs are one class. */
function firstFeeds(): Feeds {
  const next = random(3);
  const x = Float32Array.from({ length: ROWS * INPUTS }, () => 2 * next());
  const y = new Float32Array(ROWS * CLASSES);
  for (let row = 0; row < ROWS; row++)
    y[row * 2 + ((x[row * 2] ?? 0) * (x[row * 2 + 1] ?? 0) > 0 ? 1 : 0)] = 1;
  const feeds: Feeds = {
    x: new ort.Tensor('float32', x, [ROWS, INPUTS]),
    y: new ort.Tensor('float32', y, [ROWS, CLASSES]),
    lr: new ort.Tensor('float32', [0.5], []),
  };
  for (const [name, shape] of Object.entries(weightShapes(INPUTS, HIDDEN, CLASSES))) {
    const size = shape.reduce((product, length) => product * length, 1);
    feeds[name] = new ort.Tensor('float32', Float32Array.from({ length: size }, next), shape);
  }
  return feeds;
}

async function train(session: ort.InferenceSession, steps: number): Promise<number[]> {
  const feeds = firstFeeds();
  const losses: number[] = [];
  for (let step = 0; step < steps; step++) {
    const outputs = await session.run(feeds);
    losses.push(Number(outputs['loss']?.data[0]));
    for (const name of Object.keys(weightShapes(INPUTS, HIDDEN, CLASSES))) {
      const updated = outputs[`new_${name}`];
      if (updated !== undefined) feeds[name] = updated;
    }
  }
  return losses;
}

const create = (): Promise<ort.InferenceSession> =>
  ort.InferenceSession.create(trainingStepModel(INPUTS, HIDDEN, CLASSES));

async function observed<S extends { run(...args: never[]): Promise<object> }>(
  ortSession: S,
  options: OnnxObserverOptions,
  work: (session: S, quark: TrainingSession) => Promise<unknown>,
  strictMode = false,
): Promise<RunReader> {
  const store = createMemoryStore();
  const session = await TrainingSession.startRun({
    project: 'p',
    storage: store,
    handleSignals: false,
    strictMode,
  });
  await work(observeOnnxSession(session, ortSession, options), session);
  await session.endRun('completed').catch(() => undefined);
  return openRun(store, session.runId);
}

const fake = (outputs: object) => ({ name: 'fake', run: async (): Promise<object> => outputs });

describe('observeOnnxSession', () => {
  it('records a training whose losses are those of the session alone', async () => {
    const plain = await train(await create(), 120);
    expect(plain.at(-1)).toBeLessThan((plain[0] ?? 0) / 2);
    const ortSession = await create();
    let watched: number[] = [];
    const reader = await observed(
      ortSession,
      { scalars: { loss: 'train/loss' } },
      async (session) => {
        watched = await train(session, 120);
      },
    );
    expect(watched).toStrictEqual(plain);
    const losses = await reader.readMetricColumns({ metricKey: 'train/loss' });
    expect([...losses.values]).toStrictEqual(plain);
    expect([...losses.steps]).toStrictEqual(plain.map((_, step) => step));
    const times = await reader.readMetricColumns({ metricKey: 'onnx/run_time_ms' });
    expect(times.rowCount).toBe(120);
    expect(times.values.every((ms) => ms > 0)).toBe(true);
    expect(await reader.readEvents({ severity: 'warning' })).toStrictEqual([]);
  });

  it('gives the very outputs, fetches nothing of its own, and passes everything else through', async () => {
    const ortSession = await create();
    const reader = await observed(
      ortSession,
      { scalars: { loss: 'train/loss' } },
      async (session) => {
        expect(session).toBeInstanceOf(ort.InferenceSession);
        expect(session.inputNames).toStrictEqual(ortSession.inputNames);
        expect(session.outputNames).toStrictEqual(ortSession.outputNames);
        const outputs = await session.run(firstFeeds(), ['logits']);
        expect(Object.keys(outputs)).toStrictEqual(['logits']);
        await expect(session.run({})).rejects.toThrow('missing');
        await session.release();
      },
    );
    expect(await reader.metricKeys()).toStrictEqual(['onnx/run_time_ms']);
    const outputs = {};
    await observed(fake(outputs), {}, async (session) => expect(await session.run()).toBe(outputs));
  });

  it('counts steps, or asks for them', async () => {
    const loss = { type: 'float32', location: 'cpu', data: new Float32Array([0.5]) };
    const points = async (options: OnnxObserverOptions): Promise<(number | undefined)[][]> => {
      const reader = await observed(
        fake({ loss }),
        { scalars: { loss: 'a/b' }, ...options },
        async (session) => {
          await session.run();
          await session.run();
        },
      );
      const { steps, epochs, rowCount } = await reader.readMetricColumns({ metricKey: 'a/b' });
      return Array.from({ length: rowCount }, (_, row) => [steps[row], epochs[row]]);
    };
    expect(await points({ initialStep: 40 })).toStrictEqual([
      [40, Number.NaN],
      [41, Number.NaN],
    ]);
    let step = 0;
    expect(await points({ step: () => (step += 5), epoch: () => 2 })).toStrictEqual([
      [5, 2],
      [10, 2],
    ]);
  });

  it('reads numbers of every type that holds one', async () => {
    const outputs = {
      f64: { type: 'float64', location: 'cpu', data: new Float64Array([1.5]) },
      i64: { type: 'int64', location: 'cpu-pinned', data: BigInt64Array.from([7n]) },
      nan: { type: 'float32', data: new Float32Array([Number.NaN]) },
    };
    const scalars = { f64: 'v/f64', i64: 'v/i64', nan: 'v/nan', absent: 'v/absent' };
    const reader = await observed(fake(outputs), { scalars }, (session) => session.run());
    const { keys, keyIndex, values } = await reader.readMetricColumns({ namespace: 'v' });
    expect(
      Object.fromEntries([...keyIndex].map((key, row) => [keys[key], values[row]])),
    ).toStrictEqual({ 'v/f64': 1.5, 'v/i64': 7, 'v/nan': Number.NaN });
  });

  it.each([
    ['on a device', { type: 'float32', location: 'gpu-buffer' }, 'preferredOutputLocation'],
    [
      'of many numbers',
      { type: 'float32', location: 'cpu', data: new Float32Array(3) },
      'holds 3 numbers',
    ],
    ['of text', { type: 'string', location: 'cpu', data: ['x'] }, 'no numbers'],
    ['of raw float16', { type: 'float16', location: 'cpu', data: new Uint16Array(1) }, 'float16'],
    ['that is no tensor', 3, 'not a tensor'],
  ])('says once that it cannot record an output %s', async (_name, loss, why) => {
    const reader = await observed(
      fake({ loss }),
      { scalars: { loss: 'train/loss' } },
      async (session) => {
        await session.run();
        await session.run();
      },
    );
    expect(await reader.metricKeys()).toStrictEqual(['onnx/run_time_ms']);
    const warnings = await reader.readEvents({ severity: 'warning' });
    expect(warnings.map(({ payload }) => payload['message'])).toStrictEqual([
      expect.stringContaining(why),
    ]);
  });

  it('lets the caller go on when the run has ended under it, unless the run is strict', async () => {
    for (const strictMode of [false, true]) {
      const outputs = {};
      await observed(
        fake(outputs),
        {},
        async (session, quark) => {
          await quark.endRun();
          if (strictMode)
            await expect(session.run()).rejects.toMatchObject({
              details: expect.any(Object) as object,
            });
          else expect(await session.run()).toBe(outputs);
        },
        strictMode,
      );
    }
  });

  it('runs the session also when nobody knows the step', async () => {
    const outputs = {};
    let runs = 0;
    const session = {
      run: async (): Promise<object> => {
        runs += 1;
        return outputs;
      },
    };
    const step = (): number => {
      throw new Error('no counter');
    };
    const reader = await observed(session, { step }, async (watched) => {
      expect(await watched.run()).toBe(outputs);
    });
    expect(runs).toBe(1);
    const [warning] = await reader.readEvents({ severity: 'warning' });
    expect(warning?.payload['message']).toContain('no counter');
    await observed(
      session,
      { step },
      async (watched) => {
        await expect(watched.run()).rejects.toThrow('no counter');
      },
      true,
    );
  });

  it('refuses wrong arguments', async () => {
    await observed(fake({}), {}, async (ortSession, session) => {
      expect(() => observeOnnxSession(session, {} as never)).toThrow('ortSession must be');
      expect(() => observeOnnxSession({} as never, ortSession)).toThrow('session must be');
      expect(() =>
        observeOnnxSession(session, ortSession, { scalars: { loss: 'not a key' } }),
      ).toThrow('options.scalars.loss must be');
      expect(() => observeOnnxSession(session, ortSession, { initialStep: -1 })).toThrow(
        'options.initialStep must be',
      );
      expect(() => observeOnnxSession(session, ortSession, { scalar: {} } as never)).toThrow(
        'known options',
      );
    });
  });
});
