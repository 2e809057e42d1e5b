/** Checks of a model's configuration, before it is trained. */
import type { AlertSeverity } from '../../../records/literals.ts';
import type { ModelLayer } from './model-outline.ts';

/** A fault that the configuration of a model shows. */
export type Lint = {
  readonly severity: AlertSeverity;
  /** A layer, or another part of the model. */
  readonly where: string;
  readonly fact: string;
  readonly cause: string;
  readonly advice: string;
  readonly observed?: number | undefined;
  readonly threshold?: number | undefined;
};

/** A check: when it fails, and what it then says. */
export type LintCheck<F> = {
  readonly fails: (facts: F) => boolean;
  readonly severity: AlertSeverity | ((facts: F) => AlertSeverity);
  readonly fact: (facts: F) => string;
  readonly cause: string | ((facts: F) => string);
  readonly advice: string | ((facts: F) => string);
  readonly observed?: (facts: F) => number | undefined;
  readonly threshold?: (facts: F) => number;
};

/** The checks that fail, in their order. */
export function lintsOf<F extends { readonly where: string }>(
  checks: readonly LintCheck<F>[],
  facts: F,
): readonly Lint[] {
  const part = <P extends string>(given: P | ((facts: F) => P)): P =>
    typeof given === 'function' ? given(facts) : given;
  return checks
    .filter(({ fails }) => fails(facts))
    .map((check) => ({
      severity: part(check.severity),
      where: facts.where,
      fact: check.fact(facts),
      cause: part(check.cause),
      advice: part(check.advice),
      observed: check.observed?.(facts),
      threshold: check.threshold?.(facts),
    }));
}

const ACTIVATION_LAYER =
  /^(?:re_?lu|leaky_?re_?lu|pre_?lu|elu|selu|gelu|silu|swish|tanh|sigmoid|softmax|activation|thresholdedrelu)$/i;

/** The activation that the values of a layer have gone through; layers that only shape or drop are passed over. */
export function activationOf(layer: ModelLayer): string {
  if (ACTIVATION_LAYER.test(layer.type) && !/^activation$/i.test(layer.type))
    return layer.type.toLowerCase().replace(/_/g, '');
  return layer.activation;
}

const NORMALISING = /norm/i;
const DROPPING = /dropout/i;
const WITH_WEIGHTS = /^(?:dense|linear|gemm|(?:depthwise|separable)?conv\d?d?(?:transpose)?)$/i;

/** Whether a layer normalises. */
export function normalises({ type }: ModelLayer): boolean {
  return NORMALISING.test(type);
}

/** Whether a layer is dropout. */
export function drops({ type }: ModelLayer): boolean {
  return DROPPING.test(type);
}

/** Whether a layer has a kernel. */
export function hasWeights({ type }: ModelLayer): boolean {
  return WITH_WEIGHTS.test(type);
}

/** The layer with weights that an output comes from, through layers that have none. */
export function lastWeights(
  output: ModelLayer,
  layers: readonly ModelLayer[],
): ModelLayer | undefined {
  let layer: ModelLayer | undefined = output;
  for (let i = 0; i < layers.length && layer !== undefined; i++) {
    if (layer.units !== undefined) return layer;
    layer = layers[layer.inputs[0] ?? -1];
  }
  return undefined;
}
