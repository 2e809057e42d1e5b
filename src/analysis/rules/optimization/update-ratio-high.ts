import { placeAt, sayRange } from '../../signals/positions.ts';
import { defineRule, say, type Finding } from '../../signals/rule.ts';
import { blows, grownBy, observeRatio, swept, updateRatios } from '../../signals/update-ratios.ts';

export const updateRatioHigh = defineRule({
  id: 'update_ratio_high',
  category: 'optimization',
  detects:
    'Updates that are large beside the weights they change, or were at first and have carried the weights far off, while the loss suffers.',
  source:
    'TheDeepChecker (log10 of the ratio within -4 and -1; weights that grow by a factor of 2 diverge); that nearly all weights must have gone that way is ours',
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
    updateRatioGrowth: {
      value: 2,
      doc: 'Factor by which weights have grown under updates above `updateRatioHigh`, though later ones are small beside them.',
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
    const carried = swept(signals, t.updateRatioHigh, t.updateRatioGrowth);
    const found = [lasting, pushed, carried].find((list) => list.length > 0) ?? [];
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
    const others = found.length - 1;
    const name = weight.parameterName;
    const fact =
      found === lasting
        ? `The typical update of ${name} is ${say(ratio)} of its weights ${sayRange(from, to)}${others > 0 ? `, and ${others} other weights are above ${say(t.updateRatioHigh)}` : ''}.`
        : found === pushed
          ? `The largest of some updates of ${name} is ${say(ratio)} of its weights ${sayRange(from, to)}${others > 0 ? `, and ${others} other weights got such updates` : ''}.`
          : `Updates of up to ${say(ratio)} of its weights have carried ${name} to ${say(grownBy(weight))} times its first size ${sayRange(from, to)}${others > 0 ? `, and ${others} other weights went the same way` : ''}.`;
    const finding: Finding = {
      severity: ratio > 1 || signals.isHarmed ? 'error' : 'warning',
      title: 'Updates are too large',
      fact,
      confidence: signals.isHarmed ? 0.92 : 0.8,
      from,
      to,
      observations: found.slice(0, 5).map((one) => {
        const observation = observeRatio(
          one,
          found === pushed ? t.updateRatioBlow : t.updateRatioHigh,
        );
        if (found === lasting) return observation;
        if (found === pushed)
          return {
            ...observation,
            summary: `${one.count === 1 ? 'One update' : `${one.count} updates`} of the size of the weights, up to ${say(one.ratio)} of them.`,
          };
        return {
          ...observation,
          summary: `${one.count} updates above ${say(t.updateRatioHigh)} of the weights, which grew to ${say(grownBy(one.weight))} times their first size.`,
          metadata: { growth: grownBy(one.weight) },
        };
      }),
    };
    return [finding];
  },
});
