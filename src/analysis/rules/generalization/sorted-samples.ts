import type { BatchColumns } from '../../columns/run-columns.ts';
import { classTotals } from '../../signals/class-totals.ts';
import { spanOfSteps } from '../../signals/positions.ts';
import { defineRule } from '../../signals/rule.ts';
import { say, sayShare } from '../../text/sentences.ts';

/** More classes than this are a vocabulary. */
const MAX_CLASSES = 200;
/** Chance that two samples differ in class, below which there is nothing to shuffle. */
const MIN_VARIETY = 0.1;
/** Standard errors by which neighbours have to be more alike than batches drawn at random. */
const MIN_SCORE = 4;

export const sortedSamples = defineRule({
  id: 'sorted_samples',
  category: 'generalization',
  needs: { anyOf: ['labels'] },
  detects:
    'Batches whose classes are those of the batch before: the samples come sorted, and are not shuffled.',
  source:
    'ours: the chance that samples of two batches in a row are of one class, beside that of two samples drawn at random',
  cause: 'the data set lists one class after the other, and nothing shuffles it',
  advice: 'shuffle the samples before they are cut into batches, anew in each epoch',
  live: 'trend',
  thresholds: {
    sortedSamplesLikeness: {
      value: 0.4,
      doc: 'How alike two batches in a row are in their classes, from 0 (as drawn at random) to 1 (always one and the same class).',
    },
    sortedSamplesMinBatches: { value: 12, doc: 'Fewest pairs of batches in a row.' },
    sortedSamplesMinLabels: { value: 60, doc: 'Fewest labels seen.' },
  },
  measure({ columns: { batches }, thresholds: t }) {
    const { classNames } = batches;
    const { counts, total } = classTotals(batches);
    if (counts.length < 2 || counts.length > MAX_CLASSES || total < t.sortedSamplesMinLabels)
      return [];
    const alike = counts.reduce((sum, count) => sum + (count / total) ** 2, 0);
    const neighbours = likenessOfNeighbours(batches);
    if (1 - alike < MIN_VARIETY || neighbours.pairs < t.sortedSamplesMinBatches) return [];
    const perBatch = Math.max(1, total / batches.rowCount);
    const error = Math.sqrt((alike * (1 - alike)) / (neighbours.pairs * perBatch));
    const likeness = (neighbours.likeness - alike) / (1 - alike);
    if (neighbours.likeness - alike < MIN_SCORE * error) return [];
    const steps = batches.steps.filter((step) => !Number.isNaN(step));
    const span = spanOfSteps(steps[0] ?? Number.NaN, steps.at(-1) ?? Number.NaN);
    return [{ alike, likeness, neighbours, span, classes: classNames.length }];
  },
  finding: {
    levels: { warning: ({ likeness }, t) => likeness >= t.sortedSamplesLikeness },
    title: 'Samples come sorted by class',
    fact: ({ alike, classes, neighbours }) =>
      `Two samples of batches in a row are of one class in ${sayShare(neighbours.likeness)} of the cases, and would be in ${sayShare(alike)} if the ${say(classes)} classes came in any order.`,
    confidence: ({ likeness }) => (likeness >= 0.7 ? 0.95 : 0.8),
    evidence: ({ likeness, neighbours, span }, t) => [
      {
        kind: 'batch_diagnostic',
        source: 'batches',
        summary: `${say(neighbours.pairs)} pairs of batches in a row were compared.`,
        observed: likeness,
        threshold: t.sortedSamplesLikeness,
        ...span,
      },
    ],
  },
});

/** The chance that two samples of batches in a row are of one class: the mean over all pairs of neighbours. */
function likenessOfNeighbours({
  classCounts,
  classIndex,
  classNames,
  classOffsets,
  rowCount,
  steps,
}: BatchColumns): { readonly likeness: number; readonly pairs: number } {
  let before = new Float64Array(classNames.length);
  let now = new Float64Array(classNames.length);
  let [pairs, sum, labelsBefore, stepBefore] = [0, 0, 0, Number.NaN];
  for (let row = 0; row < rowCount; row++) {
    now.fill(0);
    let labels = 0;
    for (let i = classOffsets[row] ?? 0; i < (classOffsets[row + 1] ?? 0); i++) {
      const at = classIndex[i] ?? 0;
      now[at] = (now[at] ?? 0) + (classCounts[i] ?? 0);
      labels += classCounts[i] ?? 0;
    }
    const step = steps[row] ?? Number.NaN;
    if (labels > 0 && labelsBefore > 0 && step === stepBefore + 1) {
      pairs++;
      let same = 0;
      for (let at = 0; at < now.length; at++) same += (now[at] ?? 0) * (before[at] ?? 0);
      sum += same / (labels * labelsBefore);
    }
    [before, now] = [now, before];
    [labelsBefore, stepBefore] = [labels, step];
  }
  return { likeness: sum / pairs, pairs };
}
