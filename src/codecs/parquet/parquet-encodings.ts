/** How values stand in the pages of Parquet. Every count that the bytes give is held against what was announced before anything is made. */
import type { ParquetLeaf } from './parquet-footer.ts';

/** Reads the bytes of a page front to back. */
export class PageBytes {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly view: DataView;
  at: number;
  readonly end: number;

  constructor(bytes: Uint8Array<ArrayBuffer>, start = 0, end: number = bytes.length) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.at = start;
    this.end = Math.min(end, bytes.length);
  }

  /** Passes over so many bytes and says where they begin. */
  take(count: number): number {
    if (!(count >= 0) || count > this.end - this.at) throw new Error('it ends in the middle');
    this.at += count;
    return this.at - count;
  }

  byte(): number {
    return this.bytes[this.take(1)] ?? 0;
  }

  uint32(): number {
    return this.view.getUint32(this.take(4), true);
  }

  varint(): number {
    let value = 0;
    for (let i = 0, scale = 1; i < 10; i++, scale *= 128) {
      const byte = this.byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
    throw new Error('a number has no end');
  }

  zigzag(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asIntN(64, (value >> 1n) ^ -(value & 1n));
    }
    throw new Error('a number has no end');
  }
}

/** Bytes of values one after the other: value `i` is `bytes[offsets[i], offsets[i + 1])`, less its prefix. */
export type ByteValues = {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly starts: Int32Array;
  readonly ends: Int32Array;
};

/** Runs and packed bits: exactly `count` numbers below 2^32 of `width` bits. */
export function readHybrid(input: PageBytes, width: number, count: number): Int32Array {
  if (width > 32) throw new Error(`positions have ${width} bits`);
  const out = new Int32Array(count);
  let found = 0;
  while (found < count) {
    const header = input.varint();
    if (header % 2 === 0) {
      const length = Math.min(header / 2, count - found);
      let value = 0;
      for (let i = 0; i < (width + 7) >>> 3; i++) value |= input.byte() << (8 * i);
      // A run of nothing would go on for ever.
      if (length === 0) throw new Error('a run has no length');
      out.fill(value, found, found + length);
      found += length;
      continue;
    }
    const groups = (header - 1) / 2;
    if (groups === 0) throw new Error('a group has no length');
    const length = Math.min(groups * 8, count - found);
    // The last group may be cut off after what counts.
    const wanted = Math.min(groups * width, input.end - input.at);
    if (wanted * 8 < length * width) throw new Error('it ends in the middle');
    const start = input.take(wanted);
    unpackBits(input.bytes.subarray(start), width, out.subarray(found, found + length));
    found += length;
  }
  return out;
}

function unpackBits(bytes: Uint8Array, width: number, out: Int32Array): void {
  if (width === 0) return;
  let at = 0;
  let waiting = 0;
  let bits = 0;
  const size = 2 ** width;
  for (let i = 0; i < out.length; i++) {
    // In floating point: 31 waiting bits and another byte are more than 32.
    while (bits < width) {
      waiting += (bytes[at++] ?? 0) * 2 ** bits;
      bits += 8;
    }
    out[i] = waiting % size;
    waiting = Math.floor(waiting / size);
    bits -= width;
  }
}

/** Bits of a level up to `max`. */
export function levelWidth(max: number): number {
  return 32 - Math.clz32(max);
}

/** Plain numbers of a column as float64; the bits of doubles stay as they are. */
export function plainNumbers(input: PageBytes, leaf: ParquetLeaf, count: number): Float64Array {
  const width = widthOf(leaf);
  if (leaf.type === 'BOOLEAN') {
    const start = input.take((count + 7) >>> 3);
    return Float64Array.from(
      { length: count },
      (_, i) => ((input.bytes[start + (i >>> 3)] ?? 0) >>> (i & 7)) & 1,
    );
  }
  if (count * width > input.end - input.at) throw new Error('it ends in the middle');
  const start = input.take(count * width);
  return numbersAt(input.bytes.slice(start, start + count * width), leaf, count);
}

