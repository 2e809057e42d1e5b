/** Weights in another file are written into the model; what does not fit is refused by its name before anything is read. */
import fc from 'fast-check';
import * as ort from 'onnxruntime-web';
import { beforeAll, describe, expect, it } from 'vitest';
import { isQuarkError } from '../../src/base/errors.ts';
import { buildOnnxTraining, joinOnnxData, openOnnxTrainer } from '../../src/onnx.ts';
import { ByteWriter } from '../../src/codecs/protobuf/writer.ts';
import { nodeMessage } from '../../src/adapters/onnx/file/onnx-writer.ts';
import { rewritten } from '../../src/adapters/onnx/file/onnx-patch.ts';
import { withDataOutside, type SplitOptions } from '../onnx/data-outside.ts';
import { CLASSIFIERS } from '../onnx/models/classifiers.ts';
import { tensorOf } from '../onnx/case-feeds.ts';
import { runs } from '../support/property.ts';

const [CASE] = CLASSIFIERS;
if (CASE === undefined) throw new Error('there is no classifier');
const FILE = CASE.make();
const FEEDS = Object.fromEntries(
  Object.entries(CASE.feeds).map(([name, feed]) => [name, tensorOf(name, feed)]),
);
const split = (options?: SplitOptions) => withDataOutside(FILE, options);
const joinedWith = (options: SplitOptions): Promise<Uint8Array> => {
  const { model, data } = split(options);
  return joinOnnxData(model, () => data);
};
const QUIET = { logSeverityLevel: 3 } as const;

async function outputsOf(bytes: Uint8Array, options = {}): Promise<Float32Array> {
  const session = await ort.InferenceSession.create(bytes, { ...QUIET, ...options });
  try {
    const [output] = Object.values(await session.run(FEEDS));
    if (!(output?.data instanceof Float32Array)) throw new Error('no numbers');
    return output.data;
  } finally {
    await session.release();
  }
}

const refusalOf = async (asking: Promise<unknown>): Promise<unknown> =>
  asking.then(
    () => expect.unreachable('It was taken'),
    (error: unknown) => error,
  );

beforeAll(() => {
  ort.env.wasm.numThreads = 1;
  ort.env.logLevel = 'error';
});

