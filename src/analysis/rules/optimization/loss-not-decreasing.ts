import type { BatchColumns, MetricSeries } from '../../columns/run-columns.ts';
import { chanceLoss } from '../../signals/chance-level.ts';
import { classTotals } from '../../signals/class-totals.ts';
import { constantAnswer, type ConstantAnswer } from '../../signals/constant-answer.ts';
import { observe, ofLayer, ofMetric } from '../../signals/observe.ts';
import { saySpan, spanOfRows } from '../../signals/positions.ts';
import { blockRows, levelOf, levelRange, type Profile } from '../../signals/profile.ts';
import { medianInPlace } from '../../signals/quickselect.ts';
import { defineRuleOfKinds } from '../../signals/rule.ts';
import { type ThresholdValues } from '../../signals/rule-types.ts';
import type { Signals } from '../../signals/signals.ts';
import { median, trendScore } from '../../signals/statistics.ts';
import { rangeWithin, say, sayRange, sayShare, when } from '../../text/sentences.ts';

/** Levels that the best span of a run is the median of: noise does not reach it. */
const BEST_SPAN = 5;
/** Standard error of a median over that of a mean, of normal values. */
const MEDIAN_ERROR = 1.2533;
/** Mann-Kendall score below which levels fall beyond doubt. */
const CLEAR_FALL = -3;

