/** Compares a run here with the same run on the service, table by table. */
import { runDeleted } from '../store/deletion.ts';
import { segmentName } from '../records/shapes/manifest.ts';
import { checkNotAborted } from '../base/assert.ts';
import { RunNotFoundError } from '../base/errors.ts';
import { TABLES } from '../records/tables.ts';
import { groupSegments } from '../segment/group-segments.ts';
import { downsamplingOf } from '../segment/manifest.ts';
import { openSegment } from '../segment/open-segment.ts';
import type { TableDefinition } from '../schema/table.ts';
import { batchesOf, coalesceRanges, rangesWithout } from '../store/batch-ranges.ts';
import { type BatchRange, type SegmentManifest, type Store } from '../store/store.ts';
import { areSameRuns, formOf, toLocalForm, withGeneration } from './merge-run.ts';
import { RowDigest } from './row-digest.ts';

/** Rows of one table on one side. */
export type TableDigest = {
  readonly rows: number;
  /** Rows that were deleted on this side; absent for none. */
  readonly deletedRows?: number;
  /** Deleted rows were downsampled, to so many samples of each metric; absent where they were not. */
  readonly downsampledTo?: number;
  /** 16 hex digits; see `row-digest.ts` for what it tells. */
  readonly checksum: string;
  /** Segments that cannot be read, in words; their rows are not in the count. */
  readonly damage: readonly string[];
};

/** One table of a run on both sides. */
export type TableComparison = {
  readonly table: string;
  readonly isEqual: boolean;
  readonly local: TableDigest;
  readonly remote: TableDigest;
  /** Batches that one side has and the other has not: `writer/first-last`. */
  readonly missingRemote: readonly string[];
  readonly missingLocal: readonly string[];
};

/** A run on both sides. */
export type RunVerification = {
  readonly runId: string;
  /** Same run document, and the same rows in every table. */
  readonly isEqual: boolean;
  readonly isRunEqual: boolean;
  readonly tables: readonly TableComparison[];
};

const GROUP = { segments: 256, bytes: 16 << 20 };
/** A merge under way may take segments away between listing and reading. */
const MAX_ATTEMPTS = 8;

/**
 * Reads all rows of a run on both sides and compares counts and checksums. Tables that neither side has are left out.
 *
 * @throws {RunNotFoundError} when either side does not have the run
 * @throws {SessionStoreError} `deleted` when it was deleted on either side
 * @throws {SessionStoreError} when the service cannot be read
 * @throws {QuarkError} `aborted`
 */
export async function verifyRun(
  local: Store,
  remote: Store,
  runId: string,
  options: { readonly signal?: AbortSignal } = {},
): Promise<RunVerification> {
  const here = await local.findRun(runId);
  if (here === undefined) throw await missingRun(local, runId);
  const there = await remote.findRun(runId);
  if (there === undefined) throw await missingRun(remote, runId);
  const tables: TableComparison[] = [];
  for (const table of TABLES.values()) {
    checkNotAborted(options.signal);
    const compared = await compareTable(local, remote, table, runId, options.signal);
    if (compared !== undefined) tables.push(compared);
  }
  const runPath: unknown = Reflect.get(JSON.parse(here.document) as object, 'run_path');
  const theirs = toLocalForm(there, here.projectId, typeof runPath === 'string' ? runPath : '');
  // Each side counts generations for itself.
  const isRunEqual = areSameRuns(withGeneration(formOf(here), 1), withGeneration(theirs, 1));
  return {
    runId,
    isEqual: isRunEqual && tables.every(({ isEqual }) => isEqual),
    isRunEqual,
    tables,
  };
}

/** The error for a run that a side does not have: that it was deleted there, or that it never was. */
async function missingRun(store: Store, runId: string): Promise<Error> {
  const isDeleted = (await store.findDeletedRun(runId)) !== undefined;
  return isDeleted ? runDeleted(runId) : new RunNotFoundError(runId, store.uri);
}

async function compareTable(
  local: Store,
  remote: Store,
  table: TableDefinition,
  runId: string,
  signal: AbortSignal | undefined,
): Promise<TableComparison | undefined> {
  const [here, there] = [
    await digestTable(local, table, runId, signal),
    await digestTable(remote, table, runId, signal),
  ];
  const isEmpty = here.segments.length === 0 && there.segments.length === 0;
  if (isEmpty) return undefined;
  const [a, b] = [here.digest, there.digest];
  // Nobody sends batches whose rows were all deleted, so the other side may lack them.
  const emptied = coalesceRanges(
    [...here.segments, ...there.segments].filter(isEmptied).flatMap(batchesOf),
  );
  const missingRemote = missingFrom(there.segments, here.segments, emptied);
  const missingLocal = missingFrom(here.segments, there.segments, emptied);
  const isWhole =
    a.damage.length + b.damage.length + missingRemote.length + missingLocal.length === 0;
  return {
    table: table.table,
    isEqual: isWhole && areSame(here, there, emptied),
    local: a,
    remote: b,
    missingRemote: namesOf(missingRemote),
    missingLocal: namesOf(missingLocal),
  };
}