/** All first bytes, then all second bytes, and so on. */
export function splitNumbers(input: PageBytes, leaf: ParquetLeaf, count: number): Float64Array {
  const width = widthOf(leaf);
  if (width === 0 || count * width > input.end - input.at) throw new Error('it ends in the middle');
  const start = input.take(count * width);
  const joined = new Uint8Array(count * width);
  for (let byte = 0; byte < width; byte++)
    for (let i = 0; i < count; i++)
      joined[i * width + byte] = input.bytes[start + byte * count + i] ?? 0;
  return numbersAt(joined, leaf, count);
}

function widthOf({ type, typeLength }: ParquetLeaf): number {
  switch (type) {
    case 'INT32':
    case 'FLOAT':
      return 4;
    case 'INT64':
    case 'DOUBLE':
      return 8;
    case 'INT96':
      return 12;
    case 'FIXED_LEN_BYTE_ARRAY':
      return Math.max(0, typeLength);
    case 'BOOLEAN':
    case 'BYTE_ARRAY':
      return 0;
  }
}

/** `bytes` begin at the beginning of their buffer. */
function numbersAt(bytes: Uint8Array<ArrayBuffer>, leaf: ParquetLeaf, count: number): Float64Array {
  const view = new DataView(bytes.buffer);
  const { type, logical } = leaf;
  const out = new Float64Array(count);
  switch (type) {
    case 'DOUBLE':
      return new Float64Array(bytes.buffer, 0, count);
    case 'FLOAT':
      for (let i = 0; i < count; i++) out[i] = view.getFloat32(4 * i, true);
      return out;
    case 'INT32':
      for (let i = 0; i < count; i++)
        out[i] = logical === 'unsigned' ? view.getUint32(4 * i, true) : view.getInt32(4 * i, true);
      break;
    case 'INT64':
      for (let i = 0; i < count; i++) {
        const high =
          logical === 'unsigned' ? view.getUint32(8 * i + 4, true) : view.getInt32(8 * i + 4, true);
        out[i] = high * 2 ** 32 + view.getUint32(8 * i, true);
      }
      break;
    case 'INT96':
      // Nanoseconds of the day, and the Julian day.
      for (let i = 0; i < count; i++)
        out[i] =
          (view.getInt32(12 * i + 8, true) - 2_440_588) * 86_400_000 +
          (view.getInt32(12 * i + 4, true) * 2 ** 32 + view.getUint32(12 * i, true)) / 1e6;
      return out;
    case 'FIXED_LEN_BYTE_ARRAY':
      for (let i = 0; i < count; i++) out[i] = fixedNumber(bytes, i * leaf.typeLength, leaf);
      break;
    case 'BOOLEAN':
    case 'BYTE_ARRAY':
      throw new Error('it has no numbers');
  }
  return withMeaning(out, leaf);
}

/** Days, ticks and hundredths as what they mean: milliseconds, numbers. */
export function withMeaning(
  values: Float64Array,
  { logical, perMs, scale }: ParquetLeaf,
): Float64Array {
  const factor =
    logical === 'date'
      ? 86_400_000
      : logical === 'timestamp'
        ? 1 / perMs
        : logical === 'decimal'
          ? 10 ** -scale
          : 1;
  if (factor !== 1) for (let i = 0; i < values.length; i++) values[i] = (values[i] ?? 0) * factor;
  return values;
}

function fixedNumber(bytes: Uint8Array, at: number, { logical, typeLength }: ParquetLeaf): number {
  if (logical === 'float16' && typeLength === 2) {
    const bits = (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8);
    const exponent = (bits >>> 10) & 31;
    const fraction = bits & 1023;
    const sign = bits >>> 15 === 1 ? -1 : 1;
    if (exponent === 31) return fraction === 0 ? sign * Infinity : Number.NaN;
    return sign * (exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25));
  }
  if (logical !== 'decimal') return Number.NaN;
  let value = (bytes[at] ?? 0) >= 0x80 ? -1 : 0;
  for (let i = 0; i < typeLength; i++) value = value * 256 + (bytes[at + i] ?? 0);
  return value;
}

