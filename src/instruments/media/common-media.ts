/** What other trackers know of the artifacts of a run: texts, histograms, images and sounds. */
import { isStoreError } from '../../base/errors.ts';
import { contextKey } from '../../base/series-key.ts';
import type { ArtifactRecord } from '../../records/artifact.ts';
import { bucketRows } from './distribution.ts';
import { mediaMetadataOf, type MediaMetadata } from './media-shapes.ts';

/** An artifact as other trackers have it. */
export type CommonMedium =
  | { readonly kind: 'text' | 'audio'; readonly bytes: Uint8Array }
  /** Left edge, right edge and count of each bucket, one after the other. */
  | { readonly kind: 'histogram'; readonly rows: readonly number[] }
  | ({ readonly kind: 'image'; readonly bytes: Uint8Array } & MediaMetadata['image']);

/** Types of artifacts that {@link commonMediumOf} knows. */
export const COMMON_MEDIA_TYPES: readonly string[] = [
  'histogram',
  'distribution',
  'text',
  'image',
  'audio',
];

/** An artifact with its payload; undefined for one that is none of these, though its type says so: programs store any type. */
export function commonMediumOf(
  record: ArtifactRecord,
  bytes: Uint8Array,
): CommonMedium | undefined {
  switch (record.artifactType) {
    case 'text':
      return record.payloadFormat === 'text' ? { kind: 'text', bytes } : undefined;
    case 'audio':
      return mediaMetadataOf('audio', record) && { kind: 'audio', bytes };
    case 'image': {
      const found = mediaMetadataOf('image', record);
      return found && { kind: 'image', bytes, ...found };
    }
    default: {
      const rows = rowsOf(record, bytes);
      return rows && { kind: 'histogram', rows };
    }
  }
}

/** The key of an artifact, with its context where its metadata have one: as the key of a series. */
export function keyInContext({ artifactKey, metadata }: ArtifactRecord): string {
  const context = metadata?.['context'];
  if (typeof context !== 'object' || context === null || Array.isArray(context)) return artifactKey;
  const entries = Object.entries(context).flatMap(([name, value]) =>
    typeof value === 'object' ? [] : [[name, value] as const],
  );
  try {
    return contextKey(artifactKey, Object.fromEntries(entries));
  } catch {
    // Metadata of somebody else, in which the word means another thing.
    return artifactKey;
  }
}

function rowsOf(record: ArtifactRecord, bytes: Uint8Array): readonly number[] | undefined {
  const json = record.payloadFormat === 'json' ? parsed(bytes) : undefined;
  if (typeof json !== 'object' || json === null) return undefined;
  if (record.artifactType === 'distribution') return distributionRows(record, json);
  const bins: unknown = Reflect.get(json, 'bins');
  const counts: unknown = Reflect.get(json, 'counts');
  if (!Array.isArray(bins) || !Array.isArray(counts) || bins.length !== counts.length + 1)
    return undefined;
  if (![...bins, ...counts].every((value) => typeof value === 'number')) return undefined;
  return counts.flatMap((count: number, i) => [Number(bins[i]), Number(bins[i + 1]), count]);
}

function distributionRows(record: ArtifactRecord, json: object): readonly number[] | undefined {
  if (mediaMetadataOf('distribution', record) === undefined) return undefined;
  try {
    return bucketRows(json);
  } catch (error) {
    if (isStoreError(error, 'corrupt')) return undefined;
    throw error;
  }
}

/** JSON; undefined for what is none. */
function parsed(payload: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(payload));
  } catch {
    return undefined;
  }
}
