/** What every store does alike with segments: the checks before anything is written, the filter, the order. */
import { checkCount, checkPositive } from '../base/assert.ts';
import { invalidInput, SessionStoreError } from '../base/errors.ts';
import { batchesOf, rangesHold } from './batch-ranges.ts';
import {
  MAX_SEGMENT_BYTES,
  segmentName,
  type BatchRange,
  type MergedSegment,
  type NewSegment,
  type SegmentEncoding,
  type SegmentFilter,
  type SegmentIdentity,
  type SegmentManifest,
  type SegmentReference,
} from './store.ts';

const ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;
const TABLE = /^[a-z][a-z0-9_]{0,63}$/;
const ENCODINGS: ReadonlySet<SegmentEncoding> = new Set(['arrow', 'packed']);
const MAX_CHECKSUM = 2 ** 32 - 1;

/** An identifier of a writer, a lease holder or a project. */
export function checkId(field: string, value: unknown): string {
  if (typeof value !== 'string' || !ID.test(value)) {
    throw invalidInput(
      field,
      value,
      '1 to 128 letters, digits, ".", "_", ":" or "-", the first a letter or digit',
    );
  }
  return value;
}

/** The name of a table. */
export function checkTable(value: unknown): string {
  if (typeof value !== 'string' || !TABLE.test(value)) {
    throw invalidInput('table', value, 'a lowercase name of letters, digits and "_"');
  }
  return value;
}

/** Checks a reference to a segment and returns it. */
export function checkReference<T extends SegmentReference>(segment: T): T {
  checkId('runId', segment.runId);
  checkTable(segment.table);
  checkId('writerId', segment.writerId);
  checkCount('batchNumber', segment.batchNumber);
  return segment;
}

/** Checks segments before they are appended. */
export function checkNewSegments(segments: readonly NewSegment[]): void {
  for (const { manifest, bytes } of segments) checkSegment(manifest, bytes);
}

/** Checks segments before they replace a table. */
export function checkTableSegments(
  runId: string,
  table: string,
  segments: readonly NewSegment[],
): void {
  checkId('runId', runId);
  checkTable(table);
  for (const { manifest, bytes } of segments) {
    checkSegment(manifest, bytes);
    checkPlace(runId, table, manifest);
  }
}

/** Checks what a merge takes away and what it puts there. */
export function checkReplacement(
  runId: string,
  table: string,
  remove: readonly SegmentReference[],
  add: readonly MergedSegment[],
): void {
  checkId('runId', runId);
  checkTable(table);
  for (const segment of remove) checkPlace(runId, table, checkReference(segment));
  checkDistinct('remove', remove);
  for (const { manifest, bytes } of add) {
    checkSegment(manifest, bytes);
    checkPlace(runId, table, manifest);
    checkCount('firstSequence', manifest.firstSequence);
    checkCount('lastSequence', manifest.lastSequence);
    if (manifest.lastSequence < manifest.firstSequence) {
      throw invalidInput('lastSequence', manifest.lastSequence, 'at or after firstSequence');
    }
  }
  checkDistinct(
    'add',
    add.map((segment) => segment.manifest),
  );
}

/** Checks a filter. */
export function checkSegmentFilter(filter: SegmentFilter): void {
  checkId('runId', filter.runId);
  checkTable(filter.table);
  for (const field of ['sequenceMin', 'stepMin', 'stepMax', 'epochMin', 'epochMax'] as const) {
    const value: unknown = filter[field];
    if (value !== undefined && (typeof value !== 'number' || Number.isNaN(value))) {
      throw invalidInput(field, value, 'a number');
    }
  }
  if (filter.keys !== undefined && !Array.isArray(filter.keys))
    throw invalidInput('keys', filter.keys, 'an array of text');
}

/** Whether a segment may hold a row that the filter asks for. */
export function matchesSegmentFilter(manifest: SegmentManifest, filter: SegmentFilter): boolean {
  return (
    (filter.sequenceMin === undefined || manifest.lastSequence >= filter.sequenceMin) &&
    reaches(manifest.stepMin, manifest.stepMax, filter.stepMin, filter.stepMax) &&
    reaches(manifest.epochMin, manifest.epochMax, filter.epochMin, filter.epochMax) &&
    holdsKey(manifest.keys, filter.keys)
  );
}

/** Whether a segment's list of keys lets one of the wanted keys be in it. */
export function holdsKey(
  listed: readonly string[] | null,
  wanted: readonly string[] | undefined,
): boolean {
  return wanted === undefined || listed === null || listed.some((key) => wanted.includes(key));
}

/** The order of `listSegments`. */
export function compareManifests(a: SegmentManifest, b: SegmentManifest): number {
  if (a.firstSequence !== b.firstSequence) return a.firstSequence - b.firstSequence;
  if (a.lastSequence !== b.lastSequence) return a.lastSequence - b.lastSequence;
  if (a.writerId !== b.writerId) return a.writerId < b.writerId ? -1 : 1;
  return a.batchNumber - b.batchNumber;
}

