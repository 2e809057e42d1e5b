import { positionsOn } from '../../columns/align-axis.ts';
import { axisOf, type MetricSeries, type RunColumns } from '../../columns/run-columns.ts';
import { partsAtOnce, type EarlyParting } from '../../signals/first-pass.ts';
import type { SeriesPair } from '../../signals/roles/role-types.ts';
import { observe, ofMetric } from '../../signals/observe.ts';
import {
  positionAt,
  rowBefore,
  sayPosition,
  saySpan,
  spanOfRows,
} from '../../signals/positions.ts';
import { levelSize } from '../../signals/profile.ts';
import { defineRule } from '../../signals/rule.ts';
import { type ThresholdValues } from '../../signals/rule-types.ts';
import type { Signals } from '../../signals/signals.ts';
import { longestRun, median } from '../../signals/statistics.ts';
import { say, sayShare } from '../../text/sentences.ts';

export const suspiciousValidation = defineRule({
  id: 'suspicious_validation',
  category: 'generalization',
  needs: { anyOf: ['loss_pair', 'accuracy_pair'], points: 'suspiciousValidationPoints' },
  detects:
    'Validation that cannot be right: equal to training, never changing, near perfect while training is not, or far worse from the first epoch on.',
  source:
    'UMLAUT (validation accuracy above 0.95 early, or above training); dropout explains small leads, so that only large ones count; that training has not seen the samples of the first epoch before either is ours',
  cause:
    'validation samples are among the training samples, or the validation is not computed on the current model',
  advice: 'check how the data are split, and that the evaluation uses the weights of the step',
  live: 'trend',
  thresholds: {
    suspiciousValidationAccuracy: {
      value: 0.95,
      doc: 'Validation accuracy that is too good, early.',
    },
    suspiciousValidationEarlyShare: { value: 0.2, doc: 'Share of the run that counts as early.' },
    suspiciousValidationLead: { value: 0.2, doc: 'Lead of validation over training accuracy.' },
    suspiciousValidationPoints: { value: 5, doc: 'Points in a row that are equal.' },
  },
  measure({ columns, signals, thresholds: t }) {
    const found =
      equalLosses(signals, t.suspiciousValidationPoints) ??
      constantLoss(signals, t.suspiciousValidationPoints) ??
      tooGood(signals, t) ??
      ofOtherData(columns, signals);
    return found === undefined ? [] : [found];
  },
  finding: {
    levels: 'warning',
    title: ({ series }) => `${series.key} is suspicious`,
    fact: ({ fact }) => fact,
    confidence: ({ kind }) => KINDS[kind].confidence,
    cause: ({ kind }) => KINDS[kind].cause,
    advice: ({ kind }) => KINDS[kind].advice,
    evidence: ({ fact, observed, rows, series, threshold }) => [
      observe(ofMetric(series), rows, fact, { observed, threshold }),
    ],
  },
});

/** Why a validation cannot be right. */
const KINDS = {
  equal: {
    confidence: 0.95,
    cause: 'training loss is reported as validation loss',
    advice: 'check which data the validation reads',
  },
  constant: {
    confidence: 0.85,
    cause:
      'the validation is computed on a copy of the model that is not trained, or is not computed anew',
    advice: undefined,
  },
  early: { confidence: 0.75, cause: undefined, advice: undefined },
  worse: {
    confidence: 0.75,
    cause:
      'the samples of the validation come from elsewhere or are prepared in another way, the model computes something else in evaluation, or the samples of training come in a sorted order',
    advice:
      'compare some samples of both as the model gets them, and split one shuffled set into the two',
  },
} as const;

type Suspicion = {
  readonly kind: keyof typeof KINDS;
  readonly series: MetricSeries;
  readonly rows: readonly [first: number, last: number];
  readonly fact: string;
  readonly observed: number;
  readonly threshold: number;
};

/** Training batches that an accuracy beside a validation is the median of, and validations in a row that have to lead. */
const BATCHES = 20;
const MIN_LEADS = 2;

/** Rows that are compared one by one, at most. */
const MAX_ROWS = 5000;

/** The training loss to the last bit, again and again: it is the same number. */
function equalLosses({ lossPairs }: Signals, points: number): Suspicion | undefined {
  for (const { train, validation } of lossPairs) {
    const positions = axisOf(train);
    const beside = positionsOn(validation, train);
    if (beside === undefined) continue;
    const { length, start } = longestRun(Math.min(MAX_ROWS, validation.values.length), (row) => {
      const position = beside[row] ?? Number.NaN;
      const at = rowBefore(train, position);
      const value = validation.values[row] ?? Number.NaN;
      return positions[at] === position && Number.isFinite(value) && train.values[at] === value;
    });
    const isMoving = new Set(validation.values.subarray(start, start + length)).size > 1;
    if (length < points || !isMoving) continue;
    const rows = [start, start + length - 1] as const;
    const range = saySpan(spanOfRows(validation, ...rows));
    const fact = `${validation.key} is equal to ${train.key} to the last digit ${range}.`;
    return { kind: 'equal', series: validation, rows, fact, observed: length, threshold: points };
  }
  return undefined;
}