/** Texts with their lengths before them. */
export function plainBytes(input: PageBytes, count: number): ByteValues {
  // Each takes four bytes at least.
  if (count * 4 > input.end - input.at) throw new Error('it ends in the middle');
  const starts = new Int32Array(count);
  const ends = new Int32Array(count);
  for (let i = 0; i < count; i++) {
    const length = input.uint32();
    starts[i] = input.take(length);
    ends[i] = input.at;
  }
  return { bytes: input.bytes, starts, ends };
}

/** Differences, packed in blocks. */
export function deltaNumbers(input: PageBytes, count: number): Float64Array {
  const blockSize = input.varint();
  const miniBlocks = input.varint();
  const total = input.varint();
  const perMini = blockSize / miniBlocks;
  if (miniBlocks < 1 || miniBlocks > 512 || blockSize > 1 << 20 || !Number.isInteger(perMini))
    throw new Error('its blocks have no sensible size');
  if (total !== count || perMini % 8 !== 0) throw new Error('its blocks do not fit');
  const out = new Float64Array(count);
  let value = input.zigzag();
  if (count > 0) out[0] = Number(value);
  for (let found = 1; found < count;) {
    const least = input.zigzag();
    const widths = input.bytes.subarray(input.take(miniBlocks), input.at);
    for (let mini = 0; mini < miniBlocks && found < count; mini++) {
      const width = widths[mini] ?? 0;
      if (width > 64) throw new Error(`differences have ${width} bits`);
      const start = input.take(Math.min((perMini * width) / 8, input.end - input.at));
      if (input.at - start < Math.ceil((Math.min(perMini, count - found) * width) / 8))
        throw new Error('it ends in the middle');
      for (let i = 0; i < perMini && found < count; i++, found++) {
        value = BigInt.asIntN(
          64,
          value + least + bitsAt(input.bytes, start * 8 + i * width, width),
        );
        out[found] = Number(value);
      }
    }
  }
  return out;
}

function bitsAt(bytes: Uint8Array, bit: number, width: number): bigint {
  let value = 0n;
  for (let done = 0; done < width;) {
    const at = bit + done;
    const room = Math.min(8 - (at & 7), width - done);
    const part = ((bytes[at >>> 3] ?? 0) >>> (at & 7)) & ((1 << room) - 1);
    value |= BigInt(part) << BigInt(done);
    done += room;
  }
  return value;
}

/** Lengths first, packed; then all bytes. */
export function deltaLengthBytes(input: PageBytes, count: number): ByteValues {
  const lengths = deltaNumbers(input, count);
  const starts = new Int32Array(count);
  const ends = new Int32Array(count);
  for (let i = 0; i < count; i++) {
    starts[i] = input.take(lengths[i] ?? 0);
    ends[i] = input.at;
  }
  return { bytes: input.bytes, starts, ends };
}

/** Each text shares its beginning with the one before. What comes out may be far longer than what is read: `maxBytes` bounds it, and `take` hears of it before memory is taken. */
export function deltaBytes(
  input: PageBytes,
  count: number,
  maxBytes: number,
  take: (totalBytes: number) => void,
): ByteValues {
  const shared = deltaNumbers(input, count);
  const rest = deltaLengthBytes(input, count);
  const starts = new Int32Array(count);
  const ends = new Int32Array(count);
  let total = 0;
  for (let i = 0; i < count; i++) {
    const own = (rest.ends[i] ?? 0) - (rest.starts[i] ?? 0);
    const prefix = shared[i] ?? 0;
    const before = i === 0 ? 0 : (ends[i - 1] ?? 0) - (starts[i - 1] ?? 0);
    if (!(prefix >= 0) || prefix > before)
      throw new Error('a beginning is longer than what it is of');
    starts[i] = total;
    total += prefix + own;
    if (total > maxBytes) throw new Error(`its texts have more than ${maxBytes} bytes`);
    ends[i] = total;
  }
  take(total);
  const bytes = new Uint8Array(total);
  for (let i = 0; i < count; i++) {
    const from = starts[i] ?? 0;
    const prefix = shared[i] ?? 0;
    const before = starts[i - 1] ?? 0;
    bytes.copyWithin(from, before, before + prefix);
    bytes.set(rest.bytes.subarray(rest.starts[i], rest.ends[i]), from + prefix);
  }
  return { bytes, starts, ends };
}
