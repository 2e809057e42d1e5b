import { placeAt, sayRange } from './places.ts';
import { defineRule, say, type Finding } from './rule.ts';
import { observeRatio, updateRatios } from './update-ratios.ts';

export const updateRatioHigh = defineRule({
  id: 'update_ratio_high',
  category: 'optimization',
  detects:
    'Updates that are large beside the weights they change, after the warm-up, while the loss suffers.',
  source: 'TheDeepChecker (log10 of the ratio within -4 and -1)',
  cause: 'the learning rate is too high',
  advice: 'divide the learning rate by 10',
  thresholds: {
    updateRatioHigh: { value: 0.1, doc: 'Typical norm of the update over that of the weights.' },
    updateRatioMinProbes: { value: 3, doc: 'Fewest snapshots after the first tenth.' },
    updateRatioHighLearned: {
      value: 0.5,
      doc: 'Share of its start that the loss must have lost for large updates to count as harmless.',
    },
  },
  evaluate({ signals, thresholds: t }) {
    const all = updateRatios(signals, t.updateRatioMinProbes);
    const found = all
      .filter(({ ratio }) => ratio > t.updateRatioHigh)
      .toSorted((a, b) => b.ratio - a.ratio);
    const [worst] = found;
    if (worst === undefined) return [];
    // Large updates of small networks often do no harm: the loss must agree.
    const isFine = signals.learnedShare >= t.updateRatioHighLearned && !signals.isHarmed;
    if (isFine) return [];
    const { ratio, start, weight } = worst;
    const from = placeAt(weight, start);
    const to = placeAt(weight, weight.steps.length - 1);
    const finding: Finding = {
      severity: ratio > 1 || signals.isHarmed ? 'error' : 'warning',
      title: 'Updates are too large',
      fact: `The typical update of ${weight.parameterName} is ${say(ratio)} of its weights ${sayRange(from, to)}${found.length > 1 ? `, and ${found.length - 1} other weights are above ${say(t.updateRatioHigh)}` : ''}.`,
      confidence: signals.isHarmed ? 0.92 : 0.8,
      from,
      to,
      observations: found.slice(0, 5).map((one) => observeRatio(one, t.updateRatioHigh)),
    };
    return [finding];
  },
});
