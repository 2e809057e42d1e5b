/** Looking into ONNX models: which tensors are given, that the caller's outputs never change, and what is said of the rest. */
import { existsSync, readFileSync } from 'node:fs';
import * as ort from 'onnxruntime-web';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { instrumentOnnx } from '../../src/adapters/onnx/watch/instrument.ts';
import {
  modelBytes,
  nodeMessage,
  tensorMessage,
  valueInfoMessage,
} from '../../src/adapters/onnx/file/onnx-writer.ts';
import {
  openOnnxModel,
  type OpenOnnxModelOptions,
} from '../../src/adapters/onnx/watch/probed-session.ts';
import { ByteWriter } from '../../src/codecs/protobuf/writer.ts';
import { HookEngine } from '../../src/instruments/probes/hook-engine.ts';
import { EventLogger } from '../../src/session/event-logger.ts';
import { TrainingSession } from '../../src/session/training-session.ts';
import { KeptLayers } from '../support/layer-watch.ts';

beforeAll(() => {
  ort.env.wasm.numThreads = 1;
  ort.env.logLevel = 'error';
});
const QUIET = { logSeverityLevel: 3 } as const;

const REAL = new URL(
  '../../../shared/data/onnx-training-seizureguard/inference.onnx',
  import.meta.url,
);

type Node = readonly [
  op: string,
  inputs: readonly string[],
  outputs: readonly string[],
  attributes?: Parameters<typeof nodeMessage>[3],
  name?: string,
];

/** A model of float32 inputs `x` [batch, 4] and constants `w` [4, 3], `b` [3]. */
function model(
  nodes: readonly Node[],
  outputs: readonly string[],
  extend: (graph: ByteWriter) => void = () => undefined,
): Uint8Array<ArrayBuffer> {
  const graph = new ByteWriter();
  for (const [op, from, to, attributes, name] of nodes)
    graph.part(1, nodeMessage(op, from, to, attributes, name ?? ''));
  graph.text(2, 'test');
  graph.part(
    5,
    tensorMessage(
      'w',
      Float32Array.from({ length: 12 }, (_, i) => (i % 5) / 4 - 0.5),
      [4, 3],
    ),
  );
  graph.part(5, tensorMessage('b', Float32Array.of(0.1, -0.2, 0.3), [3]));
  graph.part(11, valueInfoMessage('x', 'float32', ['batch', 4]));
  for (const name of outputs) graph.part(12, valueInfoMessage(name));
  extend(graph);
  return modelBytes(graph, 17, 8);
}

const small = (): Uint8Array<ArrayBuffer> =>
  model(
    [
      ['MatMul', ['x', 'w'], ['product'], {}, '/dense/MatMul'],
      ['Add', ['product', 'b'], ['before'], {}, '/dense/Add'],
      ['Relu', ['before'], ['h'], {}, '/Relu'],
      ['Shape', ['h'], ['size']],
      ['Reshape', ['h', 'size'], ['again']],
      ['Greater', ['again', 'before'], ['more']],
      ['Sigmoid', ['again'], ['y'], {}, '/Sigmoid'],
    ],
    ['y'],
  );

const feeds = (): Record<string, ort.Tensor> => ({
  x: new ort.Tensor(
    'float32',
    Float32Array.from({ length: 8 }, (_, i) => Math.sin(i)),
    [2, 4],
  ),
});

const numbers = (tensor: ort.Tensor | undefined): number[] =>
  Array.from(tensor?.data as Float32Array);

async function plainRun(
  bytes: Uint8Array,
  values = feeds(),
): Promise<ort.InferenceSession.ReturnType> {
  const session = await ort.InferenceSession.create(bytes);
  return session.run(values);
}

