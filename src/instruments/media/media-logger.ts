/** Logs what is no number and has a form of its own: images, sound, tables, distributions, curves, embeddings. */
import { ASYNC_DISPOSE } from '../../base/dispose.ts';
import { invalidInput } from '../../base/errors.ts';
import { copyJsonObject, type JsonObject } from '../../base/json.ts';
import { asGiven, literal, numberWhere, positive, readOptions } from '../../base/options.ts';
import type { ArtifactRecord } from '../../records/artifact.ts';
import type { RunContext } from '../../session/run-context.ts';
import type { FoundFile, SkippedFile } from '../../session/platforms/platform.ts';
import type { TrainingSession } from '../../session/training-session.ts';
import { ArtifactStore, type StoreArtifactOptions } from '../artifacts/artifact-store.ts';
import type { ArtifactPayload } from '../artifacts/payload.ts';
import {
  countDistribution,
  DEFAULT_BINS_PER_OCTAVE,
  type DistributionValues,
} from './distribution.ts';
import { checkEmbedding, type EmbeddingInput } from './embedding.ts';
import {
  countConfusion,
  countPrCurve,
  countRocCurve,
  DEFAULT_CURVE_POINTS,
  type ConfusionInput,
  type CurveInput,
} from './evaluation.ts';
import { encodeImage, type ImageInput } from './image.ts';
import { mediaToJson, TEXT_FORMATS, type MediaKind, type MediaMetadata } from './media-shapes.ts';
import { CODE_TYPE, codeToJson, readCode } from './code.ts';
import {
  DEFAULT_EXCLUDED,
  DIRECTORY_RULES,
  FILE_TYPE,
  fileMetadata,
  findFile,
  findFiles,
  keyOfPath,
  keysOfPaths,
  type DirectoryInput,
  type FileInput,
} from './files.ts';
import { MODEL_TYPE, packModel, type ModelInput } from './model.ts';
import { checkTableInput, type TableInput } from './table.ts';
import { encodeWav, type AudioInput } from './wav.ts';

/** Options of every call that logs a medium. */
export type LogMediaOptions = {
  readonly step?: number | null | undefined;
  readonly epoch?: number | null | undefined;
  /** Prefix of the name, with a "/". */
  readonly namespace?: string | null | undefined;
  /** When it was made. Default: now. */
  readonly timestamp?: string | number | Date | undefined;
  /** What the program wants to say of it; a JSON object. Read back as `user`. */
  readonly metadata?: JsonObject | null | undefined;
};

/** Options of {@link MediaLogger.logDistribution}. */
export type LogDistributionOptions = LogMediaOptions & {
  /** Bins between two powers of two: 1, 2, 4, 8, 16, 32 or 64; default 4. Distributions merge that have the same. */
  readonly binsPerOctave?: number;
};

/** Options of {@link MediaLogger.logAudio}. */
export type LogAudioOptions = LogMediaOptions & {
  /** Frames a second: 1 to 768,000. */
  readonly sampleRate: number;
};

/** Options of {@link MediaLogger.logText}. */
export type LogTextOptions = LogMediaOptions & {
  /** How it is shown: `plain`, the default, or `markdown`. */
  readonly format?: (typeof TEXT_FORMATS)[number];
};

/** Options of {@link MediaLogger.prCurve} and {@link MediaLogger.rocCurve}. */
export type LogCurveOptions = LogMediaOptions & {
  /** Most points that are stored, the first and the last among them; 2 or more, default 1000. The area is that of all points. */
  readonly maxPoints?: number;
};

/** Options of {@link MediaLogger.logDirectory}. */
export type LogDirectoryOptions = LogMediaOptions & {
  /** Names of files and folders that are left out; default `.git` and `node_modules`. */
  readonly exclude?: readonly string[];
  /** Most files; default 1000. */
  readonly maxFiles?: number;
  /** Most bytes of all files; default 1 GiB. */
  readonly maxBytes?: number;
};

