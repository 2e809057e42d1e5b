// Segments of random bytes, for benchmarks of stores: what is in them is not looked at.

/** A run that segments can be appended to. */
export function runOf(id) {
  return {
    id,
    projectId: 'project_1',
    projectName: 'bench',
    status: 'running',
    startedAtMs: 0,
    tags: [],
    document: '{}',
  };
}

/** Batch `batchNumber` of `rowCount` metric rows of a run. */
export function segmentOf(runId, batchNumber, rowCount, bytes) {
  return {
    manifest: {
      runId,
      table: 'metrics',
      writerId: 'writer_1',
      batchNumber,
      rowCount,
      stepMin: batchNumber * rowCount,
      stepMax: (batchNumber + 1) * rowCount - 1,
      epochMin: null,
      epochMax: null,
      timeMinMs: 1.7e12,
      timeMaxMs: 1.7e12,
      keys: ['train/loss', 'train/accuracy', 'val/loss', 'val/accuracy', 'optimizer/lr'],
      schemaVersion: 1,
      encoding: 'arrow',
      sizeBytes: bytes.byteLength,
      checksum: batchNumber,
      sources: [],
    },
    bytes,
  };
}
