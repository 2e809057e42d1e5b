/** The log of SQLite as bytes: its header, its frames, and which frames end a transaction (https://sqlite.org/fileformat2.html#walformat). */

/** Bytes of the header of the log. */
export const WAL_HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const MAGIC = 0x377f0682;

/** The frames of the log's present generation: those with the salt of its header, one behind the other. */
export type Wal = {
  /** Both salts: a log that begins anew has others. Empty for no log. */
  readonly salt: string;
  readonly frameBytes: number;
  /** Where each transaction ends, in bytes from the start of the file. */
  readonly commits: readonly number[];
  /** Where the last frame ends, committed or not. */
  readonly end: number;
};

const NONE: Wal = { salt: '', frameBytes: 0, commits: [], end: 0 };

/** Reads a log; frames of an earlier generation behind the last one do not count. */
export function readWal(bytes: Buffer): Wal {
  if (bytes.length < WAL_HEADER_BYTES || (bytes.readUInt32BE(0) & ~1) >>> 0 !== MAGIC) return NONE;
  const frameBytes = FRAME_HEADER_BYTES + bytes.readUInt32BE(8);
  const salt = bytes.toString('hex', 16, 24);
  const commits: number[] = [];
  let end = WAL_HEADER_BYTES;
  while (end + frameBytes <= bytes.length && bytes.toString('hex', end + 8, end + 16) === salt) {
    const pagesAfterCommit = bytes.readUInt32BE(end + 4);
    end += frameBytes;
    if (pagesAfterCommit > 0) commits.push(end);
  }
  return { salt, frameBytes, commits, end };
}
