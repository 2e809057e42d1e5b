/** The batches of a run, segment by segment: numbers stay in memory, everything else is counted. */
import { inOrder } from '../../base/ascending-order.ts';
import { checkOptionNames } from '../../base/assert.ts';
import type { JsonObject } from '../../base/json.ts';
import { orderBy } from '../../read/column-builder.ts';
import { checkPosition, type PositionFilter } from '../../read/filters.ts';
import { recordsOfBatch } from '../../read/records.ts';
import type { RowPart } from '../../read/match-rows.ts';
import { scanRows } from '../../read/scan.ts';
import {
  batchDiagnosticTable,
  type BatchDiagnosticRecord,
} from '../../records/batch-diagnostic.ts';
import type { RunHandle } from '../../session/run-handle.ts';
import { Exposure } from './exposure.ts';
import { longestOf, type LossColumns } from './summarize.ts';

type Columns = RowPart['batch']['columns'];
type Run = Pick<RunHandle, 'store' | 'runId'>;

const RANGE_NAMES = ['step', 'stepMin', 'stepMax', 'epoch', 'epochMin', 'epochMax'] as const;

/** A range of training batches. */
export type ScanRange = Pick<PositionFilter, (typeof RANGE_NAMES)[number]>;

/** Losses, lengths and sequence numbers of the batches of a range. */
export async function readLosses(run: Run, range: ScanRange): Promise<LossColumns> {
  return joined(await scanBatches(run, range, lossesOf));
}

/** What the batches of a range showed. */
export async function readExposure(run: Run, range: ScanRange): Promise<Exposure> {
  return together(await scanBatches(run, range, exposureOf));
}

/** Both, in one scan. */
export async function readBoth(
  run: Run,
  range: ScanRange,
): Promise<{ readonly losses: LossColumns; readonly exposure: Exposure }> {
  const parts = await scanBatches(run, range, (part) => ({
    losses: lossesOf(part),
    exposure: exposureOf(part),
  }));
  return {
    losses: joined(parts.map(({ losses }) => losses)),
    exposure: together(parts.map(({ exposure }) => exposure)),
  };
}

/** The batches with these sequence numbers, by them. Only the segments that may contain one are opened. */
export async function readBatchesAt(
  run: Run,
  sequences: readonly number[],
): Promise<ReadonlyMap<number, BatchDiagnosticRecord>> {
  const position = checkPosition(
    sequences.length === 0
      ? {}
      : { sequenceMin: sequences.reduce((first, one) => Math.min(first, one)) },
    [],
  );
  const found = await scanRows(run, batchDiagnosticTable, { position, sequences }, (part) =>
    recordsOfBatch(batchDiagnosticTable, run.runId, part.batch, (row) => part.sequences[row] ?? 0),
  );
  return new Map(found.parts.flat().map((record) => [record.sequence ?? 0, record]));
}

/** What `visit` makes of the batches of a range, segment by segment. */
async function scanBatches<T>(
  run: Run,
  range: ScanRange,
  visit: (part: RowPart) => T,
): Promise<readonly T[]> {
  checkOptionNames('filter', range, RANGE_NAMES);
  const position = checkPosition(range, []);
  return (await scanRows(run, batchDiagnosticTable, { position }, visit)).parts;
}

function lossesOf({ batch: { columns, rowCount }, sequences }: RowPart): LossColumns {
  const losses = columns.get('loss');
  const lengths = lengthsOf(columns);
  return {
    losses: losses?.kind === 'f64' ? losses.values.slice(0, rowCount) : new Float64Array(rowCount),
    lengths: Float64Array.from({ length: rowCount }, (_, row) => longestOf(lengths[row])),
    sequences: sequences.slice(0, rowCount),
  };
}

function exposureOf({ batch: { columns, rowCount } }: RowPart): Exposure {
  const exposure = new Exposure();
  const classCounts = columns.get('class_counts');
  const sampleIds = columns.get('sample_ids');
  const lengths = lengthsOf(columns);
  for (let row = 0; row < rowCount; row++) {
    const classes = classCounts?.kind === 'text' ? (classCounts.values[row] ?? null) : null;
    exposure.add({
      step: numberAt(columns, 'step', row),
      batchSize: numberAt(columns, 'batch_size', row),
      // It was checked when it was written.
      classCounts: classes === null ? null : (JSON.parse(classes) as JsonObject),
      sampleIds: sampleIds?.kind === 'text_list' ? (sampleIds.values[row] ?? null) : null,
      sequenceLengths: lengths[row] ?? null,
    });
  }
  return exposure;
}

function lengthsOf(columns: Columns): readonly (Float64Array | null)[] {
  const vector = columns.get('sequence_lengths');
  return vector?.kind === 'f64_list' ? vector.values : [];
}

function numberAt(columns: Columns, name: string, row: number): number | null {
  const vector = columns.get(name);
  const value = vector?.kind === 'number' ? (vector.values[row] ?? Number.NaN) : Number.NaN;
  return Number.isNaN(value) ? null : value;
}

function together(parts: readonly Exposure[]): Exposure {
  const [all = new Exposure(), ...others] = parts;
  for (const other of others) all.join(other);
  return all;
}

/** The parts one after the other, in the order in which the batches were persisted: sums depend on it in their last digit. */
function joined(parts: readonly LossColumns[]): LossColumns {
  const sequences = concat(parts.map((part) => part.sequences));
  const losses = concat(parts.map((part) => part.losses));
  const lengths = concat(parts.map((part) => part.lengths));
  const order = orderBy(sequences);
  if (order === null) return { losses, lengths, sequences };
  const pick = (values: Float64Array): Float64Array => inOrder(values, order);
  return { losses: pick(losses), lengths: pick(lengths), sequences: pick(sequences) };
}

function concat(parts: readonly Float64Array[]): Float64Array {
  const all = new Float64Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
