/**
 * Frames, of which the files of the store consist: a head of 16 bytes, a header in JSON, and parts.
 *
 *     0  "QKF1"                  8  bytes of the parts together
 *     4  bytes of the header    12  XXH32 of the header, seeded with XXH32 of the first 12 bytes
 *
 * Numbers have 32 bits, little-endian. The header says the size and the XXH32 of each part. It ends in blanks, so that the parts begin
 * at a multiple of four from the beginning of the frame.
 */
import { xxh32 } from '../../base/xxh32.ts';

const MAGIC = 0x31464b51;
const HEAD_BYTES = 16;
/** As much is read at once where frames are looked for. */
const WINDOW_BYTES = 256 * 1024;
/** Larger parts are written by themselves: a copy would take longer than a call. */
const MAX_JOINED_BYTES = 64 * 1024;
/** A header is the description of some segments or rows, not more. */
const MAX_HEADER_BYTES = 256 * 1024 * 1024;

/** `tx`: a change; `base`, `part` and `end`: all there is at one moment, which takes the place of the changes before. */
export type FrameKind = 'tx' | 'base' | 'part' | 'end';

/** The header of a frame. */
export type FrameHeader = {
  /** Position in the order of all changes of a shard. */
  readonly order: number;
  readonly kind: FrameKind;
  readonly body: unknown;
  /** Size and XXH32 of each part. */
  readonly parts: readonly (readonly [size: number, hash: number])[];
};

/** A frame in a file. */
export type FoundFrame = FrameHeader & {
  readonly at: number;
  readonly partsAt: number;
  readonly end: number;
};

/** Reads bytes of a file: fewer where the file ends. */
export type ReadBytes = (from: number, to: number) => Promise<Uint8Array<ArrayBuffer>>;

/** A frame to be written: its bytes, in as few buffers as is quick, and where its parts lie, from its first byte on. */
export type NewFrame = {
  readonly buffers: readonly Uint8Array<ArrayBuffer>[];
  readonly partsAt: number;
  readonly parts: FrameHeader['parts'];
};

/**
 * Makes a frame.
 *
 * @param hashes of the parts, where they are known: a part that is damaged is not to seem whole
 */
export function encodeFrame(
  header: Omit<FrameHeader, 'parts'>,
  parts: readonly Uint8Array<ArrayBuffer>[],
  hashes: readonly number[] = [],
): NewFrame {
  const sizes = parts.map((part, i) => [part.byteLength, hashes[i] ?? xxh32(part)] as const);
  const text = new TextEncoder().encode(JSON.stringify({ ...header, parts: sizes }));
  const headerBytes = (text.byteLength + 3) & ~3;
  const partBytes = sizes.reduce((sum, [size]) => sum + size, 0);
  const partsAt = HEAD_BYTES + headerBytes;
  const isJoined = partBytes <= MAX_JOINED_BYTES;
  const bytes = new Uint8Array(partsAt + (isJoined ? partBytes : 0));
  const view = new DataView(bytes.buffer);
  view.setUint32(0, MAGIC, true);
  view.setUint32(4, headerBytes, true);
  view.setUint32(8, partBytes, true);
  bytes.fill(0x20, HEAD_BYTES, partsAt);
  bytes.set(text, HEAD_BYTES);
  view.setUint32(12, checkOf(bytes, partsAt), true);
  if (!isJoined) return { buffers: [bytes, ...parts], partsAt, parts: sizes };
  let at = partsAt;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.byteLength;
  }
  return { buffers: [bytes], partsAt, parts: sizes };
}

function checkOf(frame: Uint8Array, headerEnd: number): number {
  return xxh32(frame.subarray(HEAD_BYTES, headerEnd), xxh32(frame.subarray(0, 12)));
}

/**
 * The frames of a file from a position on, and where the last whole one ends. What a killed writer has left after it is no frame.
 * Damaged bytes between frames are passed over.
 */
export async function findFrames(
  read: ReadBytes,
  from: number,
  size: number,
): Promise<{ readonly frames: FoundFrame[]; readonly end: number }> {
  const windowed = windowOf(read, size);
  const frames: FoundFrame[] = [];
  let at = from;
  while (at + HEAD_BYTES <= size) {
    let found = await frameAt(windowed, at, size);
    if (found === undefined) {
      const next = await nextMagic(windowed, at + 1, size);
      if (next === undefined) break;
      at = next;
      found = await frameAt(windowed, at, size);
      if (found === undefined) continue;
    }
    frames.push(found);
    at = found.end;
  }
  // After a loss of power the last frames may have a header and no parts.
  while (frames.length > 0) {
    const last = frames.at(-1);
    if (last === undefined || (await hasParts(read, last))) break;
    frames.pop();
  }
  return { frames, end: frames.at(-1)?.end ?? from };
}

function windowOf(read: ReadBytes, size: number): ReadBytes {
  let window = new Uint8Array(0);
  let windowAt = 0;
  return async (from, to) => {
    if (from < windowAt || to > windowAt + window.byteLength) {
      windowAt = from;
      window = await read(from, Math.min(size, Math.max(to, from + WINDOW_BYTES)));
    }
    return window.subarray(from - windowAt, to - windowAt);
  };
}

async function frameAt(read: ReadBytes, at: number, size: number): Promise<FoundFrame | undefined> {
  const head = await read(at, at + HEAD_BYTES);
  if (head.byteLength < HEAD_BYTES) return undefined;
  const view = new DataView(head.buffer, head.byteOffset);
  const headerBytes = view.getUint32(4, true);
  const partBytes = view.getUint32(8, true);
  const partsAt = at + HEAD_BYTES + headerBytes;
  if (view.getUint32(0, true) !== MAGIC || headerBytes > MAX_HEADER_BYTES) return undefined;
  if (partsAt + partBytes > size) return undefined;
  const whole = await read(at, partsAt);
  if (whole.byteLength < HEAD_BYTES + headerBytes) return undefined;
  const check = new DataView(whole.buffer, whole.byteOffset).getUint32(12, true);
  if (checkOf(whole, whole.byteLength) !== check) return undefined;
  // The check has said that these are the bytes that encodeFrame wrote.
  const header = JSON.parse(new TextDecoder().decode(whole.subarray(HEAD_BYTES))) as FrameHeader;
  return { ...header, at, partsAt, end: partsAt + partBytes };
}

async function nextMagic(read: ReadBytes, from: number, size: number): Promise<number | undefined> {
  for (let at = from; at + HEAD_BYTES <= size; at += WINDOW_BYTES) {
    const bytes = await read(at, Math.min(size, at + WINDOW_BYTES + 3));
    for (let i = bytes.indexOf(0x51); i >= 0; i = bytes.indexOf(0x51, i + 1))
      if (bytes[i + 1] === 0x4b && bytes[i + 2] === 0x46 && bytes[i + 3] === 0x31) return at + i;
  }
  return undefined;
}

async function hasParts(read: ReadBytes, { partsAt, parts }: FoundFrame): Promise<boolean> {
  let at = partsAt;
  for (const [size, hash] of parts) {
    const bytes = await read(at, at + size);
    if (bytes.byteLength !== size || xxh32(bytes) !== hash) return false;
    at += size;
  }
  return true;
}
