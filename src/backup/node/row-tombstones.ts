/**
 * Rows that were deleted of runs, of deleted ones too: tables, single artifacts, and metrics that were downsampled. An older snapshot has
 * them, so they are listed beside the snapshots, as deleted runs are, in a file of their own. A line follows from a segment that says
 * that rows are gone (docs/decisions/0049-deleted-rows.md); it names the batches that the rows were in.
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { SessionStoreError } from '../../base/errors.ts';
import { artifactTable } from '../../records/artifact.ts';
import { metricTable } from '../../records/metric.ts';
import { batchRangeShape } from '../../records/shapes/manifest.ts';
import {
  count,
  defineShape,
  list,
  literal,
  nullable,
  shapeFromJson,
  shapeToJson,
  text,
  texts,
  type Shape,
  type ValuesOf,
} from '../../schema/shape.ts';
import { openSegment } from '../../segment/open-segment.ts';
import { batchesOf, coalesceRanges, rangesWithout } from '../../store/batch-ranges.ts';
import {
  numberCell,
  bytesCell,
  sql,
  textCell,
  type SqlWork,
} from '../../store/sql/sql-database.ts';
import { liveSpaceOf } from '../../store/sql/sql-deletion.ts';
import { SQL_LAYOUT_VERSION } from '../../store/sql/sql-layout.ts';
import { MANIFEST_COLUMNS, manifestOf, SEGMENT_KEY } from '../../store/sql/sql-manifests.ts';
import type { SegmentManifest } from '../../store/store.ts';

const fields = {
  kind: literal(['rows']),
  /** The space that the run is in. */
  space: text(),
  runId: text(),
  table: text(),
  /** The batches that rows were deleted of. */
  batches: list(batchRangeShape, 'BatchRange'),
  /** The ids of the artifacts that are left of them; null where it is no table of artifacts, or nothing is left. */
  left: nullable(texts()),
  /** To how many samples of a metric they were downsampled; null where they were not. */
  downsampledTo: nullable(count()),
};

const rowTombstoneShape: Shape<typeof fields> = defineShape('row tombstone', fields);

/** Rows of a table of a run that were deleted. */
export type RowTombstone = ValuesOf<typeof fields>;

/** The name of the file, beside `tombstones`: releases that know no such lines go on reading that one. */
export const ROW_TOMBSTONES = 'row-tombstones';

/** A segment that lacks rows, as it is stored. */
export type LackingSegment = {
  readonly space: string;
  readonly manifest: SegmentManifest;
  /** Of artifacts, which are told apart by their ids. */
  readonly bytes: Uint8Array<ArrayBuffer> | undefined;
};

/** The segments of a database that lack rows; none where its layout is another one. */
export function* readLacking(): SqlWork<readonly LackingSegment[]> {
  const tables = yield sql("SELECT 1 FROM sqlite_master WHERE name = 'quark_layout'");
  if (tables.length === 0) return [];
  const [version] = yield sql('SELECT max(version) FROM quark_layout');
  if (version === undefined || numberCell(version, 0) !== SQL_LAYOUT_VERSION) return [];
  const rows = yield sql(
    `SELECT ${MANIFEST_COLUMNS}, text(streams.space), text(streams.run_id), text(streams.table_name)
     FROM segments JOIN streams ON streams.stream_key = segments.stream_key
     WHERE segments.dropped_rows IS NOT NULL`,
  );
  const found: LackingSegment[] = [];
  for (const row of rows) {
    const table = textCell(row, SEGMENT_KEY + 3);
    const manifest = manifestOf(row, textCell(row, SEGMENT_KEY + 2), table);
    const isOpened = table === artifactTable.table && manifest.rowCount > 0;
    const [stored] = isOpened
      ? yield sql(
          'SELECT bytes FROM segment_bytes WHERE segment_key = ?',
          numberCell(row, SEGMENT_KEY),
        )
      : [];
    const bytes = stored === undefined ? undefined : bytesCell(stored, 0);
    found.push({ space: liveSpaceOf(textCell(row, SEGMENT_KEY + 1)), manifest, bytes });
  }
  return found;
}

/** What the segments say of deleted rows. One that says nothing that could be done again is left out. */
export async function rowTombstonesOf(
  lacking: readonly LackingSegment[],
): Promise<readonly RowTombstone[]> {
  const found: RowTombstone[] = [];
  for (const { bytes, manifest, space } of lacking) {
    const { downsampledTo = null, rowCount, runId, table } = manifest;
    const left = bytes === undefined ? null : await artifactIds(manifest, bytes);
    const isThinned = table === metricTable.table && downsampledTo !== null;
    if (rowCount > 0 && left === null && !isThinned) continue;
    const batches = [...coalesceRanges(batchesOf(manifest))];
    found.push({ kind: 'rows', space, runId, table, batches, left, downsampledTo });
  }
  return found;
}

async function artifactIds(
  manifest: SegmentManifest,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<readonly string[] | null> {
  const opened = await openSegment(artifactTable, manifest, { kind: 'bytes', bytes });
  if (opened.kind !== 'opened') return null;
  const ids = opened.segment.batch.columns.get('id');
  if (ids?.kind === 'text') return ids.values.flatMap((id) => id ?? []);
  if (ids?.kind !== 'key') return [];
  return Array.from(ids.indices, (index) => ids.dictionary[index] ?? '');
}

/** All of these, later lists last; what a later one says of the same batches, or of more, counts. */
export function mergeRowTombstones(
  ...lists: readonly (readonly RowTombstone[])[]
): readonly RowTombstone[] {
  const merged: RowTombstone[] = [];
  for (const later of lists) {
    const isSaid = (one: RowTombstone): boolean =>
      later.some(
        (other) =>
          nameOf(other) === nameOf(one) && rangesWithout(one.batches, other.batches).length === 0,
      );
    merged.splice(0, merged.length, ...merged.filter((one) => !isSaid(one)), ...later);
  }
  return merged.sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
}

/** The file of row tombstones. */
export function rowTombstoneText(tombstones: readonly RowTombstone[]): string {
  return tombstones
    .map((one) => `${JSON.stringify(shapeToJson(rowTombstoneShape, one))}\n`)
    .join('');
}

/** Reads the file beside the snapshots; none where there is no such file. @throws {SessionStoreError} `corrupt`, naming the line */
export async function readRowTombstones(path: string): Promise<readonly RowTombstone[]> {
  if (!existsSync(path)) return [];
  const content = await readFile(path, 'utf8');
  return content.split('\n').flatMap((line, i) => {
    if (line === '') return [];
    const refuse = (reason: string): SessionStoreError =>
      new SessionStoreError(
        'corrupt',
        `Line ${i + 1} of the tombstones of rows in ${path} is damaged: ${reason}. Nothing was changed. Without it deleted rows could come back: mend the line, or remove it if you know which rows it was about.`,
        { details: { path, line: i + 1, reason } },
      );
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      throw refuse('it is not JSON');
    }
    return [
      shapeFromJson(rowTombstoneShape, value, (field, _, rule) =>
        refuse(`${field} must be ${rule}`),
      ),
    ];
  });
}

function nameOf({ runId, space, table }: RowTombstone): string {
  return `${space}\n${runId}\n${table}`;
}
