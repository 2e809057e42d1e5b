/** The series that training is judged by, without what is known of them. */
import type { MetricSeries } from '../../columns/run-columns.ts';
import { readNames } from './names.ts';
import { CONVENTIONAL_ROLE_KEYS, type RoleKeys } from './role-keys.ts';
import type { Roles } from './role-types.ts';
import { findRoles } from './roles.ts';

/** The series that training is judged by; null where a run has none. A sum has the keys of its parts joined by " + " for a key, a mean has "mean of" before them. */
export type RoleSeries = {
  readonly trainLoss: MetricSeries | null;
  readonly valLoss: MetricSeries | null;
  readonly trainAccuracy: MetricSeries | null;
  readonly valAccuracy: MetricSeries | null;
  /** Where there is one, a run is judged by it, and not by its losses. */
  readonly reward?: MetricSeries | null;
};

/**
 * The series as {@link findRoles} finds them: a key of `keys` that has a finite value goes first.
 *
 * @example
 * ```js
 * import { createMetricSeries, findRoleSeries } from 'quark-sdk/analysis';
 *
 * const samples = { steps: [0, 1, 2], values: [0.9, 0.5, 0.4] };
 * const mapOf = (...keys) => new Map(keys.map((key) => [key, createMetricSeries(key, samples)]));
 * const { trainLoss, valLoss, trainAccuracy } = findRoleSeries(mapOf('loss', 'val_loss'));
 * console.log(trainLoss.key, valLoss.key, trainAccuracy); // loss val_loss null
 * ```
 */
export function findRoleSeries(
  metrics: ReadonlyMap<string, MetricSeries>,
  keys: RoleKeys = CONVENTIONAL_ROLE_KEYS,
): RoleSeries {
  return seriesOfRoles(findRoles(metrics, {}, keys));
}

/** The series of roles that were found. */
export function seriesOfRoles({
  reward,
  trainAccuracy,
  trainLoss,
  valAccuracy,
  valLoss,
}: Roles): RoleSeries {
  return {
    trainLoss: trainLoss?.series ?? null,
    valLoss: valLoss?.series ?? null,
    trainAccuracy: trainAccuracy?.series ?? null,
    valAccuracy: valAccuracy?.series ?? null,
    reward: reward?.series ?? null,
  };
}

/** Keys that roles may be found among, of all there are: what to read of a run. */
export function roleCandidates(
  all: readonly string[],
  keys: RoleKeys = CONVENTIONAL_ROLE_KEYS,
): readonly string[] {
  const given = new Set(Object.values(keys).flat());
  const names = readNames(all);
  const measureOf = (key: string): string | undefined => names.get(key)?.measure;
  const isLoss = (key: string): boolean =>
    keys.trainLoss.includes(key) || keys.valLoss.includes(key) || measureOf(key) === 'loss';
  const hasLoss = all.some(isLoss);
  return all.filter((key) => {
    const measure = measureOf(key);
    if (given.has(key) || isLoss(key) || measure === 'accuracy' || measure === 'reward')
      return true;
    const isSide = names.get(key)?.side !== undefined;
    return !hasLoss && (measure === 'error' || (measure === undefined && isSide));
  });
}
