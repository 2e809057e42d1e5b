/** What happened at a step of a run, as marks on a chart. */
import {
  CHART_MARK_KINDS,
  type ChartAxis,
  type ChartMarkKind,
  type ChartSettings,
} from 'quark-sdk/workspace';
import { nearestIndex, type AxisSeries } from './plot/axis.ts';
import type { SampleSeries } from '../series/series.ts';
import type { ChartBand } from './metric-chart.ts';
import { leftOf, type PlotFrame } from './plot/plot-frame.ts';

/** Something that happened. Without a position on the axis that is shown, directly or by its step, it is not drawn. */
export type ChartMark = {
  readonly kind: ChartMarkKind;
  readonly text: string;
  /** Where more is said of it, such as the evidence of an alert. */
  readonly href?: string | undefined;
  /** The curve that it is of, as `hidden` of the view names it: it is hidden with that. Undefined: of all. */
  readonly of?: string | undefined;
  readonly step?: number | undefined;
  readonly epoch?: number | undefined;
  /** When, in UTC epoch milliseconds. */
  readonly timeMs?: number | undefined;
  /** The position on whatever axis is shown, where it is known. */
  readonly x?: number | undefined;
};

/** What a mark says of its position; the rest of it says nothing. */
type Position = Partial<ChartMark>;

/** A curve by which steps are found on other axes. */
export type MarkCurve = { readonly points: AxisSeries; readonly series: SampleSeries };

/** Where a mark is on an axis; undefined where that is not known. */
export function markX(
  mark: Position,
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

/** Where the point is whose step, or without it whose time or epoch, is nearest: on the curve that has the most points. */
function byCurve(
  { epoch, step, timeMs }: Position,
  axis: ChartAxis,
  curves: readonly MarkCurve[],
): number | undefined {
  const [longest] = curves.toSorted((a, b) => b.points.xs.length - a.points.xs.length);
  if (longest === undefined) return undefined;
  const { points, series } = longest;
  const wanted = step ?? timeMs ?? epoch ?? Number.NaN;
  if (Number.isNaN(wanted) || (axis === 'step' && step !== undefined)) return step;
  const column =
    step !== undefined ? series.steps : timeMs !== undefined ? series.timesMs : series.epochs;
  const at =
    points.rows === undefined
      ? nearestIndex(column, wanted)
      : nearestRow(column, points.rows, wanted);
  const valueAt = (index: number): number => column[points.rows?.[index] ?? index] ?? Number.NaN;
  // Further away than the curve is long, its nearest point says nothing.
  const length = Math.max(1, Math.abs(valueAt(points.xs.length - 1) - valueAt(0)));
  return Math.abs(valueAt(at) - wanted) <= length ? points.xs[at] : undefined;
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

/** What decides where marks and bands are, and which of them are shown. */
export type MarkView = {
  readonly settings: Pick<ChartSettings, 'axis' | 'hiddenMarks'>;
  readonly curves: readonly MarkCurve[];
  readonly startMs: number;
};

/** Bands where they are on the axis that is shown; those of a kind that is not marked, and those that have no position there, are left out. */
export function placedBands(bands: readonly ChartBand[], view: MarkView): readonly ChartBand[] {
  const { curves, settings, startMs } = view;
  return bands.flatMap((band): readonly ChartBand[] => {
    if (band.kind !== undefined && settings.hiddenMarks.includes(band.kind)) return [];
    const { axis } = band;
    if (axis === undefined) return [band];
    const [start, end] = [band.start, band.end].map((at) =>
      markX(axis === 'epoch' ? { epoch: at } : { step: at }, settings.axis, curves, startMs),
    );
    return start === undefined || end === undefined || !(end >= start)
      ? []
      : [{ ...band, start, end }];
  });
}

/** Marks where they are, but those of kinds that are not marked, and of curves that are hidden. */
export function placedMarks(
  marks: readonly ChartMark[],
  hidden: ReadonlySet<string>,
  { curves, settings, startMs }: MarkView,
): readonly { readonly mark: ChartMark; readonly x: number }[] {
  return marks.flatMap((mark) => {
    const isHidden =
      settings.hiddenMarks.includes(mark.kind) || (mark.of !== undefined && hidden.has(mark.of));
    const x = isHidden ? undefined : markX(mark, settings.axis, curves, startMs);
    return x === undefined ? [] : [{ mark, x }];
  });
}

/** Marks that are drawn as one. */
export type MarkGroup = {
  /** From the left of the chart, in pixels. */
  readonly left: number;
  readonly x: number;
  readonly marks: readonly ChartMark[];
  /** The kind that counts most of them. */
  readonly kind: ChartMarkKind;
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
    kind:
      CHART_MARK_KINDS.find((kind) => group.marks.some((mark) => mark.kind === kind)) ?? 'event',
  }));
}
