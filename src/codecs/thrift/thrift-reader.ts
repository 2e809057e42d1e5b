/**
 * Thrift's compact protocol, read field by field: what nobody asks for is passed over without being kept, so that hostile bytes cannot make
 * more of themselves than they are.
 */

const TRUE = 1;
const FALSE = 2;
const BYTE = 3;
const I16 = 4;
const I32 = 5;
const I64 = 6;
const DOUBLE = 7;
const BINARY = 8;
const LIST = 9;
const SET = 10;
const MAP = 11;
const STRUCT = 12;
const MAX_DEPTH = 24;

/** The bytes are no Thrift, or not of the shape that is expected. */
export class ThriftError extends Error {}

/** Called with each field; it reads the value with one of the methods of the reader, or returns false to pass over it. */
export type FieldVisitor = (id: number, type: number) => boolean | void;

export class ThriftReader {
  readonly #bytes: Uint8Array;
  readonly #end: number;
  #at: number;
  #depth = 0;

  constructor(bytes: Uint8Array, start = 0, end: number = bytes.length) {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
  }

  /** Where the next byte is read. */
  get at(): number {
    return this.#at;
  }

  struct(visit: FieldVisitor): void {
    if (++this.#depth > MAX_DEPTH) throw new ThriftError('it is nested too deep');
    let id = 0;
    for (;;) {
      const head = this.#byte();
      const type = head & 0x0f;
      if (head === 0) break;
      const delta = head >>> 4;
      id = delta > 0 ? id + delta : this.integer(I16);
      const before = this.#at;
      if (visit(id, type) === false) {
        this.#at = before;
        this.#skip(type);
      }
    }
    this.#depth--;
  }

  /** Calls back for each item; the visitor reads it. Returns how many there are. */
  list(type: number, visit: (itemType: number, index: number) => void): number {
    if (type !== LIST && type !== SET) throw new ThriftError('a list is missing');
    const [itemType, count] = this.#listHead();
    for (let i = 0; i < count; i++) visit(itemType, i);
    return count;
  }

  /** An integer; exact up to 2^53. */
  integer(type: number): number {
    if (type === BYTE) return (this.#byte() << 24) >> 24;
    if (type !== I16 && type !== I32 && type !== I64) throw new ThriftError('a number is missing');
    const raw = this.#varint();
    return raw % 2 === 0 ? raw / 2 : -(raw + 1) / 2;
  }

  bool(type: number): boolean {
    if (type !== TRUE && type !== FALSE) throw new ThriftError('a boolean is missing');
    return type === TRUE;
  }

  bytes(type: number): Uint8Array {
    if (type !== BINARY) throw new ThriftError('a text is missing');
    const length = this.#varint();
    if (length > this.#end - this.#at) throw new ThriftError('a text is longer than the rest');
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  text(type: number): string {
    return new TextDecoder().decode(this.bytes(type));
  }

  #listHead(): [itemType: number, count: number] {
    const head = this.#byte();
    const short = head >>> 4;
    const count = short === 15 ? this.#varint() : short;
    // Every item takes a byte at least.
    if (count > this.#end - this.#at) throw new ThriftError('a list is longer than the rest');
    return [head & 0x0f, count];
  }

  #skip(type: number): void {
    switch (type) {
      case TRUE:
      case FALSE:
        return;
      case BYTE:
        this.#byte();
        return;
      case I16:
      case I32:
      case I64:
        this.#varint();
        return;
      case DOUBLE:
        this.#at += 8;
        return;
      case BINARY:
        this.bytes(type);
        return;
      case LIST:
      case SET: {
        const [itemType, count] = this.#listHead();
        if (++this.#depth > MAX_DEPTH) throw new ThriftError('it is nested too deep');
        for (let i = 0; i < count; i++) this.#skipItem(itemType);
        this.#depth--;
        return;
      }
      case MAP: {
        const count = this.#varint();
        if (count === 0) return;
        if (count > this.#end - this.#at) throw new ThriftError('a map is longer than the rest');
        const types = this.#byte();
        if (++this.#depth > MAX_DEPTH) throw new ThriftError('it is nested too deep');
        for (let i = 0; i < count; i++) {
          this.#skipItem(types >>> 4);
          this.#skipItem(types & 0x0f);
        }
        this.#depth--;
        return;
      }
      case STRUCT:
        this.struct(() => false);
        return;
      default:
        throw new ThriftError(`there is no type ${type}`);
    }
  }

  /** Booleans take a byte in lists, and none as fields. */
  #skipItem(type: number): void {
    if (type === TRUE || type === FALSE) this.#byte();
    else this.#skip(type);
  }

  #byte(): number {
    const byte = this.#at < this.#end ? this.#bytes[this.#at] : undefined;
    if (byte === undefined) throw new ThriftError('it ends in the middle');
    this.#at++;
    return byte;
  }

  #varint(): number {
    let value = 0;
    let scale = 1;
    for (let i = 0; i < 10; i++) {
      const byte = this.#byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 128;
    }
    throw new ThriftError('a number has no end');
  }
}
