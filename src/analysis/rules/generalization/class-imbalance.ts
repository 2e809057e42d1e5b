import type { BatchColumns } from '../../columns/run-columns.ts';
import { classTotals } from '../../signals/class-totals.ts';
import { spanOfSteps } from '../../signals/positions.ts';
import { defineRule } from '../../signals/rule.ts';
import { say, sayShare } from '../../text/sentences.ts';

/** More classes than this are a vocabulary, in which rare entries are the rule. */
const MAX_CLASSES = 200;

export const classImbalance = defineRule({
  id: 'class_imbalance',
  category: 'generalization',
  needs: { anyOf: ['labels'] },
  detects: 'Classes that the model is shown far less often than others, and does not learn.',
  source:
    'SageMaker Debugger (ClassImbalance: 10 to 1 after 500 labels); the loss of the rare class is ours',
  cause: 'the frequent classes make up nearly all of the loss',
  advice:
    'weight the loss by class or draw batches with equal shares, and look at the error of each class',
  live: 'trend',
  thresholds: {
    classImbalanceRatio: {
      value: 10,
      doc: 'Samples of the most frequent class over those of the rarest.',
    },
    classImbalanceMinLabels: { value: 500, doc: 'Fewest labels seen.' },
    classImbalanceLossRatio: {
      value: 2,
      doc: 'Loss of a sample of the rare class over that of the others, late in the run, from which it counts as not learned.',
    },
  },
  measure({ columns: { batches }, thresholds: t }) {
    const { classNames } = batches;
    const { counts, total } = classTotals(batches);
    if (counts.length < 2 || counts.length > MAX_CLASSES || total < t.classImbalanceMinLabels)
      return [];
    const least = Math.min(...counts);
    const most = Math.max(...counts);
    // All classes that are as rare: single ones may be too few to tell.
    const isRare = Uint8Array.from(counts, (count) =>
      most >= t.classImbalanceRatio * Math.max(1, count) ? 1 : 0,
    );
    const ratio = most / Math.max(1, least);
    const steps = batches.steps.filter((step) => !Number.isNaN(step));
    const loss = ratio < t.classImbalanceRatio ? undefined : lossOfClasses(batches, isRare);
    return [
      {
        rare: classNames[counts.indexOf(least)] ?? '',
        frequent: classNames[counts.indexOf(most)] ?? '',
        least,
        total,
        ratio,
        loss,
        isLost: loss !== undefined && loss.ratio >= t.classImbalanceLossRatio,
        span: spanOfSteps(steps[0] ?? Number.NaN, steps.at(-1) ?? Number.NaN),
      },
    ];
  },
  finding: {
    levels: {
      warning: ({ isLost, ratio }, t) => isLost && ratio >= t.classImbalanceRatio,
      info: ({ ratio }, t) => ratio >= t.classImbalanceRatio,
    },
    title: ({ rare }) => `Class ${rare} is rare`,
    fact: ({ frequent, isLost, least, loss, rare, ratio, total }) => {
      const cost = isLost
        ? `, and samples of rare classes have ${say(loss?.ratio ?? Number.NaN)} times the loss of the others`
        : '';
      return `Of ${say(total)} labels, ${say(least)} are of class ${rare}, ${say(ratio)} times fewer than of class ${frequent}${cost}.`;
    },
    confidence: ({ isLost }) => (isLost ? 0.85 : 0.6),
    cause: ({ isLost }) =>
      isLost
        ? undefined
        : 'the data set is like this, which does no harm where the loss is weighted',
    advice: ({ isLost }) =>
      isLost ? undefined : 'check the error of each class, not only the mean',
    evidence: ({ least, loss, rare, ratio, span, total }, t) => [
      {
        kind: 'batch_diagnostic',
        source: `class ${rare}`,
        summary: `${sayShare(least / total)} of the labels.`,
        observed: ratio,
        threshold: t.classImbalanceRatio,
        ...span,
        metadata: loss === undefined ? {} : { loss_ratio: loss.ratio, loss_score: loss.score },
      },
    ],
  },
});

/** Batches with and without the classes that a difference takes. */
const MIN_BATCHES = 8;
/** Standard errors by which the loss has to rise with the share of the class. */
const MIN_SCORE = 3;

/**
 * What a sample of the rare classes costs beside the others, from the last half of the run: the least-squares line of batch loss
 * over the share of these classes in the batch, read at a share of 1 and of 0. Undefined where the line is not clear.
 */
function lossOfClasses(
  batches: BatchColumns,
  isRare: Uint8Array,
): { readonly ratio: number; readonly score: number } | undefined {
  const shares: number[] = [];
  const losses: number[] = [];
  for (let row = Math.floor(batches.rowCount / 2); row < batches.rowCount; row++) {
    let own = 0;
    let all = 0;
    for (let i = batches.classOffsets[row] ?? 0; i < (batches.classOffsets[row + 1] ?? 0); i++) {
      const count = batches.classCounts[i] ?? 0;
      all += count;
      if (isRare[batches.classIndex[i] ?? -1] === 1) own += count;
    }
    const loss = batches.losses[row] ?? Number.NaN;
    if (all === 0 || !Number.isFinite(loss)) continue;
    shares.push(own / all);
    losses.push(loss);
  }
  const withClass = shares.filter((share) => share > 0).length;
  if (withClass < MIN_BATCHES || shares.length - withClass < MIN_BATCHES) return undefined;
  const line = fitLine(shares, losses);
  if (line === undefined || !(line.score >= MIN_SCORE) || !(line.intercept > 0)) return undefined;
  return { ratio: (line.intercept + line.slope) / line.intercept, score: line.score };
}

function fitLine(
  x: readonly number[],
  y: readonly number[],
): { readonly slope: number; readonly intercept: number; readonly score: number } | undefined {
  const mean = (list: readonly number[]): number => list.reduce((a, b) => a + b, 0) / list.length;
  const mx = mean(x);
  const my = mean(y);
  let sxx = 0;
  let sxy = 0;
  x.forEach((value, i) => {
    sxx += (value - mx) ** 2;
    sxy += (value - mx) * ((y[i] ?? 0) - my);
  });
  if (!(sxx > 0)) return undefined;
  const slope = sxy / sxx;
  const intercept = my - slope * mx;
  const rest = x.reduce((sum, value, i) => sum + ((y[i] ?? 0) - intercept - slope * value) ** 2, 0);
  const error = Math.sqrt(rest / Math.max(1, x.length - 2) / sxx);
  return { slope, intercept, score: error > 0 ? slope / error : slope > 0 ? 1e9 : 0 };
}
