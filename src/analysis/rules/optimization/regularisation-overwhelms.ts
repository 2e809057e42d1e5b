import type { ParameterSeries } from '../../columns/run-columns.ts';
import { stillImproves } from '../../signals/late-progress.ts';
import { observe, ofParameter } from '../../signals/observe.ts';
import { saySpan, spanOfRows } from '../../signals/positions.ts';
import { defineRule } from '../../signals/rule.ts';
import { median } from '../../signals/statistics.ts';
import { say, sayShare } from '../../text/sentences.ts';

/** Snapshots at the end that the size of the weights comes from. */
const LAST_PROBES = 3;
/** Weights of fewer elements say too little. */
const MIN_ELEMENTS = 8;
/** Share of what was gained that the second half of the run brings where a model learns. */
const LATE_SHARE = 0.1;

export const regularisationOverwhelms = defineRule({
  id: 'regularisation_overwhelms',
  category: 'optimization',
  needs: { anyOf: ['parameters'] },
  detects:
    'Weights that shrink to a small part of their initial size while the model does not learn: the penalty on them outweighs the loss.',
  source:
    'TheDeepChecker (regularisation that outweighs the loss of the data); the size of the weights as its sign is ours',
  cause: 'the weight decay, or the penalty on the weights, is far too strong',
  advice: 'divide it by 100, and log the loss without the penalty',
  live: 'trend',
  thresholds: {
    regularisationMaxShrink: {
      value: 0.25,
      doc: 'Norm of all weights over that of the first snapshot, below.',
    },
    regularisationMaxOwnShrink: { value: 0.75, doc: 'The same for each single weight, below.' },
    regularisationMinProbes: { value: 5, doc: 'Fewest snapshots.' },
    regularisationMaxStep: { value: 10, doc: 'Last step at which weights count as initial.' },
    regularisationKnownAccuracy: {
      value: 0.9,
      doc: 'Accuracy from which small weights are those of a task that is learned.',
    },
  },
  measure({ columns, signals, thresholds: t }) {
    // Behind a normalisation the size of weights means nothing.
    const isNormalised = columns.layers.some(({ moduleType }) => /norm/i.test(moduleType));
    const isLearned = signals.finalAccuracy >= t.regularisationKnownAccuracy;
    if (columns.run.isContinued || isNormalised || isLearned) return [];
    if (stillImproves(signals, LATE_SHARE)) return [];
    const weights = signals.weights
      .filter(
        ({ elementCount, isFrozen, steps, valueStd }) =>
          !isFrozen &&
          (elementCount[0] ?? 0) >= MIN_ELEMENTS &&
          (valueStd[0] ?? 0) > 0 &&
          steps.length >= t.regularisationMinProbes &&
          (steps[0] ?? Number.POSITIVE_INFINITY) <= t.regularisationMaxStep,
      )
      .toSorted((a, b) => shrink(a) - shrink(b));
    const first = Math.hypot(...weights.map(({ valueNorm }) => valueNorm[0] ?? Number.NaN));
    const last = Math.hypot(...weights.map(lastNorm));
    const isShrunk =
      last / first < t.regularisationMaxShrink &&
      weights.every((weight) => shrink(weight) < t.regularisationMaxOwnShrink);
    const [worst, second] = weights;
    if (worst === undefined || second === undefined || !isShrunk) return [];
    return [{ weights, worst, first, last }];
  },
  finding: {
    levels: 'error',
    title: 'The weights shrink away',
    fact: ({ first, last, worst }) =>
      `The norm of all weights fell from ${say(first)} to ${say(last)}, ${sayShare(last / first)} of what it was, ${saySpan(spanOfRows(worst))}, and the loss does not fall any more.`,
    confidence: 0.85,
    evidence: ({ weights }, t) =>
      weights.slice(0, 5).map((weight) => {
        const left = `${sayShare(shrink(weight))} of its first norm ${say(weight.valueNorm[0] ?? Number.NaN)}`;
        return observe(ofParameter(weight), [], `${left} is left.`, {
          observed: shrink(weight),
          threshold: t.regularisationMaxOwnShrink,
        });
      }),
  },
});

function lastNorm({ valueNorm }: ParameterSeries): number {
  return median(valueNorm.subarray(-LAST_PROBES));
}

/** Norm at the end over that of the first snapshot. */
function shrink(weight: ParameterSeries): number {
  return lastNorm(weight) / (weight.valueNorm[0] ?? Number.NaN);
}
