/** From the packed form of a segment (see `pack.ts`) back to its Arrow bytes. The bytes may be anything. */
import { damaged } from '../arrow/flatbuffer.ts';
import { holdsLess, inflate } from './inflate.ts';
import {
  MAGIC,
  MAX_PLAIN_BYTES,
  RANDOM,
  type Header,
  type PackedChunk,
  IN_STREAM,
} from './pack.ts';

/** DEFLATE cannot do better: 258 bytes in 2 bits. */
const MAX_DEFLATE_RATIO = 1032;

/** A packed segment whose stream was inflated: what is left takes no waiting. */
export type InflatedSegment = {
  readonly header: Header;
  readonly packed: Uint8Array;
  /** Where the random planes begin in `packed`. */
  readonly randomAt: number;
  readonly stream: Uint8Array;
};

/**
 * The Arrow bytes of a packed segment.
 *
 * @param maxBytes a segment that says it is larger is not unpacked
 * @throws {QuarkError} `segment_damaged`
 */
export async function unpackSegment(
  packed: Uint8Array<ArrayBuffer>,
  maxBytes: number = MAX_PLAIN_BYTES,
): Promise<Uint8Array<ArrayBuffer>> {
  const inflated = await inflateSegment(packed, maxBytes);
  const bytes = new Uint8Array(inflated.header.length);
  joinPieces(inflated, bytes);
  return bytes;
}

/** How large a packed segment says it is unpacked, in bytes; 0 where it does not say. Reads nothing but its header. */
export function unpackedBytes(packed: Uint8Array): number {
  try {
    return headerOf(packed).header.length;
  } catch {
    return 0;
  }
}

/** Where the parts of a packed segment lie, as its header says. */
export type PackedParts = {
  readonly header: Header;
  /** Where the random planes begin. */
  readonly randomAt: number;
  /** Where the DEFLATE stream begins, which ends the segment. */
  readonly streamAt: number;
};

/** The parts of a packed segment, with all checks that its header allows. @throws {QuarkError} `segment_damaged` */
export function packedParts(packed: Uint8Array, maxBytes: number = MAX_PLAIN_BYTES): PackedParts {
  const { header, end: randomAt } = headerOf(packed);
  if (header.length > maxBytes || header.deflated > maxBytes)
    throw damaged(`it is larger than ${maxBytes} bytes unpacked`);
  let randomBytes = 0;
  for (const chunk of header.pieces) {
    if (chunk.length === 1) continue;
    randomBytes += chunk[3].filter((plane) => plane === RANDOM).length * (chunk[0] / chunk[1]);
  }
  const streamAt = randomAt + randomBytes;
  if (streamAt > packed.byteLength) throw damaged('packed planes are cut off');
  if (header.deflated > (packed.byteLength - streamAt) * MAX_DEFLATE_RATIO) throw holdsLess();
  return { header, randomAt, streamAt };
}

/** The first half of {@link unpackSegment}, with all checks. @throws {QuarkError} `segment_damaged` */
export async function inflateSegment(
  packed: Uint8Array<ArrayBuffer>,
  maxBytes: number = MAX_PLAIN_BYTES,
): Promise<InflatedSegment> {
  const { header, randomAt, streamAt } = packedParts(packed, maxBytes);
  const stream = await inflate(packed.subarray(streamAt), header.deflated);
  return { header, packed, randomAt, stream };
}

/** The second half: fills `bytes`, which has the length that the header says, and may hold anything before. */
export function joinPieces(
  { header, packed, randomAt, stream }: InflatedSegment,
  bytes: Uint8Array,
): void {
  let at = randomAt;
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
}

/** The header and where it ends. @throws {QuarkError} `segment_damaged` */
function headerOf(packed: Uint8Array): { readonly header: Header; readonly end: number } {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength);
  if (packed.byteLength < 8 || view.getUint32(0, true) !== MAGIC)
    throw damaged('it is not in the packed form');
  const end = 8 + view.getUint32(4, true);
  if (end > packed.byteLength) throw damaged('the packed header is cut off');
  return { header: readHeader(packed.subarray(8, end)), end };
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
    typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_PLAIN_BYTES;
  if (!isCount(length) || !isCount(deflated) || !Array.isArray(pieces))
    throw damaged('the packed header is incomplete');
  let total = 0;
  let streamed = 0;
  for (const piece of pieces as PackedChunk[]) {
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

/** The inverse of `split` in `pack.ts`. A plane that is a number is constant. */
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
    ? new Int32Array(out.buffer, out.byteOffset, out.byteLength / 4)
    : new Int32Array(out.byteLength / 4);
  for (let word = 0; word < width / 4; word++)
    fillWords(words, word, width / 4, planes.slice(4 * word, 4 * word + 4));
  if (isDelta && width === 4) sumWords(words);
  else if (isDelta) sumPairs(words);
  if (!isAligned) out.set(new Uint8Array(words.buffer));
}

