/**
 * Reads tables of an SQLite database (file format 3) front to back, without SQLite: pages on both sides of a write-ahead log, rows that
 * spill over, nothing else. It works where no native module does, and hostile files cannot take the process with them.
 */
import { QuarkError } from '../../base/errors.ts';
import type { InputFile } from '../input.ts';
import type { ImportLimits } from '../limits.ts';
import { readWal, type WalPages } from './sqlite-wal.ts';

/** A value of a cell. Integers beyond 2^53 are the nearest double. */
export type SqliteValue = string | number | Uint8Array | null;

/** A row by the names of its columns. One that was added to the table after the row may be missing, which is null. */
export type SqliteRow = ReadonlyMap<string, SqliteValue>;

const MAGIC = new TextEncoder().encode('SQLite format 3\0');
const CHUNK_BYTES = 1 << 20;
const MAX_CHUNKS = 16;
const MAX_DEPTH = 20;
/** Bytes of all rows together, in sizes of the file; each row counts some beside its own. */
const MAX_EXPANSION = 4;
const ROW_BYTES = 16;
const LEAF = 0x0d;
const INTERIOR = 0x05;
const INTEGER_BYTES = [0, 1, 2, 3, 4, 6, 8];

/** Whether bytes begin as a database does. */
export function isSqlite(bytes: Uint8Array): boolean {
  return MAGIC.every((byte, i) => bytes[i] === byte);
}

type Page = { readonly bytes: Uint8Array; readonly view: DataView };
type Table = {
  readonly root: number;
  readonly columns: readonly string[];
  readonly idColumn: number;
};

export class SqliteFile {
  readonly #file: InputFile;
  readonly #limits: ImportLimits;
  readonly #problem: (location: string, reason: string) => void;
  readonly #pageBytes: number;
  readonly #usableBytes: number;
  readonly #wal: WalPages | undefined;
  readonly #decoder: TextDecoder;
  readonly #chunks = new Map<number, Promise<Uint8Array>>();
  /** Cells may be made to overlap: what all rows may have together follows from the size of the file. */
  #bytesLeft: number;

