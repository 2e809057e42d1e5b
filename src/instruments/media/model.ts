/**
 * Models as artifacts. One of TensorFlow.js is a ZIP archive with `model.json` and `weights.bin`, the two files that TensorFlow.js itself
 * writes: topology, weights and the state of the optimizer are stored together, or not at all. One of ONNX is its file.
 */
import { checkOptionalCount } from '../../base/assert.ts';
import { invalidInput, isQuarkError, QuarkError } from '../../base/errors.ts';
import { readOptions } from '../../base/options.ts';
import type { JsonObject } from '../../base/json.ts';
import { bytesInput } from '../../codecs/input.ts';
import { readZipEntries, zipPart } from '../../codecs/archives/zip.ts';
import { storedZip } from '../../codecs/archives/zip-writer.ts';
import { readArtifacts } from '../../read/artifacts.ts';
import { runIdOf } from '../../read/scan.ts';
import { loadArtifact, type ArtifactSource } from '../artifacts/load-artifact.ts';
import type { ArtifactPayload } from '../artifacts/payload.ts';
import { corrupt, fieldIn, listIn } from './reading.ts';

/** Type of the artifacts that are models. */
export const MODEL_TYPE = 'model';

/** Forms of models. */
export const MODEL_FORMATS = ['tfjs', 'onnx'] as const;
/** One of {@link MODEL_FORMATS}. */
export type ModelFormat = (typeof MODEL_FORMATS)[number];

const TOPOLOGY_FILE = 'model.json';
const WEIGHTS_FILE = 'weights.bin';
/** Longest `model.json`. */
const MAX_TOPOLOGY_BYTES = 1 << 28;

/** The part of a model of TensorFlow.js that is used: a `tf.LayersModel` or `tf.GraphModel`. */
export interface SavableModel {
  save(handler: never, options?: never): Promise<unknown>;
}

/** What makes the file of an ONNX model: an `OnnxTrainer`. */
export interface ExportableModel {
  exportModel(): Promise<Uint8Array>;
}

/** What can be logged as a model: a model of TensorFlow.js, an `OnnxTrainer`, or the bytes of an ONNX file. */
export type ModelInput = SavableModel | ExportableModel | Uint8Array | Blob;

/** A weight in `weights.bin`, as TensorFlow.js describes it. */
export type TfjsWeightSpec = {
  readonly name: string;
  readonly shape: number[];
  readonly dtype: 'float32' | 'int32' | 'bool' | 'string' | 'complex64';
  readonly group?: 'model' | 'optimizer';
};

/** What TensorFlow.js loads a model from. */
export type TfjsModelArtifacts = {
  readonly modelTopology: object;
  readonly weightSpecs: TfjsWeightSpec[];
  readonly weightData: ArrayBuffer;
  readonly format?: string;
  readonly generatedBy?: string;
  readonly convertedBy?: string | null;
};

type ModelPosition = {
  readonly name: string;
  readonly step: number | null;
  readonly epoch: number | null;
};

/** A model that was read back. One of TensorFlow.js is what `tf.loadLayersModel` takes; one of ONNX has the bytes of its file. */
export type StoredModel =
  | (ModelPosition & {
      readonly format: 'tfjs';
      readonly load: () => Promise<TfjsModelArtifacts>;
    })
  | (ModelPosition & { readonly format: 'onnx'; readonly bytes: Uint8Array<ArrayBuffer> });

/** A model as it is stored. @throws {QuarkError} `invalid_input` */
export async function packModel(
  model: unknown,
): Promise<{ readonly payload: ArtifactPayload; readonly metadata: JsonObject }> {
  if (model instanceof Uint8Array) return packOnnx(model.slice());
  if (typeof Blob === 'function' && model instanceof Blob)
    return packOnnx(new Uint8Array(await model.arrayBuffer()));
  if (typeof model === 'object' && model !== null) {
    if ('exportModel' in model && typeof model.exportModel === 'function') {
      const bytes: unknown = await model.exportModel();
      if (bytes instanceof Uint8Array) return packOnnx(bytes);
    } else if ('save' in model && typeof model.save === 'function') return packTfjs(model);
  }
  throw invalidInput(
    'model',
    model,
    'a model of TensorFlow.js, an OnnxTrainer, or the bytes of an ONNX file',
  );
}

