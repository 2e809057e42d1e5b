/** Roles for people and for programs: which metric a run is judged by, and how sure that is. */
import { ROLE_NAMES, rolesAsStored, type RoleName } from '../../../records/run-roles.ts';
import type { Dict } from '../../../schema/record.ts';
import type { RoleChoice, Roles } from './role-types.ts';

/** What people call a role. */
export const ROLE_NOUNS: Readonly<Record<RoleName, string>> = Object.freeze({
  trainLoss: 'training loss',
  valLoss: 'validation loss',
  trainAccuracy: 'training accuracy',
  valAccuracy: 'validation accuracy',
  reward: 'reward',
});

/** The roles that a metric plays, in their order. */
export function playedRoles(roles: Roles): readonly (RoleChoice & { readonly role: RoleName })[] {
  return ROLE_NAMES.flatMap((role) => {
    const choice = roles[role];
    return choice === null ? [] : [{ ...choice, role }];
  });
}

/**
 * The metrics that a run is judged by, in a sentence: `train/loss as training loss (named), val/loss as validation loss (paired)`.
 *
 * @example
 * ```js
 * import { createMetricSeries, findRoles, sayRoles } from 'quark-sdk/analysis';
 *
 * const samples = { steps: [0, 1, 2], values: [0.9, 0.5, 0.4] };
 * const mapOf = (...keys) => new Map(keys.map((key) => [key, createMetricSeries(key, samples)]));
 * const roles = findRoles(mapOf('train/loss', 'val/loss'));
 * console.log(sayRoles(roles)); // train/loss as training loss (named), val/loss as validation loss (named)
 * ```
 */
export function sayRoles(roles: Roles): string {
  return playedRoles(roles)
    .map(({ role, series, sureness }) => `${series.key} as ${ROLE_NOUNS[role]} (${sureness})`)
    .join(', ');
}

/** Roles as a plain dictionary with snake_case names. */
export function rolesDict(roles: Roles): Dict {
  const played = playedRoles(roles).map(({ keys, role, sureness, unit, why }) => {
    const [name] = Object.keys(Object(rolesAsStored({ [role]: role })['roles']));
    return [name ?? role, { keys: [...keys], sureness, unit, why }] as const;
  });
  return {
    ...Object.fromEntries(played),
    candidates: roles.candidates.map(({ key, role, why }) => ({ key, role, why })),
  };
}