describe('instrumentOnnx', () => {
  it('selects what computes, names layers by their nodes and keeps the bytes', () => {
    const bytes = small();
    const made = instrumentOnnx(bytes);
    expect(
      made.captures.map(({ layerName, layerType, outputName, isOwnOutput }) => [
        layerName,
        layerType,
        outputName,
        isOwnOutput,
      ]),
    ).toStrictEqual([
      ['/dense/MatMul', 'MatMul', 'product', false],
      ['/dense/Add', 'Add', 'before', false],
      ['/Relu', 'Relu', 'h', false],
      ['/Sigmoid', 'Sigmoid', 'y', true],
    ]);
    expect(made.bytes.subarray(0, bytes.length)).toStrictEqual(bytes);
    expect(made.notObserved).toStrictEqual([]);
    expect(made.isRandom).toBe(false);
  });

  it('selects by name, type and pattern; what only moves numbers when asked', () => {
    const names = (filters: Parameters<typeof instrumentOnnx>[1]): string[] =>
      instrumentOnnx(small(), filters).captures.map(({ layerName }) => layerName);
    expect(names({ includeTypes: ['Relu', 'Reshape'] })).toStrictEqual(['/Relu', 'again']);
    expect(names({ includeNamePatterns: ['^/dense/'] })).toStrictEqual([
      '/dense/MatMul',
      '/dense/Add',
    ]);
    expect(names({ excludeNames: ['/Relu'], excludeTypes: ['MatMul'] })).toStrictEqual([
      '/dense/Add',
      '/Sigmoid',
    ]);
    expect(() => names({ includeNames: ['nothing'] })).toThrow(
      /filters must select layers.*they select none/,
    );
    expect(() => names({ includeName: ['x'] } as never)).toThrow(/known options/);
  });

  it('finds the units of images along their channels, also where no shape is stated', async () => {
    // The second of three channels is dead behind the Relu; the image is 1 x 4.
    const bytes = model(
      [
        ['Reshape', ['x', 'image'], ['pixels']],
        ['Conv', ['pixels', 'kernels', 'shifts'], ['c']],
        ['Relu', ['c'], ['r']],
        ['Flatten', ['r'], ['flat']],
        ['Sigmoid', ['flat'], ['y']],
      ],
      ['y'],
      (graph) => {
        const kernels = tensorMessage('kernels', Float32Array.of(1, 0, 2), [3, 1, 1]);
        graph.part(5, kernels);
        graph.part(5, tensorMessage('shifts', Float32Array.of(1, -1, 1), [3]));
        graph.part(5, tensorMessage('image', BigInt64Array.of(-1n, 1n, 4n), [3]));
      },
    );
    const axes = instrumentOnnx(bytes).captures.map(({ layerName, unitAxis }) => [
      layerName,
      unitAxis,
    ]);
    expect(axes).toStrictEqual([
      ['c', 1],
      ['r', 1],
      ['y', -1],
    ]);
    const made = await open(bytes);
    const session = await TrainingSession.startRun({ project: 'p', storageDir: 'memory:' });
    const hooks = new HookEngine(session, made.source, { filters: { includeNames: ['r'] } });
    await hooks.step(0, {}, () => made.session.run(feeds()));
    const [row] = await hooks.read();
    expect(row?.deadUnitCount).toBe(1);
    await session.endRun();
    await made.close();
  });

  it('gives no two layers one name', () => {
    const named = model(
      [
        ['Relu', ['x'], ['a'], {}, 'n'],
        ['Sigmoid', ['a'], ['n']],
        ['Tanh', ['n'], ['b'], {}, 'twice'],
        ['Tanh', ['b'], ['c'], {}, 'twice'],
        ['Relu', ['c'], ['y'], {}, 'n_2'],
      ],
      ['y'],
    );
    expect(instrumentOnnx(named).captures.map(({ layerName }) => layerName)).toStrictEqual([
      'n',
      'n_3',
      'b',
      'c',
      'n_2',
    ]);
  });

  it('leaves out what onnxruntime-web cannot give', () => {
    const narrow = model(
      [
        ['Cast', ['x'], ['narrow'], { to: 16 }],
        ['Cast', ['narrow'], ['wide'], { to: 1 }],
        ['Cast', ['x'], ['whole'], { to: 7 }],
        ['Relu', ['wide'], ['y']],
      ],
      ['y'],
    );
    const { captures, notObserved } = instrumentOnnx(narrow, { includeTypes: ['Cast', 'Relu'] });
    expect(captures.map(({ outputName }) => outputName)).toStrictEqual(['wide', 'y']);
    expect(notObserved).toStrictEqual([
      expect.objectContaining({ layerName: 'narrow', reason: expect.stringMatching(/bfloat16/) }),
    ]);
  });

  it('tells what it leaves out', () => {
    const made = instrumentOnnx(small(), {}, { maxOutputs: 2 });
    expect(made.captures.map(({ outputName }) => outputName)).toStrictEqual([
      'product',
      'before',
      'y',
    ]);
    expect(made.notObserved).toStrictEqual([
      { layerName: '/Relu', layerType: 'Relu', reason: 'options.maxOutputs is 2' },
    ]);
    expect(() => instrumentOnnx(small(), {}, { maxOutputs: 0 })).toThrow(/positive/);
  });

  it('refuses what is no model, with the reason', () => {
    const bytes = small();
    for (let length = 0; length < bytes.length; length += 1)
      expect(() => instrumentOnnx(bytes.subarray(0, length)), String(length)).toThrow(
        expect.objectContaining({ code: 'invalid_input' }),
      );
    const flatbuffer = Uint8Array.of(16, 0, 0, 0, ...new TextEncoder().encode('ORTM'), 1, 2, 3);
    expect(() => instrumentOnnx(flatbuffer)).toThrow(
      expect.objectContaining({
        code: 'unsupported',
        details: expect.objectContaining({ reason: 'ort_format' }),
      }),
    );
    expect(() => instrumentOnnx(model([], ['x']))).toThrow(/layers/);
  });
});

