import { axisOf } from '../../columns/run-columns.ts';
import { gradientSources, type GradientSource } from '../../signals/gradient-sources.ts';
import { ladder } from '../../signals/ladder.ts';
import { observe } from '../../signals/observe.ts';
import { rowBefore, saySpan, spanOfRows } from '../../signals/positions.ts';
import { defineRule } from '../../signals/rule.ts';
import { longestRun, median } from '../../signals/statistics.ts';
import { say, sayOthers, when } from '../../text/sentences.ts';

/** A layer that gets this little per element, next to the typical layer of the same probes, does not learn. */
const PEER_RATIO = 1e-3;

const PROBES = ladder('Probes in a row in which a layer gets no gradient', {
  stagnantLayerWarningProbes: 2,
  stagnantLayerErrorProbes: 4,
  stagnantLayerCriticalProbes: 6,
});

export const stagnantLayers = defineRule({
  id: 'stagnant_layers',
  category: 'representation',
  needs: { anyOf: ['gradients'] },
  detects: 'A layer that gets next to no gradient, probe after probe, while others learn.',
  source: 'abiotic-quark; the comparison with the other layers is ours',
  cause: 'the layer is cut off: dead or saturated units behind it, or a detached branch',
  advice:
    'check the activations of the layer and of the next one, and that the layer is connected and trainable',
  live: 'trend',
  thresholds: {
    stagnantLayerGradientNorm: {
      value: 1e-4,
      doc: 'L2 norm below which a gradient counts as none.',
    },
    ...PROBES.thresholds,
  },
  measure({ isAbsolute, signals, thresholds: t }) {
    const sources = gradientSources(signals);
    const found = sources
      .map((source) => {
        const { length: probes, start } = longestRun(
          source.norms.length,
          (row) =>
            (source.norms[row] ?? Number.NaN) < t.stagnantLayerGradientNorm &&
            (isAbsolute || isBehind(source, row, sources)),
        );
        return { source, probes, rows: [start, start + probes - 1] as const };
      })
      .filter(({ probes }) => probes >= t.stagnantLayerWarningProbes)
      .toSorted((a, b) => b.probes - a.probes);
    // The others must learn: where no layer gets a gradient, it is the gradient that vanishes.
    const isOfAll = found.length > sources.length / 2;
    if (!isAbsolute && (isOfAll || signals.isSolved)) return [];
    return found.slice(0, 1).map((worst) => ({ ...worst, found, isAbsolute }));
  },
  finding: {
    levels: PROBES.levels('probes'),
    title: ({ source }) => `${source.source} gets no gradient`,
    fact: ({ found, probes, rows, source }, t) => {
      const stayed = `stayed below ${say(t.stagnantLayerGradientNorm)} for ${probes} probes`;
      const others = when(found.length > 1, `, and so did that of ${sayOthers(found.length - 1)}`);
      return `The gradient norm of ${source.source} ${stayed} ${saySpan(spanOfRows(source.series, ...rows))}${others}.`;
    },
    confidence: ({ isAbsolute }) => (isAbsolute ? 0.6 : 0.85),
    evidence: ({ found }, t) =>
      found.slice(0, 5).map(({ probes, rows, source }) => {
        const below = `below ${say(t.stagnantLayerGradientNorm)} for ${probes} probes in a row`;
        return observe(source, rows, `Gradient norm ${below}.`, {
          observed: probes,
          threshold: t.stagnantLayerWarningProbes,
        });
      }),
  },
});

/** Whether the gradient per element is far below that of the typical other layer at the same position. */
function isBehind(
  source: GradientSource,
  row: number,
  sources: readonly GradientSource[],
): boolean {
  const position = axisOf(source.series)[row] ?? 0;
  const peers = sources
    .filter((other) => other !== source)
    .map((other) => other.sizes[rowBefore(other.series, position)] ?? Number.NaN);
  return (source.sizes[row] ?? Number.NaN) < PEER_RATIO * median(peers);
}