export const lossNotDecreasing = defineRuleOfKinds({
  id: 'loss_not_decreasing',
  category: 'optimization',
  needs: { anyOf: ['train_loss'], points: 'lossNotDecreasingMinPoints' },
  detects:
    'A training loss that has not fallen since the start of the run, or has settled at the level of chance, or of one answer for all samples.',
  source:
    'SageMaker Debugger (LossNotDecreasing), AUTOTRAINER (not converging); significance by Mann and Kendall; cross-entropy at the logarithm of the number of classes, or their entropy, is that of a model that says the same of every sample; the share of the variance that a regression explains, by the spread of its answers, is ours',
  cause:
    'the learning rate is far off, the gradient does not reach the weights, or labels and samples do not belong together',
  advice:
    'try to learn one small batch by heart with learning rates a factor of 10 apart: if that fails, look for the fault in the model, the loss and the labels',
  live: 'trend',
  thresholds: {
    lossNotDecreasingMinChange: {
      value: 0.01,
      doc: 'Least fall of the level, as a share of its start, that counts as learning.',
    },
    lossNotDecreasingVisibleFall: {
      value: 0.1,
      // Nobody knows yet how long the run will be: a loss that is said not to fall must hardly have had the chance to.
      live: { atMost: 0.02 },
      doc: 'A loss is flat only if a fall of this share of its level, from the first to the last third of the run, can be ruled out.',
    },
    lossNotDecreasingMinPoints: {
      value: 10,
      live: { atLeast: 200 },
      doc: 'Fewest finite values of the loss.',
    },
    lossNotDecreasingKnownAccuracy: {
      value: 0.9,
      doc: 'Accuracy from which a flat loss is that of a task that is learned.',
    },
    lossNotDecreasingMinAccuracyGain: {
      value: 0.02,
      doc: 'Gain of accuracy that counts as learning; three times its noise, where that is more.',
    },
  },
  measure({ columns, model, signals, thresholds: t }): readonly (Flat | OneAnswer)[] {
    // What goes on from another run may have nothing left to learn.
    const isAgent = signals.reward !== undefined;
    if (
      columns.run.isContinued ||
      isAgent ||
      signals.finalAccuracy >= t.lossNotDecreasingKnownAccuracy
    )
      return [];
    const chance = chanceLoss(columns, model);
    const accuracy = accuracyGain(signals, t.lossNotDecreasingMinAccuracyGain);
    const restsThere = (series: MetricSeries): boolean =>
      restsAtChance(signals.profile(series), chance, accuracy);
    if (accuracy?.hasLearned === true && !signals.judgedLosses.some(restsThere)) return [];
    const trivial = trivialAccuracy(columns.batches);
    const flatIn = (series: MetricSeries, limits: FlatLimits): readonly Flat[] =>
      flatOf(series, signals, { accuracy, chance, trivial }, limits) ?? [];
    const found = signals.judgedLosses.flatMap((series) => flatIn(series, t));
    if (found.length > 0 || signals.isSolved) return found;
    // Validation sees more samples at a time: it may show what the noise of single batches hides.
    const limits = {
      ...t,
      lossNotDecreasingMinPoints: MIN_VALIDATIONS,
      lossNotDecreasingVisibleFall: 1.5 * t.lossNotDecreasingVisibleFall,
    };
    const [pair] = signals.lossPairs;
    const validated =
      pair !== undefined && isHighBeside(signals, pair) ? flatIn(pair.validation, limits) : [];
    if (validated.length > 0) return validated;
    const constant = constantAnswer(columns, model, signals);
    return constant === undefined ? [] : [{ kind: 'one_answer', ...constant }];
  },
  findings: {
    flat: {
      levels: { error: ({ accuracy }) => accuracy !== undefined, warning: () => true },
      title: ({ series }) => `${series.key} does not fall`,
      fact: ({ accuracy, series, rows, ...course }) => {
        const range = saySpan(spanOfRows(series, ...rows));
        const beside =
          accuracy === undefined
            ? ''
            : `, with ${accuracy.series.key} at about ${sayShare(accuracy.level)}`;
        return `${series.key} ${sayCourse(course)} ${range}${beside}.`;
      },
      confidence: ({ accuracy, points }, t) => {
        if (accuracy !== undefined) return 0.92;
        return points >= 5 * t.lossNotDecreasingMinPoints ? 0.8 : 0.65;
      },
      evidence: ({ accuracy, fallShare, noiseShare, rows, series }, t) => [
        observe(ofMetric(series), rows, `Fell by ${sayShare(fallShare)} of its level at best.`, {
          observed: fallShare,
          threshold: t.lossNotDecreasingMinChange,
          metadata: { noise_share: noiseShare },
        }),
        ...(accuracy === undefined
          ? []
          : [
              {
                ...observe(ofMetric(series), rows, `Rose by ${say(accuracy.gain)}.`),
                source: accuracy.series.key,
                observed: accuracy.gain,
                threshold: accuracy.learnedGain,
              },
            ]),
      ],
    },
    one_answer: {
      levels: 'warning',
      title: 'Nearly the same answer for every sample',
      fact: ({ layer, row, share, spread, ...beside }) =>
        `The answers of ${layer.moduleName} differ by ${say(spread)} from sample to sample (standard deviation) and ${sayBeside(beside)}, ${saySpan(spanOfRows(layer, row))}: they explain about ${sayShare(share)} of the differences between targets, and do not get better.`,
      confidence: 0.8,
      cause:
        'targets and samples do not belong together, or the samples say little of what is asked for',
      advice:
        'look at some samples with their targets, and at whether both are shuffled in the same way',
      evidence: ({ error, layer, row, share, spread, targets }) => [
        observe(
          ofLayer(layer),
          [row, layer.steps.length - 1],
          Number.isNaN(error)
            ? `Deviation of the answers ${say(spread)}, of the targets ${say(targets)}.`
            : `Deviation of the answers ${say(spread)}, error ${say(error)}.`,
          { observed: share },
        ),
      ],
    },
  },
});

function sayBeside({ error, targets }: Pick<ConstantAnswer, 'error' | 'targets'>): string {
  return Number.isNaN(error)
    ? `the targets by ${say(targets)} or more`
    : `are wrong by about ${say(error)}`;
}

type FlatLimits = ThresholdValues<
  | 'lossNotDecreasingMinChange'
  | 'lossNotDecreasingVisibleFall'
  | 'lossNotDecreasingMinPoints'
  | 'lossNotDecreasingMinAccuracyGain'
>;

type OneAnswer = ConstantAnswer & { readonly kind: 'one_answer' };

/** A loss that has not fallen. */
type Flat = {
  readonly kind: 'flat';
  readonly series: MetricSeries;
  readonly rows: readonly [first: number, last: number];
  readonly points: number;
  /** Levels of the first and of the last third, and of the second half. */
  readonly early: number;
  readonly late: number;
  readonly level: number;
  readonly hasRisen: boolean;
  /** The lowest and the highest value. */
  readonly within: { readonly low: number; readonly high: number };
  /** The level of chance that the loss lies at; NaN where it does not. */
  readonly chance: number;
  readonly fallShare: number;
  readonly noiseShare: number;
  readonly accuracy: Gain | undefined;
};

