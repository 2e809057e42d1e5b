/** Repairs whose result follows from other stored data. Each is one transaction, which reads the rows again that it changes, because other processes may write. */
import { randomBytes } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../../base/clock.ts';
import { makeWithParents } from '../../base/node/make-folder.ts';
import { inGroups } from '../../base/in-groups.ts';
import { createId } from '../../base/ids.ts';
import { createEvent } from '../../session/event-logger.ts';
import { eventTable } from '../../records/event.ts';
import { segmentName } from '../../records/shapes/manifest.ts';
import { batchOfRows } from '../../segment/batch-ops.ts';
import { createSegment } from '../../segment/manifest.ts';
import type { BucketLists } from '../../store/objects/open-objects.ts';
import { takeLoose } from '../../store/sql/sql-blob-sweep.ts';
import { createBlobFiles } from '../../store/sql/node/blob-files.ts';
import { releaseObjects } from '../../store/sql/object-files.ts';
import {
  bytesCell,
  isTextList,
  jsonCell,
  sql,
  sqlOne,
  textCell,
  type SqlWork,
} from '../../store/sql/sql-database.ts';
import { MANIFEST_COLUMNS, manifestOf } from '../../store/sql/sql-manifests.ts';
import { rebuildFacts } from '../../store/sql/sql-facts.ts';
import { recountSpace } from '../../store/sql/sql-usage.ts';
import type { StoreSpaces } from '../../store/sql/sql-store.ts';
import type { SegmentManifest, StoreLocation } from '../../store/store.ts';
import { isWholeSketch } from '../../read/curve-sketch.ts';
import { removeDocumentLeftover } from './check-documents.ts';
import { readSketchText } from './check-sketches.ts';
import { LOOSE_GRACE_MS } from './check-loose-blobs.ts';
import type { DoctorFinding, Repair } from './finding.ts';

/** Objects that get rows at a time. */
const OBJECTS_AT_ONCE = 200;

/** What repairs need beside the store. */
export type RepairOptions = {
  readonly nowMs: number;
  readonly location?: StoreLocation | undefined;
  /** Where damaged segments are put; without it they stay. */
  readonly quarantine?: string | undefined;
  /** The bucket, where objects without rows are removed from it; without it they stay. */
  readonly bucket?: BucketLists | undefined;
};

/** Makes the repairs that findings ask for; returns those that were made. */
export async function repairFindings(
  spaces: StoreSpaces,
  findings: readonly DoctorFinding[],
  options: RepairOptions,
): Promise<readonly DoctorFinding[]> {
  const done: DoctorFinding[] = [];
  const once = new Set<Repair>();
  for (const finding of findings) {
    const { repair, target = [] } = finding;
    if (repair === undefined) continue;
    // These are about the whole store.
    const isWhole = repair === 'rebuild_indexes' || repair === 'remove_lapsed_leases';
    if (isWhole && once.has(repair)) {
      done.push(finding);
      continue;
    }
    once.add(repair);
    if (await REPAIR[repair](spaces, target, options)) done.push(finding);
  }
  return done;
}

type Target = readonly (string | number)[];

const REPAIR: {
  readonly [R in Repair]: (
    spaces: StoreSpaces,
    target: Target,
    options: RepairOptions,
  ) => Promise<boolean>;
} = {
  async rebuild_indexes({ database }) {
    await database.transaction(function* () {
      yield sql('REINDEX');
    });
    return true;
  },
  rebuild_tags: ({ database }, [space, runId]) =>
    database.transaction(() => rebuildTags(String(space), String(runId))),
  rebuild_facts: ({ database }, [space, runId]) =>
    database.transaction(() => rebuildFacts(String(space), String(runId))),
  async raise_sequence({ database }, [streamKey]) {
    await database.transaction(() => raiseSequence(Number(streamKey)));
    return true;
  },
  async remove_lapsed_leases({ database }, _, { nowMs }) {
    await database.transaction(function* () {
      yield sql('DELETE FROM leases WHERE expires_at_ms <= ?', nowMs);
    });
    return true;
  },
  async recount_usage({ database }, [space]) {
    await database.transaction(() => recountSpace(String(space)));
    return true;
  },
  async adopt_blob(spaces, [space, sha256], { location }) {
    const name = String(sha256);
    const bytes =
      (await spaces.database.read(() => inlineBlob(name))) ??
      (location && (await createBlobFiles(location.storeRoot).get(name)));
    if (bytes === undefined) return false;
    // Compares them with their hash.
    await spaces.store(String(space)).putBlob(name, bytes);
    return true;
  },
  async remove_leftovers(_, [path]) {
    await rm(String(path), { recursive: true, force: true });
    return true;
  },
  async remove_loose_objects(spaces, _, { bucket, nowMs }) {
    return bucket !== undefined && removeLoose(spaces, bucket, nowMs - LOOSE_GRACE_MS);
  },
  async remove_sketch({ database }, [space, name]) {
    return database.transaction(() => removeSketch(String(space), String(name)));
  },
  async remove_document_leftover({ database }, [space, name], { nowMs }) {
    return database.transaction(() => removeDocumentLeftover(String(space), String(name), nowMs));
  },
  async quarantine_segment(spaces, [segmentKey], options) {
    return options.quarantine !== undefined && quarantine(spaces, Number(segmentKey), options);
  },
};

