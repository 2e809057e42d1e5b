/** Tables as text, and as Arrow. */
import { tableBatches } from '../../read/table-batches.ts';
import {
  jsonLines,
  jsonList,
  textColumns,
  textChunks,
  type TextColumn,
} from '../../read/json-lines.ts';
import type { RunReader } from '../../read/run-reader.ts';
import { concatBatches } from '../../segment/batch-ops.ts';
import { encodeBatch } from '../../segment/encode.ts';
import type { RowBatch } from '../../codecs/arrow/vectors.ts';
import { csvNumber } from './numbers.ts';
import { exportedTable, type ExportTableOptions, type TableName } from './table-names.ts';

/** Bytes in one piece of an Arrow stream. */
const BYTES_PER_PIECE = 1 << 20;

/**
 * A table of a run as CSV (RFC 4180: CRLF line ends, quotes where needed), with a header line of the names of abiotic-quark. Null is an
 * empty field, empty text is `""`. Numbers are the shortest that read back as the same bits, with `NaN`, `Infinity`, `-Infinity` and `-0`
 * written out (the payload of a NaN is lost); instants are ISO 8601 in UTC; lists and objects are JSON.
 *
 * @yields whole lines, in chunks
 * @throws {QuarkError} `invalid_input` naming the table or option; `aborted`
 * @example
 * ```js
 * import { createMemoryStore, MetricsLogger, openRun, TrainingSession } from 'quark-sdk';
 * import { exportTableCsv } from 'quark-sdk/exchange';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, (session) => {
 *   new MetricsLogger(session).logColumns('train/loss', [0, 1, 2], [0.9, 0.5, 0.4]);
 *   return session.runId;
 * });
 * const reader = await openRun(store, runId);
 * let csv = '';
 * for await (const lines of exportTableCsv(reader, 'metrics')) csv += lines;
 * console.log(csv.split('\r\n')[0]);
 * ```
 */
export async function* exportTableCsv(
  reader: RunReader,
  table: TableName,
  options: ExportTableOptions = {},
): AsyncGenerator<string, void, undefined> {
  const definition = exportedTable(table, options);
  const names = [...definition.storedNames.values()];
  yield `${names.join(',')}\r\n`;
  for await (const batch of tableBatches(reader.store, definition, reader.run.id, options)) {
    const columns = textColumns(definition, batch, reader.run.id);
    yield* textChunks(
      batch,
      (row) => `${columns.map((column) => csvCell(column, row)).join(',')}\r\n`,
    );
    options.onRows?.(batch.rowCount);
  }
}

/**
 * A table of a run as JSON lines: one record a line in the persisted form. A number that JSON has none for is the text `"NaN"`, `"Infinity"`
 * or `"-Infinity"`; instants are ISO 8601 in UTC.
 *
 * @yields whole lines, in chunks
 * @throws {QuarkError} `invalid_input` naming the table or option; `aborted`
 * @example
 * ```js
 * import { createMemoryStore, MetricsLogger, openRun, TrainingSession } from 'quark-sdk';
 * import { exportTableJsonLines } from 'quark-sdk/exchange';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, (session) => {
 *   new MetricsLogger(session).logColumns('train/loss', [0, 1, 2], [0.9, 0.5, 0.4]);
 *   return session.runId;
 * });
 * const reader = await openRun(store, runId);
 * let text = '';
 * for await (const lines of exportTableJsonLines(reader, 'metrics')) text += lines;
 * console.log(JSON.parse(text.split('\n')[0]).value); // 0.9
 * ```
 */
export async function* exportTableJsonLines(
  reader: RunReader,
  table: TableName,
  options: ExportTableOptions = {},
): AsyncGenerator<string, void, undefined> {
  const definition = exportedTable(table, options);
  for await (const batch of tableBatches(reader.store, definition, reader.run.id, options)) {
    yield* jsonLines(definition, batch, reader.run.id);
    options.onRows?.(batch.rowCount);
  }
}

/**
 * A table of a run as one Arrow IPC stream of one record batch: the columns of the table but `run_id`, and `sequence`; columns that are null
 * in every row are left out. The metadata of the schema has `quark:table`, `quark:schema_version` and `quark:run` (the run record), that of
 * a field its kind and unit. {@link importRuns} reads it back bit for bit. Comes in chunks of at most 1 MiB; the whole is held in memory.
 *
 * @yields bytes of the stream, in order
 * @throws {QuarkError} `invalid_input` naming the table or option; `aborted`
 * @example
 * ```js
 * import * as arrow from 'apache-arrow';
 * import { createMemoryStore, MetricsLogger, openRun, TrainingSession } from 'quark-sdk';
 * import { exportTableArrow } from 'quark-sdk/exchange';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, (session) => {
 *   new MetricsLogger(session).logColumns('train/loss', [0, 1, 2], [0.9, 0.5, 0.4]);
 *   return session.runId;
 * });
 * const reader = await openRun(store, runId);
 * const table = await arrow.tableFromIPC(exportTableArrow(reader, 'metrics'));
 * console.log(table.numRows, table.schema.metadata.get('quark:table')); // 3 metrics
 * ```
 */
export async function* exportTableArrow(
  reader: RunReader,
  table: TableName,
  options: ExportTableOptions = {},
): AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined> {
  const definition = exportedTable(table, options);
  const batches: RowBatch[] = [];
  for await (const batch of tableBatches(reader.store, definition, reader.run.id, options))
    batches.push(batch);
  const bytes = encodeBatch(definition, concatBatches(batches), [
    ['quark:run', JSON.stringify(reader.run.toDict())],
  ]);
  for (let at = 0; at < bytes.byteLength; at += BYTES_PER_PIECE)
    yield bytes.slice(at, at + BYTES_PER_PIECE);
  options.onRows?.(batches.reduce((sum, { rowCount }) => sum + rowCount, 0));
}

function csvCell({ vector, kind }: TextColumn, row: number): string {
  if (vector === undefined) return '';
  switch (vector.kind) {
    case 'number': {
      const value = vector.values[row] ?? Number.NaN;
      if (Number.isNaN(value)) return '';
      return kind === 'instant' ? new Date(value).toISOString() : String(value);
    }
    case 'f64':
      return vector.isNull?.[row] === 1 ? '' : csvNumber(vector.values[row] ?? Number.NaN);
    case 'key': {
      const index = vector.indices[row] ?? -1;
      return index < 0 ? '' : csvText(vector.dictionary[index] ?? '');
    }
    case 'text': {
      const text = vector.values[row] ?? null;
      return text === null ? '' : csvText(text);
    }
    case 'bool':
      return vector.values[row] === 2 ? '' : String(vector.values[row] === 1);
    case 'f64_list':
    case 'text_list': {
      const list = vector.values[row] ?? null;
      return list === null ? '' : csvText(jsonList(list));
    }
  }
}

/** Quoted where RFC 4180 asks for it, and where it would be null otherwise. */
function csvText(text: string): string {
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
