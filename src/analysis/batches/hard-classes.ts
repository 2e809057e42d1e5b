/** Which classes batches of high loss have more of than the others. */
import type { BatchColumns } from '../columns/run-columns.ts';
import { holm } from '../signals/student-t.ts';
import { medianInPlace } from '../signals/quickselect.ts';
import { lowerTail } from './chance.ts';
import type { LocalScores } from './local-scores.ts';

/** A class whose samples cost more than others. */
export type HardClass = {
  readonly className: string;
  /** Its share of the samples in the tenth of batches that stand out most, and of all samples. */
  readonly hardShare: number;
  readonly share: number;
  /** Loss of one of its samples and of one of the other classes, estimated by a line of batch loss over the share of the class. */
  readonly loss: number;
  readonly otherLoss: number;
  /** Probability that such batches rank as high by chance, with Holm's correction for all classes. */
  readonly pValue: number;
};

/** Limits of {@link findHardClasses}. */
export type ClassLimits = { readonly significance: number; readonly minClassRatio: number };

/** More classes than this are a vocabulary. */
const MAX_CLASSES = 200;
/** Fewest batches that a normal distribution of the sum of ranks takes. */
const MIN_BATCHES = 30;
const HARD_SHARE = 0.1;
/** Spreads that a batch may be from the line and count in full. */
const MAX_SCORE = 3;
const STEPS = 10;

/**
 * For each class, whether batches with more of it rank higher: the sum of rank times share, against its mean and variance over all orders of the
 * batches (Hoeffding 1951), the number of batches lowered by how much both repeat themselves from one to the next (Bartlett 1935).
 */
export function findHardClasses(
  batches: BatchColumns,
  rows: Int32Array,
  { levels, scores, spreads }: LocalScores,
  limits: ClassLimits,
): readonly HardClass[] {
  const { classNames, classOffsets } = batches;
  const known = Int32Array.from(rows.keys()).filter((i) => {
    const row = rows[i] ?? 0;
    return (classOffsets[row + 1] ?? 0) > (classOffsets[row] ?? 0);
  });
  const classCount = classNames.length;
  if (classCount < 2 || classCount > MAX_CLASSES || known.length < MIN_BATCHES) return [];
  const ranks = ranksOf(Float64Array.from(known, (i) => scores[i] ?? 0));
  const isHard = ranks.map((rank) => (rank > 1 - HARD_SHARE ? 1 : 0));
  const excesses = Float64Array.from(
    known,
    (i) => (batches.losses[rows[i] ?? 0] ?? 0) - (levels[i] ?? 0),
  );
  const bounds = Float64Array.from(known, (i) => MAX_SCORE * (spreads[i] ?? 0));
  const level = meanOf(Float64Array.from(known, (i) => levels[i] ?? 0));
  const isPositive = known.every((i) => (levels[i] ?? 0) > 0);
  const { shares, totals } = sharesOf(
    batches,
    Int32Array.from(known, (i) => rows[i] ?? 0),
  );
  const tests = shares.map((share) => lowerTail(-deviations(share, ranks)));
  const pValues = holm(tests);
  return shares
    .flatMap((share, at): HardClass[] => {
      const pValue = pValues[at] ?? 1;
      if (!(pValue <= limits.significance)) return [];
      const { slope, intercept } = lineOf(share, excesses, bounds);
      const other = level + intercept;
      const loss = other + slope;
      if (!(slope > 0)) return [];
      // Losses around zero have no ratio; there the significant difference is told. Of positive ones the line may end below zero, by its error.
      const otherLoss = isPositive ? Math.max(0, other) : other;
      if (isPositive && !(loss > 0 && loss >= limits.minClassRatio * otherLoss)) return [];
      return [
        {
          className: classNames[at] ?? '',
          hardShare: weighted(share, totals, isHard),
          share: weighted(share, totals),
          loss,
          otherLoss,
          pValue,
        },
      ];
    })
    .toSorted((a, b) => a.pValue - b.pValue || b.loss - a.loss);
}

