import type { BatchColumns, MetricSeries } from '../../columns/run-columns.ts';
import { blockEnd, blockStart, levelOf, type Profile } from '../../signals/profile.ts';
import { placeAt, sayRange } from '../../signals/positions.ts';
import { defineRule, say, sayShare, type Finding } from '../../signals/rule.ts';
import { chanceLoss } from '../../signals/chance-level.ts';
import { constantAnswer, type ConstantAnswer } from '../../signals/constant-answer.ts';
import type { Signals } from '../../signals/signals.ts';
import { median, trendScore } from '../../signals/statistics.ts';
import { medianInPlace } from '../../signals/quickselect.ts';

/** Levels that the best stretch of a run is the median of: noise does not reach it. */
const STRETCH = 5;
/** Standard error of a median over that of a mean, of normal values. */
const MEDIAN_ERROR = 1.2533;
/** Mann-Kendall score below which levels fall beyond doubt. */
const CLEAR_FALL = -3;

export const lossNotDecreasing = defineRule({
  id: 'loss_not_decreasing',
  category: 'optimization',
  detects:
    'A training loss that has not fallen since the start of the run, or has settled at the level of chance, or of one answer for all samples.',
  source:
    'SageMaker Debugger (LossNotDecreasing), AUTOTRAINER (not converging); significance by Mann and Kendall; cross-entropy at the logarithm of the number of classes, or their entropy, is that of a model that says the same of every sample; the share of the variance that a regression explains, by the spread of its answers, is ours',
  cause:
    'the learning rate is far off, the gradient does not reach the weights, or labels and samples do not belong together',
  advice:
    'try to learn one small batch by heart with learning rates a factor of 10 apart: if that fails, look for the fault in the model, the loss and the labels',
  thresholds: {
    lossNotDecreasingMinChange: {
      value: 0.01,
      doc: 'Least fall of the level, as a share of its start, that counts as learning.',
    },
    lossNotDecreasingVisibleFall: {
      value: 0.1,
      doc: 'Fall from the first to the last third of the run, as a share of its level, that has to be out of the question.',
    },
    lossNotDecreasingMinPoints: { value: 10, doc: 'Fewest finite values of the loss.' },
    lossNotDecreasingKnownAccuracy: {
      value: 0.9,
      doc: 'Accuracy from which a flat loss is that of a task that is learned.',
    },
    lossNotDecreasingMinAccuracyGain: {
      value: 0.02,
      doc: 'Gain of accuracy that counts as learning; three times its noise, where that is more.',
    },
  },
  evaluate({ columns, model, signals, thresholds: t }) {
    const chance = chanceLoss(columns, model);
    // What goes on from another run may have nothing left to learn.
    if (columns.run.isContinued || signals.finalAccuracy >= t.lossNotDecreasingKnownAccuracy)
      return [];
    const accuracy = accuracyGain(signals);
    const hasLearned =
      accuracy !== undefined &&
      accuracy.gain > Math.max(t.lossNotDecreasingMinAccuracyGain, 3 * accuracy.noise);
    const isSettledAtChance = signals.trainLosses.some((series) =>
      restsAtChance(signals.profile(series), chance, accuracy),
    );
    if (hasLearned && !isSettledAtChance) return [];
    const trivial =
      trivialAccuracy(columns.batches) +
      Math.max(t.lossNotDecreasingMinAccuracyGain, 2 * (accuracy?.error ?? 0));
    const judge = (series: MetricSeries, minPoints: number, visible: number): Finding[] => {
      const profile = signals.profile(series);
      if (profile.values.length < minPoints) return [];
      const start = levelOf(profile, 0, 0.1);
      const fall = start - bestStretch(profile);
      const scale = median(profile.levels.map(Math.abs));
      const error =
        (MEDIAN_ERROR * profile.levelNoise * Math.sqrt(6)) / Math.sqrt(profile.levels.length);
      // Not seeing a fall is not enough: one that matters must be out of the question.
      const isRuledOut = (seen: number): boolean =>
        Math.max(0, seen) + 2 * error <= visible * scale;
      const thirds = [0, 1, 2].map((third) => levelOf(profile, third / 3, (third + 1) / 3));
      const [early = 0, middle = 0, late = 0] = thirds;
      // A loss that is all gone may have been so before the first tenth was over.
      const hasGone = signals.isSolved;
      const isTiny = !hasGone && fall < t.lossNotDecreasingMinChange * (scale || 1);
      const isNoise =
        !hasGone &&
        fall < chanceFall(profile) &&
        early - late < 2 * error &&
        trendScore(profile.levels) > CLEAR_FALL;
      // A loss that is flat at the level of chance after a first settling: the accuracy says it. However far it fell before (a penalty
      // on the weights may make most of it), an accuracy that one gets by always naming the most frequent class is none.
      const isChance =
        accuracy !== undefined &&
        (fall < 0.2 * scale || accuracy.level <= trivial) &&
        middle - late < 0.1 * Math.max(fall, 2 * error) + 2 * error &&
        isRuledOut(2 * (middle - late));
      const isResting = restsAtChance(profile, chance, accuracy);
      if (!((isTiny || isNoise) && isRuledOut(early - late)) && !isChance && !isResting) return [];
      const from = blockStart(profile, 0);
      const to = blockEnd(profile, profile.levels.length - 1);
      const isSure = accuracy !== undefined;
      const hasRisen = late - early > 0.1 * scale + 2 * error;
      const course = hasRisen
        ? `rose from about ${say(early)} to ${say(late)}`
        : `stayed at about ${say(levelOf(profile, 0.5, 1))}${isResting ? `, which is chance (${say(chance)}),` : ''}`;
      return [
        {
          severity: isSure ? 'error' : 'warning',
          title: `${series.key} does not fall`,
          fact: `${series.key} ${course} ${sayRange(from, to)}${isSure ? `, with ${accuracy.key} at about ${sayShare(accuracy.level)}` : ''}.`,
          confidence: isSure
            ? 0.92
            : profile.values.length >= 5 * t.lossNotDecreasingMinPoints
              ? 0.8
              : 0.65,
          from,
          to,
          observations: [
            {
              kind: 'metric',
              source: series.key,
              summary: `Fell by ${sayShare(fall / (scale || 1))} of its level at best.`,
              observed: fall / (scale || 1),
              threshold: t.lossNotDecreasingMinChange,
              from,
              to,
              metadata: { noise_share: profile.levelNoise / (scale || 1) },
            },
            ...(isSure
              ? [
                  {
                    kind: 'metric',
                    source: accuracy.key,
                    summary: `Rose by ${say(accuracy.gain)}.`,
                    observed: accuracy.gain,
                    threshold: Math.max(t.lossNotDecreasingMinAccuracyGain, 3 * accuracy.noise),
                    from,
                    to,
                  },
                ]
              : []),
          ],
        },
      ];
    };
    const found = signals.trainLosses.flatMap((series) =>
      judge(series, t.lossNotDecreasingMinPoints, t.lossNotDecreasingVisibleFall),
    );
    if (found.length > 0 || signals.isSolved) return found;
    // Validation sees more samples at a time: it may show what the noise of single batches hides.
    const seen = signals.lossPairs.slice(0, 1).flatMap(({ train, validation }): Finding[] => {
      const course = signals.course(train);
      const held = signals.course(validation);
      const isHigh =
        course !== undefined && held !== undefined && held.end >= UNLEARNED * course.start;
      return isHigh && course.start > 0
        ? judge(validation, MIN_VALIDATIONS, 1.5 * t.lossNotDecreasingVisibleFall)
        : [];
    });
    if (seen.length > 0) return seen;
    const constant = constantAnswer(columns, model, signals);
    return constant === undefined ? [] : [sameAnswer(constant)];
  },
});

