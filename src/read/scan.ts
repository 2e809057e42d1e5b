/** From a filter to the rows of matching segments. Damaged segments are reported and left out. */
import { invalidInput, SessionStoreError } from '../base/errors.ts';
import type { TableDefinition } from '../schema/table.ts';
import { gatherRows } from '../segment/batch-ops.ts';
import { groupSegments } from '../segment/group-segments.ts';
import {
  damageOf,
  decodeSegment,
  readySegment,
  type DamageReport,
  type OpenedSegment,
  type ReadyResult,
  type ReadySegment,
} from '../segment/open-segment.ts';
import type { RowBatch, Vector } from '../codecs/arrow/vectors.ts';
import type { SegmentFilter, SegmentManifest, SegmentSource } from '../store/store.ts';
import { segmentFilter, type Position, type Range } from './filters.ts';

/** Bytes that are fetched at a time. */
const FETCH_BYTES = 32 << 20;
const FETCH_SEGMENTS = 512;
/** Segments that are inflated at a time, while those before are read: as many as Node has threads for it. */
const READY_SEGMENTS = 4;
/** A merge under way may take segments away between listing and reading; it cannot do so for ever. */
const MAX_ATTEMPTS = 8;

/** Takes the segments of a scan one after the other. */
export type SegmentVisitor = {
  /** What it throws because of the content of the segment is reported as damage; it has taken nothing of it then. */
  readonly visit: (segment: ReadySegment) => void;
};

/** How a scan goes about it. */
export type ScanOptions = {
  /** Leaves out segments whose manifest says more than a filter can ask for. */
  readonly mayMatch?: (manifest: SegmentManifest) => boolean;
  /** What the filter finds, where the caller has just listed it. */
  readonly listed?: readonly SegmentManifest[];
  /** What is fetched at a time at most. */
  readonly fetch?: { readonly bytes: number; readonly segments: number };
  /** Waited for before each segment: others have their turn. What it throws ends the scan. */
  readonly turn?: () => Promise<void>;
};

/**
 * Shows every segment that may hold matching rows to a visitor, in their order. Where segments were merged on the way it begins anew,
 * with another visitor.
 */
export async function scanSegments<V extends SegmentVisitor>(
  store: SegmentSource,
  filter: SegmentFilter,
  begin: (manifests: readonly SegmentManifest[]) => V,
  options: ScanOptions = {},
): Promise<{ readonly visitor: V; readonly damage: readonly DamageReport[] }> {
  const { mayMatch = () => true } = options;
  let { listed } = options;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const manifests = (listed ?? (await store.listSegments(filter))).filter(mayMatch);
    listed = undefined;
    const visitor = begin(manifests);
    const damage = await scanOnce(store, manifests, visitor, options);
    if (damage !== undefined) return { visitor, damage };
  }
  throw new SessionStoreError(
    'busy',
    `The ${filter.table} of run ${filter.runId} were merged again and again while they were read. Try again.`,
    { details: { runId: filter.runId } },
  );
}

/** What could not be read; undefined when a segment is gone. */
async function scanOnce(
  store: SegmentSource,
  manifests: readonly SegmentManifest[],
  visitor: SegmentVisitor,
  { fetch = { segments: FETCH_SEGMENTS, bytes: FETCH_BYTES }, turn }: ScanOptions,
): Promise<readonly DamageReport[] | undefined> {
  const damage: DamageReport[] = [];
  for (const group of groupSegments(manifests, fetch)) {
    const reads = await store.readSegments(group);
    const readyFrom = (start: number): Promise<readonly ReadyResult[]> => {
      const ready = Promise.all(
        group
          .slice(start, start + READY_SEGMENTS)
          .map((manifest, i) => readySegment(manifest, reads[start + i] ?? { kind: 'gone' })),
      );
      // Waited for later, or not at all when something before fails.
      ready.catch(() => undefined);
      return ready;
    };
    let next = readyFrom(0);
    for (let start = 0; start < group.length; start += READY_SEGMENTS) {
      const results = await next;
      next = readyFrom(start + READY_SEGMENTS);
      for (const result of results) {
        await turn?.();
        if (result.kind === 'gone') return undefined;
        if (result.kind === 'damaged') damage.push(result.report);
        else
          try {
            visitor.visit(result.segment);
          } catch (error) {
            damage.push(damageOf(result.segment.manifest, error));
          }
      }
    }
  }
  return damage;
}

/** A run and the store to read it from. */
export type RunSource = { readonly store: SegmentSource } & (
  | { readonly runId: string }
  | { readonly run: { readonly id: string } }
);

/** The id of the run. */
export function runIdOf(source: RunSource): string {
  return 'runId' in source ? source.runId : source.run.id;
}

/** @throws {QuarkError} `invalid_input` unless it is a run to read from */
export function checkRunSource<T extends RunSource>(field: string, source: T): T {
  const given: unknown = source;
  const isSource =
    typeof given === 'object' &&
    given !== null &&
    typeof source.store?.listSegments === 'function' &&
    typeof ('runId' in source ? source.runId : source.run?.id) === 'string';
  if (!isSource) throw invalidInput(field, given, 'a run to read: await openRun(store, runId)');
  return source;
}

/** Wanted values of key columns, by the names of code: one, or any of a list. Undefined asks for all. */
export type KeyConditions = {
  readonly [column: string]: string | readonly string[] | undefined;
};

/** Which rows of a table to read. All conditions are joined by "and". */
export type RowFilter = {
  readonly position: Position;
  readonly conditions?: KeyConditions;
  /** A test of the values of the table's key column, beside its condition. */
  readonly isKey?: ((key: string) => boolean) | undefined;
  /** Only these sequence numbers. */
  readonly sequences?: readonly number[];
};

