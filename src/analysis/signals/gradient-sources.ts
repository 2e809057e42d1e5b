/** Where the size of gradients can be seen: layers, else parameters; and the norm of all of them together. */
import { ofLayer, ofMetric, ofParameter, type Subject } from './observe.ts';
import type { Signals } from './signals.ts';

/** One series of gradient norms. */
export type GradientSource = Subject & {
  /** L2 norm of each row; NaN where it is not known. */
  readonly norms: Float64Array;
  /** Norm over the square root of the number of elements: does not grow with the size of a layer. NaN for a metric. */
  readonly sizes: Float64Array;
};

/** Gradients of layers in the order of the forward pass, or of weights where no layer was probed. */
export function gradientSources(signals: Signals): readonly GradientSource[] {
  const layers = signals.layers('gradient').map((layer): GradientSource => ({
    ...ofLayer(layer),
    ...sizesOf(layer.norm, layer.nonFiniteCount, layer.elementCount),
  }));
  return layers.length > 0 ? layers : weightSources(signals);
}

/** Gradients of weights in the order of the model. */
export function weightSources(signals: Signals): readonly GradientSource[] {
  return signals.weights
    .filter(({ gradientNorm }) => gradientNorm.some((norm) => !Number.isNaN(norm)))
    .map((weight) => ({
      ...ofParameter(weight),
      ...sizesOf(weight.gradientNorm, weight.gradientNonFiniteCount, weight.elementCount),
    }));
}

/** The norm of all gradients together, as a list of none or one. */
export function wholeGradient(signals: Signals): readonly GradientSource[] {
  const series = signals.gradientNorm;
  if (series === undefined) return [];
  const sizes = new Float64Array(series.values.length).fill(Number.NaN);
  return [{ ...ofMetric(series), norms: series.values, sizes }];
}

/** Norms are those of the finite elements: where others are not finite, they say nothing of the size of the gradient. */
function sizesOf(
  recorded: Float64Array,
  nonFinite: Float64Array,
  counts: Float64Array,
): Pick<GradientSource, 'norms' | 'sizes'> {
  const norms = recorded.map((norm, row) => ((nonFinite[row] ?? 0) > 0 ? Number.NaN : norm));
  const sizes = norms.map((norm, row) => norm / Math.sqrt(counts[row] ?? Number.NaN));
  return { norms, sizes };
}
