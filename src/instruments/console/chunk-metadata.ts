/** What is known of a chunk of lines without opening it: the metadata of its artifact. */
import { SessionStoreError } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import {
  count,
  defineShape,
  instantMs,
  shapeFromJson,
  shapeToJson,
  text,
  type Shape,
  type ValuesOf,
} from '../../schema/shape.ts';

/** Type of the artifacts that have the lines of a console. */
export const CHUNK_TYPE = 'console';
/** Their key. */
export const CHUNK_KEY = 'console';

const fields = {
  /** Version of the form of the payload. */
  format: count({ min: 1 }),
  /** The capture that wrote the chunk: a run may have several, one after the other or at once. */
  captureId: text(),
  /** Number of the first line, counted from 0 for each capture, dropped lines included. */
  firstLine: count(),
  lineCount: count(),
  /** Lines between the chunk before and this one that were dropped. */
  droppedLines: count(),
  /** Lines that were longer than a line may be. */
  cutLines: count(),
  firstTimeMs: instantMs(),
  lastTimeMs: instantMs(),
};

const chunkShape: Shape<typeof fields> = defineShape('chunk', fields);

/** What is known of a chunk. */
export type ChunkMetadata = ValuesOf<typeof fields>;

/** The metadata of an artifact. */
export function chunkToMetadata(chunk: ChunkMetadata): JsonObject {
  return Object.fromEntries(Object.entries(shapeToJson(chunkShape, chunk)));
}

/** @throws {SessionStoreError} `corrupt` */
export function chunkFromMetadata(metadata: JsonObject | null): ChunkMetadata {
  const chunk = shapeFromJson(
    chunkShape,
    metadata,
    (path, _value, rule) =>
      new SessionStoreError(
        'corrupt',
        `The metadata of a chunk of the console is damaged: ${path} must be ${rule}.`,
      ),
  );
  if (chunk.format !== 1)
    throw new SessionStoreError(
      'corrupt',
      `A chunk of the console has the form ${chunk.format}, which this version cannot read.`,
    );
  return chunk;
}