/** If(x.sum > 0) then relu else neg, whose tensors are inside of its graphs. */
function branching(): Uint8Array<ArrayBuffer> {
  const branch = (op: string): ByteWriter =>
    new ByteWriter()
      .part(1, nodeMessage(op, ['before'], ['inside']))
      .text(2, op)
      .part(12, valueInfoMessage('inside', 'float32', ['batch', 3]));
  const attribute = (name: string, op: string): ByteWriter =>
    new ByteWriter().text(1, name).part(6, branch(op)).integer(20, 5);
  return model(
    [
      ['Gemm', ['x', 'w', 'b'], ['before'], {}, 'gemm'],
      ['ReduceSum', ['before'], ['sum'], { keepdims: 0 }, 'sum'],
      ['Sign', ['sum'], ['sign'], {}, 'sign'],
      ['Cast', ['sign'], ['is'], { to: 9 }, 'cast'],
      ['Tanh', ['chosen'], ['y'], {}, 'tanh'],
    ],
    ['y'],
    (graph) =>
      graph.part(
        1,
        new ByteWriter()
          .text(1, 'is')
          .text(2, 'chosen')
          .text(3, 'branch')
          .text(4, 'If')
          .part(5, attribute('then_branch', 'Relu'))
          .part(5, attribute('else_branch', 'Neg')),
      ),
  );
}

const open = async (bytes: Uint8Array, options: OpenOnnxModelOptions = {}) =>
  openOnnxModel(ort, bytes, { ...options, sessionOptions: QUIET });