/** A regression that has learned the mean of its targets and little more. */
function sameAnswer({ error, layer, row, share, spread }: ConstantAnswer): Finding {
  const from = placeAt(layer, row);
  const to = placeAt(layer, layer.steps.length - 1);
  return {
    severity: 'warning',
    title: 'Nearly the same answer for every sample',
    fact: `The answers of ${layer.moduleName} differ by ${say(spread)} from sample to sample (standard deviation) and are wrong by about ${say(error)}, ${sayRange(from, to)}: they explain some ${sayShare(share)} of what the targets differ by, and do not get better.`,
    confidence: 0.8,
    cause:
      'targets and samples do not belong together, or the samples say little of what is asked for',
    advice:
      'look at some samples with their targets, and at whether both are shuffled in the same way',
    from,
    to,
    observations: [
      {
        kind: 'layer_summary',
        source: layer.moduleName,
        summary: `Deviation of the answers ${say(spread)}, error ${say(error)}.`,
        observed: share,
        from,
        to,
      },
    ],
  };
}

/** Shares of the level of chance between which a loss has not learned; above there is more to it than that. */
const AT_CHANCE = [0.95, 1.2] as const;
/** Accuracy over that of chance up to which it is chance: classes are not equally frequent, least of all in few samples. */
const CHANCE_ACCURACY = 1.5;

