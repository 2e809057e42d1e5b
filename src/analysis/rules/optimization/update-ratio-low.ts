import { placeAt, sayRange } from '../../signals/positions.ts';
import { defineRule, say, type Finding } from '../../signals/rule.ts';
import { levelOf } from '../../signals/profile.ts';
import type { Signals } from '../../signals/signals.ts';
import { blows, observeRatio, swept, updateRatios } from '../../signals/update-ratios.ts';
import { median } from '../../signals/statistics.ts';

export const updateRatioLow = defineRule({
  id: 'update_ratio_low',
  category: 'optimization',
  detects:
    'Updates that are next to nothing beside the weights they change, while there is something left to learn.',
  source:
    'TheDeepChecker (log10 of the ratio within -4 and -1), SageMaker Debugger (1e-8); gradients that keep their direction: ours',
  cause: 'the learning rate is too low, or the gradients are',
  advice: 'multiply the learning rate by 10',
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
  evaluate({ columns, signals, thresholds: t }) {
    const all = updateRatios(signals, t.updateRatioLowMinProbes);
    const typical = median(all.map(({ ratio }) => ratio));
    // After a blow that threw the weights far off there may be no gradient left: then it was the rate that was too high.
    const isThrown = blows(signals, 1, 2).length > 0 || swept(signals, 0.1, 2).length > 0;
    if (all.length === 0 || signals.isHarmed || isThrown) return [];
    const cosine = median(
      all.map(({ start, weight }) => median(weight.gradientCosine.subarray(start))),
    );
    // Gradients that keep their direction would bear larger steps, and the loss has not come to where it levels off.
    const isCrawling =
      typical < t.updateRatioLowAligned &&
      cosine >= t.updateRatioLowMinCosine &&
      stillFalls(signals) &&
      !signals.isSolved &&
      !columns.run.isContinued;
    if (!(typical < t.updateRatioLow) && !isCrawling) return [];
    // Fine-tuning and late training live well on small updates: only a loss that has not moved speaks against them.
    const isFine =
      columns.run.isContinued ||
      signals.isSolved ||
      !(signals.learnedShare < t.updateRatioLowLearned);
    if (isFine && !isCrawling) return [];
    const [lowest] = all.toSorted((a, b) => a.ratio - b.ratio);
    if (lowest === undefined) return [];
    const from = placeAt(lowest.weight, lowest.start);
    const to = placeAt(lowest.weight, lowest.weight.steps.length - 1);
    const finding: Finding = {
      severity: typical < t.updateRatioLow / 100 ? 'error' : 'warning',
      title: 'Updates are too small',
      fact: `The typical update is ${say(typical)} of the weights it changes ${sayRange(from, to)}, ${isCrawling ? `while gradients keep their direction (cosine ${say(cosine)}) and the loss goes on falling to the end` : 'and the loss has hardly moved'}.`,
      confidence: 0.85,
      ...(typical === 0 ? NO_UPDATE : {}),
      from,
      to,
      observations: all
        .toSorted((a, b) => a.ratio - b.ratio)
        .slice(0, 5)
        .map((one) => observeRatio(one, t.updateRatioLow)),
    };
    return [finding];
  },
});

/** No learning rate makes something of nothing. */
const NO_UPDATE = {
  cause: 'no gradient reaches these weights: dead or saturated units lie behind them',
  advice: 'look at the initial values and at the activations of the layers that follow',
};

/** Share of all that was gained that the last two fifths of the run brought, from which it is far from done. */
const LATE_SHARE = 0.15;

/** Whether the loss falls to the end as if the run had only begun: of validation where there is one, as it is less noisy. */
function stillFalls(signals: Signals): boolean {
  const [pair] = signals.lossPairs;
  const series = pair?.validation ?? signals.trainLosses[0];
  if (series === undefined) return false;
  const profile = signals.profile(series);
  if (profile.levels.length < 6) return false;
  const gained = levelOf(profile, 0, 0.05) - levelOf(profile, 0.9, 1);
  const late = levelOf(profile, 0.5, 0.6) - levelOf(profile, 0.9, 1);
  return gained > 0 && late > 3 * profile.levelNoise && late >= LATE_SHARE * gained;
}