/** What {@link MediaLogger.logDirectory} has logged. */
export type LoggedDirectory = {
  readonly records: readonly ArtifactRecord[];
  /** What was left out, and why; at most 10,000. */
  readonly skipped: readonly SkippedFile[];
};

/** Options of {@link MediaLogger.logCode}. */
export type LogCodeOptions = LogMediaOptions & {
  /** Bytes of the patch of uncommitted changes; default 1 MiB. A longer one is cut. */
  readonly maxDiffBytes?: number;
  /** What is cut besides secrets of known forms and those in the environment: texts of at least 4 characters, and patterns. */
  readonly secrets?: readonly (string | RegExp)[];
};

/** What is left out of a folder and returned. */
const MAX_SKIPPED = 10_000;

/** Checked where the artifact is stored. */
const RULES = {
  step: asGiven<LogMediaOptions['step']>,
  epoch: asGiven<LogMediaOptions['epoch']>,
  namespace: asGiven<LogMediaOptions['namespace']>,
  timestamp: asGiven<LogMediaOptions['timestamp']>,
  metadata: asGiven<LogMediaOptions['metadata']>,
};

/** Longest text. */
const MAX_TEXT_CHARS = 1 << 24;

/**
 * Logs media of a run, each as an artifact of the type of its kind, with its step and its metadata: the same name at several steps is a
 * list over steps. Each call resolves once the medium is durable, as {@link ArtifactStore.store} does, and rejects with `invalid_input`
 * before anything is written where it is given something else. What is in memory is read before a call returns. Read back with
 * `readMedia` and `loadMedia`.
 *
 * @example
 * ```js
 * import { TrainingSession } from 'quark-sdk';
 * import { MediaLogger } from 'quark-sdk/media';
 *
 * await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, async (session) => {
 *   const media = new MediaLogger(session);
 *   const data = new Uint8Array(28 * 28).fill(128);
 *   const { artifactKey } = await media.logImage('samples/first', { data, width: 28, height: 28 }, { step: 0 });
 *   console.log(artifactKey); // samples/first
 *   const examples = { labels: [0, 1, 1], predictions: [0, 1, 0], classes: ['cat', 'dog'] };
 *   await media.confusionMatrix('val/confusion', examples, { epoch: 0 });
 *   await media.logTable('val/errors', [{ id: 2, label: 'dog', score: 0.4 }], { epoch: 0 });
 * });
 * ```
 */
export class MediaLogger implements AsyncDisposable {
  readonly #artifacts: ArtifactStore;

  /**
   * @param session a session, or a context made by one
   * @throws {QuarkError} `invalid_input`; `invalid_run_state` when the run has ended
   */
  constructor(session: TrainingSession | RunContext) {
    this.#artifacts = new ArtifactStore(session);
  }

  /**
   * Logs how values are distributed: counts in bins of their magnitude, which do not depend on the values. So distributions of several
   * steps, layers and processes merge exactly (`mergeHistograms` of `quark-sdk/kernels`). NaN and infinities are counted.
   *
   * @param values a list of numbers, a Float32Array, Float64Array, Int32Array or Uint8Array of at most 2^28
   * @throws {QuarkError} `invalid_input`
   */
  async logDistribution(
    name: string,
    values: DistributionValues,
    options: LogDistributionOptions = {},
  ): Promise<ArtifactRecord> {
    const { binsPerOctave, ...rest } = readOptions('options', options, {
      ...RULES,
      binsPerOctave: positive(DEFAULT_BINS_PER_OCTAVE),
    });
    const { metadata, payload } = countDistribution(values, binsPerOctave);
    return this.#store('distribution', name, { payload, metadata }, rest);
  }

