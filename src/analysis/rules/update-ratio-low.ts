import { placeAt, sayRange } from './places.ts';
import { defineRule, say, type Finding } from './rule.ts';
import { observeRatio, updateRatios } from './update-ratios.ts';
import { median } from './statistics.ts';

export const updateRatioLow = defineRule({
  id: 'update_ratio_low',
  category: 'optimization',
  detects:
    'Updates that are next to nothing beside the weights they change, while there is something left to learn.',
  source: 'TheDeepChecker (log10 of the ratio within -4 and -1), SageMaker Debugger (1e-8)',
  cause: 'the learning rate is too low, or the gradients are',
  advice: 'multiply the learning rate by 10',
  thresholds: {
    updateRatioLow: { value: 1e-4, doc: 'Typical norm of the update over that of the weights.' },
    updateRatioLowMinProbes: { value: 3, doc: 'Fewest snapshots after the first tenth.' },
    updateRatioLowLearned: {
      value: 0.1,
      doc: 'Share of its start that the loss must have lost for small updates to count as enough.',
    },
  },
  evaluate({ columns, signals, thresholds: t }) {
    const all = updateRatios(signals, t.updateRatioLowMinProbes);
    const typical = median(all.map(({ ratio }) => ratio));
    if (all.length === 0 || !(typical < t.updateRatioLow)) return [];
    // Fine-tuning and late training live well on small updates: only a loss that has not moved speaks against them.
    const isFine =
      columns.run.isContinued ||
      signals.isSolved ||
      !(signals.learnedShare < t.updateRatioLowLearned);
    if (isFine) return [];
    const [lowest] = all.toSorted((a, b) => a.ratio - b.ratio);
    if (lowest === undefined) return [];
    const from = placeAt(lowest.weight, lowest.start);
    const to = placeAt(lowest.weight, lowest.weight.steps.length - 1);
    const finding: Finding = {
      severity: typical < t.updateRatioLow / 100 ? 'error' : 'warning',
      title: 'Updates are too small',
      fact: `The typical update is ${say(typical)} of the weights it changes ${sayRange(from, to)}, and the loss has hardly moved.`,
      confidence: 0.85,
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
