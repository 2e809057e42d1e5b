import { placeAt, sayRange } from './places.ts';
import { defineRule, say, type Finding } from './rule.ts';
import { blows, observeRatio, updateRatios } from './update-ratios.ts';

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
    updateRatioBlow: {
      value: 1,
      doc: 'Norm of single updates over that of the weights, at any time, that counts as a blow.',
    },
    updateRatioMinBlows: {
      value: 2,
      doc: 'Fewest such updates of one weight, where not all weights got one.',
    },
    updateRatioMinProbes: { value: 3, doc: 'Fewest snapshots after the first tenth.' },
    updateRatioHighLearned: {
      value: 0.5,
      doc: 'Share of its start that the loss must have lost for large updates to count as harmless.',
    },
  },
  evaluate({ signals, thresholds: t }) {
    const all = updateRatios(signals, t.updateRatioMinProbes);
    const lasting = all
      .filter(({ ratio }) => ratio > t.updateRatioHigh)
      .toSorted((a, b) => b.ratio - a.ratio);
    // Weights that were once pushed further than they were large: what follows may look calm.
    const pushed = blows(signals, t.updateRatioBlow, t.updateRatioMinBlows);
    const found = lasting.length > 0 ? lasting : pushed;
    const [worst] = found;
    if (worst === undefined) return [];
    // Large updates of small networks often do no harm: the loss must agree.
    const isFine =
      signals.learnedShare >= t.updateRatioHighLearned &&
      signals.learnedSinceFirst >= t.updateRatioHighLearned &&
      !signals.isHarmed;
    if (isFine) return [];
    const { ratio, start, weight } = worst;
    const from = placeAt(weight, start);
    const to = placeAt(weight, weight.steps.length - 1);
    const finding: Finding = {
      severity: ratio > 1 || signals.isHarmed ? 'error' : 'warning',
      title: 'Updates are too large',
      fact: `${lasting.length > 0 ? 'The typical update' : 'The largest of some updates'} of ${weight.parameterName} is ${say(ratio)} of its weights ${sayRange(from, to)}${found.length > 1 ? `, and ${found.length - 1} other weights are above ${say(t.updateRatioHigh)}` : ''}.`,
      confidence: signals.isHarmed ? 0.92 : 0.8,
      from,
      to,
      observations: found.slice(0, 5).map((one) => {
        const observation = observeRatio(
          one,
          lasting.length > 0 ? t.updateRatioHigh : t.updateRatioBlow,
        );
        if (lasting.length > 0) return observation;
        return {
          ...observation,
          summary: `${one.count === 1 ? 'One update' : `${one.count} updates`} of the size of the weights, up to ${say(one.ratio)} of them.`,
        };
      }),
    };
    return [finding];
  },
});
