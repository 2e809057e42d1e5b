/** What tells files from others, so that importing the same ones again is noticed. */
import { toHex } from '../../base/hex.ts';
import { sha256 } from '@noble/hashes/sha2.js';
import type { InputFile } from '../../codecs/input.ts';

/** Files of up to this size count whole. */
const WHOLE_BYTES = 1 << 20;
/** Larger ones: by their beginning, their end, and pieces in between. */
const HEAD_BYTES = 65_536;
const PIECE_BYTES = 4096;
const PIECES = 64;

/**
 * A hash of names, sizes and contents. Of a file above 1 MiB about 320 KiB count, spread over all of it: reading all of it twice would
 * double the time of an import. Times do not count: they would make a copy another run.
 */
export async function fingerprint(files: readonly InputFile[]): Promise<string> {
  const hash = sha256.create();
  const encoder = new TextEncoder();
  for (const file of files) {
    const { path, sizeBytes } = file;
    hash.update(encoder.encode(`${path.slice(path.lastIndexOf('/') + 1)}\n${sizeBytes}\n`));
    if (sizeBytes <= WHOLE_BYTES) {
      hash.update(await file.slice(0, sizeBytes));
      continue;
    }
    hash.update(await file.slice(0, HEAD_BYTES));
    const span = sizeBytes - PIECE_BYTES - HEAD_BYTES;
    for (let i = 1; i <= PIECES; i++) {
      const at = HEAD_BYTES + Math.floor((span * i) / PIECES);
      hash.update(await file.slice(at, at + PIECE_BYTES));
    }
  }
  return toHex(hash.digest());
}
