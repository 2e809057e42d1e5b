/** Whether the moving averages of batch normalisation fit what goes through it. */
import type { LayerSeries, ParameterSeries, RunColumns } from '../columns/run-columns.ts';
import type { Signals } from './signals.ts';
import { median } from './statistics.ts';

/** Probes at the end that the sizes come from. */
const LAST_PROBES = 3;

/** A normalisation whose averages are those of other values. */
export type MovingAverages = {
  readonly layer: LayerSeries;
  /** Variance by the moving averages over the variance of the values in the last batches. */
  readonly factor: number;
  readonly variance: number;
  readonly batchVariance: number;
};

/**
 * Normalisations whose moving averages are far from the batches. Over all units together the values of a batch have a variance of E[v] + Var[m],
 * of the means m and variances v of the units (law of total variance): the same of the moving averages must come to as much.
 */
export function strayAverages(
  { parameters }: RunColumns,
  signals: Signals,
  limit: number,
  minProbes: number,
): readonly MovingAverages[] {
  const layers = signals.layers('activation');
  return layers.flatMap((layer, at): MovingAverages[] => {
    const before = layers[at - 1];
    if (before === undefined || !/^batchnorm/i.test(layer.moduleType)) return [];
    // What came out of the layer before it is what it normalises only where both are of one shape.
    if (before.elementCount.at(-1) !== layer.elementCount.at(-1)) return [];
    const find = (name: string): ParameterSeries | undefined =>
      parameters.find(
        ({ moduleName, parameterName }) =>
          moduleName === layer.moduleName && parameterName.endsWith(`/${name}`),
      );
    const means = find('moving_mean');
    const variances = find('moving_variance');
    if (means === undefined || variances === undefined) return [];
    if (before.std.length < minProbes || variances.valueMean.length < minProbes) return [];
    const batchVariance = last(before.std) ** 2;
    const variance = last(variances.valueMean) + last(means.valueStd) ** 2;
    const factor = variance / batchVariance;
    return factor > limit || factor < 1 / limit ? [{ layer, factor, variance, batchVariance }] : [];
  });
}

function last(values: Float64Array): number {
  return median(values.subarray(-LAST_PROBES));
}
