import { gradientSources } from '../../signals/gradient-sources.ts';
import { placeAt, rowBefore, sayRange } from '../../signals/positions.ts';
import { axisOf } from '../../columns/run-columns.ts';
import { defineRule, say, sayOthers, severityAbove } from '../../signals/rule.ts';
import { longestRun, median } from '../../signals/statistics.ts';
import type { GradientSource } from '../../signals/gradient-sources.ts';

/** A layer that gets this little per element, next to the typical layer of the same probes, stands still. */
const PEER_RATIO = 1e-3;

export const stagnantLayers = defineRule({
  id: 'stagnant_layers',
  category: 'representation',
  detects: 'A layer that gets next to no gradient, probe after probe, while others learn.',
  source: 'the reference; the comparison with the other layers is ours',
  cause: 'the layer is cut off: dead or saturated units behind it, or a detached branch',
  advice:
    'look at the activations of the layer and of the next one, and check that the layer is connected and trainable',
  thresholds: {
    stagnantLayerGradientNorm: {
      value: 1e-4,
      doc: 'L2 norm below which a gradient counts as none.',
    },
    stagnantLayerWarningProbes: { value: 2, doc: 'Probes in a row for a warning.' },
    stagnantLayerErrorProbes: { value: 4, doc: 'Probes in a row for an error.' },
    stagnantLayerCriticalProbes: { value: 6, doc: 'Probes in a row that are critical.' },
  },
  evaluate({ isReference, signals, thresholds }) {
    const limit = thresholds.stagnantLayerGradientNorm;
    const sources = gradientSources(signals);
    const found = sources
      .map((source) => ({
        source,
        ...longestRun(source.norms.length, (row) => {
          const norm = source.norms[row] ?? Number.NaN;
          return norm < limit && (isReference || isBehind(source, row, sources));
        }),
      }))
      .filter(({ length }) => length >= thresholds.stagnantLayerWarningProbes)
      .toSorted((a, b) => b.length - a.length);
    if (found.length === 0 || (!isReference && signals.isSolved)) return [];
    // The others must learn: where every layer stands still, it is the gradient that vanishes.
    if (!isReference && found.length > sources.length / 2) return [];
    const [worst] = found;
    if (worst === undefined) return [];
    const severity =
      severityAbove(
        worst.length,
        thresholds.stagnantLayerWarningProbes,
        thresholds.stagnantLayerErrorProbes,
        thresholds.stagnantLayerCriticalProbes,
      ) ?? 'warning';
    const observations = found.slice(0, 5).map(({ length, source, start }) => ({
      kind: source.kind,
      source: source.source,
      summary: `Gradient norm below ${say(limit)} for ${length} probes in a row.`,
      observed: length,
      threshold: thresholds.stagnantLayerWarningProbes,
      from: placeAt(source.series, start),
      to: placeAt(source.series, start + length - 1),
    }));
    const from = placeAt(worst.source.series, worst.start);
    const to = placeAt(worst.source.series, worst.start + worst.length - 1);
    return [
      {
        severity,
        title: `${worst.source.source} gets no gradient`,
        fact: `The gradient norm of ${worst.source.source} stayed below ${say(limit)} for ${worst.length} probes ${sayRange(from, to)}${found.length > 1 ? `, and so did that of ${sayOthers(found.length - 1)}` : ''}.`,
        confidence: isReference ? 0.6 : 0.85,
        from,
        to,
        observations,
      },
    ];
  },
});

/** Whether the gradient per element is far below that of the typical other layer at the same place. */
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
