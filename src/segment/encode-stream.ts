/**
 * Rows as one Arrow IPC stream of several record batches, one after the other: for tables that are larger than memory.
 * The types of its columns follow from the declaration of the table, where those of a segment follow from its values.
 */
import type { Column } from '../schema/column.ts';
import type { TableDefinition } from '../schema/table.ts';
import { schemaVersionOf } from '../schema/version.ts';
import { schemaMessage } from '../codecs/arrow/arrow-format.ts';
import {
  concat,
  END_OF_STREAM,
  planColumn,
  pushRows,
  SEQUENCE_COLUMN,
  type Plan,
} from './encode.ts';
import type { RowBatch, Vector } from '../codecs/arrow/vectors.ts';

/** Makes the pieces of one stream: the start, any number of batches, the end. */
export type StreamEncoder = {
  readonly start: () => Uint8Array<ArrayBuffer>;
  /** A record batch, with the dictionaries it points into; they replace those before. */
  readonly rows: (batch: RowBatch) => Uint8Array<ArrayBuffer>;
  readonly end: () => Uint8Array<ArrayBuffer>;
};

/**
 * The stream of a table: its columns but `run_id`, and `sequence`. Counts and instants are float64, names a dictionary
 * of utf8 with int32 indices, all columns nullable; the metadata is that of segments, with `facts` added.
 */
export function createStreamEncoder(
  table: TableDefinition,
  facts: readonly (readonly [string, string])[] = [],
): StreamEncoder {
  const plansOf = ({ rowCount, columns }: RowBatch): Plan[] => {
    let dictionaries = 0;
    return columnsOf(table).flatMap(({ stored: name, kind, metadata }) => {
      const vector = columns.get(name) ?? emptyVector(kind, rowCount);
      const dictionaryId = dictionaries;
      const plan = planColumn(vector, { name, rowCount, dictionaryId, metadata, isFixed: true });
      if (plan?.dictionary !== undefined) dictionaries += 1;
      return plan === undefined ? [] : [plan];
    });
  };
  return {
    start: () => {
      const plans = plansOf({ rowCount: 0, columns: new Map() });
      return schemaMessage(
        plans.map((plan) => plan.field),
        [
          ['quark:table', table.table],
          ['quark:schema_version', String(schemaVersionOf(table.table))],
          ...facts,
        ],
      );
    },
    rows: (batch) => {
      const parts: Uint8Array[] = [];
      pushRows(parts, plansOf(batch), batch.rowCount);
      return concat(parts);
    },
    end: () => END_OF_STREAM.slice(),
  };
}

type StreamColumn = {
  readonly stored: string;
  readonly kind: Column<unknown>['kind'];
  readonly metadata: readonly (readonly [string, string])[];
};

function columnsOf(table: TableDefinition): StreamColumn[] {
  const columns: StreamColumn[] = table.segmentColumns.flatMap((name) => {
    const column = table.columns[name];
    if (column === undefined) return [];
    const metadata: [string, string][] = [['quark:kind', column.kind]];
    if (column.unit !== undefined) metadata.push(['quark:unit', column.unit]);
    return [{ stored: table.storedNames.get(name) ?? name, kind: column.kind, metadata }];
  });
  columns.push({ stored: SEQUENCE_COLUMN, kind: 'count', metadata: [['quark:kind', 'count']] });
  return columns;
}

/** A column that is null in every row. */
function emptyVector(kind: Column<unknown>['kind'], rowCount: number): Vector {
  switch (kind) {
    case 'count':
    case 'instant':
      return { kind: 'number', values: new Float64Array(rowCount).fill(Number.NaN) };
    case 'f64':
      return {
        kind: 'f64',
        values: new Float64Array(rowCount),
        isNull: new Uint8Array(rowCount).fill(1),
      };
    case 'key':
      return { kind: 'key', dictionary: [], indices: new Int32Array(rowCount).fill(-1) };
    case 'text':
    case 'json':
      return { kind: 'text', values: Array.from({ length: rowCount }, () => null) };
    case 'bool':
      return { kind: 'bool', values: new Uint8Array(rowCount).fill(2) };
    case 'f64_list':
      return { kind, values: Array.from({ length: rowCount }, () => null) };
    case 'text_list':
      return { kind, values: Array.from({ length: rowCount }, () => null) };
  }
}
