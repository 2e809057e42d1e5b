/**
 * Merging: many small segments become few large ones, rows of one key side by side, packed. Reading one metric then
 * touches its own segments only. Safe at any time and by anyone: the exchange is one transaction that fails when
 * somebody else merged first.
 */
import { Breather } from '../base/breather.ts';
import type { TableDefinition } from '../schema/table.ts';
import type { SegmentManifest, Store } from '../store/store.ts';
import { mergeableSegments } from '../store/unsent.ts';
import { groupSegments } from './group-segments.ts';
import { MERGED_ROWS } from './merged-rows.ts';
import { rowMerge, WINDOW_BYTES, type MergeName, type MergeWork } from './row-merge.ts';

/**
 * Merged windows that are regrouped: what was merged before, of several keys each, becomes segments of one key. It takes the same cuts
 * of all windows at a time, which have about the same keys, so that it is no larger than a merge of a window or three.
 */
const REGROUP_WINDOWS = 8;
const LEAST_WINDOWS = 2;
const REGROUP_ROWS = 3 * MERGED_ROWS;
/** What is read at a time: what a merge needs beside the rows themselves, and some milliseconds of a thread. */
const READ_AT_ONCE = { rows: 1 << 16, bytes: 8 << 20, segments: 64 };
/** Segments that are a window, however few rows they have. */
const WHOLE_SEGMENTS = 1 << 10;
/** Segments with fewer rows are merged again, unless their rows are long. */
const SMALL_ROWS = 1 << 14;
const SMALL_BYTES = 4 << 20;

/** What a merge did. */
export type CompactResult = {
  readonly removed: number;
  readonly added: number;
  /** False when there is more to merge: a limit was reached, or somebody else merged meanwhile. */
  readonly isDone: boolean;
};

/** Bounds of a merge that shares its thread and its store with others; whatever is left out is as large as it gets. */
export type CompactLimits = {
  /** Rows and segments that are merged at a time, which bounds memory and how long a thread is busy. */
  readonly rows?: number;
  readonly segments?: number;
  /** Merges of that size in all. */
  readonly merges?: number;
  /** True: only whole windows are merged, because more rows will come. Default false: everything. */
  readonly isGrowing?: boolean;
  /** Between two merges: nothing more is begun once it is aborted. */
  readonly signal?: AbortSignal;
  /** Merges a window. Default: on this thread. */
  readonly merge?: MergeWindow | undefined;
};

/** What the merge of a window did. */
export type MergedWindow = {
  readonly removed: number;
  readonly added: number;
  /** Segments of the window that were looked at, from its start. */
  readonly seen: number;
};

/** Merges a window: {@link mergeWindow}, or the same with another thread. */
export type MergeWindow = (
  store: Store,
  name: MergeName,
  window: readonly SegmentManifest[],
) => Promise<MergedWindow | undefined>;

/**
 * Merges small and unpacked segments of one table of a run, from the oldest on.
 *
 * @param mergeId unique name for the merged segments; becomes their writer id
 * @param limits how much is merged at a time and in all
 */
export async function compactTable(
  store: Store,
  table: TableDefinition,
  runId: string,
  mergeId: string,
  limits: CompactLimits = {},
): Promise<CompactResult> {
  let removed = 0;
  let added = 0;
  let count = 0;
  let isDone = true;
  for (const choose of [smallWindows, regroups]) {
    const segments = await mergeableSegments(store, runId, table.table);
    for (const window of choose(segments, limits)) {
      for (let rest = window; rest.length > 1 || rest[0]?.encoding === 'arrow';) {
        if (limits.signal?.aborted === true || count >= (limits.merges ?? Number.POSITIVE_INFINITY))
          return { removed, added, isDone: false };
        const name = { table, runId, mergeId: `${mergeId}-${count++}` };
        const merged = await (limits.merge ?? mergeWindow)(store, name, rest);
        if (merged === undefined) {
          isDone = false;
          break;
        }
        removed += merged.removed;
        added += merged.added;
        rest = rest.slice(merged.seen);
      }
    }
    // One window has nothing to be regrouped with, and who says how much is merged at a time merges once.
    const isSmall = rowsOf(segments) < (LEAST_WINDOWS - 0.5) * MERGED_ROWS;
    if (isSmall || limits.rows !== undefined || table.keyColumn === undefined) break;
  }
  return { removed, added, isDone };
}