/** Whether a loss lies at the level of a model that says the same of every sample in the second half of the run, and does not leave it. */
function restsAtChance(profile: Profile, chance: number, accuracy: Gain | undefined): boolean {
  const { levels } = profile;
  if (levels.length < 4 * STRETCH) return false;
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

/** Validation this high, beside the training loss at the start, has learned next to nothing. */
const UNLEARNED = 0.75;
const MIN_VALIDATIONS = 8;

/** Share of the labels up to which the most frequent class leaves something to learn that the accuracy shows. */
const MAX_MAJORITY = 0.8;
const MIN_LABELS = 500;

/** Accuracy of always naming the most frequent class; NaN where labels are not known, or nearly all of one class. */
function trivialAccuracy({ classCounts, classIndex, classNames }: BatchColumns): number {
  const counts = new Float64Array(classNames.length);
  let total = 0;
  classIndex.forEach((at, i) => {
    counts[at] = (counts[at] ?? 0) + (classCounts[i] ?? 0);
    total += classCounts[i] ?? 0;
  });
  const share = counts.reduce((a, b) => Math.max(a, b), 0) / total;
  return total >= MIN_LABELS && share <= MAX_MAJORITY ? share : Number.NaN;
}

type Gain = {
  readonly key: string;
  readonly gain: number;
  readonly level: number;
  readonly noise: number;
  /** Standard error of the level. */
  readonly error: number;
};

/** How much the accuracy rose over the run, at most; undefined where it is not known. */
function accuracyGain(signals: Signals): Gain | undefined {
  const series = signals.trainAccuracy ?? signals.valAccuracy;
  if (series === undefined) return undefined;
  const profile = signals.profile(series);
  if (profile.levels.length < 3) return undefined;
  const level = levelOf(profile, 0.8, 1);
  const gain = Math.max(level, levelOf(profile, 0.4, 0.8)) - levelOf(profile, 0, 0.05);
  const error =
    (MEDIAN_ERROR * profile.levelNoise) / Math.sqrt(Math.max(1, profile.levels.length / 5));
  return { key: series.key, gain, level, noise: profile.levelNoise, error };
}

/**
 * How far the lowest of many stretches lies below the start of a loss that does not move: the expected least of their medians (of n normal
 * values about the square root of 2 ln n deviations below the mean), and one standard error of the start.
 */
function chanceFall({ levelNoise, levels }: Profile): number {
  const stretches = Math.max(2, levels.length / STRETCH);
  const atStart = Math.max(1, Math.ceil(levels.length / 10));
  const least = Math.sqrt((2 * Math.log(stretches)) / STRETCH);
  return MEDIAN_ERROR * levelNoise * (least + 1 / Math.sqrt(atStart));
}

/** The lowest median of some levels in a row. */
function bestStretch({ levels }: Profile): number {
  const length = Math.min(STRETCH, levels.length);
  let best = Number.POSITIVE_INFINITY;
  for (let at = 0; at + length <= levels.length; at++)
    best = Math.min(best, medianInPlace(levels.slice(at, at + length)));
  return best;
}
