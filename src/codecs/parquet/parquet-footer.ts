/** What a Parquet file says of itself at its end: schema, row groups, key-value metadata (apache/parquet-format, parquet.thrift). */
import { QuarkError } from '../../base/errors.ts';
import type { InputFile } from '../input.ts';
import type { ImportLimits } from '../limits.ts';
import { ThriftReader } from '../thrift/thrift-reader.ts';

/** How values of a leaf are to be understood. */
export type ParquetLogical =
  | 'none'
  | 'text'
  | 'json'
  | 'date'
  | 'timestamp'
  | 'decimal'
  | 'unsigned'
  | 'float16'
  | 'other';

export const PHYSICAL_TYPES = [
  'BOOLEAN',
  'INT32',
  'INT64',
  'INT96',
  'FLOAT',
  'DOUBLE',
  'BYTE_ARRAY',
  'FIXED_LEN_BYTE_ARRAY',
] as const;
export type PhysicalType = (typeof PHYSICAL_TYPES)[number];

export const CODECS = [
  'UNCOMPRESSED',
  'SNAPPY',
  'GZIP',
  'LZO',
  'BROTLI',
  'LZ4',
  'ZSTD',
  'LZ4_RAW',
] as const;
export type Codec = (typeof CODECS)[number];

/** A column with values: a leaf of the schema. */
export type ParquetLeaf = {
  /** Names from the root on, without those that lists and maps need. */
  readonly name: string;
  /** Of the column at the top that the leaf belongs to. */
  readonly top: string;
  readonly type: PhysicalType;
  readonly typeLength: number;
  readonly logical: ParquetLogical;
  /** Of timestamps: units in a millisecond. */
  readonly perMs: number;
  /** Of decimals. */
  readonly scale: number;
  readonly maxDefinition: number;
  readonly maxRepetition: number;
  /** Definition level from which on the list that the value is in is there, and is not empty. */
  readonly listDefinition: number;
};

/** Where the values of a leaf in a row group lie. */
export type ParquetChunk = {
  readonly codec: Codec | undefined;
  readonly valueCount: number;
  readonly start: number;
  readonly end: number;
  /** In another file. */
  readonly isElsewhere: boolean;
};

export type ParquetGroup = { readonly rowCount: number; readonly chunks: readonly ParquetChunk[] };

export type ParquetFooter = {
  readonly leaves: readonly ParquetLeaf[];
  readonly groups: readonly ParquetGroup[];
  readonly rowCount: number;
  readonly metadata: ReadonlyMap<string, string>;
};

const MAGIC = 0x31524150;
const ENCRYPTED_MAGIC = 0x45524150;

/** @throws {QuarkError} `invalid_input` saying what is wrong with the file */
export async function readParquetFooter(
  file: InputFile,
  limits: ImportLimits,
): Promise<ParquetFooter> {
  if (file.sizeBytes < 12) throw bad('it is too short');
  const tail = await file.slice(file.sizeBytes - 8, file.sizeBytes);
  const view = new DataView(tail.buffer, tail.byteOffset, tail.byteLength);
  if (tail.byteLength < 8) throw bad('it has become shorter');
  const magic = view.getUint32(4, true);
  if (magic === ENCRYPTED_MAGIC) throw bad('it is encrypted');
  if (magic !== MAGIC) throw bad('it does not end as one: it is cut off, or was never finished');
  const length = view.getUint32(0, true);
  if (length > file.sizeBytes - 12) throw bad(`its footer says that it has ${length} bytes`);
  if (length > limits.maxFooterBytes)
    throw bad(
      `its footer has ${length} bytes; it may have ${limits.maxFooterBytes} (limits.maxFooterBytes)`,
    );
  const end = file.sizeBytes - 8;
  const bytes = await file.slice(end - length, end);
  try {
    return new FooterParser(bytes, file.sizeBytes, limits).parse();
  } catch (cause) {
    if (cause instanceof QuarkError) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new QuarkError(
      'invalid_input',
      `The Parquet file cannot be read: its footer is damaged (${reason}).`,
      { cause },
    );
  }
}

type Element = {
  type: number | undefined;
  typeLength: number;
  repetition: number;
  name: string;
  children: number;
  converted: number | undefined;
  scale: number;
  logical: ParquetLogical | undefined;
  perMs: number;
};

class FooterParser {
  readonly #reader: ThriftReader;
  readonly #sizeBytes: number;
  readonly #limits: ImportLimits;
  #chunkCount = 0;

  constructor(bytes: Uint8Array, sizeBytes: number, limits: ImportLimits) {
    this.#reader = new ThriftReader(bytes);
    this.#sizeBytes = sizeBytes;
    this.#limits = limits;
  }