describe('openOnnxModel', () => {
  it("gives the caller's own outputs to the bit, and the layers' to those that watch", async () => {
    const plain = await plainRun(small());
    const made = await open(small(), { strict: true });
    const watch = new KeptLayers(made.source);
    for (let run = 0; run < 3; run += 1) {
      const outputs = await made.session.run(feeds());
      expect(Object.keys(outputs)).toStrictEqual(['y']);
      expect(numbers(outputs['y'])).toStrictEqual(numbers(plain['y']));
      expect([...watch.seen.keys()]).toStrictEqual([
        '/dense/MatMul forward',
        '/dense/Add forward',
        '/Relu forward',
        '/Sigmoid forward',
      ]);
      expect(watch.seen.get('/Sigmoid forward')?.data).toStrictEqual(numbers(plain['y']));
      const before = watch.seen.get('/dense/Add forward')!;
      expect(watch.seen.get('/Relu forward')).toStrictEqual({
        shape: [2, 3],
        dtype: 'float32',
        data: before.data.map((v) => Math.max(0, v)),
      });
      watch.seen.clear();
    }
    expect(watch.troubles).toStrictEqual([]);
    expect(made.source.inspect?.()).toStrictEqual([]);
    expect(made.session).toBeInstanceOf(ort.InferenceSession);
    expect(made.session.outputNames).toStrictEqual(['y']);
    await made.close();
  });

  it('runs the plain session when nobody watches, and fetches only what is watched', async () => {
    const create = vi.spyOn(ort.InferenceSession, 'create');
    const made = await open(small());
    const [plain, probed] = await Promise.all(
      create.mock.results.map(({ value }) => value as Promise<ort.InferenceSession>),
    );
    create.mockRestore();
    const [plainRuns, probedRuns] = [vi.spyOn(plain!, 'run'), vi.spyOn(probed!, 'run')];
    const watch = new KeptLayers(made.source, ['/Relu']);
    watch.isActive = false;
    await made.session.run(feeds());
    expect([plainRuns.mock.calls.length, probedRuns.mock.calls.length]).toStrictEqual([1, 0]);
    watch.isActive = true;
    await made.session.run(feeds());
    // The first probed run is run plainly as well, later ones are trusted.
    expect([plainRuns.mock.calls.length, probedRuns.mock.calls.length]).toStrictEqual([2, 1]);
    await made.session.run(feeds());
    expect([plainRuns.mock.calls.length, probedRuns.mock.calls.length]).toStrictEqual([2, 2]);
    expect(probedRuns.mock.lastCall?.[1]).toStrictEqual(['y', 'h']);
    watch.stop();
    await made.session.run(feeds());
    expect([plainRuns.mock.calls.length, probedRuns.mock.calls.length]).toStrictEqual([3, 2]);
    await made.close();
  });

  it('understands every way to ask for outputs', async () => {
    const bytes = model(
      [
        ['Gemm', ['x', 'w', 'b'], ['a']],
        ['Relu', ['a'], ['y']],
        ['Tanh', ['a'], ['z']],
      ],
      ['y', 'z', 'a'],
    );
    const made = await open(bytes);
    const watch = new KeptLayers(made.source);
    const plain = await plainRun(bytes);
    for (const asked of [['z'], ['z', 'y']]) {
      const outputs = await made.session.run(feeds(), asked);
      expect(Object.keys(outputs).sort()).toStrictEqual([...asked].sort());
      expect(numbers(outputs['z'])).toStrictEqual(numbers(plain['z']));
      expect(watch.seen.get('y forward')?.data).toStrictEqual(numbers(plain['y']));
    }
    expect(Object.keys(await made.session.run(feeds(), { y: null }))).toStrictEqual(['y']);
    expect(Object.keys(await made.session.run(feeds(), { logSeverityLevel: 3 }))).toHaveLength(3);
    expect(Object.keys(await made.session.run(feeds(), ['a'], { tag: 'mine' }))).toStrictEqual([
      'a',
    ]);
    const own = new ort.Tensor('float32', new Float32Array(6), [2, 3]);
    const filled = await made.session.run(feeds(), { y: own });
    expect(filled['y']).toBe(own);
    await expect(made.session.run({})).rejects.toThrow('missing');
    expect(watch.troubles).toStrictEqual([]);
    await made.close();
  });

  it('refuses the arguments that onnxruntime refuses, with the same words', async () => {
    const plain = await ort.InferenceSession.create(small(), QUIET);
    const made = await open(small());
    const watch = new KeptLayers(made.source);
    await made.session.run(feeds());
    const { x } = feeds();
    const refused: readonly unknown[][] = [
      [feeds(), ['nothing']],
      [feeds(), ['y', 'h']],
      [feeds(), []],
      [feeds(), [3]],
      [feeds(), null],
      [feeds(), 'y'],
      [feeds(), x],
      [feeds(), ['y'], 5],
      [null],
      [{}],
    ];
    for (const args of refused) {
      const failure = (session: ort.InferenceSession): Promise<unknown> =>
        session.run(...(args as [never])).then(
          () => 'no error',
          (error: Error) => [error.constructor, error.message],
        );
      expect(await failure(made.session)).toStrictEqual(await failure(plain));
      expect(await failure(plain)).not.toBe('no error');
    }
    expect(watch.troubles).toStrictEqual([]);
    await made.close();
  });

  it("gives the plain session's outputs where they depend on the runs before", async () => {
    // onnxruntime moves the running variance at each run, and draws from a seed.
    const normed = model(
      [
        ['MatMul', ['x', 'w'], ['h']],
        ['BatchNormalization', ['h', 'b', 'b', 'b', 'v'], ['y', 'm2', 'v2'], { training_mode: 1 }],
      ],
      ['y'],
      (graph) => graph.part(5, tensorMessage('v', Float32Array.of(1, 2, 3), [3])),
    );
    const noisy = model(
      [
        ['RandomNormalLike', ['x'], ['noise'], { seed: { float: 7 } }],
        ['Add', ['x', 'noise'], ['y'], {}, 'add'],
      ],
      ['y'],
    );
    for (const bytes of [normed, noisy]) {
      expect(instrumentOnnx(bytes).isRandom).toBe(true);
      const plain = await ort.InferenceSession.create(bytes, QUIET);
      const made = await open(bytes, { sessionOptions: QUIET });
      const watch = new KeptLayers(made.source);
      for (const isActive of [true, false, true, true]) {
        watch.isActive = isActive;
        const wanted = numbers((await plain.run(feeds()))['y']);
        expect(numbers((await made.session.run(feeds()))['y'])).toStrictEqual(wanted);
      }
      expect(watch.seen.size).toBeGreaterThan(0);
      expect(watch.troubles).toStrictEqual([]);
      await made.close();
    }
  });

  it('copies an output the caller may write into', async () => {
    const made = await open(small());
    const kept: boolean[] = [];
    made.source.watchLayers({
      layers: new Set([2, 3]),
      forward: true,
      backward: false,
      isActive: true,
      evaluation: false,
      beginCall: () => 0,
      capture: (_point, tensor) => kept.push('retain' in tensor),
      warn: () => undefined,
    });
    await made.session.run(feeds());
    expect(kept).toStrictEqual([true, false]);
    await made.close();
  });

  it('ends probing when the instrumented model gives other outputs, and the caller never sees them', async () => {
    const bytes = small();
    const create = vi.spyOn(ort.InferenceSession, 'create');
    const made = await open(bytes);
    const probed = (await create.mock.results[1]!.value) as ort.InferenceSession;
    create.mockRestore();
    const run = probed.run.bind(probed);
    // What WebGPU did when a shader had more buffers than the device allows: all zeros, and no error.
    const broken = vi.spyOn(probed, 'run').mockImplementation(async (...args: unknown[]) => {
      const outputs = await (
        run as (...all: unknown[]) => Promise<ort.InferenceSession.ReturnType>
      )(...args);
      return { ...outputs, y: new ort.Tensor('float32', new Float32Array(6), [2, 3]) };
    });
    const watch = new KeptLayers(made.source);
    const plain = await plainRun(bytes);
    for (let i = 0; i < 2; i += 1)
      expect(numbers((await made.session.run(feeds()))['y'])).toStrictEqual(numbers(plain['y']));
    expect(watch.seen.size).toBe(0);
    expect(broken).toHaveBeenCalledTimes(1);
    expect(watch.troubles).toStrictEqual([
      { reason: 'outputs_differ', message: expect.stringContaining('no longer observed') },
    ]);
    await made.close();
  });

  it('goes on plainly when the instrumented model fails, and passes on what the plain one throws', async () => {
    const create = vi.spyOn(ort.InferenceSession, 'create');
    const made = await open(small());
    const probed = (await create.mock.results[1]!.value) as ort.InferenceSession;
    create.mockRestore();
    vi.spyOn(probed, 'run').mockRejectedValue(new Error('device lost'));
    const watch = new KeptLayers(made.source);
    expect(Object.keys(await made.session.run(feeds()))).toStrictEqual(['y']);
    expect(watch.troubles).toStrictEqual([
      { reason: 'probe_failed', message: expect.stringContaining('device lost') },
    ]);
    await made.close();
  });

  it('keeps running twice where only rounding differs', async () => {
    const create = vi.spyOn(ort.InferenceSession, 'create');
    const made = await open(small());
    const [plain, probed] = await Promise.all(
      create.mock.results.map(({ value }) => value as Promise<ort.InferenceSession>),
    );
    create.mockRestore();
    const run = probed!.run.bind(probed!) as (
      ...all: unknown[]
    ) => Promise<ort.InferenceSession.ReturnType>;
    vi.spyOn(probed!, 'run').mockImplementation(async (...args: unknown[]) => {
      const outputs = await run(...args);
      const data = Float32Array.from(numbers(outputs['y']), (v) => v + 1e-6);
      return { ...outputs, y: new ort.Tensor('float32', data, [2, 3]) };
    });
    const plainRuns = vi.spyOn(plain!, 'run');
    const watch = new KeptLayers(made.source);
    const expected = numbers((await plainRun(small()))['y']);
    for (let i = 0; i < 3; i += 1)
      expect(numbers((await made.session.run(feeds()))['y'])).toStrictEqual(expected);
    expect(plainRuns).toHaveBeenCalledTimes(3);
    expect(watch.seen.size).toBe(4);
    await made.close();
  });

  it('says what of a model with subgraphs is not observed', async () => {
    const bytes = branching();
    const made = await open(bytes, { strict: true });
    expect(made.source.layers.map(({ name }) => name)).toStrictEqual([
      'gemm',
      'sum',
      'sign',
      'tanh',
    ]);
    expect(made.source.inspect?.()).toStrictEqual([
      {
        reason: 'layers_not_observed',
        message:
          'The ONNX layer "branch" (If) is not observed: tensors inside its own graph cannot be reached.',
      },
    ]);
    expect(made.source.inspect?.()).toStrictEqual([]);
    const watch = new KeptLayers(made.source);
    expect(numbers((await made.session.run(feeds()))['y'])).toStrictEqual(
      numbers((await plainRun(bytes))['y']),
    );
    expect(watch.seen.size).toBe(4);
    await made.close();
    const whole = await open(bytes, { filters: { leafModulesOnly: false }, strict: true });
    expect(whole.source.layers.map(({ name }) => name)).toContain('branch');
    await whole.close();
  });

  it('runs on without layers when a model cannot be instrumented, or throws if strict', async () => {
    const nothing = { includeNames: ['nothing'] };
    await expect(open(small(), { filters: nothing, strict: true })).rejects.toThrow(/select none/);
    const made = await open(small(), { filters: nothing });
    expect(made.source.layers).toStrictEqual([]);
    expect(made.source.inspect?.()).toStrictEqual([
      {
        reason: 'invalid_input',
        message: expect.stringMatching(/not observed.*select none.*runs as before/s),
      },
    ]);
    expect(Object.keys(await made.session.run(feeds()))).toStrictEqual(['y']);
    // Every hook engine says why there is nothing to see.
    const session = await TrainingSession.startRun({ project: 'p', storageDir: 'memory:' });
    for (let engines = 1; engines <= 2; engines += 1) {
      const hooks = new HookEngine(session, made.source);
      const outputs = await hooks.step(0, {}, () => made.session.run(feeds()));
      expect(Object.keys(outputs)).toStrictEqual(['y']);
      await session.flush();
      const warnings = await new EventLogger(session).read({ eventType: 'probe_warning' });
      expect(warnings.map(({ payload }) => payload?.['message'])).toStrictEqual(
        Array.from({ length: engines }, () => expect.stringMatching(/not observed.*select none/s)),
      );
    }
    const config = { raiseOnError: true };
    expect(() => new HookEngine(session, made.source, config)).toThrow(/select none/);
    await session.endRun();
    await made.close();
    await expect(open(small(), { verify: 'never' } as never)).rejects.toThrow(/options.verify/);
    await expect(openOnnxModel({} as never, small())).rejects.toThrow(/the module/);
  });

  it('runs an .ort file, which it cannot look into', async () => {
    const plain = {
      inputNames: ['x'],
      outputNames: ['y'],
      run: async () => ({}),
      release: vi.fn<() => Promise<void>>(async () => undefined),
    };
    const fake = { InferenceSession: { create: async () => plain }, Tensor: ort.Tensor };
    const bytes = Uint8Array.of(16, 0, 0, 0, ...new TextEncoder().encode('ORTM'));
    const made = await openOnnxModel(fake, bytes);
    expect(made.source.layers).toStrictEqual([]);
    expect(made.source.inspect?.()).toStrictEqual([
      {
        reason: 'ort_format',
        message: expect.stringContaining('Use the .onnx file it was made from'),
      },
    ]);
    await made.close();
    expect(plain.release).toHaveBeenCalledTimes(1);
    await expect(openOnnxModel(fake, bytes, { strict: true })).rejects.toThrow(
      expect.objectContaining({ code: 'unsupported' }),
    );
    expect(plain.release).toHaveBeenCalledTimes(2);
  });

  it('takes a model that draws random numbers on its word', async () => {
    const bytes = model(
      [
        ['RandomNormalLike', ['x'], ['noise']],
        ['Add', ['x', 'noise'], ['y'], {}, 'add'],
      ],
      ['y'],
    );
    expect(instrumentOnnx(bytes).isRandom).toBe(true);
    const made = await open(bytes, { strict: true });
    const watch = new KeptLayers(made.source);
    const outputs = await made.session.run(feeds());
    expect(watch.seen.get('add forward')?.data).toHaveLength(8);
    expect(numbers(outputs['y'])).toHaveLength(8);
    await made.close();
  });

  it.skipIf(!existsSync(REAL))(
    'looks into a convolutional network of other people (skipped where ../shared is missing)',
    async () => {
      const bytes = new Uint8Array(readFileSync(REAL));
      const plain = await ort.InferenceSession.create(bytes);
      const input = plain.inputNames[0] ?? '';
      const [meta] = plain.inputMetadata;
      const shape =
        meta?.isTensor === true
          ? meta.shape.map((size) => (typeof size === 'number' ? size : 1))
          : [];
      const size = shape.reduce((product, n) => product * n, 1);
      const values = {
        [input]: new ort.Tensor(
          'float32',
          Float32Array.from({ length: size }, (_, i) => Math.sin(i / 7)),
          shape,
        ),
      };
      const expected = await plain.run(values);
      const made = await open(bytes, { strict: true });
      const watch = new KeptLayers(made.source);
      const outputs = await made.session.run(values);
      for (const name of plain.outputNames)
        expect(numbers(outputs[name])).toStrictEqual(numbers(expected[name]));
      expect(watch.seen.size).toBe(made.source.layers.length);
      expect(watch.seen.size).toBeGreaterThan(10);
      expect(watch.troubles).toStrictEqual([]);
      await made.close();
    },
  );
});

