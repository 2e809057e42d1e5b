/**
 * The packed form of merged segments: the same Arrow bytes, smaller. Numbers are split into byte planes (all lowest
 * bytes, then all second bytes, ...), ordinal ones after taking differences; planes that are all one byte shrink to that
 * byte, planes that look random are kept as they are, and everything else goes through one DEFLATE stream. Unpacking
 * gives the Arrow bytes back bit for bit.
 *
 * Layout: "QPK1", length of the header (uint32), header (JSON), random planes, DEFLATE stream. ARCHITECTURE.md has an
 * example.
 */
import { isQuarkError } from '../base/errors.ts';
import { readArrow, type BufferSpan } from './arrow-reader.ts';
import { damaged } from './flatbuffer.ts';

const MAGIC = 0x314b5051; // "QPK1", little-endian
/** Larger segments are not written, and claims of more are not believed. */
const MAX_SEGMENT_BYTES = 1 << 28;
/** Below this a header costs more than the planes save. */
const MIN_SPAN_BYTES = 256;
/** Planes above this entropy (bits a byte, estimated on a sample) do not get smaller through DEFLATE. */
const RANDOM_ENTROPY = 7.2;
const SAMPLE_BYTES = 4096;
/** DEFLATE cannot do better: 258 bytes in 2 bits. */
const MAX_DEFLATE_RATIO = 1032;

/**
 * A piece of the original bytes. `[length]`: literal bytes in the DEFLATE stream. `[length, width, isDelta, planes]`:
 * a number buffer; each plane is a byte value for a constant plane, -1 for one in the stream, -2 for a random one.
 */
type Piece = readonly [number] | readonly [number, number, 0 | 1, readonly number[]];

const IN_STREAM = -1;
const RANDOM = -2;

type Header = {
  readonly length: number;
  readonly deflated: number;
  readonly pieces: readonly Piece[];
};

/** Packs the bytes of a segment. */
export async function packSegment(
  bytes: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer>> {
  const spans: BufferSpan[] = [];
  readArrow(bytes, spans);
  const wide = spans.filter(
    (span) =>
      span.width > 1 && span.byteLength >= MIN_SPAN_BYTES && span.byteLength % span.width === 0,
  );
  wide.sort((a, b) => a.at - b.at);
  const pieces: Piece[] = [];
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
    const values = bytes.subarray(start, start + byteLength);
    const isDelta = isOrdinal || isMonotone(values, width);
    const planes = split(values, width, isDelta).map((plane) => {
      const first = plane[0] ?? 0;
      if (plane.every((byte) => byte === first)) return first;
      const isRandom = entropy(plane) > RANDOM_ENTROPY;
      (isRandom ? random : stream).push(plane);
      return isRandom ? RANDOM : IN_STREAM;
    });
    pieces.push([byteLength, width, isDelta ? 1 : 0, planes]);
    at = start + byteLength;
  }
  literal(bytes.byteLength);
  const deflated = await transform(stream, new CompressionStream('deflate-raw'));
  const header: Header = {
    length: bytes.byteLength,
    deflated: stream.reduce((sum, part) => sum + part.length, 0),
    pieces,
  };
  const headerBytes = new TextEncoder().encode(JSON.stringify(header));
  const frame = new Uint8Array(8);
  new DataView(frame.buffer).setUint32(0, MAGIC, true);
  new DataView(frame.buffer).setUint32(4, headerBytes.length, true);
  return join([frame, headerBytes, ...random, deflated]);
}

/**
 * The Arrow bytes of a packed segment.
 *
 * @param maxBytes a segment that says it is larger is not unpacked
 * @throws {QuarkError} `segment_damaged`
 */
