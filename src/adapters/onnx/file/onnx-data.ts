/** Weights that lie beside a model, as `model.onnx.data`, written into the model: one file that everything here takes. */
import { invalidInput, QuarkError } from '../../../base/errors.ts';
import { ByteWriter } from '../../../codecs/protobuf/writer.ts';
import {
  ELEMENT_BYTES,
  elementTypeOf,
  MAX_MODEL_BYTES,
  MAX_NAME_BYTES,
  MAX_RANK,
  type ElementType,
} from './onnx-format.ts';
import { damagedModel, MessageReader } from './message-reader.ts';

/** Gives the bytes of a file by the name that the model has for it, relative to the folder of the model. */
export type OnnxDataReader = (
  location: string,
) => Uint8Array | ArrayBuffer | undefined | Promise<Uint8Array | ArrayBuffer | undefined>;

/** Messages that tensors are found in, and the fields that lead to them. */
type Message = 'model' | 'graph' | 'function' | 'node' | 'attribute' | 'sparse' | 'tensor';
const CHILDREN: Readonly<Record<Message, Readonly<Record<number, Message>>>> = {
  model: { 7: 'graph', 25: 'function' },
  graph: { 1: 'node', 5: 'tensor', 15: 'sparse' },
  function: { 7: 'node', 11: 'attribute' },
  node: { 5: 'attribute' },
  attribute: { 5: 'tensor', 6: 'graph', 10: 'tensor', 11: 'graph', 22: 'sparse', 23: 'sparse' },
  sparse: { 1: 'tensor', 2: 'tensor' },
  tensor: {},
};
/** Graphs within graphs; exporters nest two or three. */
const MAX_DEPTH = 64;

/** Fields of TensorProto. */
const RAW_DATA = 9;
const EXTERNAL_DATA = 13;
const DATA_LOCATION = 14;
const EXTERNAL = 1;

/** Where the numbers of a tensor lie. */
type Entry = {
  readonly tensor: string;
  readonly location: string;
  readonly offset: number;
  /** As the file states it; null when it leaves it to the shape. */
  readonly length: number | null;
  /** As type and shape need it; null when the type is unknown here. */
  readonly needed: number | null;
};

/**
 * A copy of a model with the weights inside that it has in other files: exporters write `model.onnx.data` beside `model.onnx` for
 * large models, PyTorch's newer one for all. Everything in this entry takes the copy, and so does onnxruntime.
 *
 * Graphs of `If` and `Loop` and functions are searched, too. Checksums in the model are not compared. A model without data in other
 * files is copied, and `read` is not called.
 *
 * @param model bytes of the `.onnx` file; they are not changed
 * @param read gives the bytes of a file, asked once for each: a relative name with `/` between folders and without `..`
 * @throws {QuarkError} `invalid_input` for a damaged model, for a name that leads out of the folder, for data that `read` does not have
 * and for a range that its file does not have, with `details.location`; `unsupported` beyond 2 GiB in all, where ONNX files end
 * @example
 * ```js
 * import * as ort from 'onnxruntime-web';
 * import { buildOnnxTraining, joinOnnxData } from 'quark-sdk/onnx';
 *
 * ort.env.wasm.numThreads = 1;
 * const training = buildOnnxTraining(
 *   { inputShape: [2], layers: [{ kind: 'dense', name: 'hidden', units: 4, activation: 'relu' }] },
 *   { loss: { kind: 'meanSquaredError' }, optimizer: { kind: 'sgd', learningRate: 0.1 } },
 * );
 * const model = training.exportModel({}); // this one has its weights inside already
 * // In Node: (name) => readFile(join('models', name)); in a page: (name) => fetch(name).then((answer) => answer.arrayBuffer())
 * const whole = await joinOnnxData(model, (name) => undefined);
 * console.log(whole.length === model.length); // true
 * ```
 */
export async function joinOnnxData(
  model: Uint8Array,
  read: OnnxDataReader,
): Promise<Uint8Array<ArrayBuffer>> {
  if (!(model instanceof Uint8Array))
    throw invalidInput('model', model, 'a Uint8Array with the bytes of an .onnx file');
  if (typeof read !== 'function') throw invalidInput('read', read, 'a function');
  const entries: Entry[] = [];
  withTensors(model, (tensor) => {
    const entry = entryOf(tensor);
    if (entry !== null) entries.push(entry);
    return undefined;
  });
  if (entries.length === 0) return model.slice();
  const files = new Map<string, Uint8Array>();
  for (const { location } of entries)
    if (!files.has(location)) files.set(location, bytesOf(location, await read(location)));
  const total = entries.reduce(
    (sum, entry) => sum + rangeOf(entry, files).length,
    model.byteLength,
  );
  if (total > MAX_MODEL_BYTES) {
    throw new QuarkError(
      'unsupported',
      `The model and its data have ${total} bytes; an ONNX file ends at ${MAX_MODEL_BYTES}. Leave the data in its files and hand them to onnxruntime with externalData.`,
      { details: { field: 'model', reason: 'external_data', bytes: total } },
    );
  }
  const whole = withTensors(model, (tensor) => {
    const entry = entryOf(tensor);
    return entry === null ? undefined : withData(tensor, rangeOf(entry, files));
  });
  return whole === undefined ? model.slice() : joined(whole);
}

/** A message in parts, which are views until all of them are joined. */
type Parts = { readonly parts: readonly Uint8Array[]; readonly size: number };
type Context = { readonly model: Uint8Array; readonly depth: number; readonly kind: Message };
/** Gives what a tensor is replaced with; undefined leaves it. */
type Replace = (tensor: Uint8Array) => Parts | undefined;

