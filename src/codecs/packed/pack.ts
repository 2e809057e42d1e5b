/**
 * The packed form of merged segments: the same Arrow bytes, smaller. Numbers are split into byte planes (all lowest
 * bytes, then all second bytes, ...), ordinal ones after taking differences; planes that are all one byte shrink to that
 * byte, planes that look random are kept as they are, and everything else goes through one DEFLATE stream. Unpacking
 * gives the Arrow bytes back bit for bit.
 *
 * Layout: "QPK1", length of the header (uint32), header (JSON), random planes, DEFLATE stream. docs/formats.md has an
 * example.
 */
import { Breather } from '../../base/breather.ts';
import type { BufferSpan } from '../arrow/arrow-buffers.ts';
import { readArrow } from '../arrow/arrow-reader.ts';
import { deflate, joinBytes } from './deflate.ts';

/** "QPK1", little-endian. */
export const MAGIC = 0x314b5051;
/** Larger segments are not written, and claims of more are not believed. */
export const MAX_PLAIN_BYTES: number = 1 << 28;
/** Below this a header costs more than the planes save. */
const MIN_SPAN_BYTES = 256;
/** Planes above this entropy (bits a byte, estimated on a sample) do not get smaller through DEFLATE. */
const RANDOM_ENTROPY = 7.2;
const SAMPLE_BYTES = 4096;

/**
 * A piece of the original bytes. `[length]`: literal bytes in the DEFLATE stream. `[length, width, isDelta, planes]`:
 * a number buffer; each plane is a byte value for a constant plane, -1 for one in the stream, -2 for a random one.
 */
export type PackedChunk = readonly [number] | readonly [number, number, 0 | 1, readonly number[]];

/** A plane that is in the DEFLATE stream. */
export const IN_STREAM = -1;
/** A plane that is kept as it is. */
export const RANDOM = -2;

/** What stands before the planes. */
export type Header = {
  readonly length: number;
  readonly deflated: number;
  readonly pieces: readonly PackedChunk[];
};

/** Packs the bytes of a segment; gives others a turn where it takes longer than one. */
export async function packSegment(
  bytes: Uint8Array<ArrayBuffer>,
  breather = new Breather(),
): Promise<Uint8Array<ArrayBuffer>> {
  const spans: BufferSpan[] = [];
  readArrow(bytes, spans);
  const wide = spans.filter(
    (span) =>
      span.width > 1 && span.byteLength >= MIN_SPAN_BYTES && span.byteLength % span.width === 0,
  );
  wide.sort((a, b) => a.at - b.at);
  const pieces: PackedChunk[] = [];
  const stream: Uint8Array[] = [];
  const random: Uint8Array[] = [];
  let at = 0;
  const literal = (end: number): void => {
    if (end <= at) return;
    pieces.push([end - at]);
    stream.push(bytes.subarray(at, end));
  };
  for (const { at: start, byteLength, width, isOrdinal } of wide) {
    literal(start);
    await breather.breathe();
    const values = bytes.subarray(start, start + byteLength);
    const isDelta = isOrdinal || isMonotone(values, width);
    const planes = split(values, width, isDelta).map((plane) => {
      if (typeof plane === 'number') return plane;
      const isRandom = entropy(plane) > RANDOM_ENTROPY;
      (isRandom ? random : stream).push(plane);
      return isRandom ? RANDOM : IN_STREAM;
    });
    pieces.push([byteLength, width, isDelta ? 1 : 0, planes]);
    at = start + byteLength;
  }
  literal(bytes.byteLength);
  const deflated = await deflate(stream);
  const header: Header = {
    length: bytes.byteLength,
    deflated: stream.reduce((sum, part) => sum + part.length, 0),
    pieces,
  };
  const headerBytes = new TextEncoder().encode(JSON.stringify(header));
  const frame = new Uint8Array(8);
  new DataView(frame.buffer).setUint32(0, MAGIC, true);
  new DataView(frame.buffer).setUint32(4, headerBytes.length, true);
  return joinBytes([frame, headerBytes, ...random, deflated]);
}

/** A plane, or its byte where it has one byte only. */
type Plane = Uint8Array | number;

/** Byte planes of little-endian numbers, lowest byte first; of differences to the value before, if `isDelta`. */
function split(bytes: Uint8Array, width: number, isDelta: boolean): Plane[] {
  if (width === 2) return splitShorts(bytes, isDelta);
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
  // Signed: a number that may be above 2^31 is a double to the engine, and takes three times as long.
  const words = new Int32Array(aligned.buffer, aligned.byteOffset, aligned.byteLength / 4);
  if (width === 4) return planesOf(isDelta ? differences(words) : words);
  const [low, high] = isDelta ? longDifferences(words) : halves(words);
  return [...planesOf(low), ...planesOf(high)];
}