export async function unpackSegment(
  packed: Uint8Array<ArrayBuffer>,
  maxBytes: number = MAX_SEGMENT_BYTES,
): Promise<Uint8Array<ArrayBuffer>> {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength);
  if (packed.byteLength < 8 || view.getUint32(0, true) !== MAGIC)
    throw damaged('it is not in the packed form');
  const headerLength = view.getUint32(4, true);
  if (8 + headerLength > packed.byteLength) throw damaged('the packed header is cut off');
  const header = readHeader(packed.subarray(8, 8 + headerLength));
  if (header.length > maxBytes || header.deflated > maxBytes)
    throw damaged(`it is larger than ${maxBytes} bytes unpacked`);
  let at = 8 + headerLength;
  let randomBytes = 0;
  for (const piece of header.pieces) {
    if (piece.length === 1) continue;
    randomBytes += piece[3].filter((plane) => plane === RANDOM).length * (piece[0] / piece[1]);
  }
  if (at + randomBytes > packed.byteLength) throw damaged('packed planes are cut off');
  const compressed = packed.subarray(at + randomBytes);
  if (header.deflated > compressed.byteLength * MAX_DEFLATE_RATIO)
    throw damaged('it holds less than it says');
  const stream = await inflate(compressed, header.deflated);
  const bytes = new Uint8Array(header.length);
  let out = 0;
  let streamAt = 0;
  for (const piece of header.pieces) {
    const [length] = piece;
    if (piece.length === 1) {
      bytes.set(stream.subarray(streamAt, streamAt + length), out);
      streamAt += length;
    } else {
      const [, width, isDelta, kinds] = piece;
      const rowCount = length / width;
      const planes = kinds.map((kind): Uint8Array | number => {
        if (kind >= 0) return kind;
        const source =
          kind === RANDOM
            ? packed.subarray(at, at + rowCount)
            : stream.subarray(streamAt, streamAt + rowCount);
        if (kind === RANDOM) at += rowCount;
        else streamAt += rowCount;
        return source;
      });
      merge(bytes.subarray(out, out + length), width, planes, isDelta === 1);
    }
    out += length;
  }
  return bytes;
}

function readHeader(bytes: Uint8Array): Header {
  let parsed: unknown;
  try {
    parsed = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    throw damaged('the packed header is not JSON');
  }
  if (typeof parsed !== 'object' || parsed === null)
    throw damaged('the packed header is no object');
  const { length, deflated, pieces } = parsed as Header;
  const isCount = (value: unknown): value is number =>
    typeof value === 'number' &&
    Number.isInteger(value) &&
    value >= 0 &&
    value <= MAX_SEGMENT_BYTES;
  if (!isCount(length) || !isCount(deflated) || !Array.isArray(pieces))
    throw damaged('the packed header is incomplete');
  let total = 0;
  let streamed = 0;
  for (const piece of pieces as Piece[]) {
    if (!Array.isArray(piece) || !isCount(piece[0]))
      throw damaged('the packed header is incomplete');
    total += piece[0];
    if (piece.length === 1) {
      streamed += piece[0];
      continue;
    }
    const [size, width, , planes] = piece;
    if (
      ![2, 4, 8].includes(width) ||
      size % width !== 0 ||
      !Array.isArray(planes) ||
      planes.length !== width ||
      !planes.every((plane) => Number.isInteger(plane) && plane >= RANDOM && plane <= 255)
    )
      throw damaged('a packed piece is impossible');
    streamed += planes.filter((plane) => plane === IN_STREAM).length * (size / width);
  }
  if (total !== length || streamed !== deflated) throw damaged('packed pieces do not add up');
  return { length, deflated, pieces };
}

/** Byte planes of little-endian numbers, lowest byte first; of differences to the value before, if `isDelta`. */
function split(bytes: Uint8Array, width: number, isDelta: boolean): Uint8Array[] {
  const rowCount = bytes.byteLength / width;
  const planes = Array.from({ length: width }, () => new Uint8Array(rowCount));
  if (width === 2) {
    const [low = bytes, high = bytes] = planes;
    for (let row = 0, last = 0; row < rowCount; row++) {
      const value = (bytes[2 * row] ?? 0) | ((bytes[2 * row + 1] ?? 0) << 8);
      const out = isDelta ? value - last : value;
      last = value;
      low[row] = out;
      high[row] = out >>> 8;
    }
    return planes;
  }
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
  const words = new Uint32Array(aligned.buffer, aligned.byteOffset, aligned.byteLength / 4);
  const [low, high] =
    width === 4 ? [isDelta ? differences(words) : words, undefined] : halves(words, isDelta);
  for (let i = 0; i < width; i++) {
    const plane = planes[i] ?? bytes;
    const source = i < 4 ? low : (high ?? low);
    const shift = 8 * (i & 3);
    for (let row = 0; row < rowCount; row++) plane[row] = (source[row] ?? 0) >>> shift;
  }
  return planes;
}

function differences(words: Uint32Array): Uint32Array {
  const out = new Uint32Array(words.length);
  for (let row = 0, last = 0; row < words.length; row++) {
    const value = words[row] ?? 0;
    out[row] = value - last;
    last = value;
  }
  return out;
}