/** Rows whose planes are copied to where four of their bytes are a word: small enough for the nearest caches. */
const BLOCK_ROWS = 1 << 14;

/**
 * Every `stride`th word from `start` on, from its four planes: four rows at a time, as words of four bytes of a plane that change places.
 * Byte by byte takes twice as long.
 */
function fillWords(
  words: Int32Array,
  start: number,
  stride: number,
  planes: readonly (Uint8Array | number)[],
): void {
  const rowCount = words.length / stride;
  const size = Math.min(BLOCK_ROWS, 4 * Math.ceil(rowCount / 4));
  const block = new Uint8Array(4 * size);
  const quarters = [0, 1, 2, 3].map((i) => block.subarray(i * size, (i + 1) * size));
  quarters.forEach((quarter, i) => {
    const plane = planes[i];
    if (typeof plane === 'number') quarter.fill(plane);
  });
  const [a = NO_WORDS, b = NO_WORDS, c = NO_WORDS, d = NO_WORDS] = quarters.map(
    (quarter) => new Int32Array(quarter.buffer, quarter.byteOffset, size / 4),
  );
  for (let from = 0; from < rowCount; from += size) {
    const to = Math.min(rowCount, from + size);
    quarters.forEach((quarter, i) => {
      const plane = planes[i];
      if (plane instanceof Uint8Array) quarter.set(plane.subarray(from, to));
    });
    const whole = (to - from) >> 2;
    let at = start + from * stride;
    for (let i = 0; i < whole; i++) {
      const lowest = a[i] ?? 0;
      const low = b[i] ?? 0;
      const high = c[i] ?? 0;
      const highest = d[i] ?? 0;
      const evenLow = (lowest & 0x00ff00ff) | ((low & 0x00ff00ff) << 8);
      const oddLow = ((lowest >>> 8) & 0x00ff00ff) | (low & 0xff00ff00);
      const evenHigh = (high & 0x00ff00ff) | ((highest & 0x00ff00ff) << 8);
      const oddHigh = ((high >>> 8) & 0x00ff00ff) | (highest & 0xff00ff00);
      words[at] = (evenLow & 0xffff) | (evenHigh << 16);
      words[at + stride] = (oddLow & 0xffff) | (oddHigh << 16);
      words[at + 2 * stride] = (evenLow >>> 16) | (evenHigh & 0xffff0000);
      words[at + 3 * stride] = (oddLow >>> 16) | (oddHigh & 0xffff0000);
      at += 4 * stride;
    }
    for (let row = 4 * whole; row < to - from; row++) {
      words[at] =
        (block[row] ?? 0) |
        ((block[size + row] ?? 0) << 8) |
        ((block[2 * size + row] ?? 0) << 16) |
        ((block[3 * size + row] ?? 0) << 24);
      at += stride;
    }
  }
}

const NO_WORDS = new Int32Array(0);

/** Running sums of 32-bit integers. */
function sumWords(words: Int32Array): void {
  let sum = 0;
  for (let at = 0; at < words.length; at++) {
    sum = (sum + (words[at] ?? 0)) | 0;
    words[at] = sum;
  }
}

/** Running sums of 64-bit integers. */
function sumPairs(words: Int32Array): void {
  let low = 0;
  let high = 0;
  for (let at = 0; at < words.length; at += 2) {
    const word = words[at] ?? 0;
    const sum = (low + word) | 0;
    // Without a branch, which would go either way as it likes: half the time.
    const carry = ((low & word) | ((low | word) & ~sum)) >>> 31;
    high = (high + (words[at + 1] ?? 0) + carry) | 0;
    low = sum;
    words[at] = low;
    words[at + 1] = high;
  }
}

function expand(plane: Uint8Array | number | undefined, rowCount: number): Uint8Array {
  return plane instanceof Uint8Array ? plane : new Uint8Array(rowCount).fill(plane ?? 0);
}
