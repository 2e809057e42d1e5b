/** Opens every segment: its bytes, its checksum, its rows, and what its manifest says of them. */
import { isQuarkError, messageOf } from '../../base/errors.ts';
import { artifactTable } from '../../records/artifact.ts';
import { segmentName } from '../../records/shapes/manifest.ts';
import { TABLES } from '../../records/tables.ts';
import { checkSegmentContent } from '../../segment/check-segment.ts';
import { openSegment, readySegment, type OpenedSegment } from '../../segment/open-segment.ts';
import {
  bytesCell,
  numberCell,
  sql,
  textCell,
  type SqlRow,
  type SqlWork,
} from '../../store/sql/sql-database.ts';
import { liveSpaceOf } from '../../store/sql/sql-deletion.ts';
import { MANIFEST_COLUMNS, manifestOf, SEGMENT_KEY } from '../../store/sql/sql-manifests.ts';
import type { SegmentManifest, SegmentRead } from '../../store/store.ts';
import { shownName } from './check-runs.ts';
import type { Report } from './finding.ts';
import type { Patient } from './patient.ts';

/** Manifests that are read at a time. */
const PAGE = 256;

/** A blob that an artifact names. */
export type BlobReference = {
  readonly space: string;
  readonly sha256: string;
  /** The artifact, as findings name it. */
  readonly where: string;
};

/** What opening all segments has come to. */
export type SegmentCounts = {
  readonly segments: number;
  readonly rows: number;
  readonly bytes: number;
  readonly references: readonly BlobReference[];
};

type Located = {
  readonly key: number;
  readonly space: string;
  readonly manifest: SegmentManifest;
};

/** Opens every segment, and collects the blobs that artifacts name. */
export async function checkSegments(patient: Patient, report: Report): Promise<SegmentCounts> {
  const references: BlobReference[] = [];
  let segments = 0;
  let rows = 0;
  let bytes = 0;
  for (let after = -1, isMore = true; isMore;) {
    const page = await patient.read(() => listPage(after));
    isMore = page.length === PAGE;
    for (const row of page) {
      after = numberCell(row, SEGMENT_KEY);
      const located = locate(row, report);
      if (located === undefined) continue;
      const { manifest, space } = located;
      const opened = await checkOne(patient, located, report);
      segments += 1;
      rows += manifest.rowCount;
      bytes += manifest.sizeBytes;
      if (opened !== undefined && manifest.table === artifactTable.table)
        references.push(...referencesOf(liveSpaceOf(space), manifest, opened));
    }
  }
  return { segments, rows, bytes, references };
}

function locate(row: SqlRow, report: Report): Located | undefined {
  const key = numberCell(row, SEGMENT_KEY);
  const space = textCell(row, SEGMENT_KEY + 1);
  const runId = textCell(row, SEGMENT_KEY + 2);
  const table = textCell(row, SEGMENT_KEY + 3);
  try {
    return { key, space, manifest: manifestOf(row, runId, table) };
  } catch (error) {
    if (!isQuarkError(error)) throw error;
    reportDamage(report, { key, where: `${shownName(space, runId)}/${table}` }, error.message);
    return undefined;
  }
}

async function checkOne(
  patient: Patient,
  located: Located,
  report: Report,
): Promise<OpenedSegment | undefined> {
  const { key, manifest, space } = located;
  const read = await readBytes(patient, located);
  // Merged or deleted since its manifest was read.
  if (read.kind === 'gone') return undefined;
  const position = { key, where: shownName(space, segmentName(manifest)) };
  const table = TABLES.get(manifest.table);
  const opened =
    table === undefined
      ? await readySegment(manifest, read)
      : await openSegment(table, manifest, read);
  if (opened.kind === 'damaged') {
    reportDamage(report, position, opened.report.reason);
    return undefined;
  }
  if (opened.kind !== 'opened' || read.kind !== 'bytes') return undefined;
  // All its rows were deleted: it stands for their batches, and has no columns.
  if (manifest.rowCount === 0) return opened.segment;
  try {
    await checkSegmentContent({ manifest, bytes: read.bytes });
  } catch (error) {
    const isName = isQuarkError(error, 'invalid_input');
    if (!isName && !isQuarkError(error)) throw error;
    report({
      severity: isName ? 'warning' : 'error',
      code: isName ? 'segment_names' : 'manifest_wrong',
      where: position.where,
      message: messageOf(error),
      advice: isName
        ? 'Its rows can be read; a service would not take them.'
        : 'Its rows are whole, and readers may pass over them. Restore a backup, or have the client send the run again.',
    });
  }
  return opened.segment;
}