const withTensors = (model: Uint8Array, replace: Replace): Parts | undefined =>
  copied(new MessageReader(model), { model, depth: 0, kind: 'model' }, replace);

/** A message with other tensors; undefined where all of them stay. */
function copied(reader: MessageReader, context: Context, replace: Replace): Parts | undefined {
  const { model, depth, kind } = context;
  if (depth > MAX_DEPTH)
    throw damagedModel('there are too many graphs within graphs', reader.offset);
  const parts: Uint8Array[] = [];
  let size = 0;
  const add = (bytes: Uint8Array): void => {
    parts.push(bytes);
    size += bytes.byteLength;
  };
  // Fields that stay are one part.
  let from = reader.offset;
  for (let start = from; reader.next(); start = reader.offset) {
    const child = reader.isBytes ? CHILDREN[kind][reader.field] : undefined;
    if (child === undefined) continue;
    const made =
      child === 'tensor'
        ? replace(reader.bytes())
        : copied(reader.message(), { model, depth: depth + 1, kind: child }, replace);
    if (made === undefined) continue;
    add(model.subarray(from, start));
    add(new ByteWriter().varint(reader.field * 8 + 2).varint(made.size).bytes);
    for (const part of made.parts) add(part);
    from = reader.offset;
  }
  if (parts.length === 0) return undefined;
  add(model.subarray(from, reader.offset));
  return { parts, size };
}

function joined({ parts, size }: Parts): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.byteLength;
  }
  return bytes;
}

/** Where a TensorProto has its numbers; null when they are in it. */
function entryOf(message: Uint8Array): Entry | null {
  const reader = new MessageReader(message);
  const shape: number[] = [];
  const entries = new Map<string, string>();
  let tensor = '';
  let type: ElementType | undefined;
  let isExternal = false;
  while (reader.next()) {
    if (reader.field === 1) reader.integers(shape, MAX_RANK);
    else if (reader.field === 2) type = elementTypeOf(reader.integer());
    else if (reader.field === 8) tensor = reader.text(MAX_NAME_BYTES);
    else if (reader.field === EXTERNAL_DATA) addEntry(reader.message(), entries);
    else if (reader.field === DATA_LOCATION) isExternal = reader.integer() === EXTERNAL;
  }
  if (!isExternal) return null;
  const location = checkedLocation(tensor, entries.get('location') ?? '');
  const width = type === undefined ? 0 : ELEMENT_BYTES[type];
  const count = shape.reduce((product, length) => product * length, 1);
  return {
    tensor,
    location,
    offset: numberOf(tensor, 'offset', entries.get('offset') ?? '0'),
    length: entries.has('length') ? numberOf(tensor, 'length', entries.get('length') ?? '') : null,
    needed: width === 0 ? null : count * width,
  };
}

function addEntry(reader: MessageReader, entries: Map<string, string>): void {
  let key = '';
  let value = '';
  while (reader.next()) {
    if (reader.field === 1) key = reader.text(MAX_NAME_BYTES);
    else if (reader.field === 2) value = reader.text(MAX_NAME_BYTES);
  }
  entries.set(key, value);
}

/** A name that stays in the folder of the model: the file comes from somebody else, and `read` may open what it names. */
function checkedLocation(tensor: string, location: string): string {
  const parts = location.split(/[/\\]/);
  const isInside =
    location !== '' && !/^[/\\]|:|\0/.test(location) && parts.every((part) => part !== '..');
  if (!isInside)
    throw invalidInput(
      `model: the data of "${tensor}"`,
      location,
      'in a file with a relative name, in the folder of the model',
    );
  return location;
}

function numberOf(tensor: string, what: string, text: string): number {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(value))
    throw invalidInput(`model: the ${what} of the data of "${tensor}"`, text, 'a number of bytes');
  return value;
}

function bytesOf(location: string, data: Uint8Array | ArrayBuffer | undefined): Uint8Array {
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  if (data instanceof Uint8Array) return data;
  throw new QuarkError(
    'invalid_input',
    `read("${location}") must give the bytes of the file as a Uint8Array or an ArrayBuffer; it gave ${data === undefined ? 'nothing' : typeof data}. The model has weights there.`,
    { details: { field: 'read', location, rule: 'a Uint8Array or an ArrayBuffer' } },
  );
}

/** The numbers of a tensor, a view of their file. */
function rangeOf(entry: Entry, files: ReadonlyMap<string, Uint8Array>): Uint8Array {
  const { tensor, location, offset, length, needed } = entry;
  const file = files.get(location) ?? new Uint8Array();
  const size = length ?? needed ?? file.byteLength - offset;
  const refuse = (rule: string): QuarkError =>
    new QuarkError(
      'invalid_input',
      `The data of "${tensor}" must be ${rule}; the model says bytes ${offset} to ${offset + size} of "${location}".`,
      { details: { field: 'model', tensor, location, offset, length: size, rule } },
    );
  if (needed !== null && size !== needed) throw refuse(`${needed} bytes, by its type and shape`);
  if (size < 0 || offset + size > file.byteLength)
    throw refuse(`within the ${file.byteLength} bytes of its file`);
  return file.subarray(offset, offset + size);
}

/** A TensorProto with its numbers inside. */
function withData(message: Uint8Array, data: Uint8Array): Parts {
  const head = new ByteWriter();
  const reader = new MessageReader(message);
  for (let from = reader.offset; reader.next(); from = reader.offset) {
    const { field } = reader;
    if (field !== RAW_DATA && field !== EXTERNAL_DATA && field !== DATA_LOCATION)
      head.raw(message.subarray(from, reader.offset));
  }
  head.varint(RAW_DATA * 8 + 2).varint(data.byteLength);
  const parts = [head.bytes, data];
  return { parts, size: head.size + data.byteLength };
}
