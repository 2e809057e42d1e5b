import { axisOf } from '../columns/run-columns.ts';
import type { SeriesPair } from './metric-keys.ts';
import { placeAt, rowBefore, sayPlace } from './places.ts';
import { levelOf, noiseOf } from './profile.ts';
import { defineRule, say, sayShare, severityAbove, type Finding } from './rule.ts';
import type { Signals } from './signals.ts';
import { median, trailingRun } from './statistics.ts';

/** Values of a validation series and, beside each, the training level since the one before. */
type Compared = {
  readonly validation: Float64Array;
  readonly train: Float64Array;
  /** Row of the validation series. */
  readonly rows: Int32Array;
};

export const overfittingOnset = defineRule({
  id: 'overfitting_onset',
  category: 'generalization',
  detects: 'Validation loss that rises for good while the training loss goes on falling.',
  source:
    'the reference; relative gap: SageMaker Debugger; regression from the best: Prechelt (1998)',
  cause: 'the model learns the training samples by heart',
  advice:
    'stop at the best validation loss, then try more data, augmentation, weight decay or dropout',
  thresholds: {
    overfittingWarningGap: {
      value: 0.2,
      doc: 'Validation loss less training loss for a warning: in units of the best validation loss; as it is in the reference.',
    },
    overfittingErrorGap: { value: 0.4, doc: 'The same, for an error.' },
    overfittingCriticalGap: { value: 0.7, doc: 'The same, critical.' },
    overfittingMinPoints: { value: 3, doc: 'Validation points it takes, at the end of the run.' },
    overfittingMinRegression: {
      value: 0.015,
      doc: 'Least rise of the validation loss over its best, as a share of the best. (Not in the reference.)',
    },
  },
  evaluate({ isReference, signals, thresholds: t }) {
    const found = signals.lossPairs.flatMap((pair): { finding: Finding; gap: number }[] => {
      const compared = compare(pair, signals);
      const { length } = compared.rows;
      if (length < Math.max(2, t.overfittingMinPoints)) return [];
      const gaps = compared.validation.map((value, i) => value - (compared.train[i] ?? Number.NaN));
      const lastGap = median(gaps.subarray(-t.overfittingMinPoints));
      const judged = isReference
        ? {
            gap: lastGap,
            from: length - t.overfittingMinPoints,
            best: 0,
            rise: Number.NaN,
            lost: 1,
            isNever: false,
          }
        : regression(
            compared,
            gaps,
            t.overfittingMinPoints,
            t.overfittingMinRegression,
            signals.course(pair.train)?.start ?? Number.NaN,
          );
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
        : judged.isNever
          ? `${key} did not get better than ${say(lowest)} while ${pair.train.key} fell to ${say(compared.train.at(-1) ?? Number.NaN)}.`
          : `${key} has risen from its best ${say(lowest)} at ${sayPlace(best)} to ${say(last)} while ${pair.train.key} went on falling.`;
      const finding: Finding = {
        severity:
          severity === undefined || isMild(judged, signals, isReference) ? 'info' : severity,
        title: `Overfitting since ${sayPlace(best)}`,
        fact,
        confidence: isReference ? 0.6 : severity === undefined ? 0.7 : 0.92,
        from: isReference ? from : best,
        to,
        observations: [
          {
            kind: 'metric',
            source: key,
            summary: `Gap to ${pair.train.key} of ${isReference ? say(judged.gap) : sayShare(judged.gap)}${isReference ? '' : ' of the best validation loss'}.`,
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

/** Little of the gain is lost, or the accuracy has not suffered: worth knowing, and no more. */
const MILD_LOSS = 0.05;
const MILD_RISE = 0.25;
const MILD_ACCURACY = 0.02;

function isMild({ isNever, lost, rise }: Judged, signals: Signals, isReference: boolean): boolean {
  if (isReference || isNever) return false;
  if (lost < MILD_LOSS) return true;
  const series = signals.valAccuracy;
  if (series === undefined || rise >= MILD_RISE) return false;
  const profile = signals.profile(series);
  if (profile.levels.length < 3) return false;
  const best = profile.levels.reduce((a, b) => Math.max(a, b));
  return levelOf(profile, 0.8, 1) >= best - Math.max(MILD_ACCURACY, 2 * profile.levelNoise);
}

type Judged = {
  readonly gap: number;
  /** Where it began, where the best value is: positions among the compared values. */
  readonly from: number;
  readonly best: number;
  readonly rise: number;
  /** The rise as a share of all that validation had gained. */
  readonly lost: number;
  readonly isNever: boolean;
};

/**
 * Whether validation has left its best for good while training improved: the last `minPoints` values all lie above the
 * best by the least regression, and by four times the noise of validation; the training loss has since fallen by more
 * than its noise; the gap has widened. Or validation never improved while training lost more than half.
 */
function regression(
  { train, validation }: Compared,
  gaps: Float64Array,
  minPoints: number,
  minRegression: number,
  trainStart: number,
): Judged | undefined {
  const { length } = validation;
  let best = 0;
  for (let i = 1; i < length; i++) if ((validation[i] ?? 0) < (validation[best] ?? 0)) best = i;
  const lowest = validation[best] ?? Number.NaN;
  const isPositive = validation.every((value) => value >= 0) && train.every((value) => value >= 0);
  const improvement = (validation[0] ?? 0) - lowest;
  // Where losses cross zero, their distance from it means nothing: what validation had gained is the unit.
  const unit = isPositive ? lowest : improvement;
  if (!(unit > 0)) return undefined;
  const noise = noiseOf(validation);
  const trainNoise = noiseOf(train);
  const limit = lowest + Math.max(minRegression * unit, 4 * noise);
  const above = trailingRun(length, (i) => (validation[i] ?? 0) > limit);
  const last = median(validation.subarray(-minPoints));
  const lastTrain = median(train.subarray(-minPoints));
  const trainAtBest = train[best] ?? Number.NaN;
  const trainFall = trainAtBest - lastTrain;
  const gap = median(gaps.subarray(-minPoints)) / unit;
  const widening = (gaps.at(-1) ?? 0) - (gaps[best] ?? 0);
  const trainFell = trainFall > Math.max(2 * trainNoise, minRegression * Math.abs(trainAtBest));
  if (above >= minPoints && trainFell && widening > 0)
    return {
      gap,
      from: length - above,
      best,
      rise: (last - lowest) / unit,
      lost: (last - lowest) / improvement,
      isNever: false,
    };
  // The first comparison may come late in training, after what there is to learn was learned: only a validation that is
  // still high beside the start of training counts.
  const isHigh = last >= UNLEARNED * trainStart && noise <= CLEAR_NOISE * last;
  const isLearned = isPositive && lastTrain < 0.5 * trainStart;
  const isStuck = improvement <= Math.max(2 * noise, 0.05 * (validation[0] ?? 0));
  // Or training went to next to nothing, and validation stopped where it was.
  const half = median(validation.subarray(length >> 1, (length >> 1) + minPoints));
  const isMemorised =
    lastTrain < MEMORISED * last && half - last <= Math.max(2 * noise, 0.02 * last);
  if (length >= 2 * minPoints && isHigh && isLearned && (isStuck || isMemorised) && gap > 0.2)
    return { gap, from: 0, best, rise: (last - lowest) / unit, lost: 1, isNever: true };
  return undefined;
}

/**
 * Both series at the places of validation: of training the median since the validation before. Of a long validation
 * series its blocks are compared, at the place of the last value of each.
 */
function compare({ train, validation }: SeriesPair, signals: Signals): Compared {
  const { blockSize, levels, rows } = signals.profile(validation);
  if (train.x !== validation.x || levels.length === 0) return NOTHING;
  const places = axisOf(validation);
  const trainPlaces = axisOf(train);
  const keptRows: number[] = [];
  const kept: number[] = [];
  const trainLevels: number[] = [];
  let at = 0;
  let last = Number.NaN;
  for (let block = 0; block < levels.length; block++) {
    const row = rows[Math.min(rows.length, (block + 1) * blockSize) - 1] ?? 0;
    const start = at;
    at = Math.max(at, rowBefore(train, places[row] ?? 0) + 1);
    const level =
      at > start
        ? median(train.values.subarray(Math.max(start, at - MAX_LEVEL_VALUES), at))
        : Number.NaN;
    if (!Number.isNaN(level)) last = level;
    if (Number.isNaN(last) || trainPlaces.length === 0) continue;
    keptRows.push(row);
    kept.push(levels[block] ?? Number.NaN);
    trainLevels.push(last);
  }
  return {
    rows: Int32Array.from(keptRows),
    validation: Float64Array.from(kept),
    train: Float64Array.from(trainLevels),
  };
}

const NOTHING: Compared = {
  rows: new Int32Array(0),
  validation: new Float64Array(0),
  train: new Float64Array(0),
};

/** Training values since the last validation that its level comes from, at most. */
const MAX_LEVEL_VALUES = 2048;
