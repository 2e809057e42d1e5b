/** Metrics that somebody gave a role, and how a run remembers them: in its environment, as `roles`. */
import { invalidInput } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import { readOptions } from '../base/options.ts';

/** The roles that a metric may play. */
export const ROLE_NAMES = [
  'trainLoss',
  'valLoss',
  'trainAccuracy',
  'valAccuracy',
  'reward',
] as const;

/** One of {@link ROLE_NAMES}. */
export type RoleName = (typeof ROLE_NAMES)[number];

/**
 * Metrics by their keys, for the roles that a run is judged by: the losses and accuracies of training and validation, and the reward, which is
 * better when higher. Null says that no metric plays the role; one that is left out is found by the names of all metrics.
 */
export type AskedRoles = { readonly [R in RoleName]?: string | null | undefined };

/** Names of roles in storage. */
const STORED: readonly (readonly [RoleName, string])[] = [
  ['trainLoss', 'train_loss'],
  ['valLoss', 'val_loss'],
  ['trainAccuracy', 'train_accuracy'],
  ['valAccuracy', 'val_accuracy'],
  ['reward', 'reward'],
];

/** @throws {QuarkError} `invalid_input` naming the role */
export function checkRoles(field: string, given: AskedRoles | undefined): AskedRoles {
  const key = (name: string, value: string | null | undefined): string | null | undefined => {
    if (value === undefined || value === null || (typeof value === 'string' && value !== ''))
      return value;
    throw invalidInput(name, value, 'the key of a metric, or null for none');
  };
  const roles = readOptions(field, given, {
    trainLoss: key,
    valLoss: key,
    trainAccuracy: key,
    valAccuracy: key,
    reward: key,
  });
  const train = ROLE_NAMES.filter((role) => typeof roles[role] === 'string');
  const twice = train.find((role, i) =>
    train.slice(0, i).some((one) => roles[one] === roles[role]),
  );
  if (twice !== undefined)
    throw invalidInput(`${field}.${twice}`, roles[twice], 'a metric that plays no other role');
  // What is left out must not hide what a run remembers.
  return Object.fromEntries(Object.entries(roles).filter(([, value]) => value !== undefined));
}

/**
 * Refuses roles of metrics that a run does not have.
 *
 * @throws {QuarkError} `invalid_input` naming the role, the key and what there is
 */
export function checkRoleKeys(field: string, roles: AskedRoles, keys: readonly string[]): void {
  const known = new Set(keys);
  for (const role of ROLE_NAMES) {
    const key = roles[role];
    if (typeof key !== 'string' || known.has(key)) continue;
    const some = keys.slice(0, 20).join(', ');
    const more = keys.length > 20 ? ` and ${keys.length - 20} more` : '';
    const rule =
      keys.length === 0
        ? 'a metric of the run, which has none'
        : `a metric of the run: ${some}${more}`;
    throw invalidInput(`${field}.${role}`, key, rule);
  }
}

/** Roles as the environment of a run holds them; nothing where none was given. */
export function rolesAsStored(roles: AskedRoles): JsonObject {
  const entries = STORED.flatMap(([role, name]) => {
    const key = roles[role];
    return key === undefined ? [] : [[name, key] as const];
  });
  return entries.length === 0 ? {} : { roles: Object.fromEntries(entries) };
}

/** The roles that a run remembers. What is stored may be of any program: what is no key is left out. */
export function rolesOfRun(environment: JsonObject): AskedRoles {
  const stored = environment['roles'];
  if (typeof stored !== 'object' || stored === null || Array.isArray(stored)) return {};
  return Object.fromEntries(
    STORED.flatMap(([role, name]) => {
      const key: unknown = Reflect.get(stored, name);
      return key === null || (typeof key === 'string' && key !== '') ? [[role, key]] : [];
    }),
  );
}
