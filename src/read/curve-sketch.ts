/**
 * Sketches: downsampled samples of a long run, stored as a note, so that drawing the run again does not read all of its samples.
 *
 * A sketch covers all rows before a sequence number. It contains a hash of the identities and checksums of the segments with these
 * rows, and is valid only while they are the same: a sketch of other segments is not used, and nothing has to invalidate it. Later rows
 * are read from their segments. A merge leaves the rows as they are, so it writes the hash of the new segments into the sketch.
 */
import { segmentName } from '../records/shapes/manifest.ts';
import { MAX_NOTE_CHARS } from '../store/limits.ts';
import { toHex } from '../base/hex.ts';
import { xxh32 } from '../base/xxh32.ts';
import { metricTable } from '../records/metric.ts';
import { concatBatches } from '../segment/batch-ops.ts';
import { decodeBatches } from '../segment/decode.ts';
import { encodeBatch, SEQUENCE_COLUMN } from '../segment/encode.ts';
import { packSegment } from '../codecs/packed/pack.ts';
import { unpackSegment } from '../codecs/packed/unpack.ts';
import { compareManifests } from '../store/segment-rules.ts';
import type { SegmentManifest, SegmentReference, StoreNotes } from '../store/store.ts';
import { sketchName } from '../store/curves.ts';
import type { MetricCounts, DownsampledRows } from './curve-sink.ts';

/** Version of the format; sketches of other versions are not used. */
const SKETCH_VERSION = 1;
/** Unpacked, a sketch is no larger: base64 makes a note larger. */
const MAX_SKETCH_BYTES = 64 << 20;
const CHARS_AT_ONCE = 8_192;

/** See the top of this file. */
export type CurveSketch = {
  /** Rows before this sequence number, and of these segments. */
  readonly endSequence: number;
  readonly segments: string;
  readonly rows: DownsampledRows;
};

/** Where sketches are stored. */
export type SketchNotes = Pick<StoreNotes, 'read' | 'write'>;

/** The sketch of these segments, which are all that there are. */
export async function sketchOf(
  rows: DownsampledRows,
  manifests: readonly SegmentManifest[],
): Promise<CurveSketch> {
  const endSequence = manifests.reduce((end, one) => Math.max(end, one.lastSequence + 1), 0);
  return { endSequence, segments: await nameOf(manifests), rows };
}

/** The segments after a sketch, of all segments of the run; undefined when the sketch is of other segments. */
export async function segmentsAfter(
  { endSequence, segments }: Pick<CurveSketch, 'endSequence' | 'segments'>,
  manifests: readonly SegmentManifest[],
): Promise<readonly SegmentManifest[] | undefined> {
  const before = manifests.filter(({ firstSequence }) => firstSequence < endSequence);
  if (before.some(({ lastSequence }) => lastSequence >= endSequence)) return undefined;
  if ((await nameOf(before)) !== segments) return undefined;
  return manifests.filter(({ firstSequence }) => firstSequence >= endSequence);
}

/** The sketch of a run, if there is one that this version understands. */
export async function findSketch(
  notes: SketchNotes,
  runId: string,
): Promise<CurveSketch | undefined> {
  const text = await notes.read(sketchName(runId));
  return text === undefined ? undefined : parseSketch(text);
}

/** Stores a sketch; false when it is too large for a note. */
export async function storeSketch(
  notes: SketchNotes,
  runId: string,
  sketch: CurveSketch,
): Promise<boolean> {
  const text = await writeSketch(sketch);
  return text.length <= MAX_NOTE_CHARS && notes.write(sketchName(runId), text);
}

/**
 * Names in the sketch of a run the segments that have taken the place of others, with the same rows. Nothing happens where the sketch
 * was not of the segments before, or is of some of the removed ones only, or was replaced meanwhile.
 *
 * @param before all segments before the exchange
 */
