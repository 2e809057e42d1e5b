/** Which metrics are the losses of training and of validation. */
import type { MetricSeries } from '../../columns/run-columns.ts';
import { withoutAdversaries } from './loss-names.ts';
import { rankOfError } from './measures.ts';
import type { MetricName } from './names.ts';
import type { RoleKeys } from './role-keys.ts';
import type { Chosen } from './role-types.ts';

/** What losses are chosen from. */
export type LossSource = {
  readonly metrics: ReadonlyMap<string, MetricSeries>;
  readonly names: readonly MetricName[];
  readonly keys: RoleKeys;
  /** Whether these keys are the conventional ones, and nobody chose them. */
  readonly isConventional: { readonly [K in keyof RoleKeys]: boolean };
};

/** The losses of a run. */
export type ChosenLosses = {
  readonly train: Chosen | null;
  readonly val: Chosen | null;
  /** All that is trained, each part by itself: what is chosen, or more where only the first of several was. */
  readonly parts: readonly string[];
};

/** Points up to which the means of epochs are too few to show how training began. */
const FEW_POINTS = 20;
/** How many times as many values single steps must have to go before them. */
const FINER = 10;

const USUAL = 'it has the usual name';
const PAIRED = 'its name differs from that of the other side in the word for it only';

type Sides = {
  readonly trained: readonly MetricName[];
  readonly bare: readonly MetricName[];
  readonly heldOut: readonly MetricName[];
};

/** Chooses the losses by their names; a key of the settings goes first. */
export function chooseLosses(source: LossSource): ChosenLosses {
  const { names } = source;
  const called = names.filter(({ measure }) => measure === 'loss');
  const calm = new Set(withoutAdversaries(called.map(({ key }) => key)));
  const losses = called.filter(({ key }) => calm.has(key));
  const sides = sidesOf(losses);
  const train = trainingOf(source, sides);
  const val = validationOf(source, sides, train);
  const isNamed = losses.some(({ side }) => side !== 'test') || train !== null || val !== null;
  if (isNamed) {
    const isOneOfMany = train?.chosen.sureness === 'inferred' && train.names.length === 1;
    const many = isOneOfMany ? sides.bare.filter(({ isStep }) => !isStep) : [];
    const parts = many.length > 0 ? many.map(({ key }) => key) : (train?.chosen.keys ?? []);
    return { train: train?.chosen ?? null, val, parts };
  }
  const others = errorsOf(names.filter(({ measure }) => measure === 'error'));
  const found = (others.train ?? others.val) ? others : unnamedPairs(names);
  return { ...found, parts: found.train?.keys ?? [] };
}

function sidesOf(names: readonly MetricName[]): Sides {
  const of = (side: MetricName['side']): readonly MetricName[] =>
    names.filter((name) => name.side === side);
  const val = of('val');
  // Where there is validation, the test is what nobody may choose by.
  return { trained: of('train'), bare: of(undefined), heldOut: val.length > 0 ? val : of('test') };
}

type Training = { readonly chosen: Chosen; readonly names: readonly MetricName[] };

function trainingOf(source: LossSource, sides: Sides): Training | null {
  const { keys, metrics, names } = source;
  const given = firstOf(metrics, keys.trainLoss);
  const nameOf = (key: string): readonly MetricName[] => names.filter((name) => name.key === key);
  if (given !== undefined) {
    if (!source.isConventional.trainLoss)
      return { chosen: one(given, 'asked', 'the settings name it'), names: nameOf(given) };
    const [own] = nameOf(given);
    const finer = own === undefined ? undefined : finerThan(source, own, sides);
    const key = finer?.key ?? given;
    return { chosen: one(key, 'named', USUAL), names: nameOf(key) };
  }
  const whole = [...sides.trained, ...sides.bare].filter(isWhole);
  // What has a partner, of each side the one with more values.
  const [best] = whole.toSorted(
    (a, b) =>
      Number(b.hasPartner) - Number(a.hasPartner) || lengthOf(source, b) - lengthOf(source, a),
  );
  if (best !== undefined) {
    const chosen = finerThan(source, best, sides) ?? best;
    return { chosen: one(chosen.key, surenessOf(chosen), whyOf(chosen)), names: [chosen] };
  }
  return partsOf(sides);
}

