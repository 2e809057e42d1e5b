/** Which metric of a run plays which role: what it is judged by, and how sure that is. */
import type { MetricSeries } from '../../columns/run-columns.ts';
import { CONVENTIONAL_ROLE_KEYS, findRoleSeries, type RoleKeys } from './loss-roles.ts';
import { measureOf } from './measures.ts';
import { unitOf } from './units.ts';

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
 * What the values of a metric are. `ratio`: shares, 0 to 1. `percent`: the same, 0 to 100. `nonnegative`: a loss that is never below zero, so
 * that shares of it mean something. `signed`: values on both sides of zero or below it; only differences mean something.
 */
export type RoleUnit = 'ratio' | 'percent' | 'nonnegative' | 'signed';

/** A metric, or several as one, that plays a role. */
export type RoleChoice = {
  /** The metric as it was recorded; a sum or a mean where there are several `keys`. */
  readonly series: MetricSeries;
  /** The metrics it was made of. */
  readonly keys: readonly string[];
  /**
   * `asked`: somebody said so. `named`: it has the usual name. `paired`: it has a partner whose name differs in a word for training or
   * validation only. `inferred`: the likeliest of what there is.
   */
  readonly sureness: 'asked' | 'named' | 'paired' | 'inferred';
  readonly unit: RoleUnit;
  /** Why, as the end of a sentence: "its name says so". */
  readonly why: string;
};

/** A metric that plays no role and might. */
export type RoleCandidate = {
  readonly key: string;
  readonly role: 'loss' | 'accuracy' | 'reward';
  /** Why it might, as the end of a sentence. */
  readonly why: string;
};

/** What a run is judged by; null where it has nothing for the role. */
export type Roles = { readonly [R in RoleName]: RoleChoice | null } & {
  /** Metrics that play no role and might, the likeliest first. */
  readonly candidates: readonly RoleCandidate[];
};

/** Metrics that somebody gave a role; the others are found. */
export type AskedRoles = { readonly [R in RoleName]?: string | undefined };

/** Finds the role of each metric in the whole set of names. */
export function findRoles(
  metrics: ReadonlyMap<string, MetricSeries>,
  asked: AskedRoles = {},
  keys: RoleKeys = CONVENTIONAL_ROLE_KEYS,
): Roles {
  const found = findRoleSeries(metrics, keys);
  const choose = (
    role: Exclude<RoleName, 'reward'>,
    kind: 'loss' | 'accuracy',
  ): RoleChoice | null => {
    const key = asked[role];
    const given = key === undefined ? undefined : metrics.get(key);
    if (given !== undefined) return choice(given, 'asked', kind, 'somebody said so');
    const series = found[role];
    if (series === null) return null;
    const isNamed = keys[role].includes(series.key);
    return isNamed
      ? choice(series, 'named', kind, 'its name says so')
      : choice(series, 'inferred', kind, 'it is the likeliest of what there is');
  };
  const chosen = {
    trainLoss: choose('trainLoss', 'loss'),
    valLoss: choose('valLoss', 'loss'),
    trainAccuracy: choose('trainAccuracy', 'accuracy'),
    valAccuracy: choose('valAccuracy', 'accuracy'),
    reward: rewardOf(metrics, asked),
  };
  const taken = new Set(Object.values(chosen).flatMap((one) => one?.keys ?? []));
  const candidates = [...metrics.keys()].flatMap((key): RoleCandidate[] => {
    const role = taken.has(key) ? undefined : measureOf(key);
    return role === undefined ? [] : [{ key, role, why: `its name is that of ${NOUNS[role]}` }];
  });
  return { ...chosen, candidates };
}

const NOUNS = { loss: 'a loss', accuracy: 'an accuracy', reward: 'a reward' } as const;

function rewardOf(
  metrics: ReadonlyMap<string, MetricSeries>,
  asked: AskedRoles,
): RoleChoice | null {
  const given = asked.reward === undefined ? undefined : metrics.get(asked.reward);
  if (given !== undefined) return choice(given, 'asked', 'reward', 'somebody said so');
  const named = [...metrics.values()].find(
    ({ key, values }) =>
      measureOf(key) === 'reward' && values.some((value) => Number.isFinite(value)),
  );
  return named === undefined ? null : choice(named, 'named', 'reward', 'its name says so');
}

function choice(
  series: MetricSeries,
  sureness: RoleChoice['sureness'],
  kind: 'loss' | 'accuracy' | 'reward',
  why: string,
): RoleChoice {
  const keys = series.key.replace(/^mean of /u, '').split(/ \+ |, /u);
  return { series, keys, sureness, unit: unitOf(series.values, kind), why };
}
