/** Embeddings: vectors with labels. The numbers are float32 in base64, a third of what they take as JSON. */
import { invalidInput } from '../../base/errors.ts';
import type { JsonValue } from '../../base/json.ts';
import type { MediaMetadata } from './media-shapes.ts';
import { corrupt, fieldIn, integerIn, textsIn } from './reading.ts';

/** Most numbers of all vectors: 64 MiB. */
const MAX_NUMBERS = 1 << 24;
const MAX_LABEL_CHARS = 4096;

/** Vectors of one length, row-major in one array, or a list of them; and a label of each. */
export type EmbeddingInput =
  | {
      readonly vectors: readonly ArrayLike<number>[];
      readonly labels?: readonly string[];
    }
  | {
      /** `[count, dimensions]`, row-major. */
      readonly vectors: Float32Array;
      /** Numbers of a vector. */
      readonly dimensions: number;
      readonly labels?: readonly string[];
    };

/** An embedding that was read back. */
export type Embedding = {
  /** `[count, dimensions]`, row-major. */
  readonly vectors: Float32Array<ArrayBuffer>;
  readonly dimensions: number;
  /** Of each vector; null where none were given. */
  readonly labels: readonly string[] | null;
};

/** @throws {QuarkError} `invalid_input` */
export function checkEmbedding(input: unknown): {
  readonly payload: JsonValue;
  readonly metadata: MediaMetadata['embedding'];
} {
  if (typeof input !== 'object' || input === null)
    throw invalidInput('embedding', input, '{ vectors, labels }');
  const given: unknown = Reflect.get(input, 'vectors');
  const { dimensions, vectors } =
    given instanceof Float32Array
      ? flatVectors(given, Reflect.get(input, 'dimensions'))
      : listedVectors(given);
  for (let i = 0; i < vectors.length; i++)
    if (!Number.isFinite(vectors[i]))
      throw invalidInput(
        `embedding.vectors[${Math.floor(i / dimensions)}][${i % dimensions}]`,
        vectors[i],
        'a finite number',
      );
  const vectorCount = vectors.length / dimensions;
  const labels = checkLabels(Reflect.get(input, 'labels'), vectorCount);
  return {
    payload: { dimensions, vectors: toBase64(vectors), labels },
    metadata: { vectorCount, dimensions },
  };
}

function flatVectors(
  vectors: Float32Array,
  dimensions: unknown,
): { vectors: Float32Array; dimensions: number } {
  if (typeof dimensions !== 'number' || !Number.isInteger(dimensions) || dimensions < 1)
    throw invalidInput('embedding.dimensions', dimensions, 'an integer of at least 1');
  if (vectors.length % dimensions !== 0 || vectors.length > MAX_NUMBERS)
    throw invalidInput(
      'embedding.vectors.length',
      vectors.length,
      `a multiple of dimensions (${dimensions}), at most ${MAX_NUMBERS}`,
    );
  return { vectors, dimensions };
}

function listedVectors(list: unknown): { vectors: Float32Array; dimensions: number } {
  if (!Array.isArray(list))
    throw invalidInput('embedding.vectors', list, 'a list of vectors or a Float32Array');
  const first: unknown = list[0];
  const dimensions = lengthOf(first) ?? 1;
  if (dimensions < 1 || dimensions * list.length > MAX_NUMBERS)
    throw invalidInput(
      'embedding.vectors',
      `${list.length} x ${dimensions}`,
      `vectors of 1 number or more, ${MAX_NUMBERS} numbers at most`,
    );
  const vectors = new Float32Array(list.length * dimensions);
  for (const [i, vector] of list.entries()) {
    if (lengthOf(vector) !== dimensions)
      throw invalidInput(
        `embedding.vectors[${i}]`,
        vector,
        `a vector of ${dimensions} numbers, as the first`,
      );
    for (let j = 0; j < dimensions; j++) {
      const value: unknown = Reflect.get(Object(vector), j);
      if (typeof value !== 'number')
        throw invalidInput(`embedding.vectors[${i}][${j}]`, value, 'a number');
      vectors[i * dimensions + j] = value;
    }
  }
  return { vectors, dimensions };
}

function lengthOf(vector: unknown): number | undefined {
  if (typeof vector !== 'object' || vector === null || !('length' in vector)) return undefined;
  return typeof vector.length === 'number' ? vector.length : undefined;
}

function checkLabels(labels: unknown, count: number): readonly string[] | null {
  if (labels === undefined) return null;
  if (!Array.isArray(labels) || labels.length !== count)
    throw invalidInput('embedding.labels', labels, `a list of ${count} texts, one a vector`);
  return labels.map((label: unknown, i) => {
    if (typeof label === 'string' && label.length <= MAX_LABEL_CHARS) return label;
    throw invalidInput(
      `embedding.labels[${i}]`,
      label,
      `a text of at most ${MAX_LABEL_CHARS} characters`,
    );
  });
}

/** Characters that `String.fromCharCode` takes at once. */
const STEP = 0x8000;

function toBase64(vectors: Float32Array): string {
  const bytes = new Uint8Array(vectors.buffer, vectors.byteOffset, vectors.byteLength);
  let binary = '';
  for (let at = 0; at < bytes.length; at += STEP)
    binary += String.fromCharCode(...bytes.subarray(at, at + STEP));
  return btoa(binary);
}

/** @throws {SessionStoreError} `corrupt` */
export function embeddingFromJson(payload: unknown): Embedding {
  const dimensions = integerIn(payload, 'dimensions', MAX_NUMBERS);
  const text = fieldIn(payload, 'vectors');
  if (typeof text !== 'string' || dimensions < 1) throw corrupt('vectors are missing');
  let binary: string;
  try {
    binary = atob(text);
  } catch {
    throw corrupt('vectors are no base64');
  }
  if (binary.length % (4 * dimensions) !== 0) throw corrupt('a vector is cut off');
  const bytes = Uint8Array.from({ length: binary.length }, (_, i) => binary.charCodeAt(i));
  const labels = fieldIn(payload, 'labels') === null ? null : textsIn(payload, 'labels');
  if (labels !== null && labels.length * 4 * dimensions !== binary.length)
    throw corrupt('labels are missing');
  return { vectors: new Float32Array(bytes.buffer), dimensions, labels };
}
