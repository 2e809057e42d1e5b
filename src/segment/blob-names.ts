/** Which blobs the records of artifacts name. */
import type { RowBatch } from '../codecs/arrow/vectors.ts';

/** Adds the hashes in rows of artifacts: of each part of a payload in parts, else of the payload. */
export function addBlobNames({ columns, rowCount }: RowBatch, hashes: Set<string>): void {
  const whole = columns.get('sha256');
  const parts = columns.get('part_sha256');
  for (let row = 0; row < rowCount; row++) {
    const partHashes = parts?.kind === 'text_list' ? parts.values[row] : null;
    if (partHashes !== null && partHashes !== undefined)
      for (const hash of partHashes) hashes.add(hash);
    else if (whole?.kind === 'text') {
      const hash = whole.values[row];
      if (typeof hash === 'string') hashes.add(hash);
    } else if (whole?.kind === 'key') {
      const hash = whole.dictionary[whole.indices[row] ?? -1];
      if (hash !== undefined) hashes.add(hash);
    }
  }
}
