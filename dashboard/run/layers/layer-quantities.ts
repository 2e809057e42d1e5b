/** What the heat map of layers can show, and on what scale. */
import type { ScaleKind } from '../../charts/heat/color-scale.ts';

const QUANTITIES = [
  {
    id: 'activation_mean',
    label: 'Activation mean',
    unit: 'mean of the output',
    hint: 'Mean of what the layer gave',
    scale: 'diverging',
  },
  {
    id: 'activation_std',
    label: 'Activation std',
    unit: 'standard deviation of the output',
    hint: 'Standard deviation of what the layer gave',
    scale: 'log',
  },
  {
    id: 'gradient_norm',
    label: 'Gradient norm',
    unit: 'L2 norm of the gradient at the output',
    hint: 'L2 norm of the gradient with respect to what the layer gave',
    scale: 'log',
  },
  {
    id: 'weight_gradient_norm',
    label: 'Weight gradient',
    unit: 'L2 norm of the gradient of the parameters',
    hint: 'L2 norm of the gradient of all parameters of the layer',
    scale: 'log',
  },
  {
    id: 'update_ratio',
    label: 'Update ratio',
    unit: 'norm of the update over norm of the parameters',
    hint: 'How much of itself a layer changed in the step; around 0.001 is usual',
    scale: 'log',
  },
  {
    id: 'dead_ratio',
    label: 'Dead outputs',
    unit: 'share of outputs that are zero',
    hint: 'Share of outputs at zero',
    scale: 'share',
  },
  {
    id: 'saturation',
    label: 'Saturation',
    unit: 'share of outputs at their limit',
    hint: 'Share of outputs at or beyond the saturation threshold',
    scale: 'share',
  },
] as const satisfies readonly LayerQuantity<string>[];

/** One quantity of the heat map. */
export type LayerQuantity<Id extends string = QuantityId> = {
  readonly id: Id;
  readonly label: string;
  /** What its numbers are, for the legend. */
  readonly unit: string;
  readonly hint: string;
  readonly scale: ScaleKind;
};

/** Names of the quantities. */
export type QuantityId = (typeof QUANTITIES)[number]['id'];

/** The quantities in the order in which they are offered. */
export const LAYER_QUANTITIES: readonly LayerQuantity[] = QUANTITIES;

/** @throws Error for a name that is none */
export function quantityOf(id: QuantityId): LayerQuantity {
  const found = LAYER_QUANTITIES.find((one) => one.id === id);
  if (found === undefined) throw new Error(`There is no quantity ${id}.`);
  return found;
}
