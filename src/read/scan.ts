/** From a filter to the rows of matching segments. Damaged segments are reported and left out. */
import { ascendingOrder } from '../base/ascending-order.ts';
import { invalidInput, isQuarkError, SessionStoreError } from '../base/errors.ts';
import { segmentName } from '../records/shapes/manifest.ts';
import type { TableDefinition } from '../schema/table.ts';
import { loadUnpacker } from '../codecs/packed/unpacker.ts';
import { groupSegments } from '../segment/group-segments.ts';
import {
  damageOf,
  decodeSegment,
  readySegment,
  type DamageReport,
  type ReadyResult,
  type ReadySegment,
} from '../segment/open-segment.ts';
import type { SegmentFilter, SegmentManifest, SegmentSource } from '../store/store.ts';
import { segmentFilter } from './filters.ts';
import {
  holdsOneOf,
  latestRows,
  matchRows,
  partOf,
  wantedKeys,
  type RowFilter,
  type RowPart,
} from './match-rows.ts';

/** Bytes that are fetched at a time. */
const FETCH_BYTES = 8 << 20;
const FETCH_SEGMENTS = 512;
/** Segments that are inflated at a time, while those before are read: as many as Node has threads for it. */
const READY_SEGMENTS = 4;
/** Rows from which on it pays to load what reads them faster. */
export const MANY_ROWS: number = 1 << 15;
/** A merge under way may take segments away between listing and reading; it cannot do so for ever. */
const MAX_ATTEMPTS = 8;
/** How far back the last rows are looked for at first, in sequence numbers, and how many times as far after that. */
const FIRST_REACH = 4096;
const REACH_FACTOR = 8;
/** Segments that are read at a time then. */
const WALK_SEGMENTS = 4;

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
  begin: (manifests: readonly SegmentManifest[]) => V | Promise<V>,
  options: ScanOptions = {},
): Promise<{ readonly visitor: V; readonly damage: readonly DamageReport[] }> {
  const { mayMatch = () => true } = options;
  let { listed } = options;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const manifests = (listed ?? (await store.listSegments(filter))).filter(mayMatch);
    listed = undefined;
    const visitor = await begin(manifests);
    const damage = await scanOnce(store, manifests, visitor, options);
    if (damage !== undefined) return { visitor, damage };
  }
  throw mergedTooOften(filter.runId, filter.table);
}

