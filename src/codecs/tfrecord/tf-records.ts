/**
 * TFRecord files: `length (8 bytes) | masked CRC-32C of it (4) | data | masked CRC-32C of the data (4)`, little-endian. Bytes that are no
 * record are skipped up to the next header whose checksum is right, so damage costs what is damaged and no more.
 */
import { maskedCrc32c } from '../../base/crc32.ts';
import type { ImportLimits } from '../limits.ts';

const HEADER_BYTES = 12;
const TRAILER_BYTES = 4;
const KEPT_BYTES = 4 << 20;
/** Damaged records are looked into for others; how much of that work there may be beside the size of the file. */
const MAX_WASTED_BYTES = 16 << 20;

/** Of a length of zero: files that were cut off often end in zeros. */
const ZERO_CHECKSUM = 0x7980329;

/** Takes the bytes of one record; they are only valid during the call. `offset` is its first byte in the file. */
export type OnRecord = (
  bytes: Uint8Array<ArrayBuffer>,
  view: DataView,
  start: number,
  end: number,
  offset: number,
) => void;

/** Finds the records in a file that comes piece by piece. */
export class TfRecordScanner {
  readonly #maxRecordBytes: number;
  readonly #onRecord: OnRecord;
  readonly #onProblem: (offset: number, reason: string) => void;
  #held = new Uint8Array(0);
  #heldBytes = 0;
  /** Offset in the file of the first held byte. */
  #offset = 0;
  #skip = 0;
  /** Where damage began, or -1. */
  #lostFrom = -1;
  #lostReason = '';
  #wasted = 0;

  constructor(
    { maxRecordBytes }: Pick<ImportLimits, 'maxRecordBytes'>,
    onRecord: OnRecord,
    onProblem: (offset: number, reason: string) => void,
  ) {
    this.#maxRecordBytes = maxRecordBytes;
    this.#onRecord = onRecord;
    this.#onProblem = onProblem;
  }

  /** Takes the next piece of the file. */
  push(piece: Uint8Array<ArrayBuffer>): void {
    let rest = piece;
    if (this.#skip > 0) {
      const count = Math.min(this.#skip, rest.byteLength);
      rest = rest.subarray(count);
      this.#skip -= count;
      this.#offset += count;
    }
    if (rest.byteLength === 0) return;
    const isHeld = this.#heldBytes > 0;
    if (isHeld) this.#hold(rest);
    const bytes = isHeld ? this.#held : rest;
    const size = isHeld ? this.#heldBytes : rest.byteLength;
    const used = this.#walk(bytes, size);
    this.#offset += used;
    const left = Math.max(0, size - used);
    if (isHeld && used > 0) this.#held.copyWithin(0, used, size);
    this.#heldBytes = isHeld ? left : 0;
    if (!isHeld && left > 0) this.#hold(rest.subarray(used));
    if (isHeld && this.#held.byteLength > KEPT_BYTES && left < KEPT_BYTES >> 1)
      this.#held = this.#held.slice(0, KEPT_BYTES);
  }

  /** Ends the file. */
  end(): void {
    if (this.#lostFrom >= 0) this.#found(this.#offset + this.#heldBytes);
    else if (this.#heldBytes > 0 || this.#skip > 0)
      this.#onProblem(
        this.#offset,
        'The last record is cut off: the file is still being written, or its writer was stopped.',
      );
    this.#heldBytes = 0;
  }

  /** Reads what is whole; returns how many bytes are done with, which may be more than there are. */
  #walk(bytes: Uint8Array<ArrayBuffer>, size: number): number {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let at = 0;
    while (size - at >= HEADER_BYTES) {
      const length = view.getUint32(at, true) + view.getUint32(at + 4, true) * 4_294_967_296;
      // Of a wrong length the upper half is hardly ever zero: most bytes that are no header are passed without a checksum.
      const isHeader =
        (this.#lostFrom < 0 || length <= this.#maxRecordBytes) &&
        length < 2 ** 48 &&
        (length === 0 ? ZERO_CHECKSUM : maskedCrc32c(bytes, at, at + 8)) ===
          view.getUint32(at + 8, true);
      if (!isHeader) {
        this.#lose(at, 'the length of a record does not agree with its checksum');
        at++;
        continue;
      }
      if (length > this.#maxRecordBytes) {
        this.#onProblem(
          this.#offset + at,
          `A record has ${length} bytes and is left out; it may have ${this.#maxRecordBytes} (limits.maxRecordBytes).`,
        );
        const next = at + HEADER_BYTES + length + TRAILER_BYTES;
        if (next > size) this.#skip = next - size;
        at = Math.min(next, size);
        continue;
      }
      const start = at + HEADER_BYTES;
      const end = start + length;
      if (end + TRAILER_BYTES > size) break;
      if (maskedCrc32c(bytes, start, end) !== view.getUint32(end, true)) {
        this.#wasted += length;
        if (this.#wasted <= MAX_WASTED_BYTES + this.#offset + at) {
          this.#lose(at, 'a record does not agree with its checksum');
          at++;
        } else {
          this.#onProblem(
            this.#offset + at,
            'A record does not agree with its checksum; left out.',
          );
          at = end + TRAILER_BYTES;
        }
        continue;
      }
      if (this.#lostFrom >= 0) this.#found(this.#offset + at);
      this.#onRecord(bytes, view, start, end, this.#offset + at);
      at = end + TRAILER_BYTES;
    }
    return at;
  }

  #lose(at: number, reason: string): void {
    if (this.#lostFrom >= 0) return;
    this.#lostFrom = this.#offset + at;
    this.#lostReason = reason;
  }

  #found(offset: number): void {
    this.#onProblem(
      this.#lostFrom,
      `${offset - this.#lostFrom} bytes are left out: ${this.#lostReason}.`,
    );
    this.#lostFrom = -1;
  }

  #hold(piece: Uint8Array): void {
    const needed = this.#heldBytes + piece.byteLength;
    if (needed > this.#held.byteLength) {
      const grown = new Uint8Array(Math.max(needed, 2 * this.#held.byteLength));
      grown.set(this.#held.subarray(0, this.#heldBytes));
      this.#held = grown;
    }
    this.#held.set(piece, this.#heldBytes);
    this.#heldBytes = needed;
  }
}
