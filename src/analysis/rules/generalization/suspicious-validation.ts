import { axisOf, type MetricSeries, type RunColumns } from '../../columns/run-columns.ts';
import { partsAtOnce } from '../../signals/first-pass.ts';
import { placeAt, rowBefore, sayPlace, sayRange } from '../../signals/positions.ts';
import { defineRule, say, sayShare, type Finding } from '../../signals/rule.ts';
import type { Signals } from '../../signals/signals.ts';
import { longestRun, median } from '../../signals/statistics.ts';

export const suspiciousValidation = defineRule({
  id: 'suspicious_validation',
  category: 'generalization',
  detects:
    'Validation that cannot be right: equal to training, never changing, near perfect while training is not, or far worse from the first epoch on.',
  source:
    'UMLAUT (validation accuracy above 0.95 early, or above training); dropout explains small leads, so that only large ones count; that training has not seen the samples of the first epoch before either is ours',
  cause:
    'validation samples are among the training samples, or the validation is not computed on the current model',
  advice: 'check how the data are split, and that the evaluation uses the weights of the step',
  thresholds: {
    suspiciousValidationAccuracy: {
      value: 0.95,
      doc: 'Validation accuracy that is too good, early.',
    },
    suspiciousValidationEarlyShare: { value: 0.2, doc: 'Share of the run that counts as early.' },
    suspiciousValidationLead: { value: 0.2, doc: 'Lead of validation over training accuracy.' },
    suspiciousValidationPoints: { value: 5, doc: 'Points in a row that are equal.' },
  },
  evaluate({ columns, signals, thresholds: t }) {
    const found =
      equalLosses(signals, t.suspiciousValidationPoints) ??
      constantLoss(signals, t.suspiciousValidationPoints) ??
      tooGood(signals, t) ??
      ofOtherData(columns, signals);
    return found === undefined ? [] : [found];
  },
});

/** Training batches that an accuracy beside a validation is the median of, and validations in a row that have to lead. */
const BATCHES = 20;
const MIN_LEADS = 2;

/** Rows that are compared one by one, at most. */
const MAX_ROWS = 5000;

function report(
  series: MetricSeries,
  start: number,
  end: number,
  confidence: number,
  fact: string,
  observed: number,
  threshold: number,
  more: Partial<Finding> = {},
): Finding {
  const from = placeAt(series, start);
  const to = placeAt(series, end);
  return {
    severity: 'warning',
    title: `${series.key} is suspicious`,
    fact,
    confidence,
    from,
    to,
    observations: [
      { kind: 'metric', source: series.key, summary: fact, observed, threshold, from, to },
    ],
    ...more,
  };
}

/** The training loss to the last bit, again and again: it is the same number. */
function equalLosses({ lossPairs }: Signals, points: number): Finding | undefined {
  for (const { train, validation } of lossPairs) {
    const places = axisOf(train);
    const run = longestRun(Math.min(MAX_ROWS, validation.values.length), (row) => {
      const position = axisOf(validation)[row] ?? Number.NaN;
      const at = rowBefore(train, position);
      const value = validation.values[row] ?? Number.NaN;
      return (
        at >= 0 && places[at] === position && Number.isFinite(value) && train.values[at] === value
      );
    });
    if (run.length < points) continue;
    const range = sayRange(
      placeAt(validation, run.start),
      placeAt(validation, run.start + run.length - 1),
    );
    const isMoving =
      new Set(validation.values.subarray(run.start, run.start + run.length)).size > 1;
    if (!isMoving) continue;
    return report(
      validation,
      run.start,
      run.start + run.length - 1,
      0.95,
      `${validation.key} is equal to ${train.key} to the last digit ${range}.`,
      run.length,
      points,
      {
        cause: 'training loss is reported as validation loss',
        advice: 'check which data the validation reads',
      },
    );
  }
  return undefined;
}

/** The same value while training goes on: the model that is validated is not the one that is trained. */
function constantLoss(signals: Signals, points: number): Finding | undefined {
  for (const { train, validation } of signals.lossPairs) {
    const { values } = validation;
    const run = longestRun(
      values.length,
      (row) =>
        Number.isFinite(values[row] ?? Number.NaN) && values[row] === values[Math.max(0, row - 1)],
    );
    const course = signals.course(train);
    if (course === undefined || run.length < points + 1 || run.start + run.length < values.length)
      continue;
    const from = axisOf(validation)[run.start] ?? 0;
    const before = train.values[Math.max(0, rowBefore(train, from))] ?? Number.NaN;
    const isTraining =
      before - course.end > 4 * course.profile.pointNoise &&
      before - course.end > 0.02 * Math.abs(before);
    if (!isTraining) continue;
    return report(
      validation,
      run.start,
      values.length - 1,
      0.85,
      `${validation.key} has been exactly ${say(values.at(-1) ?? Number.NaN)} since ${sayPlace(placeAt(validation, run.start))}, while ${train.key} went on falling.`,
      run.length,
      points,
      {
        cause:
          'the validation is computed on a copy of the model that is not trained, or is not computed anew',
      },
    );
  }
  return undefined;
}

/** Nearly perfect in the first part of the run, far ahead of training. */
function tooGood(
  signals: Signals,
  t: {
    readonly suspiciousValidationAccuracy: number;
    readonly suspiciousValidationEarlyShare: number;
    readonly suspiciousValidationLead: number;
  },
): Finding | undefined {
  const { trainAccuracy, valAccuracy } = signals;
  if (trainAccuracy === undefined || valAccuracy === undefined || trainAccuracy.x !== valAccuracy.x)
    return undefined;
  const end = axisOf(trainAccuracy).at(-1) ?? 0;
  const rowOf = (i: number): number => rowBefore(trainAccuracy, axisOf(valAccuracy)[i] ?? 0) + 1;
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
      (axisOf(valAccuracy)[i] ?? 0) <= t.suspiciousValidationEarlyShare * end &&
      value >= t.suspiciousValidationAccuracy &&
      value - trainAt(i) >= t.suspiciousValidationLead
    );
  });
  if (early.length < MIN_LEADS) return undefined;
  const row = early.start;
  const value = valAccuracy.values[row] ?? Number.NaN;
  const train = trainAt(row);
  return report(
    valAccuracy,
    row,
    row,
    0.75,
    `${valAccuracy.key} is ${sayShare(value)} at ${sayPlace(placeAt(valAccuracy, row))} already, with ${sayShare(train)} in training.`,
    value - train,
    t.suspiciousValidationLead,
  );
}

/** Far worse than training in the first epoch already, and to the end. */
function ofOtherData(columns: RunColumns, signals: Signals): Finding | undefined {
  for (const pair of signals.lossPairs) {
    const parting = partsAtOnce(pair, columns, signals);
    if (parting === undefined) continue;
    const { train, validation } = pair;
    const { length } = validation.values;
    return report(
      validation,
      0,
      length - 1,
      0.75,
      `${validation.key} was ${say(parting.validation)} after the first epoch, in which ${train.key} was ${say(parting.train)} for samples that were just as new, and it stayed far above to the end.`,
      parting.validation / parting.train,
      1,
      {
        cause:
          'the samples of the validation come from elsewhere or are prepared in another way, the model computes something else in evaluation, or the samples of training come in a sorted order',
        advice:
          'compare some samples of both as the model gets them, and split one shuffled set into the two',
      },
    );
  }
  return undefined;
}
