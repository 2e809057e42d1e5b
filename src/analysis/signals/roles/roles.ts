/** Which metric of a run plays which role: what it is judged by, and how sure that is. */
import type { AskedRoles, RoleName } from '../../../records/run-roles.ts';
import type { MetricSeries } from '../../columns/run-columns.ts';
import { combine } from './combine.ts';
import { isAdversarial } from './loss-names.ts';
import { chooseLosses, hasFinite } from './losses.ts';
import { readNames, type MetricName } from './names.ts';
import { trainingSets } from './numbered-sets.ts';
import { candidatesOf, chooseAccuracy, chooseReward } from './others.ts';
import { pairsOf } from './pairs.ts';
import { CONVENTIONAL_ROLE_KEYS, type RoleKeys } from './role-keys.ts';
import type { Chosen, RoleChoice, Roles, RoleUnit, SeriesPair } from './role-types.ts';
import { isShare, unitOfAccuracies, unitOfLoss } from './units.ts';

/** Roles, and what rules compare: each training loss by itself, and validation losses with theirs. */
export type RoleSet = {
  readonly roles: Roles;
  readonly trainLosses: readonly MetricSeries[];
  readonly pairs: readonly SeriesPair[];
  /** Whether networks are trained against each other. */
  readonly isAdversarial: boolean;
};

/**
 * Finds the role of each metric in the whole set of names: names that differ only in a word for training or validation are one metric of two
 * sides. What somebody asked for goes first, where the run has it; then the `keys`, the conventional ones unless given.
 *
 * The parts of a loss (`train/box_loss`, `train/cls_loss`) are added up, with the same parts on both sides where training and validation have
 * parts in common; of several validation sets the mean counts; a test counts where there is no validation. Where nothing is called a loss, an
 * error (`train/mse`, `mse` beside `val_mse`) counts, and else what is recorded under one name of training and of validation is added up,
 * measures of quality left out.
 *
 * Of two networks that are trained against each other the generator counts: the loss of a discriminator says how good its opponent is, and
 * rises where that gets better. The loss of single steps (`train/loss_step`) counts where it is all there is, or ten times as long as up to
 * 20 means of epochs.
 *
 * @example
 * ```js
 * import { createMetricSeries, findRoles } from 'quark-sdk/analysis';
 *
 * const samples = { steps: [0, 1, 2], values: [0.9, 0.5, 0.4] };
 * const mapOf = (...keys) => new Map(keys.map((key) => [key, createMetricSeries(key, samples)]));
 * const metrics = mapOf('objective', 'holdout/nll');
 * const { trainLoss, valLoss } = findRoles(metrics, { trainLoss: 'objective', valLoss: 'holdout/nll' });
 * console.log(trainLoss.keys, valLoss.keys); // [ 'objective' ] [ 'holdout/nll' ]
 * ```
 */
export function findRoles(
  metrics: ReadonlyMap<string, MetricSeries>,
  asked: AskedRoles = {},
  keys: RoleKeys = CONVENTIONAL_ROLE_KEYS,
): Roles {
  return findRoleSet(metrics, asked, keys).roles;
}

