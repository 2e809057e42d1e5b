/** Which samples recur in batches of high loss more than chance would have it. */
import { NORMAL_MAD_SCALE } from '../../kernel/series/order/order.ts';
import type { BatchColumns } from '../columns/run-columns.ts';
import { holm } from '../signals/student-t.ts';
import { medianInPlace } from '../signals/quickselect.ts';
import { lowerTail, uniformSumAtMost } from './chance.ts';
import type { LocalScores } from './local-scores.ts';

/** A sample that batches of high loss have in common. */
export type HardSample = {
  readonly sampleId: string;
  /** Batches that it was in. */
  readonly batchCount: number;
  /** Of these, those among the highest tenth of their time; a tenth of them would be chance. */
  readonly hardBatchCount: number;
  /** Its own loss, estimated: the level around each of its batches, and what the batch had above it times its size; the median of these. */
  readonly loss: number;
  /** Median loss of the batches trained on around the same times. */
  readonly usualLoss: number;
  /** How far its loss lies above what samples have, in standard deviations of a sample. */
  readonly deviations: number;
  /** Probability of such ranks by chance, with Holm's correction for all samples that were asked about. */
  readonly pValue: number;
  /** Other samples that were in exactly the same batches, so that nobody can tell which of them it is; the first 20. */
  readonly together: readonly string[];
};

/** Limits of {@link findHardSamples}. */
export type SampleLimits = { readonly significance: number; readonly minDeviations: number };

/** What was found among the samples. */
export type SampleFindings = {
  readonly samples: readonly HardSample[];
  /** Samples that were in at least two batches. */
  readonly testedCount: number;
  /** Whether samples meet others from batch to batch; null where nothing was in two batches. */
  readonly isShuffled: boolean | null;
};

/** Share of batches that count as hard. */
const HARD_SHARE = 0.1;
const MAX_TOGETHER = 20;
const MAX_DEVIATIONS = 1e9;
/** Batches that the loss before training is told from. */
const FIRST = 5;
/** Ranks of chance spread by 1; up to this much more is the error of the estimate. */
const MAX_PLAIN_SPREAD = 1.1;

/**
 * Under chance every occurrence of a sample is in a batch drawn by size, so the share of batches that stand out at least as far is uniform, and
 * the sum over its occurrences is distributed as Irwin (1927) and Hall (1927) found. Where the sums of all samples spread wider than that (data in
 * a fixed order), they are divided by how much wider (as genomic control does, Devlin and Roeder 1999).
 *
 * @param rows rows of the batches that have a finite loss, ascending
 * @param scores scores of these
 */
export function findHardSamples(
  batches: BatchColumns,
  rows: Int32Array,
  local: LocalScores,
  limits: SampleLimits,
): SampleFindings {
  const { sampleNames, sampleOffsets } = batches;
  const known = Float64Array.from(
    rows,
    (row) => (sampleOffsets[row + 1] ?? 0) - (sampleOffsets[row] ?? 0),
  );
  const shares = sharesAbove(local.scores, known);
  const tally = tallyOf(batches, rows, shares);
  const { marks, occurrences } = tally;
  const tested = Int32Array.from(occurrences.keys()).filter((at) => (occurrences[at] ?? 0) >= 2);
  if (tested.length === 0) return { samples: [], testedCount: 0, isShuffled: null };
  const pValues = chancesOf(tested, tally);
  const candidates = Array.from(tested).flatMap((at, i) => {
    const pValue = pValues[i] ?? 1;
    return pValue <= limits.significance ? [{ at, pValue }] : [];
  });
  const estimate = estimator(batches, rows, local, known);
  const named = new Set<number>();
  const samples = candidates
    .toSorted((a, b) => a.pValue - b.pValue || a.at - b.at)
    .flatMap(({ at, pValue }): HardSample[] => {
      if (named.has(at)) return [];
      const positions = batchesOf(batches, rows, at);
      const { deviations, isUnlearned, loss, usualLoss } = estimate(positions);
      if (!(isUnlearned && deviations >= limits.minDeviations)) return [];
      const together = companions(batches, rows[positions[0] ?? 0] ?? 0).filter(
        (other) => occurrences[other] === occurrences[at] && marks[other] === marks[at],
      );
      for (const other of together) named.add(other);
      return [
        {
          sampleId: sampleNames[at] ?? '',
          batchCount: positions.length,
          hardBatchCount: positions.filter((i) => (shares[i] ?? 1) <= HARD_SHARE).length,
          loss,
          usualLoss,
          deviations: Math.min(MAX_DEVIATIONS, deviations),
          pValue,
          together: together
            .filter((other) => other !== at)
            .slice(0, MAX_TOGETHER)
            .map((other) => sampleNames[other] ?? ''),
        },
      ];
    });
  const isShuffled = meetOthers(tested, marks, occurrences, known);
  return { samples, testedCount: tested.length, isShuffled };
}

/** What is counted of each sample: its batches, the sum of their shares, and of their hashes. */
type Tally = {
  readonly occurrences: Int32Array;
  readonly sums: Float64Array;
  readonly marks: Float64Array;
};

