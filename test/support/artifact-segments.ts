/** Segments of artifacts that name blobs. */
import { artifactTable } from '../../src/records/artifact.ts';
import { batchOfRows } from '../../src/segment/batch-ops.ts';
import { createSegment } from '../../src/segment/manifest.ts';
import type { NewSegment } from '../../src/store/store.ts';
import { RUN_ID } from './segments.ts';

/** A segment with one artifact for each list of hashes: those of its parts, or the one of its payload. */
export function artifactSegmentOf(
  batchNumber: number,
  named: readonly (readonly string[])[],
  { runId = RUN_ID, writerId = 'writer_a' } = {},
): NewSegment {
  const rows = named.map((hashes, row) => ({
    timestamp: 1_700_000_000_000 + batchNumber,
    id: `art_${writerId}_${batchNumber}_${row}`,
    artifactType: 'checkpoint_metadata',
    namespace: null,
    artifactName: `a${row}`,
    artifactKey: `a${row}`,
    step: batchNumber,
    epoch: null,
    payloadFormat: 'bytes' as const,
    payloadRelativePath: `artifacts/a${row}/payload.bin`,
    metadataRelativePath: `artifacts/a${row}/metadata.json`,
    sizeBytes: 1,
    sha256: hashes[0] ?? '',
    partSha256: hashes.length > 1 ? hashes : null,
    metadata: null,
  }));
  return createSegment(
    artifactTable,
    { runId, table: 'artifacts', writerId, batchNumber },
    batchOfRows(artifactTable, rows),
  );
}
