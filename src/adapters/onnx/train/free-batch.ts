/** Frees the batch of a model that was exported for one sample, and runs both to know that they compute the same. */
import { checkOptionNames } from '../../../base/assert.ts';
import { invalidInput, messageOf, QuarkError } from '../../../base/errors.ts';
import { FLOAT_TYPES, type OnnxValueInfo } from '../file/onnx-format.ts';
import { withFreeBatch, type FreedFile } from '../file/onnx-batch.ts';
import {
  createSession,
  createTensor,
  hostData,
  type Ort,
  type OrtSession,
  type OrtSessionOptions,
  type OrtTensor,
  type OrtValues,
} from '../ort.ts';

/** Options of {@link freeOnnxBatch}. */
export type FreeOnnxBatchOptions = {
  /** Options of `ort.InferenceSession.create` for the runs that compare. */
  readonly sessionOptions?: OrtSessionOptions;
  /**
   * Samples to compare with, by input: as many numbers as one sample has, for each of them. Drawn unless given: numbers from -1 to
   * 1, whole numbers 0 and 1, and 4 for sizes that the file leaves open.
   */
  readonly samples?: readonly OrtValues[];
};

const SAMPLES = 3;
/** A size that a file leaves open. */
const OPEN_SIZE = 4;
/** Largest difference by the largest output: sums may be in another order for several samples. */
const TOLERANCE = 1e-4;

/**
 * A copy of a model that was exported with a batch of 1, which takes any number of samples: for training with
 * `buildOnnxTraining`, or for runs of several samples. Declared sizes, constant shapes of `Reshape` and first states of recurrent
 * layers that are zeros are written anew. Then three samples at once are compared with three runs of the file as it was; nothing
 * is given unless both agree. A model whose batch is free comes back as it is.
 *
 * @param ort the module: `import * as ort from 'onnxruntime-web'`
 * @param model bytes of the `.onnx` file; they are not changed
 * @throws {QuarkError} `invalid_input` for a damaged file; `unsupported`, with the nodes that may hold the batch, when the runs
 * differ
 * @example
 * ```js
 * import * as ort from 'onnxruntime-web';
 * import { buildOnnxTraining, freeOnnxBatch } from 'quark-sdk/onnx';
 *
 * ort.env.wasm.numThreads = 1;
 * const training = buildOnnxTraining(
 *   { inputShape: [2], layers: [{ kind: 'dense', name: 'hidden', units: 4, activation: 'relu' }] },
 *   { loss: { kind: 'meanSquaredError' }, optimizer: { kind: 'sgd', learningRate: 0.1 } },
 * );
 * const file = training.exportModel({}); // the bytes of an .onnx file; this one takes any batch already
 * const freed = await freeOnnxBatch(ort, file);
 * console.log(freed.length === file.length); // true
 * ```
 */
export async function freeOnnxBatch(
  ort: Ort,
  model: Uint8Array,
  options: FreeOnnxBatchOptions = {},
): Promise<Uint8Array<ArrayBuffer>> {
  checkOptionNames('options', options, ['sessionOptions', 'samples']);
  const { sessionOptions = {} } = options;
  if (options.samples !== undefined && !(options.samples.length >= 2))
    throw invalidInput('options.samples', options.samples.length, 'two samples or more');
  const freed = withFreeBatch(model);
  if (freed.inputs.length === 0) return model.slice();
  const given =
    options.samples ?? Array.from({ length: SAMPLES }, (_, i) => drawn(ort, freed.inputs, i));
  const one = await createSession(ort, model, sessionOptions);
  let all: OrtSession | undefined;
  try {
    const singles: OrtValues[] = [];
    for (const sample of given) singles.push(await one.run(sample));
    all = await createSession(ort, freed.bytes, sessionOptions);
    const together = await all.run(joined(ort, given));
    for (const name of one.outputNames) compare(name, singles, together[name]);
  } catch (error) {
    throw stillFrozen(freed, error);
  } finally {
    await one.release();
    await all?.release();
  }
  return freed.bytes;
}