/** Samples of all classes in each of some batches, and the share of each class in them. */
function sharesOf(
  { classCounts, classIndex, classNames, classOffsets }: BatchColumns,
  rows: Int32Array,
): { readonly totals: Float64Array; readonly shares: readonly Float64Array[] } {
  const totals = Float64Array.from(rows, (row) =>
    classCounts.subarray(classOffsets[row], classOffsets[row + 1]).reduce((a, b) => a + b, 0),
  );
  const shares = classNames.map(() => new Float64Array(rows.length));
  rows.forEach((row, at) => {
    for (let j = classOffsets[row] ?? 0; j < (classOffsets[row + 1] ?? 0); j++) {
      const own = shares[classIndex[j] ?? 0];
      if (own !== undefined) own[at] = (own[at] ?? 0) + (classCounts[j] ?? 0) / (totals[at] || 1);
    }
  });
  return { totals, shares };
}

/** Ranks from just above 0 to 1; the mean rank where values are equal. */
function ranksOf(values: Float64Array): Float64Array {
  const order = Int32Array.from(values.keys()).sort((a, b) => (values[a] ?? 0) - (values[b] ?? 0));
  const ranks = new Float64Array(values.length);
  for (let from = 0; from < order.length;) {
    let to = from + 1;
    while (to < order.length && values[order[to] ?? 0] === values[order[from] ?? 0]) to++;
    for (let i = from; i < to; i++) ranks[order[i] ?? 0] = (from + 1 + to) / 2 / values.length;
    from = to;
  }
  return ranks;
}

function deviations(share: Float64Array, ranks: Float64Array): number {
  const [a, b] = [centred(share), centred(ranks)];
  const [aa, bb, ab] = [product(a, a), product(b, b), product(a, b)];
  if (!(aa > 0 && bb > 0)) return 0;
  const repeats = (product(a, a, 1) / aa) * (product(b, b, 1) / bb);
  const effective = (share.length - 1) * ((1 - repeats) / (1 + repeats));
  return (ab / Math.sqrt(aa * bb)) * Math.sqrt(Math.max(0, Math.min(share.length - 1, effective)));
}

/**
 * Line of excess over share that the first batches of a run, while the level falls fast, and single outliers do not make: through the medians of
 * the batches with more and with less of the class than usual (Brown and Mood 1951), then a few steps of least squares in which what is further
 * from the line than its bound counts as being there (Huber 1964). Bounds around the line, not around zero: however much the class costs.
 */
function lineOf(
  share: Float64Array,
  excesses: Float64Array,
  bounds: Float64Array,
): { readonly slope: number; readonly intercept: number } {
  const mean = meanOf(share);
  const half = (isMore: boolean): readonly [x: number, y: number] => {
    const at = Array.from(share.keys()).filter((i) => (share[i] ?? 0) > mean === isMore);
    const valuesOf = (values: Float64Array): Float64Array =>
      Float64Array.from(at, (i) => values[i] ?? 0);
    return [meanOf(valuesOf(share)), medianInPlace(valuesOf(excesses))];
  };
  const [less, more] = [half(false), half(true)];
  let slope = (more[1] - less[1]) / (more[0] - less[0]);
  let intercept = less[1] - slope * less[0];
  const x = centred(share);
  for (let step = 0; step < STEPS; step++) {
    const line = share.map((value) => intercept + slope * value);
    const taken = excesses.map((value, i) => {
      const [at, bound] = [line[i] ?? 0, bounds[i] ?? 0];
      return Math.max(at - bound, Math.min(at + bound, value));
    });
    slope = product(x, taken) / product(x, x);
    intercept = meanOf(taken) - slope * mean;
  }
  return { slope, intercept };
}

function centred(values: Float64Array): Float64Array {
  const mean = meanOf(values);
  return values.map((value) => value - mean);
}

function meanOf(values: Float64Array): number {
  return values.reduce((a, b) => a + b, 0) / values.length;
}

function product(a: Float64Array, b: Float64Array, lag = 0): number {
  let sum = 0;
  for (let i = lag; i < a.length; i++) sum += (a[i] ?? 0) * (b[i - lag] ?? 0);
  return sum;
}

/** Mean of shares by how many samples they are of, over the batches whose flag is 1. */
function weighted(share: Float64Array, totals: Float64Array, flags?: Float64Array): number {
  let [sum, weight] = [0, 0];
  share.forEach((value, i) => {
    if (flags !== undefined && flags[i] !== 1) return;
    sum += value * (totals[i] ?? 0);
    weight += totals[i] ?? 0;
  });
  return weight > 0 ? sum / weight : 0;
}