/** The same with what rules compare. */
export function findRoleSet(
  metrics: ReadonlyMap<string, MetricSeries>,
  asked: AskedRoles = {},
  keys: RoleKeys = CONVENTIONAL_ROLE_KEYS,
): RoleSet {
  const all = [...readNames(metrics.keys()).values()];
  const first = trainingSets(metrics, all);
  const names = all.map((name) =>
    first.has(name.key) ? { ...name, side: 'train' as const, set: '' } : name,
  );
  const make = (chosen: Chosen | null): Made | null => madeOf(metrics, chosen, first);
  const losses = lossesOf(metrics, names, keys);
  const given = (role: RoleName): Chosen | null | undefined => givenTo(metrics, asked[role]);
  const train = given('trainLoss');
  const trainLoss = make(train === undefined ? losses.train : train);
  const valLoss = make(given('valLoss') ?? (asked.valLoss === null ? null : losses.val));
  // A count of right answers is no accuracy.
  const inShares = new Map([...metrics].filter(([, series]) => isShare(series)));
  const shares = names.filter(({ key }) => inShares.has(key));
  const accuracy = (side: 'train' | 'val'): Made | null => {
    const role = `${side}Accuracy` as const;
    const own = given(role);
    const settings = { isAsked: !isConventional(keys)[role], keys: keys[role] };
    return make(own === undefined ? chooseAccuracy(inShares, shares, side, settings) : own);
  };
  const [trainAccuracy, valAccuracy] = [accuracy('train'), accuracy('val')];
  const finite = names.filter(({ key }) => hasFinite(metrics.get(key)));
  const ownReward = given('reward');
  const reward = make(ownReward === undefined ? chooseReward(metrics, finite) : ownReward);
  const unit = unitOfAccuracies(
    [trainAccuracy, valAccuracy].flatMap((one) => (one === null ? [] : [one.series])),
  );
  const chosen = {
    trainLoss: withUnit(trainLoss, unitOfLoss),
    valLoss: withUnit(valLoss, unitOfLoss),
    trainAccuracy: withUnit(trainAccuracy, () => unit),
    valAccuracy: withUnit(valAccuracy, () => unit),
    reward: withUnit(reward, () => 'signed'),
  };
  const taken = new Set(Object.values(chosen).flatMap((one) => one?.keys ?? []));
  const parts = train === undefined ? losses.parts : (trainLoss?.keys ?? []);
  const trainLosses = parts.flatMap((key) => metrics.get(key) ?? []);
  return {
    roles: { ...chosen, candidates: candidatesOf(metrics, finite, taken) },
    trainLosses,
    isAdversarial: isAdversarial(metrics.keys()),
    pairs: pairsOf({
      metrics,
      names: new Map(names.map((name) => [name.key, name])),
      parts: trainLosses,
      valKeys: valLoss?.keys ?? [],
    }),
  };
}

type Made = Omit<RoleChoice, 'unit'>;

/** Losses with a number in them go first; a loss that never had one is a loss all the same. */
function lossesOf(
  metrics: ReadonlyMap<string, MetricSeries>,
  names: readonly MetricName[],
  keys: RoleKeys,
): ReturnType<typeof chooseLosses> {
  const source = { metrics, keys, isConventional: isConventional(keys) };
  const finite = names.filter(({ key }) => hasFinite(metrics.get(key)));
  const found = chooseLosses({ ...source, names: finite });
  return found.train !== null || found.val !== null ? found : chooseLosses({ ...source, names });
}

function isConventional(keys: RoleKeys): { readonly [K in keyof RoleKeys]: boolean } {
  const isSame = (role: keyof RoleKeys): boolean =>
    keys[role].join('\n') === CONVENTIONAL_ROLE_KEYS[role].join('\n');
  return {
    trainLoss: isSame('trainLoss'),
    valLoss: isSame('valLoss'),
    trainAccuracy: isSame('trainAccuracy'),
    valAccuracy: isSame('valAccuracy'),
  };
}

/** What was asked for a role; undefined where nothing was, or where the run does not have it. */
function givenTo(
  metrics: ReadonlyMap<string, MetricSeries>,
  asked: string | null | undefined,
): Chosen | null | undefined {
  if (asked === null) return null;
  if (asked === undefined || !metrics.has(asked)) return undefined;
  return { keys: [asked], how: 'sum', sureness: 'asked', why: 'somebody said so' };
}

function madeOf(
  metrics: ReadonlyMap<string, MetricSeries>,
  chosen: Chosen | null,
  guessed: ReadonlySet<string>,
): Made | null {
  if (chosen === null) return null;
  const { how, keys } = chosen;
  const series = combine(metrics, keys, how);
  if (series === null) return null;
  const isGuess = keys.some((key) => guessed.has(key));
  const { sureness, why } = isGuess
    ? { sureness: 'inferred' as const, why: 'it is the lower one of two numbered sets' }
    : chosen;
  return { series, keys, sureness, why };
}

function withUnit(
  made: Made | null,
  unitOf: (series: MetricSeries) => RoleUnit,
): RoleChoice | null {
  return made === null ? null : { ...made, unit: unitOf(made.series) };
}