/** A sample for each input: other numbers for each. */
function drawn(ort: Ort, infos: readonly OnnxValueInfo[], sample: number): OrtValues {
  return Object.fromEntries(
    infos.map(({ name, elementType, shape }) => {
      const dims = (shape ?? []).map((size) => (typeof size === 'number' ? size : OPEN_SIZE));
      const count = dims.reduce((product, size) => product * size, 1);
      const wave = Array.from({ length: count }, (_, i) => Math.sin(1 + i * (sample + 1.7)));
      return [name, tensorFrom(ort, elementType, wave, dims)];
    }),
  );
}

function tensorFrom(
  ort: Ort,
  type: OnnxValueInfo['elementType'],
  wave: readonly number[],
  dims: readonly number[],
): OrtTensor {
  const bits = wave.map((x) => Number(x > 0));
  if (type === 'int64') return createTensor(ort, type, BigInt64Array.from(bits, BigInt), dims);
  if (type === 'int32') return createTensor(ort, type, Int32Array.from(bits), dims);
  if (type === 'bool') return createTensor(ort, type, Uint8Array.from(bits), dims);
  if (type === 'float32') return createTensor(ort, type, Float32Array.from(wave), dims);
  throw new Error(
    FLOAT_TYPES.has(type)
      ? `inputs of ${type} are not drawn: give options.samples`
      : `inputs of ${type ?? 'an unknown type'} cannot be joined`,
  );
}

/** Samples one after the other, as one batch. */
function joined(ort: Ort, samples: readonly OrtValues[]): OrtValues {
  const [first = {}] = samples;
  return Object.fromEntries(
    Object.entries(first).map(([name, { type, dims }]) => {
      const parts = samples.map((sample) => sample[name]);
      const shape = [samples.length, ...dims.slice(1)];
      if (type === 'int64') {
        const all = parts.flatMap((part) =>
          part?.data instanceof BigInt64Array ? Array.from(part.data) : [],
        );
        return [name, createTensor(ort, type, BigInt64Array.from(all), shape)];
      }
      const arrays = parts.flatMap((part) => {
        const data = part === undefined ? undefined : hostData(part);
        return data === undefined ? [] : [data];
      });
      const all = arrays.flatMap((data) => Array.from(data));
      const Data = arrays[0]?.constructor as Float32ArrayConstructor | undefined;
      return [name, createTensor(ort, type, (Data ?? Float32Array).from(all), shape)];
    }),
  );
}

const numbersOf = (tensor: OrtTensor | undefined): readonly number[] => {
  if (tensor?.data instanceof BigInt64Array) return Array.from(tensor.data, Number);
  const data = tensor === undefined ? undefined : hostData(tensor);
  return data === undefined ? [] : Array.from(data);
};

/** @throws {Error} when an output of all samples is not what each of them gave */
function compare(
  name: string,
  singles: readonly OrtValues[],
  together: OrtTensor | undefined,
): void {
  const wanted = singles.flatMap((outputs) => numbersOf(outputs[name]));
  const found = numbersOf(together);
  if (wanted.length === 0 || wanted.length !== found.length || together?.dims[0] !== singles.length)
    throw new Error(
      `"${name}" is of shape [${together?.dims.join(', ')}] for ${singles.length} samples`,
    );
  const largest = wanted.reduce((most, x) => Math.max(most, Math.abs(x)), 1e-6);
  const apart = wanted.reduce((most, x, i) => Math.max(most, Math.abs(x - (found[i] ?? 0))), 0);
  if (!(apart <= TOLERANCE * largest))
    throw new Error(`"${name}" differs between ${singles.length} samples at once and one by one`);
}

function stillFrozen({ changed, left, ...file }: FreedFile, error: unknown): QuarkError {
  const inputs = file.inputs.map(({ name }) => name);
  const nodes = [...left, ...changed];
  const holders =
    nodes.length === 0 ? '' : ` Nodes that may hold it: ${nodes.slice(0, 8).join(', ')}.`;
  const why = messageOf(error).replace(/[.\s]*$/, '');
  return new QuarkError(
    'unsupported',
    `The batch of "${inputs.join('", "')}" is 1 in the file and could not be freed: ${why}.${holders} Export the model with a dynamic batch (dynamic_axes, dynamic_shapes), or train it with one sample a step.`,
    { details: { field: 'model', reason: 'frozen_batch', inputs, nodes } },
  );
}
