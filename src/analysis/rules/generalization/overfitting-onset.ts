import type { MetricSeries } from '../../columns/run-columns.ts';
import { chanceLoss } from '../../signals/chance-level.ts';
import { partsAtOnce } from '../../signals/first-pass.ts';
import { placeAt, sayPlace } from '../../signals/positions.ts';
import { levelOf, noiseOf } from '../../signals/profile.ts';
import { defineRule, say, sayShare, severityAbove, type Finding } from '../../signals/rule.ts';
import type { Signals } from '../../signals/signals.ts';
import { median, trailingRun } from '../../signals/statistics.ts';
import { compare, type Compared } from '../../signals/train-beside-validation.ts';

export const overfittingOnset = defineRule({
  id: 'overfitting_onset',
  category: 'generalization',
  detects:
    'Validation loss that rises for good while the training loss goes on falling; or that stays high, or at the level of chance, while training learns.',
  source:
    'the reference; relative gap: SageMaker Debugger; regression from the best: Prechelt (1998); training far below a validation that has stopped, in units of the start, and validation at the level of chance: ours',
  cause: 'the model learns the training samples by heart',
  advice:
    'stop at the best validation loss, then try more data, augmentation, weight decay or dropout',
  thresholds: {
    overfittingWarningGap: {
      value: 0.2,
      doc: 'Validation loss less training loss for a warning (how far they have parted, where validation lay below training at its best and no longer does): in units of the best validation loss, of the training loss at the start where validation never turned; as it is in the reference.',
    },
    overfittingErrorGap: { value: 0.4, doc: 'The same, for an error.' },
    overfittingCriticalGap: { value: 0.7, doc: 'The same, critical.' },
    overfittingMinPoints: { value: 3, doc: 'Validation points it takes, at the end of the run.' },
    overfittingMinRegression: {
      value: 0.015,
      doc: 'Least rise of the validation loss over its best, as a share of the best. (Not in the reference.)',
    },
  },
  evaluate({ columns, isReference, model, signals, thresholds: t }) {
    const chance = isReference ? Number.NaN : chanceLoss(columns, model);
    const found = signals.lossPairs.flatMap((pair): { finding: Finding; gap: number }[] => {
      const compared = compare(pair, signals);
      const { length } = compared.rows;
      if (length < Math.max(2, t.overfittingMinPoints)) return [];
      const gaps = compared.validation.map((value, i) => value - (compared.train[i] ?? Number.NaN));
      const lastGap = median(gaps.subarray(-t.overfittingMinPoints));
      const judged: Judged | undefined = isReference
        ? {
            kind: 'risen',
            gap: lastGap,
            from: length - t.overfittingMinPoints,
            best: 0,
            rise: Number.NaN,
            lost: 1,
          }
        : judge(compared, gaps, t.overfittingMinPoints, t.overfittingMinRegression, {
            trainStart: signals.course(pair.train)?.start ?? Number.NaN,
            chance,
            signals,
          });
      if (judged === undefined) return [];
      const severity = severityAbove(
        judged.gap,
        t.overfittingWarningGap,
        t.overfittingErrorGap,
        t.overfittingCriticalGap,
      );
      if (severity === undefined && isReference) return [];
      const { key } = pair.validation;
      const from = placeAt(pair.validation, compared.rows[judged.from] ?? 0);
      const best = placeAt(pair.validation, compared.rows[judged.best] ?? 0);
      const to = placeAt(pair.validation, compared.rows[length - 1] ?? 0);
      const lowest = compared.validation[judged.best] ?? Number.NaN;
      const last = median(compared.validation.subarray(-t.overfittingMinPoints));
      const fact = isReference
        ? `${key} is ${say(lastGap)} above ${pair.train.key} since ${sayPlace(from)}.`
        : judged.kind === 'unlearned'
          ? `${key} ended at ${say(last)}${last >= AT_CHANCE * chance ? `, no better than chance (${say(chance)}),` : ''} while ${pair.train.key} fell to ${say(compared.train.at(-1) ?? Number.NaN)}: nothing of it holds for other samples.`
          : judged.kind !== 'risen'
            ? `${key} did not get better than ${say(lowest)} while ${pair.train.key} fell to ${say(compared.train.at(-1) ?? Number.NaN)}.`
            : `${key} has risen from its best ${say(lowest)} at ${sayPlace(best)} to ${say(last)} while ${pair.train.key} went on falling.`;
      const finding: Finding = {
        severity:
          judged.kind === 'unlearned'
            ? (severity ?? 'warning')
            : severity === undefined || isMild(judged, signals, isReference)
              ? 'info'
              : severity,
        title: `Overfitting since ${sayPlace(best)}`,
        fact,
        confidence: isReference ? 0.6 : severity === undefined ? 0.7 : 0.92,
        ...(judged.kind !== 'unlearned' && partsAtOnce(pair, columns, signals) !== undefined
          ? {
              cause:
                'the samples of the validation differ from those of training, as it was worse from the first epoch on, and the model fits the latter',
              advice: 'compare some samples of both as the model gets them',
            }
          : {}),
        ...(judged.kind === 'unlearned'
          ? {
              cause:
                'the model learns the training samples by heart, as it does where labels do not belong to their samples',
              advice:
                'look at some training samples with their labels, and at whether both are shuffled in the same way',
            }
          : {}),
        from: isReference ? from : best,
        to,
        observations: [
          {
            kind: 'metric',
            source: key,
            summary: sayGap(pair.train.key, judged, gaps, isReference),
            observed: judged.gap,
            threshold: t.overfittingWarningGap,
            from: best,
            to,
            metadata: { train_metric_key: pair.train.key },
          },
          ...(Number.isFinite(judged.rise)
            ? [
                {
                  kind: 'metric',
                  source: key,
                  summary: `Rise of ${sayShare(judged.rise)} over the best value at ${sayPlace(best)}.`,
                  observed: judged.rise,
                  threshold: t.overfittingMinRegression,
                  from: best,
                  to,
                },
              ]
            : []),
        ],
      };
      return [{ finding, gap: judged.gap }];
    });
    const [worst, ...others] = found.toSorted((a, b) => b.gap - a.gap);
    if (worst === undefined) return [];
    const observations = [
      ...worst.finding.observations,
      ...others.slice(0, 4).flatMap(({ finding }) => finding.observations.slice(0, 1)),
    ];
    return [{ ...worst.finding, observations }];
  },
});

