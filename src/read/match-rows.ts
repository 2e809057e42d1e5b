/** Which rows of a segment a filter asks for. */
import { ascendingOrder } from '../base/ascending-order.ts';
import type { TableDefinition } from '../schema/table.ts';
import { gatherRows } from '../segment/batch-ops.ts';
import type { OpenedSegment } from '../segment/open-segment.ts';
import type { RowBatch, Vector } from '../codecs/arrow/vectors.ts';
import type { SegmentManifest } from '../store/store.ts';
import type { Position, Range } from './filters.ts';

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

/** Values of the key column that manifests are asked for; undefined for all. */
export function wantedKeys(
  { keyColumn }: TableDefinition,
  { conditions = {} }: RowFilter,
): readonly string[] | undefined {
  const wanted = keyColumn === undefined ? undefined : conditions[keyColumn];
  return wanted === undefined ? undefined : [wanted].flat();
}

/** The columns that a filter tests, by their stored names. */
export function columnsOfFilter(
  table: TableDefinition,
  { conditions = {}, isKey, position }: RowFilter,
): readonly string[] {
  const names = Object.keys(conditions).filter((name) => conditions[name] !== undefined);
  if (isKey !== undefined && table.keyColumn !== undefined) names.push(table.keyColumn);
  if (position.step !== null) names.push('step');
  if (position.epoch !== null) names.push('epoch');
  return names.map((name) => table.storedNames.get(name) ?? name);
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

/** Of rows (null: all) those with the greatest sequence numbers, at most `limit`, in the order of these; `rows` where it has no more. */
export function latestRows(
  rows: Int32Array | null,
  sequences: Float64Array,
  limit: number,
): Int32Array | null {
  if ((rows?.length ?? sequences.length) <= limit) return rows;
  const order = ascendingOrder(sequences, rows?.slice());
  return order.subarray(order.length - limit);
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
export function holdsOneOf(ascending: readonly number[]): (manifest: SegmentManifest) => boolean {
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
