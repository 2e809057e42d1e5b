/** From a manifest and stored bytes to rows, with every check on the way. */
import { segmentName } from '../records/shapes/manifest.ts';
import { isQuarkError, messageOf } from '../base/errors.ts';
import type { TableDefinition } from '../schema/table.ts';
import type { SegmentIdentity, SegmentManifest, SegmentRead } from '../store/store.ts';
import { concatBatches } from './batch-ops.ts';
import { segmentChecksum } from './checksum.ts';
import { decodeBatches, type DecodeOptions } from './decode.ts';
import { SEQUENCE_COLUMN } from './encode.ts';
import { damaged } from '../codecs/arrow/flatbuffer.ts';
import { inflateSegment, joinPieces } from '../codecs/packed/unpack.ts';
import type { RowBatch } from '../codecs/arrow/vectors.ts';

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

/** A segment whose bytes are right and inflated: what is left to do takes no waiting. */
export type ReadySegment = {
  readonly manifest: SegmentManifest;
  /**
   * The segment in its plain form: views of what the store returned, or unpacked into memory that `room` gives for a number of bytes,
   * whatever it holds. Without it into new memory.
   *
   * @throws {QuarkError} `segment_damaged`
   */
  readonly toArrow: (room?: (byteLength: number) => Uint8Array) => Uint8Array;
};

/** What getting a segment ready came to. */
export type ReadyResult =
  | { readonly kind: 'ready'; readonly segment: ReadySegment }
  | Exclude<OpenResult, { readonly kind: 'opened' }>;

/** Checks and decodes what a store returned for `manifest`. Never throws because of the bytes. */
export async function openSegment(
  table: TableDefinition,
  manifest: SegmentManifest,
  read: SegmentRead,
): Promise<OpenResult> {
  const result = await readySegment(manifest, read);
  if (result.kind !== 'ready') return result;
  try {
    return { kind: 'opened', segment: decodeSegment(table, result.segment) };
  } catch (error) {
    return { kind: 'damaged', report: damageOf(manifest, error) };
  }
}

/** Checks what a store returned for `manifest`, and inflates it where it is packed. Never throws because of the bytes. */
export async function readySegment(
  manifest: SegmentManifest,
  read: SegmentRead,
): Promise<ReadyResult> {
  if (read.kind === 'gone') return read;
  try {
    if (read.kind === 'damaged') throw damaged(read.reason);
    const { bytes } = read;
    if (bytes.byteLength !== manifest.sizeBytes)
      throw damaged(`it has ${bytes.byteLength} bytes instead of ${manifest.sizeBytes}`);
    if (segmentChecksum(manifest, bytes) !== manifest.checksum)
      throw damaged('its checksum does not match');
    if (manifest.encoding !== 'packed')
      return { kind: 'ready', segment: { manifest, toArrow: () => bytes } };
    const inflated = await inflateSegment(bytes);
    const toArrow = (room?: (byteLength: number) => Uint8Array): Uint8Array => {
      const { length } = inflated.header;
      const arrow = room?.(length) ?? new Uint8Array(length);
      joinPieces(inflated, arrow);
      return arrow;
    };
    return { kind: 'ready', segment: { manifest, toArrow } };
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

/** The rows of a segment. @throws {QuarkError} `segment_damaged` */
export function decodeSegment(
  table: TableDefinition,
  { manifest, toArrow }: ReadySegment,
  options: DecodeOptions = {},
): OpenedSegment {
  const arrow = toArrow(options.room);
  const batch = concatBatches(
    decodeBatches(table, arrow, manifest.schemaVersion, undefined, options),
  );
  checkRowCount(manifest, batch.rowCount);
  const stored = batch.columns.get(SEQUENCE_COLUMN);
  const { firstSequence } = manifest;
  const sequences =
    stored?.kind === 'number' ? stored.values : countFrom(firstSequence, batch.rowCount);
  return { manifest, batch, sequences, arrowBytes: arrow.byteLength };
}

/** @throws {QuarkError} `segment_damaged` */
export function checkRowCount(manifest: SegmentManifest, rowCount: number): void {
  if (rowCount !== manifest.rowCount)
    throw damaged(`it has ${rowCount} rows instead of ${manifest.rowCount}`);
}

function countFrom(first: number, count: number): Float64Array {
  const numbers = new Float64Array(count);
  for (let i = 0; i < count; i++) numbers[i] = first + i;
  return numbers;
}
