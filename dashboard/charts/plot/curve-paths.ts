/** Lines and envelopes of curves as paths, for a canvas and for a file alike. */
import { leftOf, topOf, type PlotFrame } from './plot-frame.ts';

/** Points of a line by ascending x; a null breaks it. */
export type LinePoints = {
  readonly xs: readonly number[];
  readonly ys: readonly (number | null)[];
};

/** How far other curves lie around one: the band of a mean. NaN where there is none. All arrays have the same length. */
export type CurveSpread = {
  /** On the axis of the chart, ascending. */
  readonly positions: Float64Array;
  readonly low: Float64Array;
  readonly high: Float64Array;
};

/** What takes a path: a `Path2D`, or {@link PathText}. */
export type PathSink = {
  moveTo(x: number, y: number): void;
  lineTo(x: number, y: number): void;
  closePath(): void;
};

/** A path as the attribute `d` of SVG. */
export class PathText implements PathSink {
  #text = '';

  get d(): string {
    return this.#text;
  }
  moveTo(x: number, y: number): void {
    this.#text += `M${short(x)} ${short(y)}`;
  }
  lineTo(x: number, y: number): void {
    this.#text += `L${short(x)} ${short(y)}`;
  }
  closePath(): void {
    this.#text += 'Z';
  }
}

function short(value: number): string {
  return String(Math.round(value * 100) / 100);
}

/** Furthest from the plot that a path goes: beyond, a drawing surface loses its accuracy. */
const FAR_PX = 1e5;

/** Goes along a line, and lifts the pen at its gaps. */
export function traceLine(frame: PlotFrame, { xs, ys }: LinePoints, path: PathSink): void {
  let isDown = false;
  for (const [at, y] of ys.entries()) {
    if (y === null) {
      isDown = false;
      continue;
    }
    const left = near(leftOf(frame, xs[at] ?? 0));
    const top = near(topOf(frame, y));
    if (isDown) path.lineTo(left, top);
    else path.moveTo(left, top);
    isDown = true;
  }
}

/** Goes around a band, one closed path for each part without a gap. Values that a scale has no position for are at its foot. */
export function traceSpread(frame: PlotFrame, spread: CurveSpread, path: PathSink): void {
  const { high, low, positions } = spread;
  for (let from = 0; from < positions.length;) {
    let to = from;
    while (to < positions.length && !Number.isNaN(low[to]) && !Number.isNaN(high[to])) to += 1;
    if (to - from > 1) {
      for (let at = from; at < to; at += 1) {
        const point = [leftOf(frame, positions[at] ?? 0), topOf(frame, high[at] ?? 0)] as const;
        if (at === from) path.moveTo(near(point[0]), near(point[1]));
        else path.lineTo(near(point[0]), near(point[1]));
      }
      for (let at = to - 1; at >= from; at -= 1)
        path.lineTo(near(leftOf(frame, positions[at] ?? 0)), near(topOf(frame, low[at] ?? 0)));
      path.closePath();
    }
    from = to + 1;
  }
}

/** Goes around what lies between the lowest and the highest point of each pixel, one closed path for each part without a gap. */
export function traceEnvelope(frame: PlotFrame, { xs, ys }: LinePoints, path: PathSink): void {
  let columns: { left: number; high: number; low: number }[] = [];
  const close = (): void => {
    const [first, ...rest] = columns;
    if (first === undefined) return;
    path.moveTo(first.left, first.high);
    for (const { left, high } of rest) path.lineTo(left, high);
    for (const { left, low } of columns.toReversed()) path.lineTo(left, low);
    path.closePath();
    columns = [];
  };
  for (const [at, y] of ys.entries()) {
    if (y === null) {
      close();
      continue;
    }
    const left = Math.round(near(leftOf(frame, xs[at] ?? 0)));
    const top = near(topOf(frame, y));
    const last = columns.at(-1);
    if (last?.left !== left) columns.push({ left, high: top, low: top });
    else {
      last.high = Math.min(last.high, top);
      last.low = Math.max(last.low, top);
    }
  }
  close();
}

function near(position: number): number {
  return Math.max(-FAR_PX, Math.min(FAR_PX, position));
}