/** The same value while training goes on: the model that is validated is not the one that is trained. */
function constantLoss(signals: Signals, points: number): Suspicion | undefined {
  for (const { train, validation } of signals.lossPairs) {
    const { values } = validation;
    const { length, start } = longestRun(
      values.length,
      (row) =>
        Number.isFinite(values[row] ?? Number.NaN) && values[row] === values[Math.max(0, row - 1)],
    );
    const course = signals.course(train);
    if (course === undefined || length < points + 1 || start + length < values.length) continue;
    const from = positionsOn(validation, train)?.[start];
    if (from === undefined) continue;
    const before = train.values[Math.max(0, rowBefore(train, from))] ?? Number.NaN;
    const fall = before - course.end;
    const { profile } = course;
    if (!(fall > Math.max(4 * profile.pointNoise, 0.02 * levelSize(profile, before)))) continue;
    const since = sayPosition(positionAt(validation, start));
    const fact = `${validation.key} has been exactly ${say(values.at(-1) ?? Number.NaN)} since ${since}, while ${train.key} went on falling.`;
    return {
      kind: 'constant',
      series: validation,
      rows: [start, values.length - 1],
      fact,
      observed: length,
      threshold: points,
    };
  }
  return undefined;
}

/** Nearly perfect in the first part of the run, far ahead of training. */
function tooGood(
  signals: Signals,
  t: ThresholdValues<
    'suspiciousValidationAccuracy' | 'suspiciousValidationEarlyShare' | 'suspiciousValidationLead'
  >,
): Suspicion | undefined {
  const { trainAccuracy, valAccuracy } = signals;
  if (trainAccuracy === undefined || valAccuracy === undefined) return undefined;
  const beside = positionsOn(valAccuracy, trainAccuracy);
  if (beside === undefined) return undefined;
  const end = axisOf(trainAccuracy).at(-1) ?? 0;
  const rowOf = (i: number): number => rowBefore(trainAccuracy, beside[i] ?? 0) + 1;
  const trainAt = (i: number): number => {
    const at = rowOf(i);
    // The accuracy of one batch says little; those before the last validation are of an older model, and the next are of this one.
    const width = Math.min(BATCHES, Math.max(1, at - (i > 0 ? rowOf(i - 1) : 0)));
    const before = median(trainAccuracy.values.subarray(Math.max(0, at - width), at));
    const after = median(trainAccuracy.values.subarray(at, at + width));
    return after > before ? after : before;
  };
  const early = longestRun(Math.min(MAX_ROWS, valAccuracy.values.length), (i) => {
    const value = valAccuracy.values[i] ?? Number.NaN;
    return (
      (beside[i] ?? 0) <= t.suspiciousValidationEarlyShare * end &&
      value >= t.suspiciousValidationAccuracy &&
      value - trainAt(i) >= t.suspiciousValidationLead
    );
  });
  if (early.length < MIN_LEADS) return undefined;
  const row = early.start;
  const value = valAccuracy.values[row] ?? Number.NaN;
  const train = trainAt(row);
  const at = sayPosition(positionAt(valAccuracy, row));
  return {
    kind: 'early',
    series: valAccuracy,
    rows: [row, row],
    fact: `${valAccuracy.key} is ${sayShare(value)} at ${at} already, with ${sayShare(train)} in training.`,
    observed: value - train,
    threshold: t.suspiciousValidationLead,
  };
}

/** Far worse than training in the first epoch already, and to the end. */
function ofOtherData(columns: RunColumns, signals: Signals): Suspicion | undefined {
  for (const pair of signals.lossPairs) {
    const parting = partsAtOnce(pair, columns, signals);
    if (parting !== undefined) return worseFromStart(pair, parting);
  }
  return undefined;
}

function worseFromStart({ train, validation }: SeriesPair, parting: EarlyParting): Suspicion {
  return {
    kind: 'worse',
    series: validation,
    rows: [0, validation.values.length - 1],
    fact: `${validation.key} was ${say(parting.validation)} after the first epoch, in which ${train.key} was ${say(parting.train)} for samples that were just as new, and it stayed far above to the end.`,
    observed: parting.validation / parting.train,
    threshold: 1,
  };
}