/** Validation this high, beside the training loss at the start, has learned little. */
const UNLEARNED = 0.4;
/** Noise of validation, as a share of its level, up to which a comparison of levels says something. */
const CLEAR_NOISE = 0.1;
/** Training loss this far below validation has learned its samples by heart. */
const MEMORISED = 0.1;
/** Share of the level of chance, or of its own start, from which a loss has not learned. */
const AT_CHANCE = 0.95;
/** Accuracy of validation over that of training below which what is learned does not hold for other samples. */
const BEHIND = 0.6;

/** Little of the gain is lost, or the accuracy has not suffered: worth knowing, and no more. */
const MILD_LOSS = 0.05;
const MILD_RISE = 0.25;
const MILD_ACCURACY = 0.02;

function isMild({ kind, lost, rise }: Judged, signals: Signals, isReference: boolean): boolean {
  if (isReference || kind !== 'risen') return false;
  if (lost < MILD_LOSS) return true;
  const series = signals.valAccuracy;
  if (series === undefined || rise >= MILD_RISE) return false;
  const profile = signals.profile(series);
  if (profile.levels.length < 3) return false;
  const best = profile.levels.reduce((a, b) => Math.max(a, b));
  return levelOf(profile, 0.8, 1) >= best - Math.max(MILD_ACCURACY, 2 * profile.levelNoise);
}

/** Which gap was measured, and how large it is. */
function sayGap(
  trainKey: string,
  { best, gap, kind }: Judged,
  gaps: Float64Array,
  isReference: boolean,
): string {
  if (isReference) return `Gap to ${trainKey} of ${say(gap)}.`;
  const unit = kind === 'memorised' || kind === 'unlearned' ? 'start' : 'best validation loss';
  const isParting = kind === 'risen' && (gaps[best] ?? 0) < 0 && (gaps.at(-1) ?? 0) >= 0;
  return isParting
    ? `Parted from ${trainKey} by ${sayShare(gap)} of the ${unit} since it was best.`
    : `Gap to ${trainKey} of ${sayShare(gap)} of the ${unit}.`;
}

