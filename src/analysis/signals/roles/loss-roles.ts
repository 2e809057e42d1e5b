/** Which metrics of a run are its losses and accuracies, where nobody says. */
import type { MetricSeries } from '../../columns/run-columns.ts';
import { isErrorName, withoutAdversaries } from './loss-names.ts';

/** Keys to look for, in order of preference. */
export type RoleKeys = {
  readonly trainLoss: readonly string[];
  readonly valLoss: readonly string[];
  readonly trainAccuracy: readonly string[];
  readonly valAccuracy: readonly string[];
};

/** The conventional keys: the defaults of the phase analyzer. */
export const CONVENTIONAL_ROLE_KEYS: RoleKeys = Object.freeze({
  trainLoss: Object.freeze(['train/loss', 'training/loss']),
  valLoss: Object.freeze(['val/loss', 'validation/loss']),
  trainAccuracy: Object.freeze(['train/accuracy', 'training/accuracy', 'train/acc']),
  valAccuracy: Object.freeze(['val/accuracy', 'validation/accuracy', 'val/acc']),
});

/** The four series that training is judged by; null where a run has none. A sum has the keys of its parts joined by " + " for a key, a mean has "mean of" before them. */
export type RoleSeries = {
  readonly trainLoss: MetricSeries | null;
  readonly valLoss: MetricSeries | null;
  readonly trainAccuracy: MetricSeries | null;
  readonly valAccuracy: MetricSeries | null;
};

const TRAIN = /^(?:train|training)[/_.]/iu;
const HELD_OUT = /^(?:val|valid|validation|eval|evaluation|dev)[/_.]/iu;
const NOT_TRAINED = /^(?:val|valid|validation|eval|evaluation|dev|test)[/_.]/iu;
const LOSS = /(?:^|[/_.])loss$/iu;
/** The same loss of single steps, beside or in the place of its mean over an epoch, as Lightning names them. */
const STEP_LOSS = /(?:^|[/_.])loss_step$/iu;
/** Points up to which the means of epochs are too few to show how training began. */
const FEW_POINTS = 20;
/** How many times as many values single steps must have to go before them. */
const FINER = 10;
/** What is recorded of training and validation alike and is no loss: what is better when higher, or no judgement at all. */
const NO_LOSS =
  /acc|f1|f_1|precision|recall|map|auc|bleu|rouge|score|iou|dice|r2|top|rate|lr|epoch|step|time|second|sample|token|norm|perplexity|ppl|count|size/iu;

/**
 * Finds the four series. A key of `keys` that has a finite value goes first. Without one, losses are found by their names: the parts of a
 * loss (`train/box_loss`, `train/cls_loss`) are added up, with the same parts on both sides where training and validation have parts in
 * common; of several validation sets (`val/a_loss`, `val/b_loss` beside one training loss) the mean counts. Where nothing is called a loss,
 * what is recorded under one name of training and of validation (`train/box`, `val/box`) is added up, measures of quality left out; without
 * any, an error of training or else of validation counts (`train/mse`).
 *
 * Of two networks that are trained against each other the generator counts: the loss of a discriminator says how good its opponent is, and
 * rises where that gets better. The loss of single steps (`train/loss_step`) counts where it is all there is, or ten times as long as up to
 * 20 means of epochs.
 */
export function findRoleSeries(
  metrics: ReadonlyMap<string, MetricSeries>,
  keys: RoleKeys = CONVENTIONAL_ROLE_KEYS,
): RoleSeries {
  const losses = findLosses(metrics, keys);
  return {
    // What somebody chose stays.
    trainLoss:
      keys.trainLoss === CONVENTIONAL_ROLE_KEYS.trainLoss
        ? finest(metrics, losses.trainLoss)
        : losses.trainLoss,
    valLoss: losses.valLoss,
    trainAccuracy: firstOf(metrics, keys.trainAccuracy),
    valAccuracy: firstOf(metrics, keys.valAccuracy),
  };
}

type LossSeries = Pick<RoleSeries, 'trainLoss' | 'valLoss'>;

function findLosses(metrics: ReadonlyMap<string, MetricSeries>, keys: RoleKeys): LossSeries {
  const trainLoss = firstOf(metrics, keys.trainLoss);
  const valLoss = firstOf(metrics, keys.valLoss);
  if (trainLoss !== null && valLoss !== null) return { trainLoss, valLoss };
  const named = withoutAdversaries(
    [...metrics.keys()].filter((key) => LOSS.test(key) && hasFinite(metrics.get(key))),
  );
  if (named.length === 0 && trainLoss === null && valLoss === null) return pairedSeries(metrics);
  const held = named.filter((key) => HELD_OUT.test(key));
  const trained = named.filter((key) => TRAIN.test(key));
  if (trainLoss !== null) return { trainLoss, valLoss: combine(metrics, held, 'mean') };
  const common = trained.filter((key) => held.some((other) => tailOf(other) === tailOf(key)));
  const parts = common.length > 0 && valLoss === null ? common : trained;
  // A loss without a namespace is one of training.
  const bare = parts.length > 0 ? parts : named.filter((key) => !NOT_TRAINED.test(key)).slice(0, 1);
  const sameParts = held.filter((key) => common.some((other) => tailOf(other) === tailOf(key)));
  return {
    trainLoss: combine(metrics, bare, 'sum'),
    valLoss:
      valLoss ??
      (common.length > 0 ? combine(metrics, sameParts, 'sum') : combine(metrics, held, 'mean')),
  };
}

