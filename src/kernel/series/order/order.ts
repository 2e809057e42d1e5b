/** Order statistics: exact quantiles, the median, the median absolute deviation. Selection itself is left to the two twins. */
import { checkLiteral, checkOptionNames } from '../../../base/assert.ts';
import { invalidInput } from '../../../base/errors.ts';
import { type SeriesValues, checkSeries } from '../module/values.ts';

/** What a quantile is where it falls between two values. */
export const QUANTILE_METHODS = ['linear', 'lower', 'higher', 'nearest'] as const;

/** One of {@link QUANTILE_METHODS}. */
export type QuantileMethod = (typeof QUANTILE_METHODS)[number];

/** Options of {@link OrderKernel.quantiles}. */
export type QuantileOptions = {
  /**
   * With _h_ = (_n_ - 1) _p_: `linear` interpolates between the values of rank floor(_h_) and ceil(_h_) (type 7 of Hyndman and Fan, 1996,
   * the default of numpy and R); `lower` and `higher` take one of them; `nearest` takes the nearer, or that of even rank.
   * Default `linear`.
   */
  readonly method?: QuantileMethod;
};

/**
 * What the median absolute deviation is multiplied by so that it estimates the standard deviation of normally distributed values
 * (Rousseeuw and Croux, 1993): 1 / Φ⁻¹(3/4).
 */
export const NORMAL_MAD_SCALE = 1.482602218505602;

/** Options of {@link OrderKernel.medianAbsoluteDeviation}. */
export type MedianAbsoluteDeviationOptions = {
  /** Factor of the result, positive. Default 1; {@link NORMAL_MAD_SCALE} makes it an estimate of the standard deviation. */
  readonly scale?: number;
};

/** A robust centre and spread. Both are NaN when no value is finite. */
export type MedianAbsoluteDeviation = {
  /** The median. */
  readonly median: number;
  /** The median of the distances from the median, times `scale`; Infinity where it is above the range of float64. */
  readonly mad: number;
  /** The factor in `mad`. */
  readonly scale: number;
};

/** Exact order statistics. NaN and infinities are skipped; a result of 0 has no sign. */
export interface OrderKernel {
  /**
   * The quantiles of the finite values, exact by selection, in time linear in the number of values whatever they are.
   *
   * `lower`, `higher` and `nearest` give a value of the series. `linear` gives a value that lies between its two neighbours, is within
   * 2^-51 of the larger of their sizes of the exact interpolation, and never falls when the probability rises.
   *
   * @param probabilities up to 65,536 numbers from 0 to 1, in any order
   * @returns one quantile for each probability, in the same order; NaN when no value is finite
   * @throws {QuarkError} `invalid_input`
   */
  quantiles(
    values: SeriesValues,
    probabilities: readonly number[],
    options?: QuantileOptions,
  ): Float64Array;

  /**
   * The median of the finite values: the quantile of 1/2.
   *
   * @throws {QuarkError} `invalid_input`
   */
  median(values: SeriesValues): number;

  /**
   * The median and the median of the distances from it, of the finite values. Distances are rounded to float64 once.
   *
   * @throws {QuarkError} `invalid_input`
   */
  medianAbsoluteDeviation(
    values: SeriesValues,
    options?: MedianAbsoluteDeviationOptions,
  ): MedianAbsoluteDeviation;

  /**
   * The difference of the quantiles of 3/4 and 1/4; Infinity where it is above the range of float64.
   *
   * @throws {QuarkError} `invalid_input`
   */
  interquartileRange(values: SeriesValues): number;
}

const MAX_PROBABILITIES = 65_536;
/** The probabilities of the quartiles. */
export const QUARTILES: readonly number[] = [0.25, 0.75];

/** @throws {QuarkError} `invalid_input` */
export function checkProbabilities(probabilities: unknown): readonly number[] {
  if (!Array.isArray(probabilities) || probabilities.length > MAX_PROBABILITIES) {
    const given = Array.isArray(probabilities) ? `${probabilities.length} of them` : probabilities;
    throw invalidInput(
      'probabilities',
      given,
      `an array of up to ${MAX_PROBABILITIES} numbers from 0 to 1`,
    );
  }
  return probabilities.map((value, i) => checkProbability(`probabilities[${i}]`, value));
}

/** @throws {QuarkError} `invalid_input` */
export function checkProbability(name: string, value: unknown): number {
  if (typeof value === 'number' && value >= 0 && value <= 1) return value;
  throw invalidInput(name, value, 'a number from 0 to 1');
}

/** @throws {QuarkError} `invalid_input` */
export function checkQuantileOptions(options: QuantileOptions = {}): QuantileMethod {
  checkOptionNames('options', options, ['method']);
  return checkLiteral('options.method', options.method ?? 'linear', QUANTILE_METHODS);
}

