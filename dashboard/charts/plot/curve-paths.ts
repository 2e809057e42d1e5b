/** Lines and envelopes of curves as paths, for a canvas and for a file alike. */
import { leftOf, topOf, type PlotFrame } from './plot-frame.ts';

/** Points of a line by ascending x; a null breaks it. */
export type LinePoints = {
  readonly xs: readonly number[];
  readonly ys: readonly (number | null)[];
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