function sayCourse({
  chance,
  early,
  hasRisen,
  late,
  level,
  within,
}: Pick<Flat, 'chance' | 'early' | 'hasRisen' | 'late' | 'level' | 'within'>): string {
  const range = sayRange(within);
  if (hasRisen) return `rose from about ${say(early)} to ${say(late)}, always ${range},`;
  return `stayed ${range}, in the second half at about ${say(level)}${when(!Number.isNaN(chance), `, which is chance (${say(chance)})`)},`;
}

/** What is known beside a loss. */
type Beside = {
  readonly accuracy: Gain | undefined;
  /** Loss of a model that has learned nothing. */
  readonly chance: number;
  /** Accuracy of a model that has learned nothing. */
  readonly trivial: number;
};

/** A loss that is flat for its noise, or that rests at the level of chance; undefined where it falls. */
function flatOf(
  series: MetricSeries,
  signals: Signals,
  { accuracy, chance, trivial }: Beside,
  t: FlatLimits,
): readonly Flat[] | undefined {
  const profile = signals.profile(series);
  const { isSigned, levelNoise, levels, values } = profile;
  if (values.length < t.lossNotDecreasingMinPoints) return undefined;
  // Around zero and below it, no level says that nothing was learned, and a policy learns at a loss of zero: the accuracy has to say it.
  if (isSigned && accuracy === undefined) return undefined;
  const fall = levelOf(profile, 0, 0.1) - bestSpan(profile);
  const scale = isSigned ? levelRange(levels) : median(levels.map(Math.abs));
  const error = (MEDIAN_ERROR * levelNoise * Math.sqrt(6)) / Math.sqrt(levels.length);
  // Not seeing a fall is not enough: one that matters must be out of the question.
  const isRuledOut = (fallen: number): boolean =>
    Math.max(0, fallen) + 2 * error <= t.lossNotDecreasingVisibleFall * scale;
  const [early = 0, middle = 0, late = 0] = [0, 1, 2].map((third) =>
    levelOf(profile, third / 3, (third + 1) / 3),
  );
  const isTiny = fall < t.lossNotDecreasingMinChange * (scale || 1);
  const isNoise =
    fall < chanceFall(profile) && early - late < 2 * error && trendScore(levels) > CLEAR_FALL;
  // A loss that is all gone may have been so before the first tenth was over.
  const isFlat = !signals.isSolved && (isTiny || isNoise) && isRuledOut(early - late);
  // A loss that is flat at the level of chance after a first settling: the accuracy says it. However far it fell before (a penalty
  // on the weights may make most of it), an accuracy that one gets by always naming the most frequent class is none.
  const isChance =
    accuracy !== undefined &&
    (fall < 0.2 * scale ||
      accuracy.level <=
        trivial + Math.max(t.lossNotDecreasingMinAccuracyGain, 2 * accuracy.error)) &&
    middle - late < 0.1 * Math.max(fall, 2 * error) + 2 * error &&
    isRuledOut(2 * (middle - late));
  const isResting = restsAtChance(profile, chance, accuracy);
  if (!isFlat && !isChance && !isResting) return undefined;
  const flat: Flat = {
    kind: 'flat',
    series,
    rows: blockRows(profile, 0, levels.length - 1),
    points: values.length,
    early,
    late,
    level: levelOf(profile, 0.5, 1),
    within: rangeWithin(series.values, blockRows(profile, 0, levels.length - 1)),
    hasRisen: late - early > 0.1 * scale + 2 * error,
    chance: isResting ? chance : Number.NaN,
    fallShare: fall / (scale || 1),
    noiseShare: levelNoise / (scale || 1),
    accuracy,
  };
  return [flat];
}

/** Validation this high, beside the training loss at the start, has learned next to nothing. */
const UNLEARNED = 0.75;
const MIN_VALIDATIONS = 8;

