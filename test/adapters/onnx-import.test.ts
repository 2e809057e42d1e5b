/** Training of models that exist as files. */
import * as ort from 'onnxruntime-web';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  modelBytes,
  nodeMessage,
  tensorMessage,
  valueInfoMessage,
} from '../../src/adapters/onnx/file/onnx-writer.ts';
import { ByteWriter } from '../../src/codecs/protobuf/writer.ts';
import {
  buildOnnxTraining,
  readOnnxGraph,
  openOnnxTrainer,
  type OnnxTraining,
  type OnnxTrainingConfig,
} from '../../src/onnx.ts';

beforeAll(() => {
  ort.env.wasm.numThreads = 1;
  ort.env.logLevel = 'error';
});

const MSE = { loss: { kind: 'meanSquaredError' } } as const;
const CLASSIFY: OnnxTrainingConfig = {
  loss: { kind: 'softmaxCrossEntropy' },
  optimizer: { kind: 'adam', learningRate: 0.003 },
};

/** x [batch, 4] -> MatMul w -> Add b -> Relu -> Gemm with v', c -> Softmax. */
function existing(opset = 17): Uint8Array<ArrayBuffer> {
  const graph = new ByteWriter()
    .part(1, nodeMessage('MatMul', ['x', 'w'], ['product'], {}, 'first'))
    .part(1, nodeMessage('Add', ['product', 'b'], ['before'], {}, 'shift'))
    .part(1, nodeMessage('Relu', ['before'], ['h'], {}, 'relu'))
    .part(1, nodeMessage('Gemm', ['h', 'v', 'c'], ['logits'], { transB: 1 }, 'second'))
    .part(1, nodeMessage('Softmax', ['logits'], ['p'], { axis: -1 }, 'softmax'))
    .text(2, 'g');
  const add = (name: string, shape: number[]): void => {
    const size = shape.reduce((product, n) => product * n, 1);
    graph.part(
      5,
      tensorMessage(
        name,
        Float32Array.from({ length: size }, (_, i) => Math.sin(i + name.length)),
        shape,
      ),
    );
  };
  add('w', [4, 5]);
  add('b', [5]);
  add('v', [3, 5]);
  add('c', [3]);
  graph
    .part(11, valueInfoMessage('x', 'float32', [null, 4]))
    .part(12, valueInfoMessage('p', 'float32', [null, 3]));
  return modelBytes(graph, opset, 8);
}

/** Bits of some numbers in float16. */
const HALVES: ReadonlyMap<number, number> = new Map([
  [0.5, 0x3800],
  [1, 0x3c00],
  [2, 0x4000],
  [-2, 0xc000],
]);

