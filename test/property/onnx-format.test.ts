/** The reader of ONNX files: what was written comes back, and no bytes whatever make it crash, hang or fill memory. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ELEMENT_TYPES,
  type ElementType,
  type OnnxDimension,
} from '../../src/adapters/onnx/file/onnx-format.ts';
import { readOnnxModel, tensorNumbers } from '../../src/adapters/onnx/file/onnx-reader.ts';
import {
  modelBytes,
  nodeMessage,
  tensorMessage,
  valueInfoMessage,
  type AttributeValue,
} from '../../src/adapters/onnx/file/onnx-writer.ts';
import { ByteWriter } from '../../src/codecs/protobuf/writer.ts';
import { MessageReader } from '../../src/adapters/onnx/file/message-reader.ts';
import { instrumentOnnx } from '../../src/adapters/onnx/watch/instrument.ts';
import { buildOnnxTraining } from '../../src/adapters/onnx/train/training-step.ts';
import { isQuarkError } from '../../src/base/errors.ts';
import { runs } from '../support/property.ts';

const name = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 });
const int = fc.maxSafeInteger();
const attribute: fc.Arbitrary<AttributeValue> = fc.oneof(
  int,
  fc.array(int, { maxLength: 5 }),
  fc.string({ unit: 'grapheme' }),
  fc.float({ noNaN: true }).map((float) => ({ float })),
);
const node = fc.record({
  op: name,
  inputs: fc.array(fc.oneof(name, fc.constant('')), { maxLength: 4 }),
  outputs: fc.array(name, { minLength: 1, maxLength: 3 }),
  attributes: fc.dictionary(name, attribute, { maxKeys: 4 }),
  name,
});
const dimension: fc.Arbitrary<OnnxDimension> = fc.oneof(fc.nat(), name, fc.constant(null));
const valueInfo = fc.record({
  name,
  type: fc.constantFrom(...(Object.keys(ELEMENT_TYPES) as ElementType[])),
  shape: fc.option(fc.array(dimension, { maxLength: 5 })),
});
const tensor = fc.oneof(
  fc.float32Array({ minLength: 1, maxLength: 9 }),
  fc.int32Array({ minLength: 1, maxLength: 9 }),
  fc.bigInt64Array({ minLength: 1, maxLength: 9, min: -(2n ** 53n), max: 2n ** 53n }),
);
const graph = fc.record({
  nodes: fc.array(node, { minLength: 1, maxLength: 6 }),
  inputs: fc.array(valueInfo, { maxLength: 3 }),
  outputs: fc.array(valueInfo, { minLength: 1, maxLength: 3 }),
  values: fc.uniqueArray(valueInfo, { maxLength: 3, selector: (info) => info.name }),
  tensors: fc.uniqueArray(fc.tuple(name, tensor), { maxLength: 3, selector: ([key]) => key }),
  opset: fc.integer({ min: 1, max: 30 }),
});
type Graph = typeof graph extends fc.Arbitrary<infer G> ? G : never;

function bytesOf(given: Graph): Uint8Array<ArrayBuffer> {
  const message = new ByteWriter().text(2, 'g');
  for (const { op, inputs, outputs, attributes, name: own } of given.nodes)
    message.part(1, nodeMessage(op, inputs, outputs, attributes, own));
  for (const [key, data] of given.tensors) message.part(5, tensorMessage(key, data, [data.length]));
  const add = (field: number, infos: Graph['inputs']): void => {
    for (const { name: own, type, shape } of infos)
      message.part(field, valueInfoMessage(own, type, shape));
  };
  add(11, given.inputs);
  add(12, given.outputs);
  add(13, given.values);
  return modelBytes(message, given.opset, 8);
}

/** Attributes as the reader gives them. */
const kindOf = (value: AttributeValue): object => {
  if (typeof value === 'number') return { kind: 'int', value };
  if (typeof value === 'string') return { kind: 'string', value };
  return 'float' in value ? { kind: 'float', value: value.float } : { kind: 'ints', value };
};

