import type { MetricSeries } from '../../columns/run-columns.ts';
import { chanceLoss } from '../../signals/chance-level.ts';
import { partsAtOnce } from '../../signals/first-pass.ts';
import { ladder } from '../../signals/ladder.ts';
import type { SeriesPair } from '../../signals/roles/role-types.ts';
import { observe, ofMetric } from '../../signals/observe.ts';
import { positionAt, sayPosition } from '../../signals/positions.ts';
import { hasMargin, levelOf, levelRange, noiseOf } from '../../signals/profile.ts';
import { defineRule } from '../../signals/rule.ts';
import {
  type Observation,
  type RuleContext,
  type ThresholdValues,
} from '../../signals/rule-types.ts';
import type { Signals } from '../../signals/signals.ts';
import { median, trailingRun } from '../../signals/statistics.ts';
import { unrelatedLabels } from './labels-at-chance.ts';
import { compare, type Compared } from '../../signals/train-beside-validation.ts';
import { say, sayShare, when } from '../../text/sentences.ts';

const GAP = ladder(
  'Gap of the validation loss over the training loss at the end of the run, as a share of the best validation loss, or of the training loss at the start if validation never rose (with absolute limits the plain difference)',
  { overfittingWarningGap: 0.2, overfittingErrorGap: 0.4, overfittingCriticalGap: 0.7 },
);

const THRESHOLDS = {
  ...GAP.thresholds,
  overfittingMinPoints: { value: 3, doc: 'Validation points it takes, at the end of the run.' },
  overfittingMinRegression: {
    value: 0.015,
    doc: 'Least rise of the validation loss over its best, as a share of the best. (Not in abiotic-quark.)',
  },
};

export const overfittingOnset = defineRule({
  id: 'overfitting_onset',
  category: 'generalization',
  needs: { anyOf: ['loss_pair', 'accuracy_pair'], points: 'overfittingMinPoints' },
  detects:
    'Validation loss that rises for good while the training loss goes on falling; or that stays high, or at the level of chance, while training learns.',
  source:
    'abiotic-quark; relative gap: SageMaker Debugger; regression from the best: Prechelt (1998); training far below a validation that has stopped, in units of the start, and validation at the level of chance: ours',
  cause: 'the model learns the training samples by heart',
  advice:
    'stop at the best validation loss, then try more data, augmentation, weight decay or dropout',
  live: 'trend',
  thresholds: THRESHOLDS,
  measure(context) {
    const { columns, isAbsolute, model, signals } = context;
    // Labels that do not belong to their samples are another story, which is told once.
    if (!isAbsolute && unrelatedLabels(columns, model, signals) !== undefined) return [];
    const chance = isAbsolute ? Number.NaN : chanceLoss(columns, model);
    const found = signals.lossPairs
      .flatMap((pair) => overfittingOf(pair, chance, context) ?? [])
      .toSorted((a, b) => b.gap - a.gap);
    return found.slice(0, 1).map((worst) => ({ ...worst, others: found.slice(1, 5) }));
  },
  finding: {
    levels: {
      critical: ({ gap, isRemark }, t) => !isRemark && GAP.severityOf(gap, t) === 'critical',
      error: ({ gap, isRemark }, t) => !isRemark && GAP.severityOf(gap, t) === 'error',
      warning: ({ gap, isRemark, kind }, t) =>
        !isRemark && (kind === 'unlearned' || GAP.severityOf(gap, t) === 'warning'),
      info: ({ kind }) => kind !== 'absolute',
    },
    title: ({ bestRow, validation }) =>
      `Overfitting since ${sayPosition(positionAt(validation, bestRow))}`,
    fact: (measured) => FACTS[measured.kind](measured),
    confidence: ({ gap, kind }, t) => {
      if (kind === 'absolute') return 0.6;
      return GAP.severityOf(gap, t) === undefined ? 0.7 : 0.92;
    },
    cause: (measured) => REASONS[reasonOf(measured)].cause,
    advice: (measured) => REASONS[reasonOf(measured)].advice,
    span: ({ fromRow, lastRow, validation }) => ({
      from: positionAt(validation, fromRow),
      to: positionAt(validation, lastRow),
    }),
    evidence: (measured, t) => [
      observeGap(measured, t.overfittingWarningGap),
      ...(Number.isFinite(measured.rise)
        ? [observeRise(measured, t.overfittingMinRegression)]
        : []),
      ...measured.others.map((other) => observeGap(other, t.overfittingWarningGap)),
    ],
  },
});