function mergedTooOften(runId: string, table: string): SessionStoreError {
  return new SessionStoreError(
    'busy',
    `The ${table} of run ${runId} were merged again and again while they were read. Try again.`,
    { details: { runId } },
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
  const unpacker = packedRows(manifests) >= MANY_ROWS ? loadUnpacker() : undefined;
  for (const group of groupSegments(manifests, fetch)) {
    const reads = await store.readSegments(group);
    const unpack = await unpacker;
    const readyFrom = (start: number): Promise<readonly ReadyResult[]> => {
      const ready = Promise.all(
        group
          .slice(start, start + READY_SEGMENTS)
          .map((manifest, i) =>
            readySegment(manifest, reads[start + i] ?? { kind: 'gone' }, unpack),
          ),
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

function packedRows(manifests: readonly SegmentManifest[]): number {
  return manifests.reduce(
    (sum, { encoding, rowCount }) => (encoding === 'packed' ? sum + rowCount : sum),
    0,
  );
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

/**
 * What `visit` returns for the matching rows of each segment, in the order of the segments. Of a limit, the last rows are among those
 * that are visited, and few others where the store says how long the table is: it is read from its end backwards then.
 */
export async function scanRows<T>(
  source: RunSource,
  table: TableDefinition,
  filter: RowFilter,
  visit: (part: RowPart) => T,
): Promise<{ readonly parts: readonly T[]; readonly damage: readonly DamageReport[] }> {
  const begin = (): PartCollector<T> => new PartCollector(table, filter, visit);
  const { limit } = filter.position;
  if (limit < Number.POSITIVE_INFINITY && !asksForNothing(filter)) {
    const end = await endOf(source.store, runIdOf(source), table.table);
    if (end !== undefined)
      return walkBack(source, { table, filter, end, begin, ...optionsOf(filter) });
  }
  const { damage, visitor } = await scanTable(source, table, filter, begin);
  return { parts: visitor.parts, damage };
}

/** Shows every segment that may have rows for a filter to a visitor, in their order. */
export async function scanTable<V extends SegmentVisitor>(
  source: RunSource,
  table: TableDefinition,
  filter: RowFilter,
  begin: (manifests: readonly SegmentManifest[]) => V | Promise<V>,
): Promise<{ readonly visitor: V; readonly damage: readonly DamageReport[] }> {
  if (asksForNothing(filter)) return { visitor: await begin([]), damage: [] };
  return scanSegments(
    source.store,
    segmentFilter(runIdOf(source), table.table, filter.position, wantedKeys(table, filter)),
    begin,
    optionsOf(filter),
  );
}

/** A list of values without one. */
function asksForNothing({ conditions = {}, sequences }: RowFilter): boolean {
  const isNothing = (wanted: unknown): boolean => Array.isArray(wanted) && wanted.length === 0;
  return isNothing(sequences) || Object.values(conditions).some(isNothing);
}

function optionsOf({ sequences }: RowFilter): Pick<ScanOptions, 'mayMatch'> {
  if (sequences === undefined) return {};
  return { mayMatch: holdsOneOf(sequences.toSorted((a, b) => a - b)) };
}

/** About which sequence number the next row of a table gets; undefined where the store does not say. */
export async function endOf(
  store: SegmentSource,
  runId: string,
  table: string,
): Promise<number | undefined> {
  try {
    const streams = store.listStreams?.(runId) ?? (await store.notes?.survey(runId))?.streams;
    return (await streams)?.find((one) => one.runId === runId && one.table === table)?.nextSequence;
  } catch (error) {
    // A service that is older than the question.
    if (isQuarkError(error, 'unsupported')) return undefined;
    throw error;
  }
}

type Walk<T> = Pick<ScanOptions, 'mayMatch'> & {
  readonly table: TableDefinition;
  readonly filter: RowFilter;
  readonly end: number;
  readonly begin: () => PartCollector<T>;
};

async function walkBack<T>(
  source: RunSource,
  walk: Walk<T>,
): Promise<{ readonly parts: readonly T[]; readonly damage: readonly DamageReport[] }> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const found = await walkOnce(source, walk);
    if (found !== undefined) return found;
  }
  throw mergedTooOften(runIdOf(source), walk.table.table);
}

/** Reads segments from the end of the table until none before can have one of the last rows. Undefined when a segment is gone. */
async function walkOnce<T>(
  source: RunSource,
  { begin, end, filter, mayMatch = () => true, table }: Walk<T>,
): Promise<{ readonly parts: readonly T[]; readonly damage: readonly DamageReport[] } | undefined> {
  const { position } = filter;
  const keys = wantedKeys(table, filter);
  const collector = begin();
  const damage: DamageReport[] = [];
  const seen = new Set<string>();
  for (let reach = Math.max(FIRST_REACH, position.limit); ; reach *= REACH_FACTOR) {
    const sequenceMin = Math.max(position.sequenceMin, end - reach);
    const listed = await source.store.listSegments(
      segmentFilter(runIdOf(source), table.table, { ...position, sequenceMin }, keys),
    );
    // Merged since it was read: its rows would come twice.
    const listedNames = new Set(listed.map(nameOf));
    if ([...seen].some((name) => !listedNames.has(name))) return undefined;
    const left = listed
      .filter((manifest) => mayMatch(manifest) && !seen.has(nameOf(manifest)))
      .sort((a, b) => b.lastSequence - a.lastSequence);
    for (let at = 0; at < left.length; at += WALK_SEGMENTS) {
      const next = left
        .slice(at, at + WALK_SEGMENTS)
        .filter(({ lastSequence }) => lastSequence >= collector.sequenceMin);
      const damaged = await scanOnce(source.store, next, collector, {});
      if (damaged === undefined) return undefined;
      damage.push(...damaged);
    }
    for (const manifest of listed) seen.add(nameOf(manifest));
    if (collector.sequenceMin >= sequenceMin || sequenceMin <= position.sequenceMin)
      return { parts: collector.parts.toReversed(), damage };
  }
}

/** Tells a segment from another one that has taken its identity. */
function nameOf(manifest: SegmentManifest): string {
  return `${segmentName(manifest)}/${manifest.checksum}`;
}

class PartCollector<T> implements SegmentVisitor {
  readonly parts: T[] = [];
  /** Rows before it are not wanted: enough later ones have come. */
  sequenceMin: number;
  readonly #table: TableDefinition;
  readonly #filter: RowFilter;
  readonly #visit: (part: RowPart) => T;
  /** Of a limit: the sequence numbers of the parts, and how many they are. */
  #sequences: Float64Array[] = [];
  #count = 0;

  constructor(table: TableDefinition, filter: RowFilter, visit: (part: RowPart) => T) {
    this.#table = table;
    this.#filter = filter;
    this.#visit = visit;
    this.sequenceMin = filter.position.sequenceMin;
  }

  visit(ready: ReadySegment): void {
    const { position } = this.#filter;
    const { sequenceMin } = this;
    const segment = decodeSegment(this.#table, ready);
    const rows = latestRows(
      matchRows(this.#table, segment, {
        ...this.#filter,
        position: { ...position, sequenceMin },
      }),
      segment.sequences,
      position.limit,
    );
    const part = rows === null ? segment : partOf(segment, rows);
    if (part.batch.rowCount === 0 && rows !== null) return;
    this.parts.push(this.#visit(part));
    if (position.limit < Number.POSITIVE_INFINITY) this.#bound(part.sequences, position.limit);
  }

  /** Raises the bound once there are enough rows. */
  #bound(sequences: Float64Array, limit: number): void {
    this.#sequences.push(sequences);
    this.#count += sequences.length;
    if (this.#count < limit) return;
    const all = new Float64Array(this.#count);
    let at = 0;
    for (const some of this.#sequences) {
      all.set(some, at);
      at += some.length;
    }
    const latest = ascendingOrder(all).subarray(this.#count - limit);
    this.#sequences = [Float64Array.from(latest, (row) => all[row] ?? 0)];
    this.#count = limit;
    this.sequenceMin = Math.max(this.sequenceMin, all[latest[0] ?? 0] ?? 0);
  }
}