/**
 * Rows that were deleted on one side are missing there and nowhere else: the numbers of rows fit then; checksums are of different rows.
 * Where a side lacks batches that the other one has emptied, what is left beside those is compared.
 */
function areSame(here: SideOfTable, there: SideOfTable, emptied: readonly BatchRange[]): boolean {
  const all = [countOf(here, []), countOf(there, [])] as const;
  if (haveSameRows(...all)) return all[0].gone + all[1].gone > 0 || haveSameSums(here, there);
  if (emptied.length === 0) return false;
  const [a, b] = [countOf(here, emptied), countOf(there, emptied)];
  if (!haveSameRows(a, b)) return false;
  // Checksums are of all rows of a side.
  const isOfAll = a.rows === here.digest.rows && b.rows === there.digest.rows;
  return a.gone + b.gone > 0 || !isOfAll || haveSameSums(here, there);
}

type RowCount = { readonly rows: number; readonly gone: number };

/** Rows of a side, and those that were deleted, without segments that have only batches of `left`. */
function countOf({ segments }: SideOfTable, left: readonly BatchRange[]): RowCount {
  const counted = segments.filter((one) => rangesWithout(batchesOf(one), left).length > 0);
  return {
    rows: counted.reduce((sum, { rowCount }) => sum + rowCount, 0),
    gone: counted.reduce((sum, { droppedRows = 0 }) => sum + droppedRows, 0),
  };
}

function haveSameRows(a: RowCount, b: RowCount): boolean {
  return a.rows + a.gone === b.rows + b.gone;
}

function haveSameSums(here: SideOfTable, there: SideOfTable): boolean {
  return here.digest.checksum === there.digest.checksum;
}

function isEmptied({ droppedRows = 0, rowCount }: SegmentManifest): boolean {
  return rowCount === 0 && droppedRows > 0;
}

type SideOfTable = {
  readonly digest: TableDigest;
  readonly segments: readonly SegmentManifest[];
};

async function digestTable(
  store: Store,
  table: TableDefinition,
  runId: string,
  signal: AbortSignal | undefined,
): Promise<SideOfTable> {
  for (let attempt = 1; ; attempt++) {
    const segments = await store.listSegments({
      runId,
      table: table.table,
      superseded: true,
      empty: true,
    });
    const rows = new RowDigest();
    const damage: string[] = [];
    let isGone = false;
    const filled = segments.filter(({ rowCount }) => rowCount > 0);
    for (const group of groupSegments(filled, GROUP)) {
      checkNotAborted(signal);
      const reads = await store.readSegments(group);
      for (const [i, manifest] of group.entries()) {
        const result = await openSegment(table, manifest, reads[i] ?? { kind: 'gone' });
        if (result.kind === 'opened') rows.add(result.segment.batch);
        else if (result.kind === 'damaged')
          damage.push(`${segmentName(manifest)}: ${result.report.reason}`);
        else isGone = true;
      }
    }
    if (isGone && attempt < MAX_ATTEMPTS) continue;
    if (isGone) damage.push('its segments were merged again and again while they were read');
    const deletedRows = segments.reduce((sum, one) => sum + (one.droppedRows ?? 0), 0);
    const downsampledTo = downsamplingOf(segments).downsampledTo;
    const counts = {
      rows: rows.rows,
      ...(deletedRows > 0 ? { deletedRows } : {}),
      ...(downsampledTo === undefined ? {} : { downsampledTo }),
    };
    return { digest: { ...counts, checksum: rows.checksum, damage }, segments };
  }
}

/** Batches of `theirs` that `own` does not account for, without those of `emptied`. */
function missingFrom(
  own: readonly SegmentManifest[],
  theirs: readonly SegmentManifest[],
  emptied: readonly BatchRange[],
): readonly BatchRange[] {
  return rangesWithout(theirs.flatMap(batchesOf), [...own.flatMap(batchesOf), ...emptied]);
}

function namesOf(batches: readonly BatchRange[]): readonly string[] {
  return batches.map(({ batchLast, batchStart, writerId }) =>
    batchStart === batchLast
      ? `${writerId}/${batchStart}`
      : `${writerId}/${batchStart}-${batchLast}`,
  );
}
