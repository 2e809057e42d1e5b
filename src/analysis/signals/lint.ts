/** What the checks of a model's configuration share. */
import type { AlertSeverity } from '../../records/literals.ts';
import type { ModelLayer } from './model-layers.ts';

/** Something about a model that can be seen before it is trained. */
export type Lint = {
  readonly severity: AlertSeverity;
  readonly where: string;
  readonly fact: string;
  readonly cause: string;
  readonly advice: string;
  readonly observed?: number;
  readonly threshold?: number;
};

const ACTIVATION_LAYER =
  /^(?:re_?lu|leaky_?re_?lu|pre_?lu|elu|selu|gelu|silu|swish|tanh|sigmoid|softmax|activation|thresholdedrelu)$/i;

/** The activation that the values of a layer have gone through; layers that only shape or drop are looked through. */
export function activationOf(layer: ModelLayer): string {
  if (ACTIVATION_LAYER.test(layer.type) && !/^activation$/i.test(layer.type))
    return layer.type.toLowerCase().replace(/_/g, '');
  return layer.activation;
}