function reportDamage(
  report: Report,
  { key, where }: { readonly key: number; readonly where: string },
  reason: string,
): void {
  report({
    severity: 'error',
    code: 'segment_damaged',
    where,
    message: `The segment cannot be read: ${reason}.`,
    advice:
      'Restore a backup; or, where a client has the run, add --quarantine to --repair, and send the run again ("quark sync --again").',
    repair: 'quarantine_segment',
    target: [key],
  });
}

async function readBytes(patient: Patient, { key, manifest }: Located): Promise<SegmentRead> {
  try {
    const [row] = await patient.read(() => readOne(key));
    // Its absence is found where the tables are compared.
    if (row === undefined || (row[0] === null && row[1] === null)) return { kind: 'gone' };
    if (row[1] === null) return { kind: 'bytes', bytes: bytesCell(row, 0) };
    const objectKey = textCell(row, 1);
    const bytes = await patient.object(objectKey);
    if (bytes !== undefined) return { kind: 'bytes', bytes };
    const [now] = await patient.read(() => readOne(key));
    return now === undefined || now[1] === null || textCell(now, 1) !== objectKey
      ? { kind: 'gone' }
      : { kind: 'damaged', reason: `its object ${objectKey} is missing from the bucket` };
  } catch (error) {
    if (!isQuarkError(error)) throw error;
    return { kind: 'damaged', reason: `${segmentName(manifest)}: ${error.message}` };
  }
}

function referencesOf(
  space: string,
  manifest: SegmentManifest,
  { batch }: OpenedSegment,
): readonly BlobReference[] {
  const where = shownName(space, `${manifest.runId}/${artifactTable.table}`);
  const whole = batch.columns.get('sha256');
  const parts = batch.columns.get('part_sha256');
  const found: BlobReference[] = [];
  for (let row = 0; row < batch.rowCount; row++) {
    // Of a payload in parts, the parts are blobs and the whole is none.
    const inParts: unknown = parts?.kind === 'text_list' ? parts.values[row] : undefined;
    const one = whole?.kind === 'text' ? whole.values[row] : undefined;
    const names: readonly unknown[] = Array.isArray(inParts) ? inParts : [one];
    for (const sha256 of names)
      if (typeof sha256 === 'string') found.push({ space, sha256, where });
  }
  return found;
}

function* listPage(after: number): SqlWork<readonly SqlRow[]> {
  return yield sql(
    `SELECT ${MANIFEST_COLUMNS}, text(streams_space), text(streams_run), text(streams_table) FROM (
       SELECT segments.*, streams.space AS streams_space, streams.run_id AS streams_run, streams.table_name AS streams_table
       FROM segments JOIN streams ON streams.stream_key = segments.stream_key
       WHERE segments.segment_key > ? ORDER BY segments.segment_key LIMIT ${PAGE}) AS page ORDER BY segment_key`,
    after,
  );
}

function* readOne(key: number): SqlWork<readonly SqlRow[]> {
  return yield sql(
    `SELECT segment_bytes.bytes, text(segment_objects.object_key) FROM segments
     LEFT JOIN segment_bytes ON segment_bytes.segment_key = segments.segment_key
     LEFT JOIN segment_objects ON segment_objects.segment_key = segments.segment_key
     WHERE segments.segment_key = ?`,
    key,
  );
}
