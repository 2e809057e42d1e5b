/** Numbers, lines and texts out of bytes, front to back. */
import { QuarkError } from '../../base/errors.ts';

/** A whole number longer than this is none that anybody logs. */
const MAX_LONG_BYTES = 128;
const NEWLINE = 0x0a;

export class ByteReader {
  readonly #bytes: Uint8Array<ArrayBuffer>;
  readonly #view: DataView;
  readonly #decoder = new TextDecoder();
  at = 0;

  constructor(bytes: Uint8Array<ArrayBuffer>) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  skip(count: number): void {
    if (count > this.#bytes.byteLength - this.at)
      throw new QuarkError(
        'invalid_input',
        `The pickle is cut off: it ends at byte ${this.#bytes.byteLength}, in the middle of a value.`,
      );
    this.at += count;
  }

  take(count: number): Uint8Array<ArrayBuffer> {
    const from = this.at;
    this.skip(count);
    return this.#bytes.subarray(from, this.at);
  }

  u8(): number {
    return this.#number(1, (at) => this.#view.getUint8(at));
  }

  u16(): number {
    return this.#number(2, (at) => this.#view.getUint16(at, true));
  }

  u32(): number {
    return this.#number(4, (at) => this.#view.getUint32(at, true));
  }

  i32(): number {
    return this.#number(4, (at) => this.#view.getInt32(at, true));
  }

  u64(): number {
    return this.#number(8, (at) => Number(this.#view.getBigUint64(at, true)));
  }

  /** Big-endian, as pickles write it. */
  f64(): number {
    return this.#number(8, (at) => this.#view.getFloat64(at));
  }

  /** A whole number in two's complement, the lowest byte first. */
  long(count: number): number {
    if (count > MAX_LONG_BYTES)
      throw new QuarkError('invalid_input', 'The pickle has a whole number that is too long.');
    const bytes = this.take(count);
    let value = 0n;
    for (const byte of bytes.toReversed()) value = (value << 8n) | BigInt(byte);
    const isNegative = count > 0 && (bytes[count - 1] ?? 0) >= 0x80;
    return Number(isNegative ? value - (1n << BigInt(8 * count)) : value);
  }

  utf8(count: number): string {
    return this.#decoder.decode(this.take(count));
  }

  /** The bytes up to the next line end, which is passed over, as a text of which each character is a byte. */
  line(): string {
    const end = this.#bytes.indexOf(NEWLINE, this.at);
    const bytes = this.take((end < 0 ? this.#bytes.byteLength + 1 : end) - this.at);
    this.skip(1);
    return latin1(bytes).replace(/\r$/, '');
  }

  #number(size: number, get: (at: number) => number): number {
    const from = this.at;
    this.skip(size);
    return get(from);
  }
}

/** A text of which each character is a byte. */
export function latin1(bytes: Uint8Array): string {
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; at += 8192)
    parts.push(String.fromCharCode(...bytes.subarray(at, at + 8192)));
  return parts.join('');
}
