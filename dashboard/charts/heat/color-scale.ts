/** From numbers to positions on a colour ramp. Pure: which colours a ramp has is the theme's business. */
import { formatTick, rounded } from '../../parts/format.ts';

/** `diverging`: around zero; `log`: by size; `share`: 0 to 1; `linear`: from the smallest to the largest. */
export type ScaleKind = 'diverging' | 'log' | 'share' | 'linear';

/** Numbers on a ramp. */
export type ColorScale = {
  readonly kind: ScaleKind;
  /** Numbers at the ends of the ramp; those beyond have the colour of the end. */
  readonly min: number;
  readonly max: number;
  readonly isCutLow: boolean;
  readonly isCutHigh: boolean;
};

/** From so many numbers on, the outermost hundredths do not widen the ramp. */
const ENOUGH_TO_CUT = 100;
const CUT_SHARE = 0.01;
/** Numbers so much smaller than the largest are at the lower end of a logarithmic ramp. */
const MOST_DECADES = 8;

/** Ends of a ramp stay below this, so that their difference is a number. */
const LARGEST = 1e300;

/** The scale for these numbers; NaN and infinities count for nothing. */
export function colorScale(kind: ScaleKind, values: Iterable<number>): ColorScale {
  if (kind === 'share') return { kind, min: 0, max: 1, isCutLow: false, isCutHigh: false };
  const usable = Float64Array.from(
    [...values].filter((value) => Number.isFinite(value) && (kind !== 'log' || value > 0)),
  ).toSorted();
  if (kind === 'diverging') {
    const sizes = usable.map(Math.abs).toSorted();
    const end = inside(high(sizes) || 1);
    const isCut = (sizes.at(-1) ?? 0) > end;
    const isCutLow = isCut && (usable[0] ?? 0) < -end;
    const isCutHigh = isCut && (usable.at(-1) ?? 0) > end;
    return { kind, min: -end, max: end, isCutLow, isCutHigh };
  }
  if (usable.length === 0)
    return { kind, min: kind === 'log' ? 0.1 : 0, max: 1, isCutLow: false, isCutHigh: false };
  let min = low(usable);
  let max = high(usable);
  if (kind === 'log') {
    max = inside(max);
    min = Math.max(inside(min), max / 10 ** MOST_DECADES);
    // A ramp of less than a factor of ten would make much of little.
    if (max / min < 10) {
      const room = Math.sqrt(10 / (max / min));
      [min, max] = [min / room, max * room];
    }
  } else {
    [min, max] = [within(min), within(max)];
    if (!(max > min)) {
      const half = Math.abs(min) * 0.1 || 0.5;
      [min, max] = [min - half, max + half];
    }
  }
  return {
    kind,
    min,
    max,
    isCutLow: (usable[0] ?? min) < min,
    isCutHigh: (usable.at(-1) ?? max) > max,
  };
}

/** A size that can be multiplied and divided without leaving the numbers. */
function inside(size: number): number {
  return Math.max(1e-300, Math.min(LARGEST, size));
}

function within(value: number): number {
  return Math.max(-LARGEST, Math.min(LARGEST, value));
}

function low(sorted: Float64Array): number {
  return sorted[sorted.length < ENOUGH_TO_CUT ? 0 : Math.floor(sorted.length * CUT_SHARE)] ?? 0;
}

function high(sorted: Float64Array): number {
  const cut = sorted.length < ENOUGH_TO_CUT ? 0 : Math.floor(sorted.length * CUT_SHARE);
  return sorted[sorted.length - 1 - cut] ?? 0;
}

/** Share of the ramp that is below a value, 0 to 1; NaN for NaN. On a logarithmic ramp zero and below are at its lower end. */
export function shareOn(scale: ColorScale, value: number): number {
  if (Number.isNaN(value)) return Number.NaN;
  const { kind, min, max } = scale;
  const share =
    kind === 'log'
      ? value <= 0
        ? 0
        : Math.log(value / min) / Math.log(max / min)
      : (value - min) / (max - min);
  return Math.max(0, Math.min(1, share));
}

/** A label of the ramp, at a share of its length from 0 to 1. */
export type ScaleTick = { readonly share: number; readonly text: string };

/** Labels of the ends and the middle of the ramp. */
export function scaleTicks(scale: ColorScale): readonly ScaleTick[] {
  const { kind, min, max, isCutLow, isCutHigh } = scale;
  const middle = kind === 'log' ? Math.sqrt(min * max) : (min + max) / 2;
  return [
    { share: 0, text: `${isCutLow ? '≤ ' : ''}${short(min)}` },
    { share: 0.5, text: kind === 'diverging' ? '0' : short(middle) },
    { share: 1, text: `${isCutHigh ? '≥ ' : ''}${short(max)}` },
  ];
}

function short(value: number): string {
  return formatTick(rounded(value, 2));
}

/** `count` colours along the stops, evenly; each three bytes. */
export function rampBytes(stops: readonly string[], count: number): Uint8Array {
  const bytes = new Uint8Array(count * 3);
  const channels = stops.map((stop) =>
    [1, 3, 5].map((at) => Number.parseInt(stop.slice(at, at + 2), 16)),
  );
  for (let color = 0; color < count; color += 1) {
    const at = (color / Math.max(1, count - 1)) * (stops.length - 1);
    const before = Math.min(Math.floor(at), stops.length - 2);
    for (let channel = 0; channel < 3; channel += 1) {
      const from = channels[before]?.[channel] ?? 0;
      const to = channels[before + 1]?.[channel] ?? from;
      bytes[color * 3 + channel] = Math.round(from + (to - from) * (at - before));
    }
  }
  return bytes;
}
