/** What happened at a step of a run, as marks on a chart. */
import type { ChartAxis } from 'quark-sdk/workspace';
import { nearestIndex, type AxisSeries } from './axis.ts';
import type { SampleSeries } from '../series/series.ts';
import { leftOf, type PlotFrame } from './plot/plot-frame.ts';

/** What a mark is about. */
export const MARK_KINDS = ['alert', 'phase', 'event', 'note'] as const;

/** One of {@link MARK_KINDS}. */
export type MarkKind = (typeof MARK_KINDS)[number];

/** Something that happened. Without a position on the axis that is shown, directly or by its step, it is not drawn. */
export type ChartMark = {
  readonly kind: MarkKind;
  readonly text: string;
  readonly step?: number | undefined;
  readonly epoch?: number | undefined;
  /** When, in UTC epoch milliseconds. */
  readonly timeMs?: number | undefined;
  /** The position on whatever axis is shown, where it is known. */
  readonly x?: number | undefined;
};

/** A curve by which steps are found on other axes. */
export type MarkCurve = { readonly points: AxisSeries; readonly series: SampleSeries };

/** Where a mark is on an axis; undefined where that is not known. */
export function markX(
  mark: ChartMark,
  axis: ChartAxis,
  curves: readonly MarkCurve[],
  startMs: number,
): number | undefined {
  if (mark.x !== undefined) return mark.x;
  const { step, timeMs } = mark;
  if (axis === 'step' && step !== undefined) return step;
  if (axis === 'time' && timeMs !== undefined) return (timeMs - startMs) / 1000;
  if (axis === 'wall' && timeMs !== undefined) return timeMs / 1000;
  if (axis === 'epoch' && step === undefined && mark.epoch !== undefined) return mark.epoch;
  return byCurve(mark, axis, curves);
}

/** Where the point is whose step, or without it whose time, is nearest: on the curve that has the most points. */
function byCurve(
  { step, timeMs }: ChartMark,
  axis: ChartAxis,
  curves: readonly MarkCurve[],
): number | undefined {
  const [longest] = curves.toSorted((a, b) => b.points.xs.length - a.points.xs.length);
  if (longest === undefined) return undefined;
  const { points, series } = longest;
  const column = step === undefined ? series.timesMs : series.steps;
  const wanted = step ?? timeMs ?? Number.NaN;
  if (Number.isNaN(wanted) || (axis === 'step' && step !== undefined)) return step;
  const at =
    points.rows === undefined
      ? nearestIndex(column, wanted)
      : nearestRow(column, points.rows, wanted);
  return points.xs[at];
}

function nearestRow(column: Float64Array, rows: Int32Array, wanted: number): number {
  let best = -1;
  let least = Number.POSITIVE_INFINITY;
  for (const [at, row] of rows.entries()) {
    const distance = Math.abs((column[row] ?? Number.NaN) - wanted);
    if (distance >= least) continue;
    least = distance;
    best = at;
  }
  return best;
}

/** Marks that are drawn as one. */
export type MarkGroup = {
  /** From the left of the chart, in pixels. */
  readonly left: number;
  readonly x: number;
  readonly marks: readonly ChartMark[];
  /** The kind that counts most of them. */
  readonly kind: MarkKind;
};

/** Marks nearer to each other than this are one. */
const TOGETHER_PX = 14;

/** The marks in sight, those close to each other as one. */
export function markGroups(
  placed: readonly { readonly mark: ChartMark; readonly x: number }[],
  frame: PlotFrame,
): readonly MarkGroup[] {
  const groups: { left: number; x: number; marks: ChartMark[] }[] = [];
  for (const { mark, x } of placed.toSorted((a, b) => a.x - b.x)) {
    const left = leftOf(frame, x);
    if (!(left >= frame.left - 0.5 && left <= frame.left + frame.width + 0.5)) continue;
    const last = groups.at(-1);
    if (last !== undefined && left - last.left < TOGETHER_PX) last.marks.push(mark);
    else groups.push({ left, x, marks: [mark] });
  }
  return groups.map((group) => ({
    ...group,
    kind: MARK_KINDS.find((kind) => group.marks.some((mark) => mark.kind === kind)) ?? 'event',
  }));
}
