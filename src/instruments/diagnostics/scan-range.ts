/** The batches of a run, segment by segment: numbers are kept, the rest is counted and let go. */
import type { JsonObject } from '../../base/json.ts';
import { scanBatches, type BatchColumns, type BatchRange } from '../../read/batch-columns.ts';
import { orderBy } from '../../read/metric-columns.ts';
import type { RunHandle } from '../../session/run-handle.ts';
import { Exposure } from './exposure.ts';
import { longestOf, type LossColumns } from './summarize.ts';

type Run = Pick<RunHandle, 'store' | 'runId'>;

/** Losses, lengths and sequence numbers of the batches of a range. */
export async function readLosses({ store, runId }: Run, range: BatchRange): Promise<LossColumns> {
  return joined(await scanBatches(store, runId, range, lossesOf));
}

/** What the batches of a range showed. */
export async function readExposure({ store, runId }: Run, range: BatchRange): Promise<Exposure> {
  return together(await scanBatches(store, runId, range, exposureOf));
}

/** Both in one go. */
export async function readBoth(
  { store, runId }: Run,
  range: BatchRange,
): Promise<{ readonly losses: LossColumns; readonly exposure: Exposure }> {
  const parts = await scanBatches(store, runId, range, (batches) => ({
    losses: lossesOf(batches),
    exposure: exposureOf(batches),
  }));
  return {
    losses: joined(parts.map(({ losses }) => losses)),
    exposure: together(parts.map(({ exposure }) => exposure)),
  };
}

function lossesOf({ rowCount, losses, sequenceLengths, sequences }: BatchColumns): LossColumns {
  return {
    losses: losses.slice(0, rowCount),
    lengths: Float64Array.from({ length: rowCount }, (_, row) => longestOf(sequenceLengths[row])),
    sequences: sequences.slice(0, rowCount),
  };
}

function exposureOf(batches: BatchColumns): Exposure {
  const exposure = new Exposure();
  for (let row = 0; row < batches.rowCount; row++) {
    const classes = batches.classCounts[row] ?? null;
    exposure.add({
      step: numberAt(batches.steps, row),
      batchSize: numberAt(batches.batchSizes, row),
      // It was checked when it was written.
      classCounts: classes === null ? null : (JSON.parse(classes) as JsonObject),
      sampleIds: batches.sampleIds[row] ?? null,
      sequenceLengths: batches.sequenceLengths[row] ?? null,
    });
  }
  return exposure;
}

function numberAt(values: Float64Array, row: number): number | null {
  const value = values[row] ?? Number.NaN;
  return Number.isNaN(value) ? null : value;
}

function together(parts: readonly Exposure[]): Exposure {
  const [all = new Exposure(), ...others] = parts;
  for (const other of others) all.join(other);
  return all;
}

/** The parts one after the other, in the order in which the batches were persisted: sums depend on it in their last place. */
function joined(parts: readonly LossColumns[]): LossColumns {
  const sequences = concat(parts.map((part) => part.sequences));
  const losses = concat(parts.map((part) => part.losses));
  const lengths = concat(parts.map((part) => part.lengths));
  const order = orderBy(sequences, Number.POSITIVE_INFINITY);
  if (order === null) return { losses, lengths, sequences };
  const pick = (values: Float64Array): Float64Array =>
    Float64Array.from(order, (row) => values[row] ?? Number.NaN);
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