/** The manifest of a new segment whose first row gets this sequence number. Shares nothing with the one given. */
export function placeSegment(
  manifest: NewSegment['manifest'],
  firstSequence: number,
): SegmentManifest {
  return copyManifest({
    ...manifest,
    firstSequence,
    lastSequence: firstSequence + manifest.rowCount - 1,
  });
}

/** The fields of a manifest and nothing else, sharing nothing with the one given. */
export function copyManifest(manifest: SegmentManifest): SegmentManifest {
  return {
    runId: manifest.runId,
    table: manifest.table,
    writerId: manifest.writerId,
    batchNumber: manifest.batchNumber,
    rowCount: manifest.rowCount,
    firstSequence: manifest.firstSequence,
    lastSequence: manifest.lastSequence,
    stepMin: manifest.stepMin,
    stepMax: manifest.stepMax,
    epochMin: manifest.epochMin,
    epochMax: manifest.epochMax,
    timeMinMs: manifest.timeMinMs,
    timeMaxMs: manifest.timeMaxMs,
    keys: manifest.keys === null ? null : [...manifest.keys],
    schemaVersion: manifest.schemaVersion,
    encoding: manifest.encoding,
    sizeBytes: manifest.sizeBytes,
    checksum: manifest.checksum,
    sources: manifest.sources.map(copyRange),
  };
}

/** The segment among these that took a batch in when it was merged. */
export function findHolder(
  manifests: Iterable<SegmentManifest>,
  batch: Pick<SegmentIdentity, 'writerId' | 'batchNumber'>,
): SegmentManifest | undefined {
  for (const manifest of manifests) {
    if (manifest.sources.length > 0 && rangesHold(batchesOf(manifest), batch)) return manifest;
  }
  return undefined;
}

function checkSegment(manifest: NewSegment['manifest'], bytes: unknown): void {
  checkReference(manifest);
  checkPositive('rowCount', manifest.rowCount);
  checkBounds('step', manifest.stepMin, manifest.stepMax);
  checkBounds('epoch', manifest.epochMin, manifest.epochMax);
  checkBounds('time', manifest.timeMinMs, manifest.timeMaxMs);
  if (
    manifest.keys !== null &&
    !(Array.isArray(manifest.keys) && manifest.keys.every((key) => typeof key === 'string'))
  ) {
    throw invalidInput('keys', manifest.keys, 'an array of text, or null');
  }
  checkCount('schemaVersion', manifest.schemaVersion);
  if (!ENCODINGS.has(manifest.encoding))
    throw invalidInput('encoding', manifest.encoding, '"arrow" or "packed"');
  if (checkCount('checksum', manifest.checksum) > MAX_CHECKSUM) {
    throw invalidInput('checksum', manifest.checksum, 'at most 2^32 - 1');
  }
  for (const range of manifest.sources) checkRange(range);
  if (!(bytes instanceof Uint8Array)) throw invalidInput('bytes', bytes, 'a Uint8Array');
  if (manifest.sizeBytes !== bytes.byteLength) {
    throw invalidInput(
      'sizeBytes',
      manifest.sizeBytes,
      `the length of the bytes, ${bytes.byteLength}`,
    );
  }
  if (bytes.byteLength > MAX_SEGMENT_BYTES) {
    throw new SessionStoreError(
      'too_large',
      `Segment ${segmentName(manifest)} has ${bytes.byteLength} bytes; a segment may have ${MAX_SEGMENT_BYTES}. Flush or merge in smaller pieces.`,
      { details: { segment: segmentName(manifest), sizeBytes: bytes.byteLength } },
    );
  }
}

function checkBounds(what: string, min: number | null, max: number | null): void {
  if (min === null && max === null) return;
  if (typeof min !== 'number' || typeof max !== 'number' || !(min <= max)) {
    throw invalidInput(`${what}Min`, [min, max], `a number not above ${what}Max, or both null`);
  }
}

function checkPlace(runId: string, table: string, segment: SegmentIdentity): void {
  if (segment.runId !== runId || segment.table !== table) {
    throw invalidInput(
      'segment',
      segmentName(segment),
      `a segment of table "${table}" of run "${runId}"`,
    );
  }
}

function checkDistinct(field: string, segments: readonly SegmentIdentity[]): void {
  const names = new Set(segments.map(segmentName));
  if (names.size !== segments.length)
    throw invalidInput(field, segments.length, 'segments of different identities');
}

function checkRange(range: BatchRange): void {
  checkId('writerId', range.writerId);
  checkCount('batchStart', range.batchStart);
  if (checkCount('batchLast', range.batchLast) < range.batchStart) {
    throw invalidInput('batchLast', range.batchLast, 'at or after batchStart');
  }
}

function copyRange(range: BatchRange): BatchRange {
  return { writerId: range.writerId, batchStart: range.batchStart, batchLast: range.batchLast };
}

function reaches(
  min: number | null,
  max: number | null,
  from: number | undefined,
  to: number | undefined,
): boolean {
  if (from === undefined && to === undefined) return true;
  if (min === null || max === null) return false;
  return (from === undefined || max >= from) && (to === undefined || min <= to);
}
