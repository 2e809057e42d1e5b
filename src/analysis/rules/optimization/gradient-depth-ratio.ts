import { placeAt, sayRange } from '../../signals/positions.ts';
import {
  gradientSources,
  weightSources,
  type GradientSource,
} from '../../signals/gradient-sources.ts';
import { defineRule, say, type Finding } from '../../signals/rule.ts';
import { median } from '../../signals/statistics.ts';

export const gradientDepthRatio = defineRule({
  id: 'gradient_depth_ratio',
  category: 'optimization',
  detects: 'Gradients that shrink or grow by orders of magnitude from the last layer to the first.',
  source:
    'AUTOTRAINER (first over last layer below 1e-3, above 70), per element so that sizes of layers do not enter',
  cause: 'gradients shrink at every layer on their way back',
  advice:
    'use He initialisation with ReLU-like activations, normalisation layers or skip connections',
  thresholds: {
    gradientDepthRatioLow: {
      value: 1e-3,
      doc: 'Gradient per element of the first layer over that of the last, below.',
    },
    gradientDepthRatioHigh: { value: 70, doc: 'The same, above.' },
    gradientDepthRatioMinProbes: { value: 4, doc: 'Fewest probes.' },
    gradientDepthRatioMinLayers: { value: 3, doc: 'Fewest layers with weights.' },
    gradientDepthRatioLearned: {
      value: 0.5,
      doc: 'Share of its start that the loss must have lost for the ratio to count as harmless.',
    },
  },
  evaluate({ signals, thresholds: t }) {
    const weights = weightSources(signals);
    const sources =
      weights.length >= t.gradientDepthRatioMinLayers ? weights : gradientSources(signals);
    const [first] = sources;
    const last = sources.at(-1);
    if (first === undefined || last === undefined || sources.length < t.gradientDepthRatioMinLayers)
      return [];
    const rows = Math.min(first.sizes.length, last.sizes.length);
    const ratios = Array.from(
      { length: rows },
      (_, row) => (first.sizes[row] ?? Number.NaN) / (last.sizes[row] ?? Number.NaN),
    ).filter((ratio) => Number.isFinite(ratio));
    if (ratios.length < t.gradientDepthRatioMinProbes) return [];
    const ratio = median(ratios);
    const isLow = ratio < t.gradientDepthRatioLow;
    if (!isLow && ratio <= t.gradientDepthRatioHigh) return [];
    // Optimizers with a step size of each parameter make up for much of this.
    if (
      signals.isSolved ||
      (signals.learnedShare >= t.gradientDepthRatioLearned && !signals.isHarmed)
    )
      return [];
    const from = placeAt(first.series, 0);
    const to = placeAt(first.series, rows - 1);
    const finding: Finding = {
      severity: isLow && ratio < t.gradientDepthRatioLow / 100 ? 'error' : 'warning',
      title: isLow ? 'Gradients vanish with depth' : 'Gradients grow with depth',
      fact: `The gradient per element of ${first.source} is ${say(ratio)} times that of ${last.source} ${sayRange(from, to)}.`,
      confidence: signals.learnedShare < 0.1 ? 0.9 : 0.75,
      ...(isLow
        ? {}
        : {
            cause: 'gradients grow at every layer on their way back',
            advice: 'use smaller initial weights and clip the gradient norm',
          }),
      from,
      to,
      observations: sources.slice(0, 8).map((source: GradientSource) => ({
        kind: source.kind,
        source: source.source,
        summary: `Typical gradient per element ${say(median(source.sizes))}.`,
        observed: median(source.sizes),
        threshold: isLow ? t.gradientDepthRatioLow : t.gradientDepthRatioHigh,
        from: placeAt(source.series, 0),
        to: placeAt(source.series, source.sizes.length - 1),
      })),
    };
    return [finding];
  },
});