/** The loss of single steps, where that is all there is, or where its means over epochs are too few to show the course of a run. */
function finest(
  metrics: ReadonlyMap<string, MetricSeries>,
  found: MetricSeries | null,
): MetricSeries | null {
  const steps = [...metrics.values()].find(
    (series) => STEP_LOSS.test(series.key) && !NOT_TRAINED.test(series.key) && hasFinite(series),
  );
  if (found === null || steps === undefined) return found ?? steps ?? null;
  const isSame = tailOf(steps.key) === `${tailOf(found.key)}_step`;
  const isFiner =
    found.values.length <= FEW_POINTS && steps.values.length >= FINER * found.values.length;
  return isSame && isFiner ? steps : found;
}

/** Keys that {@link findRoleSeries} may want, of all there are: what to read of a run. */
export function roleCandidates(
  all: readonly string[],
  keys: RoleKeys = CONVENTIONAL_ROLE_KEYS,
): readonly string[] {
  const given = new Set(Object.values(keys).flat());
  const isLoss = (key: string): boolean => LOSS.test(key) || STEP_LOSS.test(key);
  const wanted = all.filter((key) => given.has(key) || isLoss(key));
  if (
    wanted.some((key) => isLoss(key) || keys.trainLoss.includes(key) || keys.valLoss.includes(key))
  )
    return wanted;
  return all.filter(
    (key) =>
      given.has(key) || ((TRAIN.test(key) || HELD_OUT.test(key)) && !NO_LOSS.test(tailOf(key))),
  );
}

function pairedSeries(
  metrics: ReadonlyMap<string, MetricSeries>,
): Pick<RoleSeries, 'trainLoss' | 'valLoss'> {
  const usable = [...metrics.keys()].filter((key) => !NO_LOSS.test(tailOf(key)));
  const tails = (side: RegExp): Set<string> =>
    new Set(usable.filter((key) => side.test(key)).map(tailOf));
  const heldOut = tails(HELD_OUT);
  const common = new Set([...tails(TRAIN)].filter((tail) => heldOut.has(tail)));
  const keysOf = (side: RegExp): readonly string[] =>
    usable.filter((key) => side.test(key) && common.has(tailOf(key)));
  if (common.size > 0)
    return {
      trainLoss: combine(metrics, keysOf(TRAIN), 'sum'),
      valLoss: combine(metrics, keysOf(HELD_OUT), 'sum'),
    };
  // Errors that are not the same on both sides cannot be compared: training goes first.
  const error = (side: RegExp): MetricSeries | null =>
    [...metrics.values()].find(
      (series) => side.test(series.key) && isErrorName(series.key) && hasFinite(series),
    ) ?? null;
  const trainLoss = error(TRAIN);
  return { trainLoss, valLoss: trainLoss === null ? error(HELD_OUT) : null };
}

function firstOf(
  metrics: ReadonlyMap<string, MetricSeries>,
  keys: readonly string[],
): MetricSeries | null {
  const present = keys.flatMap((key) => metrics.get(key) ?? []);
  return present.find((series) => hasFinite(series)) ?? present[0] ?? null;
}

function hasFinite(series: MetricSeries | undefined): boolean {
  return series !== undefined && series.values.some((value) => Number.isFinite(value));
}

function tailOf(key: string): string {
  return key.replace(/^[^/_.]+[/_.]/u, '').toLowerCase();
}

/** Sum or mean of several series where all of them have a value. */
function combine(
  metrics: ReadonlyMap<string, MetricSeries>,
  keys: readonly string[],
  how: 'sum' | 'mean',
): MetricSeries | null {
  const all = keys.flatMap((key) => metrics.get(key) ?? []);
  const [first] = all;
  if (first === undefined || all.length === 1) return first ?? null;
  const others = all.slice(1).filter(({ x }) => x === first.x);
  const maps = others.map((series) => {
    const places = series[first.x === 'step' ? 'steps' : 'epochs'];
    return new Map(Array.from(series.values, (value, i) => [places[i] ?? Number.NaN, value]));
  });
  const places = first.x === 'step' ? first.steps : first.epochs;
  const rows: number[] = [];
  const values: number[] = [];
  for (let i = 0; i < first.values.length; i++) {
    let sum = first.values[i] ?? Number.NaN;
    for (const map of maps) sum += map.get(places[i] ?? Number.NaN) ?? Number.NaN;
    const isWhole = maps.every((map) => map.has(places[i] ?? Number.NaN));
    if (!isWhole) continue;
    rows.push(i);
    values.push(how === 'sum' ? sum : sum / (maps.length + 1));
  }
  if (rows.length === 0) return first;
  const pick = (column: Float64Array): Float64Array =>
    Float64Array.from(rows, (row) => column[row] ?? Number.NaN);
  return {
    key:
      how === 'sum'
        ? all.map(({ key }) => key).join(' + ')
        : `mean of ${all.map(({ key }) => key).join(', ')}`,
    x: first.x,
    steps: pick(first.steps),
    epochs: pick(first.epochs),
    timesMs: pick(first.timesMs),
    values: Float64Array.from(values),
  };
}