/** Low and high words of 64-bit integers, or of their differences. */
function halves(words: Uint32Array, isDelta: boolean): [Uint32Array, Uint32Array] {
  const rowCount = words.length / 2;
  const low = new Uint32Array(rowCount);
  const high = new Uint32Array(rowCount);
  let lastLow = 0;
  let lastHigh = 0;
  for (let row = 0; row < rowCount; row++) {
    const valueLow = words[2 * row] ?? 0;
    const valueHigh = words[2 * row + 1] ?? 0;
    low[row] = valueLow - lastLow;
    high[row] = valueHigh - lastHigh - (valueLow < lastLow ? 1 : 0);
    if (isDelta) {
      lastLow = valueLow;
      lastHigh = valueHigh;
    }
  }
  return [low, high];
}

/** The inverse of {@link split}. A plane that is a number is constant. */
function merge(
  out: Uint8Array,
  width: number,
  planes: readonly (Uint8Array | number)[],
  isDelta: boolean,
): void {
  const rowCount = out.byteLength / width;
  if (width === 2) {
    const low = expand(planes[0], rowCount);
    const high = expand(planes[1], rowCount);
    for (let row = 0, sum = 0; row < rowCount; row++) {
      const value = (low[row] ?? 0) | ((high[row] ?? 0) << 8);
      sum = isDelta ? (sum + value) & 0xffff : value;
      out[2 * row] = sum;
      out[2 * row + 1] = sum >>> 8;
    }
    return;
  }
  const isAligned = out.byteOffset % 4 === 0;
  const words = isAligned
    ? new Uint32Array(out.buffer, out.byteOffset, out.byteLength / 4)
    : new Uint32Array(out.byteLength / 4);
  const stride = width / 4;
  for (let word = 0; word < stride; word++) {
    fillWords(words, word, stride, planes.slice(4 * word, 4 * word + 4));
  }
  if (isDelta && width === 4) {
    for (let row = 1; row < rowCount; row++) words[row] = (words[row] ?? 0) + (words[row - 1] ?? 0);
  } else if (isDelta) {
    sumPairs(words);
  }
  if (!isAligned) out.set(new Uint8Array(words.buffer));
}

/** Every `stride`th word from `start` on, from its four planes. One pass: four would be twice as slow. */
function fillWords(
  words: Uint32Array,
  start: number,
  stride: number,
  planes: readonly (Uint8Array | number)[],
): void {
  const rowCount = words.length / stride;
  let base = 0;
  planes.forEach((plane, i) => {
    if (typeof plane === 'number') base |= plane << (8 * i);
  });
  const zeros = planes.some((plane) => typeof plane === 'number')
    ? new Uint8Array(rowCount)
    : new Uint8Array(0);
  const [a = zeros, b = zeros, c = zeros, d = zeros] = planes.map((plane) =>
    typeof plane === 'number' ? zeros : plane,
  );
  if (planes.every((plane) => typeof plane === 'number')) {
    for (let at = start; at < words.length; at += stride) words[at] = base;
    return;
  }
  for (let row = 0, at = start; row < rowCount; row++, at += stride) {
    words[at] =
      base | (a[row] ?? 0) | ((b[row] ?? 0) << 8) | ((c[row] ?? 0) << 16) | ((d[row] ?? 0) << 24);
  }
}

/** Running sums of 64-bit integers. */
function sumPairs(words: Uint32Array): void {
  let low = 0;
  let high = 0;
  for (let at = 0; at < words.length; at += 2) {
    const next = low + (words[at] ?? 0);
    low = next >>> 0;
    high = (high + (words[at + 1] ?? 0) + (next > 0xffffffff ? 1 : 0)) >>> 0;
    words[at] = low;
    words[at + 1] = high;
  }
}

function expand(plane: Uint8Array | number | undefined, rowCount: number): Uint8Array {
  return plane instanceof Uint8Array ? plane : new Uint8Array(rowCount).fill(plane ?? 0);
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

async function transform(
  parts: readonly Uint8Array[],
  through: CompressionStream | DecompressionStream,
): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(
    await new Response(
      new Blob(parts as Uint8Array<ArrayBuffer>[]).stream().pipeThrough(through),
    ).arrayBuffer(),
  );
}

async function inflate(bytes: Uint8Array<ArrayBuffer>, length: number): Promise<Uint8Array> {
  const reader = new Blob([bytes])
    .stream()
    .pipeThrough(new DecompressionStream('deflate-raw'))
    .getReader();
  const out = new Uint8Array(length);
  let at = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      if (at + value.byteLength > length) throw damaged('it holds more than it says');
      out.set(value, at);
      at += value.byteLength;
    }
  } catch (error) {
    await reader.cancel().catch(() => undefined);
    // A TypeError by the standard, an error of zlib in Node.
    throw isQuarkError(error) ? error : damaged('its compressed part is broken');
  }
  if (at !== length) throw damaged('it holds less than it says');
  return out;
}

function join(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