describe('what cannot be observed', () => {
  const ended = async (strictMode: boolean, work: (session: TrainingSession) => Promise<void>) => {
    const session = await TrainingSession.startRun({
      project: 'p',
      storageDir: 'memory:',
      handleSignals: false,
      strictMode,
    });
    await work(session);
    await session.flush();
    const found = await new EventLogger(session).read({ severity: 'warning' });
    await session.endRun();
    return found.map(({ payload }) => payload);
  };

  it.each([true, false])('of a model with subgraphs is told once (strict: %s)', async (strict) => {
    const wanted = numbers((await plainRun(branching()))['y']);
    const made = await open(branching());
    const warnings = await ended(strict, async (session) => {
      const hooks = new HookEngine(session, made.source);
      if (strict) {
        expect(() => hooks.beginStep(0)).toThrow(
          expect.objectContaining({
            code: 'probe_failed',
            details: expect.objectContaining({ reason: 'layers_not_observed' }),
          }),
        );
      }
      for (let step = 0; step < 3; step += 1) {
        const outputs = await hooks.step(step, {}, () => made.session.run(feeds()));
        expect(numbers(outputs['y'])).toStrictEqual(wanted);
      }
      expect(await hooks.read()).toHaveLength(12);
    });
    expect(warnings).toStrictEqual(
      strict
        ? []
        : [
            expect.objectContaining({
              reason: 'layers_not_observed',
              message: expect.stringContaining('"branch" (If) is not observed'),
            }),
          ],
    );
    await made.close();
  });

  it.each([true, false])('of an .ort file is told once (strict: %s)', async (strict) => {
    const outputs = { y: new ort.Tensor('float32', [1], [1]) };
    const plain = {
      inputNames: ['x'],
      outputNames: ['y'],
      run: async () => outputs,
      release: async () => undefined,
    };
    const fake = { InferenceSession: { create: async () => plain }, Tensor: ort.Tensor };
    const bytes = Uint8Array.of(16, 0, 0, 0, ...new TextEncoder().encode('ORTM'));
    const made = await openOnnxModel(fake, bytes);
    const warnings = await ended(strict, async (session) => {
      if (strict) {
        expect(() => new HookEngine(session, made.source)).toThrow(
          expect.objectContaining({
            code: 'probe_failed',
            details: expect.objectContaining({ reason: 'ort_format' }),
          }),
        );
      } else {
        const hooks = new HookEngine(session, made.source);
        for (let step = 0; step < 3; step += 1)
          expect(await hooks.step(step, {}, () => made.session.run())).toBe(outputs);
      }
    });
    expect(warnings).toStrictEqual(
      strict
        ? []
        : [
            expect.objectContaining({
              reason: 'ort_format',
              message: expect.stringMatching(/not observed.*Use the \.onnx file it was made from/s),
            }),
          ],
    );
    await made.close();
  });

  it.each([true, false])('a truncated file is a typed error (strict: %s)', async (strict) => {
    const bytes = small();
    for (const length of [1, 10, bytes.length >> 1, bytes.length - 1]) {
      await expect(open(bytes.subarray(0, length), { strict }), String(length)).rejects.toThrow(
        expect.objectContaining({ code: 'invalid_input', cause: expect.any(Error) }),
      );
    }
    // What is wrong with a whole file is onnxruntime's to say.
    await expect(open(model([['NoSuchOperator', ['x'], ['y']]], ['y']))).rejects.toThrow(
      /NoSuchOperator/,
    );
  });
});