type Kind = Verdict['kind'];

/** What is known of a pair of losses. */
type Overfitting = SeriesPair & {
  readonly kind: Kind;
  readonly gap: number;
  readonly rise: number;
  /** Whether the gap counts from where the two were when validation was best. */
  readonly isParting: boolean;
  /** Rows of the validation: of the finding, of its best value, and the last that was compared. */
  readonly fromRow: number;
  readonly bestRow: number;
  readonly lastRow: number;
  /** Values of the validation at its best and at its end, and of training at its end. */
  readonly lowest: number;
  readonly last: number;
  readonly lastTrain: number;
  /** Loss of a model that has learned nothing, where validation is no better; else NaN. */
  readonly chance: number;
  /** Whether little is lost. */
  readonly isRemark: boolean;
  /** Whether validation was worse from the first epoch on. */
  readonly partsAtOnce: boolean;
};

const FACTS: Readonly<Record<Kind, (measured: Overfitting) => string>> = {
  absolute: ({ fromRow, gap, train, validation }) =>
    `${validation.key} is ${say(gap)} above ${train.key} since ${sayPosition(positionAt(validation, fromRow))}.`,
  unlearned: ({ chance, last, lastTrain, train, validation }) => {
    const none = when(!Number.isNaN(chance), `, no better than chance (${say(chance)}),`);
    return `${validation.key} ended at ${say(last)}${none} while ${train.key} fell to ${say(lastTrain)}: nothing of it is true of other samples.`;
  },
  never: sayNever,
  memorised: sayNever,
  risen: ({ bestRow, last, lowest, train, validation }) =>
    `${validation.key} has risen from its best ${say(lowest)} at ${sayPosition(positionAt(validation, bestRow))} to ${say(last)} while ${train.key} went on falling.`,
};

function sayNever({ lastTrain, lowest, train, validation }: Overfitting): string {
  return `${validation.key} did not get better than ${say(lowest)} while ${train.key} fell to ${say(lastTrain)}.`;
}

/** Causes other than that of the rule, and what to try. */
const REASONS = {
  usual: { cause: undefined, advice: undefined },
  otherData: {
    cause:
      'the samples of the validation differ from those of training, as it was worse from the first epoch on, and the model fits the latter',
    advice: 'compare some samples of both as the model gets them',
  },
  labels: {
    cause:
      'the model learns the training samples by heart, as it does where labels do not belong to their samples',
    advice:
      'check some training samples with their labels, and whether both are shuffled in the same way',
  },
} as const;

function reasonOf({ kind, partsAtOnce: isOtherData }: Overfitting): keyof typeof REASONS {
  if (kind === 'unlearned') return 'labels';
  return isOtherData ? 'otherData' : 'usual';
}

/** Which gap was measured, and how large it is. */
function observeGap(measured: Overfitting, threshold: number): Observation {
  const { bestRow, gap, isParting, kind, lastRow, train, validation } = measured;
  const unit = kind === 'memorised' || kind === 'unlearned' ? 'start' : 'best validation loss';
  const share = `${sayShare(gap)} of the ${unit}`;
  const relative = isParting
    ? `Parted from ${train.key} by ${share} since it was best.`
    : `Gap to ${train.key} of ${share}.`;
  const summary = kind === 'absolute' ? `Gap to ${train.key} of ${say(gap)}.` : relative;
  const metadata = { train_metric_key: train.key };
  const figures = { observed: gap, threshold, metadata };
  return observe(ofMetric(validation), [bestRow, lastRow], summary, figures);
}

