/**
 * Protocol buffers on the wire, as much as ONNX files need: a reader over bytes that may be hostile, and a writer. The
 * reader never copies, never reads past its end, and takes each byte once, so no input makes it hang.
 */
import { QuarkError } from '../../base/errors.ts';

/** Wire types of protocol buffers. 3 and 4 (groups) are deprecated and do not occur in ONNX. */
export const VARINT = 0;
export const FIXED64 = 1;
export const BYTES = 2;
export const FIXED32 = 5;

/** The error for bytes that are no ONNX model. `offset` counts from the start of the file. */
export function damagedModel(problem: string, offset: number): QuarkError {
  return new QuarkError(
    'invalid_input',
    `model must be a complete ONNX file; at byte ${offset} ${problem}.`,
    { details: { field: 'model', value: problem, rule: 'a complete ONNX file', offset } },
  );
}

/** Reads the fields of one message in order: `while (reader.next()) switch (reader.field) ...`. */
export class WireReader {
  /** Number of the field that `next` has read. */
  field = 0;
  /** Its wire type. */
  wireType = 0;
  /** Its value when it is a varint: signed, and exact up to 2^53. */
  value = 0;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #end: number;
  #at: number;
  #start = 0;
  #stop = 0;

  /** A reader of `bytes[start, end)`. */
  constructor(bytes: Uint8Array, start = 0, end: number = bytes.length) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#at = start;
    this.#end = end;
  }

  /** Where the next field begins, in bytes from the start of the file. */
  get offset(): number {
    return this.#at;
  }

  /** Reads the next field; false at the end. @throws {QuarkError} `invalid_input` for bytes that are no message */
  next(): boolean {
    if (this.#at >= this.#end) return false;
    const begin = this.#at;
    const tag = this.#varint();
    this.field = Math.floor(tag / 8);
    this.wireType = tag % 8;
    if (this.field < 1 || this.field > 0x1fff_ffff)
      throw damagedModel('there is no field number', begin);
    switch (this.wireType) {
      case VARINT:
        this.value = this.#varint();
        break;
      case FIXED64:
        this.#take(8);
        break;
      case BYTES:
        this.#take(this.#varint());
        break;
      case FIXED32:
        this.#take(4);
        break;
      default:
        throw damagedModel(`there is a field of wire type ${this.wireType}`, begin);
    }
    return true;
  }

  /** The bytes of the field, a view. */
  bytes(): Uint8Array {
    this.#expect(BYTES);
    return this.#bytes.subarray(this.#start, this.#stop);
  }

  /** A reader of the message in the field. */
  message(): WireReader {
    this.#expect(BYTES);
    return new WireReader(this.#bytes, this.#start, this.#stop);
  }

  /** The text of the field. @throws {QuarkError} `invalid_input` when it is longer than `maxBytes` */
  text(maxBytes: number): string {
    this.#expect(BYTES);
    if (this.#stop - this.#start > maxBytes)
      throw damagedModel(`there is a name of ${this.#stop - this.#start} bytes`, this.#start);
    return new TextDecoder().decode(this.#bytes.subarray(this.#start, this.#stop));
  }

  /** The integer of the field. */
  integer(): number {
    this.#expect(VARINT);
    return this.value;
  }

  /** Adds the field's integers, packed or single, to `into`, which may grow to `maxLength`. */
  integers(into: number[], maxLength: number): void {
    if (this.wireType === VARINT) into.push(this.value);
    else {
      this.#expect(BYTES);
      const packed = new WireReader(this.#bytes, this.#start, this.#stop);
      while (packed.#at < packed.#end && into.length <= maxLength) into.push(packed.#varint());
    }
    if (into.length > maxLength)
      throw damagedModel(`there is a list of more than ${maxLength} integers`, this.#start);
  }

  /** Adds the field's float32s, packed or single, to `into`, which may grow to `maxLength`. */
  floats(into: number[], maxLength: number): void {
    if (this.wireType === FIXED32) into.push(this.float());
    else {
      this.#expect(BYTES);
      for (let at = this.#start; at + 4 <= this.#stop && into.length <= maxLength; at += 4)
        into.push(this.#view.getFloat32(at, true));
    }
    if (into.length > maxLength)
      throw damagedModel(`there is a list of more than ${maxLength} floats`, this.#start);
  }

  /** The float32 of the field. */
  float(): number {
    this.#expect(FIXED32);
    return this.#view.getFloat32(this.#start, true);
  }

  #expect(wireType: number): void {
    if (this.wireType !== wireType) {
      throw damagedModel(
        `field ${this.field} has wire type ${this.wireType} in place of ${wireType}`,
        this.#start,
      );
    }
  }

  #take(length: number): void {
    if (length < 0 || length > this.#end - this.#at)
      throw damagedModel(`a field of ${length} bytes reaches past the end`, this.#at);
    this.#start = this.#at;
    this.#at += length;
    this.#stop = this.#at;
  }

  #varint(): number {
    this.#start = this.#at;
    let value = 0;
    let factor = 1;
    for (let count = 1; count <= 10; count += 1) {
      const byte = this.#at < this.#end ? this.#bytes[this.#at] : undefined;
      if (byte === undefined) throw damagedModel('the file ends inside a number', this.#at);
      this.#at += 1;
      // The tenth byte carries the sign: what came before it is 2^63 too much.
      if (count === 10) return byte === 1 ? this.#negative() : this.#tooLong();
      value += (byte % 128) * factor;
      if (byte < 128) return value;
      factor *= 128;
    }
    return this.#tooLong();
  }

  #tooLong(): never {
    throw damagedModel('there is a number of more than 64 bits', this.#start);
  }

  /** A negative integer is ten bytes of its two's complement; small ones would lose their digits as a float. */
  #negative(): number {
    let value = 0n;
    for (let at = 0; at < 10; at += 1)
      value |= BigInt((this.#bytes[this.#start + at] ?? 0) % 128) << BigInt(7 * at);
    return Number(BigInt.asIntN(64, value));
  }
}

/** Builds one message. Bytes that are handed in are not copied before {@link WireWriter.finish}. */
export class WireWriter {
  readonly #parts: Uint8Array[] = [];
  #open: number[] = [];
  #length = 0;

  /** An integer, also a negative one, with up to 53 bits. */
  int(field: number, value: number): this {
    this.#varint(field * 8 + VARINT);
    this.#varint(value);
    return this;
  }

  float(field: number, value: number): this {
    this.#varint(field * 8 + FIXED32);
    for (const byte of new Uint8Array(Float32Array.of(value).buffer)) this.#open.push(byte);
    return this;
  }

  bytes(field: number, value: Uint8Array): this {
    this.#varint(field * 8 + BYTES);
    this.#varint(value.length);
    this.#close();
    this.#parts.push(value);
    this.#length += value.length;
    return this;
  }

  text(field: number, value: string): this {
    return this.bytes(field, new TextEncoder().encode(value));
  }

  message(field: number, value: WireWriter): this {
    return this.bytes(field, value.finish());
  }

  /** The bytes of the message. */
  finish(): Uint8Array<ArrayBuffer> {
    this.#close();
    const all = new Uint8Array(this.#length);
    let at = 0;
    for (const part of this.#parts) {
      all.set(part, at);
      at += part.length;
    }
    return all;
  }

  #close(): void {
    if (this.#open.length === 0) return;
    this.#parts.push(Uint8Array.from(this.#open));
    this.#length += this.#open.length;
    this.#open = [];
  }

  #varint(value: number): void {
    if (value < 0) {
      let rest = BigInt.asUintN(64, BigInt(value));
      for (; rest > 127n; rest >>= 7n) this.#open.push(Number(rest & 127n) + 128);
      this.#open.push(Number(rest));
      return;
    }
    let rest = value;
    for (; rest > 127; rest = Math.floor(rest / 128)) this.#open.push((rest % 128) + 128);
    this.#open.push(rest);
  }
}
