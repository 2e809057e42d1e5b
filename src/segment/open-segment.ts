/** From a manifest and stored bytes to rows, with every check on the way. */
import { isQuarkError, messageOf } from '../base/errors.ts';
import type { TableDefinition } from '../schema/table.ts';
import {
  segmentName,
  type SegmentIdentity,
  type SegmentManifest,
  type SegmentRead,
} from '../store/store.ts';
import { concatBatches } from './batch-ops.ts';
import { segmentChecksum } from './checksum.ts';
import { decodeBatches } from './decode.ts';
import { SEQUENCE_COLUMN } from './encode.ts';
import { damaged } from './flatbuffer.ts';
import { unpackSegment } from './pack.ts';
import type { RowBatch } from './vectors.ts';

/** A segment that could not be read, and why. Readers report it and go on with the rest. */
export type DamageReport = {
  readonly identity: SegmentIdentity;
  readonly rowCount: number;
  readonly reason: string;
};

/** The rows of a segment with their sequence numbers. */
export type OpenedSegment = {
  readonly manifest: SegmentManifest;
  readonly batch: RowBatch;
  readonly sequences: Float64Array;
  /** Size of the segment in its plain form. */
  readonly arrowBytes: number;
};

/** What opening a segment came to. */
export type OpenResult =
  | { readonly kind: 'opened'; readonly segment: OpenedSegment }
  | { readonly kind: 'gone' }
  | { readonly kind: 'damaged'; readonly report: DamageReport };

/** Checks and decodes what a store returned for `manifest`. Never throws because of the bytes. */
export async function openSegment(
  table: TableDefinition,
  manifest: SegmentManifest,
  read: SegmentRead,
): Promise<OpenResult> {
  if (read.kind === 'gone') return read;
  try {
    if (read.kind === 'damaged') throw damaged(read.reason);
    return { kind: 'opened', segment: await decodeSegment(table, manifest, read.bytes) };
  } catch (error) {
    return { kind: 'damaged', report: damageOf(manifest, error) };
  }
}

/** The report of an error that the content of a segment caused. Throws any other error on. */
export function damageOf(manifest: SegmentManifest, error: unknown): DamageReport {
  const isDamage =
    isQuarkError(error, 'segment_damaged') ||
    // Instants, lengths and JSON that cannot be.
    error instanceof RangeError ||
    error instanceof SyntaxError;
  if (!isDamage) throw error;
  const { runId, table, writerId, batchNumber } = manifest;
  return {
    identity: { runId, table, writerId, batchNumber },
    rowCount: manifest.rowCount,
    reason: isQuarkError(error) ? String(error.details['reason']) : messageOf(error),
  };
}

/** A damage report as a sentence. */
export function describeDamage(report: DamageReport): string {
  return `Segment ${segmentName(report.identity)} (${report.rowCount} rows) cannot be read: ${report.reason}.`;
}

async function decodeSegment(
  table: TableDefinition,
  manifest: SegmentManifest,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<OpenedSegment> {
  if (bytes.byteLength !== manifest.sizeBytes)
    throw damaged(`it has ${bytes.byteLength} bytes instead of ${manifest.sizeBytes}`);
  if (segmentChecksum(manifest, bytes) !== manifest.checksum)
    throw damaged('its checksum does not match');
  const arrow = manifest.encoding === 'packed' ? await unpackSegment(bytes) : bytes;
  const batch = concatBatches(decodeBatches(table, arrow, manifest.schemaVersion));
  if (batch.rowCount !== manifest.rowCount)
    throw damaged(`it has ${batch.rowCount} rows instead of ${manifest.rowCount}`);
  const stored = batch.columns.get(SEQUENCE_COLUMN);
  const { firstSequence } = manifest;
  const sequences =
    stored?.kind === 'number'
      ? stored.values
      : Float64Array.from({ length: batch.rowCount }, (_, i) => firstSequence + i);
  return { manifest, batch, sequences, arrowBytes: arrow.byteLength };
}
