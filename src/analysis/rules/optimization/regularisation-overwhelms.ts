import type { ParameterSeries } from '../../columns/run-columns.ts';
import { placeAt, sayRange } from '../../signals/positions.ts';
import { levelOf } from '../../signals/profile.ts';
import { defineRule, say, sayShare, type Finding } from '../../signals/rule.ts';
import type { Signals } from '../../signals/signals.ts';
import { median } from '../../signals/statistics.ts';

/** Snapshots at the end that the size of the weights comes from. */
const LAST_PROBES = 3;
/** Weights of fewer elements say too little. */
const MIN_ELEMENTS = 8;

export const regularisationOverwhelms = defineRule({
  id: 'regularisation_overwhelms',
  category: 'optimization',
  detects:
    'Weights that shrink to a small part of their initial size while the model does not learn: the penalty on them outweighs the loss.',
  source:
    'TheDeepChecker (regularisation that outweighs the loss of the data); the size of the weights as its sign is ours',
  cause: 'the weight decay, or the penalty on the weights, is far too strong',
  advice: 'divide it by 100, and log the loss without the penalty',
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
  evaluate({ columns, signals, thresholds: t }) {
    // Behind a normalisation the size of weights means nothing.
    const isNormalised = columns.layers.some(({ moduleType }) => /norm/i.test(moduleType));
    if (columns.run.isContinued || isNormalised) return [];
    if (signals.finalAccuracy >= t.regularisationKnownAccuracy || stillImproves(signals)) return [];
    const weights = signals.weights.filter(
      ({ elementCount, isFrozen, steps, valueStd }) =>
        !isFrozen &&
        (elementCount[0] ?? 0) >= MIN_ELEMENTS &&
        (valueStd[0] ?? 0) > 0 &&
        steps.length >= t.regularisationMinProbes &&
        (steps[0] ?? Number.POSITIVE_INFINITY) <= t.regularisationMaxStep,
    );
    const first = Math.hypot(...weights.map(({ valueNorm }) => valueNorm[0] ?? Number.NaN));
    const last = Math.hypot(...weights.map(lastNorm));
    const share = last / first;
    const [worst] = weights.toSorted((a, b) => shrink(a) - shrink(b));
    if (worst === undefined || weights.length < 2 || !(share < t.regularisationMaxShrink))
      return [];
    if (!weights.every((weight) => shrink(weight) < t.regularisationMaxOwnShrink)) return [];
    const from = placeAt(worst, 0);
    const to = placeAt(worst, worst.steps.length - 1);
    const finding: Finding = {
      severity: 'error',
      title: 'The weights shrink away',
      fact: `The norm of all weights went from ${say(first)} to ${say(last)}, ${sayShare(share)} of it, ${sayRange(from, to)}, and the loss does not fall any more.`,
      confidence: 0.85,
      from,
      to,
      observations: weights
        .toSorted((a, b) => shrink(a) - shrink(b))
        .slice(0, 5)
        .map((weight) => ({
          kind: 'parameter_summary',
          source: weight.parameterName,
          summary: `${sayShare(shrink(weight))} of its first norm ${say(weight.valueNorm[0] ?? Number.NaN)} is left.`,
          observed: shrink(weight),
          threshold: t.regularisationMaxOwnShrink,
          from: placeAt(weight, 0),
          to: placeAt(weight, weight.steps.length - 1),
        })),
    };
    return [finding];
  },
});

function lastNorm({ valueNorm }: ParameterSeries): number {
  return median(valueNorm.subarray(-LAST_PROBES));
}

/** Norm at the end over that of the first snapshot. */
function shrink(weight: ParameterSeries): number {
  return lastNorm(weight) / (weight.valueNorm[0] ?? Number.NaN);
}

/** Share of what was gained that the second half of the run brings where a model learns. */
const LATE_SHARE = 0.1;

/** Whether the loss, of validation where there is one, goes on falling in the second half: then something is learned. */
function stillImproves(signals: Signals): boolean {
  const series = signals.lossPairs[0]?.validation ?? signals.trainLosses[0];
  if (series === undefined) return true;
  const profile = signals.profile(series);
  if (profile.levels.length < 6) return true;
  const half = levelOf(profile, 0.4, 0.6);
  const end = levelOf(profile, 0.9, 1);
  const gained = levelOf(profile, 0, 0.05) - end;
  const late = half - end;
  return late > LATE_SHARE * Math.max(0, gained) && late > 2 * profile.levelNoise;
}