  private constructor(
    file: InputFile,
    header: DataView,
    wal: WalPages | undefined,
    limits: ImportLimits,
    problem: (location: string, reason: string) => void,
  ) {
    this.#file = file;
    this.#wal = wal;
    this.#limits = limits;
    this.#problem = problem;
    this.#bytesLeft = MAX_EXPANSION * (file.sizeBytes + (wal?.sizeBytes ?? 0)) + CHUNK_BYTES;
    const size = header.getUint16(16);
    this.#pageBytes = size === 1 ? 65_536 : size;
    this.#usableBytes = this.#pageBytes - header.getUint8(20);
    const encoding = header.getUint32(56);
    this.#decoder = new TextDecoder(
      encoding === 2 ? 'utf-16le' : encoding === 3 ? 'utf-16be' : 'utf-8',
    );
  }

  /**
   * @param wal the file beside it whose name ends in `-wal`, when there is one
   * @throws {QuarkError} `invalid_input` when it is no database
   */
  static async open(
    file: InputFile,
    wal: InputFile | undefined,
    limits: ImportLimits,
    problem: (location: string, reason: string) => void,
  ): Promise<SqliteFile> {
    const bytes = await file.slice(0, 100);
    if (bytes.byteLength < 100 || !isSqlite(bytes)) throw invalid('it has no header');
    const header = new DataView(bytes.buffer, bytes.byteOffset, 100);
    const size = header.getUint16(16);
    const pageBytes = size === 1 ? 65_536 : size;
    if (
      pageBytes < 512 ||
      (pageBytes & (pageBytes - 1)) !== 0 ||
      pageBytes - header.getUint8(20) < 480
    )
      throw invalid('its pages have no size that is allowed');
    const pages = wal === undefined ? undefined : await readWal(wal, pageBytes);
    return new SqliteFile(file, header, pages, limits, problem);
  }

  /** The rows of a table in the order of their ids; none when there is no such table. */
  async *rows(table: string): AsyncGenerator<SqliteRow> {
    const found = (await this.#tables()).get(table);
    if (found === undefined) return;
    for await (const { id, values } of this.#walk(found.root)) {
      const row = new Map<string, SqliteValue>();
      // As many cells as the row has, not the table: a row of one byte may be of a table of thousands of columns.
      for (const [i, value] of values.entries()) {
        const name = found.columns[i];
        if (name !== undefined) row.set(name, value);
      }
      const idName = found.columns[found.idColumn];
      if (idName !== undefined) row.set(idName, id);
      yield row;
    }
  }

  /** Names of the columns of each table. */
  async columns(): Promise<ReadonlyMap<string, readonly string[]>> {
    return new Map([...(await this.#tables())].map(([name, { columns }]) => [name, columns]));
  }

  async #tables(): Promise<Map<string, Table>> {
    const tables = new Map<string, Table>();
    for await (const { values } of this.#walk(1)) {
      const [type, name, , root, sql] = values;
      if (type !== 'table' || typeof name !== 'string' || typeof root !== 'number') continue;
      if (typeof sql === 'string' && tables.size < this.#limits.maxColumns)
        tables.set(name, { root, ...columnsOf(sql) });
    }
    return tables;
  }

  /** The rows of a tree. A page that was visited already is a loop that somebody made. */
  async *#walk(root: number): AsyncGenerator<{ id: number; values: SqliteValue[] }> {
    const visited = new Set<number>();
    const waiting: { page: number; depth: number }[] = [{ page: root, depth: 0 }];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const { page: number, depth } = next;
      if (visited.has(number) || depth > MAX_DEPTH) {
        this.#problem(`page ${number}`, 'Pages of a table lead back to themselves.');
        continue;
      }
      visited.add(number);
      const page = await this.#page(number);
      if (page === undefined) {
        this.#problem(`page ${number}`, 'A page of a table is not in the file.');
        continue;
      }
      const start = number === 1 ? 100 : 0;
      const type = page.bytes[start];
      const count = page.view.getUint16(start + 3);
      if ((type !== LEAF && type !== INTERIOR) || start + 12 + 2 * count > this.#pageBytes) {
        this.#problem(`page ${number}`, 'A page of a table is damaged.');
        continue;
      }
      if (type === INTERIOR) {
        const children = [];
        for (let i = 0; i < count; i++) {
          const at = page.view.getUint16(start + 12 + 2 * i);
          if (at + 4 <= this.#pageBytes) children.push(page.view.getUint32(at));
        }
        children.push(page.view.getUint32(start + 8));
        for (const child of children.reverse()) waiting.push({ page: child, depth: depth + 1 });
        continue;
      }
      for (let i = 0; i < count; i++) {
        if (this.#bytesLeft <= 0) {
          this.#problem(
            `page ${number}`,
            'The rows of the file are larger than it; the rest is left out.',
          );
          return;
        }
        const row = await this.#row(page, page.view.getUint16(start + 8 + 2 * i));
        if (row === undefined) this.#problem(`page ${number}`, `Row ${i} of the page is damaged.`);
        else yield row;
      }
    }
  }

  async #row(
    page: Page,
    start: number,
  ): Promise<{ id: number; values: SqliteValue[] } | undefined> {
    const cursor = new Cursor(page.bytes, start);
    const size = cursor.varint();
    const id = cursor.varint();
    this.#bytesLeft -= size + ROW_BYTES;
    if (this.#bytesLeft < 0) return undefined;
    if (cursor.isBroken || size > this.#limits.maxRecordBytes) return undefined;
    const usable = this.#usableBytes;
    const max = usable - 35;
    const min = Math.floor(((usable - 12) * 32) / 255) - 23;
    const spilled = min + ((size - min) % (usable - 4));
    const local = size <= max ? size : spilled <= max ? spilled : min;
    if (cursor.at + local > this.#pageBytes) return undefined;
    let payload = page.bytes.subarray(cursor.at, cursor.at + local);
    if (local < size) {
      if (cursor.at + local + 4 > this.#pageBytes) return undefined;
      const whole = new Uint8Array(size);
      whole.set(payload);
      let next = page.view.getUint32(cursor.at + local);
      for (let used = local; used < size;) {
        const more = await this.#page(next);
        if (more === undefined) return undefined;
        const part = more.bytes.subarray(4, Math.min(usable, 4 + size - used));
        whole.set(part, used);
        used += part.byteLength;
        next = more.view.getUint32(0);
      }
      payload = whole;
    }
    const values = this.#values(payload);
    return values === undefined ? undefined : { id, values };
  }

  #values(payload: Uint8Array): SqliteValue[] | undefined {
    const header = new Cursor(payload, 0);
    const headerBytes = header.varint();
    if (header.isBroken || headerBytes > payload.byteLength) return undefined;
    const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
    const values: SqliteValue[] = [];
    let at = headerBytes;
    while (header.at < headerBytes && values.length < this.#limits.maxColumns) {
      const type = header.varint();
      const bytes =
        type < 7
          ? (INTEGER_BYTES[type] ?? 0)
          : type === 7
            ? 8
            : type < 12
              ? 0
              : (type - (type % 2 === 0 ? 12 : 13)) / 2;
      if (header.isBroken || at + bytes > payload.byteLength) return undefined;
      if (type === 0) values.push(null);
      else if (type < 7) values.push(integer(view, at, bytes));
      else if (type === 7) values.push(view.getFloat64(at));
      else if (type < 12) values.push(type === 9 ? 1 : 0);
      else {
        const part = payload.subarray(at, at + bytes);
        values.push(type % 2 === 0 ? part.slice() : this.#decoder.decode(part));
      }
      at += bytes;
    }
    return values;
  }

  async #page(number: number): Promise<Page | undefined> {
    const size = this.#pageBytes;
    if (number < 1) return undefined;
    let bytes = await this.#wal?.page(number);
    if (bytes === undefined) {
      const start = (number - 1) * size;
      if (start + size > this.#file.sizeBytes) return undefined;
      const chunk = await this.#chunk(Math.floor(start / CHUNK_BYTES));
      const from = start % CHUNK_BYTES;
      bytes = chunk.subarray(from, from + size);
    }
    if (bytes.byteLength < size) return undefined;
    return { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, size) };
  }

  #chunk(index: number): Promise<Uint8Array> {
    let chunk = this.#chunks.get(index);
    if (chunk === undefined) {
      chunk = this.#file.slice(index * CHUNK_BYTES, (index + 1) * CHUNK_BYTES);
      const [oldest] = this.#chunks.keys();
      if (this.#chunks.size >= MAX_CHUNKS && oldest !== undefined) this.#chunks.delete(oldest);
      this.#chunks.set(index, chunk);
    }
    return chunk;
  }
}

class Cursor {
  at: number;
  isBroken = false;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes;
    this.at = at;
  }

  /** Up to nine bytes, the highest first. */
  varint(): number {
    let value = 0;
    for (let i = 0; i < 9; i++) {
      const byte = this.#bytes[this.at++];
      if (byte === undefined) {
        this.isBroken = true;
        return 0;
      }
      if (i === 8) return value * 256 + byte;
      value = value * 128 + (byte & 127);
      if (byte < 128) return value;
    }
    return value;
  }
}

function integer(view: DataView, at: number, bytes: number): number {
  if (bytes === 8) return Number(view.getBigInt64(at));
  let value = view.getInt8(at);
  for (let i = 1; i < bytes; i++) value = value * 256 + view.getUint8(at + i);
  return value;
}

/** Names of columns out of CREATE TABLE, and which of them is another name of the row's id. */
function columnsOf(sql: string): { columns: string[]; idColumn: number } {
  const body = sql.slice(sql.indexOf('(') + 1, sql.lastIndexOf(')'));
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (let i = 0; i <= body.length; i++) {
    const char = body[i];
    if (char === '(') depth++;
    else if (char === ')') depth--;
    else if ((char === ',' && depth === 0) || char === undefined) {
      parts.push(body.slice(from, i).trim());
      from = i + 1;
    }
  }
  const definitions = parts.filter(
    (part) => !/^(?:CONSTRAINT|UNIQUE|PRIMARY|FOREIGN|CHECK)\b/i.test(part),
  );
  return {
    columns: definitions.map((part) => /^["'`[]?([^"'`\]\s]+)/.exec(part)?.[1] ?? ''),
    idColumn: definitions.findIndex((part) => /\bINTEGER\s+PRIMARY\s+KEY\b/i.test(part)),
  };
}

function invalid(reason: string): QuarkError {
  return new QuarkError('invalid_input', `The file is no SQLite database: ${reason}.`);
}
