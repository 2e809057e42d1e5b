/** Where values are on a plot: the arithmetic between the axes and the pixels, which canvas, SVG, tooltip and gestures share. */

/** A part of an axis, both ends included. */
export type AxisRange = { readonly min: number; readonly max: number };

/** The part of an axis that is shown. */
export type ScaleSpan = AxisRange & { readonly isLog: boolean };

/** The plot with its axes, in pixels from the upper left of the chart. */
export type PlotFrame = {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  readonly x: ScaleSpan;
  readonly y: ScaleSpan;
};

/** Position of an x, from the left of the chart. */
export function leftOf({ left, width, x: span }: PlotFrame, x: number): number {
  return left + width * shareOf(span, x);
}

/** Position of a value, from the top of the chart. */
export function topOf({ top, height, y: span }: PlotFrame, y: number): number {
  return top + height * (1 - shareOf(span, y));
}

/** The x at a position. */
export function xAt({ left, width, x: span }: PlotFrame, position: number): number {
  return valueAtShare(span, (position - left) / width);
}

/** Where a value lies between the ends: 0 at the lower, 1 at the upper. */
export function shareOf({ min, max, isLog }: ScaleSpan, value: number): number {
  if (!isLog) return (value - min) / (max - min);
  return (Math.log(value) - Math.log(min)) / (Math.log(max) - Math.log(min));
}

/** The value at a share between the ends. */
export function valueAtShare({ min, max, isLog }: ScaleSpan, share: number): number {
  return isLog ? min * (max / min) ** share : min + (max - min) * share;
}
