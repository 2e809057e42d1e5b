/** Event files of TensorBoard by hand, from the documentation of their formats and with none of the code that reads them. */

export type Piece = readonly number[] | Uint8Array;

export function bytesOf(...pieces: readonly Piece[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

/** CRC-32C bit by bit. */
export function crc32cByBits(bytes: Uint8Array, polynomial = 0x82f63b78): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 1) !== 0 ? (crc >>> 1) ^ polynomial : crc >>> 1;
  }
  return ~crc >>> 0;
}

export function masked(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const crc = crc32cByBits(bytes);
  return u32((((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0);
}

export function u32(value: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value, true);
  return bytes;
}

export function f32(value: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setFloat32(0, value, true);
  return bytes;
}

export function f64(...values: readonly number[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(8 * values.length);
  values.forEach((value, i) => new DataView(bytes.buffer).setFloat64(8 * i, value, true));
  return bytes;
}

/** Unsigned, or a negative number as ten bytes. */
export function varint(value: number | bigint): number[] {
  let rest = BigInt.asUintN(64, BigInt(value));
  const bytes: number[] = [];
  do {
    const more = rest > 127n;
    bytes.push(Number(rest & 127n) | (more ? 128 : 0));
    rest >>= 7n;
  } while (rest > 0n);
  return bytes;
}

export const field = {
  varint: (number: number, value: number | bigint): Uint8Array<ArrayBuffer> =>
    bytesOf(varint(number * 8), varint(value)),
  bytes: (number: number, ...pieces: readonly Piece[]): Uint8Array<ArrayBuffer> => {
    const content = bytesOf(...pieces);
    return bytesOf(varint(number * 8 + 2), varint(content.length), content);
  },
  text: (number: number, text: string): Uint8Array<ArrayBuffer> =>
    field.bytes(number, new TextEncoder().encode(text)),
  double: (number: number, value: number): Uint8Array<ArrayBuffer> =>
    bytesOf(varint(number * 8 + 1), f64(value)),
  float: (number: number, value: number): Uint8Array<ArrayBuffer> =>
    bytesOf(varint(number * 8 + 5), f32(value)),
};

/** One TFRecord. */
export function record(data: Uint8Array): Uint8Array<ArrayBuffer> {
  const length = bytesOf(u32(data.length), u32(0));
  return bytesOf(length, masked(length), data, masked(data));
}

export const T0 = 1_700_000_000;

/** An event with a summary of the values given, or with another content. */
export function event(
  step: number | bigint,
  ...values: readonly Uint8Array[]
): Uint8Array<ArrayBuffer> {
  return bytesOf(
    field.double(1, T0 + Number(step)),
    field.varint(2, step),
    field.bytes(5, ...values.map((value) => field.bytes(1, value))),
  );
}

export const version = (): Uint8Array<ArrayBuffer> =>
  record(bytesOf(field.double(1, T0), field.text(3, 'brain.Event:2')));

export const scalar = (tag: string, value: number): Uint8Array<ArrayBuffer> =>
  bytesOf(field.text(1, tag), field.float(2, value));

export const plugin = (
  name: string,
  content: Uint8Array = new Uint8Array(0),
): Uint8Array<ArrayBuffer> =>
  field.bytes(9, field.bytes(1, field.text(1, name), field.bytes(2, content)));

/** A value with a tensor: its type, its sizes, and fields that hold its numbers. */
export function tensor(
  tag: string,
  type: number,
  sizes: readonly number[],
  values: Uint8Array,
  metadata: Uint8Array = new Uint8Array(0),
): Uint8Array<ArrayBuffer> {
  const shape = sizes.map((size) => field.bytes(2, field.varint(1, size)));
  return bytesOf(
    field.text(1, tag),
    metadata,
    field.bytes(8, field.varint(1, type), field.bytes(2, ...shape), values),
  );
}