type Judged = {
  /**
   * Validation rose from its best; never got better than it was; stopped where it was while training went to next to nothing; or is where a
   * model is that has learned nothing.
   */
  readonly kind: 'risen' | 'never' | 'memorised' | 'unlearned';
  readonly gap: number;
  /** Where it began, where the best value is: positions among the compared values. */
  readonly from: number;
  readonly best: number;
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

/** What is known beside the two losses. */
type Beside = {
  readonly trainStart: number;
  /** Loss of a model that has learned nothing; NaN where it is not known. */
  readonly chance: number;
  readonly signals: Signals;
};

function judge(
  { train, validation }: Compared,
  gaps: Float64Array,
  minPoints: number,
  minRegression: number,
  beside: Beside,
): Judged | undefined {
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
    isPositive: validation.every((value) => value >= 0) && train.every((value) => value >= 0),
  };
  const isLong = validation.length >= 2 * minPoints && course.isPositive;
  const risen = regression(course, gaps, minPoints, minRegression);
  // A rise too small to count may be all there is of a validation that stopped.
  if (risen !== undefined && risen.lost >= MILD_LOSS) return risen;
  const stuck = isLong ? generalisesNot(course, minPoints, beside) : undefined;
  return stuck ?? risen;
}

/**
 * Whether validation has left its best for good while training improved: the last `minPoints` values all lie above the
 * best by the least regression, and by four times the noise of validation; the training loss has since fallen by more
 * than its noise; the gap has widened.
 */
function regression(
  { best, isPositive, last, lastTrain, noise, train, validation }: Course,
  gaps: Float64Array,
  minPoints: number,
  minRegression: number,
): Judged | undefined {
  const { length } = validation;
  const lowest = validation[best] ?? Number.NaN;
  const improvement = (validation[0] ?? 0) - lowest;
  // Where losses cross zero, their distance from it means nothing: what validation had gained is the unit.
  const unit = isPositive ? lowest : improvement;
  if (!(unit > 0)) return undefined;
  const limit = lowest + Math.max(minRegression * unit, 4 * noise);
  const above = trailingRun(length, (i) => (validation[i] ?? 0) > limit);
  const trainAtBest = train[best] ?? Number.NaN;
  const trainFell =
    trainAtBest - lastTrain > Math.max(2 * noiseOf(train), minRegression * Math.abs(trainAtBest));
  const widening = (gaps.at(-1) ?? 0) - (gaps[best] ?? 0);
  if (above < minPoints || !trainFell || !(widening > 0)) return undefined;
  // Where training is the harder task (dropout, augmentation), its loss lay above validation: once that is overtaken, the gap counts from there.
  const lastGap = median(gaps.subarray(-minPoints));
  return {
    kind: 'risen',
    gap: (lastGap - (lastGap >= 0 ? Math.min(0, gaps[best] ?? 0) : 0)) / unit,
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
): Judged | undefined {
  const lowest = validation[best] ?? Number.NaN;
  const first = validation[0] ?? Number.NaN;
  // Noise matters beside a level, or beside the difference that is told of.
  const isClear = noise <= CLEAR_NOISE * last;
  const isApart = noise <= CLEAR_NOISE * (last - lastTrain);
  if (!isClear && !isApart) return undefined;
  const found = (kind: Judged['kind'], gap: number): Judged | undefined => ({
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
  // Training went to next to nothing, and what validation kept of the start is much.
  const kept = (last - lastTrain) / trainStart;
  // Where the accuracy of training is not known: with a loss of next to nothing it is about 1.
  const parted = accuracies === undefined || (accuracies.train ?? 1) - accuracies.held > MEMORISED;
  if (isLearned && isMemorised && kept >= MIN_KEPT && parted) return found('memorised', kept);
  // Training fell below chance, and below where it was; validation did neither.
  const fall = Math.min(chance > 0 ? chance : Number.POSITIVE_INFINITY, train[0] ?? Number.NaN);
  const isLearning = lastTrain <= AT_CHANCE * fall && fall - lastTrain > 2 * noiseOf(train);
  const isUnlearned = last >= AT_CHANCE * chance || last >= AT_CHANCE * first;
  const isBehind =
    accuracies?.train === undefined
      ? validation.every((value) => value >= AT_CHANCE * chance)
      : accuracies.held <= BEHIND * accuracies.train;
  return isLearning && isUnlearned && isBehind
    ? found('unlearned', (last - lastTrain) / trainStart)
    : undefined;
}

/** Gap, in units of the start, from which validation has kept much: what the reference warns of where losses begin near 1. */
const MIN_KEPT = 0.2;

/** Where the accuracies arrive; undefined where that of validation is not known. */
function accuraciesOf(
  signals: Signals,
): { readonly train: number | undefined; readonly held: number } | undefined {
  const end = (series: MetricSeries | undefined): number | undefined => {
    const profile = series === undefined ? undefined : signals.profile(series);
    return profile === undefined || profile.levels.length === 0
      ? undefined
      : levelOf(profile, 0.8, 1);
  };
  const held = end(signals.valAccuracy);
  return held === undefined ? undefined : { train: end(signals.trainAccuracy), held };
}
