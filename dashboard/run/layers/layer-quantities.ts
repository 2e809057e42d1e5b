/** What the heat map of layers can show, and on what scale. */
import type { ScaleKind } from '../../charts/heat/color-scale.ts';
import { t } from '../../parts/t.ts';

const QUANTITIES = [
  {
    id: 'activation_mean',
    get label() {
      return t('Activation mean');
    },
    get unit() {
      return t('mean of the output');
    },
    get hint() {
      return t('Mean of what the layer gave');
    },
    scale: 'diverging',
  },
  {
    id: 'activation_std',
    get label() {
      return t('Activation std');
    },
    get unit() {
      return t('standard deviation of the output');
    },
    get hint() {
      return t('Standard deviation of what the layer gave');
    },
    scale: 'log',
  },
  {
    id: 'gradient_norm',
    get label() {
      return t('Gradient norm');
    },
    get unit() {
      return t('L2 norm of the gradient at the output');
    },
    get hint() {
      return t('L2 norm of the gradient with respect to what the layer gave');
    },
    scale: 'log',
  },
  {
    id: 'weight_gradient_norm',
    get label() {
      return t('Weight gradient');
    },
    get unit() {
      return t('L2 norm of the gradient of the parameters');
    },
    get hint() {
      return t('L2 norm of the gradient of all parameters of the layer');
    },
    scale: 'log',
  },
  {
    id: 'update_ratio',
    get label() {
      return t('Update ratio');
    },
    get unit() {
      return t('norm of the update over norm of the parameters');
    },
    get hint() {
      return t('How much of itself a layer changed in the step; around 0.001 is usual');
    },
    scale: 'log',
  },
  {
    id: 'dead_ratio',
    get label() {
      return t('Dead outputs');
    },
    get unit() {
      return t('share of outputs that are zero');
    },
    get hint() {
      return t('Share of outputs at zero');
    },
    scale: 'share',
  },
  {
    id: 'saturation',
    get label() {
      return t('Saturation');
    },
    get unit() {
      return t('share of outputs at their limit');
    },
    get hint() {
      return t('Share of outputs at or beyond the saturation threshold');
    },
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
