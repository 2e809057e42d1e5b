/** Media, read back: of runs that have ended as of those that go on. */
import { invalidInput, isStoreError } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import type { Histogram } from '../../kernel/kernel.ts';
import { readArtifacts, type ArtifactFilter } from '../../read/artifacts.ts';
import type { ArtifactRecord } from '../../records/artifact.ts';
import { loadArtifact, type ArtifactSource } from '../artifacts/load-artifact.ts';
import type { LoadedPayload } from '../artifacts/payload.ts';
import { histogramFromJson } from './distribution.ts';
import { embeddingFromJson, type Embedding } from './embedding.ts';
import {
  confusionFromJson,
  prFromJson,
  rocFromJson,
  type ConfusionMatrix,
  type PrCurve,
  type RocCurve,
} from './evaluation.ts';
import { MEDIA_KINDS, mediaFromJson, type MediaKind, type MediaMetadata } from './media-shapes.ts';
import { corrupt } from './reading.ts';
import { tableFromJson, type TableContent } from './table.ts';
import { decodeWav, type AudioSamples } from './wav.ts';

/** What a medium of each kind is once it is loaded. */
export type MediaContent = {
  readonly distribution: Histogram;
  /** The bytes of the file; `metadata.mimeType` says of which type. */
  readonly image: Uint8Array<ArrayBuffer>;
  readonly audio: AudioSamples & { /** The WAV file. */ readonly bytes: Uint8Array<ArrayBuffer> };
  readonly text: string;
  readonly table: TableContent;
  readonly confusion_matrix: ConfusionMatrix;
  readonly pr_curve: PrCurve;
  readonly roc_curve: RocCurve;
  readonly embedding: Embedding;
};

/** A medium of a kind, without its content. */
export type MediaItem<K extends MediaKind = MediaKind> = {
  readonly [Kind in K]: {
    readonly kind: Kind;
    /** Name of the medium, with its namespace. */
    readonly key: string;
    readonly step: number | null;
    readonly epoch: number | null;
    /** UTC epoch milliseconds. */
    readonly timeMs: number;
    readonly sizeBytes: number;
    /** What is known of it without its content. */
    readonly metadata: MediaMetadata[Kind];
    /** What the program said of it. */
    readonly user: JsonObject | null;
    /** The artifact that it is. */
    readonly record: ArtifactRecord;
  };
}[K];

/** Which media to read. All conditions are joined by "and". */
export type MediaFilter<K extends MediaKind = MediaKind> = Omit<
  ArtifactFilter,
  'artifactType' | 'artifactTypes' | 'payloadFormat'
> & {
  /** Any of these kinds. Default: all. */
  readonly kinds?: readonly K[] | undefined;
};

/** Media of a run, and what could not be read. */
export type MediaRead<K extends MediaKind = MediaKind> = {
  /** By key, then by step, then in the order they were logged. */
  readonly items: readonly MediaItem<K>[];
  /** As sentences. */
  readonly problems: readonly string[];
};

/**
 * Media of a run, as lists over steps.
 *
 * @param run what `openRun(store, runId)` returns, or a store and the id of a run
 * @throws {QuarkError} `invalid_input` naming the filter
 * @throws {SessionStoreError} when the store cannot be read
 * @example
 * ```js
 * import { createMemoryStore, openRun, TrainingSession } from 'quark-sdk';
 * import { MediaLogger, readMedia } from 'quark-sdk/media';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, async (session) => {
 *   const image = { data: new Uint8Array(28 * 28), width: 28, height: 28 };
 *   for (const step of [0, 100]) await new MediaLogger(session).logImage('samples/first', image, { step });
 *   return session.runId;
 * });
 * const { items } = await readMedia(await openRun(store, runId), { kinds: ['image'], artifactKey: 'samples/first' });
 * console.log(items.map(({ step, metadata }) => [step, metadata.width])); // [ [ 0, 28 ], [ 100, 28 ] ]
 * ```
 */
