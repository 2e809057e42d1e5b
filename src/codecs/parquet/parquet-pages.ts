/** The pages of a column chunk, one after the other: levels and values, with the rows they belong to. */
import { crc32 } from '../../base/crc32.ts';
import type { InputFile } from '../input.ts';
import type { ImportLimits } from '../limits.ts';
import type { ParquetBudget } from './parquet-budget.ts';
import { decompressPage } from './parquet-codecs.ts';
import {
  deltaBytes,
  deltaLengthBytes,
  deltaNumbers,
  levelWidth,
  PageBytes,
  plainBytes,
  plainNumbers,
  readHybrid,
  splitNumbers,
  withMeaning,
  type ByteValues,
} from './parquet-encodings.ts';
import type { ParquetChunk, ParquetLeaf } from './parquet-footer.ts';
import { ThriftReader } from '../thrift/thrift-reader.ts';

/** Values that are there, in order. Those of dictionaries are positions in it. */
export type PageValues =
  | { readonly kind: 'numbers'; readonly values: Float64Array }
  | { readonly kind: 'texts'; readonly texts: Texts; readonly positions: Int32Array | null };

/** A page. */
export type ParquetPage = {
  /** Values with nulls; of lists, one for each item, empty list and null. */
  readonly count: number;
  /** Definition level of each; null where all are there. */
  readonly definition: Int32Array | null;
  /** Repetition level of each; null where there are no lists. */
  readonly repetition: Int32Array | null;
  readonly values: PageValues;
  /** About the memory it takes. */
  readonly bytes: number;
};

/** Texts that are decoded when they are asked for, once. */
export class Texts {
  readonly #values: ByteValues;
  readonly #known: (string | undefined)[] = [];

  constructor(values: ByteValues) {
    this.#values = values;
  }

  get length(): number {
    return this.#values.starts.length;
  }