/** First bytes of a `ModelProto`: the tags of its fields. */
const ONNX_TAGS = new Set([0x08, 0x12, 0x1a, 0x22, 0x28, 0x32, 0x3a, 0x42, 0x72]);

function packOnnx(bytes: Uint8Array): { payload: ArtifactPayload; metadata: JsonObject } {
  if (!ONNX_TAGS.has(bytes[0] ?? 0))
    throw invalidInput('model', 'other bytes', 'the bytes of an ONNX file');
  return { payload: bytes, metadata: { format_version: 1, format: 'onnx' } };
}

async function packTfjs(
  model: object,
): Promise<{ payload: ArtifactPayload; metadata: JsonObject }> {
  const artifacts = await artifactsOf(model);
  const { modelTopology, weightData, weightSpecs = [], ...rest } = artifacts;
  if (
    typeof modelTopology !== 'object' ||
    modelTopology === null ||
    modelTopology instanceof ArrayBuffer
  )
    throw invalidInput(
      'model',
      'a model without a topology in JSON',
      'a tf.LayersModel or tf.GraphModel',
    );
  const weights = bytesOfWeights(weightData);
  const json = {
    ...rest,
    modelTopology,
    weightsManifest: [{ paths: [WEIGHTS_FILE], weights: weightSpecs }],
  };
  const chunks = storedZip([
    { path: TOPOLOGY_FILE, bytes: new TextEncoder().encode(JSON.stringify(json)) },
    { path: WEIGHTS_FILE, bytes: weights },
  ]);
  const generatedBy: unknown = rest['generatedBy'];
  return {
    payload: streamOf(chunks),
    metadata: {
      format_version: 1,
      format: 'tfjs',
      weight_bytes: weights.byteLength,
      generated_by: typeof generatedBy === 'string' ? generatedBy : null,
    },
  };
}

