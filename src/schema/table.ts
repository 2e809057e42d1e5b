/** Tables: records that are stored as segments of columns. */
import { count, instant, key, type Column } from './column.ts';
import { defineRecord, type Columns, type RecordDefinition } from './record.ts';

/** Columns every table has. `runId` and `sequence` live in the manifest of a segment, not in its rows. */
export type TableColumns = Columns & {
  readonly runId: Column<string>;
  readonly sequence: Column<number | null>;
  readonly timestamp: Column<string>;
};

/** The declaration of a table. */
export interface TableDefinition<
  C extends TableColumns = TableColumns,
> extends RecordDefinition<C> {
  /** Name of the table in manifests, exports and queries: the plural of the record's name. */
  readonly table: string;
  /** The column whose values a manifest lists, or undefined. */
  readonly keyColumn: string | undefined;
  /** Columns that are written into segments: all but `runId` and `sequence`. */
  readonly segmentColumns: readonly string[];
}

/** The columns that every table starts with. */
export const TABLE_COLUMNS: {
  readonly runId: Column<string>;
  readonly sequence: Column<number | null>;
  readonly timestamp: Column<string>;
} = {
  runId: key('The run the row belongs to.'),
  sequence: {
    ...count(
      'Position in the table of the run, counted from 0 as rows were persisted; null until then.',
    ),
    isNullable: true,
    parse: parseSequence,
  },
  timestamp: instant('When the row was made, UTC.'),
};

/** Declares a table. */
export function defineTable<C extends TableColumns>(
  name: string,
  table: string,
  keyColumn: (string & keyof C) | undefined,
  doc: string,
  columns: C,
): TableDefinition<C> {
  const segmentColumns = Object.keys(columns).filter(
    (column) => column !== 'runId' && column !== 'sequence',
  );
  return Object.freeze({ ...defineRecord(name, doc, columns), table, keyColumn, segmentColumns });
}

function parseSequence(field: string, value: unknown): number | null {
  return value === null || value === undefined ? null : count('').parse(field, value);
}