function observeRise(
  { bestRow, lastRow, rise, validation }: Overfitting,
  threshold: number,
): Observation {
  const best = sayPosition(positionAt(validation, bestRow));
  const summary = `Rise of ${sayShare(rise)} over the best value at ${best}.`;
  const figures = { observed: rise, threshold };
  return observe(ofMetric(validation), [bestRow, lastRow], summary, figures);
}

/** Compares a validation loss with its training loss; undefined where it does as it should. */
function overfittingOf(
  pair: SeriesPair,
  chance: number,
  { columns, isAbsolute, signals, thresholds: t }: RuleContext<keyof typeof THRESHOLDS>,
): Overfitting | undefined {
  const compared = compare(pair, signals);
  const { rows, train, validation } = compared;
  const { length } = rows;
  if (length < Math.max(2, t.overfittingMinPoints)) return undefined;
  const gaps = validation.map((value, i) => value - (train[i] ?? Number.NaN));
  const trainStart = signals.course(pair.train)?.start ?? Number.NaN;
  const isSigned = [pair.train, pair.validation].some((one) => signals.profile(one).isSigned);
  const verdict = isAbsolute
    ? absoluteGap(gaps, t.overfittingMinPoints)
    : judge(compared, gaps, t, { pair, trainStart, chance, isSigned, signals });
  if (verdict === undefined) return undefined;
  const { best, from, gap, kind, rise } = verdict;
  const last = median(validation.subarray(-t.overfittingMinPoints));
  const rowOf = (i: number): number => rows[i] ?? 0;
  const isNoWarning = GAP.severityOf(gap, t) === undefined;
  if (kind === 'absolute' && isNoWarning) return undefined;
  return {
    ...pair,
    kind,
    gap,
    rise,
    isParting: kind === 'risen' && (gaps[best] ?? 0) < 0 && (gaps.at(-1) ?? 0) >= 0,
    fromRow: rowOf(kind === 'absolute' ? from : best),
    bestRow: rowOf(best),
    lastRow: rowOf(length - 1),
    lowest: validation[best] ?? Number.NaN,
    last,
    lastTrain: train.at(-1) ?? Number.NaN,
    chance: last >= AT_CHANCE * chance ? chance : Number.NaN,
    isRemark:
      kind !== 'absolute' && kind !== 'unlearned' && (isNoWarning || isMild(verdict, signals)),
    partsAtOnce: kind !== 'unlearned' && partsAtOnce(pair, columns, signals) !== undefined,
  };
}

/** The gap as abiotic-quark measures it. */
function absoluteGap(gaps: Float64Array, minPoints: number): Verdict {
  const gap = median(gaps.subarray(-minPoints));
  const from = gaps.length - minPoints;
  return { kind: 'absolute', gap, from, best: 0, rise: Number.NaN, lost: 1 };
}

/** Validation this high, beside the training loss at the start, has learned little. */
const UNLEARNED = 0.4;
/** Noise of validation, as a share of its level, up to which a comparison of levels says something. */
const CLEAR_NOISE = 0.1;
/** Training loss this far below validation has learned its samples by heart. */
const MEMORISED = 0.1;
/** Share of its level that such a validation may gain in the second half of the run. */
const CREEP = 0.1;
/** Share of the level of chance, or of its own start, from which a loss has not learned. */
const AT_CHANCE = 0.95;
/** Accuracy of validation over that of training below which what is learned does not hold for other samples. */
const BEHIND = 0.6;

/** Little of the gain is lost, or the accuracy has not suffered: worth knowing, and no more. */
const MILD_LOSS = 0.05;
const MILD_RISE = 0.25;
const MILD_ACCURACY = 0.02;

function isMild({ kind, lost, rise }: Verdict, signals: Signals): boolean {
  if (kind !== 'risen') return false;
  if (lost < MILD_LOSS) return true;
  const series = signals.valAccuracy;
  if (series === undefined || rise >= MILD_RISE) return false;
  const profile = signals.profile(series);
  if (profile.levels.length < 3) return false;
  const best = profile.levels.reduce((a, b) => Math.max(a, b));
  return levelOf(profile, 0.8, 1) >= best - Math.max(MILD_ACCURACY, 2 * profile.levelNoise);
}