function* rebuildTags(space: string, runId: string): SqlWork<boolean> {
  const [row] = yield sqlOne(
    'SELECT text(tags) FROM runs WHERE space = ? AND id = ? FOR UPDATE',
    space,
    runId,
  );
  if (row === undefined) return false;
  yield sql('DELETE FROM run_tags WHERE space = ? AND run_id = ?', space, runId);
  for (const tag of jsonCell(row, 0, isTextList))
    yield sql(
      'INSERT INTO run_tags (space, run_id, tag) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
      space,
      runId,
      tag,
    );
  return true;
}

function* raiseSequence(streamKey: number): SqlWork<void> {
  yield sql('SELECT next_sequence FROM streams WHERE stream_key = ? FOR UPDATE', streamKey);
  yield sql(
    `UPDATE streams SET next_sequence = (SELECT max(last_sequence) + 1 FROM segments WHERE stream_key = ?)
     WHERE stream_key = ? AND next_sequence <= (SELECT max(last_sequence) FROM segments WHERE stream_key = ?)`,
    streamKey,
    streamKey,
    streamKey,
  );
}

/**
 * Gives a row to each object that has none, as a put does before it writes bytes, and condemns it as a sweep does: a put of the same
 * bytes goes on beside this, and the row is there until the bytes are gone.
 */
async function removeLoose(
  spaces: StoreSpaces,
  bucket: BucketLists,
  putBeforeMs: number,
): Promise<boolean> {
  const old = async function* () {
    for await (const one of bucket.blobs()) if (one.modifiedAtMs < putBeforeMs) yield one;
  };
  for await (const some of inGroups(old(), OBJECTS_AT_ONCE))
    await spaces.database.transaction(() => takeLoose(some));
  await spaces.store('').dropBlobs?.({ hashes: [], putBeforeMs, seen: [] });
  return true;
}

/** One that a reader has made again since stays. */
function* removeSketch(space: string, name: string): SqlWork<boolean> {
  const body = yield* readSketchText(space, name);
  if (body === undefined || isWholeSketch(body)) return false;
  yield sql('DELETE FROM notes WHERE space = ? AND name = ? AND body = ?', space, name, body);
  return true;
}

function* inlineBlob(sha256: string): SqlWork<Uint8Array<ArrayBuffer> | undefined> {
  const [row] = yield sqlOne('SELECT bytes FROM blobs WHERE sha256 = ?', sha256);
  return row === undefined || row[0] === null ? undefined : bytesCell(row, 0);
}

type Quarantined = {
  readonly space: string;
  readonly manifest: SegmentManifest;
  readonly bytes: Uint8Array<ArrayBuffer> | undefined;
};

/** Takes a damaged segment out of its table, into files, and says so in an event of the run. */
async function quarantine(
  spaces: StoreSpaces,
  segmentKey: number,
  { nowMs, quarantine: folder = '.' }: RepairOptions,
): Promise<boolean> {
  const found = await spaces.database.read(() => readSegment(segmentKey));
  if (found === undefined) return false;
  const { bytes, manifest, space } = found;
  await makeWithParents(folder);
  const name = `${segmentName(manifest).replaceAll('/', '+')}.${randomBytes(4).toString('hex')}`;
  // Before they are removed: nothing is lost by a repair.
  await writeFile(join(folder, `${name}.json`), JSON.stringify({ space, manifest }, null, 2), {
    flag: 'wx',
    flush: true,
  });
  if (bytes !== undefined)
    await writeFile(join(folder, `${name}.segment`), bytes, { flag: 'wx', flush: true });
  await spaces.database.transaction(() => removeSegment(segmentKey, nowMs));
  await recordEvent(spaces, found, folder, nowMs);
  return true;
}

function* readSegment(segmentKey: number): SqlWork<Quarantined | undefined> {
  const [owner] = yield sqlOne(
    `SELECT text(streams.space), text(streams.run_id), text(streams.table_name) FROM segments
     JOIN streams ON streams.stream_key = segments.stream_key WHERE segments.segment_key = ?`,
    segmentKey,
  );
  const [row] = yield sqlOne(
    `SELECT ${MANIFEST_COLUMNS} FROM segments WHERE segment_key = ?`,
    segmentKey,
  );
  if (owner === undefined || row === undefined) return undefined;
  const [stored] = yield sqlOne(
    'SELECT bytes FROM segment_bytes WHERE segment_key = ?',
    segmentKey,
  );
  return {
    space: textCell(owner, 0),
    manifest: manifestOf(row, textCell(owner, 1), textCell(owner, 2)),
    bytes: stored === undefined ? undefined : bytesCell(stored, 0),
  };
}

function* removeSegment(segmentKey: number, nowMs: number): SqlWork<void> {
  yield* releaseObjects([segmentKey], nowMs);
  yield sql('DELETE FROM segment_bytes WHERE segment_key = ?', segmentKey);
  yield sql('DELETE FROM segments WHERE segment_key = ?', segmentKey);
}

async function recordEvent(
  spaces: StoreSpaces,
  { manifest, space }: Quarantined,
  folder: string,
  nowMs: number,
): Promise<void> {
  const { rowCount, runId, table } = manifest;
  const segment = segmentName(manifest);
  const payload = {
    table,
    count: rowCount,
    segment,
    message: `${rowCount} rows of ${table} could not be read any more. Their segment ${segment} was moved to ${folder}.`,
  };
  const clock = { ...systemClock, now: () => nowMs };
  const event = createEvent({ runId, clock }, 'records_dropped', { payload });
  const identity = {
    runId,
    table: eventTable.table,
    writerId: createId('doctor', nowMs),
    batchNumber: 0,
  };
  await spaces
    .store(space)
    .appendSegments([createSegment(eventTable, identity, batchOfRows(eventTable, [event]))]);
}
