/** Rows of any table as columns: for readers of many rows who want numbers, not objects. */
import { inOrder } from '../base/ascending-order.ts';
import type { TableDefinition } from '../schema/table.ts';
import type { DamageReport, ReadySegment } from '../segment/open-segment.ts';
import type { Vector } from '../codecs/arrow/vectors.ts';
import type { SegmentManifest } from '../store/store.ts';
import { ColumnBuilder, type InterleavingModule } from './column-builder.ts';
import {
  nameCells,
  numberCells,
  valueCells,
  type Cells,
  type NameColumn,
} from './columns/column-cells.ts';
import type { RowFilter } from './match-rows.ts';
import { MANY_ROWS, scanRows, scanTable, type RunSource } from './scan.ts';

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

/** Columns of a table, by the names of code, and the rows wanted of them. */
export type ColumnQuery<T extends string, N extends string, J extends string, L extends string> = {
  readonly rows: RowFilter;
  /** Columns of the kind `key`. */
  readonly texts?: readonly T[];
  /** Columns of numbers, of instants and of lists of numbers. */
  readonly numbers?: readonly N[];
  /** Columns of the kinds `text` and `json`. */
  readonly jsons?: readonly J[];
  /** Columns of lists of texts. */
  readonly lists?: readonly L[];
};

/** The columns of the rows that match; of a limit, the most recent rows. */
export async function readColumns<
  T extends string = never,
  N extends string = never,
  J extends string = never,
  L extends string = never,
>(
  source: RunSource,
  table: TableDefinition,
  { jsons = [], lists = [], numbers = [], rows, texts = [] }: ColumnQuery<T, N, J, L>,
): Promise<
  RecordColumns<T, N> & {
    readonly jsons: Readonly<Record<J, readonly (string | null)[]>>;
    readonly lists: Readonly<Record<L, readonly (readonly string[] | null)[]>>;
  }
> {
  const begin = (manifests: readonly SegmentManifest[], interleaving?: InterleavingModule) => {
    const cells = {
      texts: cellsOf(table, texts, nameCells),
      numbers: cellsOf(table, numbers, numberCells),
      jsons: cellsOf(table, jsons, () => valueCells(textAt)),
      lists: cellsOf(table, lists, () => valueCells(listAt)),
    };
    const all = Object.values(cells).flatMap((some) => some.map(({ own }) => own));
    const builder = new ColumnBuilder({ table, rows, cells: all }, manifests, interleaving);
    return { cells, builder, visit: (ready: ReadySegment) => builder.visit(ready) };
  };
  const beginLoaded = async (manifests: readonly SegmentManifest[]) => {
    const rowCount = manifests.reduce((sum, manifest) => sum + manifest.rowCount, 0);
    if (rowCount < MANY_ROWS) return begin(manifests);
    return begin(manifests, await import('./columns/interleaving.ts').catch(() => undefined));
  };
  const { limit } = rows.position;
  const { damage, visitor } = await (limit < Number.POSITIVE_INFINITY
    ? scanLast(source, table, rows, begin)
    : scanTable(source, table, rows, beginLoaded));
  const built = visitor.builder.finish(limit);
  const { count, order } = built;
  const sequences = order === null ? built.sequences : inOrder(built.sequences, order);
  const finished = <K extends string, V>(some: readonly NamedCells<K, V>[]): Record<K, V> => {
    const entries = some.map(({ name, own: [, cells] }) => [name, cells.finish(count, order)]);
    // Object.fromEntries forgets which names it was given.
    return Object.fromEntries(entries) as Record<K, V>;
  };
  return {
    rowCount: sequences.length,
    texts: finished(visitor.cells.texts),
    numbers: finished(visitor.cells.numbers),
    jsons: finished(visitor.cells.jsons),
    lists: finished(visitor.cells.lists),
    sequences,
    lastSequence: sequences.at(-1) ?? rows.position.sequenceMin - 1,
    damage,
  };
}

type NamedCells<K extends string, V> = {
  readonly name: K;
  /** With the stored name. */
  readonly own: readonly [string, Cells<V>];
};

function cellsOf<K extends string, V>(
  table: TableDefinition,
  names: readonly K[],
  make: () => Cells<V>,
): readonly NamedCells<K, V>[] {
  return names.map((name) => ({ name, own: [table.storedNames.get(name) ?? name, make()] }));
}

/** Of a limit: the segments at the end of the table are read first, and put together in their order. */
async function scanLast<V extends { readonly builder: ColumnBuilder }>(
  source: RunSource,
  table: TableDefinition,
  rows: RowFilter,
  begin: (manifests: readonly SegmentManifest[]) => V,
): Promise<{ readonly visitor: V; readonly damage: readonly DamageReport[] }> {
  const { damage, parts } = await scanRows(source, table, rows, (part) => part);
  const visitor = begin([]);
  for (const part of parts) visitor.builder.add(part);
  return { visitor, damage };
}

function textAt(vector: Vector, row: number): string | null {
  return vector.kind === 'text' ? (vector.values[row] ?? null) : null;
}

function listAt(vector: Vector, row: number): readonly string[] | null {
  return vector.kind === 'text_list' ? (vector.values[row] ?? null) : null;
}
