/**
 * Columns of a table that segments are put into, one after the other, so that no segment is in memory longer than it is read. Segments
 * whose sequence numbers overlap, as those of one merge do, come beside each other: their rows wait on a stage and are put in order when
 * the last of them is there, while they are in the processor's caches.
 */
import { ascendingOrder, isAscending } from '../base/ascending-order.ts';
import type { TableDefinition } from '../schema/table.ts';
import { decodeSegment, type ReadySegment } from '../segment/open-segment.ts';
import type { SegmentManifest } from '../store/store.ts';
import { trimmedTo, type Cells } from './columns/column-cells.ts';
import type { EvenSpan } from './columns/interleaving.ts';
import { Scratch } from './columns/scratch.ts';
import {
  columnsOfFilter,
  matchRows,
  partOf,
  wantedKeys,
  type RowFilter,
  type RowPart,
} from './match-rows.ts';
import type { SegmentVisitor } from './scan.ts';

/** Largest number of rows that are foreseen, in multiples of those that came: manifests may claim any number. */
const MAX_FORESIGHT = 64;

/** What is wanted of a table. */
export type BuilderQuery = {
  readonly table: TableDefinition;
  readonly rows: RowFilter;
  /** The columns by their stored names. */
  readonly cells: readonly (readonly [stored: string, cells: Cells<unknown>])[];
};

/** The rows that a builder has, and the order in which they are to be taken; null for as they are. */
export type BuiltRows = {
  readonly sequences: Float64Array;
  readonly count: number;
  readonly order: Int32Array | null;
};

/** Loaded where there are many rows. */
export type InterleavingModule = typeof import('./columns/interleaving.ts');

/** Rows that have come, and for how many there is room. */
type Extent = { sequences: Float64Array; count: number; readonly expected: number };

/** Puts rows into cells. */
export class ColumnBuilder implements SegmentVisitor {
  readonly #query: BuilderQuery;
  readonly #names: ReadonlySet<string>;
  readonly #groups: ReadonlyMap<SegmentManifest, Group>;
  readonly #all: Extent;
  #stage: Extent = noRows(0);
  /** Of the rows on the stage; null when they are not evenly spaced. */
  #spans: EvenSpan[] | null = [];
  readonly #interleaving: InterleavingModule | undefined;
  #group: Group | undefined;
  /** Memory that segments are unpacked into, one after the other. */
  readonly #scratch = new Scratch();

  /** @param interleaving puts merged rows in order faster than a sort; not needed for few */
  constructor(
    query: BuilderQuery,
    manifests: readonly SegmentManifest[],
    interleaving?: InterleavingModule,
  ) {
    this.#interleaving = interleaving;
    const { cells, rows, table } = query;
    this.#query = query;
    this.#names = new Set([...cells.map(([stored]) => stored), ...columnsOfFilter(table, rows)]);
    const keys = wantedKeys(table, rows);
    const expected = (manifest: SegmentManifest): number => expectedRows(manifest, keys);
    this.#groups = groupsOf(manifests, expected);
    this.#all = noRows(manifests.reduce((sum, manifest) => sum + expected(manifest), 0));
  }