function tallyOf(
  { sampleIndex, sampleNames: { length }, sampleOffsets }: BatchColumns,
  rows: Int32Array,
  shares: Float64Array,
): Tally {
  const occurrences = new Int32Array(length);
  const sums = new Float64Array(length);
  const marks = new Float64Array(length);
  const lastRow = new Int32Array(length).fill(-1);
  rows.forEach((row, i) => {
    const share = shares[i] ?? 1;
    const mark = markOf(row);
    for (let at = sampleOffsets[row] ?? 0; at < (sampleOffsets[row + 1] ?? 0); at++) {
      const sample = sampleIndex[at] ?? 0;
      if (lastRow[sample] === row) continue;
      lastRow[sample] = row;
      occurrences[sample] = (occurrences[sample] ?? 0) + 1;
      sums[sample] = (sums[sample] ?? 0) + share;
      marks[sample] = (marks[sample] ?? 0) + mark;
    }
  });
  return { occurrences, sums, marks };
}

/** Probabilities that the batches of each sample rank as high by chance, with Holm's correction. */
function chancesOf(tested: Int32Array, { occurrences, sums }: Tally): readonly number[] {
  const zOf = (at: number): number => {
    const n = occurrences[at] ?? 0;
    return ((sums[at] ?? 0) - n / 2) / Math.sqrt(n / 12);
  };
  const spread =
    NORMAL_MAD_SCALE * medianInPlace(Float64Array.from(tested, (at) => Math.abs(zOf(at))));
  return holm(
    Array.from(tested, (at) =>
      spread <= MAX_PLAIN_SPREAD
        ? uniformSumAtMost(sums[at] ?? 0, occurrences[at] ?? 0)
        : lowerTail(zOf(at) / spread),
    ),
  );
}

/** The loss of a sample, from the batches that it was in. */
type Estimate = Pick<HardSample, 'loss' | 'usualLoss' | 'deviations'> & {
  /** Whether the model knows less of it than of the usual sample before it had learned anything. */
  readonly isUnlearned: boolean;
};

function estimator(
  batches: BatchColumns,
  rows: Int32Array,
  { levels, spreads }: LocalScores,
  known: Float64Array,
): (positions: Int32Array) => Estimate {
  const losses = Float64Array.from(rows, (row) => batches.losses[row] ?? 0);
  // A batch may have more samples than were named.
  const sizes = known.map((size, i) => Math.max(size, batches.batchSizes[rows[i] ?? 0] || 0));
  const startLoss = Math.max(levels[0] ?? 0, medianInPlace(losses.slice(0, FIRST)));
  const levelOf = (i: number): number => levels[i] ?? 0;
  const sizeOf = (i: number): number => sizes[i] ?? 1;
  const excessOf = (i: number): number => sizeOf(i) * ((losses[i] ?? 0) - levelOf(i));
  return (positions) => {
    // Medians: in the first batches of a run the level falls too fast for what is above it to mean anything.
    const own = (value: (i: number) => number): number =>
      medianInPlace(Float64Array.from(positions, value));
    const loss = own((i) => levelOf(i) + excessOf(i));
    const deviations = own(excessOf) / own((i) => Math.sqrt(sizeOf(i)) * (spreads[i] ?? 0));
    return { loss, usualLoss: own(levelOf), deviations, isUnlearned: loss >= startLoss };
  };
}

/** For each batch the share of all samples that were in batches which stand out at least as far. */
function sharesAbove(scores: Float64Array, sizes: Float64Array): Float64Array {
  const order = Int32Array.from(scores.keys()).sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0));
  const total = sizes.reduce((a, b) => a + b, 0);
  const shares = new Float64Array(scores.length);
  let above = 0;
  for (let from = 0; from < order.length;) {
    let to = from;
    const score = scores[order[from] ?? 0];
    while (to < order.length && scores[order[to] ?? 0] === score)
      above += sizes[order[to++] ?? 0] ?? 0;
    for (let i = from; i < to; i++) shares[order[i] ?? 0] = above / total;
    from = to;
  }
  return shares;
}

/** A hash of 41 bits for each row: sums over the same rows are equal, and over others all but never. */
function markOf(row: number): number {
  const high = mix(row + 1) >>> 11;
  return high * 2 ** 20 + (mix(~row) >>> 12);
}

function mix(value: number): number {
  let hash = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

/** Whether the usual sample has company that changes. */
function meetOthers(
  tested: Int32Array,
  marks: Float64Array,
  occurrences: Int32Array,
  sizes: Float64Array,
): boolean {
  const groups = new Map<string, number>();
  const keyOf = (at: number): string => `${occurrences[at]} ${marks[at]}`;
  for (const at of tested) groups.set(keyOf(at), (groups.get(keyOf(at)) ?? 0) + 1);
  const company = Float64Array.from(tested, (at) => groups.get(keyOf(at)) ?? 1);
  const usualSize = medianInPlace(sizes.filter((size) => size > 0));
  return usualSize < 2 || medianInPlace(company) < usualSize / 2;
}

/** Positions in `rows` of the batches that a sample was in. */
function batchesOf(
  { sampleIndex, sampleOffsets }: BatchColumns,
  rows: Int32Array,
  sample: number,
): Int32Array {
  return Int32Array.from(rows.keys()).filter((i) => {
    const row = rows[i] ?? 0;
    return sampleIndex.subarray(sampleOffsets[row], sampleOffsets[row + 1]).includes(sample);
  });
}

/** The samples of a batch, each once. */
function companions({ sampleIndex, sampleOffsets }: BatchColumns, row: number): readonly number[] {
  return [...new Set(sampleIndex.subarray(sampleOffsets[row], sampleOffsets[row + 1]))];
}