/** The rows of one segment that match. The columns are shared with the segment: do not change them. */
export type RowPart = Pick<OpenedSegment, 'manifest' | 'batch' | 'sequences'>;

/** What `visit` returns for the matching rows of each segment, in the order of the segments. */
export async function scanRows<T>(
  source: RunSource,
  table: TableDefinition,
  filter: RowFilter,
  visit: (part: RowPart) => T,
): Promise<{ readonly parts: readonly T[]; readonly damage: readonly DamageReport[] }> {
  const { conditions = {}, position, sequences } = filter;
  const isNothing = (wanted: unknown): boolean => Array.isArray(wanted) && wanted.length === 0;
  if (isNothing(sequences) || Object.values(conditions).some(isNothing))
    return { parts: [], damage: [] };
  const ascending = sequences?.toSorted((a, b) => a - b);
  const { damage, visitor } = await scanSegments(
    source.store,
    segmentFilter(runIdOf(source), table.table, position, wantedKeys(table, filter)),
    () => new PartCollector(table, filter, visit),
    ascending === undefined ? {} : { mayMatch: holdsOneOf(ascending) },
  );
  return { parts: visitor.parts, damage };
}

/** Values of the key column that manifests are asked for; undefined for all. */
export function wantedKeys(
  { keyColumn }: TableDefinition,
  { conditions = {} }: RowFilter,
): readonly string[] | undefined {
  const wanted = keyColumn === undefined ? undefined : conditions[keyColumn];
  return wanted === undefined ? undefined : [wanted].flat();
}

class PartCollector<T> implements SegmentVisitor {
  readonly parts: T[] = [];
  readonly #table: TableDefinition;
  readonly #filter: RowFilter;
  readonly #visit: (part: RowPart) => T;

  constructor(table: TableDefinition, filter: RowFilter, visit: (part: RowPart) => T) {
    this.#table = table;
    this.#filter = filter;
    this.#visit = visit;
  }

  visit(ready: ReadySegment): void {
    const segment = decodeSegment(this.#table, ready);
    const rows = matchRows(this.#table, segment, this.#filter);
    const part = rows === null ? segment : partOf(segment, rows);
    if (part.batch.rowCount > 0 || rows === null) this.parts.push(this.#visit(part));
  }
}

/** Some rows of a segment. */
export function partOf(segment: RowPart, rows: Int32Array): RowPart {
  const { batch, manifest, sequences } = segment;
  return {
    manifest,
    batch: gatherRows(batch, rows),
    sequences: Float64Array.from(rows, (row) => sequences[row] ?? 0),
  };
}

/** Rows of a segment that match, in their order; null when all do. */
export function matchRows(
  table: TableDefinition,
  segment: RowPart,
  { conditions = {}, isKey, position, sequences: wanted }: RowFilter,
): Int32Array | null {
  const { batch, manifest, sequences } = segment;
  const { epoch, sequenceMin, step } = position;
  const numbers = wanted === undefined ? undefined : new Set(wanted);
  const tests: ((row: number) => boolean)[] = [];
  if (manifest.firstSequence < sequenceMin)
    tests.push((row) => (sequences[row] ?? 0) >= sequenceMin);
  if (numbers !== undefined) tests.push((row) => numbers.has(sequences[row] ?? -1));
  for (const [name, value] of Object.entries(conditions))
    if (value !== undefined) {
      const values = new Set([value].flat());
      addKeyTest(tests, table, batch, name, (text) => values.has(text));
    }
  if (isKey !== undefined && table.keyColumn !== undefined)
    addKeyTest(tests, table, batch, table.keyColumn, isKey);
  if (step !== null) tests.push(inRange(batch.columns.get('step'), step));
  if (epoch !== null) tests.push(inRange(batch.columns.get('epoch'), epoch));
  if (tests.length === 0) return null;
  const [test] = tests;
  const isWanted =
    tests.length === 1 && test !== undefined
      ? test
      : (row: number): boolean => tests.every((each) => each(row));
  const rows = new Int32Array(batch.rowCount);
  let count = 0;
  for (let row = 0; row < batch.rowCount; row++) if (isWanted(row)) rows[count++] = row;
  return count === batch.rowCount ? null : rows.subarray(0, count);
}

/** Adds a test of a key column, unless every row passes it. */
function addKeyTest(
  tests: ((row: number) => boolean)[],
  table: TableDefinition,
  batch: RowBatch,
  name: string,
  isWanted: (key: string) => boolean,
): void {
  const vector = batch.columns.get(table.storedNames.get(name) ?? name);
  if (vector?.kind !== 'key') {
    tests.push(() => false);
    return;
  }
  const { dictionary, indices } = vector;
  const wanted = Uint8Array.from(dictionary, (key) => (isWanted(key) ? 1 : 0));
  if (wanted.includes(0) || table.columns[name]?.isNullable !== false)
    tests.push((row) => wanted[indices[row] ?? -1] === 1);
}

function inRange(column: Vector | undefined, { max, min }: Range): (row: number) => boolean {
  if (column?.kind !== 'number') return () => false;
  const { values } = column;
  return (row) => {
    const value = values[row] ?? Number.NaN;
    return value >= min && value <= max;
  };
}

/** Whether a segment spans one of the numbers, which are ascending. */
function holdsOneOf(ascending: readonly number[]): (manifest: SegmentManifest) => boolean {
  return ({ firstSequence, lastSequence }) => {
    let from = 0;
    for (let to = ascending.length; from < to;) {
      const middle = (from + to) >>> 1;
      if ((ascending[middle] ?? 0) < firstSequence) from = middle + 1;
      else to = middle;
    }
    return (ascending[from] ?? Number.POSITIVE_INFINITY) <= lastSequence;
  };
}