/** @throws {QuarkError} `invalid_input` */
export function checkMadOptions(options: MedianAbsoluteDeviationOptions = {}): number {
  checkOptionNames('options', options, ['scale']);
  const scale = options.scale ?? 1;
  if (typeof scale !== 'number' || !(scale > 0 && scale < Infinity))
    throw invalidInput('options.scale', scale, 'a positive number');
  return scale;
}

/** The finite values of one series, as a twin selects from them. */
export interface Selection {
  /** How many finite values there are, as far as is known. */
  readonly count: number;
  /**
   * The values of these ranks, which ascend strictly from 0 to `count - 1`; undefined when `count` has turned out too large and is right
   * from now on.
   */
  select(ranks: Int32Array): Float64Array | undefined;
}

/** The quantiles of a selection. */
export function quantilesOf(
  selection: Selection,
  probabilities: readonly number[],
  method: QuantileMethod = 'linear',
): Float64Array {
  const result = new Float64Array(probabilities.length);
  if (probabilities.length === 0) return result;
  while (selection.count > 0) {
    const last = selection.count - 1;
    const fractions = probabilities.map((probability) => rankOf(probability, last, method));
    const ranks = Int32Array.from(
      new Set(fractions.flatMap(({ floor, part }) => (part > 0 ? [floor, floor + 1] : [floor]))),
    ).sort();
    const selected = selection.select(ranks);
    if (selected === undefined) continue;
    const valueAt = new Map(
      Array.from(ranks, (rank, i) => [rank, (selected[i] ?? Number.NaN) + 0]),
    );
    fractions.forEach(({ floor, part }, i) => {
      const low = valueAt.get(floor) ?? Number.NaN;
      result[i] = part > 0 ? between(low, valueAt.get(floor + 1) ?? Number.NaN, part) : low;
    });
    return result;
  }
  return result.fill(Number.NaN);
}

/** The one quantile of a selection. */
export function quantileOfSelection(selection: Selection, probability: number): number {
  return quantilesOf(selection, [probability])[0] ?? Number.NaN;
}

function rankOf(
  probability: number,
  last: number,
  method: QuantileMethod,
): { floor: number; part: number } {
  const at = probability * last;
  const floor = Math.floor(at);
  switch (method) {
    case 'linear':
      return { floor, part: at - floor };
    case 'lower':
      return { floor, part: 0 };
    case 'higher':
      return { floor: Math.ceil(at), part: 0 };
    case 'nearest': {
      const isUpper = at - floor > 0.5 || (at - floor === 0.5 && floor % 2 === 1);
      return { floor: isUpper ? floor + 1 : floor, part: 0 };
    }
  }
}

/** Between `low` and `high`, monotone in `part` and without overflow (as std::lerp of C++20, P0811). */
export function between(low: number, high: number, part: number): number {
  if (low === high) return low;
  if (low <= 0 && high >= 0) return part * high + (1 - part) * low + 0;
  return Math.min(high, low + part * (high - low));
}

/** What distances are computed in, so that none overflows: half the unit where the range of the values is too large. */
export function distanceUnit(low: number, high: number): number {
  return high - low < Infinity ? 1 : 0.5;
}

/** The finite values in order: the selection of the plain-JavaScript twin. */
export function sortedSelection(values: Float64Array): Selection & {
  readonly sorted: Float64Array;
} {
  const sorted = values.filter((value) => value - value === 0).sort();
  return {
    sorted,
    count: sorted.length,
    select: (ranks) => Float64Array.from(ranks, (rank) => sorted[rank] ?? Number.NaN),
  };
}

/** Order statistics in plain JavaScript, by sorting. */
export const jsOrder: OrderKernel = {
  quantiles(values, probabilities, options) {
    const data = checkSeries('values', values);
    const wanted = checkProbabilities(probabilities);
    return quantilesOf(sortedSelection(data), wanted, checkQuantileOptions(options));
  },

  median(values) {
    return quantileOfSelection(sortedSelection(checkSeries('values', values)), 0.5);
  },

  medianAbsoluteDeviation(values, options) {
    const selection = sortedSelection(checkSeries('values', values));
    const { sorted } = selection;
    const scale = checkMadOptions(options);
    const median = quantileOfSelection(selection, 0.5);
    const unit = distanceUnit(sorted[0] ?? 0, sorted.at(-1) ?? 0);
    const distances = sorted.map((value) => Math.abs(value * unit - median * unit));
    return {
      median,
      mad: (quantileOfSelection(sortedSelection(distances), 0.5) / unit) * scale,
      scale,
    };
  },

  interquartileRange(values) {
    return interquartileRange(
      quantilesOf(sortedSelection(checkSeries('values', values)), QUARTILES),
    );
  },
};

/** The difference of the two quantiles in `quartiles`. */
export function interquartileRange(quartiles: Float64Array): number {
  return (quartiles[1] ?? Number.NaN) - (quartiles[0] ?? Number.NaN);
}
