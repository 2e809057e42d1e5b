/**
 * The strongest cycle of a series: the highest peak of its spectrum (Schuster, 1898) over the noise around it. What noise makes of one ordinate
 * over the mean of k others has the F distribution with 2 and 2 k degrees of freedom, whatever its size: it passes x with the probability
 * (1 + x / k)^-k (the harmonic F test: Thomson, 1982). That noise keeps a share of the value before, as losses do, is taken out first.
 */
import { medianInPlace } from './quickselect.ts';

/** A cycle in a series of equal steps. */
export type Cycle = {
  /** Values from one crest to the next: 2 to a quarter of the series. */
  readonly period: number;
  /** From trough to crest, in units of the series. */
  readonly swing: number;
  /** Share of the variance around the course of the series, 0 to 1. */
  readonly share: number;
};

/** Fewest values: four periods of four values, and as many ordinates to tell the noise by. */
const MIN_VALUES = 32;
/** Values that are looked at, at most: the work is their square. */
export const MAX_CYCLE_VALUES = 512;
/** Cycles in the series, at least: fewer may be its course. */
const MIN_CYCLES = 4;
/** Chance that noise alone makes such a peak. */
const FALSE_PEAK = 1e-6;
/** Ordinates beside a peak that belong to it, and those further away, on each side, that the noise is told by. */
const LOBE = 2;
const AROUND = 12;
/** Neighbouring ordinates under a Hann window are not independent: they count for half as many. */
const INDEPENDENT = 0.5;
/** Most that noise is taken to keep of the value before. */
const MAX_KEPT = 0.95;
/** Mean square of a Hann window. */
const HANN_POWER = 0.375;
/** Deviations beyond this many typical ones are cut: a spike is in every frequency. */
const CUT = 5;

/** The strongest cycle; undefined where none stands out. `residual` is what {@link aroundCourse} gives. */
export function strongestCycle(residual: Float64Array): Cycle | undefined {
  const { length } = residual;
  if (length < MIN_VALUES) return undefined;
  const power = spectrum(residual);
  const colour = colourOf(power, length);
  let best: { readonly at: number; readonly chance: number } | undefined;
  for (let at = MIN_CYCLES; at < power.length; at++) {
    const chance = logChance(power, at, colour(at), length);
    if (chance < (best?.chance ?? 0)) best = { at, chance };
  }
  if (best === undefined || best.chance > Math.log(FALSE_PEAK / power.length)) return undefined;
  let sum = 0;
  for (let at = best.at - LOBE; at <= best.at + LOBE; at++) sum += power[at] ?? 0;
  const amplitude = Math.sqrt((4 * sum) / HANN_POWER) / length;
  const variance = residual.reduce((a, b) => a + b * b, 0) / length;
  return {
    period: length / best.at,
    swing: 2 * amplitude,
    share: Math.min(1, amplitude ** 2 / 2 / (variance || 1)),
  };
}

/** The values around a cubic course (least squares), with spikes cut. */
export function aroundCourse(values: Float64Array): Float64Array {
  const { length } = values;
  const rest = Float64Array.from(values);
  const basis: Float64Array[] = [];
  for (let degree = 0; degree <= 3; degree++) {
    const column = Float64Array.from(values, (_, i) => ((2 * i + 1) / length - 1) ** degree);
    for (const other of basis) take(column, other, column);
    const norm = Math.sqrt(column.reduce((a, b) => a + b * b, 0)) || 1;
    basis.push(column.map((value) => value / norm));
  }
  for (const column of basis) take(rest, column, rest);
  const limit = CUT * 1.4826 * medianInPlace(rest.map(Math.abs));
  return limit > 0 ? rest.map((value) => Math.max(-limit, Math.min(limit, value))) : rest;
}

/** Takes the part along a column of length 1 away. */
function take(from: Float64Array, column: Float64Array, into: Float64Array): void {
  let product = 0;
  for (let i = 0; i < from.length; i++) product += (from[i] ?? 0) * (column[i] ?? 0);
  for (let i = 0; i < from.length; i++) into[i] = (from[i] ?? 0) - product * (column[i] ?? 0);
}

/** Squared size of each frequency up to half the number of values, under a Hann window. */
function spectrum(residual: Float64Array): Float64Array {
  const { length } = residual;
  const cosines = Float64Array.from(residual, (_, i) => Math.cos((2 * Math.PI * i) / length));
  const windowed = residual.map((value, i) => (value * (1 - (cosines[i] ?? 0))) / 2);
  const power = new Float64Array((length >> 1) + 1);
  const quarter = Float64Array.from(residual, (_, i) => Math.sin((2 * Math.PI * i) / length));
  for (let k = 0; k < power.length; k++) {
    let real = 0;
    let imaginary = 0;
    for (let i = 0, at = 0; i < length; i++) {
      real += (windowed[i] ?? 0) * (cosines[at] ?? 0);
      imaginary += (windowed[i] ?? 0) * (quarter[at] ?? 0);
      at += k;
      if (at >= length) at -= length;
    }
    power[k] = real * real + imaginary * imaginary;
  }
  return power;
}

/** What the noise keeps of the value before, by its spectrum (Wiener and Khinchin) without the peak at a place. */
function colourOf(power: Float64Array, length: number): (at: number) => number {
  let product = 0;
  let whole = 0;
  const part = (k: number): number => (power[k] ?? 0) * Math.cos((2 * Math.PI * k) / length);
  for (let k = 1; k < power.length; k++) {
    product += part(k);
    whole += power[k] ?? 0;
  }
  return (at) => {
    let ownProduct = 0;
    let own = 0;
    for (let k = Math.max(1, at - LOBE); k <= at + LOBE && k < power.length; k++) {
      ownProduct += part(k);
      own += power[k] ?? 0;
    }
    const kept = (product - ownProduct) / (whole - own || 1);
    return Math.max(-MAX_KEPT, Math.min(MAX_KEPT, kept));
  };
}

/**
 * Logarithm of the probability that noise makes an ordinate as large as this one is beside those on both sides, each over what noise has there
 * that keeps such a share of the value before.
 */
function logChance(power: Float64Array, at: number, kept: number, length: number): number {
  const white = (k: number): number =>
    (power[k] ?? 0) * (1 + kept * kept - 2 * kept * Math.cos((2 * Math.PI * k) / length));
  let sum = 0;
  let count = 0;
  for (let side = LOBE + 1; side <= LOBE + AROUND; side++)
    for (const other of [at - side, at + side])
      if (other >= 1 && other < power.length) {
        sum += white(other);
        count++;
      }
  const own = white(at);
  if (!(own > 0)) return 0;
  const freedom = INDEPENDENT * count;
  return -freedom * Math.log1p(own / (sum / count || Number.MIN_VALUE) / freedom);
}
