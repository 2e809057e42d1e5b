/**
 * The framing of `.wandb` files: a header of 7 bytes, then blocks of 32 KiB as in LevelDB's log, with the plain CRC-32 of zlib over type
 * and data instead of LevelDB's masked CRC-32C. Chunks: `checksum (4) | length (2) | type (1) | data`, little-endian; a record is one
 * FULL chunk, or FIRST, any MIDDLE and LAST.
 */
import { crc32 } from '../../base/crc32.ts';
import type { ImportLimits } from '../limits.ts';
import type { OnRecord } from './tf-records.ts';

/** `:W&B`, then 0xbee1 and the version. */
export const WANDB_IDENT: readonly number[] = [0x3a, 0x57, 0x26, 0x42];

const BLOCK_BYTES = 32_768;
const FILE_HEADER_BYTES = 7;
const CHUNK_HEADER_BYTES = 7;
const FULL = 1;
const FIRST = 2;
const MIDDLE = 3;
const LAST = 4;

/** Finds the records in a `.wandb` file that comes piece by piece. */
export class WandbLogScanner {
  readonly #maxRecordBytes: number;
  readonly #onRecord: OnRecord;
  readonly #onProblem: (offset: number, reason: string) => void;
  readonly #block = new Uint8Array(BLOCK_BYTES);
  readonly #view = new DataView(this.#block.buffer);
  #used = 0;
  /** Offset in the file of the block. */
  #offset = 0;
  /** What there is of a record that has begun, in a buffer that grows: chunks may have no bytes or one. */
  #begun = new Uint8Array(0);
  #begunBytes = 0;
  #partOffset = -1;
  #isTooLarge = false;

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
  push(piece: Uint8Array): void {
    for (let at = 0; at < piece.byteLength;) {
      const count = Math.min(BLOCK_BYTES - this.#used, piece.byteLength - at);
      this.#block.set(piece.subarray(at, at + count), this.#used);
      this.#used += count;
      at += count;
      if (this.#used < BLOCK_BYTES) return;
      this.#readBlock();
      this.#offset += BLOCK_BYTES;
      this.#used = 0;
    }
  }

  /** Ends the file. */
  end(): void {
    this.#readBlock();
    if (this.#partOffset >= 0)
      this.#onProblem(
        this.#partOffset,
        'The last record is cut off: the file is still being written, or its writer was stopped.',
      );
    this.#forget();
  }

  #readBlock(): void {
    const size = this.#used;
    let at = this.#offset === 0 ? FILE_HEADER_BYTES : 0;
    while (size - at >= CHUNK_HEADER_BYTES) {
      const length = this.#view.getUint16(at + 4, true);
      const type = this.#block[at + 6] ?? 0;
      if (length === 0 && type === 0) {
        if (this.#block.subarray(at, size).every((byte) => byte === 0)) return;
      }
      const end = at + CHUNK_HEADER_BYTES + length;
      if (this.#isChunk(at, size)) {
        this.#take(type, at, end);
        at = end;
        continue;
      }
      const isAtEnd = size < BLOCK_BYTES && end > size;
      this.#forget();
      if (isAtEnd) {
        this.#onProblem(
          this.#offset + at,
          'The last record is cut off: the file is still being written, or its writer was stopped.',
        );
        return;
      }
      // The length may be right where the data is not: then the next chunk is where it should be.
      if (end + CHUNK_HEADER_BYTES <= size && this.#isChunk(end, size)) {
        this.#onProblem(this.#offset + at, 'A record does not agree with its checksum; left out.');
        at = end;
        continue;
      }
      this.#onProblem(
        this.#offset + at,
        `${size - at} bytes are left out: a record does not agree with its checksum, and the next is not where it should be.`,
      );
      return;
    }
  }

  #isChunk(at: number, size: number): boolean {
    const end = at + CHUNK_HEADER_BYTES + this.#view.getUint16(at + 4, true);
    const type = this.#block[at + 6] ?? 0;
    return (
      end <= size &&
      type >= FULL &&
      type <= LAST &&
      crc32(this.#block, at + 6, end) === this.#view.getUint32(at, true)
    );
  }

  #take(type: number, at: number, end: number): void {
    const start = at + CHUNK_HEADER_BYTES;
    const offset = this.#offset + at;
    const hasBegun = this.#partOffset >= 0;
    if (hasBegun && (type === FULL || type === FIRST)) {
      this.#onProblem(this.#partOffset, 'A record has no end; left out.');
      this.#forget();
    }
    if (type === FULL) {
      this.#onRecord(this.#block, this.#view, start, end, offset);
      return;
    }
    if (type === FIRST) this.#partOffset = offset;
    // What follows damage is the rest of a record whose beginning is gone.
    else if (!hasBegun) return;
    this.#isTooLarge ||= this.#begunBytes + end - start > this.#maxRecordBytes;
    if (!this.#isTooLarge) this.#append(start, end);
    if (type === MIDDLE || type === FIRST) return;
    if (this.#isTooLarge)
      this.#onProblem(
        this.#partOffset,
        `A record is left out; it may have ${this.#maxRecordBytes} bytes (limits.maxRecordBytes).`,
      );
    else {
      const whole = this.#begun;
      this.#onRecord(whole, new DataView(whole.buffer), 0, this.#begunBytes, this.#partOffset);
    }
    this.#forget();
  }

  #append(start: number, end: number): void {
    const needed = this.#begunBytes + end - start;
    if (needed > this.#begun.byteLength) {
      const grown = new Uint8Array(Math.max(needed, 2 * this.#begun.byteLength));
      grown.set(this.#begun.subarray(0, this.#begunBytes));
      this.#begun = grown;
    }
    this.#begun.set(this.#block.subarray(start, end), this.#begunBytes);
    this.#begunBytes = needed;
  }

  #forget(): void {
    this.#begun = new Uint8Array(0);
    this.#begunBytes = 0;
    this.#partOffset = -1;
    this.#isTooLarge = false;
  }
}
