/** Batch diagnostics as columns, segment by segment: for readers of many batches who keep numbers only. */
import { checkOptionNames } from '../base/assert.ts';
import { batchDiagnosticTable, type BatchDiagnosticRecord } from '../records/batch-diagnostic.ts';
import { gatherRows } from '../segment/batch-ops.ts';
import type { RowBatch, Vector } from '../codecs/arrow/vectors.ts';
import type { SegmentManifest, Store } from '../store/store.ts';
import { checkPosition, segmentFilter, type Position, type PositionFilter } from './filters.ts';
import { recordsOfBatch } from './records.ts';
import { matchRows, scanTable } from './scan.ts';

const RANGE_NAMES = ['step', 'stepMin', 'stepMax', 'epoch', 'epochMin', 'epochMax'] as const;

/** Where batches are looked for. */
export type BatchRange = Pick<PositionFilter, (typeof RANGE_NAMES)[number]>;

/** Batches as columns of one length. They are the reader's own: do not change them, copy what you keep. */
export type BatchColumns = {
  readonly rowCount: number;
  readonly sequences: Float64Array;
  readonly losses: Float64Array;
  /** NaN where there is none; batch sizes too. */
  readonly steps: Float64Array;
  readonly batchSizes: Float64Array;
  /** JSON texts. */
  readonly classCounts: readonly (string | null)[];
  readonly sampleIds: readonly (readonly string[] | null)[];
  readonly sequenceLengths: readonly (Float64Array | null)[];
};

/**
 * What `visit` makes of the columns of each segment, for readers of many batches who keep none: the rows of a range, in the order of their segment.
 * It may be asked again for the same rows when segments are merged meanwhile; what it made of them before is given up.
 *
 * @throws {QuarkError} `invalid_input` naming the filter
 */
export async function scanBatches<T>(
  store: Store,
  runId: string,
  range: BatchRange,
  visit: (batches: BatchColumns) => T,
): Promise<readonly T[]> {
  checkOptionNames('filter', range, RANGE_NAMES);
  return scanRows(store, runId, checkPosition(range, []), undefined, (batch, sequences) =>
    visit(columnsOf(batch, sequences)),
  );
}

/** The batches with these sequence numbers, by them. Only the segments that may hold one are opened. */
export async function readBatchesAt(
  store: Store,
  runId: string,
  wanted: readonly number[],
): Promise<ReadonlyMap<number, BatchDiagnosticRecord>> {
  const ascending = wanted.toSorted((a, b) => a - b);
  const [first] = ascending;
  if (first === undefined) return new Map();
  const numbers = new Set(wanted);
  const found = await scanRows(
    store,
    runId,
    checkPosition({ sequenceMin: first }, []),
    { isWanted: (sequence) => numbers.has(sequence), mayMatch: holdsOneOf(ascending) },
    (batch, sequences) =>
      recordsOfBatch(batchDiagnosticTable, runId, batch, (row) => sequences[row] ?? 0),
  );
  return new Map(found.flat().map((record) => [record.sequence ?? 0, record]));
}

/** Whether a segment spans one of the numbers, which are ascending. */
function holdsOneOf(ascending: readonly number[]): (manifest: SegmentManifest) => boolean {
  return ({ firstSequence, lastSequence }) => {
    let from = 0;
    for (let to = ascending.length; from < to;) {
      const middle = (from + to) >>> 1;
      if ((ascending[middle] ?? 0) < firstSequence) from = middle + 1;
      else to = middle;
    }
    return (ascending[from] ?? Number.POSITIVE_INFINITY) <= lastSequence;
  };
}

type Wanted = {
  readonly isWanted: (sequence: number) => boolean;
  readonly mayMatch: (manifest: SegmentManifest) => boolean;
};

async function scanRows<T>(
  store: Store,
  runId: string,
  position: Position,
  wanted: Wanted | undefined,
  visit: (batch: RowBatch, sequences: Float64Array) => T,
): Promise<readonly T[]> {
  const { parts } = await scanTable(
    store,
    batchDiagnosticTable,
    segmentFilter(runId, batchDiagnosticTable.table, position, undefined),
    (segment) => {
      const { batch, sequences } = segment;
      const isWanted =
        wanted === undefined
          ? undefined
          : (row: number): boolean => wanted.isWanted(sequences[row] ?? -1);
      const rows = matchRows(segment, position, isWanted);
      if (rows === null) return visit(batch, sequences);
      if (rows.length === 0) return undefined;
      const own = Float64Array.from(rows, (row) => sequences[row] ?? 0);
      return visit(gatherRows(batch, rows), own);
    },
    wanted?.mayMatch,
  );
  return parts;
}

function columnsOf({ rowCount, columns }: RowBatch, sequences: Float64Array): BatchColumns {
  const losses = columns.get('loss');
  const classCounts = columns.get('class_counts');
  const sampleIds = columns.get('sample_ids');
  const lengths = columns.get('sequence_lengths');
  const numbers = (vector: Vector | undefined): Float64Array =>
    vector?.kind === 'number' ? vector.values : new Float64Array(rowCount).fill(Number.NaN);
  return {
    rowCount,
    sequences,
    losses: losses?.kind === 'f64' ? losses.values : new Float64Array(rowCount),
    steps: numbers(columns.get('step')),
    batchSizes: numbers(columns.get('batch_size')),
    classCounts: classCounts?.kind === 'text' ? classCounts.values : [],
    sampleIds: sampleIds?.kind === 'text_list' ? sampleIds.values : [],
    sequenceLengths: lengths?.kind === 'f64_list' ? lengths.values : [],
  };
}
