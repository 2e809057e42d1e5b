/** Records of a table as columns: for readers of many rows who want numbers, not objects. */
import type { TableColumns, TableDefinition } from '../schema/table.ts';
import { gatherRows } from '../segment/batch-ops.ts';
import type { DamageReport, OpenedSegment } from '../segment/open-segment.ts';
import type { RowBatch } from '../codecs/arrow/vectors.ts';
import type { SegmentSource } from '../store/store.ts';
import { segmentFilter, type Position } from './filters.ts';
import { matchConditions, type KeyConditions } from './keyed-records.ts';
import { orderBy } from './metric-columns.ts';
import { scanTable } from './scan.ts';

/** A column of names: those that occur, and which one each row has. */
export type NameColumn = {
  readonly values: readonly string[];
  /** Position in `values` of each row; -1 where the row has none. */
  readonly index: Int32Array;
};

/** Rows as columns of one length, in the order they were persisted. The caller owns the arrays. */
export type RecordColumns<T extends string, N extends string> = {
  readonly rowCount: number;
  readonly texts: Readonly<Record<T, NameColumn>>;
  /** NaN where a row has no number; of a list of numbers the last. */
  readonly numbers: Readonly<Record<N, Float64Array>>;
  /** Sequence number of each row, ascending. */
  readonly sequences: Float64Array;
  /**
   * Largest sequence number; without a row, the one before `sequenceMin` (-1 where that was not given). Ask for
   * `sequenceMin: lastSequence + 1` next time.
   */
  readonly lastSequence: number;
  /** Segments that could not be read and are missing here. */
  readonly damage: readonly DamageReport[];
};

/** Which columns to read, by the names of code. */
type ColumnNames<T extends string, N extends string, J extends string, L extends string> = {
  readonly texts: readonly T[];
  readonly numbers: readonly N[];
  readonly jsons: readonly J[];
  /** Columns of lists of texts. */
  readonly lists?: readonly L[];
};

type Part = { readonly batch: RowBatch; readonly sequences: Float64Array };

/** The rows that meet the conditions; of a limit, the most recent. */
export async function readRecordColumns<
  C extends TableColumns,
  T extends string,
  N extends string,
  J extends string,
  L extends string = never,
>(
  store: SegmentSource,
  table: TableDefinition<C>,
  runId: string,
  conditions: KeyConditions,
  position: Position,
  names: ColumnNames<T, N, J, L>,
): Promise<
  RecordColumns<T, N> & {
    readonly jsons: Readonly<Record<J, readonly (string | null)[]>>;
    readonly lists: Readonly<Record<L, readonly (readonly string[] | null)[]>>;
  }
> {
  const key = table.keyColumn === undefined ? undefined : conditions[table.keyColumn];
  const keys = key === undefined ? undefined : [key];
  const { parts, damage } = await scanTable(
    store,
    table,
    segmentFilter(runId, table.table, position, keys),
    (segment) => pick(segment, matchConditions(table, segment, conditions, position)),
  );
  const sequences = Float64Array.from(parts.flatMap((part) => [...part.sequences]));
  const order =
    orderBy(sequences, position.limit) ?? Int32Array.from(sequences, (_sequence, row) => row);
  const stored = (name: string): string => table.storedNames.get(name) ?? name;
  const ordered = Float64Array.from(order, (row) => sequences[row] ?? 0);
  return {
    rowCount: order.length,
    texts: byName(names.texts, (name) => joinNames(parts, stored(name), order)),
    numbers: byName(names.numbers, (name) => joinNumbers(parts, stored(name), order)),
    jsons: byName(names.jsons, (name) => joinJsons(parts, stored(name), order)),
    lists: byName(names.lists ?? [], (name) => joinLists(parts, stored(name), order)),
    sequences: ordered,
    lastSequence: ordered.at(-1) ?? position.sequenceMin - 1,
    damage,
  };
}

function pick({ batch, sequences }: OpenedSegment, rows: Int32Array | null): Part {
  if (rows === null) return { batch, sequences };
  return {
    batch: gatherRows(batch, rows),
    sequences: Float64Array.from(rows, (row) => sequences[row] ?? 0),
  };
}

function byName<K extends string, V>(names: readonly K[], make: (name: K) => V): Record<K, V> {
  // Object.fromEntries forgets which names it was given.
  return Object.fromEntries(names.map((name) => [name, make(name)])) as Record<K, V>;
}

function joinNames(parts: readonly Part[], column: string, order: Int32Array): NameColumn {
  const positions = new Map<string, number>();
  const all: number[] = [];
  for (const { batch } of parts) {
    const vector = batch.columns.get(column);
    const known =
      vector?.kind === 'key'
        ? vector.dictionary.map((name) => {
            const at = positions.get(name) ?? positions.size;
            positions.set(name, at);
            return at;
          })
        : [];
    for (let row = 0; row < batch.rowCount; row++)
      all.push(vector?.kind === 'key' ? (known[vector.indices[row] ?? -1] ?? -1) : -1);
  }
  return { values: [...positions.keys()], index: Int32Array.from(order, (row) => all[row] ?? -1) };
}

function joinNumbers(parts: readonly Part[], column: string, order: Int32Array): Float64Array {
  const rowCount = parts.reduce((sum, { batch }) => sum + batch.rowCount, 0);
  const all = new Float64Array(rowCount).fill(Number.NaN);
  let start = 0;
  for (const { batch } of parts) {
    const vector = batch.columns.get(column);
    if (vector?.kind === 'number') all.set(vector.values.subarray(0, batch.rowCount), start);
    if (vector?.kind === 'f64')
      for (let row = 0; row < batch.rowCount; row++)
        if (vector.isNull?.[row] !== 1) all[start + row] = vector.values[row] ?? Number.NaN;
    if (vector?.kind === 'f64_list')
      for (let row = 0; row < batch.rowCount; row++)
        all[start + row] = vector.values[row]?.at(-1) ?? Number.NaN;
    start += batch.rowCount;
  }
  return Float64Array.from(order, (row) => all[row] ?? Number.NaN);
}

function joinJsons(
  parts: readonly Part[],
  column: string,
  order: Int32Array,
): readonly (string | null)[] {
  const all: (string | null)[] = [];
  for (const { batch } of parts) {
    const vector = batch.columns.get(column);
    for (let row = 0; row < batch.rowCount; row++)
      all.push(vector?.kind === 'text' ? (vector.values[row] ?? null) : null);
  }
  return Array.from(order, (row) => all[row] ?? null);
}

function joinLists(
  parts: readonly Part[],
  column: string,
  order: Int32Array,
): readonly (readonly string[] | null)[] {
  const all: (readonly string[] | null)[] = [];
  for (const { batch } of parts) {
    const vector = batch.columns.get(column);
    for (let row = 0; row < batch.rowCount; row++)
      all.push(vector?.kind === 'text_list' ? (vector.values[row] ?? null) : null);
  }
  return Array.from(order, (row) => all[row] ?? null);
}