/** Several losses without a whole: those that validation has too, all of training, or the first without a side. */
function partsOf({ bare, heldOut, trained }: Sides): Training | null {
  // Beside the whole loss of validation all parts of training count.
  const hasWhole = heldOut.some(isWhole);
  const isCommon = ({ stem }: MetricName): boolean =>
    !hasWhole && heldOut.some((other) => other.stem === stem);
  const calm = (list: readonly MetricName[]): readonly MetricName[] =>
    list.filter(({ isStep }) => !isStep);
  const common = calm(trained).filter(isCommon);
  const bareCommon = calm(bare).filter(isCommon);
  for (const [list, sureness] of [
    [common, 'paired'],
    [calm(trained), 'inferred'],
    [bareCommon, 'paired'],
    [calm(bare).slice(0, 1), 'inferred'],
    [[...trained, ...bare].slice(0, 1), 'inferred'],
  ] as const) {
    const [first] = list;
    if (first === undefined) continue;
    const isNamed = list.length === 1 && first.side === 'train';
    const own = sureness === 'inferred' && isNamed ? 'named' : sureness;
    const sum = `it is the sum of the ${list.length} losses of training`;
    const why = list.length > 1 ? sum : own === 'inferred' ? firstWhy(bare) : reasonFor(own);
    const keys = list.map(({ key }) => key);
    return { chosen: { keys, how: 'sum', sureness: own, why }, names: list };
  }
  return null;
}

function firstWhy(bare: readonly MetricName[]): string {
  return bare.length > 1
    ? `it is the first of ${bare.length} losses without a word for training`
    : 'it is the only loss there is';
}

function validationOf(
  source: LossSource,
  { heldOut }: Sides,
  train: Training | null,
): Chosen | null {
  const { isConventional, keys, metrics } = source;
  const given = firstOf(metrics, keys.valLoss);
  if (given !== undefined)
    return isConventional.valLoss
      ? one(given, 'named', USUAL)
      : one(given, 'asked', 'the settings name it');
  const all = heldOut.some(({ isStep }) => !isStep)
    ? heldOut.filter(({ isStep }) => !isStep)
    : heldOut;
  const whole = all.filter(isWhole);
  // A test that measures something else says nothing of this training.
  const others = (whole.length > 0 ? whole : all).filter(({ side }) => side === 'val');
  if (train === null) return meanOf(others, 'inferred');
  if (train.chosen.keys.length > 1 && whole.length === 0) {
    const parts = train.names.flatMap(
      ({ stem }) => all.find((other) => other.stem === stem)?.key ?? [],
    );
    if (parts.length > 0)
      return {
        keys: parts,
        how: 'sum',
        sureness: 'paired',
        why: `it is the sum of the ${parts.length} losses that training has, too`,
      };
  }
  const [own] = train.names;
  const isSum = train.chosen.keys.length > 1;
  const same = all.filter(({ stem }) => !isSum && stem === own?.stem);
  if (same.length > 0) return meanOf(same, 'paired');
  const alike = all.filter(({ base }) => !isSum && base === own?.base);
  return alike.length > 0 ? meanOf(alike, 'paired') : meanOf(others, 'inferred');
}

function meanOf(list: readonly MetricName[], sureness: 'paired' | 'inferred'): Chosen | null {
  const [first] = list;
  if (first === undefined) return null;
  const keys = list.map(({ key }) => key);
  const isTest = first.side === 'test';
  const single = isTest
    ? 'it is the loss of the test, and there is none of a validation'
    : sureness === 'paired'
      ? PAIRED
      : 'it is the only loss of a validation';
  const why =
    list.length === 1 ? single : `it is the mean of the losses of ${list.length} validations`;
  return { keys, how: 'mean', sureness, why };
}

