/** From totals of units to their statistics, and the merging of those. */
import { invalidInput } from '../../base/errors.ts';
import type { UnitSettings } from './checks.ts';
import type { TensorUnitStats } from '../kernel.ts';

/** What is added up for each unit: arrays of `[units]`. */
export type UnitTotals = {
  /** Sums of the finite values. */
  readonly sums: Float64Array;
  /** Largest |x| of the finite values. */
  readonly maxMagnitudes: Float64Array;
  /** NaN and infinities. */
  readonly nonFiniteCounts: Float64Array;
  /** Finite values with |x| <= epsilon. */
  readonly inactiveCounts: Float64Array;
};

/** Totals of nothing. */
export function createUnitTotals(units: number): UnitTotals {
  return {
    sums: new Float64Array(units),
    maxMagnitudes: new Float64Array(units),
    nonFiniteCounts: new Float64Array(units),
    inactiveCounts: new Float64Array(units),
  };
}

/** Totals as a result, which takes over their arrays. */
export function unitStatsFromTotals(
  elementCount: number,
  { sums: means, maxMagnitudes, nonFiniteCounts: finiteCounts, inactiveCounts }: UnitTotals,
  { units, epsilon }: UnitSettings,
): TensorUnitStats {
  const each = elementCount / units;
  for (let unit = 0; unit < units; unit++) {
    const finite = each - (finiteCounts[unit] ?? 0);
    finiteCounts[unit] = finite;
    means[unit] = (means[unit] ?? 0) / finite;
    if (finite === 0) maxMagnitudes[unit] = Number.NaN;
  }
  const arrays = { finiteCounts, means, maxMagnitudes, inactiveCounts };
  return { units, elementCount, epsilon, ...arrays, ...shares(finiteCounts, inactiveCounts) };
}

/**
 * The statistics of the parts taken together: counts and magnitudes exactly, means with another 4 units in the last place (float64, of
 * the mean |x|) a part.
 *
 * @param parts one or more, of the same units and epsilon
 * @throws {QuarkError} `invalid_input`
 * @example
 * ```js
 * import { createKernels, mergeTensorUnitStats } from 'quark-sdk/kernels';
 *
 * const kernels = await createKernels();
 * const batches = [[1, 0, 3, 0], [5, 0, 7, 2]]; // two samples of two units each
 * const parts = batches.map((batch) => kernels.inline.tensorUnitStats(new Float32Array(batch), { units: 2 }));
 * const { means, deadUnitCount } = mergeTensorUnitStats(parts);
 * console.log(means, deadUnitCount); // Float64Array(2) [ 4, 0.5 ] 0
 * await kernels.close();
 * ```
 */
export function mergeTensorUnitStats(parts: readonly TensorUnitStats[]): TensorUnitStats {
  const [first, ...rest] = parts;
  if (first === undefined) throw invalidInput('parts', parts, 'one part or more');
  const { units, epsilon } = first;
  const finiteCounts = first.finiteCounts.slice();
  const means = first.means.slice();
  const maxMagnitudes = first.maxMagnitudes.slice();
  const inactiveCounts = first.inactiveCounts.slice();
  let { elementCount } = first;
  for (const part of rest) {
    if (part.units !== units)
      throw invalidInput('parts.units', part.units, `the same in all parts (${units})`);
    if (part.epsilon !== epsilon)
      throw invalidInput('parts.epsilon', part.epsilon, `the same in all parts (${epsilon})`);
    elementCount += part.elementCount;
    for (let unit = 0; unit < units; unit++) {
      const more = part.finiteCounts[unit] ?? 0;
      if (more === 0) continue;
      const before = finiteCounts[unit] ?? 0;
      const count = before + more;
      const mean = part.means[unit] ?? 0;
      const most = part.maxMagnitudes[unit] ?? 0;
      const share = more / count;
      const known = means[unit] ?? 0;
      means[unit] = before === 0 ? mean : known * (before / count) + mean * share;
      maxMagnitudes[unit] = before === 0 ? most : Math.max(maxMagnitudes[unit] ?? 0, most);
      finiteCounts[unit] = count;
      inactiveCounts[unit] = (inactiveCounts[unit] ?? 0) + (part.inactiveCounts[unit] ?? 0);
    }
  }
  const arrays = { finiteCounts, means, maxMagnitudes, inactiveCounts };
  return { units, elementCount, epsilon, ...arrays, ...shares(finiteCounts, inactiveCounts) };
}

function shares(
  finiteCounts: Float64Array,
  inactiveCounts: Float64Array,
): Pick<TensorUnitStats, 'inactiveRatios' | 'deadUnitCount'> {
  const inactiveRatios = new Float64Array(finiteCounts.length);
  let deadUnitCount = 0;
  for (let unit = 0; unit < inactiveRatios.length; unit++) {
    const ratio = (inactiveCounts[unit] ?? 0) / (finiteCounts[unit] ?? 0);
    inactiveRatios[unit] = ratio;
    if (ratio === 1) deadUnitCount += 1;
  }
  return { inactiveRatios, deadUnitCount };
}

/**
 * The numbers of the units that are inactive, ascending: to compare with those of the next probe. A unit without finite values
 * is none of them.
 *
 * @param minRatio share of a unit's finite values that have to be inactive, 0 to 1; default 1: dead units
 * @throws {QuarkError} `invalid_input`
 * @example
 * ```js
 * import { createKernels, inactiveUnits } from 'quark-sdk/kernels';
 *
 * const kernels = await createKernels();
 * const activations = new Float32Array([1, 0, 3, 2, 0, 0]); // two samples of three units
 * const stats = kernels.inline.tensorUnitStats(activations, { units: 3 });
 * console.log(inactiveUnits(stats)); // Uint32Array(1) [ 1 ]
 * console.log(inactiveUnits(stats, 0.5)); // Uint32Array(2) [ 1, 2 ]
 * await kernels.close();
 * ```
 */
export function inactiveUnits(stats: TensorUnitStats, minRatio = 1): Uint32Array {
  if (typeof minRatio !== 'number' || !(minRatio >= 0 && minRatio <= 1))
    throw invalidInput('minRatio', minRatio, 'a number from 0 to 1');
  const found: number[] = [];
  stats.inactiveRatios.forEach((ratio, unit) => {
    if (ratio >= minRatio) found.push(unit);
  });
  return Uint32Array.from(found);
}