export async function readMedia<K extends MediaKind = MediaKind>(
  run: ArtifactSource,
  filter: MediaFilter<K> = {},
): Promise<MediaRead<K>> {
  const { kinds, ...rest } = filter;
  if (kinds !== undefined && (!Array.isArray(kinds) || kinds.some((kind) => !isKind(kind))))
    throw invalidInput('filter.kinds', kinds, `a list of ${MEDIA_KINDS.join(', ')}`);
  const { damage, records } = await readArtifacts(run, {
    ...rest,
    artifactTypes: kinds ?? MEDIA_KINDS,
  });
  const problems = damage.map(
    ({ identity }) => `Artifacts of segment ${identity.batchNumber} are damaged.`,
  );
  const items: MediaItem[] = [];
  for (const record of records) {
    const item = describe(record, problems);
    if (item !== undefined) items.push(item);
  }
  // Only artifacts of these kinds were asked for.
  return { items: items.toSorted(byKeyAndStep) as MediaItem<K>[], problems };
}

function byKeyAndStep(a: MediaItem, b: MediaItem): number {
  if (a.key !== b.key) return a.key < b.key ? -1 : 1;
  return (a.step ?? -1) - (b.step ?? -1) || (a.epoch ?? -1) - (b.epoch ?? -1);
}

function isKind(kind: unknown): kind is MediaKind {
  return MEDIA_KINDS.some((one) => one === kind);
}

/** A medium of an artifact; undefined, and a problem, where its metadata are not ours: programs store artifacts of any type. */
function describe(record: ArtifactRecord, problems: string[]): MediaItem | undefined {
  const {
    artifactKey: key,
    artifactType: kind,
    epoch,
    metadata,
    sizeBytes,
    step,
    timestamp,
  } = record;
  if (!isKind(kind)) return undefined;
  try {
    const user = metadata?.['user'];
    const common = { key, step, epoch, timeMs: Date.parse(timestamp), sizeBytes, record };
    const about = { ...common, user: isObject(user) ? user : null };
    return { ...about, kind, metadata: mediaFromJson(kind, metadata) } as MediaItem;
  } catch (error) {
    if (!isStoreError(error, 'corrupt')) throw error;
    problems.push(`${key}: ${error.message}`);
    return undefined;
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * The content of a medium that {@link readMedia} found, with its hash checked: the bytes of an image, samples of sound, a text, a table, ...
 *
 * @throws {SessionStoreError} `missing` or `corrupt`
 * @example
 * ```js
 * import { createMemoryStore, openRun, TrainingSession } from 'quark-sdk';
 * import { loadMedia, MediaLogger, readMedia } from 'quark-sdk/media';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, async (session) => {
 *   await new MediaLogger(session).logText('samples/answer', 'Forty-two.', { step: 100 });
 *   return session.runId;
 * });
 * const run = await openRun(store, runId);
 * const { items } = await readMedia(run, { kinds: ['text'] });
 * console.log(await loadMedia(run, items[0])); // Forty-two.
 * ```
 */
export async function loadMedia<K extends MediaKind>(
  run: ArtifactSource,
  item: { readonly kind: K; readonly record: ArtifactRecord },
): Promise<MediaContent[K]> {
  const read: (payload: LoadedPayload) => MediaContent[K] = READERS[item.kind];
  return read(await loadArtifact(run, item.record));
}

const READERS: { readonly [K in MediaKind]: (payload: LoadedPayload) => MediaContent[K] } = {
  distribution: histogramFromJson,
  image: bytesOf,
  audio: (payload) => {
    const bytes = bytesOf(payload);
    return { ...decodeWav(bytes), bytes };
  },
  text: (payload) => {
    if (typeof payload !== 'string') throw corrupt('it is no text');
    return payload;
  },
  table: tableFromJson,
  confusion_matrix: confusionFromJson,
  pr_curve: prFromJson,
  roc_curve: rocFromJson,
  embedding: embeddingFromJson,
};

function bytesOf(payload: LoadedPayload): Uint8Array<ArrayBuffer> {
  if (!(payload instanceof Uint8Array)) throw corrupt('it is no file');
  return payload;
}
