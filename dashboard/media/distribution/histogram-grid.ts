/** Histograms over steps on one common axis of values. Pure. */
import type { ParameterDistributionRecord } from 'quark-sdk/probes';
import { EMPTY_SHADE, gridColumns, type GridColumn } from '../../charts/heat/layer-grid.ts';

/** What is needed of a histogram. */
export type StepHistogram = Pick<ParameterDistributionRecord, 'step' | 'binEdges' | 'counts'>;

/** Histograms as cells: a column for one or more steps, a row for each range of values, the largest values first. */
export type HistogramGrid = {
  readonly columns: readonly GridColumn[];
  /** Edges of the rows, descending; one more than there are rows. */
  readonly edges: Float64Array;
  /** `[rows, columns]`, row-major: share of the elements, 0 to 1. */
  readonly shares: Float64Array;
  /** The same as shades, 0 to 255, or {@link EMPTY_SHADE}. */
  readonly shades: Int16Array;
  /** Largest share of all. */
  readonly maxShare: number;
};

/** The histograms on `rowCount` rows and at most `maxColumns` columns; undefined without any. */
export function histogramGrid(
  histograms: readonly StepHistogram[],
  rowCount: number,
  maxColumns: number,
): HistogramGrid | undefined {
  const byStep = new Map<number, StepHistogram>();
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const histogram of histograms) {
    const { step, binEdges } = histogram;
    const [first = Number.NaN] = binEdges;
    const last = binEdges.at(-1) ?? Number.NaN;
    // What a tensor without a finite element gives.
    if (step === null || !Number.isFinite(first) || !Number.isFinite(last)) continue;
    byStep.set(step, histogram);
    low = Math.min(low, first);
    high = Math.max(high, last);
  }
  if (byStep.size === 0) return undefined;
  if (!(high > low)) [low, high] = [low - 0.5, high + 0.5];
  const steps = Float64Array.from(byStep.keys()).toSorted();
  const { columns, columnOf } = gridColumns(steps, maxColumns);
  const shares = new Float64Array(rowCount * columns.length);
  for (const [at, step] of steps.entries()) {
    const column = columnOf[at] ?? 0;
    const parts = columns[column]?.stepCount ?? 1;
    const histogram = byStep.get(step);
    if (histogram === undefined) continue;
    for (const [bin, share] of spread(histogram, low, high, rowCount).entries()) {
      const cell = (rowCount - 1 - bin) * columns.length + column;
      shares[cell] = (shares[cell] ?? 0) + share / parts;
    }
  }
  const maxShare = shares.reduce((most, share) => Math.max(most, share), 0);
  return {
    columns,
    edges: Float64Array.from(
      { length: rowCount + 1 },
      (_, row) => high - ((high - low) * row) / rowCount,
    ),
    shares,
    // By the root: of a narrow peak and its wide foot both are seen.
    shades: Int16Array.from(shares, (share) =>
      share > 0 ? Math.round(Math.sqrt(share / maxShare) * 255) : EMPTY_SHADE,
    ),
    maxShare,
  };
}

/** Shares of the elements in `binCount` even bins from `low` to `high`, those of a bin spread evenly over its width. */
export function spread(
  { binEdges, counts }: StepHistogram,
  low: number,
  high: number,
  binCount: number,
): Float64Array {
  const shares = new Float64Array(binCount);
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return shares;
  const width = (high - low) / binCount;
  for (const [at, count] of counts.entries()) {
    if (count === 0) continue;
    const from = binEdges[at] ?? low;
    const to = binEdges[at + 1] ?? from;
    const first = within((from - low) / width, binCount);
    const last = within((to - low) / width, binCount);
    for (let bin = first; bin <= last; bin += 1) {
      const overlap = Math.min(to, low + (bin + 1) * width) - Math.max(from, low + bin * width);
      const share = first === last || !(to > from) ? 1 : Math.max(0, overlap) / (to - from);
      shares[bin] = (shares[bin] ?? 0) + (count / total) * share;
    }
  }
  return shares;
}

function within(position: number, binCount: number): number {
  return Math.max(0, Math.min(binCount - 1, Math.floor(position)));
}