  parse(): ParquetFooter {
    const reader = this.#reader;
    const elements: Element[] = [];
    const groups: ParquetGroup[] = [];
    const metadata = new Map<string, string>();
    let rowCount = 0;
    reader.struct((id, type) => {
      if (id === 2) reader.list(type, () => elements.push(this.#element(elements.length)));
      else if (id === 3) rowCount = reader.integer(type);
      else if (id === 4)
        reader.list(type, () => {
          // A row group of one byte is one of no columns, and an object all the same.
          if (groups.length >= this.#limits.maxTableChunks)
            throw bad(
              `it has more than ${this.#limits.maxTableChunks} row groups (limits.maxTableChunks)`,
            );
          groups.push(this.#group());
        });
      else if (id === 5) reader.list(type, () => this.#fact(metadata));
      else return false;
      return true;
    });
    const leaves = leavesOf(elements, this.#limits);
    for (const group of groups)
      if (group.chunks.length !== leaves.length)
        throw new Error(
          `a row group has ${group.chunks.length} columns instead of ${leaves.length}`,
        );
    return { leaves, groups, rowCount, metadata };
  }

  #element(count: number): Element {
    // Lists take three elements each.
    if (count > 4 * this.#limits.maxColumns)
      throw bad(`it has more than ${this.#limits.maxColumns} columns (limits.maxColumns)`);
    const reader = this.#reader;
    const element: Element = {
      type: undefined,
      typeLength: 0,
      repetition: 0,
      name: '',
      children: 0,
      converted: undefined,
      scale: 0,
      logical: undefined,
      perMs: 1,
    };
    reader.struct((id, type) => {
      if (id === 1) element.type = reader.integer(type);
      else if (id === 2) element.typeLength = reader.integer(type);
      else if (id === 3) element.repetition = reader.integer(type);
      else if (id === 4) element.name = reader.text(type);
      else if (id === 5) element.children = reader.integer(type);
      else if (id === 6) element.converted = reader.integer(type);
      else if (id === 7) element.scale = reader.integer(type);
      else if (id === 10) this.#logical(element);
      else return false;
      return true;
    });
    return element;
  }

  /** The union LogicalType: the number of the field says which. */
  #logical(element: Element): void {
    const reader = this.#reader;
    const found = new Map<number, ParquetLogical>([
      [1, 'text'],
      [4, 'text'],
      [5, 'decimal'],
      [6, 'date'],
      [8, 'timestamp'],
      [12, 'json'],
      [15, 'float16'],
    ]);
    reader.struct((id) => {
      element.logical = found.get(id) ?? 'other';
      if (id === 5)
        reader.struct((inner, type) => {
          if (inner !== 1) return false;
          element.scale = reader.integer(type);
          return true;
        });
      else if (id === 8)
        reader.struct((inner) => {
          if (inner !== 2) return false;
          reader.struct((unit) => {
            element.perMs = unit === 1 ? 1 : unit === 2 ? 1e3 : 1e6;
            return false;
          });
          return true;
        });
      else if (id === 10) {
        element.logical = 'none';
        reader.struct((inner, type) => {
          if (inner !== 2) return false;
          if (!reader.bool(type)) element.logical = 'unsigned';
          return true;
        });
      } else return false;
      return true;
    });
  }

  #group(): ParquetGroup {
    const reader = this.#reader;
    const chunks: ParquetChunk[] = [];
    let rowCount = 0;
    reader.struct((id, type) => {
      if (id === 1) reader.list(type, () => chunks.push(this.#chunk()));
      else if (id === 3) rowCount = reader.integer(type);
      else return false;
      return true;
    });
    if (!(rowCount >= 0)) throw new Error('a row group has a negative number of rows');
    return { rowCount, chunks };
  }

  #chunk(): ParquetChunk {
    const { maxTableChunks } = this.#limits;
    if (++this.#chunkCount > maxTableChunks)
      throw bad(`it has more than ${maxTableChunks} column chunks (limits.maxTableChunks)`);
    const reader = this.#reader;
    let isElsewhere = false;
    let codec: Codec | undefined;
    let valueCount = 0;
    let size = 0;
    let dataOffset = 0;
    let dictionaryOffset = 0;
    reader.struct((id, type) => {
      if (id === 1) isElsewhere = reader.bytes(type).length > 0;
      else if (id === 3)
        reader.struct((inner, innerType) => {
          if (inner === 4) codec = CODECS[reader.integer(innerType)];
          else if (inner === 5) valueCount = reader.integer(innerType);
          else if (inner === 7) size = reader.integer(innerType);
          else if (inner === 9) dataOffset = reader.integer(innerType);
          else if (inner === 11) dictionaryOffset = reader.integer(innerType);
          else return false;
          return true;
        });
      else return false;
      return true;
    });
    // Some writers say 0 for a dictionary that is not there.
    const start =
      dictionaryOffset > 0 && dictionaryOffset < dataOffset ? dictionaryOffset : dataOffset;
    const isInside = start >= 4 && size >= 0 && start + size <= this.#sizeBytes;
    if (!isInside && !isElsewhere && valueCount > 0)
      throw new Error('a column lies outside of the file');
    return { codec, valueCount, start, end: start + size, isElsewhere };
  }

  #fact(metadata: Map<string, string>): void {
    const reader = this.#reader;
    let key = '';
    let value = '';
    reader.struct((id, type) => {
      if (id === 1) key = reader.text(type);
      else if (id === 2) value = reader.text(type);
      else return false;
      return true;
    });
    metadata.set(key, value);
  }
}

type SchemaPath = {
  readonly names: readonly string[];
  /** Of the names, joined. */
  readonly chars: number;
  readonly definition: number;
  readonly repetition: number;
  readonly listDefinition: number;
};

/** The schema is a tree in the order in which one walks through it. */
function leavesOf(
  elements: readonly Element[],
  { maxColumns, maxDepth, maxFooterBytes }: ImportLimits,
): ParquetLeaf[] {
  const leaves: ParquetLeaf[] = [];
  let next = 1;
  let nameChars = 0;
  const walk = (count: number, path: SchemaPath, depth: number): void => {
    if (depth > maxDepth) throw new Error('the schema is nested too deep');
    for (let i = 0; i < count; i++) {
      const element = elements[next++];
      if (element === undefined) throw new Error('the schema ends in the middle');
      const isRepeated = element.repetition === 2;
      const definition = path.definition + (element.repetition === 0 ? 0 : 1);
      nameChars += path.chars + element.name.length;
      // Each column repeats the names of the groups that it is in.
      if (nameChars > maxFooterBytes)
        throw bad(
          `the names of its columns have more than ${maxFooterBytes} characters (limits.maxFooterBytes)`,
        );
      const here: SchemaPath = {
        chars: path.chars + element.name.length + 1,
        names: [...path.names, element.name],
        definition,
        repetition: path.repetition + (isRepeated ? 1 : 0),
        listDefinition: isRepeated ? definition : path.listDefinition,
      };
      if (element.children > 0) walk(element.children, here, depth + 1);
      else if (leaves.length >= maxColumns)
        throw bad(`it has more than ${maxColumns} columns (limits.maxColumns)`);
      else leaves.push(leafOf(element, here));
    }
  };
  walk(
    elements[0]?.children ?? 0,
    { names: [], chars: 0, definition: 0, repetition: 0, listDefinition: 0 },
    0,
  );
  return leaves;
}

function leafOf(element: Element, path: SchemaPath): ParquetLeaf {
  const type = PHYSICAL_TYPES[element.type ?? -1];
  if (type === undefined) throw new Error(`column "${element.name.slice(0, 100)}" has no type`);
  const { logical, perMs } = meaningOf(element, type);
  const [top = ''] = path.names;
  return {
    name: path.repetition > 0 ? top : path.names.join('/'),
    top,
    type,
    typeLength: element.typeLength,
    logical,
    perMs,
    scale: element.scale,
    maxDefinition: path.definition,
    maxRepetition: path.repetition,
    listDefinition: path.listDefinition,
  };
}

/** Old files have converted types instead of logical ones. */
function meaningOf(
  { converted, logical, perMs }: Element,
  type: PhysicalType,
): { readonly logical: ParquetLogical; readonly perMs: number } {
  if (type === 'INT96') return { logical: 'timestamp', perMs: 1 };
  if (logical !== undefined) return { logical, perMs };
  switch (converted) {
    case 0:
    case 4:
      return { logical: 'text', perMs };
    case 5:
      return { logical: 'decimal', perMs };
    case 6:
      return { logical: 'date', perMs };
    case 9:
      return { logical: 'timestamp', perMs: 1 };
    case 10:
      return { logical: 'timestamp', perMs: 1e3 };
    case 11:
    case 12:
    case 13:
    case 14:
      return { logical: 'unsigned', perMs };
    case 19:
      return { logical: 'json', perMs };
    case undefined:
      return { logical: type === 'BYTE_ARRAY' ? 'text' : 'none', perMs };
    default:
      return { logical: converted >= 15 && converted <= 18 ? 'none' : 'other', perMs };
  }
}

function bad(reason: string): QuarkError {
  return new QuarkError('invalid_input', `The Parquet file cannot be read: ${reason}.`);
}
