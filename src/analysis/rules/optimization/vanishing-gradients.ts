import {
  gradientSources,
  wholeGradient,
  type GradientSource,
} from '../../signals/gradient-sources.ts';
import { placeAt, sayRange } from '../../signals/positions.ts';
import { defineRule, say, sayShare, severityAbove } from '../../signals/rule.ts';
import type { Signals } from '../../signals/signals.ts';
import { median } from '../../signals/statistics.ts';

/** A layer whose gradient per element is this far below the largest of all layers gets next to nothing. */
const DEPTH_RATIO = 1e-3;
/** Share of its start that a loss must have lost for gradients to count as doing their work. */
const LEARNED = 0.2;

export const vanishingGradients = defineRule({
  id: 'vanishing_gradients',
  category: 'optimization',
  detects:
    'Gradients that are next to nothing in most probes, while there is something left to learn.',
  source: 'the reference; the profile by depth: AUTOTRAINER (2021)',
  cause: 'saturating activations or too small weights shrink the gradient from layer to layer',
  advice:
    'use ReLU-like activations with He initialisation, or add normalisation or skip connections',
  thresholds: {
    vanishingGradientNorm: {
      value: 1e-4,
      doc: 'L2 norm below which a gradient counts as vanished.',
    },
    vanishingGradientWarningRatio: { value: 0.5, doc: 'Share of vanished samples for a warning.' },
    vanishingGradientErrorRatio: { value: 0.75, doc: 'Share of vanished samples for an error.' },
    vanishingGradientCriticalRatio: {
      value: 0.9,
      doc: 'Share of vanished samples that is critical.',
    },
    vanishingGradientMinSamples: { value: 4, doc: 'Fewest samples, of all layers together.' },
  },
  evaluate({ isReference, signals, thresholds }) {
    const limit = thresholds.vanishingGradientNorm;
    const layers = gradientSources(signals);
    const sources = layers.length > 0 ? layers : wholeGradient(signals);
    // Zeros that are left of a loss that is NaN are no gradients.
    const brokenAt = lastBreak(signals);
    let count = 0;
    let vanished = 0;
    for (const { norms, series } of sources) {
      for (let row = 0; row < norms.length; row++) {
        const norm = norms[row] ?? Number.NaN;
        if (norm - norm !== 0 || (series.steps[row] ?? Number.NaN) >= brokenAt) continue;
        count++;
        if (norm < limit) vanished++;
      }
    }
    if (count < thresholds.vanishingGradientMinSamples) return [];
    const share = vanished / count;
    const severity = severityAbove(
      share,
      thresholds.vanishingGradientWarningRatio,
      thresholds.vanishingGradientErrorRatio,
      thresholds.vanishingGradientCriticalRatio,
    );
    if (severity === undefined) return [];
    const affected = sources.filter((source) => median(source.norms) < limit);
    if (!isReference && !(!signals.isSolved && hasReason(sources, affected, signals.learnedShare)))
      return [];
    const [first] = affected.length > 0 ? affected : sources;
    if (first === undefined) return [];
    const from = placeAt(first.series, 0);
    const to = placeAt(first.series, first.norms.length - 1);
    return [
      {
        severity,
        title: 'Gradients vanish',
        fact: `${sayShare(share)} of the gradient samples have a norm below ${say(limit)}, ${sayRange(from, to)}, first in ${first.source}.`,
        confidence: isReference ? 0.6 : 0.8,
        from,
        to,
        observations: [
          {
            kind: first.kind,
            source: first.source,
            summary: `${vanished} of ${count} gradient samples below ${say(limit)}.`,
            observed: share,
            threshold: thresholds.vanishingGradientWarningRatio,
            from,
            to,
          },
          ...affected.slice(0, 5).map((source) => ({
            kind: source.kind,
            source: source.source,
            summary: `Median gradient norm ${say(median(source.norms))}.`,
            observed: median(source.norms),
            threshold: limit,
            from: placeAt(source.series, 0),
            to: placeAt(source.series, source.norms.length - 1),
          })),
        ],
      },
    ];
  },
});

/** Either the loss did not fall, or the affected layers get far less per element than others. */
function hasReason(
  sources: readonly GradientSource[],
  affected: readonly GradientSource[],
  learnedShare: number,
): boolean {
  if (learnedShare < LEARNED) return true;
  const sizes = sources
    .map((source) => median(source.sizes))
    .filter((size) => Number.isFinite(size));
  const largest = sizes.reduce((a, b) => Math.max(a, b), 0);
  return affected.some((source) => median(source.sizes) < DEPTH_RATIO * largest);
}

/** The first step from which on a training loss has no finite value; infinity where all have one in the end. */
function lastBreak(signals: Signals): number {
  return signals.trainLosses.reduce((earliest, { steps, values }) => {
    const finite = values.findLastIndex((value) => Number.isFinite(value));
    return Math.min(earliest, steps[finite + 1] ?? Number.POSITIVE_INFINITY);
  }, Number.POSITIVE_INFINITY);
}
