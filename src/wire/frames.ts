/**
 * Several segments in one binary answer. All integers are little-endian:
 *
 *     "QSF1" | u32 frames | frames x ( u8 kind | u8[3] zero | u32 length | length bytes )
 *
 * kind 0: the segment's bytes; 1: gone; 2: damaged, with the reason as UTF-8. The frames answer the identities asked
 * for in their order; there may be fewer of them when the answer grew too large, never none. Nothing follows.
 */
import { SessionStoreError } from '../base/errors.ts';
import type { SegmentRead } from '../store/store.ts';

const MAGIC = 0x31465351; // "QSF1" read as a little-endian u32
const HEADER_BYTES = 8;
const FRAME_HEADER_BYTES = 8;
const KINDS = ['bytes', 'gone', 'damaged'] as const;

/** Bytes that a segment takes in an answer. */
export function frameBytes(read: SegmentRead): number {
  switch (read.kind) {
    case 'bytes':
      return FRAME_HEADER_BYTES + read.bytes.byteLength;
    case 'gone':
      return FRAME_HEADER_BYTES;
    case 'damaged':
      return FRAME_HEADER_BYTES + new TextEncoder().encode(read.reason).byteLength;
  }
}

/** The answer for `reads`, in this order. */
export function encodeFrames(reads: readonly SegmentRead[]): Uint8Array<ArrayBuffer> {
  const answer = new Uint8Array(reads.reduce((sum, read) => sum + frameBytes(read), HEADER_BYTES));
  const view = new DataView(answer.buffer);
  view.setUint32(0, MAGIC, true);
  view.setUint32(4, reads.length, true);
  let at = HEADER_BYTES;
  for (const read of reads) {
    const payload = payloadOf(read);
    view.setUint8(at, KINDS.indexOf(read.kind));
    view.setUint32(at + 4, payload.byteLength, true);
    answer.set(payload, at + FRAME_HEADER_BYTES);
    at += FRAME_HEADER_BYTES + payload.byteLength;
  }
  return answer;
}

/**
 * The segments of an answer. Each one's bytes are a copy of their own.
 *
 * @throws {SessionStoreError} `rejected` when the answer is not one of this format, was cut off, or holds more frames
 *   than the `asked` segments
 */
export function decodeFrames(
  answer: Uint8Array<ArrayBuffer>,
  asked: number,
): readonly SegmentRead[] {
  if (answer.byteLength < HEADER_BYTES) throw badAnswer('it is too short');
  const view = new DataView(answer.buffer, answer.byteOffset, answer.byteLength);
  if (view.getUint32(0, true) !== MAGIC) throw badAnswer('it does not start with QSF1');
  const frames = view.getUint32(4, true);
  if (frames > asked || (frames === 0 && asked > 0))
    throw badAnswer(`it holds ${frames} frames for ${asked} segments`);
  const reads: SegmentRead[] = [];
  let at = HEADER_BYTES;
  for (let i = 0; i < frames; i++) {
    if (at + FRAME_HEADER_BYTES > answer.byteLength) throw badAnswer('it was cut off');
    const kind = KINDS[view.getUint8(at)];
    const end = at + FRAME_HEADER_BYTES + view.getUint32(at + 4, true);
    if (end > answer.byteLength) throw badAnswer('it was cut off');
    const payload = answer.slice(at + FRAME_HEADER_BYTES, end);
    switch (kind) {
      case 'bytes':
        reads.push({ kind, bytes: payload });
        break;
      case 'gone':
        reads.push({ kind });
        break;
      case 'damaged':
        reads.push({ kind, reason: new TextDecoder().decode(payload) });
        break;
      case undefined:
        throw badAnswer(`frame ${i} is of an unknown kind`);
    }
    at = end;
  }
  if (at !== answer.byteLength) throw badAnswer('bytes follow its last frame');
  return reads;
}

function payloadOf(read: SegmentRead): Uint8Array {
  switch (read.kind) {
    case 'bytes':
      return read.bytes;
    case 'gone':
      return new Uint8Array(0);
    case 'damaged':
      return new TextEncoder().encode(read.reason);
  }
}

function badAnswer(why: string): SessionStoreError {
  return new SessionStoreError(
    'rejected',
    `The store's answer with segments cannot be read: ${why}.`,
    { details: { rule: why } },
  );
}