describe('an existing ONNX model', () => {
  const x = Float32Array.from({ length: 24 }, (_, i) => Math.cos(i));
  const y = Int32Array.of(0, 1, 2, 0, 1, 2);
  const build = (options: Partial<OnnxTrainingConfig> = {}): OnnxTraining =>
    buildOnnxTraining(existing(), {
      loss: { kind: 'softmaxCrossEntropy' },
      optimizer: { kind: 'adam', learningRate: 0.05 },
      output: 'logits',
      ...options,
    });

  it('begins with its own weights and is trained', async () => {
    const training = build();
    expect(
      training.parameters.map(({ name, layerName, role }) => [name, layerName, role]),
    ).toStrictEqual([
      ['w', 'first', 'weight'],
      ['b', 'shift', 'bias'],
      ['v', 'second', 'weight'],
      ['c', 'second', 'bias'],
    ]);
    expect(training.layers.map(({ name, type }) => [name, type])).toStrictEqual([
      ['first', 'MatMul'],
      ['shift', 'Add'],
      ['relu', 'Relu'],
      ['second', 'Gemm'],
    ]);
    const trainer = await openOnnxTrainer(ort, training);
    const session = await ort.InferenceSession.create(existing());
    const p = (await session.run({ x: new ort.Tensor('float32', x, [6, 4]) }))['p']
      ?.data as Float32Array;
    const wanted = -[...y].reduce((sum, label, row) => sum + Math.log(p[row * 3 + label]!), 0) / 6;
    const first = await trainer.step({ x, y });
    expect(first).toBeCloseTo(wanted, 5);
    let last = first;
    for (let i = 0; i < 200; i += 1) last = await trainer.step({ x, y });
    expect(last).toBeLessThan(first / 5);
    await trainer.close();
  });

  it('leaves frozen parameters as they are', async () => {
    const training = build({ isTrainable: (name) => name === 'v' || name === 'c' });
    const trainer = await openOnnxTrainer(ort, training);
    expect(training.parameters.map(({ updated }) => updated !== null)).toStrictEqual([
      false,
      false,
      true,
      true,
    ]);
    // In front of the first trained parameter there is no gradient.
    expect(training.layers.map(({ gradient }) => gradient !== null)).toStrictEqual([
      false,
      false,
      false,
      true,
    ]);
    const before = await trainer.readWeights();
    await trainer.step({ x, y });
    const after = await trainer.readWeights();
    expect(after['w']).toStrictEqual(before['w']);
    expect(after['v']).not.toStrictEqual(before['v']);
    await trainer.close();
  });

  it('may flatten by sizes it computes, as exporters write it', async () => {
    const index = (name: string, ...values: number[]): ByteWriter =>
      tensorMessage(
        name,
        BigInt64Array.from(values, BigInt),
        name === 'two' ? [] : [values.length],
      );
    const graph = new ByteWriter()
      .part(1, nodeMessage('Shape', ['x'], ['shape']))
      .part(1, nodeMessage('Gather', ['shape', 'zero'], ['rows'], { axis: 0 }))
      .part(1, nodeMessage('Slice', ['shape', 'one', 'end'], ['rest']))
      .part(1, nodeMessage('Gather', ['rest', 'zero'], ['a'], { axis: 0 }))
      .part(1, nodeMessage('Gather', ['rest', 'two'], ['b'], { axis: 0 }))
      .part(1, nodeMessage('Mul', ['a', 'b'], ['product']))
      .part(1, nodeMessage('Unsqueeze', ['product', 'zero'], ['columns']))
      .part(1, nodeMessage('Concat', ['rows', 'columns'], ['flat'], { axis: 0 }))
      .part(1, nodeMessage('Reshape', ['x', 'flat'], ['line']))
      .part(1, nodeMessage('MatMul', ['line', 'w'], ['y'], {}, 'dense'))
      .part(5, index('zero', 0))
      .part(5, index('one', 1))
      .part(5, index('two', 1))
      .part(5, index('end', 9))
      .part(
        5,
        tensorMessage(
          'w',
          Float32Array.from({ length: 12 }, (_, i) => i / 12),
          [6, 2],
        ),
      )
      .part(11, valueInfoMessage('x', 'float32', ['rows', 3, 2]))
      .part(12, valueInfoMessage('y', 'float32', ['rows', 2]));
    const training = buildOnnxTraining(modelBytes(graph, 17, 8), {
      ...MSE,
      optimizer: { kind: 'sgd' },
    });
    expect(training.layers.map(({ name }) => name)).toStrictEqual(['line', 'dense']);
    expect(training.target.shape).toStrictEqual(['rows', 2]);
    const trainer = await openOnnxTrainer(ort, training);
    for (const rows of [2, 5]) {
      const values = Float32Array.from({ length: rows * 6 }, (_, i) => Math.cos(i));
      const loss = await trainer.step(
        { x: values, targets: new Float32Array(rows * 2) },
        { learningRate: 0 },
      );
      let wanted = 0;
      for (let row = 0; row < rows; row += 1)
        for (let column = 0; column < 2; column += 1)
          wanted +=
            Array.from(
              { length: 6 },
              (_, k) => values[row * 6 + k]! * ((k * 2 + column) / 12),
            ).reduce((sum, v) => sum + v, 0) ** 2;
      expect(loss).toBeCloseTo(wanted / (rows * 2), 5);
    }
    await trainer.close();
  });

  /** One node after the other, from x [batch, 4] to p; constants are float32. */
  const chain = (
    nodes: readonly Parameters<typeof nodeMessage>[],
    constants: readonly (readonly [name: string, shape: number[], values: number[]])[],
    input: readonly (number | null)[] = [null, 4],
    extra: readonly ByteWriter[] = [],
  ): Uint8Array<ArrayBuffer> => {
    const graph = new ByteWriter();
    for (const node of extra) graph.part(1, node);
    for (const node of nodes) graph.part(1, nodeMessage(...node));
    graph.text(2, 'g');
    for (const [name, shape, values] of constants)
      graph.part(5, tensorMessage(name, Float32Array.from(values), shape));
    graph.part(11, valueInfoMessage('x', 'float32', input));
    return modelBytes(graph.part(12, valueInfoMessage('p')), 17, 8);
  };
  const SGD = { ...MSE, optimizer: { kind: 'sgd', learningRate: 0.1 } } as const;

  it('trains weights and biases of a single number too, and leaves factors alone', async () => {
    const file = chain(
      [
        ['MatMul', ['x', 'w'], ['product']],
        ['Add', ['shift', 'product'], ['shifted']],
        ['Mul', ['shifted', 'half'], ['scaled']],
        ['Gemm', ['scaled', 'factor', 'c'], ['unit']],
        ['Add', ['unit', 'small'], ['p']],
      ],
      [
        ['w', [4, 1], [0.1, -0.2, 0.3, 0.4]],
        ['shift', [1], [0.5]],
        ['half', [], [0.5]],
        ['factor', [1, 1], [2]],
        ['c', [1], [-0.25]],
        ['small', [1], [0.125]],
      ],
    );
    const training = buildOnnxTraining(file, SGD);
    const names = training.parameters.map(({ name }) => name);
    expect(names).toStrictEqual(['w', 'shift', 'factor', 'c', 'small']);
    const trainer = await openOnnxTrainer(ort, training);
    const before = await trainer.readWeights();
    const targets = Float32Array.of(1, 2, 3, 1, 2, 3);
    await trainer.step({ x, y: targets });
    const after = await trainer.readWeights();
    // p = factor (0.5 (x w + shift)) + c + small; the loss is the mean of (p - y)^2.
    const [shift = 0, factor = 0, c = 0] = ['shift', 'factor', 'c'].map(
      (name) => before[name]?.[0],
    );
    let [dShift, dFactor, dC] = [0, 0, 0];
    for (const [row, y_] of targets.entries()) {
      const product = [0.1, -0.2, 0.3, 0.4].reduce(
        (sum, w, i) => sum + w * (x[row * 4 + i] ?? 0),
        0,
      );
      const h = 0.5 * (product + shift);
      const slope = (2 * (factor * h + c + 0.125 - y_)) / 6;
      dC += slope;
      dFactor += slope * h;
      dShift += slope * factor * 0.5;
    }
    expect(after['shift']?.[0]).toBeCloseTo(shift - 0.1 * dShift, 5);
    expect(after['factor']?.[0]).toBeCloseTo(factor - 0.1 * dFactor, 5);
    expect(after['c']?.[0]).toBeCloseTo(c - 0.1 * dC, 5);
    await trainer.close();

    const channel = chain(
      [['BatchNormalization', ['x', 'g', 'b', 'm', 'v'], ['p']]],
      [
        ['g', [1], [1.5]],
        ['b', [1], [0]],
        ['m', [1], [0]],
        ['v', [1], [1]],
      ],
      [null, 1, 4],
    );
    const { parameters, state } = buildOnnxTraining(channel, SGD);
    expect(parameters.map(({ name, updated }) => [name, updated !== null])).toStrictEqual([
      ['g', true],
      ['b', true],
    ]);
    expect(state.map(({ name }) => name)).toStrictEqual(['m', 'v']);
  });

  it('may give its constants as numbers and lists', async () => {
    const KINDS = { float: 1, floats: 6, ints: 7 } as const;
    const constant = (name: string, kind: keyof typeof KINDS, value: ByteWriter): ByteWriter =>
      new ByteWriter()
        .text(2, name)
        .text(4, 'Constant')
        .part(5, value.text(1, `value_${kind}`).integer(20, KINDS[kind]));
    // Packed and single, as both occur.
    const two = new ByteWriter()
      .part(7, new Uint8Array(Float32Array.of(2, 4).buffer))
      .float(7, 8)
      .float(7, 16);
    const file = chain(
      [
        ['Mul', ['x', 'w'], ['a']],
        ['Mul', ['a', 'factor'], ['b']],
        ['Mul', ['b', 'factors'], ['c']],
        ['Reshape', ['c', 'sizes'], ['d']],
        ['Unsqueeze', ['d', 'axis'], ['p']],
      ],
      [['w', [4], [1, 2, 3, 4]]],
      [null, 4],
      [
        constant('factor', 'float', new ByteWriter().float(2, 0.5)),
        constant('factors', 'floats', two),
        constant('sizes', 'ints', new ByteWriter().integer(8, 0).integer(8, 2).integer(8, 2)),
        constant('axis', 'ints', new ByteWriter().integer(8, 1)),
      ],
    );
    const trainer = await openOnnxTrainer(ort, buildOnnxTraining(file, SGD));
    const output = await trainer.predict({ x: Float32Array.of(1, 1, 1, 1) });
    expect(output.dims).toStrictEqual([1, 1, 2, 2]);
    expect(Array.from(output.data as Float32Array)).toStrictEqual([1, 4, 12, 32]);
    await trainer.close();
  });

  it('may have names like those that are made up here', async () => {
    // Gelu is put together from operators whose outputs and constants need names.
    const file = chain(
      [
        ['Mul', ['x', 'w'], ['a']],
        ['Gelu', ['a'], ['b']],
        ['Mul', ['b', 'quark/constant_0'], ['quark/Mul_1']],
        ['Sigmoid', ['quark/Mul_1'], ['p']],
      ],
      [
        ['w', [4], [1, 2, 3, 4]],
        ['quark/constant_0', [], [0]],
      ],
    );
    const trainer = await openOnnxTrainer(ort, buildOnnxTraining(file, SGD));
    const output = await trainer.predict({ x: Float32Array.of(1, 2, 3, 4) });
    expect(Array.from(output.data as Float32Array)).toStrictEqual([0.5, 0.5, 0.5, 0.5]);
    expect(await trainer.step({ x, y: x })).toBeGreaterThan(0);
    await trainer.close();
  });

  it('trains before a softmax at its end, and is the whole file again when it is saved', async () => {
    const whole = buildOnnxTraining(existing(), CLASSIFY);
    const before = buildOnnxTraining(existing(), { ...CLASSIFY, output: 'logits' });
    const quotient = buildOnnxTraining(
      chain(
        [
          ['MatMul', ['x', 'w'], ['z']],
          ['Exp', ['z'], ['e']],
          ['ReduceSum', ['e', 'last'], ['s']],
          ['Div', ['e', 's'], ['p']],
        ],
        [['w', [4, 3], Array.from({ length: 12 }, (_, i) => Math.sin(i))]],
        [null, 4],
        [nodeMessage('Constant', [], ['last'], { value_ints: [-1] })],
      ),
      CLASSIFY,
    );
    expect(quotient.classCount).toBe(3);
    const [a, b] = [await openOnnxTrainer(ort, whole), await openOnnxTrainer(ort, before)];
    for (let step = 0; step < 5; step += 1)
      expect(await a.step({ x, y })).toBe(await b.step({ x, y }));
    const file = await a.exportModel();
    // Names and the softmax are those of the file.
    expect(readOnnxGraph(file).outputs).toStrictEqual(['p']);
    expect(readOnnxGraph(file).nodes.map(({ name }) => name)).toStrictEqual(
      readOnnxGraph(existing()).nodes.map(({ name }) => name),
    );
    expect(file.length).toBe(existing().length);
    const session = await ort.InferenceSession.create(file);
    const { p } = await session.run({ x: new ort.Tensor('float32', x, [6, 4]) });
    const predicted = await a.predict({ x });
    expect(Array.from(p?.data as Float32Array)).toStrictEqual(
      Array.from(predicted.data as Float32Array),
    );
    await session.release();
    await a.close();
    await b.close();
  });

  it('has weights of sixteen bits, in nodes too, and gets them back', async () => {
    const half = (values: readonly number[]): Uint8Array =>
      new Uint8Array(Uint16Array.from(values, (value) => HALVES.get(value) ?? 0).buffer);
    const tensor = (name: string, values: readonly number[]): ByteWriter =>
      new ByteWriter()
        .integer(1, 2)
        .integer(1, 2)
        .integer(2, 10)
        .text(8, name)
        .part(9, half(values));
    const constant = new ByteWriter()
      .text(2, 'v')
      .text(4, 'Constant')
      .part(
        5,
        new ByteWriter()
          .text(1, 'value')
          .part(5, tensor('', [0.5, 1, 2, -2]))
          .integer(20, 4),
      );
    const graph = new ByteWriter()
      .part(1, constant)
      .part(1, nodeMessage('MatMul', ['x', 'w'], ['h']))
      .part(1, nodeMessage('MatMul', ['h', 'v'], ['p']))
      .part(5, tensor('w', [1, 0.5, -2, 2]))
      .part(11, valueInfoMessage('x', 'float16', [null, 2]))
      .part(12, valueInfoMessage('p', 'float16', [null, 2]));
    const training = buildOnnxTraining(modelBytes(graph, 17, 8), SGD);
    expect(training.parameters.map(({ name, initial }) => [name, [...initial]])).toStrictEqual([
      ['w', [1, 0.5, -2, 2]],
      ['v', [0.5, 1, 2, -2]],
    ]);
    const again = buildOnnxTraining(
      training.exportModel({ v: Float32Array.of(2, -2, 1, 0.5) }),
      SGD,
    );
    expect(again.parameters.map(({ initial }) => [...initial])).toStrictEqual([
      [1, 0.5, -2, 2],
      [2, -2, 1, 0.5],
    ]);
  });

  it('drops out the same elements with the same seed, and none in inference', async () => {
    const file = chain(
      [
        ['Mul', ['x', 'w'], ['a']],
        ['Dropout', ['a', 'ratio'], ['p']],
      ],
      [
        ['w', [4], [1, 1, 1, 1]],
        ['ratio', [], [0.25]],
      ],
      [null, 4],
    );
    const batch = { x: new Float32Array(4000).fill(1), y: new Float32Array(4000) };
    const losses = async (seed: number): Promise<number[]> => {
      const trainer = await openOnnxTrainer(ort, buildOnnxTraining(file, SGD), { seed });
      const found = [await trainer.step(batch, { learningRate: 0 })];
      found.push(await trainer.step(batch, { learningRate: 0 }));
      const predicted = await trainer.predict({ x: batch.x });
      expect(new Set(predicted.data as Float32Array)).toStrictEqual(new Set([1]));
      await trainer.close();
      return found;
    };
    const [first = 0, second = 0] = await losses(7);
    // Three quarters of the elements, each 4 / 3: the mean square is 4 / 3.
    expect(Math.abs(first - 4 / 3)).toBeLessThan(0.1);
    expect(second).not.toBe(first);
    expect(await losses(7)).toStrictEqual([first, second]);
    expect(await losses(8)).not.toStrictEqual([first, second]);
  });

  it('keeps the momentum of its running means when it is trained, saved and trained further', async () => {
    const first = buildOnnxTraining(
      { inputShape: [3], layers: [{ kind: 'batchNorm', name: 'norm', momentum: 0.5 }] },
      SGD,
    );
    const again = buildOnnxTraining(first.exportModel({}), SGD);
    for (const training of [first, again]) {
      const trainer = await openOnnxTrainer(ort, training);
      await trainer.step({ x: Float32Array.of(2, 4, 6), y: Float32Array.of(0, 0, 0) });
      const { 'norm/running_mean': mean } = await trainer.readWeights();
      expect(Array.from(mean ?? [])).toStrictEqual([1, 2, 3]);
      await trainer.close();
    }
  });

  it('is refused with the reason when it cannot be trained', () => {
    expect(() => build({ output: 'nothing' })).toThrow(/config.output|options.output/);
    expect(() => build({ isTrainable: () => false })).toThrow(/a parameter to train/);
    expect(() => buildOnnxTraining(existing(6), CLASSIFY)).toThrow(/operator set 6/);
    expect(() => buildOnnxTraining(existing().subarray(0, 200), CLASSIFY)).toThrow(
      /complete ONNX file/,
    );
    const w = ['w', [2, 1, 2, 2], [1, 2, 3, 4, 5, 6, 7, 8]] as const;
    const window = (op: string, attributes: Parameters<typeof nodeMessage>[3]): (() => unknown) => {
      const inputs = op === 'Conv' ? ['x', 'w'] : ['x'];
      const file = chain([[op, inputs, ['p'], attributes]], [[...w]] as never, [null, 1, 4, 4]);
      return () => buildOnnxTraining(file, SGD);
    };
    const pads = [1e9, 1e9, 1e9, 1e9];
    expect(window('Conv', { strides: [0, 0] })).toThrow(/Conv "p".strides must be 2 sizes/);
    expect(window('Conv', { dilations: [-1, 1] })).toThrow(/dilations must be 2 sizes/);
    expect(window('Conv', { pads: [1] })).toThrow(/pads must be 4 sizes/);
    expect(window('MaxPool', { kernel_shape: [0, 2] })).toThrow(/kernel_shape must be 2 sizes/);
    for (const pool of ['MaxPool', 'AveragePool']) {
      expect(window(pool, { kernel_shape: [2, 2], pads })).toThrow(/too large or too many/);
      const large = { kernel_shape: [300, 300], pads: [299, 299, 299, 299] };
      expect(window(pool, large)).toThrow(/too large or too many/);
    }
    expect(window('Transpose', { perm: [0, 0, 1, 2] })).toThrow(/perm must be the axes 0 to 3/);
    // A few hundred bytes that would double a list, or a name, until memory ends.
    const again = (op: string, first: string, attributes = {}): Parameters<typeof nodeMessage>[] =>
      Array.from({ length: 40 }, (_, i) => {
        const input = i === 0 ? first : `${op}_${i - 1}`;
        return [op, [input, input], [`${op}_${i}`], attributes];
      });
    const sized = (nodes: Parameters<typeof nodeMessage>[], last: string): (() => unknown) => {
      const all = [['Shape', ['x'], ['size']] as const, ...nodes, ['Reshape', ['x', last], ['p']]];
      return () => buildOnnxTraining(chain(all as never, []), SGD);
    };
    expect(sized(again('Concat', 'size', { axis: 0 }), 'Concat_39')).toThrow(/"Concat_39"/);
    expect(sized(again('Mul', 'size'), 'Mul_39')).toThrow(/"Mul_\d+"/);
    expect(sized([['Gather', ['size', 'size'], ['none']]], 'none')).toThrow(/"none"/);
    const classes = chain([['Add', ['x', 'b'], ['p']]], [['b', [2, 1], [1, 2]]], [2, 2 ** 40]);
    expect(() => buildOnnxTraining(classes, CLASSIFY)).toThrow(/at most 4194304 classes/);
    const unknown = new ByteWriter()
      .part(1, nodeMessage('Hardmax', ['x', 'w'], ['p']))
      .part(5, tensorMessage('w', new Float32Array(4), [2, 2]))
      .part(11, valueInfoMessage('x', 'float32', [1, 2]))
      .part(12, valueInfoMessage('p'));
    expect(() =>
      buildOnnxTraining(modelBytes(unknown, 17, 8), { ...MSE, optimizer: { kind: 'sgd' } }),
    ).toThrow(/Hardmax "p" cannot be trained through/);
    const external = new ByteWriter()
      .integer(1, 2)
      .integer(1, 2)
      .integer(2, 1)
      .text(8, 'w')
      .integer(14, 1);
    const elsewhere = new ByteWriter()
      .part(1, nodeMessage('MatMul', ['x', 'w'], ['p']))
      .part(5, external)
      .part(11, valueInfoMessage('x', 'float32', [1, 2]))
      .part(12, valueInfoMessage('p'));
    expect(() =>
      buildOnnxTraining(modelBytes(elsewhere, 17, 8), { ...MSE, optimizer: { kind: 'sgd' } }),
    ).toThrow(/lie in another file/);
  });
});
