/** A batch as the inputs of a run, checked: onnxruntime broadcasts what does not fit, and would train on something else. */
import { invalidInput } from '../../../base/errors.ts';
import type { NetworkInput } from './network.ts';
import { createTensor, hostData, isTensorOnHost, type Ort, type OrtTensor } from '../ort.ts';

/** A batch: tensors of the module, or numbers, whose shape follows from the batch size. */
export type OnnxBatch = Readonly<
  Record<string, OrtTensor | Float32Array | Int32Array | BigInt64Array>
>;

/**
 * Tensors for the inputs of a network and its targets.
 *
 * @param targets the input that takes class numbers, and how many classes there are; null where it takes none
 * @throws {QuarkError} `invalid_input` naming the input
 */
export function batchFeeds(
  ort: Ort,
  batch: OnnxBatch,
  inputs: readonly NetworkInput[],
  targets?: { readonly name: string; readonly classCount: number | null },
): Record<string, OrtTensor> {
  if (typeof batch !== 'object' || batch === null)
    throw invalidInput('batch', batch, 'an object with tensors or numbers by input');
  for (const name of Object.keys(batch))
    if (!inputs.some((input) => input.name === name))
      throw invalidInput(
        `batch.${name}`,
        name,
        `one of the inputs: ${inputs.map((input) => input.name).join(', ')}`,
      );
  const feeds: Record<string, OrtTensor> = {};
  /** Sizes that a run decides: the same one has to be the same everywhere. */
  const sizes = new Map<string, number>();
  for (const input of inputs) {
    const given: unknown = batch[input.name];
    const tensor = ArrayBuffer.isView(given)
      ? tensorOf(ort, given, input)
      : checkTensor(given, input);
    checkSizes(tensor, input, sizes);
    if (input.name === targets?.name && targets.classCount !== null)
      checkClasses(tensor, input, targets.classCount);
    feeds[input.name] = tensor;
  }
  return feeds;
}

function checkTensor(given: unknown, { name, type }: NetworkInput): OrtTensor {
  if (
    typeof given !== 'object' ||
    given === null ||
    !('dims' in given && 'location' in given && 'type' in given)
  )
    throw invalidInput(
      `batch.${name}`,
      given,
      `a tensor of ${type}, or ${ARRAYS[type]?.join(' or ')}`,
    );
  if (given.type !== type) throw invalidInput(`batch.${name}.type`, given.type, type);
  // What has these is a tensor of the module.
  return given as OrtTensor;
}

/** Arrays that the numbers of an input may come in. */
const ARRAYS: Readonly<Record<string, readonly string[]>> = {
  float32: ['Float32Array'],
  int32: ['Int32Array'],
  int64: ['BigInt64Array', 'Int32Array'],
};

/** Numbers as a tensor: the one size that is unknown follows from how many there are. */
function tensorOf(
  ort: Ort,
  given: ArrayBufferView,
  { name, type, shape }: NetworkInput,
): OrtTensor {
  const kind = Object.prototype.toString.call(given).slice('[object '.length, -1);
  if (ARRAYS[type]?.includes(kind) !== true)
    throw invalidInput(
      `batch.${name}`,
      kind,
      `a tensor of ${type}, or ${ARRAYS[type]?.join(' or ')}`,
    );
  // One of the arrays above.
  const data = given as Float32Array | Int32Array | BigInt64Array;
  const unknown = shape.filter((size) => typeof size === 'string');
  if (unknown.length > 1)
    throw invalidInput(
      `batch.${name}`,
      shape,
      'a tensor, because more than one of its sizes is free',
    );
  const known = shape.reduce<number>(
    (product, size) => (typeof size === 'number' ? product * size : product),
    1,
  );
  const rest = data.length / known;
  if (!Number.isInteger(rest) || (unknown.length === 0 && rest !== 1))
    throw invalidInput(
      `batch.${name}`,
      data.length,
      `as many numbers as [${shape.join(', ')}] has`,
    );
  const dims = shape.map((size) => (typeof size === 'number' ? size : rest));
  if (type === 'int64' && data instanceof Int32Array)
    return createTensor(ort, type, BigInt64Array.from(data, BigInt), dims);
  return createTensor(ort, type, data, dims);
}

function checkSizes(
  { dims }: OrtTensor,
  { name, shape }: NetworkInput,
  sizes: Map<string, number>,
): void {
  const has = `[${dims.join(', ')}]`;
  if (dims.length !== shape.length)
    throw invalidInput(`batch.${name}`, has, `of shape [${shape.join(', ')}]`);
  for (const [axis, size] of shape.entries()) {
    const found = dims[axis] ?? 0;
    const wanted = typeof size === 'number' ? size : (sizes.get(size) ?? found);
    if (found !== wanted)
      throw invalidInput(
        `batch.${name}`,
        has,
        `of shape [${shape.join(', ')}]${sizeSaid(axis, size, wanted)}`,
      );
    if (found < 1) throw invalidInput(`batch.${name}`, has, 'at least one sample');
    if (typeof size === 'string') sizes.set(size, found);
  }
}

/** Where a size comes from: the inputs before, or a file that was exported for one sample. */
function sizeSaid(axis: number, size: number | string, wanted: number): string {
  if (typeof size === 'string') return `, where ${size} is ${wanted} as in the inputs before`;
  return axis === 0 && size === 1
    ? ', as the model was exported for one sample: freeOnnxBatch gives one that takes several'
    : '';
}

/** A number that is no class would count as a sample without a loss. */
function checkClasses(tensor: OrtTensor, { name }: NetworkInput, count: number): void {
  const numbers = isTensorOnHost(tensor) ? hostData(tensor) : undefined;
  if (numbers === undefined) return;
  for (let i = 0; i < numbers.length; i += 1) {
    const label = numbers[i] ?? 0;
    if (label < 0 || label >= count)
      throw invalidInput(`batch.${name}[${i}]`, label, `a class: 0 to ${count - 1}`);
  }
}