/** What the last validations say, measured from the best. */
type Verdict = {
  /**
   * Validation rose from its best; never got better than it was; stopped where it was while training went to next to nothing; or is where a
   * model is that has learned nothing. `absolute`: it lies above training, by the limits of abiotic-quark.
   */
  readonly kind: 'risen' | 'never' | 'memorised' | 'unlearned' | 'absolute';
  readonly gap: number;
  /** Where it began, where the best value is: positions among the compared values. */
  readonly from: number;
  readonly best: number;
  /** How far validation has risen from its best, as a share of it; NaN where that does not count. */
  readonly rise: number;
  /** The rise as a share of all that validation had gained. */
  readonly lost: number;
};

type Course = {
  readonly validation: Float64Array;
  readonly train: Float64Array;
  readonly best: number;
  readonly noise: number;
  /** Levels of the last points. */
  readonly last: number;
  readonly lastTrain: number;
  readonly isPositive: boolean;
};

type Limits = ThresholdValues<keyof typeof THRESHOLDS>;

/** What is known beside the two losses. */
type Beside = {
  readonly pair: SeriesPair;
  readonly trainStart: number;
  /** Loss of a model that has learned nothing; NaN where it is not known. */
  readonly chance: number;
  /** Whether one of the two goes below zero. */
  readonly isSigned: boolean;
  readonly signals: Signals;
};

function judge(
  { train, validation }: Compared,
  gaps: Float64Array,
  t: Limits,
  beside: Beside,
): Verdict | undefined {
  const minPoints = t.overfittingMinPoints;
  let best = 0;
  for (let i = 1; i < validation.length; i++)
    if ((validation[i] ?? 0) < (validation[best] ?? 0)) best = i;
  const course: Course = {
    validation,
    train,
    best,
    noise: noiseOf(validation),
    last: median(validation.subarray(-minPoints)),
    lastTrain: median(train.subarray(-minPoints)),
    isPositive: !beside.isSigned,
  };
  const isLong = validation.length >= 2 * minPoints && course.isPositive;
  const isMargin = hasMargin(beside.signals.profile(beside.pair.train));
  const risen = regression(course, gaps, { ...t, unit: isMargin ? beside.trainStart : 0 });
  // A rise too small to count may be all there is of a validation that stopped.
  if (risen !== undefined && risen.lost >= MILD_LOSS) return risen;
  const stuck = isLong ? generalisesNot(course, minPoints, beside) : undefined;
  return stuck ?? risen;
}

/**
 * Whether validation has left its best for good while training improved: the last `overfittingMinPoints` values all lie above the
 * best by the least regression, and by four times the noise of validation; the training loss has since fallen by more
 * than its noise; the gap has widened.
 */
function regression(
  { best, isPositive, last, lastTrain, noise, train, validation }: Course,
  gaps: Float64Array,
  {
    overfittingMinPoints: minPoints,
    overfittingMinRegression: minRegression,
    unit: leastUnit,
  }: Limits & { readonly unit: number },
): Verdict | undefined {
  const { length } = validation;
  const lowest = validation[best] ?? Number.NaN;
  const improvement = (validation[0] ?? 0) - lowest;
  // Where losses cross zero, their distance from it means nothing: what validation had gained is the unit.
  const unit = isPositive ? lowest : improvement;
  if (!(unit > 0)) return undefined;
  const limit = lowest + Math.max(minRegression * unit, 4 * noise);
  const above = trailingRun(length, (i) => (validation[i] ?? 0) > limit);
  const trainAtBest = train[best] ?? Number.NaN;
  const trainSize = isPositive ? Math.abs(trainAtBest) : levelRange(train);
  const trainFell =
    trainAtBest - lastTrain > Math.max(2 * noiseOf(train), minRegression * trainSize);
  const widening = (gaps.at(-1) ?? 0) - (gaps[best] ?? 0);
  if (above < minPoints || !trainFell || !(widening > 0)) return undefined;
  // Where training is the harder task (dropout, augmentation), its loss lay above validation: once that is overtaken, the gap counts from there.
  const lastGap = median(gaps.subarray(-minPoints));
  return {
    kind: 'risen',
    // A loss of margins is nearly zero where most samples are right: a multiple of that is little, beside what it cost at the start.
    gap: (lastGap - (lastGap >= 0 ? Math.min(0, gaps[best] ?? 0) : 0)) / Math.max(unit, leastUnit),
    from: length - above,
    best,
    rise: (last - lowest) / unit,
    lost: (last - lowest) / improvement,
  };
}