/** Small and unpacked segments, in windows. */
function smallWindows(
  segments: readonly SegmentManifest[],
  limits: CompactLimits,
): SegmentManifest[][] {
  const small = segments.filter(
    ({ encoding, rowCount, sizeBytes }) =>
      encoding === 'arrow' || (rowCount < SMALL_ROWS && sizeBytes < SMALL_BYTES),
  );
  const windows = groupSegments(small, { rows: MERGED_ROWS, bytes: WINDOW_BYTES, ...limits });
  const last = windows.at(-1) ?? [];
  const isWhole = rowsOf(last) > MERGED_ROWS / 2 || last.length >= WHOLE_SEGMENTS;
  return limits.isGrowing === true && !isWhole ? windows.slice(0, -1) : windows;
}

/**
 * Segments of several keys that windows were merged to, in groups of those with the same keys: while rows come, once there are enough
 * windows of them. The last window stays as it is, so that the last rows of a table lie in few and small segments.
 */
function regroups(
  segments: readonly SegmentManifest[],
  limits: CompactLimits,
): SegmentManifest[][] {
  const end = segments.reduce((most, { lastSequence }) => Math.max(most, lastSequence), 0);
  const mixed = segments.filter(
    ({ encoding, firstSequence, keys, lastSequence, rowCount }) =>
      encoding === 'packed' &&
      keys?.length !== 1 &&
      rowCount >= SMALL_ROWS &&
      lastSequence - firstSequence <= MERGED_ROWS &&
      lastSequence < end - MERGED_ROWS / 2,
  );
  const least = limits.isGrowing === true ? REGROUP_WINDOWS : LEAST_WINDOWS;
  if (rowsOf(mixed) < (least - 0.5) * MERGED_ROWS) return [];
  mixed.sort((a, b) => a.batchNumber - b.batchNumber || a.firstSequence - b.firstSequence);
  const groups: SegmentManifest[][] = [];
  let group: SegmentManifest[] = [];
  for (const manifest of mixed) {
    const rows = rowsOf(group);
    const isNext = manifest.batchNumber !== group.at(-1)?.batchNumber;
    if (rows + manifest.rowCount > REGROUP_ROWS || (isNext && rows >= MERGED_ROWS / 2)) {
      groups.push(group);
      group = [];
    }
    group.push(manifest);
  }
  return [...groups, group].filter(({ length }) => length > 1);
}

function rowsOf(segments: readonly SegmentManifest[]): number {
  return segments.reduce((sum, { rowCount }) => sum + rowCount, 0);
}

/**
 * Merges the segments of a window from its start, as many as fit into memory once they are unpacked: `seen`. They are read a few at a
 * time: their bytes are released before the next are read. Undefined when one of them is gone.
 */
export async function mergeWindow(
  store: Store,
  name: MergeName,
  window: readonly SegmentManifest[],
  work: MergeWork = rowMerge(name),
): Promise<MergedWindow | undefined> {
  const { runId, table } = name;
  const breather = new Breather();
  const manifests: SegmentManifest[] = [];
  let seen = 0;
  try {
    for (const group of groupSegments(window, READ_AT_ONCE)) {
      const reads = await store.readSegments(group);
      const segments = group.flatMap((manifest, i) => {
        const read = reads[i];
        return read === undefined || read.kind === 'gone' ? [] : [{ manifest, read }];
      });
      if (segments.length < group.length) return undefined;
      const found = await work.add(segments);
      manifests.push(...found.taken.flatMap((at) => group[at] ?? []));
      seen += found.seen;
      if (found.seen < group.length) break;
      await breather.breathe();
    }
    const [first] = manifests;
    if (first === undefined || (manifests.length === 1 && first.encoding === 'packed'))
      return { removed: 0, added: 0, seen };
    const merged = await work.finish();
    const isReplaced = await store.replaceSegments(runId, table.table, manifests, merged);
    return isReplaced ? { removed: manifests.length, added: merged.length, seen } : undefined;
  } finally {
    work.end?.();
  }
}
