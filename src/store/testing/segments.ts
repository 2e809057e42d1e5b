/** Runs and segments as the tests of stores use them. */
import type {
  BatchRange,
  MergedSegment,
  NewSegment,
  SegmentManifest,
  StoredRun,
} from '../store.ts';

export const RUN_ID = 'run_1';

/** A run as the suites use it. */
export function runOf(change: Partial<StoredRun> = {}): Omit<StoredRun, 'revision'> {
  return {
    id: RUN_ID,
    projectId: 'project_1',
    projectName: 'digits',
    status: 'running',
    startedAtMs: 1_700_000_000_000,
    tags: [],
    document: JSON.stringify({ id: change.id ?? RUN_ID }),
    ...change,
  };
}

/** Bytes that tell where they came from. */
export function patternBytes(length: number, seed = 1): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  for (let i = 0; i < Math.min(length, 256); i++) bytes[i] = (i * 31 + seed * 17) & 255;
  // They repeat every 256.
  for (let filled = 256; filled < length; filled *= 2) bytes.copyWithin(filled, 0, filled);
  return bytes;
}

/** A segment as a writer hands it over. */
export function segmentOf(
  batchNumber: number,
  change: Partial<NewSegment['manifest']> = {},
  sizeBytes = 64,
): NewSegment {
  const bytes = patternBytes(change.sizeBytes ?? sizeBytes, batchNumber + 1);
  return {
    manifest: {
      runId: RUN_ID,
      table: 'metrics',
      writerId: 'writer_a',
      batchNumber,
      rowCount: 10,
      stepMin: batchNumber * 10,
      stepMax: batchNumber * 10 + 9,
      epochMin: null,
      epochMax: null,
      timeMinMs: 1_700_000_000_000.25,
      timeMaxMs: 1_700_000_000_009.5,
      keys: ['train/loss'],
      schemaVersion: 1,
      encoding: 'arrow',
      sizeBytes: bytes.byteLength,
      checksum: (batchNumber * 2654435761) % 2 ** 32,
      sources: [],
      ...change,
    },
    bytes,
  };
}

/** What a merge of these segments would be, under the identity of the first. */
export function mergeOf(
  segments: readonly SegmentManifest[],
  change: Partial<SegmentManifest> = {},
): MergedSegment {
  const [first] = segments;
  if (first === undefined) throw new Error('There is nothing to merge.');
  const sources = segments.flatMap((segment): readonly BatchRange[] =>
    segment.sources.length > 0
      ? segment.sources
      : [
          {
            writerId: segment.writerId,
            batchStart: segment.batchNumber,
            batchLast: segment.batchNumber,
          },
        ],
  );
  const bytes = patternBytes(100 + segments.length, 99);
  return {
    manifest: {
      ...first,
      rowCount: segments.reduce((sum, segment) => sum + segment.rowCount, 0),
      firstSequence: Math.min(...segments.map((segment) => segment.firstSequence)),
      lastSequence: Math.max(...segments.map((segment) => segment.lastSequence)),
      encoding: 'packed',
      sizeBytes: bytes.byteLength,
      checksum: 77 + segments.length,
      sources,
      ...change,
    },
    bytes,
  };
}
