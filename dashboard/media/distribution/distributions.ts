/** Distributions and histograms of artifacts, as histograms over steps with edges. Pure. */
import { histogramEdges } from 'quark-sdk/kernels';
import type { MediaContent } from 'quark-sdk/media';
import type { LoadedPayload } from 'quark-sdk/probes';
import type { HistogramGrid, StepHistogram } from './histogram-grid.ts';

/** A distribution at a step, with its bins trimmed to those with values. */
export function stepDistribution(
  step: number,
  histogram: MediaContent['distribution'],
): StepHistogram {
  const { counts } = histogram;
  let first = counts.findIndex((count) => count > 0);
  if (first < 0) first = 0;
  const last = Math.max(
    first,
    counts.findLastIndex((count) => count > 0),
  );
  const edges = histogramEdges(histogram);
  return {
    step,
    binEdges: Array.from(edges.subarray(first, last + 2)),
    counts: Array.from(counts.subarray(first, last + 1)),
  };
}

/** A histogram that was stored as `{ bins, counts }`; undefined for what is none. */
export function stepHistogram(step: number, payload: LoadedPayload): StepHistogram | undefined {
  if (typeof payload !== 'object' || payload === null) return undefined;
  const binEdges = numbersIn(Reflect.get(payload, 'bins'));
  const counts = numbersIn(Reflect.get(payload, 'counts'));
  if (binEdges === undefined || counts === undefined) return undefined;
  return binEdges.length === counts.length + 1 ? { step, binEdges, counts } : undefined;
}

function numbersIn(value: unknown): number[] | undefined {
  if (!Array.isArray(value)) return undefined;
  return value.every((one) => typeof one === 'number' && Number.isFinite(one)) ? value : undefined;
}

/** Values of this size and below lie in the middle of the logarithmic axis. */
const SMALLEST = 2 ** -40;

/** The position of a value on an axis that is logarithmic on both sides of zero. */
export function signedLog(value: number): number {
  return Math.sign(value) * Math.log2(Math.max(1, Math.abs(value) / SMALLEST));
}

/** The value at a position of that axis. */
export function signedExp(position: number): number {
  return position === 0 ? 0 : Math.sign(position) * SMALLEST * 2 ** Math.abs(position);
}

/** The histogram with its edges on the axis that is logarithmic on both sides of zero. */
export function onSignedLog(histogram: StepHistogram): StepHistogram {
  return { ...histogram, binEdges: Array.from(histogram.binEdges, signedLog) };
}

/** A grid of {@link onSignedLog} with the values at its edges. */
export function withValues(grid: HistogramGrid): HistogramGrid {
  return { ...grid, edges: grid.edges.map(signedExp) };
}

/** A ridge: the outline of one column of a grid, as points from the lowest value to the highest. */
export type Ridge = {
  readonly column: number;
  /** `x,y` in the units of the drawing. */
  readonly points: readonly (readonly [x: number, y: number])[];
};

/** Outlines of the columns, each a little below the one before; the last column is in front. */
export function ridgesOf(
  { columns, maxShare, shares }: HistogramGrid,
  frame: { readonly width: number; readonly height: number; readonly peak: number },
): readonly Ridge[] {
  const rowCount = columns.length === 0 ? 0 : shares.length / columns.length;
  const gap = (frame.height - frame.peak) / Math.max(1, columns.length);
  return columns.map((_column, column) => {
    const base = frame.peak + gap * (column + 1);
    const points = Array.from({ length: rowCount }, (_, at): [number, number] => {
      // Rows are stored from the largest value down.
      const share = shares[(rowCount - 1 - at) * columns.length + column] ?? 0;
      const x = ((at + 0.5) / rowCount) * frame.width;
      return [x, base - (maxShare > 0 ? (share / maxShare) * frame.peak : 0)];
    });
    return { column, points: [[0, base], ...points, [frame.width, base]] };
  });
}
