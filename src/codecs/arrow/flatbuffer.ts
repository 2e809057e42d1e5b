/**
 * The part of FlatBuffers that Arrow messages need: a builder that writes from the end to the front, and a reader that
 * checks every offset. Format: https://flatbuffers.dev/internals/
 */
import { QuarkError } from '../../base/errors.ts';

/** Builds one buffer. Children are written before their parents; positions count from the end. */
export class FlatBuilder {
  #bytes = new Uint8Array(1024);
  #view = new DataView(this.#bytes.buffer);
  #space = 1024;
  #alignment = 1;
  #slots: number[] = [];
  #tableStart = 0;

  #position(): number {
    return this.#bytes.length - this.#space;
  }

  #reserve(size: number, extra: number): void {
    if (size > this.#alignment) this.#alignment = size;
    const padding = -(this.#position() + extra) & (size - 1);
    while (this.#space < padding + size + extra) {
      const grown = new Uint8Array(this.#bytes.length * 2);
      grown.set(this.#bytes, this.#bytes.length);
      this.#space += this.#bytes.length;
      this.#bytes = grown;
      this.#view = new DataView(grown.buffer);
    }
    for (let i = 0; i < padding; i++) this.#bytes[--this.#space] = 0;
  }

  #int8(value: number): void {
    this.#reserve(1, 0);
    this.#view.setInt8((this.#space -= 1), value);
  }

  #int16(value: number): void {
    this.#reserve(2, 0);
    this.#view.setInt16((this.#space -= 2), value, true);
  }

  #int32(value: number): void {
    this.#reserve(4, 0);
    this.#view.setInt32((this.#space -= 4), value, true);
  }

  /** Lengths and offsets: non-negative, below 2^53. */
  #int64(value: number): void {
    this.#reserve(8, 0);
    this.#space -= 8;
    this.#view.setUint32(this.#space, value % 0x1_0000_0000, true);
    this.#view.setUint32(this.#space + 4, Math.floor(value / 0x1_0000_0000), true);
  }

  #offset(target: number): void {
    this.#reserve(4, 0);
    this.#int32(this.#position() - target + 4);
  }

  string(text: string): number {
    const utf8 = new TextEncoder().encode(text);
    this.#int8(0);
    this.#reserve(4, utf8.length);
    this.#space -= utf8.length;
    this.#bytes.set(utf8, this.#space);
    this.#int32(utf8.length);
    return this.#position();
  }

  /** A vector of tables or strings. */
  offsets(targets: readonly number[]): number {
    this.#reserve(4, 4 * targets.length);
    for (const target of targets.toReversed()) this.#offset(target);
    this.#int32(targets.length);
    return this.#position();
  }

  /** A vector of structs of two int64: field nodes and buffers. */
  pairs(pairs: readonly (readonly [number, number])[]): number {
    this.#reserve(4, 16 * pairs.length);
    this.#reserve(8, 16 * pairs.length);
    for (const [first, second] of pairs.toReversed()) {
      this.#int64(second);
      this.#int64(first);
    }
    this.#int32(pairs.length);
    return this.#position();
  }

  /** A table: `fields` writes its slots, then the position of the table is returned. */
  table(fields: (slots: FlatSlots) => void): number {
    this.#slots = [];
    this.#tableStart = this.#position();
    const put = (slot: number, write: () => void): void => {
      write();
      this.#slots[slot] = this.#position();
    };
    fields({
      int8: (slot, value) => put(slot, () => this.#int8(value)),
      int16: (slot, value) => put(slot, () => this.#int16(value)),
      int32: (slot, value) => put(slot, () => this.#int32(value)),
      int64: (slot, value) => put(slot, () => this.#int64(value)),
      offset: (slot, target) => put(slot, () => this.#offset(target)),
    });
    this.#int32(0);
    const tableEnd = this.#position();
    for (let slot = this.#slots.length - 1; slot >= 0; slot--) {
      const position = this.#slots[slot];
      this.#int16(position === undefined ? 0 : tableEnd - position);
    }
    this.#int16(tableEnd - this.#tableStart);
    this.#int16((this.#slots.length + 2) * 2);
    this.#view.setInt32(this.#bytes.length - tableEnd, this.#position() - tableEnd, true);
    return tableEnd;
  }

  /** The finished buffer with `root` as its root table. Its length is a multiple of 8. */
  finish(root: number): Uint8Array<ArrayBuffer> {
    this.#reserve(Math.max(8, this.#alignment), 4);
    this.#offset(root);
    return this.#bytes.slice(this.#space);
  }
}

/** Writes the fields of a table, each into its slot. */
export interface FlatSlots {
  int8(slot: number, value: number): void;
  int16(slot: number, value: number): void;
  int32(slot: number, value: number): void;
  int64(slot: number, value: number): void;
  offset(slot: number, target: number): void;
}

/** A table inside bytes that may be anything: every access is checked. */
export class FlatTable {
  readonly #view: DataView;
  readonly #at: number;

  constructor(view: DataView, at: number) {
    this.#view = view;
    this.#at = at;
  }

  static root(bytes: Uint8Array): FlatTable {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    return new FlatTable(view, check(view, 0, 4).getUint32(0, true));
  }

  #field(slot: number, size: number): number | undefined {
    const vtable = this.#at - check(this.#view, this.#at, 4).getInt32(this.#at, true);
    const vtableBytes = check(this.#view, vtable, 4).getUint16(vtable, true);
    const entry = 4 + 2 * slot;
    if (entry + 2 > vtableBytes) return undefined;
    const offset = check(this.#view, vtable + entry, 2).getUint16(vtable + entry, true);
    if (offset === 0) return undefined;
    check(this.#view, this.#at + offset, size);
    return this.#at + offset;
  }

  int8(slot: number): number {
    const at = this.#field(slot, 1);
    return at === undefined ? 0 : this.#view.getUint8(at);
  }

  int16(slot: number): number {
    const at = this.#field(slot, 2);
    return at === undefined ? 0 : this.#view.getInt16(at, true);
  }

  int32(slot: number): number {
    const at = this.#field(slot, 4);
    return at === undefined ? 0 : this.#view.getInt32(at, true);
  }

  int64(slot: number): number {
    const at = this.#field(slot, 8);
    return at === undefined ? 0 : readInt64(this.#view, at);
  }

  table(slot: number): FlatTable | undefined {
    const at = this.#field(slot, 4);
    return at === undefined
      ? undefined
      : new FlatTable(this.#view, at + this.#view.getUint32(at, true));
  }

  string(slot: number): string {
    const at = this.#field(slot, 4);
    if (at === undefined) return '';
    const start = at + this.#view.getUint32(at, true);
    const length = check(this.#view, start, 4).getUint32(start, true);
    check(this.#view, start + 4, length);
    return new TextDecoder().decode(
      new Uint8Array(this.#view.buffer, this.#view.byteOffset + start + 4, length),
    );
  }

  tables(slot: number): FlatTable[] {
    const { start, length } = this.#vector(slot, 4);
    return Array.from({ length }, (_, i) => {
      const at = start + 4 * i;
      return new FlatTable(this.#view, at + this.#view.getUint32(at, true));
    });
  }

  /** A vector of structs of two int64. */
  pairs(slot: number): [number, number][] {
    const { start, length } = this.#vector(slot, 16);
    return Array.from({ length }, (_, i) => {
      const at = start + 16 * i;
      return [readInt64(this.#view, at), readInt64(this.#view, at + 8)];
    });
  }

  #vector(slot: number, itemSize: number): { start: number; length: number } {
    const at = this.#field(slot, 4);
    if (at === undefined) return { start: 0, length: 0 };
    const start = at + this.#view.getUint32(at, true);
    const length = check(this.#view, start, 4).getUint32(start, true);
    check(this.#view, start + 4, length * itemSize);
    return { start: start + 4, length };
  }
}

function check(view: DataView, at: number, size: number): DataView {
  if (at < 0 || at + size > view.byteLength)
    throw damaged('a metadata offset points outside its message');
  return view;
}

function readInt64(view: DataView, at: number): number {
  const value = view.getUint32(at, true) + view.getInt32(at + 4, true) * 0x1_0000_0000;
  if (!Number.isSafeInteger(value) || value < 0)
    throw damaged('a length or offset is out of range');
  return value;
}

/** The error of bytes that are not what they claim to be. */
export function damaged(reason: string): QuarkError {
  return new QuarkError('segment_damaged', `The segment cannot be read: ${reason}.`, {
    details: { reason },
  });
}