/** What a model gives to a handler that saves it, with the state of its optimizer where it has one. */
async function artifactsOf(model: object): Promise<Readonly<Record<string, unknown>>> {
  let found: unknown;
  const handler = {
    save: (artifacts: unknown) => {
      found = artifacts;
      return Promise.resolve({
        modelArtifactsInfo: { dateSaved: new Date(0), modelTopologyType: 'JSON' },
      });
    },
  };
  const save: unknown = Reflect.get(model, 'save');
  if (typeof save === 'function') {
    const hasOptimizer = 'optimizer' in model && isObject(model.optimizer);
    await Reflect.apply(save, model, [handler, { includeOptimizer: hasOptimizer }]);
  }
  if (!isObject(found))
    throw invalidInput('model', model, 'a model whose save() calls the handler it is given');
  return { ...found };
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function bytesOfWeights(data: unknown): Uint8Array {
  if (data === undefined) return new Uint8Array(0);
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  if (!Array.isArray(data) || !data.every((part) => part instanceof ArrayBuffer))
    throw invalidInput('model', 'weights of another type', 'weights in ArrayBuffers');
  const bytes = new Uint8Array(
    data.reduce((sum: number, part: ArrayBuffer) => sum + part.byteLength, 0),
  );
  let at = 0;
  for (const part of data) {
    bytes.set(new Uint8Array(part), at);
    at += part.byteLength;
  }
  return bytes;
}

async function* streamOf(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

/** Which of several models of a name to load. */
export type LoadModelOptions = {
  /** That of this step. Default: the one that was logged last. */
  readonly step?: number;
};

/**
 * A model that was logged under this name, by default the last one.
 *
 * @param run a session, what `openRun(store, runId)` returns, or a store and the id of a run
 * @throws {QuarkError} `artifact_not_found`; `invalid_input`
 * @throws {SessionStoreError} `missing` or `corrupt`
 * @example
 * ```js
 * import * as tf from '@tensorflow/tfjs';
 * import { TrainingSession } from 'quark-sdk';
 * import { loadModel, MediaLogger } from 'quark-sdk/media';
 *
 * const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [2] })] });
 * await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, async (session) => {
 *   await new MediaLogger(session).logModel('model', model, { step: 100 });
 *   const saved = await loadModel(session, 'model');
 *   if (saved.format !== 'tfjs') throw new Error('It is an ONNX model.');
 *   const again = await tf.loadLayersModel(saved);
 *   console.log(saved.step, again.countParams()); // 100 3
 * });
 * ```
 */
export async function loadModel(
  run: ArtifactSource,
  name: string,
  options: LoadModelOptions = {},
): Promise<StoredModel> {
  const { step } = readOptions('options', options, { step: checkOptionalCount });
  const position = step === null ? {} : { stepMin: step, stepMax: step };
  const { records } = await readArtifacts(run, {
    ...position,
    artifactType: MODEL_TYPE,
    artifactKey: name,
  });
  const record = records.at(-1);
  if (record === undefined)
    throw new QuarkError(
      'artifact_not_found',
      `Run ${runIdOf(run)} has no model ${JSON.stringify(name)}${step === null ? '' : ` of step ${step}`}.`,
      { details: { runId: runIdOf(run), name } },
    );
  const payload = await loadArtifact(run, record);
  if (!(payload instanceof Uint8Array)) throw corrupt('a model is no file');
  const about = { name, step: record.step, epoch: record.epoch };
  if (record.metadata?.['format'] === 'onnx') return { ...about, format: 'onnx', bytes: payload };
  if (record.metadata?.['format'] !== 'tfjs') throw corrupt('the format of a model is unknown');
  const artifacts = await unpackTfjs(payload);
  return { ...about, format: 'tfjs', load: () => Promise.resolve(artifacts) };
}

async function unpackTfjs(payload: Uint8Array<ArrayBuffer>): Promise<TfjsModelArtifacts> {
  const files = await unzip(payload);
  const topology = files.get(TOPOLOGY_FILE);
  const weights = files.get(WEIGHTS_FILE);
  if (topology === undefined || weights === undefined) throw corrupt('a model is not complete');
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(topology));
  } catch {
    throw corrupt('model.json is no JSON');
  }
  const modelTopology = fieldIn(json, 'modelTopology');
  if (!isObject(modelTopology)) throw corrupt('a model has no topology');
  const specs = listIn(listIn(json, 'weightsManifest')[0], 'weights').map(specOf);
  const { weightsManifest: _manifest, modelTopology: _topology, ...rest } = Object(json);
  const weightData = weights.slice().buffer;
  return { ...rest, modelTopology, weightSpecs: specs, weightData };
}

function specOf(spec: unknown): TfjsWeightSpec {
  const shape = listIn(spec, 'shape');
  const dtype = fieldIn(spec, 'dtype');
  const isKnown = ['float32', 'int32', 'bool', 'string', 'complex64'].includes(String(dtype));
  if (!shape.every((size) => Number.isSafeInteger(size) && Number(size) >= 0) || !isKnown)
    throw corrupt('a weight has no shape or type');
  if (typeof fieldIn(spec, 'name') !== 'string') throw corrupt('a weight has no name');
  return spec as TfjsWeightSpec;
}

/** The files of an archive that {@link storedZip} wrote. */
async function unzip(
  bytes: Uint8Array<ArrayBuffer>,
): Promise<Map<string, Uint8Array<ArrayBuffer>>> {
  const input = bytesInput('model.zip', bytes);
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  try {
    const entries = await readZipEntries(input, { maxEntries: 16, maxListBytes: 65_536 });
    for (const entry of entries) {
      const { offset, sizeBytes } = await zipPart(input, entry);
      const isFit =
        entry.method === 0 && !entry.isEncrypted && offset + sizeBytes <= bytes.byteLength;
      if (!isFit || (entry.path === TOPOLOGY_FILE && sizeBytes > MAX_TOPOLOGY_BYTES))
        throw corrupt(`${entry.path} of a model is not stored as it should be`);
      files.set(entry.path, bytes.subarray(offset, offset + sizeBytes));
    }
  } catch (error) {
    if (isQuarkError(error, 'invalid_input')) throw corrupt(error.message);
    throw error;
  }
  return files;
}
