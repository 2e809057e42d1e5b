/**
 * The messages of an ONNX file, strictly: bytes that are no message, a field of another type and a list over its limit are errors
 * with their offset. The reader copies nothing and takes each byte once, so hostile files cannot make it loop.
 */
import { QuarkError } from '../../../base/errors.ts';
import { BYTES, FIXED32, FIXED64, ProtoReader, VARINT } from '../../../codecs/protobuf/reader.ts';

/** The error for bytes that are no ONNX model. `offset` counts from the start of the file. */
export function damagedModel(problem: string, offset: number): QuarkError {
  return new QuarkError(
    'invalid_input',
    `model must be a complete ONNX file; at byte ${offset} ${problem}.`,
    { details: { field: 'model', value: problem, rule: 'a complete ONNX file', offset } },
  );
}

/** Reads the fields of one message in order: `while (reader.next()) switch (reader.field) ...`. */
export class MessageReader {
  readonly #reader = new ProtoReader();

  /** A reader of `bytes[start, end)`. */
  constructor(bytes: Uint8Array, start = 0, end: number = bytes.length) {
    this.#reader.open(
      bytes,
      new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength),
      start,
      end,
    );
  }

  /** Number of the field that `next` has read. */
  get field(): number {
    return this.#reader.field;
  }

  /** Where the next field begins, in bytes from the start of the file. */
  get offset(): number {
    return this.#reader.offset;
  }

  /** Reads the next field; false at the end. @throws {QuarkError} `invalid_input` for bytes that are no message */
  next(): boolean {
    const hasField = this.#reader.next();
    const { damage, isBroken } = this.#reader;
    if (isBroken) throw damagedModel(damage.problem, damage.offset);
    return hasField;
  }

  /** Whether the field has bytes: text, a message, a packed list. */
  get isBytes(): boolean {
    return this.#reader.wire === BYTES;
  }

  /** The bytes of the field, a view. */
  bytes(): Uint8Array {
    this.#expect(BYTES);
    return this.#reader.part();
  }

  /** A reader of the message in the field. */
  message(): MessageReader {
    this.#expect(BYTES);
    const { bytes, from, to } = this.#reader;
    return new MessageReader(bytes, from, to);
  }

  /** The text of the field. @throws {QuarkError} `invalid_input` when it is longer than `maxBytes` */
  text(maxBytes: number): string {
    const { length } = this.bytes();
    if (length > maxBytes)
      throw damagedModel(`there is a name of ${length} bytes`, this.#reader.from);
    return this.#reader.text();
  }

  /** The integer of the field: signed, and exact up to 2^53. */
  integer(): number {
    this.#expect(VARINT);
    return this.#reader.integer;
  }

  /** The float32 of the field. */
  float(): number {
    this.#expect(FIXED32);
    return this.#reader.float();
  }

  /** Adds the field's integers, packed or single, to `into`, which may grow to `maxLength`. */
  integers(into: number[], maxLength: number): void {
    this.#list('integer', VARINT, into, maxLength);
  }

  /** Adds the field's float32s, packed or single, to `into`, which may grow to `maxLength`. */
  floats(into: number[], maxLength: number): void {
    this.#list('float', FIXED32, into, maxLength);
  }

  /** Adds the field's float64s, packed or single, to `into`, which may grow to `maxLength`. */
  doubles(into: number[], maxLength: number): void {
    this.#list('double', FIXED64, into, maxLength);
  }

  #list(
    kind: 'integer' | 'float' | 'double',
    single: number,
    into: number[],
    maxLength: number,
  ): void {
    if (this.#reader.wire !== single) this.#expect(BYTES);
    this.#reader.repeated(kind, into, maxLength + 1);
    if (this.#reader.isBroken) throw damagedModel('a list ends inside a number', this.#reader.from);
    if (into.length > maxLength)
      throw damagedModel(`there is a list of more than ${maxLength} numbers`, this.#reader.from);
  }

  #expect(wire: number): void {
    if (this.#reader.wire !== wire)
      throw damagedModel(
        `field ${this.field} has wire type ${this.#reader.wire} in place of ${wire}`,
        this.#reader.from,
      );
  }
}
