/** From a manifest and stored bytes to rows, with every check on the way. */
import { segmentName } from '../records/shapes/manifest.ts';
import { isQuarkError, messageOf } from '../base/errors.ts';
import type { TableDefinition } from '../schema/table.ts';
import type { SegmentIdentity, SegmentManifest, SegmentRead } from '../store/store.ts';
import { concatBatches } from './batch-ops.ts';
import { checksumSeed, segmentChecksum } from './checksum.ts';
import { decodeBatches, type DecodeOptions } from './decode.ts';
import { SEQUENCE_COLUMN } from './encode.ts';
import { damaged } from '../codecs/arrow/flatbuffer.ts';
import { inflateSegment, joinPieces, unpackedBytes } from '../codecs/packed/unpack.ts';
import type { UnpackModule } from '../codecs/packed/unpack-module.ts';
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

/** A segment of which all there is to wait for is there. */
export type ReadySegment = {
  readonly manifest: SegmentManifest;
  /**
   * The segment in its plain form: views of what the store returned, or unpacked. With `room` into memory that it gives for a number of
   * bytes, whatever that holds, or into memory that is valid until the next segment is unpacked on this thread; without it into new memory.
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

/** Larger segments are not unpacked at once, on the thread that reads, but inflated by the engine. */
const MAX_AT_ONCE_BYTES = 32 << 20;

/**
 * Checks what a store returned for `manifest`, and inflates it where it is packed. Never throws because of the bytes.
 *
 * @param unpacker does both when the segment is asked for, in a fraction of the time
 */
export async function readySegment(
  manifest: SegmentManifest,
  read: SegmentRead,
  unpacker?: UnpackModule,
): Promise<ReadyResult> {
  if (read.kind === 'gone') return read;
  try {
    if (read.kind === 'damaged') throw damaged(read.reason);
    const { bytes } = read;
    if (bytes.byteLength !== manifest.sizeBytes)
      throw damaged(`it has ${bytes.byteLength} bytes instead of ${manifest.sizeBytes}`);
    const isPacked = manifest.encoding === 'packed';
    if (isPacked && unpacker !== undefined && fitsAtOnce(bytes))
      return { kind: 'ready', segment: unpackedLater(manifest, bytes, unpacker) };
    if (segmentChecksum(manifest, bytes) !== manifest.checksum)
      throw damaged('its checksum does not match');
    if (!isPacked) return { kind: 'ready', segment: { manifest, toArrow: () => bytes } };
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

function fitsAtOnce(bytes: Uint8Array): boolean {
  return bytes.byteLength <= MAX_AT_ONCE_BYTES && unpackedBytes(bytes) <= MAX_AT_ONCE_BYTES;
}

function unpackedLater(
  manifest: SegmentManifest,
  bytes: Uint8Array,
  unpacker: UnpackModule,
): ReadySegment {
  return {
    manifest,
    toArrow: (room) => {
      const { checksum } = manifest;
      const arrow = unpacker.unpack(bytes, { seed: checksumSeed(manifest), checksum });
      return room === undefined ? arrow.slice() : arrow;
    },
  };
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

/**
 * A damage report as a sentence, for people: which segment of which table cannot be read, how many rows it has, and why.
 *
 * @example
 * ```js
 * import { createMemoryStore, describeDamage, MetricsLogger, openRun, TrainingSession } from 'quark-sdk';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, (session) => {
 *   new MetricsLogger(session).log('train/loss', 0.5, { step: 0 });
 *   return session.runId;
 * });
 * const { damage } = await (await openRun(store, runId)).readMetricColumns();
 * for (const report of damage) console.error(describeDamage(report)); // nothing, as all could be read
 * ```
 */
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
