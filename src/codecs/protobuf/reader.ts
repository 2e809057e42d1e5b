/**
 * Reads protocol buffers (wire format of proto3) without a schema and without throwing: a message that is damaged ends early, with
 * `isBroken` set. One reader serves any number of messages, so that a million small ones allocate nothing.
 */

/** Wire types. 3 and 4, groups, are deprecated and read as damage. */
export const VARINT = 0;
export const FIXED64 = 1;
export const BYTES = 2;
export const FIXED32 = 5;
const MAX_FIELD = 0x1fffffff;
const TWO_32 = 4_294_967_296;
const TEXT = new TextDecoder();

type Damage = { readonly problem: string; readonly offset: number };
const NO_DAMAGE: Damage = { problem: '', offset: 0 };

export class ProtoReader {
  bytes: Uint8Array = new Uint8Array(0);
  view: DataView = new DataView(new ArrayBuffer(0));
  /** Number of the field that {@link next} found. */
  field = 0;
  /** How it is encoded: 0 varint, 1 eight bytes, 2 bytes, 5 four bytes. */
  wire = 0;
  /** The varint as a signed integer of 64 bits; beyond 2^53 the nearest double. */
  integer = 0;
  /** Where the value lies: the bytes of a text or message, or of a fixed-width number. */
  from = 0;
  to = 0;
  isBroken = false;
  /** What the damage is and where, once {@link isBroken}. */
  damage: Damage = NO_DAMAGE;
  #at = 0;
  #end = 0;

  /** Where the next field begins. */
  get offset(): number {
    return this.#at;
  }

  /** Begins a message at `[start, end)`. */
  open(bytes: Uint8Array, view: DataView, start: number, end: number): this {
    this.bytes = bytes;
    this.view = view;
    this.#at = start;
    this.#end = end;
    this.isBroken = false;
    return this;
  }

  /** Begins the message that is the value of the field another reader is at. */
  enter(outer: ProtoReader): this {
    if (outer.wire !== BYTES) {
      this.open(outer.bytes, outer.view, 0, 0);
      this.isBroken = true;
      return this;
    }
    return this.open(outer.bytes, outer.view, outer.from, outer.to);
  }

  /** Goes to the next field; false at the end of the message, or where it is damaged. */
  next(): boolean {
    if (this.#at >= this.#end) return false;
    const tag = this.#varint();
    if (this.isBroken) return false;
    this.field = Math.floor(tag / 8);
    this.wire = tag & 7;
    if (this.field < 1 || this.field > MAX_FIELD) return this.#break('there is no field number');
    switch (this.wire) {
      case VARINT:
        this.integer = this.#varint();
        return !this.isBroken;
      case BYTES: {
        const length = this.#varint();
        if (this.isBroken) return false;
        if (length < 0 || length > this.#end - this.#at)
          return this.#break(`a field of ${length} bytes reaches past the end`);
        this.from = this.#at;
        this.to = this.#at += length;
        return true;
      }
      case FIXED64:
      case FIXED32: {
        const length = this.wire === FIXED64 ? 8 : 4;
        if (this.#end - this.#at < length)
          return this.#break(`a field of ${length} bytes reaches past the end`);
        this.from = this.#at;
        this.to = this.#at += length;
        return true;
      }
      default:
        // Groups have not been written for twenty years.
        return this.#break(`there is a field of wire type ${this.wire}`);
    }
  }

  /** The value as double; NaN when it is none. */
  double(): number {
    return this.wire === FIXED64 ? this.view.getFloat64(this.from, true) : Number.NaN;
  }

  /** The value as float; NaN when it is none. */
  float(): number {
    return this.wire === FIXED32 ? this.view.getFloat32(this.from, true) : Number.NaN;
  }

  /** The value as text of at most `maxBytes`; bytes that are not UTF-8 become U+FFFD. Empty when it is none. */
  text(maxBytes = Number.POSITIVE_INFINITY): string {
    if (this.wire !== BYTES) return '';
    return TEXT.decode(this.bytes.subarray(this.from, Math.min(this.to, this.from + maxBytes)));
  }

  /** The bytes of the value: a view. */
  part(): Uint8Array {
    return this.wire === BYTES ? this.bytes.subarray(this.from, this.to) : new Uint8Array(0);
  }

  /** Appends the numbers of a repeated field, packed or not, to `target`, until it has `maxCount`. */
  repeated(
    kind: 'integer' | 'unsigned' | 'double' | 'float',
    target: number[],
    maxCount: number,
  ): void {
    if (this.wire === BYTES) {
      const packed = new ProtoReader().enter(this);
      while (packed.#at < packed.#end && !packed.isBroken && target.length < maxCount) {
        const width = kind === 'double' ? 8 : kind === 'float' ? 4 : 0;
        if (width === 0) {
          const value = packed.#varint(kind === 'unsigned');
          if (!packed.isBroken) target.push(value);
        } else if (packed.#end - packed.#at < width) packed.isBroken = true;
        else {
          target.push(
            width === 8
              ? this.view.getFloat64(packed.#at, true)
              : this.view.getFloat32(packed.#at, true),
          );
          packed.#at += width;
        }
      }
      if (packed.isBroken) this.isBroken = true;
    } else if (target.length < maxCount) {
      const isInteger = kind === 'integer' || kind === 'unsigned';
      target.push(isInteger ? this.integer : kind === 'double' ? this.double() : this.float());
    }
  }

  #varint(isUnsigned = false): number {
    const { bytes } = this;
    const end = this.#end;
    let at = this.#at;
    let byte = at < end ? (bytes[at++] ?? 0) : -1;
    if (byte >= 0 && byte < 0x80) {
      this.#at = at;
      return byte;
    }
    let low = byte & 0x7f;
    let high = 0;
    for (let shift = 7; byte >= 0x80; shift += 7) {
      byte = at < end && shift < 70 ? (bytes[at++] ?? 0) : -1;
      if (byte < 0) break;
      if (shift < 28) low |= (byte & 0x7f) << shift;
      else if (shift === 28) {
        low |= (byte & 0x0f) << 28;
        high = (byte & 0x7f) >> 4;
      } else high |= (byte & 0x7f) << (shift - 32);
    }
    this.#at = at;
    if (byte < 0) {
      this.#break(
        at < end ? 'there is a number of more than 64 bits' : 'the file ends inside a number',
      );
      return 0;
    }
    return (isUnsigned ? high >>> 0 : high) * TWO_32 + (low >>> 0);
  }

  #break(problem: string): false {
    // What came first is the damage; what follows from it is not.
    if (!this.isBroken) this.damage = { problem, offset: this.#at };
    this.isBroken = true;
    this.#at = this.#end;
    return false;
  }
}
