/**
 * Merging: many small segments become few large ones, rows of one key side by side, packed. Reading one metric then
 * touches its own segments only. Safe at any time and by anyone: the exchange is one transaction that fails when
 * somebody else merged first.
 */
import { Breather } from '../base/breather.ts';
import { nextTask } from '../base/next-task.ts';
import type { TableDefinition } from '../schema/table.ts';
import type { SegmentManifest, Store } from '../store/store.ts';
import { mergeableSegments } from '../store/unsent.ts';
import { groupSegments } from './group-segments.ts';
import { MERGED_ROWS, MERGED_SEGMENTS } from './merged-rows.ts';
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
  /** True: a thread that records goes on meanwhile, which must not wait for more than a step of a merge. Default false. */
  readonly isShared?: boolean;
  /** Between two merges: nothing more is begun once it is aborted. */
  readonly signal?: AbortSignal;
  /** Merges a window. Default: on this thread. */
  readonly merge?: MergeWindow | undefined;
  /**
   * By table, the sequence number before which nothing is left to merge: segments before it are not listed. Written by the merge, for the
   * next one of the same run. Default: everything is listed.
   */
  readonly positions?: Map<string, number>;
};

/** What the merge of a window did. */
export type MergedWindow = {
  readonly removed: readonly SegmentManifest[];
  readonly added: readonly SegmentManifest[];
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
  const position = limits.positions?.get(table.table) ?? 0;
  const found = await mergeableSegments(store, runId, table.table, position);
  let { segments } = found;
  // Each step has a turn of the event loop for itself where more rows come: their flushes are long enough without.
  const turn = limits.isShared === true ? nextTask : undefined;
  await turn?.();
  const work = { removed: 0, added: 0, count: 0 };
  let end = 0;
  let isDone = true;
  for (const choose of [smallWindows, regroups]) {
    if (choose === regroups && !mayRegroup(table, segments, limits)) break;
    const windows = choose(segments, limits);
    if (choose === regroups && windows.length > 0) end = regroupEnd(segments);
    for (const window of windows) {
      for (let rest = window; rest.length > 1 || rest[0]?.encoding === 'arrow';) {
        if (
          limits.signal?.aborted === true ||
          work.count >= (limits.merges ?? Number.POSITIVE_INFINITY)
        )
          return { removed: work.removed, added: work.added, isDone: false };
        const name = { table, runId, mergeId: `${mergeId}-${work.count++}`, turn };
        const merged = await (limits.merge ?? mergeWindow)(store, name, rest);
        if (merged === undefined) {
          isDone = false;
          break;
        }
        const gone = new Set(merged.removed);
        segments = [...segments.filter((one) => !gone.has(one)), ...merged.added];
        work.removed += merged.removed.length;
        work.added += merged.added.length;
        rest = rest.slice(merged.seen);
      }
    }
  }
  if (limits.positions !== undefined) {
    const left = segments.filter(
      (one) =>
        isSmall(one) || (limits.rows === undefined && isMixed(one) && one.lastSequence >= end),
    );
    const next = left.reduce(
      (least, one) => Math.min(least, one.firstSequence),
      endOf(segments) + 1,
    );
    limits.positions.set(table.table, Math.max(position, Math.min(next, found.waiting)));
  }
  return { removed: work.removed, added: work.added, isDone };
}

/** One window has nothing to be regrouped with, and who says how much is merged at a time merges once. */
function mayRegroup(
  table: TableDefinition,
  segments: readonly SegmentManifest[],
  { rows }: CompactLimits,
): boolean {
  const isEnough = rowsOf(segments) >= (LEAST_WINDOWS - 0.5) * MERGED_ROWS;
  return isEnough && rows === undefined && table.keyColumn !== undefined;
}

/** A segment that a merge takes. */
function isSmall({ encoding, rowCount, sizeBytes }: SegmentManifest): boolean {
  return encoding === 'arrow' || (rowCount < SMALL_ROWS && sizeBytes < SMALL_BYTES);
}

/** A segment of several keys that a window was merged to. */
function isMixed(one: SegmentManifest): boolean {
  return (
    one.encoding === 'packed' &&
    one.keys?.length !== 1 &&
    one.rowCount >= SMALL_ROWS &&
    one.lastSequence - one.firstSequence <= MERGED_ROWS
  );
}

/** Segments that end before it are regrouped. */
function regroupEnd(segments: readonly SegmentManifest[]): number {
  return endOf(segments) - MERGED_ROWS / 2;
}

function endOf(segments: readonly SegmentManifest[]): number {
  return segments.reduce((most, { lastSequence }) => Math.max(most, lastSequence), -1);
}

/** Small and unpacked segments, in windows. */
function smallWindows(
  segments: readonly SegmentManifest[],
  limits: CompactLimits,
): SegmentManifest[][] {
  const small = segments.filter(isSmall);
  const windows = groupSegments(small, {
    rows: MERGED_ROWS,
    segments: MERGED_SEGMENTS,
    bytes: WINDOW_BYTES,
    ...limits,
  });
  const last = windows.at(-1) ?? [];
  const isWhole = rowsOf(last) > MERGED_ROWS / 2 || last.length >= MERGED_SEGMENTS;
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
  const end = regroupEnd(segments);
  const mixed = segments.filter((one) => isMixed(one) && one.lastSequence < end);
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
      await (name.turn ?? (() => breather.breathe()))();
    }
    const [first] = manifests;
    if (first === undefined || (manifests.length === 1 && first.encoding === 'packed'))
      return { removed: [], added: [], seen };
    const merged = await work.finish();
    await name.turn?.();
    const isReplaced = await store.replaceSegments(runId, table.table, manifests, merged);
    await name.turn?.();
    const added = merged.map(({ manifest }) => manifest);
    return isReplaced ? { removed: manifests, added, seen } : undefined;
  } finally {
    work.end?.();
  }
}