describe('joinOnnxData', () => {
  it('gives what onnxruntime computes with the two files', async () => {
    const { model, data } = split();
    expect(model.length).toBeLessThan(FILE.length);
    const asked: string[] = [];
    const whole = await joinOnnxData(model, (location) => {
      asked.push(location);
      return Promise.resolve(data.buffer);
    });
    expect(asked).toEqual(['model.onnx.data']);
    const wanted = await outputsOf(model, {
      externalData: [{ path: 'model.onnx.data', data }],
    });
    expect(await outputsOf(whole)).toStrictEqual(wanted);
    expect(await outputsOf(FILE)).toStrictEqual(wanted);
  });

  it('gives a file that is trained, and says so where the weights are missing', async () => {
    const { model, data } = split();
    const config = {
      loss: { kind: 'softmaxCrossEntropy' },
      optimizer: { kind: 'sgd', learningRate: 0.1 },
    } as const;
    expect(() => buildOnnxTraining(model, config)).toThrow(/joinOnnxData\(model, read\)/);
    const training = buildOnnxTraining(await joinOnnxData(model, () => data), config);
    await using trainer = await openOnnxTrainer(ort, training, { sessionOptions: QUIET });
    const weights = await trainer.readWeights();
    await using other = await openOnnxTrainer(ort, buildOnnxTraining(FILE, config), {
      sessionOptions: QUIET,
    });
    expect(weights).toStrictEqual(await other.readWeights());
  });

  it('takes entries without a length, folders, and models that have all inside', async () => {
    const nested = { location: 'weights/part-1.bin', isLengthStated: false };
    const wanted = await outputsOf(FILE);
    expect(await outputsOf(await joinedWith(nested))).toStrictEqual(wanted);
    const copy = await joinOnnxData(FILE, () => expect.unreachable('It was read'));
    expect(copy).toStrictEqual(FILE);
    expect(copy).not.toBe(FILE);
  });

  it('finds tensors of subgraphs, of constants and of functions', async () => {
    const tensor = new ByteWriter().integer(1, 2).integer(2, 1).text(8, 'inner');
    for (const [key, value] of [
      ['location', 'a.bin'],
      ['offset', '4'],
    ] as const)
      tensor.part(13, new ByteWriter().text(1, key).text(2, value));
    tensor.integer(14, 1);
    const constant = new ByteWriter().text(1, 'value').part(5, tensor).integer(20, 4);
    const node = nodeMessage('Constant', [], ['inner']).part(5, constant);
    const branch = nodeMessage('If', ['input'], ['x'], {
      then_branch: { graph: new ByteWriter().part(1, node).part(5, tensor) },
    });
    const data = Uint8Array.from({ length: 12 }, (_, i) => i);
    const model = new ByteWriter()
      .part(7, new ByteWriter().part(1, branch).part(1, node))
      .part(25, new ByteWriter().part(7, node))
      .finish();
    const whole = await joinOnnxData(model, () => data);
    const text = Array.from(whole).join(',');
    expect(text.split('4,5,6,7,8,9,10,11').length - 1).toBe(4);
    // What was written has nothing outside any more.
    expect(await joinOnnxData(whole, () => expect.unreachable('It was read'))).toStrictEqual(whole);
  });

  it.each([
    '../secret',
    'a/../../secret',
    '/etc/passwd',
    String.raw`..\secret`,
    'C:data',
    'https://a/b',
    '',
    'a\0b',
  ])('does not ask for %j', async (location) => {
    const { model } = split({ location });
    const error = await refusalOf(joinOnnxData(model, () => expect.unreachable('It was read')));
    expect(isQuarkError(error, 'invalid_input')).toBe(true);
    expect(String(error)).toContain('in the folder of the model');
  });

  it.each<[string, SplitOptions, RegExp]>([
    [
      'an offset behind the end',
      { change: () => ({ location: 'a', offset: '99999999' }) },
      /within the \d+ bytes of its file/,
    ],
    [
      'a length that is not that of the shape',
      { change: () => ({ location: 'a', length: '3' }) },
      /bytes, by its type and shape/,
    ],
    ['an offset that is no number', { change: () => ({ location: 'a', offset: '-4' }) }, /offset/],
    [
      'a length that is no number',
      { change: () => ({ location: 'a', length: '1e3' }) },
      /length .*number of bytes/,
    ],
  ])('refuses %s', async (_name, options, said) => {
    const error = await refusalOf(joinedWith(options));
    expect(isQuarkError(error, 'invalid_input')).toBe(true);
    expect(String(error)).toMatch(said);
  });

  it('says which file is missing', async () => {
    const error = await refusalOf(joinOnnxData(split().model, () => undefined));
    expect(error).toMatchObject({
      code: 'invalid_input',
      details: { field: 'read', location: 'model.onnx.data' },
    });
  });

  it('of damaged models gives a typed error or a file, whatever byte is changed', async () => {
    const { model, data } = split();
    await fc.assert(
      fc.asyncProperty(fc.nat(model.length - 1), fc.nat(255), async (at, byte) => {
        const damaged = model.slice();
        damaged[at] = byte;
        await joinOnnxData(damaged, () => data).catch((error: unknown) => {
          if (!isQuarkError(error)) throw error;
        });
      }),
      runs(2000),
    );
  });

  it('refuses graphs within graphs without end', async () => {
    let graph = new ByteWriter();
    for (let i = 0; i < 200; i += 1)
      graph = new ByteWriter().part(1, nodeMessage('If', [], ['x'], { then_branch: { graph } }));
    const model = rewritten(FILE, (field) => (field === 7 ? graph.finish() : undefined));
    expect(String(await refusalOf(joinOnnxData(model, () => undefined)))).toContain(
      'too many graphs within graphs',
    );
  });
});
