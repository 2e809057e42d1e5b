/** Tables of records as Parquet declares them, and what a file says about itself at its end. */
import { VERSION } from '../../base/version.ts';
import type { RunRecord } from '../../records/run.ts';
import type { Column, ColumnKind } from '../../schema/column.ts';
import type { TableDefinition } from '../../schema/table.ts';
import { schemaVersionOf } from '../../schema/version.ts';
import {
  thriftBool,
  i32,
  i64,
  thriftList,
  struct,
  thriftText,
  thriftBytes,
  type ThriftValue,
} from '../../codecs/thrift/thrift-writer.ts';

/** A column of a file. */
export type ParquetColumn = {
  readonly name: string;
  readonly column: Column<unknown>;
  /** Physical type. */
  readonly type: number;
  /** Names on the way to the values. */
  readonly path: readonly string[];
};

/** Where a column of a row group lies. */
export type WrittenChunk = {
  readonly column: ParquetColumn;
  readonly valueCount: number;
  readonly nullCount: number;
  readonly uncompressedBytes: number;
  readonly compressedBytes: number;
  readonly dataPageOffset: number;
  readonly dictionaryPageOffset: number | undefined;
  /** Least and greatest value of integers. */
  readonly range: { readonly min: Uint8Array; readonly max: Uint8Array } | null;
};

/** A row group. */
export type WrittenGroup = {
  readonly rowCount: number;
  readonly offset: number;
  readonly chunks: readonly WrittenChunk[];
};

export const BOOLEAN = 0;
export const INT64 = 2;
export const DOUBLE = 5;
export const BYTE_ARRAY = 6;
export const PLAIN = 0;
export const RLE = 3;
export const RLE_DICTIONARY = 8;
const GZIP = 2;
const REQUIRED = 0;
const OPTIONAL = 1;
const REPEATED = 2;

const TYPES: Readonly<Record<ColumnKind, number>> = {
  key: BYTE_ARRAY,
  text: BYTE_ARRAY,
  json: BYTE_ARRAY,
  f64: DOUBLE,
  count: INT64,
  instant: INT64,
  bool: BOOLEAN,
  f64_list: DOUBLE,
  text_list: BYTE_ARRAY,
};

/** The columns of a table, in the order of its declaration. */
export function parquetColumns(table: TableDefinition): readonly ParquetColumn[] {
  return Object.entries(table.columns).map(([field, column]) => {
    const name = table.storedNames.get(field) ?? field;
    const isList = column.kind === 'f64_list' || column.kind === 'text_list';
    return {
      name,
      column,
      type: TYPES[column.kind],
      path: isList ? [name, 'list', 'element'] : [name],
    };
  });
}

/** Schema, row groups, and the facts that other programs have no place for: types, units and the run. */
export function footerBytes(
  table: TableDefinition,
  columns: readonly ParquetColumn[],
  groups: readonly WrittenGroup[],
  run: RunRecord,
): Uint8Array<ArrayBuffer> {
  const notes = columns.map(({ name, column: { kind, unit, doc } }) => [
    name,
    { kind, ...(unit === undefined ? {} : { unit }), doc },
  ]);
  const facts: readonly (readonly [string, string])[] = [
    ['quark:table', table.table],
    ['quark:schema_version', String(schemaVersionOf(table.table))],
    ['quark:columns', JSON.stringify(Object.fromEntries(notes))],
    ['quark:run', JSON.stringify(run.toDict())],
  ];
  const rowCount = groups.reduce((sum, group) => sum + group.rowCount, 0);
  return thriftBytes([
    [1, i32(2)],
    [
      2,
      thriftList('struct', [
        struct([4, thriftText('schema')], [5, i32(columns.length)]),
        ...columns.flatMap(schemaOf),
      ]),
    ],
    [3, i64(rowCount)],
    [4, thriftList('struct', groups.map(groupOf))],
    [
      5,
      thriftList(
        'struct',
        facts.map(([key, value]) => struct([1, thriftText(key)], [2, thriftText(value)])),
      ),
    ],
    [6, thriftText(`quark-sdk version ${VERSION}`)],
    // Values are ordered by their types.
    [
      7,
      thriftList(
        'struct',
        columns.map(() => struct([1, struct()])),
      ),
    ],
  ]);
}