/** Errors where nothing is called a loss: of training and validation the same, or else of one side. */
function errorsOf(names: readonly MetricName[]): Pick<ChosenLosses, 'train' | 'val'> {
  const ranked = names
    .filter(({ isStep }) => !isStep)
    .toSorted((a, b) => rankOfError(a.words) - rankOfError(b.words));
  const { bare, heldOut, trained } = sidesOf(ranked);
  const partner = (name: MetricName): readonly MetricName[] =>
    heldOut.filter(({ stem }) => stem === name.stem);
  const paired = [...trained, ...bare].find((name) => partner(name).length > 0);
  if (paired !== undefined)
    return { train: one(paired.key, 'paired', PAIRED), val: meanOf(partner(paired), 'paired') };
  // Errors that are not the same on both sides cannot be compared: training goes first.
  const [first] = trained.length > 0 ? trained : bare;
  const lonely = 'it is an error by its name, and nothing is called a loss';
  if (first !== undefined) return { train: one(first.key, 'inferred', lonely), val: null };
  const [other] = heldOut;
  return { train: null, val: other === undefined ? null : one(other.key, 'inferred', lonely) };
}

/** What has one name for training and for validation, and is no measure of quality: `train/box`, `val/box`. */
function unnamedPairs(names: readonly MetricName[]): Pick<ChosenLosses, 'train' | 'val'> {
  const usable = names.filter(({ isStep, measure }) => measure === undefined && !isStep);
  const { heldOut, trained } = sidesOf(usable);
  const parts = trained.filter(({ stem }) => heldOut.some((other) => other.stem === stem));
  const others = parts.flatMap(({ stem }) => heldOut.find((other) => other.stem === stem) ?? []);
  if (parts.length === 0) return { train: null, val: null };
  const why = 'training and validation have it under one name, and nothing is called a loss';
  const sum = (list: readonly MetricName[]): Chosen => ({
    keys: list.map(({ key }) => key),
    how: 'sum',
    sureness: 'inferred',
    why,
  });
  return { train: sum(parts), val: sum(others) };
}

/** The same loss of single steps, where its means are too few to show the course of a run. */
function finerThan(
  source: LossSource,
  { base, key }: MetricName,
  { bare, trained }: Sides,
): MetricName | undefined {
  const length = source.metrics.get(key)?.values.length ?? 0;
  if (length > FEW_POINTS) return undefined;
  return [...trained, ...bare]
    .filter((other) => other.base === base && other.key !== key)
    .find((other) => lengthOf(source, other) >= FINER * length);
}

/** Whether it is the loss, and no part of it. */
function isWhole({ base, isStep }: MetricName): boolean {
  return base === 'loss' && !isStep;
}

function lengthOf({ metrics }: LossSource, { key }: MetricName): number {
  return metrics.get(key)?.values.length ?? 0;
}

function surenessOf({ base, hasPartner, side }: MetricName): Chosen['sureness'] {
  if (side !== undefined && base === 'loss') return 'named';
  return hasPartner ? 'paired' : 'named';
}

function whyOf(name: MetricName): string {
  return reasonFor(surenessOf(name));
}

function reasonFor(sureness: Chosen['sureness']): string {
  return sureness === 'paired' ? PAIRED : USUAL;
}

function one(key: string, sureness: Chosen['sureness'], why: string): Chosen {
  return { keys: [key], how: 'sum', sureness, why };
}

/** The first of these keys that has a finite value, or else the first there is. */
export function firstOf(
  metrics: ReadonlyMap<string, MetricSeries>,
  keys: readonly string[],
): string | undefined {
  const present = keys.filter((key) => metrics.has(key));
  return present.find((key) => hasFinite(metrics.get(key))) ?? present[0];
}

/** Whether a metric has a value that is a number. */
export function hasFinite(series: MetricSeries | undefined): boolean {
  return series !== undefined && series.values.some((value) => Number.isFinite(value));
}
