/** Rows as JSON lines: one record a line in its persisted form. */
import type { TableDefinition } from '../schema/table.ts';
import type { RowBatch, Vector } from '../codecs/arrow/vectors.ts';

/** Rows in one chunk of text. */
const ROWS_PER_CHUNK = 2_000;

/** A column of a batch. */
export type TextColumn = {
  readonly name: string;
  readonly vector: Vector | undefined;
  readonly kind: string;
};

/**
 * Whole lines, in chunks. A number that JSON has none for is the text `"NaN"`, `"Infinity"` or `"-Infinity"`; instants
 * are ISO 8601 in UTC.
 */
export function* jsonLines(
  table: TableDefinition,
  batch: RowBatch,
  runId: string,
): Generator<string, void, undefined> {
  const columns = textColumns(table, batch, runId);
  yield* textChunks(
    batch,
    (row) =>
      `{${columns.map((column) => `"${column.name}":${jsonCell(column, row)}`).join(',')}}\n`,
  );
}

/** The columns of a table, with the name of the run. */
export function textColumns(table: TableDefinition, batch: RowBatch, runId: string): TextColumn[] {
  return Object.entries(table.columns).map(([field, { kind }]) => {
    const name = table.storedNames.get(field) ?? field;
    const vector: Vector | undefined =
      name === 'run_id'
        ? { kind: 'key', dictionary: [runId], indices: new Int32Array(batch.rowCount) }
        : batch.columns.get(name);
    return { name, kind, vector };
  });
}

/** The text of the rows, some thousands of lines at a time. */
export function* textChunks(batch: RowBatch, line: (row: number) => string): Generator<string> {
  for (let from = 0; from < batch.rowCount; from += ROWS_PER_CHUNK) {
    let chunk = '';
    for (let row = from; row < Math.min(batch.rowCount, from + ROWS_PER_CHUNK); row++)
      chunk += line(row);
    yield chunk;
  }
}

function jsonCell({ vector, kind }: TextColumn, row: number): string {
  if (vector === undefined) return 'null';
  switch (vector.kind) {
    case 'number': {
      const value = vector.values[row] ?? Number.NaN;
      if (Number.isNaN(value)) return 'null';
      return kind === 'instant' ? `"${new Date(value).toISOString()}"` : String(value);
    }
    case 'f64':
      return vector.isNull?.[row] === 1 ? 'null' : jsonNumber(vector.values[row] ?? Number.NaN);
    case 'key': {
      const index = vector.indices[row] ?? -1;
      return index < 0 ? 'null' : JSON.stringify(vector.dictionary[index] ?? '');
    }
    case 'text': {
      const text = vector.values[row] ?? null;
      // What is JSON in the column is JSON in the line.
      if (text === null) return 'null';
      return kind === 'json' ? onOneLine(text) : JSON.stringify(text);
    }
    case 'bool':
      return vector.values[row] === 2 ? 'null' : String(vector.values[row] === 1);
    case 'f64_list':
    case 'text_list': {
      const list = vector.values[row] ?? null;
      return list === null ? 'null' : jsonList(list);
    }
  }
}

/** A list as JSON. */
export function jsonList(list: Float64Array | readonly string[]): string {
  const items: string[] = [];
  for (const item of list)
    items.push(typeof item === 'number' ? jsonNumber(item) : JSON.stringify(item));
  return `[${items.join(',')}]`;
}

/** JSON as others wrote it may have line ends between its values. */
function onOneLine(json: string): string {
  return /[\n\r]/.test(json) ? JSON.stringify(JSON.parse(json)) : json;
}

/** The number in JSON: what JSON has no number for is text. */
export function jsonNumber(value: number): string {
  if (!Number.isFinite(value)) return `"${value}"`;
  return Object.is(value, -0) ? '-0' : String(value);
}
