/** The kinds of media, and the metadata of each: what is known of one without loading its payload. */
import { isStoreError, SessionStoreError } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import {
  count,
  defineShape,
  literal,
  nullable,
  number,
  shapeFromJson,
  shapeToJson,
  texts,
  type Fields,
  type Shape,
  type ValuesOf,
} from '../../schema/shape.ts';

/** What a medium is. The type of its artifact has the same name. */
export const MEDIA_KINDS = [
  'distribution',
  'image',
  'audio',
  'text',
  'table',
  'confusion_matrix',
  'pr_curve',
  'roc_curve',
  'embedding',
] as const;
/** One of {@link MEDIA_KINDS}. */
export type MediaKind = (typeof MEDIA_KINDS)[number];

/** How images are encoded. */
export const IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/gif'] as const;
/** How a text is shown. */
export const TEXT_FORMATS = ['plain', 'markdown'] as const;

const curveFields = {
  positives: count({ doc: 'Examples of the class.' }),
  negatives: count({ doc: 'Examples of the other class.' }),
  /** Of a ROC curve the area, of a precision-recall curve the average precision; null with one class only. */
  area: nullable(number()),
  pointCount: count(),
};

const FIELDS = {
  distribution: {
    /** All values, NaN and infinities included. */
    elementCount: count(),
    /** Of the finite values; null where none is finite. */
    mean: nullable(number()),
    std: nullable(number()),
    min: nullable(number()),
    max: nullable(number()),
  },
  image: {
    mimeType: literal(IMAGE_TYPES),
    width: count({ min: 1 }),
    height: count({ min: 1 }),
  },
  audio: {
    /** Frames a second. */
    sampleRate: count({ min: 1 }),
    channelCount: count({ min: 1 }),
    frameCount: count(),
  },
  text: { format: literal(TEXT_FORMATS), charCount: count() },
  table: {
    columnCount: count(),
    rowCount: count(),
    /** Names of the first columns, 100 at most. */
    columns: texts(),
  },
  confusion_matrix: {
    classCount: count({ min: 1 }),
    exampleCount: count(),
    /** Share of the examples on the diagonal; null without examples. */
    accuracy: nullable(number()),
  },
  pr_curve: curveFields,
  roc_curve: curveFields,
  embedding: { vectorCount: count(), dimensions: count({ min: 1 }) },
} satisfies Record<MediaKind, Fields>;

/** The metadata of each kind. */
export type MediaMetadata = { readonly [K in MediaKind]: ValuesOf<(typeof FIELDS)[K]> };

const SHAPES: { readonly [K in MediaKind]: Shape<(typeof FIELDS)[K]> } = {
  distribution: defineShape('distribution', FIELDS.distribution),
  image: defineShape('image', FIELDS.image),
  audio: defineShape('audio', FIELDS.audio),
  text: defineShape('text', FIELDS.text),
  table: defineShape('table', FIELDS.table),
  confusion_matrix: defineShape('confusion_matrix', FIELDS.confusion_matrix),
  pr_curve: defineShape('pr_curve', FIELDS.pr_curve),
  roc_curve: defineShape('roc_curve', FIELDS.roc_curve),
  embedding: defineShape('embedding', FIELDS.embedding),
};

/** Version of the forms of payloads. */
const FORMAT = 1;

/** Metadata as they are stored; what the user adds lies beside them. */
export function mediaToJson<K extends MediaKind>(
  kind: K,
  metadata: MediaMetadata[K],
  user: JsonObject | undefined,
): JsonObject {
  const shape: Shape = SHAPES[kind];
  const stored = Object.fromEntries(Object.entries(shapeToJson(shape, metadata)));
  return { format_version: FORMAT, ...stored, ...(user === undefined ? {} : { user }) };
}

/** @throws {SessionStoreError} `corrupt` */
export function mediaFromJson<K extends MediaKind>(
  kind: K,
  json: JsonObject | null,
): MediaMetadata[K] {
  const version = json?.['format_version'];
  if (version !== FORMAT)
    throw new SessionStoreError(
      'corrupt',
      `The metadata of an artifact of type ${kind} are not those of a medium, or of another version (${JSON.stringify(version)}).`,
    );
  const shape: Shape = SHAPES[kind];
  return shapeFromJson(
    shape,
    json,
    (path, _value, rule) =>
      new SessionStoreError(
        'corrupt',
        `The metadata of a ${kind} are damaged: ${path} must be ${rule}.`,
      ),
  ) as MediaMetadata[K];
}

/** The metadata of an artifact that is a medium of this kind; undefined for one that a program stored under the same type. */
export function mediaMetadataOf<K extends MediaKind>(
  kind: K,
  {
    artifactType,
    metadata,
  }: { readonly artifactType: string; readonly metadata: JsonObject | null },
): MediaMetadata[K] | undefined {
  if (artifactType !== kind) return undefined;
  try {
    return mediaFromJson(kind, metadata);
  } catch (error) {
    if (isStoreError(error, 'corrupt')) return undefined;
    throw error;
  }
}