  at(i: number): string {
    const { bytes, starts, ends } = this.#values;
    return (this.#known[i] ??= DECODER.decode(bytes.subarray(starts[i], ends[i])));
  }

  byteLength(i: number): number {
    return (this.#values.ends[i] ?? 0) - (this.#values.starts[i] ?? 0);
  }
}

/** What looks like a byte order mark belongs to the text. */
const DECODER = new TextDecoder('utf-8', { ignoreBOM: true });
const READ_BYTES = 1 << 18;
const MAX_HEADER_BYTES = 1 << 16;
const DATA_PAGE = 0;
const DICTIONARY_PAGE = 2;
const DATA_PAGE_V2 = 3;
/** Encoding. */
const PLAIN = 0;
const PLAIN_DICTIONARY = 2;
const RLE = 3;
const DELTA_BINARY_PACKED = 5;
const DELTA_LENGTH_BYTE_ARRAY = 6;
const DELTA_BYTE_ARRAY = 7;
const RLE_DICTIONARY = 8;
const BYTE_STREAM_SPLIT = 9;

type Header = {
  type: number;
  unpacked: number;
  packed: number;
  crc: number | undefined;
  count: number;
  encoding: number;
  levelEncoding: number;
  definitionBytes: number;
  repetitionBytes: number;
  isCompressed: boolean;
};

export class ParquetPages {
  readonly #file: InputFile;
  readonly #leaf: ParquetLeaf;
  readonly #chunk: ParquetChunk;
  readonly #limits: ImportLimits;
  readonly #budget: ParquetBudget;
  #at: number;
  #buffer = new Uint8Array(0);
  #bufferStart = 0;
  #dictionary: PageValues | undefined;
  #left: number;

  /** @param budget shared by all pages of the file */
  constructor(
    file: InputFile,
    leaf: ParquetLeaf,
    chunk: ParquetChunk,
    limits: ImportLimits,
    budget: ParquetBudget,
  ) {
    this.#file = file;
    this.#leaf = leaf;
    this.#chunk = chunk;
    this.#limits = limits;
    this.#budget = budget;
    this.#at = chunk.start;
    this.#left = chunk.valueCount;
  }

  /** The next page, or undefined at the end. @throws {Error} saying what is wrong with it */
  async next(): Promise<ParquetPage | undefined> {
    while (this.#left > 0) {
      if (this.#at >= this.#chunk.end) throw new Error('it ends in the middle');
      const header = await this.#header();
      const bytes = await this.#bytes(header.packed);
      this.#at += header.packed;
      if (header.crc !== undefined && crc32(bytes) !== header.crc >>> 0)
        throw new Error('the checksum of a page does not match');
      if (header.type === DICTIONARY_PAGE) {
        if (this.#dictionary !== undefined) throw new Error('it has two dictionaries');
        const page = new PageBytes(await this.#unpack(bytes, header.unpacked));
        this.#dictionary = this.#plain(page, header.count);
      } else if (header.type === DATA_PAGE || header.type === DATA_PAGE_V2) {
        if (header.count > this.#left) throw new Error('it has more values than it says');
        this.#left -= header.count;
        if (header.count === 0) continue;
        return header.type === DATA_PAGE
          ? this.#dataPage(header, bytes)
          : this.#dataPageV2(header, bytes);
      }
    }
    return undefined;
  }

  async #dataPage(header: Header, bytes: Uint8Array<ArrayBuffer>): Promise<ParquetPage> {
    const { maxDefinition, maxRepetition } = this.#leaf;
    const page = new PageBytes(await this.#unpack(bytes, header.unpacked));
    const levels = (max: number): Int32Array | null => {
      if (max === 0) return null;
      if (header.levelEncoding !== RLE) throw new Error('its levels have an encoding of long ago');
      const length = page.uint32();
      const start = page.take(length);
      return readHybrid(
        new PageBytes(page.bytes, start, start + length),
        levelWidth(max),
        header.count,
      );
    };
    const repetition = levels(maxRepetition);
    const definition = levels(maxDefinition);
    return this.#page(header, page, definition, repetition);
  }

  async #dataPageV2(header: Header, bytes: Uint8Array<ArrayBuffer>): Promise<ParquetPage> {
    const { maxDefinition, maxRepetition } = this.#leaf;
    const { definitionBytes, repetitionBytes, unpacked, count } = header;
    const valuesAt = definitionBytes + repetitionBytes;
    if (
      !(definitionBytes >= 0 && repetitionBytes >= 0) ||
      valuesAt > bytes.length ||
      valuesAt > unpacked
    )
      throw new Error('its levels are longer than it');
    const levels = (max: number, start: number, length: number): Int32Array | null =>
      max === 0
        ? null
        : readHybrid(new PageBytes(bytes, start, start + length), levelWidth(max), count);
    const repetition = levels(maxRepetition, 0, repetitionBytes);
    const definition = levels(maxDefinition, repetitionBytes, definitionBytes);
    const rest = bytes.slice(valuesAt);
    const values = header.isCompressed ? await this.#unpack(rest, unpacked - valuesAt) : rest;
    return this.#page(header, new PageBytes(values), definition, repetition);
  }

  #page(
    { count, encoding }: Header,
    page: PageBytes,
    definition: Int32Array | null,
    repetition: Int32Array | null,
  ): ParquetPage {
    const { maxDefinition } = this.#leaf;
    let there = count;
    if (definition !== null) {
      there = 0;
      for (let i = 0; i < count; i++) if (definition[i] === maxDefinition) there++;
    }
    const values =
      there === 0
        ? this.#plain(new PageBytes(new Uint8Array(0)), 0)
        : this.#values(page, encoding, there);
    return {
      count,
      definition: there === count ? null : definition,
      repetition,
      values,
      bytes: count * 8 + there * 8 + page.bytes.length,
    };
  }

  #values(page: PageBytes, encoding: number, count: number): PageValues {
    const leaf = this.#leaf;
    switch (encoding) {
      case PLAIN:
        return this.#plain(page, count);
      case PLAIN_DICTIONARY:
      case RLE_DICTIONARY:
        return this.#fromDictionary(readHybrid(page, page.byte(), count));
      case RLE: {
        if (leaf.type !== 'BOOLEAN') break;
        const length = page.uint32();
        const bits = new PageBytes(page.bytes, page.at, page.at + length);
        return { kind: 'numbers', values: Float64Array.from(readHybrid(bits, 1, count)) };
      }
      case DELTA_BINARY_PACKED:
        if (leaf.type !== 'INT32' && leaf.type !== 'INT64') break;
        return { kind: 'numbers', values: withMeaning(deltaNumbers(page, count), leaf) };
      case DELTA_LENGTH_BYTE_ARRAY:
        if (leaf.type !== 'BYTE_ARRAY') break;
        return texts(deltaLengthBytes(page, count));
      case DELTA_BYTE_ARRAY:
        if (leaf.type !== 'BYTE_ARRAY') break;
        return texts(
          deltaBytes(page, count, this.#limits.maxRecordBytes, (total) =>
            this.#budget.takeBytes(total),
          ),
        );
      case BYTE_STREAM_SPLIT:
        return { kind: 'numbers', values: splitNumbers(page, leaf, count) };
      default:
    }
    throw new Error(
      `its values have the encoding ${encoding}, which is not known for ${leaf.type}`,
    );
  }

  #plain(page: PageBytes, count: number): PageValues {
    return this.#leaf.type === 'BYTE_ARRAY'
      ? texts(plainBytes(page, count))
      : { kind: 'numbers', values: plainNumbers(page, this.#leaf, count) };
  }

  #fromDictionary(positions: Int32Array): PageValues {
    const dictionary = this.#dictionary;
    if (dictionary === undefined) throw new Error('its dictionary is missing');
    const length = dictionary.kind === 'texts' ? dictionary.texts.length : dictionary.values.length;
    for (const position of positions)
      if (position < 0 || position >= length)
        throw new Error('it points outside of its dictionary');
    if (dictionary.kind === 'texts') return { ...dictionary, positions };
    const values = new Float64Array(positions.length);
    for (let i = 0; i < positions.length; i++)
      values[i] = dictionary.values[positions[i] ?? 0] ?? Number.NaN;
    return { kind: 'numbers', values };
  }

  async #unpack(bytes: Uint8Array<ArrayBuffer>, length: number): Promise<Uint8Array<ArrayBuffer>> {
    return decompressPage(this.#chunk.codec, bytes, length);
  }

  async #header(): Promise<Header> {
    await this.#fill(Math.min(MAX_HEADER_BYTES, this.#chunk.end - this.#at));
    const start = this.#at - this.#bufferStart;
    const reader = new ThriftReader(
      this.#buffer,
      start,
      Math.min(this.#buffer.length, start + MAX_HEADER_BYTES),
    );
    const header = readHeader(reader);
    this.#at += reader.at - start;
    const { maxRecordBytes } = this.#limits;
    const { packed, unpacked, count } = header;
    if (!(packed >= 0 && unpacked >= 0 && count >= 0))
      throw new Error('a page has a negative size');
    if (unpacked > maxRecordBytes)
      throw new Error(
        `a page has ${unpacked} bytes; it may have ${maxRecordBytes} (limits.maxRecordBytes)`,
      );
    // What is longer than its values need is no page; runs of one value take next to nothing.
    if (count > maxRecordBytes / 4) throw new Error(`a page has ${count} values`);
    if (packed > this.#chunk.end - this.#at) throw new Error('a page is longer than its column');
    this.#budget.takeBytes(unpacked);
    this.#budget.takeValues(count);
    return header;
  }

  async #bytes(length: number): Promise<Uint8Array<ArrayBuffer>> {
    await this.#fill(length);
    const start = this.#at - this.#bufferStart;
    if (start + length > this.#buffer.length) throw new Error('the file has become shorter');
    return this.#buffer.slice(start, start + length);
  }

  /** Makes sure that so many bytes from the current position on are in the buffer. */
  async #fill(length: number): Promise<void> {
    const start = this.#at - this.#bufferStart;
    if (start >= 0 && start + length <= this.#buffer.length) return;
    const end = Math.min(this.#chunk.end, this.#at + Math.max(length, READ_BYTES));
    // Columns may be said to lie over one another: what is read counts each time.
    this.#budget.takeBytes(end - this.#at);
    this.#buffer = await this.#file.slice(this.#at, end);
    this.#bufferStart = this.#at;
  }
}

function texts(values: ByteValues): PageValues {
  return { kind: 'texts', texts: new Texts(values), positions: null };
}

function readHeader(reader: ThriftReader): Header {
  const header: Header = {
    type: -1,
    unpacked: 0,
    packed: 0,
    crc: undefined,
    count: 0,
    encoding: 0,
    levelEncoding: RLE,
    definitionBytes: 0,
    repetitionBytes: 0,
    isCompressed: true,
  };
  reader.struct((id, type) => {
    if (id === 1) header.type = reader.integer(type);
    else if (id === 2) header.unpacked = reader.integer(type);
    else if (id === 3) header.packed = reader.integer(type);
    else if (id === 4) header.crc = reader.integer(type);
    else if (id === 5 || id === 7)
      reader.struct((inner, innerType) => {
        if (inner === 1) header.count = reader.integer(innerType);
        else if (inner === 2) header.encoding = reader.integer(innerType);
        else if (inner === 3 && id === 5) header.levelEncoding = reader.integer(innerType);
        else return false;
        return true;
      });
    else if (id === 8)
      reader.struct((inner, innerType) => {
        if (inner === 1) header.count = reader.integer(innerType);
        else if (inner === 4) header.encoding = reader.integer(innerType);
        else if (inner === 5) header.definitionBytes = reader.integer(innerType);
        else if (inner === 6) header.repetitionBytes = reader.integer(innerType);
        else if (inner === 7) header.isCompressed = reader.bool(innerType);
        else return false;
        return true;
      });
    else return false;
    return true;
  });
  return header;
}