/** Training that learns while validation does not go along, without a turn. */
function generalisesNot(
  { best, last, lastTrain, noise, train, validation }: Course,
  minPoints: number,
  { chance, signals, trainStart }: Beside,
): Verdict | undefined {
  const lowest = validation[best] ?? Number.NaN;
  const first = validation[0] ?? Number.NaN;
  // Noise matters beside a level, or beside the difference that is reported.
  const isClear = noise <= CLEAR_NOISE * last;
  const isApart = noise <= CLEAR_NOISE * (last - lastTrain);
  if (!isClear && !isApart) return undefined;
  const found = (kind: Verdict['kind'], gap: number): Verdict | undefined => ({
    kind,
    gap,
    from: 0,
    best,
    rise: (last - lowest) / lowest,
    lost: 1,
  });
  const half = median(
    validation.subarray(validation.length >> 1, (validation.length >> 1) + minPoints),
  );
  // The first comparison may come late in training, after what there is to learn was learned: only a validation that is
  // still high beside the start of training counts.
  const isHigh = last >= UNLEARNED * trainStart;
  const isLearned = lastTrain < 0.5 * trainStart;
  const isStuck = first - lowest <= Math.max(2 * noise, 0.05 * first);
  const isMemorised =
    lastTrain < MEMORISED * last && half - last <= Math.max(2 * noise, 0.05 * last);
  const gap = (last - lastTrain) / lowest;
  if (isHigh && isLearned && (isStuck || isMemorised) && gap > 0.2) return found('never', gap);
  const accuracies = accuraciesOf(signals);
  // Training went to next to nothing, and what is left for validation of the start is much.
  const left = (last - lastTrain) / trainStart;
  // Where the accuracy of training is not known: with a loss of next to nothing it is about 1.
  const parted =
    accuracies === undefined || (accuracies.train ?? 1) - accuracies.validation > MEMORISED;
  // Where accuracies are known to be apart, validation may go on gaining a little: that will not close the gap.
  const isCreeping =
    accuracies !== undefined && lastTrain < MEMORISED * last && half - last <= CREEP * last;
  if (isLearned && (isMemorised || isCreeping) && left >= MIN_LEFT && parted)
    return found('memorised', left);
  // Training fell below chance, and below where it was; validation did neither.
  const fall = Math.min(chance > 0 ? chance : Number.POSITIVE_INFINITY, train[0] ?? Number.NaN);
  const isLearning = lastTrain <= AT_CHANCE * fall && fall - lastTrain > 2 * noiseOf(train);
  const isUnlearned = last >= AT_CHANCE * chance || last >= AT_CHANCE * first;
  const isBehind =
    accuracies?.train === undefined
      ? validation.every((value) => value >= AT_CHANCE * chance)
      : accuracies.validation <= BEHIND * accuracies.train;
  return isLearning && isUnlearned && isBehind
    ? found('unlearned', (last - lastTrain) / trainStart)
    : undefined;
}

/** Gap, in units of the start, from which much of it is left for validation: what abiotic-quark warns of where losses begin near 1. */
const MIN_LEFT = 0.2;

/** Where the accuracies arrive; undefined where that of validation is not known. */
function accuraciesOf(
  signals: Signals,
): { readonly train: number | undefined; readonly validation: number } | undefined {
  const end = (series: MetricSeries | undefined): number | undefined => {
    const profile = series === undefined ? undefined : signals.profile(series);
    return profile === undefined || profile.levels.length === 0
      ? undefined
      : levelOf(profile, 0.8, 1);
  };
  const validation = end(signals.valAccuracy);
  return validation === undefined ? undefined : { train: end(signals.trainAccuracy), validation };
}
