/** Write-ahead logs of SQLite: pages that were committed and are not in the database file yet. */
import type { InputFile } from '../input.ts';

const HEADER_BYTES = 32;
const FRAME_BYTES = 24;
const MAGIC = 0x377f0682;

/** Pages of a log. */
export type WalPages = {
  readonly sizeBytes: number;
  /** The newest committed form of a page; undefined when the log does not have it. */
  page(number: number): Promise<Uint8Array | undefined>;
};

/** Reads which pages a log has: up to the last commit before the first frame whose checksum is wrong, or that is of an older log. */
export async function readWal(file: InputFile, pageBytes: number): Promise<WalPages | undefined> {
  const bytes = await file.slice(0, HEADER_BYTES);
  if (bytes.byteLength < HEADER_BYTES) return undefined;
  const header = new DataView(bytes.buffer, bytes.byteOffset, HEADER_BYTES);
  const magic = header.getUint32(0);
  if (Math.floor(magic / 2) * 2 !== MAGIC || header.getUint32(8) !== pageBytes) return undefined;
  const isLittle = magic === MAGIC;
  const sum = new Checksum(isLittle);
  sum.add(bytes, 0, 24);
  if (!sum.is(header.getUint32(24), header.getUint32(28))) return undefined;
  const committed = new Map<number, number>();
  const open = new Map<number, number>();
  const size = FRAME_BYTES + pageBytes;
  for (let at = HEADER_BYTES; at + size <= file.sizeBytes; at += size) {
    const frame = await file.slice(at, at + size);
    if (frame.byteLength < size) break;
    const view = new DataView(frame.buffer, frame.byteOffset, size);
    if (view.getUint32(8) !== header.getUint32(16) || view.getUint32(12) !== header.getUint32(20))
      break;
    sum.add(frame, 0, 8);
    sum.add(frame, FRAME_BYTES, size);
    if (!sum.is(view.getUint32(16), view.getUint32(20))) break;
    open.set(view.getUint32(0), at + FRAME_BYTES);
    if (view.getUint32(4) === 0) continue;
    for (const [page, offset] of open) committed.set(page, offset);
    open.clear();
  }
  return {
    sizeBytes: file.sizeBytes,
    async page(number) {
      const offset = committed.get(number);
      return offset === undefined ? undefined : file.slice(offset, offset + pageBytes);
    },
  };
}

/** The checksum of logs: two sums that feed each other, over pairs of words. */
class Checksum {
  readonly #isLittle: boolean;
  #first = 0;
  #second = 0;

  constructor(isLittle: boolean) {
    this.#isLittle = isLittle;
  }

  add(bytes: Uint8Array, from: number, to: number): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let at = from; at < to; at += 8) {
      this.#first = (this.#first + view.getUint32(at, this.#isLittle) + this.#second) | 0;
      this.#second = (this.#second + view.getUint32(at + 4, this.#isLittle) + this.#first) | 0;
    }
  }

  is(first: number, second: number): boolean {
    return this.#first >>> 0 === first && this.#second >>> 0 === second;
  }
}