/** The header of a page. */
export function pageHeader(
  kind: 'data' | 'dictionary',
  page: {
    readonly valueCount: number;
    readonly encoding: number;
    readonly uncompressedBytes: number;
    readonly compressedBytes: number;
    /** Of the compressed bytes. */
    readonly crc: number;
  },
): Uint8Array<ArrayBuffer> {
  const count = i32(page.valueCount);
  const encoding = i32(page.encoding);
  return thriftBytes([
    [1, i32(kind === 'data' ? 0 : 2)],
    [2, i32(page.uncompressedBytes)],
    [3, i32(page.compressedBytes)],
    [4, i32(page.crc | 0)],
    [
      5,
      kind === 'data' ? struct([1, count], [2, encoding], [3, i32(RLE)], [4, i32(RLE)]) : undefined,
    ],
    [7, kind === 'dictionary' ? struct([1, count], [2, encoding]) : undefined],
  ]);
}

/** Every column may be null: what a later version adds is missing in earlier rows. */
function schemaOf({ name, column: { kind }, type, path }: ParquetColumn): ThriftValue[] {
  const leaf = (leafName: string, repetition: number): ThriftValue => {
    const [converted, logical] = annotationOf(kind);
    return struct(
      [1, i32(type)],
      [3, i32(repetition)],
      [4, thriftText(leafName)],
      [6, converted === undefined ? undefined : i32(converted)],
      [10, logical],
    );
  };
  if (path.length === 1) return [leaf(name, OPTIONAL)];
  return [
    struct(
      [3, i32(OPTIONAL)],
      [4, thriftText(name)],
      [5, i32(1)],
      [6, i32(3)],
      [10, struct([3, struct()])],
    ),
    struct([3, i32(REPEATED)], [4, thriftText('list')], [5, i32(1)]),
    leaf('element', REQUIRED),
  ];
}

/** Converted type, which old readers know, and logical type. */
function annotationOf(kind: ColumnKind): [number | undefined, ThriftValue | undefined] {
  switch (kind) {
    case 'key':
    case 'text':
    case 'text_list':
      return [0, struct([1, struct()])];
    case 'json':
      return [19, struct([12, struct()])];
    case 'instant':
      return [9, struct([8, struct([1, thriftBool(true)], [2, struct([1, struct()])])])];
    case 'f64':
    case 'count':
    case 'bool':
    case 'f64_list':
      return [undefined, undefined];
  }
}

function groupOf({ rowCount, offset, chunks }: WrittenGroup, index: number): ThriftValue {
  const uncompressed = chunks.reduce((sum, chunk) => sum + chunk.uncompressedBytes, 0);
  const compressed = chunks.reduce((sum, chunk) => sum + chunk.compressedBytes, 0);
  return struct(
    [1, thriftList('struct', chunks.map(chunkOf))],
    [2, i64(uncompressed)],
    [3, i64(rowCount)],
    [5, i64(offset)],
    [6, i64(compressed)],
    [7, index < 2 ** 15 ? { kind: 'i16', value: index } : undefined],
  );
}

function chunkOf(chunk: WrittenChunk): ThriftValue {
  const { column, range, dictionaryPageOffset } = chunk;
  const hasDictionary = dictionaryPageOffset !== undefined;
  const encodings = hasDictionary ? [PLAIN, RLE, RLE_DICTIONARY] : [PLAIN, RLE];
  const meta = struct(
    [1, i32(column.type)],
    [2, thriftList('i32', encodings.map(i32))],
    [3, thriftList('text', column.path.map(thriftText))],
    [4, i32(GZIP)],
    [5, i64(chunk.valueCount)],
    [6, i64(chunk.uncompressedBytes)],
    [7, i64(chunk.compressedBytes)],
    [9, i64(chunk.dataPageOffset)],
    [11, hasDictionary ? i64(dictionaryPageOffset) : undefined],
    [
      12,
      struct(
        [3, i64(chunk.nullCount)],
        [5, range === null ? undefined : thriftText(range.max)],
        [6, range === null ? undefined : thriftText(range.min)],
      ),
    ],
  );
  return struct([2, i64(dictionaryPageOffset ?? chunk.dataPageOffset)], [3, meta]);
}
