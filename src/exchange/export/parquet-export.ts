/**
 * Tables for everything that reads Parquet. The format is that of apache/parquet-format: version 1 data pages with checksums, plain values,
 * dictionaries for names, GZIP by the platform's own compressor. Written by hand because what a record holds has to come back bit for
 * bit: a NaN with its payload, a negative zero, null beside NaN.
 */
import { bytesStream } from '../../base/runtime.ts';
import { inSpanOf } from '../../base/profiling.ts';
import { ProfileStep } from '../../base/profile-steps.ts';
import { crc32 } from '../../base/crc32.ts';
import type { RunReader } from '../../read/run-reader.ts';
import { tableBatches } from '../../read/table-batches.ts';
import type { RowBatch } from '../../codecs/arrow/vectors.ts';
import {
  footerBytes,
  pageHeader,
  parquetColumns,
  PLAIN,
  RLE_DICTIONARY,
  type ParquetColumn,
  type WrittenChunk,
  type WrittenGroup,
} from './parquet-schema.ts';
import {
  columnOf,
  encodeValues,
  int64Bytes,
  pageEnd,
  plainTexts,
  valueRangeOf,
} from './parquet-values.ts';
import { exportedTable, type ExportTableOptions, type TableName } from './table-names.ts';

const MAGIC = new TextEncoder().encode('PAR1');
const PAGE_ROWS = 16_384;
const PAGE_ITEMS = 1 << 20;

/**
 * A table of a run as a Parquet file, in chunks. Row groups have at most 65,536 rows and are written as they are read: memory holds one, and
 * while merged segments are read the rows of one merge (about a million).
 *
 * Columns have the names of abiotic-quark: `run_id`, `sequence` and `timestamp` first. Names and texts are strings, counts INT64,
 * instants TIMESTAMP (UTC, milliseconds), numbers DOUBLE with every bit, JSON as such, lists LIST. The key-value metadata has
 * `quark:table`, `quark:schema_version`, `quark:columns` (kind, unit and meaning of each column) and `quark:run` (the run record). A table
 * without rows is a file without row groups.
 *
 * @yields bytes of the file, in order
 * @throws {QuarkError} `invalid_input` naming the table or option; `aborted`
 * @example
 * ```js
 * import { writeFile } from 'node:fs/promises';
 * import { createMemoryStore, MetricsLogger, openRun, TrainingSession } from 'quark-sdk';
 * import { exportTableParquet } from 'quark-sdk/exchange';
 * import { openInputFiles } from 'quark-sdk/node';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, (session) => {
 *   new MetricsLogger(session).logColumns('train/loss', [0, 1, 2], [0.9, 0.5, 0.4]);
 *   return session.runId;
 * });
 * const reader = await openRun(store, runId);
 * await writeFile('metrics.parquet', exportTableParquet(reader, 'metrics'));
 * const [{ sizeBytes }] = await openInputFiles(['metrics.parquet']);
 * console.log(sizeBytes > 0); // true
 * ```
 */
export function exportTableParquet(
  reader: RunReader,
  table: TableName,
  options: ExportTableOptions = {},
): AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined> {
  return inSpanOf(ProfileStep.EXPORT, parquetChunks(reader, table, options));
}

async function* parquetChunks(
  reader: RunReader,
  table: TableName,
  options: ExportTableOptions,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined> {
  const definition = exportedTable(table, options);
  const columns = parquetColumns(definition);
  const groups: WrittenGroup[] = [];
  let offset = MAGIC.length;
  yield MAGIC.slice();
  for await (const batch of tableBatches(reader.store, definition, reader.run.id, options)) {
    const start = offset;
    const chunks: WrittenChunk[] = [];
    for (const column of columns) {
      const { chunk, pages } = await writeChunk(batch, column, reader.run.id, offset);
      chunks.push(chunk);
      offset += chunk.compressedBytes;
      yield* pages;
    }
    groups.push({ rowCount: batch.rowCount, offset: start, chunks });
    options.onRows?.(batch.rowCount);
  }
  const footer = footerBytes(definition, columns, groups, reader.run);
  const end = new Uint8Array(footer.length + 8);
  end.set(footer);
  new DataView(end.buffer).setUint32(footer.length, footer.length, true);
  end.set(MAGIC, footer.length + 4);
  yield end;
}

/** The pages of a column chunk, each behind its header, and their sizes. */
class ChunkPages {
  readonly list: Uint8Array<ArrayBuffer>[] = [];
  uncompressedBytes = 0;
  compressedBytes = 0;

  async add(
    kind: 'data' | 'dictionary',
    encoding: number,
    valueCount: number,
    bytes: Uint8Array<ArrayBuffer>,
  ): Promise<void> {
    const compressed = await gzip(bytes);
    const header = pageHeader(kind, {
      valueCount,
      encoding,
      uncompressedBytes: bytes.length,
      compressedBytes: compressed.length,
      crc: crc32(compressed),
    });
    this.list.push(header, compressed);
    this.uncompressedBytes += header.length + bytes.length;
    this.compressedBytes += header.length + compressed.length;
  }
}

async function writeChunk(
  batch: RowBatch,
  column: ParquetColumn,
  runId: string,
  offset: number,
): Promise<{ readonly chunk: WrittenChunk; readonly pages: Uint8Array<ArrayBuffer>[] }> {
  const vector = columnOf(batch, column.name, runId);
  const pages = new ChunkPages();
  let valueCount = 0;
  let nullCount = 0;
  // A column that is null everywhere has no dictionary, and plain pages without values.
  const dictionary = vector?.kind === 'key' ? vector.dictionary : [];
  if (dictionary.length > 0)
    await pages.add('dictionary', PLAIN, dictionary.length, plainTexts(dictionary));
  const values = vector?.kind === 'key' && dictionary.length === 0 ? undefined : vector;
  const dataPageOffset = offset + pages.compressedBytes;
  for (let from = 0; from < batch.rowCount;) {
    const to = pageEnd(vector, from, batch.rowCount, PAGE_ROWS, PAGE_ITEMS);
    const encoded = encodeValues(values, from, to, column.path.length > 1);
    await pages.add(
      'data',
      dictionary.length > 0 ? RLE_DICTIONARY : PLAIN,
      encoded.valueCount,
      encoded.bytes,
    );
    valueCount += encoded.valueCount;
    nullCount += encoded.nullCount;
    from = to;
  }
  const range = valueRangeOf(vector, batch.rowCount);
  return {
    chunk: {
      column,
      valueCount,
      nullCount,
      uncompressedBytes: pages.uncompressedBytes,
      compressedBytes: pages.compressedBytes,
      dataPageOffset,
      dictionaryPageOffset: dictionary.length > 0 ? offset : undefined,
      range: range === null ? null : { min: int64Bytes(range.min), max: int64Bytes(range.max) },
    },
    pages: pages.list,
  };
}

async function gzip(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const stream = bytesStream([bytes]).pipeThrough(new CompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