export async function carrySketch(
  notes: SketchNotes,
  runId: string,
  before: readonly SegmentManifest[],
  remove: readonly SegmentReference[],
  add: readonly SegmentManifest[],
): Promise<void> {
  const text = await notes.read(sketchName(runId));
  const head = text === undefined ? undefined : parseHead(text);
  if (text === undefined || head === undefined) return;
  const { endSequence } = head;
  if ((await segmentsAfter(head, before)) === undefined) return;
  const removed = new Map(remove.map((one) => [segmentName(one), one.checksum]));
  const found = before.filter((one) => removed.get(segmentName(one)) === one.checksum);
  if (found.length < removed.size) return;
  const after = [...before.filter((one) => !removed.has(segmentName(one))), ...add]
    .sort(compareManifests)
    .filter(({ firstSequence }) => firstSequence < endSequence);
  if (after.some(({ lastSequence }) => lastSequence >= endSequence)) return;
  const segments = await nameOf(after);
  if (segments === head.segments) return;
  await notes.write(
    sketchName(runId),
    sealed(JSON.stringify({ ...head, segments }), bodyOf(text)),
    text,
  );
}

/** A hash of what identifies segments and their bytes. */
async function nameOf(manifests: readonly SegmentManifest[]): Promise<string> {
  const text = manifests
    .map(
      (one) =>
        `${segmentName(one)} ${one.checksum} ${one.firstSequence} ${one.lastSequence} ${one.rowCount} ${one.schemaVersion}\n`,
    )
    .join('');
  const bytes = new TextEncoder().encode(text);
  return toHex(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)));
}

type SketchHead = Pick<CurveSketch, 'endSequence' | 'segments'> &
  Pick<DownsampledRows, 'stepExponent' | 'timeExponent'> & {
    readonly version: number;
    readonly metrics: readonly MetricCounts[];
  };

/** A line with the checksum of all that follows, a line of JSON, and the samples as a packed segment in base64. */
async function writeSketch({ endSequence, segments, rows }: CurveSketch): Promise<string> {
  const { metrics, stepExponent, timeExponent, batch, sequences } = rows;
  const head: SketchHead = {
    version: SKETCH_VERSION,
    endSequence,
    segments,
    stepExponent,
    timeExponent,
    metrics,
  };
  const columns = new Map([
    ...batch.columns,
    [SEQUENCE_COLUMN, { kind: 'number', values: sequences } as const],
  ]);
  const arrow = encodeBatch(metricTable, { rowCount: batch.rowCount, columns });
  return sealed(JSON.stringify(head), toBase64(await packSegment(arrow)));
}

async function parseSketch(text: string): Promise<CurveSketch | undefined> {
  const head = parseHead(text);
  if (head === undefined) return undefined;
  try {
    const arrow = await unpackSegment(fromBase64(bodyOf(text)), MAX_SKETCH_BYTES);
    const batch = concatBatches(decodeBatches(metricTable, arrow));
    const sequences = batch.columns.get(SEQUENCE_COLUMN);
    if (sequences?.kind !== 'number') return undefined;
    const { endSequence, segments, metrics, stepExponent, timeExponent } = head;
    const rows = { metrics, stepExponent, timeExponent, batch, sequences: sequences.values };
    return { endSequence, segments, rows };
  } catch {
    // A sketch that cannot be read is made again.
    return undefined;
  }
}

/** Whether the text of a sketch is as it was written, by this version or another one. */
export function isWholeSketch(text: string): boolean {
  const start = text.indexOf('\n') + 1;
  return start > 0 && text.slice(0, start - 1) === sealOf(text.slice(start));
}

function parseHead(text: string): SketchHead | undefined {
  const start = text.indexOf('\n') + 1;
  const end = text.indexOf('\n', start);
  if (end < 0 || !isWholeSketch(text)) return undefined;
  // What bears the checksum was written here, by this version or another one.
  const head = JSON.parse(text.slice(start, end)) as SketchHead;
  return head.version === SKETCH_VERSION ? head : undefined;
}

function bodyOf(text: string): string {
  return text.slice(text.lastIndexOf('\n') + 1);
}

function sealed(head: string, body: string): string {
  const rest = `${head}\n${body}`;
  return `${sealOf(rest)}\n${rest}`;
}

function sealOf(text: string): string {
  return `QSK ${xxh32(new TextEncoder().encode(text)).toString(16)}`;
}

function toBase64(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += CHARS_AT_ONCE)
    text += String.fromCharCode(...bytes.subarray(at, at + CHARS_AT_ONCE));
  return btoa(text);
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const decoded = atob(text);
  const bytes = new Uint8Array(decoded.length);
  for (let at = 0; at < bytes.length; at++) bytes[at] = decoded.charCodeAt(at);
  return bytes;
}