/** The code of the error that reading ends with; undefined where it succeeds. */
function codeOf(bytes: Uint8Array): string | undefined {
  try {
    readOnnxModel(bytes);
  } catch (error) {
    if (isQuarkError(error)) return error.code;
    throw error;
  }
  return undefined;
}

describe('ONNX files', () => {
  it('come back as they were written', () => {
    fc.assert(
      fc.property(graph, (given) => {
        const read = readOnnxModel(bytesOf(given));
        expect(read.opsets.get('')).toBe(given.opset);
        expect(read.irVersion).toBe(8);
        expect(
          read.nodes.map(({ opType, inputs, outputs, name: own }) => ({
            op: opType,
            inputs,
            outputs,
            name: own,
          })),
        ).toStrictEqual(
          given.nodes.map(({ op, inputs, outputs, name: own }) => ({
            op,
            inputs,
            outputs,
            name: own,
          })),
        );
        for (const [i, { attributes }] of given.nodes.entries())
          expect([...read.nodes[i]!.attributes]).toStrictEqual(
            Object.entries(attributes).map(([key, value]) => [key, kindOf(value)]),
          );
        const infos = (all: Graph['inputs']): object[] =>
          all.map(({ name: own, type, shape }) => ({
            name: own,
            elementType: type,
            shape,
            isTensor: true,
          }));
        expect(read.inputs).toStrictEqual(infos(given.inputs));
        expect(read.outputs).toStrictEqual(infos(given.outputs));
        expect([...read.valueInfos.values()]).toStrictEqual(infos(given.values));
        for (const [key, data] of given.tensors) {
          const found = read.initializers.get(key)!;
          expect(found.shape).toStrictEqual([data.length]);
          expect(tensorNumbers(found)).toStrictEqual(Array.from(data, Number));
        }
      }),
      runs(150),
    );
  });

  it('cut off at any byte are refused with a typed error', () => {
    fc.assert(
      fc.property(graph, (given) => {
        const bytes = bytesOf(given);
        // The operator set stands last: every file that is cut off lacks it.
        const codes = Array.from({ length: bytes.length }, (_, length) =>
          codeOf(bytes.subarray(0, length)),
        );
        expect(new Set(codes)).toStrictEqual(new Set(['invalid_input']));
      }),
      runs(40),
    );
  });

  it('with flipped bits or of random bytes never crash', () => {
    const read = (bytes: Uint8Array): void => {
      try {
        readOnnxModel(bytes);
        instrumentOnnx(bytes);
      } catch (error) {
        if (!isQuarkError(error)) throw error;
      }
    };
    fc.assert(
      fc.property(
        graph,
        fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 7 })), {
          minLength: 1,
          maxLength: 8,
        }),
        (given, flips) => {
          const bytes = bytesOf(given);
          for (const [at, bit] of flips) bytes[at % bytes.length]! ^= 1 << bit;
          read(bytes);
        },
      ),
      runs(400),
    );
    fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), read), runs(300));
  });

  it('with flipped bits are trained or refused', () => {
    const ints = (key: string, values: number[], shape = [values.length]): ByteWriter =>
      tensorMessage(key, BigInt64Array.from(values, BigInt), shape);
    const floats = (key: string, shape: number[]): ByteWriter => {
      const size = shape.reduce((product, length) => product * length, 1);
      return tensorMessage(key, Float32Array.from({ length: size }, Math.sin), shape);
    };
    const message = new ByteWriter();
    const nodes: Parameters<typeof nodeMessage>[] = [
      ['Conv', ['x', 'w', 'b'], ['c'], { pads: [1, 1, 1, 1], strides: [2, 2] }],
      ['BatchNormalization', ['c', 'b', 'b2', 'mean', 'v'], ['n'], { epsilon: { float: 1e-3 } }],
      ['MaxPool', ['n'], ['m'], { kernel_shape: [2, 2], pads: [0, 0, 1, 1], dilations: [1, 1] }],
      ['AveragePool', ['m'], ['a'], { kernel_shape: [2, 2], auto_pad: 'SAME_UPPER' }],
      ['Shape', ['a'], ['size']],
      ['Gather', ['size', 'zero'], ['count']],
      ['Unsqueeze', ['count', 'axis'], ['counts']],
      ['Concat', ['counts', 'rest'], ['flat'], { axis: 0 }],
      ['Reshape', ['a', 'flat'], ['f']],
      ['Gemm', ['f', 'g'], ['z'], { transB: 1, alpha: { float: 0.5 } }],
      ['Softmax', ['z'], ['s'], { axis: -1 }],
      ['ReduceMean', ['s', 'last'], ['y'], { keepdims: 1 }],
    ];
    for (const one of nodes) message.part(1, nodeMessage(...one));
    const constants = [
      floats('w', [2, 1, 3, 3]),
      ...['b', 'b2', 'mean', 'v'].map((key) => floats(key, [2])),
      floats('g', [3, 32]),
      ints('zero', [0], []),
      ints('axis', [0]),
      ints('rest', [-1]),
      ints('last', [-1]),
    ];
    for (const one of constants) message.part(5, one);
    message.part(11, valueInfoMessage('x', 'float32', [null, 1, 8, 8]));
    const whole = modelBytes(message.part(12, valueInfoMessage('y')), 18, 8);
    const config = { loss: { kind: 'meanSquaredError' }, optimizer: { kind: 'adam' } } as const;
    expect(buildOnnxTraining(whole, config).parameters).toHaveLength(4);
    const flips = fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), {
      minLength: 1,
      maxLength: 4,
    });
    fc.assert(
      fc.property(flips, (changes) => {
        const bytes = whole.slice();
        for (const [at, byte] of changes) bytes[at] = byte;
        try {
          buildOnnxTraining(bytes, config);
        } catch (error) {
          if (!isQuarkError(error)) throw error;
        }
      }),
      runs(500),
    );
  });

  it('are unchanged but for what instrumenting puts behind them', () => {
    fc.assert(
      fc.property(graph, (given) => {
        const bytes = bytesOf(given);
        const before = bytes.slice();
        let made;
        try {
          made = instrumentOnnx(bytes);
        } catch (error) {
          if (!isQuarkError(error, 'invalid_input')) throw error;
          return;
        }
        expect(bytes).toStrictEqual(before);
        expect(made.bytes.subarray(0, bytes.length)).toStrictEqual(bytes);
        const [original, changed] = [readOnnxModel(bytes), readOnnxModel(made.bytes)];
        expect(changed.nodes).toStrictEqual(original.nodes);
        expect(changed.outputs.map((output) => output.name)).toStrictEqual([
          ...original.outputs.map((output) => output.name),
          ...made.captures
            .filter(({ isOwnOutput }) => !isOwnOutput)
            .map(({ outputName }) => outputName),
        ]);
      }),
      runs(100),
    );
  });

  it('say where they are damaged', () => {
    expect(() => readOnnxModel(Uint8Array.of(8, 8, 0x3a, 100, 1))).toThrow(
      /at byte 4 a field of 100 bytes reaches past the end/,
    );
    expect(() => readOnnxModel(new Uint8Array(0))).toThrow(/at byte 0 the file ends/);
    // A length of 2^63 and more, and a number that never ends.
    expect(() => readOnnxModel(Uint8Array.of(0x3a, ...new Array<number>(9).fill(0xff), 1))).toThrow(
      /past the end/,
    );
    expect(() => readOnnxModel(Uint8Array.of(8, ...new Array<number>(20).fill(0xff)))).toThrow(
      /more than 64 bits/,
    );
    expect(() => readOnnxModel(Uint8Array.of(0x0b, 0))).toThrow(/wire type 3/);
    expect(() => readOnnxModel('model.onnx' as never)).toThrow(/Uint8Array/);
  });
});

describe('integers on the wire', () => {
  it('are exact from -2^53 to 2^53', () => {
    fc.assert(
      fc.property(int, (value) => {
        const reader = new MessageReader(new ByteWriter().integer(3, value).finish());
        expect(reader.next()).toBe(true);
        expect([reader.field, reader.integer(), reader.next()]).toStrictEqual([3, value, false]);
      }),
      runs(300),
    );
  });
});
