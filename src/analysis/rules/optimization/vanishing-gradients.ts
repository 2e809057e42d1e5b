import {
  gradientSources,
  wholeGradient,
  type GradientSource,
} from '../../signals/gradient-sources.ts';
import { isSoftmax, softmaxCertainty } from '../../signals/layer-facts.ts';
import { ladder } from '../../signals/ladder.ts';
import { observe } from '../../signals/observe.ts';
import { saySpan, spanOfRows } from '../../signals/positions.ts';
import { defineRule } from '../../signals/rule.ts';
import type { Signals } from '../../signals/signals.ts';
import { median } from '../../signals/statistics.ts';
import { say, sayShare } from '../../text/sentences.ts';

/** A layer whose gradient per element is this far below the largest of all layers gets next to nothing. */
const DEPTH_RATIO = 1e-3;
/** Share of its start that a loss must have lost for gradients to count as doing their work. */
const LEARNED = 0.2;

const RATIO = ladder('Share of gradient samples that have vanished', {
  vanishingGradientWarningRatio: 0.5,
  vanishingGradientErrorRatio: 0.75,
  vanishingGradientCriticalRatio: 0.9,
});

export const vanishingGradients = defineRule({
  id: 'vanishing_gradients',
  category: 'optimization',
  needs: { anyOf: ['gradients'] },
  detects:
    'Gradients that are next to nothing in most probes, while there is something left to learn.',
  source: 'abiotic-quark; the profile by depth: AUTOTRAINER (2021)',
  cause:
    'activations that saturate or weights that are too small shrink the gradient from layer to layer',
  advice:
    'use ReLU-like activations with He initialisation, or add normalisation or skip connections',
  live: 'trend',
  thresholds: {
    vanishingGradientNorm: {
      value: 1e-4,
      doc: 'L2 norm below which a gradient counts as vanished.',
    },
    ...RATIO.thresholds,
    vanishingGradientMinSamples: { value: 4, doc: 'Fewest samples, of all layers together.' },
  },
  measure({ isAbsolute, signals, thresholds: t }) {
    const limit = t.vanishingGradientNorm;
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
    const share = vanished / count;
    if (count < t.vanishingGradientMinSamples || share < t.vanishingGradientWarningRatio) return [];
    const affected = sources.filter((source) => median(source.norms) < limit);
    const [first] = affected.length > 0 ? affected : sources;
    if (first === undefined) return [];
    if (!isAbsolute && isCutOffBySoftmax(signals)) return [];
    if (!isAbsolute && (signals.isSolved || !hasReason(sources, affected, signals.learnedShare)))
      return [];
    return [{ first, affected, count, vanished, share, isAbsolute }];
  },
  finding: {
    levels: RATIO.levels('share'),
    title: 'Gradients vanish',
    fact: ({ first, share }, t) =>
      `${sayShare(share)} of the gradient samples have a norm below ${say(t.vanishingGradientNorm)}, ${saySpan(spanOfRows(first.series))}, first in ${first.source}.`,
    confidence: ({ isAbsolute }) => (isAbsolute ? 0.6 : 0.8),
    evidence: ({ affected, count, first, share, vanished }, t) => {
      const below = `below ${say(t.vanishingGradientNorm)}`;
      return [
        observe(first, [], `${vanished} of ${count} gradient samples ${below}.`, {
          observed: share,
          threshold: t.vanishingGradientWarningRatio,
        }),
        ...affected.slice(0, 5).map((source) => {
          const observed = median(source.norms);
          const threshold = t.vanishingGradientNorm;
          const summary = `Median gradient norm ${say(observed)}.`;
          return observe(source, [], summary, { observed, threshold });
        }),
      ];
    },
  },
});

/** Mean sum of the squared outputs of a softmax from which it passes hardly a gradient. */
const SURE = 0.97;

/** Whether the output is a softmax that is saturated: then gradients are small from the loss on, and not from layer to layer. */
function isCutOffBySoftmax(signals: Signals): boolean {
  const output = signals.layers('activation').at(-1);
  return output !== undefined && isSoftmax(output) && median(softmaxCertainty(output)) >= SURE;
}

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