function splitShorts(bytes: Uint8Array, isDelta: boolean): Plane[] {
  const rowCount = bytes.byteLength / 2;
  const low = new Uint8Array(rowCount);
  const high = new Uint8Array(rowCount);
  for (let row = 0, last = 0; row < rowCount; row++) {
    const value = (bytes[2 * row] ?? 0) | ((bytes[2 * row + 1] ?? 0) << 8);
    const out = isDelta ? value - last : value;
    last = value;
    low[row] = out;
    high[row] = out >>> 8;
  }
  return [low, high].map((plane) => (isConstant(plane) ? (plane[0] ?? 0) : plane));
}

/** The four planes of words. Which of them are of one byte is known before any is made. */
function planesOf(words: Int32Array): Plane[] {
  const first = words[0] ?? 0;
  let varied = 0;
  for (let row = 1; row < words.length; row++) varied |= (words[row] ?? 0) ^ first;
  return [0, 8, 16, 24].map((shift) =>
    ((varied >>> shift) & 255) === 0 ? (first >>> shift) & 255 : planeOf(words, shift),
  );
}

/** One byte of each word; four of them are written at a time. */
function planeOf(words: Int32Array, shift: number): Uint8Array {
  const plane = new Uint8Array(words.length);
  const fours = new Int32Array(plane.buffer, 0, words.length >> 2);
  for (let i = 0, row = 0; i < fours.length; i++, row += 4)
    fours[i] =
      (((words[row] ?? 0) >>> shift) & 255) |
      ((((words[row + 1] ?? 0) >>> shift) & 255) << 8) |
      ((((words[row + 2] ?? 0) >>> shift) & 255) << 16) |
      (((words[row + 3] ?? 0) >>> shift) << 24);
  for (let row = words.length & ~3; row < words.length; row++)
    plane[row] = (words[row] ?? 0) >>> shift;
  return plane;
}

function differences(words: Int32Array): Int32Array {
  const out = new Int32Array(words.length);
  for (let row = 0, last = 0; row < words.length; row++) {
    const value = words[row] ?? 0;
    out[row] = value - last;
    last = value;
  }
  return out;
}

/** Low and high words of 64-bit numbers. */
function halves(words: Int32Array): [Int32Array, Int32Array] {
  const rowCount = words.length / 2;
  const low = new Int32Array(rowCount);
  const high = new Int32Array(rowCount);
  for (let row = 0; row < rowCount; row++) {
    low[row] = words[2 * row] ?? 0;
    high[row] = words[2 * row + 1] ?? 0;
  }
  return [low, high];
}

/** The same of the differences of 64-bit integers to the one before. */
function longDifferences(words: Int32Array): [Int32Array, Int32Array] {
  const rowCount = words.length / 2;
  const low = new Int32Array(rowCount);
  const high = new Int32Array(rowCount);
  let lastLow = 0;
  let lastHigh = 0;
  for (let row = 0; row < rowCount; row++) {
    const valueLow = words[2 * row] ?? 0;
    const valueHigh = words[2 * row + 1] ?? 0;
    low[row] = valueLow - lastLow;
    high[row] = valueHigh - lastHigh - (valueLow >>> 0 < lastLow >>> 0 ? 1 : 0);
    lastLow = valueLow;
    lastHigh = valueHigh;
  }
  return [low, high];
}

/** Whether 8-byte floats never fall: instants and large counts, whose bit patterns then grow like integers. */
function isMonotone(bytes: Uint8Array, width: number): boolean {
  if (width !== 8 || bytes.byteOffset % 8 !== 0) return false;
  const values = new Float64Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 8);
  let falls = 0;
  let last = values[0] ?? 0;
  const allowed = values.length >>> 6;
  for (const value of values) {
    if (!(value >= last) && ++falls > allowed) return false;
    last = value;
  }
  return true;
}

function isConstant(plane: Uint8Array): boolean {
  const first = plane[0] ?? 0;
  for (let i = 1; i < plane.length; i++) if (plane[i] !== first) return false;
  return true;
}

function entropy(plane: Uint8Array): number {
  const counts = new Uint32Array(256);
  const stride = Math.max(1, Math.floor(plane.length / SAMPLE_BYTES));
  let sampled = 0;
  for (let i = 0; i < plane.length; i += stride, sampled++) {
    const byte = plane[i] ?? 0;
    counts[byte] = (counts[byte] ?? 0) + 1;
  }
  let bits = 0;
  for (const n of counts) if (n > 0) bits -= (n / sampled) * Math.log2(n / sampled);
  return bits;
}
