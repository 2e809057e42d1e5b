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
  needs: { anyOf: ['labels'], points: 'sortedSamplesMinBatches' },
  detects:
    'Batches whose classes are those of the batch before, or that have hardly more than one class each: the samples come sorted, and are not shuffled.',
  source:
    'ours: the chance that samples of two batches in a row, or of one batch, are of one class, beside that of two samples drawn at random',
  cause: 'the data set lists one class after the other, and nothing shuffles it',
  advice: 'shuffle the samples before they are cut into batches, anew in each epoch',
  live: 'trend',
  thresholds: {
    sortedSamplesLikeness: {
      value: 0.4,
      doc: 'How alike two batches in a row are in their classes, from 0 (as drawn at random) to 1 (always one and the same class). Of samples within a batch the same, where batches in a row are at all alike.',
    },
    sortedSamplesPurity: {
      value: 0.7,
      doc: 'How alike the samples of one batch are, on the same scale, from which the order of the batches does not count.',
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
    const seen = likenessOf(batches);
    if (1 - alike < MIN_VARIETY) return [];
    const perBatch = Math.max(1, total / batches.rowCount);
    const excessOf = ({ likeness, pairs }: Likeness): number => {
      if (pairs < t.sortedSamplesMinBatches) return 0;
      const error = Math.sqrt((alike * (1 - alike)) / (pairs * perBatch));
      const above = likeness - alike;
      return above < MIN_SCORE * error ? 0 : above / (1 - alike);
    };
    const [between, within] = [excessOf(seen.neighbours), excessOf(seen.within)];
    // Classes that are longer than a batch are found again in the next; of shorter ones a batch holds few, and the next has others.
    const isWithin =
      within >= t.sortedSamplesPurity || (between > 0 && within >= t.sortedSamplesLikeness);
    if (between < t.sortedSamplesLikeness && !isWithin) return [];
    const isNext = between >= t.sortedSamplesLikeness;
    const steps = batches.steps.filter((step) => !Number.isNaN(step));
    const span = spanOfSteps(steps[0] ?? Number.NaN, steps.at(-1) ?? Number.NaN);
    const likeness = isNext ? between : within;
    const { likeness: chance, pairs } = isNext ? seen.neighbours : seen.within;
    return [{ alike, chance, isNext, likeness, pairs, span, classes: classNames.length }];
  },
  finding: {
    levels: 'warning',
    title: 'Samples come sorted by class',
    fact: ({ alike, chance, classes, isNext }) =>
      `Two samples of ${isNext ? 'batches in a row' : 'one batch'} are of one class in ${sayShare(chance)} of the cases, and would be in ${sayShare(alike)} if the ${say(classes)} classes came in random order.`,
    confidence: ({ likeness }) => (likeness >= 0.7 ? 0.95 : 0.8),
    evidence: ({ isNext, likeness, pairs, span }, t) => [
      {
        kind: 'batch_diagnostic',
        source: 'batches',
        summary: isNext
          ? `${say(pairs)} pairs of batches in a row were compared.`
          : `The classes of ${say(pairs)} batches were counted.`,
        observed: likeness,
        threshold: t.sortedSamplesLikeness,
        ...span,
      },
    ],
  },
});

/** A chance that two samples are of one class: the mean over so many pairs of batches, or batches. */
type Likeness = { readonly likeness: number; readonly pairs: number };

/** The chance that two samples of batches in a row, and that two of one batch, are of one class. */
function likenessOf({
  classCounts,
  classIndex,
  classNames,
  classOffsets,
  rowCount,
  steps,
}: BatchColumns): { readonly neighbours: Likeness; readonly within: Likeness } {
  let before = new Float64Array(classNames.length);
  let now = new Float64Array(classNames.length);
  let [pairs, sum, batches, pure] = [0, 0, 0, 0];
  let [labelsBefore, stepBefore] = [0, Number.NaN];
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
      sum += dot(now, before) / (labels * labelsBefore);
    }
    if (labels > 1) {
      batches++;
      pure += (dot(now, now) - labels) / (labels * (labels - 1));
    }
    [before, now] = [now, before];
    [labelsBefore, stepBefore] = [labels, step];
  }
  return {
    neighbours: { likeness: sum / pairs, pairs },
    within: { likeness: pure / batches, pairs: batches },
  };
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let at = 0; at < a.length; at++) sum += (a[at] ?? 0) * (b[at] ?? 0);
  return sum;
}