/** Whether a validation loss ends about where training began. */
function isHighBeside(
  signals: Signals,
  { train, validation }: Signals['lossPairs'][number],
): boolean {
  const start = signals.course(train)?.start ?? Number.NaN;
  const end = signals.course(validation)?.end ?? Number.NaN;
  const isSigned = [train, validation].some((series) => signals.profile(series).isSigned);
  return !isSigned && start > 0 && end >= UNLEARNED * start;
}

/** Shares of the level of chance between which a loss has not learned; above there is more to it than that. */
const AT_CHANCE = [0.95, 1.2] as const;
/** Accuracy over that of chance up to which it is chance: classes are not equally frequent, least of all in few samples. */
const CHANCE_ACCURACY = 1.5;

/** Whether a loss lies at the level of a model that says the same of every sample in the second half of the run, and does not leave it. */
function restsAtChance(profile: Profile, chance: number, accuracy: Gain | undefined): boolean {
  const { levels } = profile;
  if (levels.length < 4 * BEST_SPAN) return false;
  const isAtChance = [0.5, 0.75].every((from) => {
    const level = levelOf(profile, from, from + 0.25);
    return level >= AT_CHANCE[0] * chance && level <= AT_CHANCE[1] * chance;
  });
  return (
    isAtChance &&
    (accuracy === undefined ||
      accuracy.level <= CHANCE_ACCURACY * Math.exp(-chance) + 2 * accuracy.error) &&
    trendScore(levels.subarray(levels.length >> 1)) > CLEAR_FALL
  );
}

/** Share of the labels up to which the most frequent class leaves something to learn that the accuracy shows. */
const MAX_MAJORITY = 0.8;
const MIN_LABELS = 500;

/** Accuracy of always naming the most frequent class; NaN where labels are not known, or nearly all of one class. */
function trivialAccuracy(batches: BatchColumns): number {
  const { counts, total } = classTotals(batches);
  const share = counts.reduce((a, b) => Math.max(a, b), 0) / total;
  return total >= MIN_LABELS && share <= MAX_MAJORITY ? share : Number.NaN;
}

type Gain = {
  readonly series: MetricSeries;
  readonly gain: number;
  readonly level: number;
  /** Standard error of the level. */
  readonly error: number;
  /** Gain from which it has learned, and whether it has. */
  readonly learnedGain: number;
  readonly hasLearned: boolean;
};

/** How much the accuracy rose over the run, at most; undefined where it is not known. */
function accuracyGain(signals: Signals, minGain: number): Gain | undefined {
  const series = signals.trainAccuracy ?? signals.valAccuracy;
  if (series === undefined) return undefined;
  const profile = signals.profile(series);
  const { levelNoise, levels } = profile;
  if (levels.length < 3) return undefined;
  const level = levelOf(profile, 0.8, 1);
  const gain = Math.max(level, levelOf(profile, 0.4, 0.8)) - levelOf(profile, 0, 0.05);
  const error = (MEDIAN_ERROR * levelNoise) / Math.sqrt(Math.max(1, levels.length / 5));
  const learnedGain = Math.max(minGain, 3 * levelNoise);
  return { series, gain, level, error, learnedGain, hasLearned: gain > learnedGain };
}

/**
 * How far the lowest of many spans lies below the start of a loss that does not move: the expected least of their medians (of n normal
 * values about the square root of 2 ln n deviations below the mean), and one standard error of the start.
 */
function chanceFall({ levelNoise, levels }: Profile): number {
  const spans = Math.max(2, levels.length / BEST_SPAN);
  const atStart = Math.max(1, Math.ceil(levels.length / 10));
  const least = Math.sqrt((2 * Math.log(spans)) / BEST_SPAN);
  return MEDIAN_ERROR * levelNoise * (least + 1 / Math.sqrt(atStart));
}

/** The lowest median of some levels in a row. */
function bestSpan({ levels }: Profile): number {
  const length = Math.min(BEST_SPAN, levels.length);
  let best = Number.POSITIVE_INFINITY;
  for (let at = 0; at + length <= levels.length; at++)
    best = Math.min(best, medianInPlace(levels.slice(at, at + length)));
  return best;
}
