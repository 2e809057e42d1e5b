import { lateProgress } from '../../signals/late-progress.ts';
import { saySpan, spanOfRows } from '../../signals/positions.ts';
import { defineRule } from '../../signals/rule.ts';
import type { Signals } from '../../signals/signals.ts';
import { median } from '../../signals/statistics.ts';
import { blows, observeRatio, swept, updateRatios } from '../../signals/update-ratios.ts';
import { say } from '../../text/sentences.ts';

export const updateRatioLow = defineRule({
  id: 'update_ratio_low',
  category: 'optimization',
  needs: { anyOf: ['parameters'], points: 'updateRatioLowMinProbes' },
  detects:
    'Updates that are next to nothing beside the weights they change, while there is something left to learn.',
  source:
    'TheDeepChecker (log10 of the ratio within -4 and -1), SageMaker Debugger (1e-8); gradients that keep their direction: ours',
  cause: 'the learning rate is too low, or the gradients are too small',
  advice: 'multiply the learning rate by 10',
  live: 'trend',
  thresholds: {
    updateRatioLow: { value: 1e-4, doc: 'Typical norm of the update over that of the weights.' },
    updateRatioLowAligned: {
      value: 1e-3,
      doc: 'The same, where gradients keep their direction and the loss still falls at the end; about 1e-3 is usual.',
    },
    updateRatioLowMinCosine: {
      value: 0.4,
      doc: 'Typical cosine of the gradients of successive snapshots from which they keep their direction.',
    },
    updateRatioLowMinProbes: { value: 3, doc: 'Fewest snapshots after the first tenth.' },
    updateRatioLowLearned: {
      value: 0.1,
      doc: 'Share of its start that the loss must have lost for small updates to count as enough.',
    },
  },
  measure({ columns, signals, thresholds: t }) {
    const all = updateRatios(signals, t.updateRatioLowMinProbes).toSorted(
      (a, b) => a.ratio - b.ratio,
    );
    const typical = median(all.map(({ ratio }) => ratio));
    // After a blow that threw the weights far off there may be no gradient left: then it was the rate that was too high.
    const isThrown = blows(signals, 1, 2).length > 0 || swept(signals, 0.1, 2).length > 0;
    const [lowest] = all;
    if (lowest === undefined || signals.isHarmed || isThrown) return [];
    const cosine = median(
      all.map(({ start, weight }) => median(weight.gradientCosine.subarray(start))),
    );
    const { isContinued } = columns.run;
    // Gradients that keep their direction would bear larger steps, and the loss has not come to where it levels off.
    const isCrawling =
      typical < t.updateRatioLowAligned &&
      cosine >= t.updateRatioLowMinCosine &&
      stillFalls(signals) &&
      !signals.isSolved &&
      !isContinued;
    // Fine-tuning and late training live well on small updates: only a loss that has not moved speaks against them.
    const isFine =
      isContinued || signals.isSolved || !(signals.learnedShare < t.updateRatioLowLearned);
    if (!isCrawling && (isFine || !(typical < t.updateRatioLow))) return [];
    return [{ all, lowest, typical, cosine, isCrawling }];
  },
  finding: {
    levels: { error: ({ typical }, t) => typical < t.updateRatioLow / 100, warning: () => true },
    title: 'Updates are too small',
    fact: ({ cosine, isCrawling, lowest, typical }) => {
      const beside = isCrawling
        ? `while gradients keep their direction (cosine ${say(cosine)}) and the loss goes on falling to the end`
        : 'and the loss has hardly moved';
      return `The typical update is ${say(typical)} of the weights it changes ${saySpan(spanOfRows(lowest.weight, lowest.start))}, ${beside}.`;
    },
    confidence: 0.85,
    // No learning rate makes something of nothing.
    cause: ({ typical }) =>
      typical === 0
        ? 'no gradient reaches these weights: dead or saturated units lie behind them'
        : undefined,
    advice: ({ typical }) =>
      typical === 0
        ? 'check the initial values and the activations of the layers that follow'
        : undefined,
    evidence: ({ all }, t) => all.slice(0, 5).map((one) => observeRatio(one, t.updateRatioLow)),
  },
});

/** Share of all that was gained that the last two fifths of the run brought, from which it is far from done. */
const LATE_SHARE = 0.15;

/** Whether the loss falls to the end as if the run had only begun. */
function stillFalls(signals: Signals): boolean {
  const progress = lateProgress(signals, [0.5, 0.6]);
  if (progress === undefined) return false;
  const { gained, late, noise } = progress;
  return gained > 0 && late > 3 * noise && late >= LATE_SHARE * gained;
}
