/** What every store does alike with segments: the checks before anything is written, the filter, the order. */
import { MAX_SEGMENT_BYTES } from './limits.ts';
import { checkCount } from '../base/assert.ts';
import { invalidInput, SessionStoreError } from '../base/errors.ts';
import { checkId, checkTable } from '../base/names.ts';
import {
  identityShape,
  MANIFEST_BOUNDS,
  manifestShape,
  newManifestShape,
  segmentFilterShape,
  segmentName,
} from '../records/shapes/manifest.ts';
import { checkShape, copyShape } from '../schema/shape.ts';
import type { RunGeneration } from '../records/shapes/run.ts';
import { batchesOf, rangesContain } from './batch-ranges.ts';
import { runFenced } from './run-rules.ts';
import type {
  MergedSegment,
  NewSegment,
  SegmentFilter,
  SegmentIdentity,
  SegmentManifest,
  SegmentReference,
} from './store.ts';

/** Checks a reference to a segment and returns it. */
export function checkReference<T extends SegmentReference>(segment: T): T {
  checkShape(identityShape, segment);
  return segment;
}

/** Checks segments before they are appended. */
export function checkNewSegments(segments: readonly NewSegment[]): void {
  for (const { manifest, bytes } of segments) {
    checkSegment(manifest, bytes);
    checkHasRows(manifest);
  }
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
    checkWhole(manifest);
    checkTableOf(runId, table, manifest);
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
  for (const segment of remove) checkTableOf(runId, table, checkReference(segment));
  checkDistinct('remove', remove);
  for (const { manifest, bytes } of add) {
    checkSegment(manifest, bytes);
    checkTableOf(runId, table, manifest);
    if (manifest.rowCount === 0 && manifest.droppedRows === undefined)
      throw invalidInput('rowCount', 0, 'at least 1 where no row was deleted');
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
  checkShape(segmentFilterShape, filter);
}

/** Whether a segment may hold a row that the filter asks for. */
export function matchesSegmentFilter(manifest: SegmentManifest, filter: SegmentFilter): boolean {
  return (
    (filter.superseded === true || manifest.superseded !== true) &&
    (filter.empty === true || manifest.rowCount > 0) &&
    (filter.sequenceMin === undefined || manifest.lastSequence >= filter.sequenceMin) &&
    reaches(manifest.stepMin, manifest.stepMax, filter.stepMin, filter.stepMax) &&
    reaches(manifest.epochMin, manifest.epochMax, filter.epochMin, filter.epochMax) &&
    containsKey(manifest.keys, filter.keys)
  );
}

/** Whether a segment's list of keys lets one of the wanted keys be in it. */
export function containsKey(
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
export function numberSegment(
  manifest: NewSegment['manifest'],
  firstSequence: number,
): SegmentManifest {
  return copyManifest({
    ...manifest,
    firstSequence,
    lastSequence: firstSequence + manifest.rowCount - 1,
  });
}

/**
 * A new segment under the generation that its run has now. One of an earlier generation is superseded; the first generation is not
 * written down, so that most manifests have no field more.
 */
export function underGeneration(
  manifest: NewSegment['manifest'],
  current: number,
): NewSegment['manifest'] {
  if (manifest.generation === undefined && manifest.superseded === undefined && current === 1)
    return manifest;
  const { generation = current, superseded: _given, ...rest } = manifest;
  if (generation < current) return { ...rest, generation, superseded: true };
  return generation === 1 ? rest : { ...rest, generation };
}

/**
 * Compares the generations that live sessions have of their runs with those that the runs have now.
 *
 * @throws {SessionStoreError} `fenced`
 */
export function checkLive(
  live: readonly RunGeneration[],
  currentOf: (runId: string) => number,
): void {
  for (const { runId, generation } of live) {
    const current = currentOf(runId);
    if (current > generation) throw runFenced(runId, generation, current);
  }
}

/** The fields of a manifest and nothing else, sharing nothing with the one given. */
export function copyManifest(manifest: SegmentManifest): SegmentManifest {
  return copyShape(manifestShape, manifest);
}

/** The segment among these that took a batch in when it was merged. */
export function findMerged(
  manifests: Iterable<SegmentManifest>,
  batch: Pick<SegmentIdentity, 'writerId' | 'batchNumber'>,
): SegmentManifest | undefined {
  for (const manifest of manifests) {
    if (manifest.sources.length > 0 && rangesContain(batchesOf(manifest), batch)) return manifest;
  }
  return undefined;
}

/** An appended segment may lack rows of its batches, as it says: a store that has lost a run gets what is left of it elsewhere. */
function checkHasRows({ rowCount }: NewSegment['manifest']): void {
  if (rowCount === 0) throw invalidInput('rowCount', rowCount, 'an integer of at least 1');
}

/** What replaces a table has all rows of its batches. */
function checkWhole(manifest: NewSegment['manifest']): void {
  const { downsampledTo, droppedRows } = manifest;
  checkHasRows(manifest);
  if (droppedRows !== undefined) throw invalidInput('droppedRows', droppedRows, 'left out');
  if (downsampledTo !== undefined) throw invalidInput('downsampledTo', downsampledTo, 'left out');
}

function checkSegment(manifest: NewSegment['manifest'], bytes: unknown): void {
  checkShape(newManifestShape, manifest);
  for (const { min, max } of MANIFEST_BOUNDS) checkBounds(min, manifest[min], max, manifest[max]);
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
      `Segment ${segmentName(manifest)} has ${bytes.byteLength} bytes; a segment may have ${MAX_SEGMENT_BYTES}. Flush or merge in smaller segments.`,
      { details: { segment: segmentName(manifest), sizeBytes: bytes.byteLength } },
    );
  }
}

function checkBounds(
  minName: string,
  min: number | null,
  maxName: string,
  max: number | null,
): void {
  if (min === null && max === null) return;
  if (min === null || max === null || !(min <= max))
    throw invalidInput(minName, [min, max], `a number not above ${maxName}, or both null`);
}

function checkTableOf(runId: string, table: string, segment: SegmentIdentity): void {
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