  /**
   * Logs an image: pixels, `ImageData` or a tensor become a PNG file; a PNG, JPEG or GIF file stays what it is. At most 16,384 on a side
   * and 16.7 million pixels; files at most 64 MiB.
   *
   * @throws {QuarkError} `invalid_input`
   */
  logImage(
    name: string,
    image: ImageInput,
    options: LogMediaOptions = {},
  ): Promise<ArtifactRecord> {
    return this.#artifacts.prepare(async () => {
      const rest = readOptions('options', options, RULES);
      const { bytes, metadata } = await encodeImage(image);
      return this.#store('image', name, { payload: bytes, metadata }, rest);
    });
  }

  /**
   * Logs sound as a WAV file of 16 bits.
   *
   * @param audio samples from -1 to 1: one array, or one a channel; at most 2^25 of all channels
   * @throws {QuarkError} `invalid_input`
   */
  async logAudio(
    name: string,
    audio: AudioInput,
    options: LogAudioOptions,
  ): Promise<ArtifactRecord> {
    const { sampleRate, ...rest } = readOptions('options', options, {
      ...RULES,
      sampleRate: asGiven,
    });
    const { bytes, metadata } = encodeWav(audio, sampleRate);
    return this.#store('audio', name, { payload: bytes, metadata }, rest);
  }

  /** Logs a text of at most 2^24 characters. @throws {QuarkError} `invalid_input` */
  async logText(name: string, text: string, options: LogTextOptions = {}): Promise<ArtifactRecord> {
    const { format, ...rest } = readOptions('options', options, {
      ...RULES,
      format: literal(TEXT_FORMATS, 'plain'),
    });
    if (typeof text !== 'string') throw invalidInput('text', text, 'text');
    if (text.length > MAX_TEXT_CHARS)
      throw invalidInput('text.length', text.length, `at most ${MAX_TEXT_CHARS} characters`);
    const metadata = { format, charCount: text.length };
    return this.#store('text', name, { payload: text, metadata }, rest);
  }

  /**
   * Logs a table: `{ columns, rows }`, or a list of objects. At most 1000 columns and a million cells.
   *
   * @throws {QuarkError} `invalid_input` naming the cell
   */
  async logTable(
    name: string,
    table: TableInput,
    options: LogMediaOptions = {},
  ): Promise<ArtifactRecord> {
    const rest = readOptions('options', options, RULES);
    return this.#store('table', name, checkTableInput(table), rest);
  }

  /**
   * Logs a confusion matrix of at most 1000 classes, from the classes of examples or from counts.
   *
   * @throws {QuarkError} `invalid_input`
   */
  async confusionMatrix(
    name: string,
    matrix: ConfusionInput,
    options: LogMediaOptions = {},
  ): Promise<ArtifactRecord> {
    const rest = readOptions('options', options, RULES);
    return this.#store('confusion_matrix', name, countConfusion(matrix), rest);
  }

  /**
   * Logs precision and recall over all thresholds; `area` of its metadata is the average precision.
   *
   * @throws {QuarkError} `invalid_input`
   */
  async prCurve(
    name: string,
    examples: CurveInput,
    options: LogCurveOptions = {},
  ): Promise<ArtifactRecord> {
    const { maxPoints, ...rest } = readOptions('options', options, CURVE_RULES);
    return this.#store('pr_curve', name, countPrCurve(examples, maxPoints), rest);
  }

  /**
   * Logs the true over the false positive rate for all thresholds; `area` of its metadata is the area below.
   *
   * @throws {QuarkError} `invalid_input`
   */
  async rocCurve(
    name: string,
    examples: CurveInput,
    options: LogCurveOptions = {},
  ): Promise<ArtifactRecord> {
    const { maxPoints, ...rest } = readOptions('options', options, CURVE_RULES);
    return this.#store('roc_curve', name, countRocCurve(examples, maxPoints), rest);
  }

  /** Logs vectors with their labels, as float32; at most 2^24 numbers. @throws {QuarkError} `invalid_input` */
  async embedding(
    name: string,
    embedding: EmbeddingInput,
    options: LogMediaOptions = {},
  ): Promise<ArtifactRecord> {
    const rest = readOptions('options', options, RULES);
    return this.#store('embedding', name, checkEmbedding(embedding), rest);
  }

  /**
   * Logs a model, so that `loadModel(run, name)` gives it back. One of TensorFlow.js is stored with its weights and the state of its
   * optimizer, as a ZIP archive of the two files that TensorFlow.js reads; of ONNX the file is stored.
   *
   * @throws {QuarkError} `invalid_input`
   * @example
   * ```js
   * import * as tf from '@tensorflow/tfjs';
   * import { startRun } from 'quark-sdk';
   * import { MediaLogger } from 'quark-sdk/media';
   *
   * const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [2] })] });
   * const session = await startRun({ project: 'digits', storageDir: 'quark-runs' });
   * const { artifactKey, step } = await new MediaLogger(session).logModel('model', model, { step: 100 });
   * console.log(artifactKey, step); // model 100
   * await session.endRun();
   * ```
   */
  logModel(
    name: string,
    model: ModelInput,
    options: LogMediaOptions = {},
  ): Promise<ArtifactRecord> {
    return this.#artifacts.prepare(async () => {
      const { metadata: given, ...position } = readOptions('options', options, RULES);
      const { metadata, payload } = await packModel(model);
      const user = userJson(given);
      return this.#artifacts.store(MODEL_TYPE, name, payload, {
        ...position,
        metadata: { ...metadata, ...(user === undefined ? {} : { user }) },
      });
    });
  }

  /**
   * Logs a file: by its path in Node, a `File`, a `Blob` or a file handle in pages. It may have any size.
   *
   * @throws {QuarkError} `invalid_input` when there is no such file
   */
  logFile(name: string, file: FileInput, options: LogMediaOptions = {}): Promise<ArtifactRecord> {
    return this.#artifacts.prepare(async () => {
      const rest = readOptions('options', options, RULES);
      return this.#storeFile(name, await findFile(file), rest);
    });
  }

  /**
   * Logs the files of a folder, each under `name` and its path: a path in Node, a directory handle or the files that a user picked in
   * pages. A link that leads outside of the folder, or to a folder, is not followed. What is left out, also beyond the bounds, is
   * returned.
   *
   * @throws {QuarkError} `invalid_input` when there is no such folder
   * @example
   * ```js
   * import { mkdir, writeFile } from 'node:fs/promises';
   * import { startRun } from 'quark-sdk';
   * import { MediaLogger } from 'quark-sdk/media';
   *
   * await mkdir('config');
   * await writeFile('config/train.yaml', 'lr: 0.1');
   * const session = await startRun({ project: 'digits', storageDir: 'quark-runs' });
   * const { records, skipped } = await new MediaLogger(session).logDirectory('config', './config', { maxBytes: 10_000_000 });
   * console.log(records.map(({ artifactKey }) => artifactKey), skipped); // [ 'config/train.yaml' ] []
   * await session.endRun();
   * ```
   */
  logDirectory(
    name: string,
    directory: DirectoryInput,
    options: LogDirectoryOptions = {},
  ): Promise<LoggedDirectory> {
    return this.#artifacts.prepare(async () => {
      const { exclude, maxBytes, maxFiles, ...rest } = readOptions('options', options, {
        ...RULES,
        ...DIRECTORY_RULES,
        exclude: asGiven<readonly string[] | undefined>,
      });
      const records: ArtifactRecord[] = [];
      const skipped: SkippedFile[] = [];
      const keyOf = keysOfPaths();
      let bytes = 0;
      for await (const found of findFiles(directory, checkExcluded(exclude))) {
        if ('reason' in found) skipped.push(found);
        else if (records.length >= maxFiles)
          skipped.push({ path: found.path, reason: `there are more than ${maxFiles} files` });
        else if (bytes + found.sizeBytes > maxBytes)
          skipped.push({ path: found.path, reason: `the files have more than ${maxBytes} bytes` });
        else {
          bytes += found.sizeBytes;
          records.push(await this.#storeFile(`${name}/${keyOf(found.path)}`, found, rest));
        }
        if (skipped.length >= MAX_SKIPPED) break;
      }
      return { records, skipped };
    });
  }

  /**
   * Logs the code that the program runs: commit, uncommitted changes, lock file and versions of packages in Node; in pages the scripts
   * with their hashes. Secrets of known forms, and those that are named, are cut. `readRunCode` reads it back, `compareCode` and
   * `quark compare --code` compare that of two runs.
   *
   * @throws {QuarkError} `invalid_input`
   */
  logCode(options: LogCodeOptions = {}): Promise<ArtifactRecord> {
    return this.#artifacts.prepare(async () => {
      const { maxDiffBytes, secrets, ...rest } = readOptions('options', options, {
        ...RULES,
        maxDiffBytes: positive(1 << 20),
        secrets: asGiven<readonly (string | RegExp)[] | undefined>,
      });
      const { lockText, state } = await readCode(maxDiffBytes, checkSecrets(secrets));
      const { metadata: given, ...position } = rest;
      const user = userJson(given);
      const metadata = { format_version: 1, ...(user === undefined ? {} : { user }) };
      if (lockText !== undefined && state.lockFile !== null)
        await this.#artifacts.store(FILE_TYPE, `code/${keyOfPath(state.lockFile.name)}`, lockText, {
          ...position,
          metadata: { format_version: 1, path: state.lockFile.name, modified_at: null },
        });
      return this.#artifacts.store(CODE_TYPE, CODE_TYPE, codeToJson(state), {
        ...position,
        payloadFormat: 'json',
        metadata,
      });
    });
  }

  #storeFile(
    name: string,
    file: FoundFile,
    { metadata: given, ...position }: StoreArtifactOptions,
  ): Promise<ArtifactRecord> {
    const user = userJson(given);
    return this.#artifacts.store(FILE_TYPE, name, file.stream(), {
      ...position,
      payloadFormat: 'bytes',
      metadata: { ...fileMetadata(file), ...(user === undefined ? {} : { user }) },
    });
  }

  /** Waits for what is being stored, then refuses more. The end of the run does the same. */
  close(): Promise<void> {
    return this.#artifacts.close();
  }

  /** Same as {@link close}. */
  [ASYNC_DISPOSE](): Promise<void> {
    return this.close();
  }

  #store<K extends MediaKind>(
    kind: K,
    name: string,
    {
      metadata,
      payload,
    }: { readonly payload: ArtifactPayload; readonly metadata: MediaMetadata[K] },
    { metadata: given, ...position }: StoreArtifactOptions,
  ): Promise<ArtifactRecord> {
    const user = userJson(given);
    return this.#artifacts.store(kind, name, payload, {
      ...position,
      metadata: mediaToJson(kind, metadata, user),
    });
  }
}

function checkExcluded(exclude: readonly string[] | undefined): readonly string[] {
  if (exclude === undefined) return DEFAULT_EXCLUDED;
  if (!Array.isArray(exclude) || exclude.some((name) => typeof name !== 'string'))
    throw invalidInput('options.exclude', exclude, 'a list of names');
  return exclude;
}

function checkSecrets(
  secrets: readonly (string | RegExp)[] | undefined,
): readonly (string | RegExp)[] {
  if (secrets !== undefined && !Array.isArray(secrets))
    throw invalidInput('options.secrets', typeof secrets, 'a list');
  return secrets ?? [];
}

/** What the program says of a medium, as JSON. */
function userJson(given: JsonObject | null | undefined): JsonObject | undefined {
  return given === null || given === undefined
    ? undefined
    : copyJsonObject('options.metadata', given);
}

const CURVE_RULES = {
  ...RULES,
  maxPoints: numberWhere(
    (value) => Number.isInteger(value) && value >= 2 && value <= 1_000_000,
    'an integer from 2 to 1000000',
    DEFAULT_CURVE_POINTS,
  ),
};
