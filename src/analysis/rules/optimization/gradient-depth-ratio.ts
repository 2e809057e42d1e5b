import { gradientSources, weightSources } from '../../signals/gradient-sources.ts';
import { observe } from '../../signals/observe.ts';
import { saySpan, spanOfRows } from '../../signals/positions.ts';
import { defineRule } from '../../signals/rule.ts';
import { median } from '../../signals/statistics.ts';
import { say } from '../../text/sentences.ts';

export const gradientDepthRatio = defineRule({
  id: 'gradient_depth_ratio',
  category: 'optimization',
  needs: { anyOf: ['gradients'] },
  detects: 'Gradients that shrink or grow by orders of magnitude from the last layer to the first.',
  source:
    'AUTOTRAINER (first over last layer below 1e-3, above 70), per element so that sizes of layers do not enter',
  cause: 'gradients shrink at every layer on their way back',
  advice:
    'use He initialisation with ReLU-like activations, normalisation layers or skip connections',
  live: 'trend',
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
  measure({ signals, thresholds: t }) {
    const weights = weightSources(signals);
    const sources =
      weights.length >= t.gradientDepthRatioMinLayers ? weights : gradientSources(signals);
    const [first] = sources;
    const last = sources.at(-1);
    if (first === undefined || last === undefined || sources.length < t.gradientDepthRatioMinLayers)
      return [];
    const rows = Math.min(first.sizes.length, last.sizes.length);
    const ratios = first.sizes
      .subarray(0, rows)
      .map((size, row) => size / (last.sizes[row] ?? Number.NaN))
      .filter((ratio) => Number.isFinite(ratio));
    if (ratios.length < t.gradientDepthRatioMinProbes) return [];
    const ratio = median(ratios);
    const isLow = ratio < t.gradientDepthRatioLow;
    const { isHarmed, isSolved, learnedShare } = signals;
    // Optimizers with a step size of each parameter make up for much of this.
    const isHarmless = isSolved || (learnedShare >= t.gradientDepthRatioLearned && !isHarmed);
    if ((!isLow && ratio <= t.gradientDepthRatioHigh) || isHarmless) return [];
    const span = spanOfRows(first.series, 0, rows - 1);
    return [{ first, last, sources, ratio, isLow, span, learnedShare }];
  },
  finding: {
    levels: {
      error: ({ ratio }, t) => ratio < t.gradientDepthRatioLow / 100,
      warning: () => true,
    },
    title: ({ isLow }) => (isLow ? 'Gradients vanish with depth' : 'Gradients grow with depth'),
    fact: ({ first, last, ratio, span }) =>
      `The gradient per element of ${first.source} is ${say(ratio)} times that of ${last.source} ${saySpan(span)}.`,
    confidence: ({ learnedShare }) => (learnedShare < 0.1 ? 0.9 : 0.75),
    cause: ({ isLow }) => (isLow ? undefined : 'gradients grow at every layer on their way back'),
    advice: ({ isLow }) =>
      isLow ? undefined : 'use smaller initial weights and clip the gradient norm',
    span: ({ span }) => span,
    evidence: ({ isLow, sources }, t) =>
      sources.slice(0, 8).map((source) => {
        const observed = median(source.sizes);
        return observe(source, [], `Typical gradient per element ${say(observed)}.`, {
          observed,
          threshold: isLow ? t.gradientDepthRatioLow : t.gradientDepthRatioHigh,
        });
      }),
  },
});
