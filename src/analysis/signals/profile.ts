/**
 * One series at the two scales that rules look at. A series of up to {@link MAX_BLOCKS} finite values is looked at point
 * by point. A longer one is cut into that many blocks of equal count, whose medians a lone spike does not move; rules
 * then compare levels of blocks with the noise of blocks. Everything is linear in the number of values.
 */
import { NORMAL_MAD_SCALE } from '../../kernel/series/order/order.ts';
import type { MetricSeries } from '../columns/run-columns.ts';
import { goesBelowZero } from './roles/units.ts';
import { medianInPlace } from './quickselect.ts';

/** Most blocks of a {@link Profile}. */
export const MAX_BLOCKS = 200;
/** Variance of x[i-1] - 2 x[i] + x[i+1] for independent values of variance 1. */
const SECOND_DIFFERENCE_VARIANCE = 6;
/** Second differences that the noise of single values comes from: the error of their median is then about 2 %. */
const NOISE_SAMPLE = 4096;

/** A series as rules see it. */
export type Profile = {
  readonly series: MetricSeries;
  /** Row in the series of each finite value. */
  readonly rows: Int32Array;
  /** The finite values. */
  readonly values: Float64Array;
  /** Finite values of a block; the last may have fewer. */
  readonly blockSize: number;
  /** Median of each block. */
  readonly levels: Float64Array;
  /** Standard deviation of a level around a smooth course of the levels; 0 of fewer than five blocks. */
  readonly levelNoise: number;
  /** Standard deviation of a single value around its neighbours; 0 of fewer than five values. */
  readonly pointNoise: number;
  /** Whether it goes below zero: then a level is no size, and only differences mean something. */
  readonly isSigned: boolean;
};

/** Looks at a series. */
export function profileOf(series: MetricSeries): Profile {
  const { rows, values } = finitePart(series.values);
  const blockSize = Math.max(1, Math.ceil(values.length / MAX_BLOCKS));
  const levels = blockMedians(values, blockSize);
  return {
    series,
    rows,
    values,
    blockSize,
    levels,
    levelNoise: noiseOf(levels),
    pointNoise: noiseOf(values),
    isSigned: goesBelowZero(values),
  };
}

/**
 * What a share of a level is measured by: the level itself; of a series that goes below zero, whose distance from zero means nothing, how far
 * its levels lie apart.
 */
export function levelSize({ isSigned, levels }: Profile, level: number): number {
  return isSigned ? levelRange(levels) : Math.abs(level);
}

/** From the lowest level to the highest. */
export function levelRange(levels: Float64Array): number {
  const least = levels.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  const most = levels.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  return Math.max(0, most - least);
}

/** Standard deviations of the levels by which a fall is one, and no wandering around a level. */
const CLEAR_FALL = 10;
/** Share of a clear fall that a series must have come back by to be far above its best. */
const LOST_SHARE = 0.5;
/** Usual ranges that one without a clear fall must have risen by. */
const USUAL_RANGES = 3;

/** Least rise from its best by which a series that goes below zero got worse: half of what it gained, or, where it wanders, far beyond where it wanders. */
export function leastSignedRise(profile: Profile, improvement: number): number {
  return improvement > CLEAR_FALL * profile.levelNoise
    ? LOST_SHARE * improvement
    : USUAL_RANGES * usualRange(profile);
}

/** How far a series that goes below zero usually ranges: over four fifths of its first half, so that what it does at its end does not count. */
export function usualRange({ levels }: Pick<Profile, 'levels'>): number {
  const sorted = levels.slice(0, Math.max(1, levels.length >> 1)).sort();
  const at = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
  return at(0.9) - at(0.1);
}

/** Share of exact zeros from which a loss is one of margins. */
const MARGIN_ZEROS = 0.01;

/** Whether a loss never goes below zero and often is exactly that, as those of triplets, pairs and hinges. */
export function hasMargin({ isSigned, values }: Pick<Profile, 'isSigned' | 'values'>): boolean {
  if (isSigned) return false;
  const zeros = values.reduce((count, value) => (value === 0 ? count + 1 : count), 0);
  return zeros > 0 && zeros >= MARGIN_ZEROS * values.length;
}

/** The rows of the first value of a block and of the last of another. */
export function blockRows(
  { blockSize, rows }: Profile,
  from: number,
  to: number,
): readonly [first: number, last: number] {
  const end = Math.min(rows.length, (to + 1) * blockSize);
  return [rows[from * blockSize] ?? 0, rows[end - 1] ?? 0];
}

/** The median level of a part of the run, given as shares of its blocks; at least one block. */
export function levelOf({ levels }: Profile, fromShare: number, toShare: number): number {
  const last = levels.length - 1;
  const from = Math.min(last, Math.floor(fromShare * levels.length));
  const to = Math.max(from + 1, Math.ceil(toShare * levels.length));
  return medianInPlace(levels.slice(from, to));
}

/** The smallest level and the block it is first reached in. */
export function lowestLevel({ levels }: Profile): {
  readonly level: number;
  readonly block: number;
} {
  let block = 0;
  for (let i = 1; i < levels.length; i++) if ((levels[i] ?? 0) < (levels[block] ?? 0)) block = i;
  return { level: levels[block] ?? Number.NaN, block };
}

/**
 * A robust standard deviation of the values around a smooth course: the median size of second differences, which a
 * straight trend does not enter, scaled for normal noise. Noise that repeats itself from one value to the next comes out
 * too small.
 */
export function noiseOf(values: Float64Array): number {
  const count = values.length - 2;
  if (count < 3) return 0;
  const wanted = Math.min(count, NOISE_SAMPLE);
  const sizes = new Float64Array(wanted);
  for (let i = 0; i < wanted; i++) {
    const at = 1 + Math.floor((i * count) / wanted);
    const before = values[at - 1] ?? 0;
    const here = values[at] ?? 0;
    const after = values[at + 1] ?? 0;
    // Halves first: the sum may leave the range of float64 where the result does not.
    sizes[i] = Math.abs(before / 2 - here + after / 2);
  }
  const scale = (2 * NORMAL_MAD_SCALE) / Math.sqrt(SECOND_DIFFERENCE_VARIANCE);
  return medianInPlace(sizes) * scale;
}

function finitePart(values: Float64Array): { rows: Int32Array; values: Float64Array } {
  const rows = new Int32Array(values.length);
  let count = 0;
  for (let i = 0; i < values.length; i++) {
    const value = values[i] ?? Number.NaN;
    if (value - value === 0) rows[count++] = i;
  }
  if (count === values.length) return { rows, values };
  const kept = new Float64Array(count);
  for (let i = 0; i < count; i++) kept[i] = values[rows[i] ?? 0] ?? Number.NaN;
  return { rows: rows.slice(0, count), values: kept };
}

function blockMedians(values: Float64Array, blockSize: number): Float64Array {
  if (blockSize === 1) return values;
  const levels = new Float64Array(Math.ceil(values.length / blockSize));
  const scratch = new Float64Array(blockSize);
  for (let block = 0; block < levels.length; block++) {
    const part = values.subarray(block * blockSize, (block + 1) * blockSize);
    scratch.set(part);
    levels[block] = medianInPlace(scratch, 0, part.length);
  }
  return levels;
}