  visit(ready: ReadySegment): void {
    const { rows: filter, table } = this.#query;
    this.#scratch.reset();
    const segment = decodeSegment(table, ready, { names: this.#names, room: this.#scratch.take });
    const rows = matchRows(table, segment, filter);
    const part = rows === null ? segment : partOf(segment, rows);
    const group = this.#groups.get(segment.manifest);
    if (group !== this.#group) this.#endGroup(group);
    this.add(part, group?.isAlone !== true || !isAscending(part.sequences));
  }

  /** Adds rows behind the others, or to those that wait to be put in order. */
  add({ batch, sequences }: RowPart, isStage = false): void {
    const { columns, rowCount } = batch;
    if (rowCount === 0) return;
    const extent = isStage ? this.#stage : this.#all;
    const at = extent.count;
    if (isStage && this.#spans !== null) {
      const spans = this.#interleaving?.evenSpans(sequences, at) ?? null;
      if (spans === null) this.#spans = null;
      else this.#spans.push(...spans);
    }
    this.#reserve(isStage, extent, at + rowCount);
    for (const [stored, cells] of this.#query.cells)
      cells.write(isStage, columns.get(stored), rowCount, at);
    extent.sequences.set(sequences, at);
    extent.count = at + rowCount;
  }

  /** The rows, when all have been added; of a limit the last ones. */
  finish(limit: number): BuiltRows {
    this.#endGroup(undefined);
    const { count } = this.#all;
    const sequences = trimmedTo(this.#all.sequences, count);
    return { sequences, count, order: orderBy(sequences, limit) };
  }

  /** Puts what waits behind the others, in order. */
  #endGroup(next: Group | undefined): void {
    this.#group = next;
    const { count, sequences: all } = this.#stage;
    if (count > 0) {
      const at = this.#all.count;
      this.#reserve(false, this.#all, at + count);
      const rows = this.#spans && this.#interleaving?.interleavingOf(this.#spans, count);
      const { sequences } = this.#all;
      if (rows) {
        for (const [, cells] of this.#query.cells) cells.interleave(rows, at);
        for (let i = 0; i < count; i++) sequences[at + i] = rows.firstSequence + i;
      } else {
        const order = ascendingOrder(all.subarray(0, count));
        for (const [, cells] of this.#query.cells) cells.arrange(order, at);
        for (let i = 0; i < count; i++) sequences[at + i] = all[order[i] ?? 0] ?? Number.NaN;
      }
      this.#all.count = at + count;
    }
    this.#spans = [];
    // The room stays for the next group.
    this.#stage = { ...this.#stage, count: 0, expected: next?.rowCount ?? 0 };
  }

  /** @param rowCount rows that are there, or about to be */
  #reserve(isStage: boolean, extent: Extent, rowCount: number): void {
    const { count, expected, sequences: before } = extent;
    if (rowCount <= before.length) return;
    const capacity = Math.max(
      rowCount,
      Math.min(expected, MAX_FORESIGHT * rowCount),
      Math.ceil(1.5 * before.length),
    );
    extent.sequences = new Float64Array(capacity);
    extent.sequences.set(before.subarray(0, count));
    for (const [, cells] of this.#query.cells) cells.reserve(isStage, capacity, count);
  }
}

function noRows(expected: number): Extent {
  return { sequences: new Float64Array(0), count: 0, expected };
}

/** Rows in order of their sequence numbers, the last `limit` of them; null when they are in order and all wanted. */
export function orderBy(
  sequences: Float64Array,
  limit: number = Number.POSITIVE_INFINITY,
): Int32Array | null {
  if (sequences.length <= limit && isAscending(sequences)) return null;
  const order = ascendingOrder(sequences);
  return sequences.length > limit ? order.subarray(sequences.length - limit) : order;
}

/** Segments whose sequence numbers overlap. */
type Group = { readonly rowCount: number; readonly isAlone: boolean };

/** The group of each segment: those between two numbers that no segment reaches across. */
function groupsOf(
  manifests: readonly SegmentManifest[],
  expected: (manifest: SegmentManifest) => number,
): ReadonlyMap<SegmentManifest, Group> {
  const firstFrom = new Float64Array(manifests.length + 1).fill(Number.POSITIVE_INFINITY);
  for (let i = manifests.length - 1; i >= 0; i--)
    firstFrom[i] = Math.min(firstFrom[i + 1] ?? 0, manifests[i]?.firstSequence ?? 0);
  const groups = new Map<SegmentManifest, Group>();
  let members: SegmentManifest[] = [];
  let last = Number.NEGATIVE_INFINITY;
  for (const [i, manifest] of manifests.entries()) {
    members.push(manifest);
    last = Math.max(last, manifest.lastSequence);
    if (last >= (firstFrom[i + 1] ?? 0)) continue;
    const rowCount = members.reduce((sum, member) => sum + expected(member), 0);
    const group = { rowCount, isAlone: members.length === 1 };
    for (const member of members) groups.set(member, group);
    members = [];
  }
  return groups;
}

function expectedRows(
  { keys, rowCount }: SegmentManifest,
  wanted: readonly string[] | undefined,
): number {
  if (wanted === undefined || keys === null || keys.length === 0) return rowCount;
  return Math.ceil((rowCount * keys.filter((key) => wanted.includes(key)).length) / keys.length);
}
