/** What a browser that is killed in the middle of a write leaves of its LevelDB. */
import { appendFile, readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

const LOG_BLOCK_BYTES = 32_768;
/** A checksum of four bytes, the length 1,024 in two, and that the record is whole. */
const HALF_A_RECORD = Uint8Array.of(1, 2, 3, 4, 0, 4, 1);

/**
 * Ends the logs of the databases in a folder as a kill in the middle of a write does: with the head of a record whose bytes are missing.
 * A Chromium that keeps them in another form than LevelDB has no such logs.
 */
export async function leaveHalfARecord(folder: string): Promise<void> {
  const files = await readdir(folder, { recursive: true }).catch(() => []);
  const logs = new Map<string, string>();
  // A number of six digits each: the last of a folder is the one that is written.
  for (const file of files.filter((name) => /(?:^|[/\\])\d{6}\.log$/.test(name)).sort())
    logs.set(dirname(file), file);
  for (const log of logs.values()) {
    const { size } = await stat(join(folder, log));
    // A head never lies across two blocks of 32 KiB.
    if (LOG_BLOCK_BYTES - (size % LOG_BLOCK_BYTES) > HALF_A_RECORD.byteLength)
      await appendFile(join(folder, log), HALF_A_RECORD);
  }
}
