/** One loss as the phases see it: a robust curve with the scale that its changes are measured on. */
import type { SeriesKernel } from '../../kernel/series/series-kernel.ts';
import type { MetricSeries } from '../columns/run-columns.ts';
import { finitePart, type FinitePart } from '../signals/finite-part.ts';
import { goesBelowZero } from '../signals/roles/units.ts';
import { usualRange } from '../signals/profile.ts';
import { robustCurve, type RobustCurve } from '../signals/robust-curve.ts';

/** Share of all that the loss has fallen by which changes are measured at least: near zero, a loss has no scale of its own. */
const SCALE_FLOOR = 0.1;

/** A loss, or the error rate that an accuracy leaves over. */
export type Track = {
  readonly part: FinitePart;
  readonly curve: RobustCurve;
  /** Whether it is an error rate, 0 to 1: its changes are not relative. */
  readonly isRate: boolean;
  /** Whether it goes below zero: its level is no size, and changes are relative to how far its levels lie apart. */
  readonly isSigned: boolean;
  /** -1 where the values are those of a reward with the sign turned, so that smaller is better as in a loss; else 1. */
  readonly sign: 1 | -1;
  /** From the lowest level to the highest. */
  readonly range: number;
  /** Distance from the first position of the curve to the last. */
  readonly span: number;
  /** What four fifths of the first half of its levels range over: what is usual of a loss that goes below zero. */
  readonly usual: number;
  /** From the highest level at the start to the lowest of all; 0 or more. */
  readonly drop: number;
};

/** Whose values a track has: single batches of training, or whole sets. */
export type Sampled = 'training' | 'validation';

/** A loss as a track; null where it has no finite value. */
export function lossTrack(
  series: MetricSeries | null,
  sampled: Sampled,
  kernel: SeriesKernel,
): Track | null {
  return series === null ? null : trackOf(series, { isRate: false, sign: 1 }, sampled, kernel);
}

/** A reward with its sign turned; null where it has no finite value. */
export function rewardTrack(series: MetricSeries, kernel: SeriesKernel): Track | null {
  const values = series.values.map((value) => -value);
  return trackOf({ ...series, values }, { isRate: false, sign: -1 }, 'training', kernel);
}

/** An accuracy as an error rate. */
export function errorTrack(
  series: MetricSeries | null,
  unit: 'ratio' | 'percent',
  sampled: Sampled,
  kernel: SeriesKernel,
): Track | null {
  if (series === null) return null;
  const top = unit === 'percent' ? 100 : 1;
  const values = series.values.map((value) => (top - value) / top);
  return trackOf({ ...series, values }, { isRate: true, sign: 1 }, sampled, kernel);
}

function trackOf(
  series: MetricSeries,
  { isRate, sign }: Pick<Track, 'isRate' | 'sign'>,
  sampled: Sampled,
  kernel: SeriesKernel,
): Track | null {
  const part = finitePart(series);
  if (part.values.length === 0) return null;
  const hasSign = sign < 0 || (!isRate && goesBelowZero(part.values));
  const curve = robustCurve(part, kernel, {
    isOfBatches: sampled === 'training',
    isSigned: hasSign,
  });
  const { fitted, positions } = curve;
  const early = Math.max(1, Math.ceil(fitted.length * 0.05));
  const high = Math.max(...fitted.subarray(0, early));
  const low = fitted.reduce((least, value) => Math.min(least, value), Infinity);
  return {
    part,
    curve,
    isRate,
    isSigned: hasSign,
    sign,
    range: fitted.reduce((most, value) => Math.max(most, value), -Infinity) - low,
    usual: usualRange({ levels: fitted }),
    span: (positions.at(-1) ?? 0) - (positions[0] ?? 0),
    drop: high - low,
  };
}

/** A change as a share of the level it starts from; its sign stays. `floor`: see {@link SCALE_FLOOR}. */
export function relativeTo(
  track: Track,
  change: number,
  level: number,
  floor: number = SCALE_FLOOR,
): number {
  if (track.isRate || change === 0) return change;
  if (track.isSigned) return change / track.range;
  return change / Math.max(Math.abs(level), floor * track.drop);
}

/** The median of some values, of two in the middle the upper; NaN for none. */
export function upperMedian(values: ArrayLike<number>): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[sorted.length >>> 1] ?? Number.NaN;
}
