/** What rules ask of layers. */
import type { LayerSeries } from '../columns/run-columns.ts';

/** Whether no later layer was seen in the forward pass: the output of the network, which may well be saturated. */
export function isLastLayer(layer: LayerSeries, layers: readonly LayerSeries[]): boolean {
  return layers.at(-1) === layer;
}

/**
 * Share of the units of a layer that were dead in each of the last probes, 0 to 1, a row a probe; NaN where units were not
 * counted.
 */
export function deadUnitShare(layer: LayerSeries): Float64Array {
  return layer.persistentDeadUnitCount.map((count, row) => {
    const units = layer.unitCount[row] ?? Number.NaN;
    return units > 0 ? Math.min(1, count / units) : Number.NaN;
  });
}

/** Whether a layer stands for what the model is given. */
export function isInput({ moduleType }: Pick<LayerSeries, 'moduleType'>): boolean {
  return /^(?:input|inputlayer)$/i.test(moduleType);
}
